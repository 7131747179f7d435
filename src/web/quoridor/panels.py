"""The evaluation, hints and moves beside the board, as HTML text."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from ...core.play.game import outcome_for_seat
from ...core.play.search_interface import DECIDED, WIN
from ...envs.quoridor.search.evaluation import FACTORS

SCALE = 40.0  # a lead of 40 points, four steps, is shown as a win share of about 3/4
FULL = 60  # the weighted factor that fills half of the bar
MEANINGS = {
    "path": "how much longer the shortest path of the opponent is",
    "endgame": "how close to the goal the last steps are",
    "walls": "walls in hand, minus those of the opponent",
    "mobility": "open sides of the pawn's cell, minus those of the opponent",
    "efficiency": "steps by which walls lengthen the path of the opponent",
}


NO_HINTS = '<div class="faint">press ? for the best moves, their scores and lines</div>'


class Evaluation(NamedTuple):
    """The evaluation of a position for player 1."""

    share: float  # 0: player 2 wins, 1: player 1 wins
    text: str
    parts: Mapping[str, int]  # weighted factors


def win_share(score: int) -> float:
    """Return the winning chances that are shown for a score of a search."""
    if abs(score) > DECIDED:
        return 1.0 if score > 0 else 0.0
    return 1 / (1 + math.exp(-score / SCALE))


def leader(score: int, mover: int) -> str:
    """Put a score of the player to move into words."""
    winner = mover if score > 0 else 1 - mover
    if abs(score) > DECIDED:
        return f"Player {winner + 1} wins within {WIN - abs(score)} plies"
    return f"Player {winner + 1} is ahead ({abs(score)} after search)" if score else "Even"


def from_search(info: Mapping[str, Any], mover: int) -> Evaluation:
    """Convert the info of a search, which is for the player to move."""
    parts = {name: outcome_for_seat(mover, int(info[name])) for name in FACTORS}
    score = read_score(str(info["score"]))
    share = win_share(score)
    return Evaluation(share if mover == 0 else 1 - share, leader(score, mover), parts)


def read_score(text: str) -> int:
    """Parse a score such as -13, win-in-3 or loss-in-4."""
    decided, _, plies = text.partition("-in-")
    if not plies:
        return int(text)
    return WIN - int(plies) if decided == "win" else int(plies) - WIN


def from_outcome(outcome: int) -> Evaluation:
    text = {1: "Player 1 wins", 0: "A draw", -1: "Player 2 wins"}
    return Evaluation((1 + outcome) / 2, text[outcome], dict.fromkeys(FACTORS, 0))


def share_bar(share: float, turned: bool) -> str:
    """Return a vertical bar of the win share, filled from the side of player 1."""
    side = "top" if turned else "bottom"
    return f'<div class="qr-bar"><div class="qr-bar-first" style="{side}:0;height:{100 * share:.1f}%"></div></div>'


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


def variation_list(variations: Sequence[tuple[int, Sequence[str]]], here: int | None) -> str:
    """Return the variations, each with the number of the move it replaces; a click shows it."""
    rows = [
        f'<button class="qr-variation{" here" if number == here else ""}" data-id="variation-{number}">'
        f"<i>move {ply + 1}</i> {escape(' '.join(names))}</button>"
        for number, (ply, names) in enumerate(variations)
    ]
    return "".join(rows)
