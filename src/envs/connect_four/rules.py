"""Connect Four. A position has a set of bits for the stones of each seat; seat 0 moves first.

5 12 19     Each column has one bit more than it has rows, which stays empty, so that shifted lines do not run
4 11 18 ..  from one column into the next. The bits of a column are counted from the bottom; here of 6 rows.
.  .  .
0  7 14
"""

from typing import NamedTuple

from ...core.errors import require


class Position(NamedTuple):
    first: int
    second: int


class Board:
    """The geometry of a board, and the rules on it."""

    def __init__(self, rows: int, cols: int, length: int) -> None:
        """`length` stones in a line win."""
        require(max(rows, cols) >= length >= 2, f"no line of {length} fits on {rows}x{cols}: choose a smaller length")
        self.rows, self.cols, self.length = rows, cols, length
        self._columns = [((1 << rows) - 1) << col * (rows + 1) for col in range(cols)]
        self._full = sum(self._columns)

    def seat_to_move(self, position: Position) -> int:
        return (position.first | position.second).bit_count() % 2

    def legal_columns(self, position: Position) -> list[int]:
        if self.outcome(position) is not None:
            return []
        taken = position.first | position.second
        return [col for col, bits in enumerate(self._columns) if taken & bits != bits]

    def drop(self, position: Position, col: int) -> Position:
        """Put a stone of the player to move on the lowest empty cell of a column that is not full."""
        taken, bits = position.first | position.second, self._columns[col]
        stone = ((taken & bits) + (1 << col * (self.rows + 1))) & bits
        if self.seat_to_move(position) == 0:
            return Position(position.first | stone, position.second)
        return Position(position.first, position.second | stone)

    def outcome(self, position: Position) -> int | None:
        """Return 1 or -1 if seat 0 or seat 1 has a line, 0 for a full board, None while the game continues."""
        if self.lines(position[1 - self.seat_to_move(position)]):  # only the latest stone can have completed one
            return -1 if self.seat_to_move(position) == 0 else 1
        return 0 if position.first | position.second == self._full else None

    def lines(self, stones: int) -> int:
        """Return the bits at which lines of these stones begin."""
        found = 0
        for step in (1, self.rows, self.rows + 1, self.rows + 2):  # up, and to the right: falling, level, rising
            line = stones
            for number in range(1, self.length):
                line &= stones >> number * step
            found |= line
        return found

    def bit(self, row: int, col: int) -> int:
        """Return the number of the bit of a cell; row 0 is at the top."""
        return col * (self.rows + 1) + self.rows - 1 - row
