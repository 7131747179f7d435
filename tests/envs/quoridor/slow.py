"""A slow and simple reference implementation of Quoridor, to check the compiled one against.

A wall is (column, row, kind) of its lower-left cell; a cell is (column, row), both from 0.
"""

from collections.abc import Iterator

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
        def name(cell: Cell) -> str:
            return f"{'abcdefghi'[cell[0]]}{cell[1] + 1}"

        side = range(self.size - 1)
        walls = {(col, row, kind) for col in side for row in side for kind in "hv"}
        legal = {wall for wall in walls if self.wall_is_legal(wall)}
        return {name(cell) for cell in self.pawn_targets()} | {name(wall[:2]) + wall[2] for wall in legal}
