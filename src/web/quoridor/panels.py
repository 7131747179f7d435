"""Parts of the page: the board with its walls to drag, lists as HTML text, and the line about an agent that thinks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape

from nicegui import ui

from ...envs.quoridor.search.evaluation import FACTORS
from .. import shell
from ..clickable import HANDLERS, Clickable, OnPick, parse_pick
from ..match_panel import Work

FULL = 60  # the weighted factor that fills half of the bar
MEANINGS = {
    "path": "how much longer the shortest path of the opponent is",
    "endgame": "how close to the goal the last steps are",
    "walls": "walls in hand, minus the opponent's",
    "mobility": "open sides of the pawn's cell, minus the opponent's",
    "efficiency": "steps by which walls lengthen the path of the opponent",
}
NO_HINTS = '<div class="faint">press ? for the best moves, their scores and lines</div>'


class Board(Clickable):
    """The board. `on_drop` is called with the name of a wall that was dragged to its place."""

    handlers = HANDLERS | {"click": "wallDrag.click"}

    def __init__(self, on_pick: OnPick, on_drop: Callable[[str], Awaitable[None]]) -> None:
        ui.run_javascript(shell.asset(__package__, "drag.js"))
        super().__init__("", on_pick)
        self.on("pointerdown", js_handler="e => wallDrag.take(e)")
        self.on("pointermove", js_handler="e => wallDrag.move(e)")
        for name in ("pointerup", "pointercancel"):
            self.on(name, lambda event: on_drop(parse_pick(event.args).part), js_handler="e => wallDrag.drop(e, emit)")


def factor_bars(parts: Mapping[str, int]) -> str:
    """Return bars of the static evaluation: to the left for player 1, to the right for player 2."""
    rows = [
        '<div class="qr-factor faint"><span></span><div class="qr-sides"><i>player 1</i><i>player 2</i></div></div>'
    ]
    rows += [_factor(name, parts.get(name, 0), MEANINGS[name]) for name in FACTORS]
    return "".join([*rows, _factor("total", sum(parts.values()), "sum of the factors", " qr-sum")])


def _factor(name: str, value: int, meaning: str, kind: str = "") -> str:
    side, seat = ("right", "qr-first") if value > 0 else ("left", "qr-second")
    width = min(50.0, 50 * abs(value) / FULL)
    return (
        f'<div class="qr-factor{kind}" title="{meaning}"><span>{name}</span>'
        f'<div class="qr-track"><div class="qr-fill {seat}" style="{side}:50%;width:{width:.1f}%"></div></div>'
        f"<b>{abs(value)}</b></div>"
    )


def hint_list(lines: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the best lines with their scores; a click plays the first move of a line."""
    rows = []
    for rank, (score, names) in enumerate(lines, start=1):
        move, *then = map(escape, names)
        rows.append(
            f'<button class="qr-hint" data-id="{move}"><i>{rank}</i><b>{move}</b><span>{escape(score)}</span>'
            f"<small>{' '.join(then[:5])}</small></button>"
        )
    return "".join(rows)


def move_list(names: Sequence[str], first_ply: int, shown: int, signs: Sequence[str] = ()) -> str:
    """Return the moves, two per row, with the signs of a review; a click shows the position after a move."""
    cells = ["<span></span>"] * (first_ply % 2)
    for number, name in enumerate(names, start=1):
        here = " here" if number == shown else ""
        seat = ("qr-first", "qr-second")[(first_ply + number - 1) % 2]
        sign = f"<b>{signs[number - 1]}</b>" if signs and signs[number - 1] else ""
        cells.append(f'<button class="qr-move {seat}{here}" data-id="ply-{number}">{escape(name)}{sign}</button>')
    rounds = [
        f"<i>{first_ply // 2 + number + 1}</i>{''.join(cells[2 * number : 2 * number + 2])}"
        + "<span></span>" * (2 * number + 2 > len(cells))
        for number in range((len(cells) + 1) // 2)
    ]
    return f'<div class="qr-moves">{"".join(rounds)}</div>'


def add_button(title: str, icon: str, work: Work) -> ui.button:
    button = ui.button(title, icon=icon, on_click=work)
    return button.props("outline").classes(f"qr-do-{icon.replace('_', '-')}")


class ThinkingRow:
    """The line about an agent that thinks for long, with buttons to end it."""

    def __init__(self, move_now: Work, cancel: Work, resume: Work) -> None:
        with ui.row(wrap=False).classes("w-full items-center qr-thinking-row") as self._row:
            self._words = ui.label().classes("faint grow qr-thinking").props("role=status")
            self._move_now = add_button("Move now", "fast_forward", move_now)
            self._cancel = add_button("Cancel", "close", cancel)
            self._resume = add_button("Continue", "play_arrow", resume).classes("qr-resume")
        self.hide()

    def hide(self) -> None:
        if not self._row.is_deleted:
            self._row.set_visibility(False)

    def show(self, words: str, has_move: bool = False, is_running: bool = True) -> None:
        """Show what an agent is doing; `has_move`: it can be asked for its best move so far."""
        if self._row.is_deleted:
            return
        self._words.text = words
        self._move_now.set_visibility(has_move)
        self._cancel.set_visibility(is_running)
        self._resume.set_visibility(not is_running)
        self._row.set_visibility(True)
