"""Compile kernels that many tests use before xdist starts its workers, which would both compile them.

python -m tests.warm [JOB]
"""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numba
import numpy as np

from src.core import kernel_cache
from src.core.machine import CORES
from src.core.play.agent import RandomAgent
from src.envs.deployment.bots import Bot
from src.envs.deployment.placement import FrontLine
from src.envs.minesweeper.batch import Batch
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.reward import Reward
from src.envs.minesweeper.solver import SOLVERS, analyse, certain_moves, choose
from src.envs.quoridor.rules import Quoridor
from src.envs.quoridor.vec_env import VecQuoridor
from src.envs.versus import OutcomeReward
from tests.algos.test_alphabeta import make_agent
from tests.envs.deployment.making import full_game, make_env


def solver() -> None:
    game = Minesweeper(8, 8, 10, first_click="uniform")
    view = game.view(game.initial(np.random.default_rng(1)))
    for moves in (*SOLVERS.values(), certain_moves):
        choose(view.visible, view.mines, moves)
    analyse(view.visible, view.mines)


def minesweeper() -> None:
    game = Minesweeper(8, 8, 10)
    state = game.initial(np.random.default_rng(1))
    game.play(game.play(state, 64), 0)
    game.observe(game.view(state))
    for count in (2, 128):
        batch = Batch(game, Reward(), count, frontier_mask=True, restart=True)
        batch.restart(np.arange(count))
        batch.step(np.zeros(count, np.int64))
        batch.reveal_all(np.zeros((count, 64), np.bool_))
        batch.set_frontier_mask(False)


def quoridor() -> None:
    game, rng = Quoridor(9, 10, 200, False), np.random.default_rng(0)
    state = game.initial(rng)
    game.legal_actions(state)
    action = make_agent(depth=4, selective=True).decide(game, state, rng).action
    assert action is not None
    game.play(state, action)
    game.playout(state, rng)
    game.shortest_path(state, 0)
    game.factors(state)
    envs = VecQuoridor(2, game, (0.0, 1.0), OutcomeReward(1.0, 0.0, -1.0), (0, 1))
    envs.reset(seed=0)
    envs.step(envs.action_masks().argmax(axis=1))


def wargame() -> None:
    game, rng = full_game(), np.random.default_rng(0)
    player = Bot(FrontLine(), damage=1, threat=0.3, objective=25, to_objective=2, to_enemy=0, explore=0)
    state = game.initial(rng)
    action = player.decide(game, game.view(state), rng).action
    assert action is not None
    game.play(state, action)
    for opponent in (player, RandomAgent()):
        env = make_env(game, opponent)
        env.reset(seed=0)
        env.step(int(env.action_masks().argmax()))
        envs = env.vectorize(2)
        _, info = envs.reset(seed=0)
        envs.step(info["action_mask"].argmax(axis=1))


JOBS: dict[str, Callable[[], None]] = {
    "solver": solver,
    "wargame": wargame,
    "quoridor": quoridor,
    "minesweeper": minesweeper,
}  # the longest first


def compile_missing() -> None:
    """Run every job in its own process, unless they were run for the same sources before."""
    here = Path(__file__).resolve()
    done = kernel_cache.folder() / "kernels" / f"warm-{numba.__version__}-{kernel_cache.stamp(here)[:16]}"
    if done.exists():
        return
    begin = time.monotonic()
    with ThreadPoolExecutor(CORES) as pool:
        jobs = {pool.submit(subprocess.run, [sys.executable, "-m", "tests.warm", job]): job for job in JOBS}
        for number, finished in enumerate(as_completed(jobs), 1):
            seconds = time.monotonic() - begin
            print(f"compiled kernels of {jobs[finished]}, {number} of {len(jobs)}, {seconds:.0f} s", flush=True)
    if any(job.result().returncode != 0 for job in jobs):
        return  # the tests of the game will report the error
    for old in done.parent.glob("warm-*"):
        old.unlink(missing_ok=True)
    done.touch()


if __name__ == "__main__":
    for name in sys.argv[1:] or JOBS:
        JOBS[name]()
