"""Untrusted run directories: only classes of conf/ are built, and reading them takes bounded time."""

import copy
import importlib
import inspect
import pkgutil
import random
import signal
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from omegaconf import OmegaConf

import src
from experiments.faults.hostile import EXPLOIT, HOSTILE, VALUES, nodes
from src.config import CONF, schema
from src.config.compose import resolved, validate
from src.config.load import load_agent, load_config
from src.config.targets import Targets
from src.core.errors import UserError
from src.play import ConfigLab
from tests.lab import ROOT, Lab
from tests.test_compositions import COMPANIONS, FEW_ENVS, REQUIRED_VALUES, composed, options

SHIPPED = sorted(path.parent for path in (ROOT / "experiments").rglob("config.yaml"))
TICTACTOE = ROOT / "experiments/tictactoe_qlearning"


def read(run: Path) -> dict[str, Any]:
    return yaml.safe_load((run / "config.yaml").read_text())


def put_run(run: Path, config: dict[str, Any] | str) -> Path:
    """Copy the shipped table with another configuration."""
    (run / "checkpoints").mkdir(parents=True, exist_ok=True)
    for name in ("checkpoints/best.safetensors", "metrics.csv"):
        (run / name).write_bytes((TICTACTOE / name).read_bytes())
    text = config if isinstance(config, str) else yaml.safe_dump(config)
    (run / "config.yaml").write_text(text)
    return run


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail if the block takes longer than this, instead of waiting for it."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def gift(tmp_path: Path) -> Path:
    """Create a run whose algorithm would import a module in its directory."""
    run = put_run(tmp_path / "outputs/gift", read(TICTACTOE) | {"algo": EXPLOIT})
    (run / "p.py").write_text("open('executed', 'w').close()\n")
    return run


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("engine", ["agent=trained", "agent.run=outputs/gift"]),
        ("export", ["run=outputs/gift"]),
        ("train", ["agent@env.opponent=trained", "env.opponent.run=outputs/gift", "logger=csv"]),
    ],
)
def test_no_command_executes_what_a_run_directory_names(lab: Lab, gift: Path, module: str, arguments: list[str]):
    done = lab.run(module, *arguments)
    assert not (lab.folder / "executed").exists()
    assert "'src.algos.maskable_ppo.model.Model', which is refused" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_page_executes_what_a_run_directory_names(gift: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(gift.parent.parent)
    monkeypatch.syspath_prepend(gift.parent.parent)
    with hydra.initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        lab = ConfigLab([gift.parent], seed=0)
        with pytest.raises(UserError, match="which is refused"):
            lab.agent("trained", lab.game("tictactoe"), {"run": str(gift)})
        with pytest.raises(UserError, match="which is refused"):
            lab.run_game(gift)
        for env in (str(gift / "config"), "../config", "${oc.env:HOME}", ""):
            with pytest.raises(UserError, match="is unknown here"):
                lab.default_settings(env, "ppo")
    assert not Path("executed").exists()


@pytest.mark.parametrize("run", SHIPPED, ids=lambda run: run.name)
def test_shipped_runs_are_allowed(run: Path):
    assert load_config(run).algo._target_


FEW_AGENTS = ("trained", "hybrid", "qtable", "alphabeta", "wargame_pool", "greedy")  # with a run, a path, members


def opponents(agent: str) -> list[str]:
    """An agent on both sides, without tuned settings, which are for another player."""
    return [f"agent@env.opponent={agent}", f"agent@algo.player={agent}", "algo=alphabeta", "tuned=none"]


COMPOSED = [
    *([f"env={name}"] for name in FEW_ENVS),
    *([f"{group}={name}"] for group in ("algo", "curriculum", "logger") for name in options(group)),
    *(["algo=ppo", f"net@algo.net={name}", "env=deployment"] for name in options("net")),
    ["algo=ppo", "env=deployment", "tuned=none", "+net@net_defaults.custom=units"],
    *(["algo=imitation", "env=minesweeper_8x8", f"teacher@algo.teacher={name}"] for name in options("teacher")),
    *(opponents(name) for name in FEW_AGENTS),
    *(
        ["env=deployment", f"agent/placement@env.baselines.greedy.placement={name}"]
        for name in options("agent/placement")
    ),
]


@pytest.mark.parametrize("overrides", COMPOSED, ids=" ".join)
def test_every_composition_can_be_loaded_again(tmp_path: Path, overrides: list[str]):
    name = overrides[0].split("=")[1]
    missing = [word.replace("agent.", "env.opponent.") for word in REQUIRED_VALUES.get(name, [])]
    missing += [word.replace("agent.", "algo.player.") for word in REQUIRED_VALUES.get(name, [])]
    companions = COMPANIONS.get(name, []) if "agent" not in overrides[0] else []
    config = resolved(validate(composed(*overrides, *companions, *missing), schema.Train))
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    del config["logger"]  # each command has its own
    assert resolved(load_config(tmp_path)) == config


# An attack on the list itself.

PPO = "src.algos.ppo.PPO"
VERSUS = "src.envs.two_player_env.VersusEnv"
GROUP_PLACES = [("", "env"), ("", "reward"), ("", "algo"), (PPO, "net"), (VERSUS, "opponent")]


def placed(tree: Any, owner: str = "", key: str = "", depth: int = 0) -> Iterator[tuple[str, str, int, str]]:
    """Yield every class of a tree, with the class and the argument that it is for."""
    if isinstance(tree, dict) and "_target_" in tree:
        yield owner, key, depth, str(tree["_target_"])
        owner, depth = str(tree["_target_"]), -1
    elif owner == key == "":
        depth = -1
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, child in pairs:
        if name != "_target_":
            yield from placed(child, owner, str(name) if depth == -1 else key, depth + 1)


@pytest.fixture(scope="module")
def composable() -> set[tuple[str, str, int, str]]:
    """Return which class Hydra can put where, up to the name of the option; agents are interchangeable."""
    found = set()
    others = [[f"env={name}"] for name in options("env")] + [opponents(name) for name in options("agent")]
    for overrides in COMPOSED + others:
        group, name = overrides[0].split("=")
        cfg = composed(*overrides, *(COMPANIONS.get(name, []) if group == "curriculum" else []))
        found |= set(placed(OmegaConf.to_container(cfg, resolve=True)))
    return found


def reachable() -> list[str]:
    """Return every callable name below src, including imported ones."""
    names = set()
    for found in pkgutil.walk_packages(src.__path__, "src."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:  # an optional package
            continue
        for name, value in vars(module).items():
            if isinstance(value, types.ModuleType):
                names |= {f"{found.name}.{name}.{inner}" for inner, what in vars(value).items() if callable(what)}
            elif callable(value):
                names.add(f"{found.name}.{name}")
                if inspect.isclass(value):
                    methods = (inner for inner, what in inspect.getmembers(value) if inspect.ismethod(what))
                    names |= {f"{found.name}.{name}.{method}" for method in methods}
    return sorted(names)


def test_the_list_holds_against_every_name_below_src(composable: set[tuple[str, str, int, str]]):
    random_ = random.Random(0)
    targets, runs = Targets(CONF), [read(run) for run in SHIPPED if "deployment" not in run.as_posix()]
    allowed_classes = {target for *_, target in composable}
    names = reachable()
    assert len(names) > 3000
    assert {"src.core.files.os.remove", "src.algos.maskable_ppo.model.Model.load"} <= set(names)
    passed, known = 0, by_group(composable)
    for name in [*random_.sample(names, 2500), *sorted(allowed_classes) * 10]:
        config = copy.deepcopy(random_.choice(runs))
        tree, key = random_.choice(list(nodes(config)))
        arguments = dict.fromkeys(("env", "path", "run", "x"), random_.choice(VALUES))
        tree[key] = name if key == "_target_" else {"_target_": name} | arguments
        if random_.random() < 0.2:
            tree[key] = {"@": tree[key]}
        try:
            targets.check(config, "config.yaml")
        except UserError:
            continue
        passed += 1
        assert set(placed(config)) <= known, (name, key)
    assert passed < 200, "few classes fit into a place that was drawn"


def by_group(composable: set[tuple[str, str, int, str]]) -> set[tuple[str, str, int, str]]:
    """Return the options of each group with all their argument names, because options are interchangeable."""
    groups = [{target for owner, key, _, target in composable if (owner, key) == place} for place in GROUP_PLACES]
    found, before = set(composable), 0
    while before != len(found):
        before = len(found)
        for group in groups:
            for owner, key, depth, target in list(found):
                found |= {(one, key, depth, target) for one in group} if owner in group else set()
                found |= {(owner, key, depth, one) for one in group} if target in group else set()
    return found


# What takes forever, or all the memory.


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_is_refused_at_once(tmp_path: Path, name: str):
    run = put_run(tmp_path / "outputs/gift", HOSTILE[name])
    with within(20):
        with pytest.raises(UserError, match=r"gift/config.yaml"):
            load_config(run)
        with pytest.raises(UserError, match=r"gift/config.yaml"):
            load_agent(str(run), "best")


def test_an_agent_made_of_itself_is_refused(lab: Lab, tmp_path: Path):
    for name, other in (("a", "a"), ("b", "c"), ("c", "b"), *((f"n{i}", f"n{i + 1}") for i in range(9))):
        player = {"_target_": "src.config.load.load_agent", "run": f"outputs/{other}", "checkpoint_name": "best"}
        algo = {"_target_": "src.algos.alphabeta.AlphaBeta", "player": player | {"changes": None}}
        put_run(tmp_path / "outputs" / name, read(TICTACTOE) | {"algo": algo})
    for name, message in (("a", "refers to itself"), ("b", "refers to itself"), ("n0", "at most 4 runs")):
        done = lab.refuse("evaluate", "agent=trained", f"agent.run=outputs/{name}", "episodes=2", seconds=120)
        assert message in done.stderr
