"""The compiled rules, checked against a slow reference implementation."""

from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from src.envs.minesweeper import rules
from src.envs.minesweeper.rules import LOST, PLAYING, WON, Boards
from src.envs.minesweeper.variant import FLAGGED, HIDDEN, MINE
from src.envs.splitmix import seed_word


def one_board(rows: int, cols: int, mines: int, seed: int = 0, safe_neighborhood: bool = False) -> Boards:
    boards = rules.new_boards(1, rows, cols, safe_neighborhood)
    boards.games["random"] = seed_word(seed)
    rules.start_game(boards, 0, mines, mines)
    return boards


def around(cell: int, rows: int, cols: int) -> set[int]:
    row, col = divmod(cell, cols)
    return {
        r * cols + c
        for r in range(rows)
        for c in range(cols)
        if abs(r - row) <= 1 and abs(c - col) <= 1 and (r, c) != (row, col)
    }


Position = tuple[int, int, int, int, bool, int]  # rows, cols, mines, seed, safe_neighborhood, a cell


@st.composite
def positions(draw: st.DrawFn) -> Position:
    rows, cols = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    safe_neighborhood = draw(st.booleans())
    kept_free = min(3, rows) * min(3, cols) if safe_neighborhood else 1
    room = rows * cols - kept_free
    mines = draw(st.integers(min(1, room), room))
    return rows, cols, mines, draw(st.integers(0, 2**32)), safe_neighborhood, draw(st.integers(0, rows * cols - 1))


@given(positions())
def test_neighbors_are_the_cells_around(position: Position) -> None:
    rows, cols = position[:2]
    near, degree = rules.neighbors(rows, cols)
    for cell in range(rows * cols):
        assert set(near[cell, : degree[cell]].tolist()) == around(cell, rows, cols)
        assert degree[cell] == len(around(cell, rows, cols))


@settings(deadline=None)
@given(positions())
def test_mines_are_laid_as_asked_and_counted(position: Position) -> None:
    rows, cols, mines, seed, safe_neighborhood, first = position
    boards = one_board(rows, cols, mines, seed, safe_neighborhood)
    assert not boards.number.any(), "no mine may lie before the first reveal"
    rules.reveal(boards, 0, first)
    mined = set(np.flatnonzero(boards.number[0] == MINE).tolist())
    assert len(mined) == mines
    assert first not in mined
    if safe_neighborhood:
        assert not mined & around(first, rows, cols)
    for cell in set(range(rows * cols)) - mined:
        assert boards.number[0, cell] == len(around(cell, rows, cols) & mined)


def test_mines_are_uniform_over_the_allowed_sets() -> None:
    boards = one_board(2, 4, 2)
    draws = 42_000
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        rules.start_game(boards, 0, 2, 2)
        rules.lay_mines(boards, 0, 5)
        seen[tuple(np.flatnonzero(boards.number[0] == MINE).tolist())] += 1
    allowed = list(combinations([cell for cell in range(8) if cell != 5], 2))
    assert set(seen) == set(allowed)
    expected = draws / len(allowed)
    chi_square = sum((seen[pair] - expected) ** 2 / expected for pair in allowed)
    assert chi_square < 45.3, "20 degrees of freedom exceed this once in a thousand, and the seed is fixed"


def test_a_drawn_first_reveal_is_uniform() -> None:
    boards = one_board(4, 4, 15)
    counts = np.zeros(16)
    for _ in range(16_000):
        assert rules.start_revealed(boards, 0, 15, 15) == 1
        counts[boards.opened[0, 0]] += 1
    assert ((counts - 1000) ** 2 / 1000).sum() < 37.7, "15 degrees of freedom, one in a thousand"


def flood(boards: Boards, cell: int) -> set[int]:
    """Return the cells that a reveal must open, by recursion over sets."""
    near, degree = boards.near, boards.degree
    found, waiting = set(), [cell]
    while waiting:
        here = waiting.pop()
        if here in found or boards.visible[0, here] >= 0:
            continue
        found.add(here)
        if boards.number[0, here] == 0:
            waiting += near[here, : degree[here]].tolist()
    return found


@settings(deadline=None)
@given(positions())
def test_random_games_follow_the_definition(position: Position) -> None:
    rows, cols, mines, seed, safe_neighborhood, cell = position
    random = Random(seed)
    boards = one_board(rows, cols, mines, seed, safe_neighborhood)
    game = boards.games[0]
    rules.lay_mines(boards, 0, cell)
    while game["status"] == PLAYING:
        before = boards.visible[0].copy()
        if random.random() < 0.3:
            rules.toggle_flag(boards, 0, cell)
            before[cell] = FLAGGED if before[cell] == HIDDEN else HIDDEN
        elif boards.number[0, cell] == MINE:
            assert rules.reveal(boards, 0, cell) == 0
            assert game["status"] == LOST
            before[cell] = HIDDEN
        else:
            expected = sorted(flood(boards, cell))
            count = rules.reveal(boards, 0, cell)
            assert sorted(boards.opened[0, :count].tolist()) == expected, "each cell once"
            before[expected] = boards.number[0, expected]
        np.testing.assert_array_equal(boards.visible[0], before)
        flags = boards.visible[0] == FLAGGED
        assert game["flags"] == flags.sum()
        assert game["right_flags"] == (flags & (boards.number[0] == MINE)).sum()
        assert game["safe_left"] == rows * cols - mines - (boards.visible[0] >= 0).sum()
        assert (game["status"] == WON) == (game["safe_left"] == 0)
        cell = random.choice(np.flatnonzero(boards.visible[0] < 0).tolist() or [cell])


def test_mine_count_is_drawn_from_the_whole_band() -> None:
    boards = one_board(5, 5, 3)
    drawn = set()
    for _ in range(300):
        rules.start_game(boards, 0, 3, 6)
        drawn.add(int(boards.games[0]["mines"]))
    assert drawn == {3, 4, 5, 6}
