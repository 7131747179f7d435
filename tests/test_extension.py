"""An extension in a folder of its own: a game with its rules and its config, played and trained by everything else."""

import copy
import importlib
import re
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import src  # registers the name boardlab
from src.api import make_agent
from src.config.build import build
from src.config.load import load_config, targets_in
from src.config.targets import TRUST
from src.core.errors import UserError
from src.core.package import CONFIG_DIRS
from src.core.play.arena import evaluate
from src.envs.two_player_env import OutcomeReward, SoloEnv
from tests.lab import ROOT, Lab, python
from tests.waiting import wait_until

EXTEND = ROOT / "docs/extend.md"
HERE = Path(__file__).parent / "extension"
SMALL = ("env.game.rows=3", "env.game.cols=4", "env.game.length=3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy outside the repository, importable by this process; commands are given its config folder."""
    shutil.copytree(HERE, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(tmp_path / "mine")
    monkeypatch.delitem(sys.modules, "gomoku", raising=False)
    return tmp_path / "mine"


@pytest.fixture
def game(folder: Path) -> Any:
    from gomoku import Gomoku

    return Gomoku(6, 6, 4)


def play(game: Any, moves: str) -> str:
    state: str = game.initial(np.random.default_rng(0))
    for move in moves.split():
        state = game.play(state, game.parse_move(state, move))
    return state


def test_the_extension_derives_from_the_classes_of_this_process(game: Any):
    assert isinstance(game, src.core.play.game.TwoPlayerGame)


def test_the_rules_of_gomoku(game: Any):
    assert [game.perft(game.initial(np.random.default_rng(0)), depth) for depth in (1, 2, 3)] == [36, 1260, 42840]
    assert game.outcome(play(game, "a1 a2 b1 b2 c1 c2 d1")) == 1, "a row"
    assert game.outcome(play(game, "f6 a1 f5 a2 f4 a3")) is None, "three in a column"
    assert game.outcome(play(game, "f6 a1 f5 a2 f4 a3 e1 a4")) == -1, "a column of the second player"
    assert game.outcome(play(game, "a1 b1 b2 c1 c3 d1 d4")) == 1, "a diagonal"
    assert game.outcome(play(game, "d1 a1 c2 a2 b3 e5 a4")) == 1, "the other diagonal"
    assert game.outcome(play(game, "d6 a1 e6 a2 f6 a3 a5")) is None, "a row ends at the edge"
    taken = play(game, "a6")
    assert game.legal_actions(taken) == list(range(1, 36))
    with pytest.raises(UserError, match="taken or does not exist"):
        game.play(taken, 0)


def test_search_plays_the_extension(game: Any):
    score = evaluate(game, make_agent("alphabeta", "agent.difficulty=normal"), make_agent("random"), 10, seed=0)
    assert score.total.wins >= 9


def config_of(run: Path) -> dict[str, Any]:
    """The configuration of a run whose environment is the extension's."""
    return {
        "env": {
            "_target_": "boardlab.envs.two_player_env.VersusEnv",
            "game": {"_target_": "gomoku.Gomoku", "rows": 3, "cols": 4, "length": 3},
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
    with pytest.raises(UserError, match=r"'gomoku\.Gomoku', which is refused.*--config-dir"):
        load_config(run)
    monkeypatch.setenv(TRUST, "another, gomoku")
    assert type(build(load_config(run).env, "env").game).__name__ == "Gomoku"
    monkeypatch.setenv(TRUST, "connect")
    with pytest.raises(UserError, match="which is refused"):
        load_config(run)


def test_an_extension_trusts_its_classes_where_it_names_them(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(CONFIG_DIRS, str(folder / "conf"))
    run = put(tmp_path / "run", config_of(tmp_path))
    assert type(build(load_config(run).env, "env").game).__name__ == "Gomoku"
    config = config_of(tmp_path)
    config["env"]["opponent"] = dict(config["env"]["game"])
    with pytest.raises(UserError, match=r"env.opponent has _target_ 'gomoku.Gomoku', which is refused"):
        load_config(put(tmp_path / "elsewhere", config))
    (folder / "conf/env/broken.yaml").write_text("- a list")
    targets_in.cache_clear()
    with pytest.raises(UserError, match=r"broken\.yaml is not a config of a group"):
        load_config(run)


def test_trust_in_one_package_is_no_trust_in_others(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TRUST, "gomoku")
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
        "gomoku.np.load",
        "gomoku.require",
        "gomoku.UserError",
        "gomoku.Gomoku.play",
        "gomoku",
    ],
)
def test_only_classes_of_a_trusted_package_are_trusted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
):
    """What the package imports is not its own: a run could call numpy.load on a pickle beside it."""
    monkeypatch.setenv(TRUST, "gomoku")
    config = config_of(tmp_path)
    config["env"]["game"] = {"_target_": target, "file": "run/pickle.npy", "allow_pickle": True}
    with pytest.raises(UserError, match="which is refused"):
        load_config(put(tmp_path / "run", config))


FEW = ("logger=csv", "evaluation.episodes=4", "agent@env.baselines.mcts=random")
TRAINING_RUNS = {
    "alphabeta": "algo.player.difficulty=easy algo.eval_episodes=4",
    "qlearning": f"algo.episodes=50 {' '.join(SMALL)}",
    "alphazero": "algo.total_steps=512 algo.num_envs=16 algo.batch_size=32 algo.eval_episodes=4 "
    "algo.search.simulations=4 algo.play.simulations=4 net_defaults.channels=8 net_defaults.blocks=1",
}


OWN = ("--config-dir=mine/conf", "env=gomoku")


@pytest.mark.slow
@pytest.mark.parametrize("algo", TRAINING_RUNS)
@pytest.mark.usefixtures("folder")
def test_an_extension_is_trained(lab: Lab, algo: str):
    lab.train(*OWN, f"algo={algo}", *TRAINING_RUNS[algo].split(), *FEW)


@pytest.mark.usefixtures("folder")
def test_the_folder_beside_the_options_is_imported_by_every_process(lab: Lab):
    words = ("agents=[random,mcts:simulations=2]", "games=4", "workers=2", "opening_plies=2")
    assert "4 games" in lab.succeed("sprt", "--config-dir", "mine/conf", "env=gomoku", *words).stdout
    refused = lab.refuse("evaluate", "--config-dir=nowhere", "env=gomoku")
    assert "--config-dir=nowhere is not a folder" in refused.stderr
    (lab.folder / "mine/gomoku.py").unlink()
    refused = lab.refuse("evaluate", *OWN)
    assert refused.stderr.count("No module named 'gomoku'") == 1


PROGRAM = """
import src, gymnasium
from boardlab.api import add_config_dir, compose, evaluate, load_agent, make, make_agent, make_vec, train

add_config_dir("mine/conf")
assert gymnasium.make("boardlab/Gomoku-v0").reset(seed=0)[1]["action_mask"].shape == (36,)
assert make_vec("gomoku", num_envs=3, game={"cols": 5}).reset(seed=0)[1]["action_mask"].shape == (3, 30)
score = evaluate(make_agent("alphabeta", "agent.difficulty=easy"), make("gomoku", WORDS), episodes=2)
few = ("algo.episodes=20", "algo.eval_every=20", "evaluation.episodes=2", "logger=csv")
train(compose("env=gomoku", "algo=qlearning", *few, WORDS), "run")
print(evaluate(load_agent("run"), make("gomoku", WORDS), episodes=2).total.games)
"""


@pytest.mark.parametrize(("device", "steps", "channels"), [("cpu", 200_000, 32), ("cuda", 10_000_000, 64)])
@pytest.mark.usefixtures("folder")
def test_settings_of_a_new_game_fit_the_device(lab: Lab, device: str, steps: int, channels: int):
    shown = lab.succeed("train", *OWN, "algo=ppo", f"device={device}", "--cfg=job").stdout
    assert f"  total_steps: {steps}\n" in shown
    assert f"  channels: {channels}\n" in shown


@pytest.mark.usefixtures("folder")
def test_python_knows_an_extension(lab: Lab):
    words = ", ".join(map(repr, [*SMALL, "env.game.cols=3", "agent@env.baselines.mcts=random"]))
    assert python("-c", PROGRAM.replace("WORDS", words), folder=lab.folder).stdout.splitlines()[-1] == "2"


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_jobs_of_a_sweep_import_an_extension(lab: Lab):
    few = ("algo.episodes=20", "algo.eval_every=20", *SMALL, *FEW)
    lab.succeed("train", "-m", *OWN, "algo=qlearning", "launcher=joblib", "seed=1,2", *few)
    assert len(list(lab.folder.glob("outputs/sweeps/*/*/eval.json"))) == 2
    (command,) = lab.folder.glob("outputs/sweeps/*/command.txt")
    assert "--config-dir=mine/conf" in command.read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_run_of_an_extension_is_evaluated_and_resumed(lab: Lab):
    small = ("algo.total_steps=256", "algo.num_envs=8", "algo.steps_per_env=16", "net_defaults.channels=8")
    run = lab.train(*OWN, "algo=ppo", *small, *FEW)
    evaluate = (*OWN, "agent=trained", f"agent.run={run}", "episodes=2")
    refused = lab.refuse("evaluate", *evaluate[2:])
    assert "'gomoku.Gomoku', which is refused" in refused.stderr
    lab.succeed("evaluate", OWN[0], *evaluate[2:])
    lab.succeed("train", OWN[0], f"resume={run}", "logger=csv")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_command_that_resumes_a_stopped_run_names_the_extension(lab: Lab):
    process = lab.start("train", *OWN, "algo=qlearning", "algo.episodes=1000000", "checkpoint_seconds=0", *SMALL, *FEW)
    wait_until(lambda: any(lab.folder.glob("outputs/runs/*/*/*/checkpoints/last.safetensors")), "a checkpoint")
    (saved,) = lab.folder.glob("outputs/runs/*/*/*/checkpoints/last.safetensors")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    (command,) = re.findall("stopped: continue with python -m src.train (.*)", err)
    assert command.startswith("--config-dir=mine/conf resume=outputs/runs/gomoku/qlearning/")
    stopped = saved.stat().st_mtime_ns
    resumed = lab.start("train", *shlex.split(command))
    wait_until(lambda: saved.stat().st_mtime_ns > stopped, "another checkpoint")
    resumed.send_signal(signal.SIGINT)
    assert "refused" not in resumed.communicate()[1]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_engine_plays_an_extension(lab: Lab):
    lines = "position startpos moves a1 a6 b1 b6 c1 c6\nlegal\ngo\nquit\n"
    done = lab.run("engine", *OWN, "agent=mcts", stdin=lines)
    assert done.stdout.splitlines()[1].startswith("legal a2 a3 a4 a5 b2 "), done.stderr
    assert done.stdout.splitlines()[2].startswith("bestmove d1"), "it completes the row"


@pytest.fixture
def lights_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The environment of the one-player game in the manual."""
    (code,) = re.findall(r"```python\n# mine/lights_out.py\n(.*?)```", EXTEND.read_text(), re.DOTALL)
    (tmp_path / "lights_out.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    game = importlib.import_module("lights_out").LightsOut(size=3, presses=2)
    monkeypatch.delitem(sys.modules, "lights_out")
    return SoloEnv(game, OutcomeReward(win=2.0, draw=0.0, loss=-1.0, gamma=1.0), {})


def test_a_game_for_one_player_needs_no_environment_of_its_own(lights_out: Any, game: Any):
    check_env(lights_out)
    with pytest.raises(UserError, match="Gomoku has two players: its environment is VersusEnv"):
        SoloEnv(game, lights_out.reward, {})
    lights_out.reset(seed=5)
    _, reward, ended, truncated, info = lights_out.step(0)
    assert (reward, ended, truncated, info["action_mask"].sum()) == (0.0, False, False, 9)


def test_a_batch_for_one_player_plays_like_single_ones(lights_out: Any):
    envs, single = lights_out.vectorize(3), copy.deepcopy(lights_out)
    envs.reset(seed=5)
    single.reset(seed=6)  # as env 1
    results = set()
    for number in range(120):
        action = number * 5 % 9
        observed, rewards, ended, _, info = envs.step(np.full(3, action))
        own, reward, over, _, own_info = single.step(action)
        if over:
            results.add(reward)
            assert np.array_equal(info["final_obs"][1], own)
            assert info["final_info"]["won"][1] == (own_info["outcome"] == 1)
            own, own_info = single.reset()
        assert (rewards[1], ended[1]) == (reward, over)
        assert np.array_equal(observed[1], own)
        assert np.array_equal(info["action_mask"][1], own_info["action_mask"])
    assert results == {2.0, -1.0}
    saved, before = envs.state(), envs.observe()
    envs.step(np.zeros(3, int))
    envs.load_state(saved)
    assert np.array_equal(envs.observe(), before)
