"""Othello. A position has a set of bits for the discs of each seat, and the seat to move.

  a b c d          a1 is bit 0, b1 bit 1, a2 bit `size`. Seat 0 moves first; its discs are on d5 and e4 of an 8x8 board
1 . . . .          at the start, those of seat 1 on d4 and e5. A player without a move passes; if neither has one, the
2 . O X .          game is over and the player with more discs has won.
3 . X O .
4 . . . .
"""

from functools import cache, lru_cache
from typing import NamedTuple


class Position(NamedTuple):
    first: int
    second: int
    seat: int  # to move


@cache
def directions(size: int) -> list[tuple[int, int]]:
    """Return the shift to each neighbor, and the cells that are one: nothing enters the next row."""
    everywhere, left = (1 << size * size) - 1, sum(1 << row * size for row in range(size))
    not_left, not_right = everywhere & ~left, everywhere & ~(left << size - 1)
    return [
        *((1, not_left), (-1, not_right), (size, everywhere), (-size, everywhere)),
        *((size + 1, not_left), (size - 1, not_right), (1 - size, not_left), (-size - 1, not_right)),
    ]


@lru_cache(1 << 14)  # asked for several times at each position
def moves(size: int, own: int, other: int) -> int:
    """Return the cells, as bits, where a disc encloses some of the opponent's."""
    found, empty = 0, ~(own | other)
    for step, board in directions(size):
        run = _shifted(own, step) & board & other
        for _ in range(size - 3):
            run |= _shifted(run, step) & board & other
        found |= _shifted(run, step) & board & empty
    return found


class Board:
    """The rules on a board. Cells are numbers, row by row."""

    def __init__(self, size: int) -> None:
        """`size` is even."""
        self.size = size

    def start(self) -> Position:
        upper = (self.size // 2 - 1) * (self.size + 1)  # d4 of 8x8
        lower = upper + self.size + 1
        return Position(1 << upper + 1 | 1 << lower - 1, 1 << upper | 1 << lower, 0)

    def legal_cells(self, position: Position) -> int:
        """Return the cells, as bits, on which the player to move may place a disc."""
        return moves(self.size, *_own_and_other(position))

    def is_over(self, position: Position) -> bool:
        own, other = _own_and_other(position)
        return not moves(self.size, own, other) and not moves(self.size, other, own)

    def place(self, position: Position, cell: int | None) -> Position:
        """Place a disc of the player to move on a legal cell and turn those that it encloses; None passes."""
        own, other = _own_and_other(position)
        if cell is not None:
            placed, turned = 1 << cell, 0
            for step, board in directions(self.size):
                run, at = 0, _shifted(placed, step) & board
                while at & other:
                    run |= at
                    at = _shifted(at, step) & board
                if at & own:
                    turned |= run
            own, other = own | placed | turned, other & ~turned
        return Position(own, other, 1) if position.seat == 0 else Position(other, own, 0)


def _own_and_other(position: Position) -> tuple[int, int]:
    first, second, seat = position
    return (first, second) if seat == 0 else (second, first)


def _shifted(bits: int, step: int) -> int:
    return bits << step if step > 0 else bits >> -step
