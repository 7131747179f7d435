"""What a person sees while something runs."""

import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from time import monotonic

from src.core import ranks

LINE_SECONDS = 30.0  # between lines, where standard error is not a terminal
DRAW_SECONDS = 0.1  # between changes of the bar, where it is one
MEASURED_SECONDS = 5.0  # of work before its duration is estimated
WINDOW_SECONDS = 60.0  # over which speed is measured


@dataclass
class Meter:
    """How far some work is, how fast it goes and how long the rest will take."""

    unit: str  # of what is counted, such as steps; what stands after a comma explains it
    total: int
    done: int
    seconds: float | None = None  # the work ends after that time too
    clock: Callable[[], float] = monotonic  # of those seconds
    status: Callable[[], str] = lambda: ""  # to be shown beside it
    _samples: deque[tuple[float, int]] = field(default_factory=deque)  # when, and how much was done then

    def __post_init__(self) -> None:
        self._began, self._first = monotonic(), self.done

    def advance(self, done: int) -> None:
        """The time before the first call, in which much is compiled, is not measured."""
        now, self.done = monotonic(), done
        if not self._samples or now - self._samples[-1][0] >= WINDOW_SECONDS / 60:
            self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_SECONDS:
            self._samples.popleft()

    @property
    def speed(self) -> float:
        """Units a second, lately; 0 as long as it is not known."""
        then, before = self._samples[0] if self._samples else (math.inf, 0)
        passed = monotonic() - then
        return (self.done - before) / passed if passed > 0 else 0.0

    @property
    def share(self) -> float:
        """How much of the work is done, or of its time if that is more."""
        steps = self.done / self.total if self.total else 1.0
        return min(1.0, steps if self.seconds is None else max(steps, self.clock() / self.seconds))

    @property
    def seconds_left(self) -> float:
        left = (self.total - self.done) / self.speed if self.speed > 0 else math.inf
        return left if self.seconds is None else min(left, max(self.seconds - self.clock(), 0.0))

    @property
    def expected(self) -> float | None:
        """Seconds from beginning to end, once enough of them are measured."""
        measured = monotonic() - self._samples[0][0] if self._samples else 0.0
        enough = measured >= MEASURED_SECONDS and self.speed > 0
        return monotonic() - self._began + self.seconds_left if enough else None

    def text(self) -> str:
        if self.speed == 0 or math.isinf(self.seconds_left):
            return self._joined()
        return self._joined(self.speed, f"ETA {_clock_time(self.seconds_left)}")

    def last_text(self) -> str:
        passed = monotonic() - self._began
        return self._joined((self.done - self._first) / max(passed, 1e-9), f"took {_clock_time(passed)}")

    def _joined(self, speed: float | None = None, when: str = "") -> str:
        unit = self.unit.split(",")[0]
        rate = "" if speed is None else f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.2g} {unit}/s"
        parts = (f"{self.done:,}/{self.total:,} {self.unit}", rate, when, self.status())
        return ", ".join(part for part in parts if part)


@contextmanager
def progress_bar(
    unit: str,
    total: int,
    done: int = 0,
    *,
    seconds: float | None = None,
    clock: Callable[[], float] = monotonic,
    status: Callable[[], str] = lambda: "",
    on_estimate: Callable[[float], None] = lambda expected: None,
) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, or lines where that is not a terminal; yields the function that takes how much is done.

    `on_estimate` is called once, with the seconds that the whole will take.
    """
    if ranks.rank() > 0:  # one bar for all
        yield lambda now: None
        return
    meter, estimated = Meter(unit, total, done, seconds, clock, status), False
    with (_bar if sys.stderr.isatty() else _lines)(meter) as (show, paused):

        def advance(now: int) -> None:
            nonlocal estimated
            meter.advance(now)
            if not estimated and (expected := meter.expected) is not None:
                estimated = True
                with paused():
                    on_estimate(expected)
            show()

        yield advance


Shown = tuple[
    Callable[[], None], Callable[[], AbstractContextManager[None]]
]  # shows a meter, and makes room for others


@contextmanager
def _lines(meter: Meter) -> Iterator[Shown]:
    """One line at the start, one every so often, one at the end."""
    shown = monotonic()

    def show() -> None:
        nonlocal shown
        if monotonic() - shown >= LINE_SECONDS:
            shown = monotonic()
            _print_line(meter.share, meter.text())

    _print_line(meter.share, meter.text())
    yield show, _not_paused
    _print_line(meter.share, meter.last_text())


def _print_line(share: float, text: str) -> None:
    print(f"{share:4.0%} {text}", file=sys.stderr, flush=True)


@contextmanager
def _not_paused() -> Iterator[None]:
    yield


@contextmanager
def _bar(meter: Meter) -> Iterator[Shown]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=None), TextColumn("{task.percentage:>3.0f}% {task.description}"))
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task = bar.add_task(meter.text(), total=1.0)
        bar.update(task, completed=meter.share)
        shown = monotonic()

        def show() -> None:
            nonlocal shown
            if monotonic() - shown >= DRAW_SECONDS:
                shown = monotonic()
                bar.update(task, completed=meter.share, description=meter.text())

        @contextmanager
        def paused() -> Iterator[None]:
            """Without the bar, which what is printed meanwhile would run into."""
            bar.live.transient = True
            bar.stop()
            yield
            bar.live.transient = False
            bar.start()

        yield show, paused
        bar.update(task, completed=meter.share, description=meter.last_text())


def about(seconds: float) -> str:
    """A duration in words, as exactly as an estimate is."""
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    return f"about {round(seconds / 60)} min" if seconds < 90 * 60 else f"about {seconds / 3600:.1f} h"


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
