"""An optional clock: each player has a fixed time for the whole game, and loses when it is over."""

from ...core.errors import require

NO_CLOCK = "none"
TIMES = {NO_CLOCK: "No clock", "180": "3 minutes each", "600": "10 minutes each"}  # seconds


class Clock:
    """The time left of both players in seconds. Times of calls are passed in."""

    def __init__(self, left: tuple[float, float]) -> None:
        self._left = list(left)
        self._running: tuple[int, float] | None = None  # seat, and since when

    def run(self, seat: int | None, now: float) -> None:
        """Run for a seat, or stop."""
        if self._running is not None:
            self._left[self._running[0]] = self.left(self._running[0], now)
        self._running = None if seat is None else (seat, now)

    def left(self, seat: int, now: float) -> float:
        used = now - self._running[1] if self._running is not None and self._running[0] == seat else 0.0
        return max(0.0, self._left[seat] - used)

    def loser(self, now: float) -> int | None:
        """Return the seat whose time is over."""
        return next((seat for seat in (0, 1) if self.left(seat, now) == 0), None)


def read_clock(text: str) -> Clock | None:
    """Parse a choice: an option of `TIMES`, or one with the time left of both players, such as 180:171.5:92."""
    time, *rest = text.split(":")
    require(time in TIMES and len(rest) in (0, 2 * (time != NO_CLOCK)), f"{text[:40]!r} is not a clock of the list")
    if time == NO_CLOCK:
        return None
    first, second = (_seconds(part, float(time)) for part in rest or (time, time))
    return Clock((first, second))


def write_clock(text: str, clock: Clock | None, now: float) -> str:
    """Return the choice `text` with the time left of a clock."""
    time = text.split(":")[0]
    return time if clock is None else f"{time}:{clock.left(0, now):.1f}:{clock.left(1, now):.1f}"


def _seconds(text: str, most: float) -> float:
    known = len(text) < 10 and text.replace(".", "", 1).isdecimal() and text.isascii() and float(text) <= most
    require(known, f"{text[:20]!r} is not a time of at most {most:g} seconds")
    return float(text)


def clock_text(seconds: float) -> str:
    """Return minutes and seconds, with tenths in the last ten seconds."""
    if seconds < 10:
        return f"0:0{seconds:.1f}" if seconds < 9.95 else "0:10"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
