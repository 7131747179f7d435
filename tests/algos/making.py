"""Small learners, environments and runs for the tests of algorithms."""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from src.algos.compute import Compute
from src.algos.network_agent import InferenceConfig
from src.algos.ppo import PPO, LossWeights
from src.core.play.agent import Agent, RandomAgent
from src.core.play.curriculum import Curriculum
from src.core.play.game import Game
from src.core.runs import checkpoint
from src.core.runs.run import Run
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.net import CellCodes
from src.envs.minesweeper.strategy import RevealSafeCells
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import OutcomeReward, VersusEnv
from src.nets.boards import CNN
from tests.envs.minesweeper.making import make_config

CPU = Compute("cpu", "float32", compile=False)
ONE_THREAD = Compute("cpu", "float32", compile=False, threads=1)
WEIGHTS = LossWeights(
    clip_range=0.2,
    clip_range_vf=0.2,
    vf_coef=0.5,
    ent_coef=0.01,
    aux_coef=0.1,
    aux_cells="labeled",
    normalize_advantages=True,
)
PLAIN_WEIGHTS = replace(WEIGHTS, clip_range_vf=None, aux_coef=0.0)


def ppo(**changes: Any) -> PPO:
    net = {
        "net": CNN(16, encoder=CellCodes(), value_pool="mean_max"),
        "play": InferenceConfig(symmetries=False),
        "init_from": None,
    }
    sizes = {"total_steps": 512, "num_envs": 8, "steps_per_env": 8, "mini_batches": 2, "epochs": 2}
    limits = {"seconds": None, "target_kl": None, "eval_every": 128, "eval_episodes": 10}
    optimizer = {"compute": CPU, "lr": 1e-3, "lr_warmup": 0, "weight_decay": 0.0, "max_grad_norm": 0.5}
    settings: dict[str, Any] = {"losses": WEIGHTS, "gamma": 0.99, "gae_lambda": 0.95}
    return PPO(**(settings | net | sizes | limits | optimizer | changes))


def strategy(**changes: Any) -> RevealSafeCells:
    settings: dict[str, Any] = {"play_below": 0.0, "train_below": 0.0, "rollout_fraction": 1.0, "frontier_updates": 0}
    return RevealSafeCells(**(settings | changes))


def playing(**changes: Any) -> InferenceConfig:
    return InferenceConfig(symmetries=False, strategy=strategy(**changes))


def minesweeper(backend: Any = "numpy", size: int = 4, mines: int = 2, **settings: Any) -> MinesweeperEnv:
    config = make_config(H=size, W=size, mine_count=mines, flag_actions=False, compact=True, **settings)
    return MinesweeperEnv(config, backend=backend)


def versus(
    opponent: Agent | None = None, game: Game | None = None, baselines: Mapping[str, Agent] | None = None
) -> VersusEnv:
    """Return tic-tac-toe, or another game for two, against a random player or another opponent."""
    players = {"random": RandomAgent()} if baselines is None else baselines
    reward = OutcomeReward(win=1.0, draw=0.0, loss=-1.0, gamma=1.0)
    return VersusEnv(game or TicTacToe(symmetric=True), opponent or RandomAgent(), reward, "random", players)  # type: ignore[arg-type]


def no_curriculum() -> Curriculum:
    return Curriculum({}, None)


def run_in(folder: Path, seed: int = 0) -> Run:
    folder.mkdir(exist_ok=True)
    return Run(folder, {"seed": seed, "checkpoint_seconds": 1e9}, None)


@contextmanager
def killed_after(saves: int, folder: Path) -> Iterator[Run]:
    """A run that saves as often as possible and is killed right after the `saves`th save."""
    done = 0
    with run_in(folder) as run, pytest.raises(KeyboardInterrupt):  # noqa: PT012 (all of it up to there)
        run._checkpoint_seconds = 0
        save = run.save

        def save_and_die(learner: dict[str, Any] | None) -> None:
            nonlocal done
            save(learner)
            done += learner is not None  # a new run first saves that there is none
            if done == saves:
                raise KeyboardInterrupt

        run.save = save_and_die  # type: ignore[method-assign]
        yield run


def fit(algo: Any, env: Any, folder: Path, curriculum: Curriculum | None = None, saves: int | None = None) -> Any:
    """Train in a run that is killed right after the `saves`th save, if given."""
    with run_in(folder) if saves is None else killed_after(saves, folder) as run:
        return algo.fit(env, curriculum or no_curriculum(), run)


def rows_without_times(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if "time/" not in name} for row in csv.DictReader(file)]


def read_column(folder: Path, name: str) -> list[float]:
    return [float(row[name]) for row in rows_without_times(folder) if row.get(name)]


def saved_learner(folder: Path, name: str = "last") -> dict[str, Any]:
    """Return what the learner saved in the checkpoint `best` or `last`."""
    learner: dict[str, Any] = checkpoint.load(folder / f"checkpoints/{name}.safetensors")["learner"]
    return learner


def assert_same_weights(run: Path, other: Path, name: str = "best") -> None:
    ours, theirs = (saved_learner(folder, name)["weights"] for folder in (run, other))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours), name
