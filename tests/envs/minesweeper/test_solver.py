"""Single-point rules, exact probabilities and samples, against the enumeration of every mine placement."""

from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.minesweeper_ceiling.completions import draw_completions
from src.core.errors import UserError
from src.envs.minesweeper import solver
from src.envs.minesweeper.rules import neighbors
from src.envs.minesweeper.solver import analyze, choose, engine, forced_moves, mine_probabilities
from src.envs.minesweeper.solver.engine import CONSISTENT, INCONSISTENT, TOO_WIDE, flatten, make_engine
from src.envs.minesweeper.solver.probability import examine
from src.envs.minesweeper.solver.single_point import propagate_all
from src.envs.minesweeper.variant import FLAGGED, HIDDEN

MAX_HIDDEN = 13


def numbers(mined: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """(..., cells) mines around each cell."""
    padded = np.concatenate([mined, np.zeros((*mined.shape[:-1], 1), np.bool_)], axis=-1)
    return padded[..., engine.padded_neighbors(rows, cols)].sum(axis=-1)


def position(mined: np.ndarray, shown: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """(rows, cols) int8: what a player sees who has revealed the safe ones of the `shown` cells."""
    visible = np.where(shown & ~mined, numbers(mined, rows, cols), HIDDEN)
    return visible.astype(np.int8).reshape(rows, cols)


@st.composite
def positions(draw: st.DrawFn, most_hidden: int = MAX_HIDDEN) -> tuple[np.ndarray, int]:
    """A consistent position of up to 4x5 cells with flags anywhere, and its number of mines."""
    rows, cols = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    cells = rows * cols
    mines = draw(st.integers(0, min(cells, most_hidden)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mined, shown = np.zeros(cells, np.bool_), rng.random(cells) < draw(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]))
    order = rng.permutation(cells)
    mined[order[:mines]] = True
    shown[order[most_hidden:]] = True
    visible = position(mined, shown, rows, cols)
    return np.where((visible == HIDDEN) & (rng.random((rows, cols)) < 0.3), FLAGGED, visible).astype(np.int8), mines


def completions(visible: np.ndarray, mines: int) -> np.ndarray:
    """(completions, cells) bool: every placement of the mines that agrees with the numbers."""
    flat = visible.reshape(-1)
    hidden = np.flatnonzero(flat < 0)
    bits = (np.arange(2**hidden.size)[:, None] >> np.arange(hidden.size)) & 1
    mined = np.zeros((bits.shape[0], flat.size), np.bool_)
    mined[:, hidden] = bits
    mined = mined[bits.sum(axis=1) == mines]
    agree = (numbers(mined, *visible.shape) == flat) | (flat < 0)
    return mined[agree.all(axis=1)]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(positions())
def test_rules_forced_moves_soundness(drawn):
    visible, mines = drawn
    share = completions(visible, mines).mean(axis=0)
    flat = visible.reshape(-1)
    for kind, cell in forced_moves(visible, mines):
        assert flat[cell] < 0
        assert share[cell] == {"reveal": 0.0, "flag": 1.0}[kind]
        assert kind == "reveal" or flat[cell] != FLAGGED


@settings(max_examples=100, deadline=None, derandomize=True)
@given(positions())
def test_single_numbers_leave_nothing_undone(drawn):
    """No single number implies anything more, given its decided neighbors."""
    visible, mines = drawn
    bare = np.where(visible == FLAGGED, HIDDEN, visible).astype(np.int8)
    moves, near = forced_moves(bare, mines), engine.padded_neighbors(*bare.shape)
    safe, found = ({cell for kind, cell in moves if kind == name} for name in ("reveal", "flag"))
    for number in np.flatnonzero(bare >= 0):
        around = {cell for cell in near[number].tolist() if cell >= 0 and bare.flat[cell] < 0}
        missing, undecided = bare.flat[number] - len(around & found), around - found - safe
        assert not undecided or 0 < missing < len(undecided)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(positions())
def test_moves_of_the_documents_two_rules_are_forced(drawn):
    """The rules by their text, on the drawn flags that are forced: other flags may be wrong."""
    visible, mines = drawn
    flags = {cell for kind, cell in forced_moves(np.where(visible < 0, HIDDEN, visible), mines) if kind == "flag"}
    right = np.isin(np.arange(visible.size), list(flags)).reshape(visible.shape)
    visible = np.where((visible == FLAGGED) & ~right, HIDDEN, visible).astype(np.int8)
    forced, near = forced_moves(visible, mines), engine.padded_neighbors(*visible.shape)
    for number in np.flatnonzero(visible >= 0):
        around = [cell for cell in near[number].tolist() if cell >= 0 and visible.flat[cell] < 0]
        unflagged = [cell for cell in around if visible.flat[cell] == HIDDEN]
        if visible.flat[number] == len(around) - len(unflagged):
            assert {("reveal", cell) for cell in unflagged} <= set(forced)
        if visible.flat[number] == len(around):
            assert {("flag", cell) for cell in unflagged} <= set(forced)


def test_mine_count_settles_the_rest():
    visible = np.array([[HIDDEN, 1, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    assert forced_moves(visible, 1) == []
    assert forced_moves(visible, 3) == []
    visible = np.array([[0, 1, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    assert forced_moves(visible, 1) == [("reveal", 3), ("reveal", 4), ("flag", 2)]
    assert forced_moves(visible, 3) == [("flag", 2), ("flag", 3), ("flag", 4)]


def test_rules_stop_and_heuristic_guesses():
    visible = np.array([[HIDDEN, 1, HIDDEN, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    assert choose(visible, 2, solver.rules_moves).action is None
    guess = choose(visible, 2, solver.heuristic_moves)  # beside the number 1/2, elsewhere 2 mines on 5 cells
    assert (guess.action, guess.certain, guess.mine_probability) == (3, False, 0.4)
    assert choose(visible, 4, solver.heuristic_moves).action == 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(positions())
def test_probabilities_equal_enumeration(drawn):
    visible, mines = drawn
    placements = completions(visible, mines)
    analysis = analyze(visible, mines)
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
        with pytest.raises(solver.InconsistentPosition, match=f"{mines} mines"):
            mine_probabilities(visible, mines)
    else:
        expected = completions(visible, mines).mean(axis=0).reshape(visible.shape)
        np.testing.assert_allclose(mine_probabilities(visible, mines), expected, rtol=1e-11)


def test_nothing_revealed_leaves_the_density():
    visible = np.full((16, 30), HIDDEN, np.int8)
    analysis = analyze(visible, 99)
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
    """A 1 in the corner of 100x100 cells: its neighbors are unlikely mines together, but none is certain."""
    visible = np.full((100, 100), HIDDEN, np.int8)
    visible[0, 0], visible[99, 99] = 1, 3
    found = mine_probabilities(visible, 9000)
    np.testing.assert_allclose(found[[0, 1, 1], [1, 0, 1]], 1 / 3)
    np.testing.assert_array_equal(found[[98, 98, 99], [98, 99, 98]], 1.0)
    assert found[0, 0] == found[99, 99] == 0.0


def test_more_states_are_taken_when_needed_up_to_a_limit(monkeypatch):
    visible = np.full((5, 9), HIDDEN, np.int8)
    visible[2, 1::2] = 3
    expected = mine_probabilities(visible, 9)
    monkeypatch.setattr(engine, "STATES", 2)
    np.testing.assert_array_equal(mine_probabilities(visible, 9), expected)
    monkeypatch.setattr(engine, "MAX_STATES", 4)
    with pytest.raises(UserError, match="too entangled"):
        mine_probabilities(visible, 9)


@pytest.mark.parametrize("states", [1, 2, 4, 8, 16, 32])
def test_room_that_one_component_fills_is_not_overrun_by_the_next(states):
    visible = np.full((3, 24), HIDDEN, np.int8)
    visible[1, 2], visible[1, 12], visible[1, 20] = 3, 3, 2
    status, _ = examine(flatten(visible), 10, make_engine(visible.shape, states))
    assert status == (TOO_WIDE if states < 8 else CONSISTENT)


@pytest.mark.parametrize("mines", [9, -1])
def test_no_player_moves_where_the_mines_cannot_be(mines):
    visible = np.array([[0, HIDDEN, HIDDEN, HIDDEN]], np.int8)
    for moves in (solver.exact_moves, solver.rules_moves, solver.heuristic_moves):
        with pytest.raises(solver.InconsistentPosition):
            choose(visible, mines, moves)


@pytest.mark.parametrize("value", [-3, 9, 300])
def test_values_that_no_board_shows_are_refused(value):
    with pytest.raises(UserError, match="a position holds"):
        mine_probabilities(np.full((2, 2), value, np.int64), 1)


def test_the_shared_neighbors_stay_as_they_are():
    near, degree = neighbors(3, 4)
    engine.padded_neighbors.__wrapped__(3, 4)  # as on its first call
    assert near[0, degree[0] :].tolist() == [0] * (8 - degree[0])


def drawn_from(visible: np.ndarray, mines: int, draws: int) -> np.ndarray:
    """(draws, cells) bool"""
    buffers, flat = make_engine(visible.shape), flatten(visible)
    assert propagate_all(flat, buffers)
    mined = np.ones((draws, visible.size), np.bool_)
    assert draw_completions(flat, buffers.known, mines, buffers, np.random.default_rng(0), mined) == CONSISTENT
    return mined


@settings(max_examples=100, deadline=None, derandomize=True)
@given(positions())
def test_only_completions_are_drawn(sample):
    visible, mines = sample
    possible = {row.tobytes() for row in completions(visible, mines).astype(np.bool_)}
    assert {row.tobytes() for row in drawn_from(visible, mines, 20)} <= possible


def test_every_completion_is_drawn_as_often():
    """Two components, one of them with boxes of several cells, and cells that no number sees."""
    visible, mines = np.full((4, 5), -1, np.int8), 5
    visible[0, 2], visible[1, 2], visible[3, 0] = 1, 2, 1
    possible = completions(visible, mines).astype(np.bool_)
    index = {row.tobytes(): number for number, row in enumerate(possible)}
    mean = 20
    counts = np.zeros(len(possible))
    for row in drawn_from(visible, mines, mean * len(possible)):
        counts[index[row.tobytes()]] += 1
    excess = ((counts - mean) ** 2 / mean).sum()  # chi-squared, so near its degrees of freedom
    freedom = len(possible) - 1
    assert len(possible) > 500
    assert abs(excess - freedom) < 4 * np.sqrt(2 * freedom)


def test_a_position_that_contradicts_itself_has_none():
    visible = np.array([[1, -1], [-1, -1]], np.int8)
    buffers, mined = make_engine(visible.shape), np.zeros((1, 4), np.bool_)
    assert (
        draw_completions(flatten(visible), buffers.known, 3, buffers, np.random.default_rng(0), mined) == INCONSISTENT
    )
