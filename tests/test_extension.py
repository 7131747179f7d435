"""An extension in a folder of its own: a game with its rules and its config, played and trained by everything else."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import src  # registers the name boardlab
from src.api import make_agent
from src.config.build import build
from src.config.load import load_config
from src.config.targets import TRUST
from src.core.errors import UserError
from src.core.play.arena import evaluate
from tests.lab import Lab

HERE = Path(__file__).parent / "extension"
SMALL = ("env.game.rows=3", "env.game.cols=4", "env.game.length=3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy outside the repository, importable."""
    shutil.copytree(HERE, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(tmp_path / "mine")
    monkeypatch.delitem(sys.modules, "connect_four", raising=False)
    return tmp_path / "mine"


@pytest.fixture
def game(folder: Path) -> Any:
    from connect_four import ConnectFour

    return ConnectFour(6, 7, 4)


def play(game: Any, moves: str) -> str:
    state: str = game.initial(np.random.default_rng(0))
    for move in moves:
        state = game.play(state, game.parse_move(state, move))
    return state


def test_the_extension_derives_from_the_classes_of_this_process(game: Any):
    assert isinstance(game, src.core.play.game.TwoPlayerGame)


def test_the_rules_of_connect_four(game: Any):
    assert [game.perft(game.initial(np.random.default_rng(0)), depth) for depth in (1, 2, 3)] == [7, 49, 343]
    assert game.outcome(play(game, "aabbccd")) == 1, "a row"
    assert game.outcome(play(game, "gababab")) is None, "three in a column"
    assert game.outcome(play(game, "gabababa")) == -1, "a column of the second player"
    assert game.outcome(play(game, "abababa")) == 1, "a column"
    assert game.outcome(play(game, "abbccdcddgd")) == 1, "a diagonal"
    full = play(game, "aaaaaa")
    assert game.legal_actions(full) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(UserError, match="full or does not exist"):
        game.play(full, 0)


def test_search_plays_the_extension(game: Any):
    score = evaluate(game, make_agent("alphabeta", "agent.difficulty=hard"), make_agent("random"), 10, seed=0)
    assert score.total.wins >= 9


def config_of(run: Path) -> dict[str, Any]:
    """The configuration of a run whose environment is the extension's."""
    return {
        "env": {
            "_target_": "boardlab.envs.two_player_env.VersusEnv",
            "game": {"_target_": "connect_four.ConnectFour", "rows": 3, "cols": 4, "length": 3},
            "opponent": {"_target_": "src.core.play.agent.RandomAgent"},
            "reward": {
                "_target_": "src.envs.two_player_env.OutcomeReward",
                **{"win": 1.0, "draw": 0.0, "loss": -1.0, "gamma": 1.0},
            },
            "seat": "random",
            "baselines": {},
        }
    }


def put(run: Path, config: dict[str, Any]) -> Path:
    import yaml

    run.mkdir(parents=True)
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    return run


def test_a_run_of_an_extension_is_refused_until_trusted(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = put(tmp_path / "run", config_of(tmp_path))
    with pytest.raises(UserError, match=f"'connect_four.ConnectFour', which is refused.*{TRUST}"):
        load_config(run)
    monkeypatch.setenv(TRUST, "another, connect_four")
    assert type(build(load_config(run).env, "env").game).__name__ == "ConnectFour"
    monkeypatch.setenv(TRUST, "connect")
    with pytest.raises(UserError, match="which is refused"):
        load_config(run)


def test_trust_in_one_package_is_no_trust_in_others(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TRUST, "connect_four")
    config = config_of(tmp_path)
    config["env"]["game"]["rows"] = {"_target_": "os.system", "command": "touch executed"}
    with pytest.raises(UserError, match=r"'os\.system', which is refused"):
        load_config(put(tmp_path / "nested", config))
    config = config_of(tmp_path) | {"trust": ["os"]}
    config["env"]["opponent"] = {"_target_": "os.system", "command": "touch executed"}
    with pytest.raises(UserError, match=r"'os\.system', which is refused"):
        load_config(put(tmp_path / "own", config))


@pytest.mark.parametrize(
    "target",
    [
        "connect_four.np.load",
        "connect_four.require",
        "connect_four.UserError",
        "connect_four.ConnectFour.play",
        "connect_four",
    ],
)
def test_only_classes_of_a_trusted_package_are_trusted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
):
    """What the package imports is not its own: a run could call numpy.load on a pickle beside it."""
    monkeypatch.setenv(TRUST, "connect_four")
    config = config_of(tmp_path)
    config["env"]["game"] = {"_target_": target, "file": "run/pickle.npy", "allow_pickle": True}
    with pytest.raises(UserError, match="which is refused"):
        load_config(put(tmp_path / "run", config))


FEW = ("logger=csv", "evaluation.episodes=4", "agent@env.baselines.mcts=random")
TRAINING_RUNS = {
    "alphabeta": "algo.player.difficulty=hard",
    "qlearning": f"algo.episodes=50 {' '.join(SMALL)}",
    "alphazero": "algo.total_steps=512 algo.num_envs=16 algo.batch_size=32 algo.eval_episodes=4 "
    "algo.search.simulations=4 algo.play.simulations=4 net_defaults.channels=8 net_defaults.blocks=1",
}


@pytest.fixture
def own(folder: Path) -> tuple[str, str]:
    return f"--config-dir={folder / 'conf'}", "env=connect_four"


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": f"{Path(src.__path__[0]).parent}:{folder}"}


@pytest.mark.slow
@pytest.mark.parametrize("algo", TRAINING_RUNS)
def test_an_extension_is_trained(lab: Lab, own: tuple[str, str], environment: dict[str, str], algo: str):
    lab.train(*own, f"algo={algo}", *TRAINING_RUNS[algo].split(), *FEW, environment=environment)


@pytest.mark.slow
def test_a_run_of_an_extension_is_evaluated_and_resumed(lab: Lab, own: tuple[str, str], environment: dict[str, str]):
    small = ("algo.total_steps=256", "algo.num_envs=8", "algo.steps_per_env=16", "net_defaults.channels=8")
    run = lab.train(*own, "algo=ppo", *small, *FEW, environment=environment)
    evaluate = (*own, "agent=trained", f"agent.run={run}", "episodes=2")
    refused = lab.refuse("evaluate", *evaluate, environment=environment)
    assert f"set {TRUST}" in refused.stderr
    trusted = environment | {TRUST: "connect_four"}
    for module, arguments in (("evaluate", evaluate), ("train", (f"resume={run}", "logger=csv"))):
        lab.succeed(module, *arguments, environment=trusted)


@pytest.mark.slow
def test_the_engine_plays_an_extension(lab: Lab, own: tuple[str, str], environment: dict[str, str]):
    lines = "position startpos moves a b a b a b\nlegal\ngo\nquit\n"
    done = lab.run("engine", *own, "agent=mcts", stdin=lines, environment=environment)
    assert done.stdout.splitlines()[:2] == ["ok", "legal a b c d e f g"], done.stderr
    assert done.stdout.splitlines()[2].startswith("bestmove a"), "it completes the column"
