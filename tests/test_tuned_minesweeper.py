"""Tuned settings: every pair has some, user choices win, and the default composition learns to win."""

import csv
from pathlib import Path

import pytest
from omegaconf import OmegaConf

import src.resolvers
from src.algos.selection import selection_metrics
from src.compose import build
from src.core.play.agent import RandomAgent
from src.core.runs.run import Run
from src.paths import CONF
from tests.test_compositions import FEW_ENVS, composed, options

OVERRIDES = ["env=minesweeper_16x16", "algo=ppo", "device=cpu"]
PAIRS = [(env, algo) for env in options("env") for algo in options("algo")]
TUNED = [(env, algo) for env, algo in PAIRS if f"{env}_{algo}" in options("tuned")]
TUNED_FEW = [next(pair for pair in TUNED if pair[0] == env and pair[1] != "alphabeta") for env in FEW_ENVS]


def test_every_pair_is_tuned_or_has_a_reason():
    """A pair has a file in conf/tuned or a line in the README.md there."""
    page = (CONF / "tuned" / "README.md").read_text()
    files = {path.stem for path in (CONF / "tuned").glob("*.yaml")}
    allowed = {
        "imitation": [env for env in options("env") if env.startswith("minesweeper")],
        "qlearning": ["tictactoe"],
        "alphabeta": ["quoridor", "tictactoe"],
        "alphazero": ["quoridor", "tictactoe"],
        "nnue": ["quoridor"],
        "ppo": options("env"),
        "maskable_ppo": options("env"),
    }
    assert set(allowed) == set(options("algo"))
    missing = [
        f"{env}_{algo}"
        for algo, envs in allowed.items()
        for env in envs
        if f"{env}_{algo}" not in files and f"`{env}_{algo}`" not in page
    ]
    assert not missing


@pytest.mark.parametrize(
    ("overrides", "key", "expected"),
    [
        ([], "algo.total_steps", "tuned"),
        (["algo.total_steps=77"], "algo.total_steps", 77),
        (["tuned=none"], "algo.total_steps", 10_000_000),
        (["tuned=none"], "env.config.compact", False),
        (["device=cuda"], "net_defaults.channels", 128),
        (["experiment=minesweeper_spec"], "algo.num_envs", 256),
        (["experiment=minesweeper_spec"], "algo.net._target_", "src.nets.boards.CNN"),
        (["net@algo.net=cnn"], "algo.net.hidden", 32),
        (["net@algo.net=mlp"], "algo.net._target_", "src.nets.flat.MLP"),
    ],
)
def test_a_choice_on_the_command_line_wins(overrides: list[str], key: str, expected: object):
    tuned = composed(*OVERRIDES).algo.total_steps
    assert tuned != 10_000_000
    given = {override.split("=")[0] for override in overrides}
    own = [] if "experiment" in given else [kept for kept in OVERRIDES if kept.split("=")[0] not in given]
    cfg = composed(*own, *overrides)
    assert OmegaConf.select(cfg, key) == (tuned if expected == "tuned" else expected)


@pytest.mark.parametrize(
    ("env", "algo"), [pytest.param(*pair, marks=() if pair in TUNED_FEW else pytest.mark.slow) for pair in PAIRS]
)
def test_every_tuned_file_composes_for_both_devices(env: str, algo: str):
    for device in ("cpu", "cuda"):
        composed(f"env={env}", f"algo={algo}", f"device={device}")


def test_tuned_settings_follow_the_device(monkeypatch: pytest.MonkeyPatch):
    for usable in (True, False):
        monkeypatch.setattr(src.resolvers, "gpu_usable", lambda usable=usable: usable)
        assert src.resolvers.accelerator("auto") == ("gpu" if usable else "cpu")
        assert src.resolvers.accelerator("cuda") == "gpu"
        assert src.resolvers.accelerator("cpu") == "cpu"


def test_a_gpu_that_is_hidden_or_that_torch_was_not_built_for_is_not_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("src.resolvers.Path.glob", lambda *_: iter(["/dev/nvidia0"]))
    monkeypatch.setattr("src.resolvers.version", lambda name: "2.13.0+cu130")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert src.resolvers.gpu_usable()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not src.resolvers.gpu_usable()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr("src.resolvers.version", lambda name: "2.13.0+cpu")
    assert not src.resolvers.gpu_usable()


@pytest.mark.slow
def test_the_default_composition_learns_to_win_a_tiny_board(tmp_path: Path):
    board = ["env.config.H=5", "env.config.W=5", "env.config.mine_count=3", "env.config.max_steps=50"]
    cfg = composed("env=minesweeper_8x8", "algo=ppo", "device=cpu", *board, "algo.total_steps=24576")
    env, algo, curriculum = (build(cfg[name], name) for name in ("env", "algo", "curriculum"))
    algo.check(env, curriculum)
    with Run(tmp_path, {"seed": 0, "checkpoint_seconds": 1e9}, None) as run:
        agent = algo.fit(env, curriculum, run)
    trained, random = (selection_metrics(env, player, 300, 1)["eval/win_rate"] for player in (agent, RandomAgent()))
    assert trained > 0.6 > random + 0.3
    with (tmp_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["train/truncated_share"]]
    assert {float(row["train/truncated_share"]) for row in rows} == {0.0}
    assert all(float(row["train/episode_length"]) < 25 for row in rows)
