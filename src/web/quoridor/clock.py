"""An optional clock: each player has a fixed time for the whole game, and loses when it is over."""

import time
from collections.abc import Sequence

from nicegui import ui

from ...core.errors import require

NO_CLOCK = "none"
TIMES = {NO_CLOCK: "No clock", "180": "3 minutes each", "600": "10 minutes each"}  # seconds
SHORT = 20.0  # seconds left that are shown as short


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
        return next((seat for seat in (0, 1) if self.left(seat, now) == 0), None)


def read_clock(text: str) -> Clock | None:
    """Parse a choice: an option of `TIMES`, or one with the time left of both players, such as 180:171.5:92."""
    total, *rest = text.split(":")
    require(total in TIMES and len(rest) in (0, 2 * (total != NO_CLOCK)), f"{text[:40]!r} is not a clock of the list")
    if total == NO_CLOCK:
        return None
    left = []
    for part in rest or (total, total):
        is_number = len(part) < 10 and part.isascii() and part.replace(".", "", 1).isdecimal()
        is_valid = is_number and float(part) <= float(total)
        require(is_valid, f"{part[:20]!r} is not a time of at most {float(total):g} seconds")
        left.append(float(part))
    return Clock((left[0], left[1]))


def clock_text(seconds: float) -> str:
    """Return minutes and seconds, with tenths in the last ten seconds."""
    if seconds < 10:
        return f"0:0{seconds:.1f}" if seconds < 9.95 else "0:10"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class ClockPanel:
    """The clocks of both players on the page, hidden if the game has none."""

    def __init__(self, choice: str, names: Sequence[str]) -> None:
        with ui.element("div").classes("qr-clocks") as self._row:
            self._labels = [ui.label().classes(f"qr-clock qr-{name}") for name in names]
        self.begin(choice)

    def begin(self, choice: str) -> None:
        """Begin with the clocks of a choice; see `read_clock`."""
        self.total, self._clock = choice.partition(":")[0], read_clock(choice)  # total: the choice of a whole game
        self.loser: int | None = None  # the seat whose time is over
        self._show(None)

    def run(self, seat: int | None) -> None:
        if self._clock is not None:
            self._clock.run(seat, time.monotonic())

    def tick(self, seat: int | None, is_over: bool) -> bool:
        """Show the clocks while the one of a seat runs; return whether it has just ended a game that was not over."""
        if self._clock is None:
            return False
        self.run(seat)
        is_running = self.loser is None and not is_over
        if is_running:
            self.loser = self._clock.loser(time.monotonic())
        self._show(seat)
        return is_running and self.loser is not None

    @property
    def choice(self) -> str:
        """The choice with the times that are left."""
        clock, now = self._clock, time.monotonic()
        return ":".join([self.total, *(f"{clock.left(seat, now):.1f}" for seat in (0, 1) if clock)])

    def _show(self, running: int | None) -> None:
        self._row.set_visibility(self._clock is not None)
        if self._clock is None:
            return
        for seat, label in enumerate(self._labels):
            left = self._clock.left(seat, time.monotonic())
            label.text = clock_text(left)
            label.classes(remove="on short", add=" ".join(["on"] * (running == seat) + ["short"] * (left < SHORT)))
