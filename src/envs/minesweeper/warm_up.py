"""Calls that compile the kernels of Minesweeper, for `src.compile_kernels`."""

import numpy as np

from .env import MinesweeperEnv
from .solver import SOLVERS, analyze, choose, exact_moves, play_boards
from .vec_env import PARALLEL_FROM, Batch

ENV = "minesweeper_8x8"


def solver(env: MinesweeperEnv) -> None:
    """Ask every solver where nothing is certain, and play a game."""
    visible = np.full((8, 8), -1, np.int8)
    visible[0, 0] = 1
    for moves in SOLVERS.values():
        choose(visible, 10, moves)
    analyze(visible, 10)
    mined = np.arange(64)[None] % 7 == 0
    play_boards((8, 8), mined, np.array([20]), exact_moves, threads=1)


def rules(env: MinesweeperEnv) -> None:
    """Play as the web page does, and step batches small and large."""
    game, rng = env.game, np.random.default_rng(0)
    state = game.initial(rng)
    state = game.play(state, int(np.flatnonzero(game.view(state).visible.ravel() < 0)[0]))
    game.observe(game.view(state))
    for count in (2, PARALLEL_FROM):
        batch = Batch(game, count, restart=True)
        batch.restart()
        batch.step(np.zeros(count, np.int64))
        batch.reveal_all(np.zeros((count, game.cells), np.bool_))
        batch.set_frontier_mask(False)


GROUPS = (solver, rules)  # independent of each other; first what the web page needs
