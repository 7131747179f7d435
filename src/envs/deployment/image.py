"""A picture of the hex board. Sides differ in shape as well as color: discs and squares, solid and dashed borders."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import sqrt

import numpy as np

from ...core.play import canvas as palette
from ...core.play.canvas import CARD, CELL, FIRST, INK, SECOND, Canvas, Point, mix
from .rules.hexgrid import neighbors
from .rules.scenario import Board, Hex, Scenario
from .rules.state import GameState, Unit

SIZE = 20.0  # circumradius of a hex
HALF = SIZE * sqrt(3) / 2  # inradius
MARGIN, HEADER = 10.0, 36.0
LABELED = 0.25  # of the setups; hexes that are used more often have a number
PLAYERS = (FIRST, SECOND)
GOAL, WALL, WALL_EDGE, COVER = "#b38f00", "#59636f", "#39424d", "#5b8c3e"
#   4___5
#  3/   \0    corners; edge k, toward neighbor k, ends at the corners EDGES[k]
#   \___/
#   2   1
CORNERS = ((SIZE, 0.0), (SIZE / 2, HALF), (-SIZE / 2, HALF), (-SIZE, 0.0), (-SIZE / 2, -HALF), (SIZE / 2, -HALF))
EDGES = ((4, 5), (5, 0), (0, 1), (1, 2), (2, 3), (3, 4))
STAR = [(0, -9), (2.6, -3.6), (8.6, -2.8), (4.3, 1.4), (5.3, 7.3), (0, 4.5)]  # its right half, from the top
STAR += [(-x, y) for x, y in STAR[4:0:-1]]


def draw(state: GameState, outcome: int | None, is_aborted: bool) -> np.ndarray:
    """Draw the board with its units, the active one in a ring, below the score."""
    canvas, board = _ground(state.scenario).copy(), state.scenario.board
    _header(canvas, state, outcome, is_aborted)
    for at, holder in state.objectives.items():
        color = PLAYERS[holder - 1] if holder else None
        if color:
            _border(canvas, board.objective_hexes(at), color, 4, dashed=holder == 2)
        canvas.polygon(_shifted(STAR, _center(at)), color, color or GOAL, 1.5)
    for unit in state.units.values():
        if unit.col >= 0:
            _token(canvas, unit, active=unit.id == state.active_unit_id)
    return canvas.pixels()


def heat(share: float) -> float:
    """Return how dark a hex is; rare uses are pale, but not invisible."""
    return float(0.1 + 0.9 * share**0.6)


def draw_setups(scenario: Scenario, setups: Sequence[tuple[GameState, int]]) -> np.ndarray:
    """Draw in which share of these states the player of a seat has a unit on each hex: the darker, the more often."""
    canvas, board, shares = _ground(scenario).copy(), scenario.board, dict[Hex, float]()
    words = f"{len(setups) // len(PLAYERS)} deployments of each side · darker: more often"
    canvas.text((_width(board) / 2, MARGIN + HEADER / 2 - 7), words, 16, palette.FAINT, bold=False)
    for seat, color in enumerate(PLAYERS):
        own = [state for state, one in setups if one == seat]
        units = (unit for state in own for unit in state.units.values() if unit.player == seat + 1 and unit.col >= 0)
        counts = Counter((unit.col, unit.row) for unit in units)
        shares |= {one: count / len(own) for one, count in counts.items()}
        for one in counts:
            canvas.polygon(_shifted(CORNERS, _center(one)), mix(color, CELL, heat(shares[one])), palette.EDGE)
    _zones(canvas, scenario)
    for one in board.cover & shares.keys():
        canvas.polygon(_shifted([(0.7 * x, 0.7 * y) for x, y in CORNERS], _center(one)), None, COVER, 1.5)
    for one, share in shares.items():
        if share > LABELED:
            canvas.text(_center(one), f"{share:.0%}", 12, CARD if share >= 0.5 else INK)
    return canvas.pixels()


def _center(one: Hex) -> Point:
    col, row = one
    return MARGIN + SIZE * (1.5 * col + 1), HEADER + MARGIN + HALF * (2 * row + 1 + col % 2)


def _width(board: Board) -> float:
    return 2 * MARGIN + SIZE * (1.5 * board.cols + 0.5)


def _shifted(points: Iterable[Point], at: Point) -> list[Point]:
    return [(x + at[0], y + at[1]) for x, y in points]


@lru_cache(maxsize=2)
def _ground(scenario: Scenario) -> Canvas:
    """Draw what does not change during a game; hexes beyond the lower edge are not drawn."""
    board = scenario.board
    canvas = Canvas(_width(board), HEADER + 2 * MARGIN + 2 * HALF * board.rows)
    goals = {one for at in board.objectives for one in board.objective_hexes(at)}
    colors = dict.fromkeys(goals, mix(palette.YELLOW, CELL, 0.34)) | dict.fromkeys(board.walls, WALL)
    for player, pool in enumerate(scenario.pools):
        colors = dict.fromkeys(pool, mix(PLAYERS[player], CELL, 0.11)) | colors
    for cell in range(board.cols * board.rows):
        one = (cell % board.cols, cell // board.cols)
        if one not in board.forbidden:
            canvas.polygon(_shifted(CORNERS, _center(one)), colors.get(one, CELL), palette.EDGE)
    for one in board.cover:
        canvas.polygon(_shifted([(0.6 * x, 0.6 * y) for x, y in CORNERS], _center(one)), mix(COVER, CELL, 0.5), COVER)
    for one in board.walls:
        canvas.polygon(_shifted(CORNERS, _center(one)), None, WALL_EDGE, 1.5)
    _zones(canvas, scenario)
    return canvas


def _zones(canvas: Canvas, scenario: Scenario) -> None:
    for player, pool in enumerate(scenario.pools):
        _border(canvas, pool, mix(PLAYERS[player], CELL, 0.6), 2, dashed=player == 1)
    for at in scenario.board.objectives:
        _border(canvas, scenario.board.objective_hexes(at), GOAL, 2.5)


def _border(canvas: Canvas, hexes: Iterable[Hex], color: str, width: float, dashed: bool = False) -> None:
    inside = set(hexes)
    for one in sorted(inside):
        corners = _shifted(CORNERS, _center(one))
        for beside, (a, b) in zip(neighbors(*one), EDGES, strict=True):
            if beside not in inside and dashed:
                canvas.dashes(corners[a], corners[b], color, width, SIZE / 2)
            elif beside not in inside:
                canvas.line([corners[a], corners[b]], color, width)


def _header(canvas: Canvas, state: GameState, outcome: int | None, is_aborted: bool) -> None:
    """Write the victory points of both players, and the phase or the result."""
    width, y = _width(state.scenario.board), MARGIN + HEADER / 2 - 7
    for player, x, side in ((1, MARGIN + 12, 1), (2, width - MARGIN - 12, -1)):
        _body(canvas, (x, y), player, 10)
        points = str(state.victory_points[player])
        canvas.text((x + side * 20, y), points, 20, PLAYERS[player - 1], "lm" if side == 1 else "rm")
    when = f"round {state.round}, {state.phase}" if state.round else state.phase
    result = {1: ("player 1 wins", FIRST), 0: ("draw", INK), -1: ("player 2 wins", SECOND)}
    words, color = (when, palette.FAINT) if outcome is None else ("aborted", INK) if is_aborted else result[outcome]
    canvas.text((width / 2, y), words, 16, color, bold=outcome is not None)


def _body(canvas: Canvas, at: Point, player: int, radius: float) -> None:
    if player == 1:
        canvas.circle(at, radius, FIRST, CARD, 1.5)
    else:
        side = 0.92 * radius
        canvas.rect((at[0] - side - 1.5, at[1] - side - 1.5, 2 * side + 3, 2 * side + 3), CARD, 5)
        canvas.rect((at[0] - side, at[1] - side, 2 * side, 2 * side), SECOND, 4)


def _token(canvas: Canvas, unit: Unit, active: bool) -> None:
    x, y = _center((unit.col, unit.row))
    if active:
        canvas.circle((x, y), 20, CARD, INK, 2.5)
    _body(canvas, (x, y), unit.player, 15)
    canvas.text((x, y - 2.5), unit.id[:3], 13 if len(unit.id) < 3 else 10, CARD)
    most, width = unit.profile.hp, 25.0
    canvas.rect((x - width / 2 - 1, y + 8.5, width + 2, 7), CARD, 1)
    for k in range(most):  # a segment for each hit point
        segment = (x + (k / most - 0.5) * width + 0.5, y + 9.5, width / most - 1, 5)
        canvas.rect(segment, palette.GREEN if k < unit.hp else palette.CLOSED_EDGE)
