"""Every option of every group, and every pair of environment and algorithm."""

import copy
import inspect
import itertools
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from src.config import CONF, schema
from src.config.build import WrongClassError, build, require_class
from src.config.compose import (
    build_algorithm,
    build_curriculum,
    build_env,
    compose_train,
    prepare,
    require_algorithm_fits,
    resolved,
    validate,
)
from src.config.errors import user_message
from src.core import interrupt
from src.core.errors import UserError
from src.core.interrupt import handle_interrupts
from src.core.play.agent import Agent
from src.core.play.game import Trait
from src.core.runs.metrics import METRICS
from src.core.runs.run import Algorithm, Run, has_learner
from src.envs.deployment.net import Units
from src.nets.flat import MLP
from tests import parsed_configs
from tests.golden import metrics
from tests.lab import ROOT, Lab, need
from tests.marks import mostly_slow
from tests.waiting import wait_until

parsed_configs.keep()


def test_rewards_have_the_discount_factor_of_the_learner(tmp_path: Path):
    """Shaping with another one would change which policy is best; stages of a curriculum follow it, too."""
    quoridor = ("env=quoridor", "algo=ppo", "algo.gamma=0.9", "curriculum=random_first", "device=cpu", "logger=csv")
    env, algo, curriculum, _ = prepare(composed(*quoridor), tmp_path)
    assert [stage.reward.gamma for stage in curriculum.all(env)] == [0.9, 0.9] == [algo.gamma] * 2
    for changed in ("reward", "curriculum.warm_up.random.reward"):
        cfg = composed(*quoridor)
        OmegaConf.update(cfg, changed, OmegaConf.merge(cfg.reward, {"gamma": 0.5}))
        with pytest.raises(UserError, match=r"reward\.gamma=0\.5 must be algo\.gamma"):
            prepare(cfg, tmp_path)


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@cache
def _composed(config: str, *overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        return compose(config, list(overrides), return_hydra_config=True)


def composed(*overrides: str, config: str = "train"):
    cfg = copy.deepcopy(_composed(config, *overrides))  # tests change theirs
    HydraConfig.instance().set_config(cfg)
    del cfg.__dict__["_content"]["hydra"]
    return cfg


def shortest_of_each_game() -> list[str]:
    """Return one env per game: the one with the shortest name, such as minesweeper_8x8."""
    chosen: dict[str, str] = {}
    for env in sorted(options("env"), key=lambda name: (len(name), name)):
        chosen.setdefault(env.partition("_")[0], env)
    return sorted(chosen.values())


# On the generic environments: every learner runs the same code.
PLAIN_GAMES = ("connect_four", "game_2048", "open_spiel", "othello", "pgx")
FEW_ENVS = [env for env in shortest_of_each_game() if env not in PLAIN_GAMES]
VARIANTS = [pytest.param(env, "ppo", marks=pytest.mark.slow) for env in options("env") if env not in FEW_ENVS]
VARIANTS += [
    pytest.param(env, algo, marks=pytest.mark.slow)
    for env in PLAIN_GAMES
    for algo in ("alphazero", "dqn", "imitation", "qlearning")  # of which some refuse it
]
PAIRS = [*itertools.product(FEW_ENVS, options("algo")), *VARIANTS]  # other learners run the same code on variants
SMALL_GAMES_FIRST = mostly_slow(FEW_ENVS[::-1], fast=2)  # tic-tac-toe and Quoridor
GROUPS = ("env", "algo", "curriculum", "logger", "experiment")
SMALL = {  # small budgets and batches, under the names of each algorithm
    "episodes": 20,
    "total_steps": 40,
    "num_envs": 4,
    "steps_per_env": 10,
    "batch_size": 20,
    "eval_episodes": 2,
    "chunk_size": 20,
    "mini_batches": 2,
    "past_selves_games": 2,
    "games": 2,
    "workers": 0,
    "hidden": [16],
    "buffer_size": 200,
    "learning_starts": 8,
}
BUDGETS = {"episodes", "total_steps"}
SMALL_NET = {"channels": 8, "blocks": 1, "hidden": [16]}
REQUIRED_VALUES = {"qtable": ["agent.path=x"], "trained": ["agent.run=x"], "hybrid": ["agent.value_net.run=x"]}
COMPANIONS = {
    "minesweeper_ladder": ["env=minesweeper_16x16", "algo=ppo"],
    "deployment_opponents": ["env=deployment", "algo=ppo"],
    "mixture": ["env=deployment", "algo=ppo", "+env@curriculum.others.siege=deployment_siege"],
    **{name: ["algo.init_from=x"] for name in ("wargame", "wargame_mirror")},
}  # what an option makes sense with
ONLY_IN_SOME_ENVS = "warm_up.random.opening_plies"  # of curriculum=random_first, which is for the wargame, too
EXTRAS = {  # of an option: the extra that it needs, and a package of it
    "tensorboard": ("tensorboard", "tensorboard"),
    "open_spiel": ("openspiel", "pyspiel"),
    "pgx": ("pgx", "pgx"),
}


FEW = {"env": FEW_ENVS, "experiment": ["minesweeper_ladder", "quoridor", "tictactoe_no_symmetry", "wargame_mirror"]}
OPTIONS = [
    pytest.param(group, option, marks=() if option in FEW.get(group, [option]) else pytest.mark.slow)
    for group in GROUPS
    for option in options(group)
]


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_every_option_composes_into_objects(group: str, option: str):
    if option in EXTRAS:
        need(*EXTRAS[option])
    cfg = validate(composed(f"{group}={option}", *COMPANIONS.get(option, [])), schema.Train)
    for name in ("env", "algo", "curriculum", *(f"logger.trackers.{name}" for name in cfg.logger.trackers)):
        build(OmegaConf.select(cfg, name), name)
    unset = [name for name in unset_parameters(resolved(cfg), group) if not name.endswith(ONLY_IN_SOME_ENVS)]
    assert not unset, "a default value in code only could silently differ from other configurations"


def unset_parameters(node: Any, path: str) -> Iterator[str]:
    if isinstance(node, dict):
        if "_target_" in node and not node.get("_partial_"):
            parameters = inspect.signature(get_object(node["_target_"])).parameters
            yield from (f"{path}.{name}" for name in parameters if name not in node)
        for key, value in node.items():
            yield from unset_parameters(value, f"{path}.{key}")


@pytest.mark.parametrize("env", SMALL_GAMES_FIRST)
def test_a_reward_is_refused_with_those_that_fit(env: str):
    fitting = [name for name in options("reward") if accepts_reward(env, name)]
    assert "outcome" in fitting
    refused = next(name for name in options("reward") if name not in fitting)
    listed = " or ".join(f"reward={name}" for name in fitting)
    with pytest.raises(UserError, match=f"^reward={refused} .*env={env}: type {listed}$"):
        build_env(composed(f"env={env}", f"reward={refused}", "algo=ppo"))


def accepts_reward(env: str, reward: str) -> bool:
    try:
        build(composed(f"env={env}", f"reward={reward}", "algo=ppo").env, "env")
    except WrongClassError:
        return False
    return True


@pytest.mark.parametrize("env", SMALL_GAMES_FIRST)
def test_a_curriculum_is_refused_with_those_that_fit(env: str):
    answers = {name: answer(f"env={env}", "algo=ppo", f"curriculum={name}") for name in options("curriculum")}
    fitting = [name for name, text in answers.items() if text is None or text.startswith("algo=ppo ")]
    assert "none" in fitting
    listed = " or ".join(f"curriculum={name}" for name in fitting)
    for name in set(answers) - set(fitting):
        text = answers[name] or ""
        assert text.startswith(f"curriculum={name} does not fit env={env}: ")
        assert text.endswith(f"; type {listed}")


@pytest.mark.slow
@pytest.mark.parametrize("algo", options("algo"))
def test_a_curriculum_is_refused_with_every_algorithm(algo: str):
    """With some, after the algorithm itself."""
    text = answer("env=tictactoe", f"algo={algo}", "curriculum=minesweeper_ladder")
    assert text is not None
    assert text.startswith(("curriculum=minesweeper_ladder does not fit env=tictactoe: ", f"algo={algo} cannot play "))
    assert "Interpolation" not in text


def answer(*overrides: str) -> str | None:
    """Return the error that `src.train` reports before it trains, or None."""
    try:
        cfg = validate(composed(*overrides), schema.Train)
        env = build_env(cfg)
        require_algorithm_fits(cfg, env.game)
        build_algorithm(cfg.algo, resumes=False).check(env, build_curriculum(cfg))
    except (UserError, HydraException) as error:
        return user_message(error)
    return None


def test_a_curriculum_that_does_not_fit_is_refused_in_scripts():
    with pytest.raises(UserError, match=r"curriculum=random_first .*env=minesweeper_8x8"):
        compose_train("env=minesweeper_8x8", "algo=ppo", "curriculum=random_first")


@pytest.mark.slow
def test_rewards_and_curricula_of_the_user_take_part(lab: Lab):
    for group, text in {
        "reward": "defaults: [outcome, _self_]\nwin: 2.0\nloss: -2.0\n",
        "curriculum": "defaults: [random_first, _self_]\nkeep: 0.5\n",
    }.items():
        (lab.folder / "mine" / group).mkdir(parents=True)
        (lab.folder / "mine" / group / "own.yaml").write_text(text)
    own = ("--config-dir", str(lab.folder / "mine"))
    done = lab.run("train", *own, "env=tictactoe", "reward=minesweeper", "logger=csv")
    assert "reward=minesweeper does not fit env=tictactoe: type reward=outcome or reward=own" in done.stderr
    done = lab.run("train", *own, "env=tictactoe", "curriculum=minesweeper_ladder", "logger=csv")
    assert done.stderr.strip().endswith("type curriculum=none or curriculum=own or curriculum=random_first")
    lab.succeed("train", *own, "env=tictactoe", "reward=own", "logger=csv", "algo.episodes=20")


@pytest.mark.parametrize("option", options("agent"))
def test_every_agent_composes(option: str):
    cfg = validate(composed(f"agent={option}", *REQUIRED_VALUES.get(option, []), config="evaluate"), schema.Evaluate)
    if option not in REQUIRED_VALUES:
        assert isinstance(build(cfg.agent, "agent"), Agent)


def test_an_agent_is_built_around_the_network_of_a_run():
    """The function that loads it is declared to return any agent, and the hybrid needs one with values."""
    network = f"agent.value_net.run={ROOT / 'experiments/minesweeper_8x8'}"
    assert isinstance(build(composed("agent=hybrid", network, config="evaluate").agent, "agent"), Agent)


@pytest.mark.parametrize(("env", "algo"), PAIRS)
def test_every_pair_trains_or_is_refused(tmp_path: Path, env: str, algo: str):
    if env in EXTRAS:
        need(*EXTRAS[env])
    if fits(env, algo):
        logged = metrics.described(train_small(env, algo, tmp_path))
        assert [name for name in logged if name not in METRICS] == [], "describe it in metrics.yaml"
        assert env not in FEW_ENVS or logged == metrics.read()[algo][env], "make golden, then make tables"
        return
    cfg = small(env, algo)
    with pytest.raises(UserError, match=f"^algo={algo} cannot play env={env}: it needs a game.*that fit: "):
        require_algorithm_fits(cfg, build(cfg.env, "env").game)


def fits(env: str, algo: str) -> bool:
    cfg = small(env, algo)
    return bool(require_class(cfg.algo, "algo").needs <= build(cfg.env, "env").game.traits)


def train_small(env: str, algo: str, folder: Path) -> list[str]:
    """Train some steps; return the names of the metrics that were logged."""
    cfg = small(env, algo)
    environment = build(cfg.env, "env")
    require_algorithm_fits(cfg, environment.game)
    learner, curriculum = build(cfg.algo, "algo"), build(cfg.curriculum, "curriculum")
    learner.check(environment, curriculum)
    with Run(folder, resolved(cfg), None) as run:
        agent = learner.fit(environment, curriculum, run)
    agent.check(environment.game)
    assert has_learner(folder), "what a learner saves holds no value that is refused when it is loaded"
    return (folder / "metrics.csv").read_text().splitlines()[0].split(",")


def small(env: str, algo: str) -> DictConfig:
    cfg = composed(f"env={env}", f"algo={algo}")
    cfg.algo.update({key: value for key, value in SMALL.items() if key in cfg.algo})
    cfg.net_defaults.update(SMALL_NET)
    cfg.logger.videos = 0
    return validate(cfg, schema.Train)


@pytest.mark.parametrize("algo", options("algo"))
def test_a_lost_interrupt_ends_training_at_the_next_update(tmp_path: Path, algo: str):
    cfg, environment = next(fitting_envs(algo))
    if not cfg.algo.keys() & BUDGETS:
        pytest.skip("it has nothing to train")
    learner = build(cfg.algo, "algo")
    with handle_interrupts(), Run(tmp_path, resolved(cfg), None) as run:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        wait_until(interrupt._interrupted.is_set, "the signal")
        with pytest.raises(KeyboardInterrupt):
            learner.fit(environment, build(cfg.curriculum, "curriculum"), run)


def fitting_envs(algo: str) -> Iterator[tuple[DictConfig, Any]]:
    for env in FEW_ENVS[::-1]:
        cfg = small(env, algo)
        environment = build(cfg.env, "env")
        if require_class(cfg.algo, "algo").needs <= environment.game.traits:
            yield cfg, environment


def test_an_experiment_overrides_what_stands_in_the_main_config():
    assert composed("experiment=tictactoe_no_symmetry").env.game.symmetric is False
    assert composed().env.game.symmetric is True


def test_only_the_automatic_network_uses_a_custom_one():
    custom = ("env=deployment", "algo=ppo", "tuned=none", "+net@net_defaults.custom=units")
    assert isinstance(build(composed(*custom).algo.net, "algo.net").custom, Units)
    assert isinstance(build(composed(*custom, "net@algo.net=mlp").algo.net, "algo.net"), MLP)
    assert build(composed(*custom[:3]).algo.net, "algo.net").custom is None


def test_every_value_carries_a_comment():
    for path in sorted((CONF / "algo").glob("*.yaml")):
        for line in Path(path).read_text().splitlines():
            key, _, value = line.strip().partition(":")
            if value and not key.startswith(("#", "_target_")):
                assert "#" in line, f"{path.name}: {line} has no comment"


@pytest.mark.parametrize("algo", options("algo"))
def test_every_algorithm_has_the_interface_of_one(algo: str):
    found = require_class(composed(f"algo={algo}").algo, "algo")
    assert all(isinstance(trait, Trait) for trait in found.needs)
    for name in ("check", "fit", "load_agent"):
        own, declared = (list(inspect.signature(getattr(one, name)).parameters) for one in (found, Algorithm))
        assert own == declared


@pytest.mark.parametrize("env", mostly_slow(["tictactoe", "quoridor", "deployment"], fast=1))
def test_ppo_trains_against_past_selves_in_every_two_player_game(tmp_path: Path, env: str):
    names = [f"env={env}", "algo=ppo", "agent@env.opponent=past_selves", "algo.total_steps=80", "algo.eval_every=40"]
    budget = [f"algo.{key}={value}" for key, value in SMALL.items() if key in composed(*names).algo]
    cfg = validate(composed(*names[:3], *budget, *names[3:]), schema.Train)
    environment, learner = build(cfg.env, "env"), build(cfg.algo, "algo")
    learner.check(environment, curriculum := build(cfg.curriculum, "curriculum"))
    with Run(tmp_path, resolved(cfg), None) as run:
        learner.fit(environment, curriculum, run)
    assert [snapshot.number for snapshot in environment.opponent.snapshots] == [0, 1, 2]
