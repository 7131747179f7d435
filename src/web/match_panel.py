"""The status of a match, the buttons to step through its moves and review them, and the one for hints."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from nicegui import ui

from ..core.interrupt import CancellationToken
from ..core.play.game import outcome_for_seat
from . import shell
from .event_loop import Busy

Found = TypeVar("Found")
Work = Callable[[], Awaitable[None] | None]


class Result(NamedTuple):
    words: str
    tone: str  # CSS class: won, lost, even, or the color of the winner: first, second
    detail: str  # score, time or number of moves


def result_for(outcome: int, human_seats: frozenset[int], detail: str) -> Result:
    """Return the result for the only person who plays, or for those who watch."""
    if outcome == 0:
        return Result("A draw", "even", detail)
    if len(human_seats) == 1:
        (seat,) = human_seats
        won = outcome_for_seat(seat, outcome) == 1
        return Result("You win", "won", detail) if won else Result("You lose", "lost", detail)
    return Result("Player 1 wins", "first", detail) if outcome == 1 else Result("Player 2 wins", "second", detail)


class StatusBox(ui.element):
    """Whose turn it is or the result, a note on it, and messages: a place whose size does not change."""

    def __init__(self) -> None:
        super().__init__("section")
        self.classes("status").props('aria-label="status"')
        with self:
            with ui.element("div").classes("status-line") as self.line:
                self._words = ui.label().classes("headline grow").props("role=status")
                self.busy = Busy()
            self.note = ui.label().classes("faint note")
            self.message = shell.MessageLine()
        self._playing = False  # a match that goes on was shown

    def show(self, words: str, note: str = "", result: Result | None = None) -> None:
        """Show a headline and a note; `result`: of a match that is over, if its end is shown."""
        self._words.text, self.note.text = words, result.detail if result else note
        self.classes(remove="over won lost even first second", add=f"over {result.tone}" if result else None)
        if result is None:
            self._playing = True
        elif self._playing:  # not when a finished game is opened
            self._playing = False
            shell.sound(result.tone if result.tone in ("won", "lost") else "even")


class HistoryBar(ui.row):
    """Buttons to step through the moves of a match, and the number of the one shown."""

    def __init__(
        self, look_at: Callable[[int], Awaitable[None]], look_by: Callable[[int], Awaitable[None]], review: Work
    ) -> None:
        """`look_at` shows the position after a number of moves, `look_by` goes that far from the one shown."""
        super().__init__()
        self.classes("lab-history items-center gap-0").props('role=group aria-label="moves of the game"')
        with self:
            self._button("first_page", "to the start", lambda: look_at(0))
            self._button("chevron_left", "a move back", lambda: look_by(-1))
            self._where = ui.label().classes("lab-where")
            self._button("chevron_right", "a move forward", lambda: look_by(1))
            self._button("last_page", "to the latest move", lambda: look_at(1 << 30))
            self._review = ui.button("Review", on_click=review).props("flat").classes("review")

    @staticmethod
    def _button(icon: str, name: str, work: Work) -> None:
        button = ui.button(icon=icon, on_click=work).props(f'flat round aria-label="{name}"')
        button.classes(f"look-{icon.replace('_', '-')}")

    def show(self, now: int, last: int, is_over: bool) -> None:
        self._where.text = f"{now} / {last}"
        self._review.set_enabled(is_over)


class HintButton(ui.button):
    """Asks for a hint; while one is searched for, it cancels the search."""

    def __init__(self, ask: Work) -> None:
        super().__init__("Hint", icon="lightbulb", on_click=ask)
        self._search: asyncio.Task[Any] | None = None  # that the page is waiting for

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    async def search(self, begin: Callable[[CancellationToken], Coroutine[Any, Any, Found]]) -> Found:
        """Return what a search finds, which stops no other work; raise `CancelledError` if it is cancelled."""
        token = CancellationToken()
        search = self._search = asyncio.create_task(begin(token))
        self.text, self.icon = "Cancel", "close"
        try:
            found = await search
            if search is not self._search:  # cancelled after it had ended
                raise asyncio.CancelledError
            return found
        finally:
            token.cancel()  # stops a search that is not waited for any more
            if search is self._search:
                self.cancel()

    def cancel(self) -> None:
        """Wait no longer for the hint, if there is one."""
        if self._search is not None:
            self._search.cancel()
            self._search = None
            if not self.is_deleted:
                self.text, self.icon = "Hint", "lightbulb"
