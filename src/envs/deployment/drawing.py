"""Text rendering of a position."""

from .rules.scenario import Hex
from .rules.state import GameState


def board_text(state: GameState) -> str:
    """Return the board with unit ids, and a status line. Odd columns are half a row lower."""
    board, signs = state.scenario.board, _signs(state)
    header = "    " + "".join(f"{col:<3}" for col in range(board.cols)).rstrip()
    rows = [
        f"{row:>2}  " + "".join(f"{signs[col, row]:<3}" for col in range(board.cols)).rstrip()
        for row in range(board.rows)
    ]
    return "\n".join([header, *rows, _summary(state)])


def _signs(state: GameState) -> dict[Hex, str]:
    board = state.scenario.board
    signs = {(col, row): "." for col in range(board.cols) for row in range(board.rows)}
    for centre in board.objectives:
        signs |= dict.fromkeys(board.objective_hexes(centre), "o")
    signs |= dict.fromkeys(board.cover, "*")
    signs |= dict.fromkeys(board.walls, "##") | dict.fromkeys(board.forbidden, " ")
    return signs | {(unit.col, unit.row): unit.id[:2] for unit in state.units.values() if unit.col >= 0}


def _summary(state: GameState) -> str:
    if state.phase == "deployment":
        left = state.deployment_state.deployable_units_by_player
        waiting = "; ".join(f"player {player}: {' '.join(units) or 'none'}" for player, units in left.items())
        return f"deployment, player {state.deployment_state.current_deployer} to place; left: {waiting}"
    points = state.victory_points
    wounded = " ".join(f"{unit.id}:{unit.hp}" for unit in state.units.values() if 0 < unit.hp < unit.profile.hp)
    held = " ".join(f"({col},{row}):{owner}" for (col, row), owner in state.objectives.items() if owner)
    return (
        f"round {state.round}, player {state.current_player}, {state.phase}, active {state.active_unit_id or 'none'}; "
        f"points {points[1]}-{points[2]}; held {held or 'none'}; wounded {wounded or 'none'}"
    )
