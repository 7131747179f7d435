"""The review beside the board, computed in the background."""

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import ui

from ...core.interrupt import CancellationToken, CancelledWorkError
from ...envs.quoridor.rules import Position
from .. import shell
from ..drawing import Drawing, Pick
from . import review
from .match import QuoridorMatch
from .review import Judgement

Judge = Callable[[Position, int], Judgement]


class ReviewPanel:
    """The graph of the evaluation, and a sentence about the move shown; hidden until a review is started."""

    def __init__(self, judge: Judge, pick_ply: Callable[[Pick], Awaitable[None]], changed: Callable[[], None]) -> None:
        """`judge` is slow and called in a thread; `changed` is called after each judgement."""
        self._judge, self._changed = judge, changed
        self._found: dict[tuple[Position, int], Judgement] = {}  # by position and action, so that variations share them
        self._token: CancellationToken | None = None  # of the running review
        with ui.row().classes("w-full items-center gap-2"):
            self._button = ui.button(icon="insights").props("dense no-caps unelevated outline").classes("qr-do-review")
            self._progress = ui.label().classes("faint qr-progress").props("role=status")
        with ui.element("div").classes("w-full") as self._box:
            self._graph = Drawing("", pick_ply).classes("w-full qr-graph")
            self._comment = ui.label().classes("qr-comment").props("role=status")
            ui.label(review.LEGEND).classes("faint")
        self._box.set_visibility(False)
        self._name_button()

    def on_click(self, work: Callable[[], Awaitable[None]]) -> None:
        self._button.on_click(shell.handler(work))

    def _name_button(self) -> None:
        self._button.text = "cancel" if self.running else "find mistakes"

    @property
    def running(self) -> bool:
        return self._token is not None

    def cancel(self) -> None:
        """Stop the review and its search."""
        if self._token is not None:
            self._token.cancel()
        self._token = None
        if not self._button.is_deleted:
            self._name_button()

    def reset(self) -> None:
        """Hide the review of the previous game."""
        self.cancel()
        self._progress.text = ""
        self._box.set_visibility(False)

    async def run(self, match: QuoridorMatch) -> None:
        """Judge the moves of a match one after another, until it is cancelled."""
        token = self._token = CancellationToken()
        moves = list(match.moves)
        self._box.set_visibility(True)
        self._name_button()
        for number, action in enumerate(moves):
            self._progress.text = f"move {number + 1} of {len(moves)}"
            state = match.at(number)
            if (state, action) not in self._found:
                try:
                    self._found[state, action] = await asyncio.to_thread(token.run, self._judge, state, action)
                except CancelledWorkError:
                    return
            if token.is_cancelled:
                return
            self._changed()
        self._progress.text = review.summary(self.judgements(match), match.at(0).ply)
        self.cancel()

    def judgements(self, match: QuoridorMatch) -> dict[int, Judgement]:
        """Return the judgements so far by the number of the move, from 0."""
        if not self._found:
            return {}
        keys = {number: (match.at(number), action) for number, action in enumerate(match.moves)}
        return {number: self._found[key] for number, key in keys.items() if key in self._found}

    def signs(self, match: QuoridorMatch) -> list[str]:
        found = self.judgements(match)
        return [found[number].sign if number in found else "" for number in range(len(match.moves))]

    def show(self, match: QuoridorMatch, now: int) -> None:
        if not self._box.visible:
            return
        found = self.judgements(match)
        end = None if match.outcome is None else (1 + match.outcome) / 2
        self._graph.draw(review.graph(found, len(match.moves), end, now))
        self._comment.text = review.comment(match.names()[now - 1], found[now - 1]) if now - 1 in found else ""
