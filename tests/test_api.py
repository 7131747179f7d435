"""The public functions, and the environments registered in Gymnasium."""

import importlib
import json
from pathlib import Path
from typing import Any

import gymnasium
import hydra
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

from src import api
from src.config import CONF
from src.core.errors import UserError
from src.core.package import canonical, command, locate
from src.envs.masked_env import MaskedDiscrete
from src.registration import env_id
from tests.lab import python
from tests.marks import mostly_slow

NAMES = sorted(path.stem for path in (CONF / "env").glob("*.yaml"))
ONE_EACH = ("deployment_mirror", "minesweeper_8x8", "quoridor", "tictactoe")
ENVS = [pytest.param(name, marks=() if name in ONE_EACH else pytest.mark.slow) for name in NAMES]


def test_classes_are_the_same_under_both_names():
    assert importlib.import_module("boardlab.core.play.game") is importlib.import_module("src.core.play.game")
    assert importlib.import_module("src.core.play.game").__spec__.name == "src.core.play.game"  # type: ignore[union-attr]
    assert (
        locate("boardlab.envs.two_player_env.PythonVectorEnv")
        == locate("src.envs.two_player_env.PythonVectorEnv")
        == "src.envs.two_player_env.PythonVectorEnv"
    )
    assert canonical("boardlab.VersusEnv") == canonical("src.VersusEnv") == "src.envs.two_player_env.VersusEnv"
    assert canonical("other.VersusEnv") == "other.VersusEnv"
    assert (locate("other.src.Thing"), canonical("boardlab.x"), command("train")) == (
        "other.src.Thing",
        "src.x",
        "python -m src.train",
    )


def test_the_names_that_extensions_build_on():
    """They are a promise: removing or renaming one breaks extensions."""
    names = """Agent Decision Game Heads LearnerConfig NetworkLearnerConfig NetworkTrainer OutcomeReward SoloEnv Trainer
    Trait TwoPlayerGame UserError VersusEnv add_config_dir load_agent make make_aec make_agent make_vec"""
    boardlab = importlib.import_module("boardlab")
    assert boardlab.__all__ == names.split()
    assert all(callable(getattr(boardlab, name)) for name in boardlab.__all__)
    assert boardlab.UserError is UserError
    with pytest.raises(AttributeError, match="Chess"):
        _ = boardlab.Chess
    imported = "import sys, src; print('torch' in sys.modules or 'gymnasium' in sys.modules)"
    assert python("-c", imported).stdout == "False\n", "a command imports them when it needs them"


@pytest.mark.parametrize("name", ENVS)
def test_every_environment_keeps_the_rules_of_gymnasium(name: str):
    env = gymnasium.make(env_id(name))
    env.action_space.seed(0)  # the check plays a sample of one position in another, where not every sample is legal
    check_env(env.unwrapped)
    observation, info = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    for _ in range(300):
        assert info["action_mask"].shape == (env.action_space.n,)  # type: ignore[attr-defined]
        action = env.action_space.sample(info["action_mask"].astype(np.int8))
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    assert terminated, "a game ends"


def test_a_sample_is_a_legal_action_of_the_position():
    env = api.make("tictactoe", "agent@env.opponent=random", seat="first")
    env.reset(seed=0)
    env.action_space.seed(0)
    while True:
        samples = {int(env.action_space.sample()) for _ in range(60)}
        assert samples <= set(np.flatnonzero(env.action_masks()))
        if env.step(min(samples))[2]:
            break
    assert len({int(env.action_space.sample()) for _ in range(60)}) == 9, "between games all actions exist"
    assert env.action_space == gymnasium.spaces.Discrete(9)
    assert not isinstance(__import__("copy").deepcopy(env.action_space), MaskedDiscrete)


def test_vector_environments_are_compiled():
    envs = gymnasium.make_vec(env_id("minesweeper_8x8"), num_envs=3)
    assert type(envs.unwrapped).__name__ == "VecMinesweeper"
    observations, info = envs.reset(seed=0)
    assert observations.shape[0] == 3
    assert info["action_mask"].shape == (3, 64)


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_restored_batch_is_observed(name: str):
    envs: Any = api.make_vec(name, num_envs=12)
    envs.reset(seed=1)
    played = envs.step(envs.action_masks().argmax(1))[0].copy()
    saved = envs.state()
    envs.reset(seed=2)
    envs.load_state(saved)
    assert np.array_equal(envs.observe(), played)


