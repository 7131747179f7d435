"""The exact solver: certain cells first, perfect play in small endgames, compiled and step by step."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from src.core.errors import UserError
from src.core.interrupt import CancellationToken, CancelledWorkError
from src.envs.minesweeper import solver
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.rules import PLAYING, WON, reveal
from src.envs.minesweeper.solver import choose, exact_moves, mine_probabilities, play_boards, random_boards
from src.envs.minesweeper.solver.endgame import search_endgame
from src.envs.minesweeper.solver.engine import BUDGET, CONSISTENT, STOP, flatten, make_engine
from src.envs.minesweeper.solver.probability import examine
from src.envs.minesweeper.variant import HIDDEN, MINE
from tests.envs.minesweeper.test_solver import completions, numbers, positions
from tests.waiting import PATIENCE


def expectimax(visible: np.ndarray, mines: int) -> float:
    """Return the best win probability, by trying every cell at every turn."""
    placements = completions(visible, mines)
    shown = np.where(placements, MINE, numbers(placements, *visible.shape)).tolist()

    @cache
    def wins(alive: frozenset[int], hidden: frozenset[int]) -> int:
        if len(hidden) == mines:
            return len(alive)
        best = 0
        for cell in hidden:
            split: dict[int, set[int]] = {}
            for index in alive:
                split.setdefault(shown[index][cell], set()).add(index)
            split.pop(MINE, None)
            best = max(best, sum(wins(frozenset(part), hidden - {cell}) for part in split.values()))
        return best

    hidden = frozenset(np.flatnonzero(visible.reshape(-1) < 0).tolist())
    return wins(frozenset(range(len(shown))), hidden) / len(shown)


def search(visible: np.ndarray, mines: int, budget: int) -> tuple[int, float]:
    flat, engine = flatten(visible), make_engine(visible.shape)
    examine(flat, mines, engine)
    return search_endgame(flat, mines, engine, np.log(len(completions(visible, mines))), budget)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(positions(most_hidden=8))
def test_ending_equals_expectimax(drawn):
    visible, mines = drawn
    assume(0 < mines < np.sum(visible < 0))
    assume(not np.any((mine_probabilities(visible, mines) == 0.0) & (visible < 0)))
    cell, chance = search(visible, mines, 10_000)
    assert chance == expectimax(visible, mines)
    assert visible.reshape(-1)[cell] < 0


def test_search_gives_up_beyond_its_budget():
    visible = np.full((3, 3), HIDDEN, np.int8)
    assert search(visible, 3, 1) == (-1, 0.0)
    assert search(visible, 3, 10_000)[0] >= 0


def test_the_last_position_of_a_budget_is_looked_at():
    visible = np.full((3, 3), HIDDEN, np.int8)
    flat, engine = flatten(visible), make_engine((3, 3))
    examine(flat, 3, engine)
    found = search_endgame(flat, 3, engine, np.log(84), 10_000)
    looked_at = 10_000 - int(engine.endgame.total[BUDGET])
    assert search(visible, 3, looked_at) == found
    assert search(visible, 3, looked_at - 1) == (-1, 0.0)


def test_memory_for_exactly_the_values_of_all_components_suffices():
    visible = np.full((8, 8), HIDDEN, np.int8)
    visible[1, 1], visible[5, 5] = 1, 2
    roomy = make_engine((8, 8))
    assert examine(flatten(visible), 10, roomy)[0] == CONSISTENT
    values = int(roomy.value[2])
    for size, fits in ((values, True), (values - 1, False)):
        engine = make_engine((8, 8))
        sweep = engine.sweep._replace(ways=np.zeros(size), rest=np.zeros(size))
        assert (examine(flatten(visible), 10, engine._replace(sweep=sweep))[0] == CONSISTENT) is fits


def test_a_cancelled_search_ends_and_the_next_one_is_right():
    visible = np.full((8, 8), HIDDEN, np.int8)
    visible[1, 1], visible[5, 5] = 1, 2  # two components, and a guess
    begun, given_up, statuses, errors = threading.Event(), threading.Event(), [], []
    token, expected = CancellationToken(), choose(visible, 10)

    def endless_moves(*arguments: Any) -> tuple[int, int, int]:
        begun.set()
        while not given_up.is_set():
            found = exact_moves(*arguments)
            if found[0] != CONSISTENT:
                statuses.append(found[0])
                break
        return found

    def work() -> None:
        try:
            token.run(choose, visible, 10, endless_moves)
        except CancelledWorkError as error:
            errors.append(error)
        assert CancellationToken().run(choose, visible, 10) == choose(visible, 10) == expected

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        assert begun.wait(PATIENCE)
        token.cancel()
        wait([done], PATIENCE)
        given_up.set()
        done.result()
    assert len(errors) == len(statuses) == 1, "the compiled code was stopped, not waited for"


def test_a_stopped_ending_looks_at_no_further_position():
    visible = np.full((3, 3), HIDDEN, np.int8)
    flat, engine = flatten(visible), make_engine((3, 3))
    examine(flat, 3, engine)
    engine.endgame.total[STOP] = 1
    assert search_endgame(flat, 3, engine, np.log(84), 10_000) == (-1, 0.0)
    assert engine.endgame.total[BUDGET] == 9_999


@settings(max_examples=60, deadline=None, derandomize=True)
@given(positions())
def test_certain_cells_come_first(drawn):
    visible, mines = drawn
    found, choice = mine_probabilities(visible, mines), choose(visible, mines)
    safe = np.flatnonzero((found == 0.0) & (visible < 0))
    assert choice.certain == (safe.size > 0)
    if choice.certain:
        assert choice.action in safe
    elif choice.action is None:
        assert np.sum(visible < 0) == mines
    else:
        assert choice.mine_probability == found.reshape(-1)[choice.action] < 1.0


def test_a_safer_cell_is_left_for_one_that_wins():
    """The safest cell is not always the best: the search must find such an endgame."""
    rng, found = np.random.default_rng(3), 0
    for _ in range(400):
        mined = random_boards((4, 4), 4, np.array([0]), rng, False)[0]
        shown = rng.random(16) < 0.4
        visible = np.where(shown & ~mined, numbers(mined, 4, 4), HIDDEN).astype(np.int8).reshape(4, 4)
        chances = np.where(visible < 0, mine_probabilities(visible, 4), 1.0)
        choice = choose(visible, 4)
        found += choice.reason.startswith("wins") and choice.mine_probability > chances.min()
    assert found > 0


def test_compiled_games_equal_games_step_by_step():
    shape, rng = (8, 8), np.random.default_rng(5)
    first = rng.integers(64, size=40)
    mined = random_boards(shape, 12, first, rng, True)
    games, game = play_boards(shape, mined, first, exact_moves, threads=2), Minesweeper(*shape, 12)
    for index in range(40):
        boards, guesses = game.start(int(first[index]), np.flatnonzero(mined[index]).tolist()).boards, 0
        while boards.games[0]["status"] == PLAYING:
            choice = choose(boards.visible[0].reshape(shape), 12)
            assert choice.action is not None
            guesses += not choice.certain
            reveal(boards, 0, choice.action)
        assert games.won[index] == (boards.games[0]["status"] == WON)
        assert games.guesses[index] == guesses
        assert games.revealed[index] == np.sum(boards.visible[0] >= 0)
    assert 0 < games.won.sum() < 40


def test_solvers_are_ranked_and_repeatable():
    shape, rng = (8, 8), np.random.default_rng(7)
    first = rng.integers(64, size=300)
    mined = random_boards(shape, 10, first, rng, True)
    played = {name: play_boards(shape, mined, first, moves, threads=2) for name, moves in solver.SOLVERS.items()}
    assert played["rules"].won.sum() < played["heuristic"].won.sum() < played["exact"].won.sum()
    assert played["exact"].won.mean() > 0.85
    assert played["heuristic"].guesses.any()
    assert not played["rules"].guesses.any()
    again = play_boards(shape, mined, first, exact_moves, threads=1)
    for one, other in zip(again, played["exact"], strict=True):
        np.testing.assert_array_equal(one, other)


def test_random_boards_respect_the_first_click():
    rng = np.random.default_rng(0)
    first = rng.integers(20, size=500)
    around = random_boards((4, 5), 11, first, rng, True)
    assert (around.sum(axis=1) == 11).all()
    assert not numbers(around, 4, 5)[np.arange(500), first].any()
    alone = random_boards((16, 30), 479, first, rng, False)
    assert (np.flatnonzero(~alone) % 480 == first).all()
    with pytest.raises(UserError, match="12 mines do not fit"):
        random_boards((4, 5), 12, np.array([7]), rng, True)


@pytest.mark.parametrize("safe_neighborhood", [True, False])
def test_no_guess_boards_need_no_guess(safe_neighborhood):
    rng = np.random.default_rng(11)
    for first in (0, 27, 40):
        mines = solver.no_guess_board(8, 8, 12, first, rng, 2000, safe_neighborhood)
        assert np.unique(mines).size == 12
        boards = Minesweeper(8, 8, 12).start(first, mines.tolist()).boards
        while boards.games[0]["status"] == PLAYING:
            visible = boards.visible[0].reshape(8, 8)
            safe = np.flatnonzero((mine_probabilities(visible, 12) == 0.0) & (visible < 0))
            assert safe.size > 0
            reveal(boards, 0, safe[0])
        assert boards.games[0]["status"] == WON
    with pytest.raises(UserError, match=r"none of 3 boards of 8x8 with 45 mines .* cell 0"):
        solver.no_guess_board(8, 8, 45, 0, rng, 3, safe_neighborhood)
