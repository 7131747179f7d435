"""Remarks about the moves of agents, for all pages."""

from collections.abc import Mapping
from typing import Any


def search_remark(info: Mapping[str, Any] | None) -> str:
    """Describe the search that chose a move by its visits and its value; empty for other agents."""
    match info:
        case {"visits": visits, "simulations": simulations, "value": value}:
            return f"{visits} of {simulations} simulations tried this move; its value is {value:+.2f} (a win: +1)."
    return ""
