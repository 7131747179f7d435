import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.solver import analyze, choose, engine, forced_moves
from src.envs.minesweeper.solver.engine import MINE, SAFE
from src.envs.minesweeper.solver.single_point import apply_rules_to_flags
from src.envs.minesweeper.teachers import UNKNOWN_VALUE, ExactTeacher, NoGuessTeacher, RulesTeacher, Teacher
from src.envs.minesweeper.variant import FLAGGED, HIDDEN, Encoding
from src.envs.tictactoe.game import TicTacToe


def board(rows: int = 5, cols: int = 7, mines: int = 6, **settings) -> Minesweeper:
    options = {"first_click": "uniform", "flag_actions": False, **settings}
    return Minesweeper(rows, cols, mines, **options)


@pytest.mark.parametrize(
    "teacher",
    [ExactTeacher(), NoGuessTeacher(), RulesTeacher(flags_only=False)],
    ids=lambda teacher: type(teacher).__name__,
)
def test_a_batch_depends_on_its_seed_and_number_alone(teacher: Teacher):
    first, again = teacher.labeled_batch(board(), 3, 4, 100), teacher.labeled_batch(board(), 3, 4, 100)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    for other in (teacher.labeled_batch(board(), 3, 5, 100), teacher.labeled_batch(board(), 4, 4, 100)):
        assert not np.array_equal(first.observation, other.observation)


def test_the_exact_teacher_agrees_with_the_exact_solver():
    batch = ExactTeacher().labeled_batch(board(), 0, 0, 300)
    guesses = 0
    for visible, right, mine in zip(batch.observation, batch.good_actions, batch.aux_target, strict=True):
        exact = analyze(visible, 6).mine_probability
        assert mine == pytest.approx(np.where(visible < 0, exact, -1), abs=1e-3)
        safe = (visible.ravel() < 0) & (exact.ravel() == 0)
        if safe.any():
            assert np.array_equal(right, safe)
        else:
            guesses += 1
            assert np.flatnonzero(right).tolist() == [choose(visible, 6).action]
    assert guesses > 5


def test_chances_are_those_of_the_games():
    batch = ExactTeacher().labeled_batch(board(8, 8, 10), 1, 0, 4000)
    known = batch.win_probability[batch.win_probability != UNKNOWN_VALUE]
    assert ((known >= 0) & (known <= 1)).all()
    assert len(known) > 0.95 * len(batch.win_probability)
    first_rows = [0, *(1 + np.flatnonzero(np.diff((batch.observation >= 0).sum((1, 2))) < 0))]
    starts = batch.win_probability[first_rows]
    assert np.mean(starts[starts >= 0]) == pytest.approx(0.89, abs=0.04), "as often as the solver wins"


@pytest.mark.parametrize("first_click", ["agent", "uniform"])
def test_guesses_are_left_out_if_asked_for(first_click: str):
    """Each row has certain cells, which are its labels, and the rows are those of the exact teacher without guesses."""
    game, safe_cells = board(first_click=first_click), []
    batch, complete = (teacher.labeled_batch(game, 0, 0, 300) for teacher in (NoGuessTeacher(), ExactTeacher()))
    for visible, good in zip(batch.observation, batch.good_actions, strict=True):
        safe = (visible.ravel() < 0) & (analyze(visible, 6).mine_probability.ravel() == 0)
        assert np.array_equal(good, safe)
        safe_cells.append(int(safe.sum()))
    assert min(safe_cells) > 0
    certain = np.array(
        [
            (one[good.reshape(5, 7)] == 0).any()
            for one, good in zip(complete.aux_target, complete.good_actions, strict=True)
        ]
    )
    assert 5 < (~certain).sum() < 150
    np.testing.assert_array_equal(batch.observation[: certain.sum()], complete.observation[certain])
    np.testing.assert_array_equal(batch.good_actions[: certain.sum()], complete.good_actions[certain])


def test_a_board_without_a_certain_cell_is_refused_and_not_played_forever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("src.envs.minesweeper.teachers.MAX_GAMES", 50)
    with pytest.raises(UserError, match=r"50 games on this 2x2 board had no position.*teacher@algo.teacher=exact"):
        NoGuessTeacher().labeled_batch(board(2, 2, 1, safe_neighborhood=False), 0, 0, 20)
    NoGuessTeacher().labeled_batch(board(), 0, 0, 500)  # of more than 50 games, but not in a row