def test_settings_and_overrides_reach_the_environment():
    env = api.make("minesweeper_8x8", config={"mine_count": 12, "mine_density": None})
    assert env.config.mine_count == 12
    env = api.make("quoridor", "reward=outcome", "agent@env.opponent=random", seat="second", game={"size": 5})
    assert (env.game.size, env.seats, type(env.opponent).__name__) == (5, (1,), "RandomAgent")
    assert type(env.reward).__name__ == "OutcomeReward"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.make("chess"), "chess"),
        (lambda: api.make("tictactoe", sea="first"), "env.sea"),
        (lambda: api.make("tictactoe", seat="third"), "seat"),
        (lambda: api.make("tictactoe", render_mode="human"), "must be one of ansi, rgb_array"),
        (lambda: api.make_agent("genius"), "genius"),
        (lambda: api.make_aec("minesweeper_8x8"), "has one player"),
        (lambda: api.evaluate(api.make_agent("random"), "minesweeper_8x8", api.make_agent("random")), "no opponent"),
        (lambda: api.evaluate(api.make_agent("runner"), "quoridor", api.make_agent("runner")), "opening_plies"),
        (lambda: api.evaluate(api.make_agent("exact"), "tictactoe"), "needs a game"),
        (lambda: api.load_agent("nowhere"), "not a run directory"),
        (lambda: api.compose("algo=alchemy"), "alchemy"),
    ],
)
def test_errors_are_sentences_for_users(call, message: str):
    with pytest.raises(UserError, match=message):
        call()


@pytest.mark.parametrize("text", ["it's", "a\\", "a\\'b", "${env.seat}", "x,y", ""])
def test_text_reaches_a_setting_as_it_is(text: str):
    with pytest.raises(UserError) as refusal:
        api.make("tictactoe", seat=text)
    assert "seat" in str(refusal.value)
    assert text in str(refusal.value) or text == "${env.seat}"


def test_settings_that_are_no_values_are_refused():
    with pytest.raises(UserError, match="cannot be a setting"):
        api.make("minesweeper_8x8", config={"mine_density": np.ones(2)})


def test_environments_are_made_inside_another_hydra_application(tmp_path: Path):
    (tmp_path / "theirs.yaml").write_text("answer: 42\n")
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.3"):
        gymnasium.make(env_id("tictactoe"))
        api.compose("algo.episodes=5")
        assert hydra.compose("theirs").answer == 42


def test_evaluate_plays_against_the_first_baseline():
    score = api.evaluate(api.make_agent("minimax"), "tictactoe", episodes=20)
    assert score.total.losses == 0
    assert score.total.wins >= 15, "the first baseline is the random player"
    assert api.evaluate(api.make_agent("minimax"), api.make("tictactoe"), episodes=20).outcomes == score.outcomes


def test_train_returns_the_metrics_and_load_agent_the_agent(tmp_path: Path):
    config = api.compose("algo.episodes=30", "algo.eval_every=30", "logger=csv", "evaluation.episodes=4")
    metrics = api.train(config, tmp_path / "run")
    written = json.loads((tmp_path / "run" / "eval.json").read_text())
    assert metrics["final/win_rate"] == written["scores"]["random"]["win_rate"]
    assert api.evaluate(api.load_agent(tmp_path / "run"), "tictactoe", episodes=4).total.games == 4


def test_train_writes_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    api.train(api.compose("algo.episodes=5", "algo.eval_every=5", "logger=csv", "evaluation.episodes=2"))
    assert [run.name for run in tmp_path.glob("outputs/runs/tictactoe/qlearning/*/eval.json")] == ["eval.json"]


@pytest.mark.parametrize(
    "name", mostly_slow(["tictactoe", "quoridor", "connect_four", "othello", "deployment_mirror"], 3)
)
@pytest.mark.filterwarnings("ignore:Observation")  # masked observations are dictionaries
def test_two_player_games_keep_the_rules_of_pettingzoo(name: str):
    env = api.make_aec(name)
    assert str(env.metadata["name"]).startswith(name.partition("_")[0])
    api_test(env, num_cycles=100)
    seed_test(lambda: api.make_aec(name), num_cycles=20)


def test_pettingzoo_rewards_both_players_with_the_outcome():
    env = api.make_aec("tictactoe")
    env.reset(seed=0)
    for action in (0, 3, 1, 4, 2):
        assert not env.terminations[env.agent_selection]
        env.step(action)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert all(env.terminations.values())
    assert env.observe("player_1")["action_mask"].sum() == 0


def test_pettingzoo_refuses_an_illegal_action():
    env = api.make_aec("tictactoe")
    env.reset(seed=0)
    env.step(4)
    with pytest.raises(UserError, match="not a legal move"):
        env.step(4)
    assert env.agent_selection == "player_1"
    assert env.observe("player_1")["action_mask"].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1]
