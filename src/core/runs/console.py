"""Progress bars, durations and text of unknown origin for the terminal."""

import logging
import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from .. import ranks
from ..interrupt import raise_interrupt

LINE_SECONDS = 30.0  # between lines if standard error is not a terminal
DRAW_SECONDS = 0.1  # between updates of the bar if it is one
MEASURED_SECONDS = 5.0  # before the duration is estimated
WINDOW_SECONDS = 60.0  # of the moving average of the speed


def printable(text: str) -> str:
    """Escape control characters but line breaks and tabs: from a file or a name they could change what is shown."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text
    )


class PrintableFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@dataclass
class Meter:
    """Progress, speed and remaining time."""

    unit: str  # such as steps; text after a comma is left out of the rate
    total: int
    done: float
    seconds: float | None = None  # time limit
    clock: Callable[[], float] = monotonic  # measures the time limit
    status: Callable[[], str] = lambda: ""  # appended to the text
    _samples: deque[tuple[float, float]] = field(default_factory=deque)  # time and units done

    def __post_init__(self) -> None:
        self._began, self._first = monotonic(), self.done
        self._measured_from = math.inf
        self._phase, self._guess = "", 0.0  # of the update in progress

    def advance_within(self, done: float, phase: str, speed: float) -> None:
        """Show progress within an update; `speed` is an estimate, used until two updates are measured."""
        self._measured_from = min(self._measured_from, monotonic())
        self.done, self._phase, self._guess = done, phase, speed or self._guess

    def advance(self, done: int) -> None:
        """Update the progress; the time before the first call, mostly compilation, is not measured."""
        now, self.done, self._phase = monotonic(), done, ""
        self._measured_from = min(self._measured_from, now)
        if not self._samples or now - self._samples[-1][0] >= WINDOW_SECONDS / 60:
            self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_SECONDS:
            self._samples.popleft()

    @property
    def speed(self) -> float:
        """Recent units per second; 0 while unknown."""
        if len(self._samples) < 2 and self._guess > 0:
            return self._guess
        then, before = self._samples[0] if self._samples else (math.inf, 0)
        passed = monotonic() - then
        return (self.done - before) / passed if passed > 0 else 0.0

    @property
    def fraction(self) -> float:
        """The fraction of the work done, or of the time limit if that is greater."""
        steps = self.done / self.total if self.total else 1.0
        return min(1.0, steps if self.seconds is None else max(steps, self.clock() / self.seconds))

    @property
    def seconds_left(self) -> float:
        left = (self.total - self.done) / self.speed if self.speed > 0 else math.inf
        return left if self.seconds is None else min(left, max(self.seconds - self.clock(), 0.0))

    @property
    def expected(self) -> float | None:
        """Estimated seconds in total; None while too little is measured."""
        enough = monotonic() - self._measured_from >= MEASURED_SECONDS and self.speed > 0
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
        parts = (f"{int(self.done):,}/{self.total:,} {self.unit}", rate, when, self._phase, self.status())
        return ", ".join(part for part in parts if part)


class Advance(Protocol):
    def __call__(self, done: float, phase: str = "", speed: float = 0.0, /) -> None:
        """Set the progress: after an update, or within one, with the phase that it is in and an estimated speed."""


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
    on_second: Callable[[Meter], None] = lambda meter: None,
) -> Iterator[Advance]:
    """Show a bar on standard error, or lines if that is not a terminal; yield the function that sets the progress.

    It raises `KeyboardInterrupt` after a Ctrl-C whose exception was lost. `on_estimate` is called once, with the
    estimated total seconds, and `on_second` at most once per second and at the end.
    """
    if ranks.rank() > 0:  # only rank 0 shows a bar
        yield lambda done, phase="", speed=0.0: raise_interrupt()
        return
    meter, estimated, second = Meter(printable(unit), total, done, seconds, clock, status), False, monotonic()
    with (_bar if sys.stderr.isatty() else _lines)(meter) as (show, paused):

        def advance(done: float, phase: str = "", speed: float = 0.0, /) -> None:
            nonlocal estimated, second
            raise_interrupt()
            if phase:
                meter.advance_within(done, phase, speed)
            else:
                meter.advance(int(done))
            if not estimated and (expected := meter.expected) is not None:
                estimated = True
                with paused():
                    on_estimate(expected)
            if monotonic() - second >= 1 or (done >= total and not phase):
                second = monotonic()
                on_second(meter)
            show()

        yield advance


Shown = tuple[
    Callable[[], None], Callable[[], AbstractContextManager[None]]
]  # shows a meter, and makes room for others


@contextmanager
def _lines(meter: Meter) -> Iterator[Shown]:
    """Print a line at the start, every `LINE_SECONDS` and at the end."""
    shown = monotonic()

    def show() -> None:
        nonlocal shown
        if monotonic() - shown >= LINE_SECONDS:
            shown = monotonic()
            print_line(meter.text())

    def print_line(text: str) -> None:
        print(f"{meter.fraction:4.0%} {text}", file=sys.stderr, flush=True)

    print_line(meter.text())
    yield show, nullcontext
    print_line(meter.last_text())


@contextmanager
def _bar(meter: Meter) -> Iterator[Shown]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=None), TextColumn("{task.percentage:>3.0f}% {task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task = bar.add_task(meter.text(), total=1.0)
        bar.update(task, completed=meter.fraction)
        shown = monotonic()

        def show() -> None:
            nonlocal shown
            if monotonic() - shown >= DRAW_SECONDS:
                shown = monotonic()
                bar.update(task, completed=meter.fraction, description=meter.text())

        @contextmanager
        def paused() -> Iterator[None]:
            """Hide the bar, so that other output does not overlap it."""
            bar.live.transient = True
            bar.stop()
            yield
            bar.live.transient = False
            bar.start()

        yield show, paused
        bar.update(task, completed=meter.fraction, description=meter.last_text())


def approximate_duration(seconds: float) -> str:
    """Format an estimated duration."""
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    return f"about {round(seconds / 60)} min" if seconds < 90 * 60 else f"about {seconds / 3600:.1f} h"


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
