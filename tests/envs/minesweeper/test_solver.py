"""Exact probabilities against the enumeration of every mine placement."""

from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.core.errors import UserError
from src.envs.minesweeper.rules import FLAGGED, HIDDEN, neighbors
from src.envs.minesweeper.solver import (
    InconsistentPosition,
    analyse,
    choose,
    exact_moves,
    heuristic_moves,
    mine_probabilities,
    probability,
    rules_moves,
)
from src.envs.minesweeper.solver.constraints import padded_neighbors
from tests.envs.minesweeper.test_solver_positions import completions, numbers, position, positions


@settings(max_examples=200, deadline=None, derandomize=True)
@given(positions())
def test_probabilities_equal_enumeration(drawn):
    visible, mines = drawn
    placements = completions(visible, mines)
    analysis = analyse(visible, mines)
    expected = placements.mean(axis=0).reshape(visible.shape)
    np.testing.assert_allclose(analysis.mine_probability, expected, rtol=1e-11)
    np.testing.assert_array_equal(analysis.mine_probability == 0.0, expected == 0.0)
    np.testing.assert_array_equal(analysis.mine_probability == 1.0, expected == 1.0)
    assert analysis.log_completions == pytest.approx(log(len(placements)), abs=1e-9)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(positions(), st.data())
def test_inconsistent_positions_are_refused_and_no_others(drawn, data):
    visible, mines = drawn
    shown = np.flatnonzero(visible.reshape(-1) >= 0)
    if shown.size > 0:
        visible.reshape(-1)[data.draw(st.sampled_from(shown.tolist()))] = data.draw(st.integers(0, 8))
    mines += data.draw(st.integers(-1, 1))
    if mines < 0 or len(completions(visible, mines)) == 0:
        with pytest.raises(InconsistentPosition, match=f"{mines} mines"):
            mine_probabilities(visible, mines)
    else:
        expected = completions(visible, mines).mean(axis=0).reshape(visible.shape)
        np.testing.assert_allclose(mine_probabilities(visible, mines), expected, rtol=1e-11)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(positions())
def test_flags_are_not_believed(drawn):
    visible, mines = drawn
    bare = np.where(visible == FLAGGED, HIDDEN, visible)
    np.testing.assert_array_equal(mine_probabilities(visible, mines), mine_probabilities(bare, mines))


def test_nothing_revealed_leaves_the_density():
    visible = np.full((16, 30), HIDDEN, np.int8)
    analysis = analyse(visible, 99)
    np.testing.assert_allclose(analysis.mine_probability, 99 / 480, rtol=1e-12)
    assert analysis.log_completions == pytest.approx(log(comb(480, 99)))


@pytest.mark.parametrize(("rows", "cols", "mines"), [(16, 30, 99), (40, 60, 500)])
def test_probabilities_add_up_to_the_mines(rows, cols, mines):
    """On boards far too large to enumerate; scattered numbers make wide components, a large opening a long one."""
    rng = np.random.default_rng(1)
    mined = np.zeros(rows * cols, np.bool_)
    mined[rng.permutation(rows * cols)[:mines]] = True
    for shown in (rng.random(mined.size) < 0.1, numbers(mined, rows, cols) == 0, np.arange(mined.size) % cols < 5):
        visible = position(mined, shown, rows, cols)
        found = mine_probabilities(visible, mines)
        assert found.sum() == pytest.approx(mines, rel=1e-9)
        assert not np.any(found[mined.reshape(rows, cols)] == 0.0)
        assert not np.any(found[~mined.reshape(rows, cols)] == 1.0)


def test_a_certain_cell_is_exact_next_to_extreme_odds():
    """A 1 in the corner of 100x100 cells: its neighbours are unlikely mines together, but none is certain."""
    visible = np.full((100, 100), HIDDEN, np.int8)
    visible[0, 0], visible[99, 99] = 1, 3
    found = mine_probabilities(visible, 9000)
    np.testing.assert_allclose(found[[0, 1, 1], [1, 0, 1]], 1 / 3)
    np.testing.assert_array_equal(found[[98, 98, 99], [98, 99, 98]], 1.0)
    assert found[0, 0] == found[99, 99] == 0.0


def test_too_entangled_positions_are_refused(monkeypatch):
    monkeypatch.setattr(probability, "STATES", 2)
    monkeypatch.setattr(probability, "MAX_STATES", 4)
    visible = np.full((5, 9), HIDDEN, np.int8)
    visible[2, 1::2] = 3
    with pytest.raises(UserError, match="too entangled"):
        mine_probabilities(visible, 9)


def test_more_states_are_taken_when_needed(monkeypatch):
    visible = np.full((5, 9), HIDDEN, np.int8)
    visible[2, 1::2] = 3
    expected = mine_probabilities(visible, 9)
    monkeypatch.setattr(probability, "STATES", 2)
    np.testing.assert_array_equal(mine_probabilities(visible, 9), expected)


def test_two_numbers_by_hand():
    """1 2 over three hidden cells: the 2 needs the right-hand one and one of the two that the 1 sees."""
    visible = np.array([[1, 2, 1], [HIDDEN, HIDDEN, HIDDEN]], np.int8)
    placements = [set(cells) for cells in combinations((3, 4, 5), 2)]
    agree = [cells for cells in placements if len(cells & {3, 4}) == 1 and len(cells & {4, 5}) == 1]
    assert agree == [{3, 5}]
    np.testing.assert_array_equal(mine_probabilities(visible, 2), [[0, 0, 0], [1, 0, 1]])


@pytest.mark.parametrize("states", [1, 2, 4, 8, 16, 32])
def test_room_that_one_component_fills_is_not_overrun_by_the_next(states):
    visible = np.full((3, 24), HIDDEN, np.int8)
    visible[1, 2], visible[1, 12], visible[1, 20] = 3, 3, 2
    engine = probability.make_engine(visible.shape, states)
    status, _ = probability.examine(
        probability.flatten(visible), np.zeros(visible.size, np.int8), 10, engine, np.zeros(visible.size)
    )
    assert status == (probability.TOO_WIDE if states < 8 else probability.CONSISTENT)


@pytest.mark.parametrize("mines", [9, -1])
def test_no_player_moves_where_the_mines_cannot_be(mines):
    visible = np.array([[0, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    for moves in (exact_moves, rules_moves, heuristic_moves):
        with pytest.raises(InconsistentPosition):
            choose(visible, mines, moves)


@pytest.mark.parametrize("value", [-3, 9, 300])
def test_values_that_no_board_shows_are_refused(value):
    with pytest.raises(UserError, match="a position holds"):
        mine_probabilities(np.full((2, 2), value, np.int64), 1)


def test_the_shared_neighbours_stay_as_they_are():
    near, degree = neighbors(3, 4)
    padded_neighbors(3, 4)
    assert near[0, degree[0] :].tolist() == [0] * (8 - degree[0])
