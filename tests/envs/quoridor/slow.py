"""Slow and simple reference implementations of Quoridor and of the player of its source document.

The compiled ones are compared with them. A wall is (column, row, kind) of its lower-left cell; a cell is (column, row),
both from 0.
"""

from collections.abc import Callable, Iterator
from copy import copy
from itertools import pairwise

from src.envs.quoridor.rules import Position

Cell = tuple[int, int]
Wall = tuple[int, int, str]


class SlowQuoridor:
    def __init__(self, size: int, state: Position) -> None:
        self.size, self.player = size, state.ply % 2
        self.pawns = [(cell % size, cell // size) for cell in state.pawns]
        self.left = state.left
        side = size - 1
        self.walls: set[Wall] = {
            (number % side, number // side, kind)
            for kind, numbers in (("h", state.horizontal), ("v", state.vertical))
            for number in range(side * side)
            if numbers >> number & 1
        }

    def is_open(self, a: Cell, b: Cell) -> bool:
        """Whether there is no wall or edge between two adjacent cells."""
        if not (0 <= b[0] < self.size and 0 <= b[1] < self.size):
            return False
        col, row = min(a[0], b[0]), min(a[1], b[1])
        upright = a[0] == b[0]
        blockers = {(col, row, "h"), (col - 1, row, "h")} if upright else {(col, row, "v"), (col, row - 1, "v")}
        return not blockers & self.walls

    def steps(self, cell: Cell) -> Iterator[Cell]:
        for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            target = (cell[0] + step[0], cell[1] + step[1])
            if self.is_open(cell, target):
                yield target

    def distance(self, player: int, start: Cell | None = None) -> int | None:
        """Return the steps from the pawn of a player, or another cell, to the goal of the player."""
        goal, frontier, seen, count = (self.size - 1) * (1 - player), {start or self.pawns[player]}, set(), 0
        while frontier:
            if any(row == goal for _, row in frontier):
                return count
            seen |= frontier
            frontier = {target for cell in frontier for target in self.steps(cell)} - seen
            count += 1
        return None

    def pawn_targets(self) -> set[Cell]:
        mine, other = self.pawns[self.player], self.pawns[1 - self.player]
        targets = set()
        for target in self.steps(mine):
            if target != other:
                targets.add(target)
                continue
            beyond = (2 * other[0] - mine[0], 2 * other[1] - mine[1])
            if self.is_open(other, beyond):
                targets.add(beyond)
            else:
                targets |= {aside for aside in self.steps(other) if aside not in (mine, beyond)}
        return targets

    def wall_is_legal(self, wall: Wall) -> bool:
        col, row, kind = wall
        along = (1, 0) if kind == "h" else (0, 1)
        taken = {(col, row, "h"), (col, row, "v")}
        taken |= {(col + sign * along[0], row + sign * along[1], kind) for sign in (1, -1)}
        if self.left[self.player] == 0 or taken & self.walls:
            return False
        self.walls.add(wall)
        kept = self.distance(0) is not None and self.distance(1) is not None
        self.walls.remove(wall)
        return kept

    def legal_names(self) -> set[str]:
        side = range(self.size - 1)
        walls = {(col, row, kind) for col in side for row in side for kind in "hv"}
        return set(map(name_of, self.pawn_targets() | {wall for wall in walls if self.wall_is_legal(wall)}))

    def after(self, move: Cell | Wall) -> "SlowQuoridor":
        """Return the position after a legal move."""
        other = copy(self)
        other.pawns, left, other.player = list(self.pawns), list(self.left), 1 - self.player
        if len(move) == 3:
            other.walls = self.walls | {move}
            left[self.player] -= 1
        else:
            other.pawns[self.player] = move
        other.left = left[0], left[1]
        return other

    def shortest_path(self, player: int) -> list[Cell]:
        """Return the cells of a shortest path from the goal back to the pawn.

        The document does not say which one. Here, from the player's point of view, it ends as far left as possible, and
        each of its cells is reached from the front, the right, the back or the left, in this order of preference.
        """
        layers, seen = [{self.pawns[player]}], {self.pawns[player]}
        goal = (self.size - 1) * (1 - player)
        while not any(row == goal for _, row in layers[-1]):
            layers.append({target for cell in layers[-1] for target in self.steps(cell)} - seen)
            seen |= layers[-1]
        arrived = [cell for cell in layers[-1] if cell[1] == goal]
        path = [min(arrived) if player == 0 else max(arrived)]
        sign = 1 - 2 * player
        for layer in reversed(layers[:-1]):
            col, row = path[-1]
            around = [(col, row + sign), (col + sign, row), (col, row - sign), (col - sign, row)]
            path.append(next(cell for cell in around if cell in layer and self.is_open(path[-1], cell)))
        return path


def name_of(move: Cell | Wall) -> str:
    return f"{'abcdefghi'[move[0]]}{move[1] + 1}{move[2] if len(move) == 3 else ''}"


# The player of the source document

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)
Line = tuple[Cell | Wall, ...]


def document_candidates(board: SlowQuoridor) -> set[Cell | Wall]:
    """Pawn moves; walls across the opponent's shortest path and in the 2x2 box around its pawn, if they are legal."""
    other = 1 - board.player
    path, (col, row) = board.shortest_path(other), board.pawns[other]
    walls = {(c, r, kind) for c in (col - 1, col) for r in (row - 1, row) for kind in "hv"}
    for a, b in pairwise(path):
        col, row = min(a, b)
        walls |= {(col, row, "h"), (col - 1, row, "h")} if a[0] == b[0] else {(col, row, "v"), (col, row - 1, "v")}
    side = range(board.size - 1)
    inside = {wall for wall in walls if wall[0] in side and wall[1] in side}
    return board.pawn_targets() | {wall for wall in inside if board.wall_is_legal(wall)}


def document_score(board: SlowQuoridor, me: int) -> int:
    """Return five weighted factors for player `me`, or the score of a game that is won, lost or blocked."""
    other = 1 - me
    for player, score in ((me, INT_MAX), (other, INT_MIN)):
        if board.pawns[player][1] == (board.size - 1) * (1 - player):
            return score
    mine, theirs = board.distance(me), board.distance(other)
    if mine is None or theirs is None:
        return INT_MIN + 1 if mine is None else INT_MAX - 1

    def endgame(steps: int) -> int:
        return (4 - steps) ** 2 if steps <= 3 else 0

    def mobility(player: int) -> int:
        return sum(target != board.pawns[1 - player] for target in board.steps(board.pawns[player]))

    def lengthening(player: int, steps: int) -> int:
        row = board.pawns[player][1]
        return steps - (board.size - 1 - row if player == 0 else row)

    return (
        10 * (theirs - mine)
        + 15 * (endgame(mine) - endgame(theirs))
        + 2 * (board.left[me] - board.left[other])
        + 3 * (mobility(me) - mobility(other))
        + 5 * (lengthening(other, theirs) - lengthening(me, mine))
    )


def document_minimax(
    board: SlowQuoridor, me: int, depth: int, alpha: float, beta: float, line: Line, noise: Callable[[Line], int]
) -> int:
    """Return the score of a position for player `me`, who maximizes it; `noise` is added where the game is not over."""
    score = document_score(board, me)
    if depth == 0 or not INT_MIN + 1 < score < INT_MAX - 1:
        return score + (noise(line) if INT_MIN + 1 < score < INT_MAX - 1 else 0)
    scores = []
    for move in sorted(document_candidates(board), key=name_of):
        scores.append(document_minimax(board.after(move), me, depth - 1, alpha, beta, (*line, move), noise))
        if board.player == me:
            alpha = max(alpha, scores[-1])
        else:
            beta = min(beta, scores[-1])
        if beta <= alpha:
            break
    return max(scores) if board.player == me else min(scores)


def document_scores(board: SlowQuoridor, depth: int, noise: Callable[[Line], int]) -> dict[str, int]:
    """Return the score of every candidate move by its name."""
    return {
        name_of(move): document_minimax(
            board.after(move), board.player, depth - 1, -float("inf"), float("inf"), (move,), noise
        )
        for move in document_candidates(board)
    }
