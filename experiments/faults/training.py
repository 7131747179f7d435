"""Tiny trainings of every algorithm, and the comparison of two runs."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from src.core.errors import UserError
from src.core.runs import checkpoint
from src.core.runs.config_file import CONFIG, read_config
from src.core.runs.provenance import DIFF
from src.core.runs.run import checkpoint_path
from src.core.runs.runlog import RunLog

CHECKPOINTS = ("last", "best")
BYTES = ("qtable.json", "diagnostics.json", "network.safetensors")  # compared as they are
JSON_FILES = ("eval.json", "diagnostics.json", "qtable.json", "provenance.json")


@dataclass(frozen=True)
class Training:
    name: str
    overrides: tuple[str, ...]

    def arguments(self, directory: Path) -> list[str]:
        return [*COMMON, *self.overrides, f"hydra.run.dir={directory}"]


Words = tuple[str, ...]
COMMON: Words = ("logger=csv", "checkpoint_seconds=0.05", "evaluation.episodes=4", "device=cpu", "seed=3")
SMALL_NET = ("net_defaults.channels=8", "net_defaults.blocks=1", "net_defaults.hidden=[16]")
PPO: Words = (
    "algo=ppo",
    "tuned=none",
    "algo.num_envs=8",
    "algo.steps_per_env=8",
    "algo.mini_batches=2",
    "algo.eval_every=128",
)
PPO += ("algo.eval_episodes=4", "algo.epochs=1", "algo.total_steps=512", *SMALL_NET)
MASKABLE: Words = ("algo=maskable_ppo", "tuned=none", "algo.num_envs=4", "algo.steps_per_env=16", "algo.batch_size=32")
MASKABLE += ("algo.total_steps=384", "algo.eval_every=128", "algo.eval_episodes=4", "algo.epochs=2")
MASKABLE += SMALL_NET
TEACHER: Words = ("algo=imitation", "tuned=none", "env=minesweeper_8x8", "algo.total_steps=640", "algo.batch_size=32")
TEACHER += ("net_defaults.encoder={_target_:src.envs.minesweeper.net.CellCodes}",)
TEACHER += ("algo.chunk_size=64", "algo.window=2", "algo.eval_every=160", "algo.eval_episodes=4", "algo.lr_warmup=4")
QUORIDOR: Words = ("env=quoridor", "env.game.size=5", "env.game.walls=2", "env.game.ply_limit=40")
QUORIDOR += ("evaluation.opening_plies=2",)
WARGAME = ("env=deployment", "agent@env.opponent=greedy", "~env.baselines.defensive", "~env.baselines.tactical")
TABLE = ("algo=qlearning", "algo.episodes=1200", "algo.eval_every=100")
ALPHAZERO: Words = ("algo=alphazero", "tuned=none", "algo.num_envs=8", "algo.steps_per_env=4", "algo.total_steps=256")
ALPHAZERO += ("algo.search.simulations=4", "algo.search.considered_actions=4", "algo.play.simulations=4")
ALPHAZERO += ("algo.buffer_size=200", "algo.batch_size=16", "algo.eval_every=64", "algo.eval_episodes=4")
ALPHAZERO += ("algo.past_selves=2", "algo.past_selves_games=4", "algo.compute.threads=1", *SMALL_NET)
NNUE: Words = ("algo=nnue", "tuned=none", "env=quoridor", "evaluation.opening_plies=4", "algo.workers=0")
NNUE += ("algo.total_steps=512", "algo.generations=2", "algo.games=3", "algo.batch_size=32", "algo.lr_warmup=2")
NNUE += ("algo.first_player.difficulty=easy", "algo.self_play.nodes=20", "algo.play.nodes=20", "algo.eval_nodes=20")
NNUE += ("algo.eval_every=128", "algo.eval_episodes=4", "algo.compute.threads=1")

TRAININGS = (
    Training("qlearning, tictactoe", TABLE),
    Training("qlearning, curriculum", (*TABLE, "curriculum=random_first", "algo.lr=0.5")),
    Training("ppo, tictactoe", (*PPO, "env=tictactoe")),
    Training("ppo, minesweeper_8x8", (*PPO, "env=minesweeper_8x8", "algo.losses.aux_coef=0.1")),
    Training("ppo, quoridor", (*PPO, *QUORIDOR, "algo.eval_opening_plies=2")),
    Training("ppo, deployment", (*PPO, *WARGAME, "algo.total_steps=256", "evaluation.episodes=2")),
    Training("imitation, minesweeper_8x8", (*TEACHER, *SMALL_NET)),
    Training("maskable_ppo, tictactoe", (*MASKABLE, "env=tictactoe")),
    Training("maskable_ppo, minesweeper_8x8", (*MASKABLE, "env=minesweeper_8x8")),
    Training("alphabeta, tictactoe", ("algo=alphabeta", "env=tictactoe", "tuned=none")),
    Training("alphabeta, quoridor", ("algo=alphabeta", *QUORIDOR, "tuned=none", "algo.player.difficulty=hard")),
    Training("alphazero, tictactoe", (*ALPHAZERO, "env=tictactoe")),
    Training("nnue, quoridor", NNUE),
)


def damage(directory: Path) -> str | None:
    """Return what is wrong with a run directory right after a kill; None if everything in it can be read."""
    try:
        if (directory / CONFIG).exists():
            read_config(directory)
        for name in CHECKPOINTS:
            if checkpoint_path(directory, name).exists():
                checkpoint.load(checkpoint_path(directory, name))
        if directory.exists():
            RunLog(directory, None)
        for name in JSON_FILES:
            if (directory / name).exists():
                json.loads((directory / name).read_text())
    except (UserError, ValueError) as error:
        return f"unreadable after the kill: {error}"
    return None


def difference(directory: Path, reference: Path) -> str | None:
    """Return the difference between two finished runs, ignoring times; None if they are the same."""
    for what, read in (
        ("metrics.csv", lambda run: _rows(run / "metrics.csv")),
        ("eval.json", lambda run: _without_times(json.loads((run / "eval.json").read_text()))),
        *((name, lambda run, name=name: _checkpoint(run, name)) for name in CHECKPOINTS),
        *((name, lambda run, name=name: _bytes(run / name)) for name in BYTES),
        ("the names of its files", _names),
    ):
        try:
            ours, other = read(directory), read(reference)
        except (OSError, ValueError, UserError) as error:
            return f"{what} cannot be compared: {error}"
        if not same(ours, other):
            return f"{what} differs from that of the run that was not killed"
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two trees are bitwise equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if hasattr(one, "numpy"):
        one, other = one.view_as(one).numpy(), other.numpy()  # a tensor
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{key: row[key] for key in row if not key.startswith("time/")} for row in csv.DictReader(file)]


def _without_times(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_times(value) for key, value in tree.items() if key != "seconds"}
    return [_without_times(value) for value in tree] if isinstance(tree, list) else tree


def _checkpoint(run: Path, name: str) -> Any:
    return _without_times(checkpoint.load(checkpoint_path(run, name)))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _names(run: Path) -> list[str]:
    names = {str(path.relative_to(run)) for path in run.rglob("*")}
    return sorted(names - {DIFF})  # the code may have changed since
