"""The clocks of both players on the page, if the game has clocks."""

import time
from collections.abc import Sequence

from nicegui import ui

from .clock import clock_text, read_clock, write_clock

SHORT = 20.0  # seconds left that are shown as short


class TimeControl:
    def __init__(self, choice: str, row: ui.element, labels: Sequence[ui.label]) -> None:
        self._row, self._labels = row, labels
        self.begin(choice)

    def begin(self, choice: str) -> None:
        """Begin with the clocks of a choice; see `read_clock`."""
        self._clock = read_clock(choice)
        self.loser: int | None = None  # the seat whose time is over
        self._show(None)

    def run(self, seat: int | None) -> None:
        """Run the clock of a seat, or none."""
        if self._clock is not None:
            self._clock.run(seat, time.monotonic())

    def tick(self, seat: int | None, is_over: bool) -> bool:
        """Show the clocks, of which that of a seat runs; return whether it has just ended a game that was not over."""
        if self._clock is None:
            return False
        self.run(seat)
        is_running = self.loser is None and not is_over
        if is_running:
            self.loser = self._clock.loser(time.monotonic())
        self._show(seat)
        return is_running and self.loser is not None

    def write(self, choice: str) -> str:
        """Return a choice with the time that is left."""
        return write_clock(choice, self._clock, time.monotonic())

    def _show(self, running: int | None) -> None:
        self._row.set_visibility(self._clock is not None)
        if self._clock is None:
            return
        for seat, label in enumerate(self._labels):
            left = self._clock.left(seat, time.monotonic())
            label.text = clock_text(left)
            label.classes(**{"add" if running == seat else "remove": "on"})
            label.classes(**{"add" if left < SHORT else "remove": "short"})
