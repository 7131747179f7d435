"""The two classic rules are sound, regardless of flags."""

import numpy as np
import pytest
from hypothesis import given, settings

from src.envs.minesweeper.game import View
from src.envs.minesweeper.rules import FLAGGED, HIDDEN
from src.envs.minesweeper.solver import InconsistentPosition, choose, forced_moves, heuristic_moves, rules_moves
from tests.envs.minesweeper.test_solver_positions import completions, positions


@settings(max_examples=200, deadline=None, derandomize=True)
@given(positions())
def test_rules_forced_moves_soundness(drawn):
    visible, mines = drawn
    share = completions(visible, mines).mean(axis=0)
    flat = visible.reshape(-1)
    for kind, cell in forced_moves(View(visible, mines)):
        assert flat[cell] < 0
        assert share[cell] == {"reveal": 0.0, "flag": 1.0}[kind]
        assert kind == "reveal" or flat[cell] != FLAGGED


@settings(max_examples=100, deadline=None, derandomize=True)
@given(positions())
def test_single_numbers_leave_nothing_undone(drawn):
    """No single number implies anything more, given its decided neighbours."""
    visible, mines = drawn
    bare = np.where(visible == FLAGGED, HIDDEN, visible).astype(np.int8)
    moves = forced_moves(View(bare, mines))
    safe, found = ({cell for kind, cell in moves if kind == name} for name in ("reveal", "flag"))
    for row, col in np.argwhere(bare >= 0):
        around = {
            r * bare.shape[1] + c
            for r in range(max(row - 1, 0), min(row + 2, bare.shape[0]))
            for c in range(max(col - 1, 0), min(col + 2, bare.shape[1]))
            if bare[r, c] < 0
        }
        missing = bare[row, col] - len(around & found)
        undecided = around - found - safe
        assert not undecided or 0 < missing < len(undecided)


def test_rules_chain_through_inferred_mines_and_past_a_wrong_flag():
    # The 1 in the corner sees one hidden cell, a mine; so the 1 beside it has its mine, and the flagged cell is safe.
    visible = np.array([[1, 1, FLAGGED], [1, HIDDEN, HIDDEN], [1, 1, 1]], np.int8)
    visible[1, 2] = 1
    assert forced_moves(View(visible, 1)) == [("reveal", 2), ("flag", 4)]
    visible[1, 1] = FLAGGED
    assert forced_moves(View(visible, 1)) == [("reveal", 2)]


def test_mine_count_settles_the_rest():
    visible = np.array([[HIDDEN, 1, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    assert forced_moves(View(visible, 1)) == []
    assert forced_moves(View(visible, 3)) == []
    visible = np.array([[0, 1, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    assert forced_moves(View(visible, 1)) == [("reveal", 3), ("reveal", 4), ("flag", 2)]
    assert forced_moves(View(visible, 3)) == [("flag", 2), ("flag", 3), ("flag", 4)]


def test_contradictions_are_refused():
    with pytest.raises(InconsistentPosition):
        forced_moves(View(np.array([[3, HIDDEN]], np.int8), 1))


def test_rules_stop_and_heuristic_guesses():
    visible = np.array([[HIDDEN, 1, HIDDEN, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    assert choose(visible, 2, rules_moves).action is None
    guess = choose(visible, 2, heuristic_moves)  # beside the number 1/2, elsewhere 2 mines on 5 cells
    assert (guess.action, guess.certain, guess.mine_probability) == (3, False, 0.4)
    assert choose(visible, 4, heuristic_moves).action == 0
