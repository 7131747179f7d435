"""Completions are sampled uniformly."""

import numpy as np
from hypothesis import given, settings

from src.envs.minesweeper.solver.constraints import propagate_all
from src.envs.minesweeper.solver.probability import CONSISTENT, INCONSISTENT, flatten, make_engine
from src.envs.minesweeper.solver.sample import draw_completions
from tests.envs.minesweeper.test_solver_positions import completions, positions


def drawn_from(visible: np.ndarray, mines: int, draws: int) -> np.ndarray:
    """(draws, cells) bool"""
    engine, flat, known = make_engine(visible.shape), flatten(visible), np.zeros(visible.size, np.int8)
    assert propagate_all(flat, engine.near, known, engine.frontier)
    mined = np.ones((draws, visible.size), np.bool_)
    assert draw_completions(flat, known, mines, engine, np.random.default_rng(0), mined) == CONSISTENT
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
    engine, known = make_engine(visible.shape), np.zeros(4, np.int8)
    mined = np.zeros((1, 4), np.bool_)
    assert draw_completions(flatten(visible), known, 3, engine, np.random.default_rng(0), mined) == INCONSISTENT
