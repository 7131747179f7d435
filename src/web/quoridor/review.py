"""The review of a game: sentences about its moves, the graph of the evaluation, and the panel beside the board."""

import asyncio
from collections.abc import Callable, Mapping

from nicegui import ui

from ...core.interrupt import CancellationToken, CancelledWorkError
from ...envs.quoridor.rules import Position
from ...envs.quoridor.search.judgment import BLUNDER, MISTAKE, REVIEW_DEPTH, Judgment
from ..clickable import Clickable, OnPick
from ..match_panel import Work
from .match import QuoridorMatch

LOSSES = f"? loses {MISTAKE:.0%} of the winning chances or more, ?? {BLUNDER:.0%} or more"
LEGEND = f"{LOSSES}; searched {REVIEW_DEPTH} moves deep"
WIDTH, HEIGHT = 320.0, 84.0


def comment(name: str, judgment: Judgment) -> str:
    if judgment.sign:
        kind = "blunder" if judgment.sign == "??" else "mistake"
        return f"{name} was a {kind}: it cost {judgment.loss:.0%} of the winning chances, {judgment.best} was better."
    if name == judgment.best:
        return f"{name} was the best move."
    return f"{name} was good" + (f"; {judgment.best} was a little better." if judgment.loss >= 0.01 else ".")


def summary(judgments: Mapping[int, Judgment], first_ply: int) -> str:
    """Return the number of mistakes of each player; judgments are by the number of the move, from 0."""
    words = []
    for seat in (0, 1):
        signs = [one.sign for number, one in judgments.items() if (first_ply + number) % 2 == seat]
        counts = [(signs.count("?"), "mistake"), (signs.count("??"), "blunder")]
        found = ", ".join(f"{count} {kind}{'s' * (count > 1)}" for count, kind in counts if count)
        words.append(f"Player {seat + 1}: {found or 'no mistakes'}")
    return " · ".join(words)


def graph(judgments: Mapping[int, Judgment], count: int, end: float | None, shown: int) -> str:
    """Draw the winning chances of player 1 over `count` moves as SVG; a click shows the position after a move.

    `end`: the chances after the last move, if the game is over; `shown`: the position on the board.
    """
    shares = {number: one.share for number, one in judgments.items()}
    if end is not None:
        shares[count] = end
    step = WIDTH / max(count, 1)
    line = " ".join(f"{step * number:.1f},{(1 - share) * HEIGHT:.1f}" for number, share in sorted(shares.items()))
    parts = [f'<rect class="qr-half" y="{HEIGHT / 2:g}" width="{WIDTH:g}" height="{HEIGHT / 2:g}"/>']
    if line:
        parts.append(f'<polyline class="qr-curve" points="{line}"/>')
    for number, one in sorted(judgments.items()):
        if one.sign:  # a mistake is drawn at the position after the move
            kind = "qr-blunder" if one.sign == "??" else "qr-mistake"
            y = (1 - shares.get(number + 1, one.share)) * HEIGHT
            parts.append(f'<circle class="{kind}" cx="{step * (number + 1):.1f}" cy="{y:.1f}" r="4.5"/>')
    parts.append(f'<path class="qr-cursor" d="M{step * shown:.1f} 0V{HEIGHT:g}"/>')
    parts += [
        f'<rect class="qr-at" data-id="ply-{number}" x="{step * number - step / 2:.1f}" width="{step:.1f}" '
        f'height="{HEIGHT:g}"/>'
        for number in range(count + 1)
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="winning chances of player 1 over the moves">'
        f"{''.join(parts)}</svg>"
    )


class ReviewPanel:
    """The graph of the evaluation, and a sentence about the move shown; hidden until a review is started."""

    def __init__(
        self,
        judge: Callable[[Position, int], Judgment],
        start: Work,
        practice: Work,
        pick_ply: OnPick,
        changed: Callable[[], None],
    ) -> None:
        """`judge` is slow and called in a thread; buttons call `start` and `practice`; `changed`: after a judgment."""
        self._judge, self._changed = judge, changed
        self._found: dict[tuple[Position, int], Judgment] = {}  # by position and action, so that variations share them
        self._token: CancellationToken | None = None  # of the running review
        with ui.row().classes("w-full items-center gap-2"):
            self._button = ui.button(icon="insights", on_click=start)
            self._button.props("outline").classes("qr-do-review")
            self._practice = ui.button("Practice", icon="psychology", on_click=practice).props("outline")
            self._practice.classes("qr-practice").tooltip("find better moves than those that were mistakes")
            self._progress = ui.label().classes("faint qr-progress").props("role=status")
        with ui.element("div").classes("w-full") as self._box:
            self._graph = Clickable("", pick_ply).classes("w-full qr-graph")
            self._comment = ui.label().classes("qr-comment").props("role=status")
            ui.label(LEGEND).classes("faint")
        self._box.set_visibility(False)
        self._name_button()

    def _name_button(self) -> None:
        self._button.text = "Cancel" if self.running else "Find mistakes"

    @property
    def running(self) -> bool:
        return self._token is not None

    def cancel(self) -> None:
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
            try:
                await self.judge(match.at(number), action, token)
            except CancelledWorkError:
                return
            if token.is_cancelled:
                return
            self._changed()
        self._progress.text = summary(self.judgments(match), match.at(0).ply)
        self.cancel()

    async def judge(self, state: Position, action: int, token: CancellationToken) -> Judgment:
        if (state, action) not in self._found:
            self._found[state, action] = await asyncio.to_thread(token.run, self._judge, state, action)
        return self._found[state, action]

    def judgments(self, match: QuoridorMatch) -> dict[int, Judgment]:
        """Return the judgments so far by the number of the move, from 0."""
        if not self._found:
            return {}
        keys = {number: (match.at(number), action) for number, action in enumerate(match.moves)}
        return {number: self._found[key] for number, key in keys.items() if key in self._found}

    def signs(self, match: QuoridorMatch) -> list[str]:
        found = self.judgments(match)
        return [found[number].sign if number in found else "" for number in range(len(match.moves))]

    def show(self, match: QuoridorMatch, now: int) -> None:
        found = self.judgments(match)
        self._practice.set_enabled(any(one.sign for one in found.values()))
        if not self._box.visible:
            return
        end = None if match.outcome is None else (1 + match.outcome) / 2
        self._graph.draw(graph(found, len(match.moves), end, now))
        self._comment.text = comment(match.names()[now - 1], found[now - 1]) if now - 1 in found else ""
