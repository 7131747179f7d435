"""Short training runs of every algorithm: `training.json` has the metrics and the weights that they end with.

A run exercises how the parts of an algorithm are put together: schedules, noise, replay, averages, symmetries. Numbers
are compared with a tolerance, because processors round differently.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from src.algos.imitation import Imitation
from src.algos.network_agent import InferenceConfig
from src.core.play.agent import SelfPlay
from src.core.play.past_selves import PastSelves
from src.envs.minesweeper.net import CellCodes
from src.nets.boards import Residual
from src.nets.flat import MLP
from tests.algos import test_imitation, test_maskable_ppo, test_qlearning
from tests.algos.making import (
    ONE_THREAD,
    PLAIN_WEIGHTS,
    WEIGHTS,
    fit,
    minesweeper,
    playing,
    ppo,
    rows_without_times,
    saved_learner,
    versus,
)
from tests.algos.test_alphazero import alphazero
from tests.algos.test_dqn import SMALL_GAME, dqn, solo
from tests.algos.test_nnue import nnue, quoridor

FILE = Path(__file__).with_name("training.json")
RELATIVE, ABSOLUTE = 2e-3, 2e-5  # tolerances


def ppo_alone(folder: Path) -> None:
    """Every part of PPO in a one-player game: sure cells, mine prediction, schedules of entropy and learning rate."""
    losses = replace(WEIGHTS, ent_coef=0.05, ent_coef_end=0.0)
    play = playing(train_below=0.2, rollout_fraction=0.5, frontier_updates=2)
    fit(
        ppo(losses=losses, play=play, compute=ONE_THREAD, lr_warmup=3, gamma=0.9),
        minesweeper(first_click="uniform"),
        folder,
    )


def ppo_self_play(folder: Path) -> None:
    algo = ppo(net=MLP([32]), losses=PLAIN_WEIGHTS, compute=ONE_THREAD, target_kl=0.002)
    fit(algo, versus(SelfPlay()), folder)


def ppo_past_selves(folder: Path) -> None:
    past = PastSelves(size=2, snapshot_every=1, current_share=0.25, priority=1.0, memory=0.5)
    fit(ppo(net=MLP([32]), losses=PLAIN_WEIGHTS, compute=ONE_THREAD), versus(past), folder)


def maskable_ppo(folder: Path) -> None:
    test_maskable_ppo.fit(folder, versus())


def imitation(folder: Path) -> None:
    play, net = InferenceConfig(symmetries=True), Residual(8, 2, 2, encoder=CellCodes(), value_pool="mean_max")
    algo: Imitation = test_imitation.imitation(play=play, net=net, compute=ONE_THREAD)
    fit(algo, test_imitation.minesweeper(), folder)


def qlearning(folder: Path) -> None:
    test_qlearning.fit(folder, 0, episodes=400, eval_every=200, gamma=0.9, lr=0.5)


RUNS: dict[str, Callable[[Path], None]] = {
    "ppo alone": ppo_alone,
    "ppo in self-play": ppo_self_play,
    "ppo against past selves": ppo_past_selves,
    "maskable_ppo": maskable_ppo,
    "alphazero": lambda folder: fit(alphazero(repeats=3.0), versus(), folder),
    "alphazero without symmetries": lambda folder: fit(alphazero(augment=False, total_steps=128), versus(), folder),
    "dqn alone": lambda folder: fit(solo(n_step=3, play=InferenceConfig(symmetries=True)), minesweeper(), folder),
    "dqn in self-play": lambda folder: fit(dqn(), versus(game=SMALL_GAME), folder),
    "nnue": lambda folder: fit(nnue(), quoridor(), folder),
    "imitation": imitation,
    "qlearning": qlearning,
}


def results(name: str) -> dict[str, Any]:
    """Run one; return the values of every metric, and the mean size of every tensor in its checkpoints."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        RUNS[name](folder)
        rows = rows_without_times(folder)
        columns = {key for row in rows for key in row}
        found: dict[str, Any] = {key: [float(row[key]) for row in rows if row.get(key)] for key in sorted(columns)}
        for kind in ("last", "best"):
            learner = saved_learner(folder, kind)
            for part in ("weights", "net"):  # the acting network, and the one that is trained if they differ
                for key, weight in sorted(learner.get(part, {}).items()):
                    found[f"{kind} {part} {key}"] = [float(weight.float().abs().mean())]
        return found


def regenerate() -> str:
    return json.dumps({name: results(name) for name in RUNS}, indent=1) + "\n"