@pytest.mark.parametrize("first_click", ["agent", "uniform"])
@pytest.mark.parametrize("flags", [False, True])
def test_the_rule_teacher_names_one_forced_move_and_no_guess(flags: bool, first_click: str):
    batch = RulesTeacher(flags_only=False).labeled_batch(board(flag_actions=flags, first_click=first_click), 0, 0, 300)
    kinds = set()
    for visible, right, mine in zip(batch.observation, batch.good_actions, batch.aux_target, strict=True):
        [action] = np.flatnonzero(right)
        kind, cell = divmod(int(action), 35)
        forced = forced_moves(visible, 6)
        assert (("reveal", "flag")[kind], cell) in forced
        assert mine.ravel()[cell] == kind, "where the mines really are"
        assert set(np.unique(mine[visible < 0])) <= {0, 1}
        assert (mine[visible >= 0] == -1).all()
        kinds.add(kind)
    assert kinds == ({0, 1} if flags else {0})
    assert (batch.observation == FLAGGED).any() == flags, "it goes on with the flags that it has set"


def rules_on_flags(visible: np.ndarray) -> set[int]:
    """Return the actions that the document's two rules force: a number equals its flags, or all its hidden cells."""
    moves, cells = set(), np.arange(visible.size).reshape(visible.shape)
    for row, col in np.argwhere(visible >= 0):
        box = slice(max(row - 1, 0), row + 2), slice(max(col - 1, 0), col + 2)
        unflagged = cells[box][visible[box] == HIDDEN].tolist()
        if visible[row, col] == (visible[box] == FLAGGED).sum():
            moves |= set(unflagged)
        if visible[row, col] == (visible[box] < 0).sum():
            moves |= {visible.size + cell for cell in unflagged}
    return moves


def test_the_rules_can_be_applied_to_the_flags_on_the_board_alone():
    game, drawn = board(flag_actions=True), 0
    batch = RulesTeacher(flags_only=True).labeled_batch(game, 0, 0, 300)
    buffers = engine.make_engine((5, 7), 1)
    for visible, right, mine in zip(batch.observation, batch.good_actions, batch.aux_target, strict=True):
        [action] = np.flatnonzero(right)
        expected = rules_on_flags(visible)
        assert action in expected
        assert mine.ravel()[action % 35] == action // 35
        apply_rules_to_flags(visible.ravel(), buffers)
        hidden = visible.ravel() == HIDDEN
        safe, mines = (set(np.flatnonzero(hidden & (buffers.known == one)).tolist()) for one in (SAFE, MINE))
        assert safe | {35 + cell for cell in mines} == expected
        assert (buffers.known[visible.ravel() == FLAGGED] == MINE).all(), "so that no guess reveals them"
        drawn += int(action) // 35
    assert 50 < drawn < 250, "reveals and flags"
    with pytest.raises(UserError, match=r"set env\.config\.flag_actions=true"):
        RulesTeacher(flags_only=True).check(board(flag_actions=False))
    RulesTeacher(flags_only=True).check(game)
    RulesTeacher(flags_only=False).check(board(flag_actions=False))


def test_where_the_player_begins_the_first_row_lets_it_begin_anywhere():
    batch = ExactTeacher().labeled_batch(board(first_click="agent"), 0, 0, 50)
    assert (batch.observation[0] == -1).all()
    assert batch.good_actions[0].all()
    assert batch.aux_target[0] == pytest.approx(np.full((5, 7), 6 / 35), abs=1e-3)


def test_a_guess_that_shows_a_zero_is_also_seen_before_the_cascade():
    batch = ExactTeacher().labeled_batch(board(8, 8, 10), 0, 0, 3000)
    lone = 0
    for visible in batch.observation:
        for row, col in np.argwhere(visible == 0):
            lone += (visible[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2] < 0).any()
    assert lone > 0


def test_other_games_and_boards_with_extra_planes_are_refused():
    with pytest.raises(UserError, match="plays Minesweeper only"):
        ExactTeacher().check(TicTacToe(symmetric=True))
    with pytest.raises(UserError, match="no extra planes"):
        ExactTeacher().check(board(encoding=Encoding(progress=True)))
    ExactTeacher().check(board())
