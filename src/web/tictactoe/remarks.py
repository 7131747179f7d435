"""Remarks about the decisions of agents."""

from collections.abc import Mapping
from typing import Any

from ..remarks import search_remark

RULES = {"greedy": "It uses its table", "win_in_1": "It wins at once", "block_in_1": "It blocks a row"}
LOOKED_UP = {
    "Identity": "as it is",
    "Rot90": "rotated by 90°",
    "Rot180": "rotated by 180°",
    "Rot270": "rotated by 270°",
    "FlipVertical": "mirrored top to bottom",
    "FlipHorizontal": "mirrored left to right",
    "FlipMainDiagonal": "mirrored along the main diagonal",
    "FlipAntiDiagonal": "mirrored along the other diagonal",
}


def remark_of(info: Mapping[str, Any]) -> str:
    """Describe the info of a decision in a sentence, or return an empty text."""
    match info:
        case {"rule": rule, "transform": transform, "best_q": best}:
            return f"{RULES[rule]}. Looked up {LOOKED_UP[transform]}, the best move has the value {best + 0.0:.3g}."
        case {"score": score, "depth": depth, "nodes": nodes, "line": line}:
            return f"It sees {_score(score)}, {depth} plies deep in {nodes} positions: {line.replace(',', ' ')}."
        case {"visits": _, "simulations": _, "value": _}:
            return search_remark(info)
        case {"value": value}:
            return f"It values the position at {value:.3g}, where a win is 1 and a loss -1."
    return ""


def _score(text: str) -> str:
    decided, _, plies = text.partition("-in-")
    return f"a {decided} in {plies}" if plies else f"a score of {text}"
