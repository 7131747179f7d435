"""Validate configurations and build objects from them, for all entry points."""

import contextlib
import inspect
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.core import ranges
from src.core.errors import UserError, require
from src.core.files import new_directories
from src.core.play.agent import Agent, require_traits
from src.core.play.game import Game
from src.core.runs import checkpoint
from src.core.runs.config_file import CONFIG, read_config
from src.core.runs.run import checkpoint_path
from src.core.runs.targets import Targets
from src.resolvers import accelerator

log = logging.getLogger(__name__)

CONF = Path(__file__).parent.parent / "conf"
UNNAMED = (  # overrides left out of run names: shown elsewhere, or without effect on the results
    *("env", "algo", "seed", "resume", "logger", "launcher", "hparams_search", "sampler", "pruner"),
    *("checkpoint_seconds", "optimized_metric"),
)
MAX_NESTED_RUNS = 4  # runs that an agent may load, one within the other


def validate(cfg: DictConfig, schema: type, unused: tuple[str, ...] = ()) -> DictConfig:
    """Return `cfg` if every key is known, set and of its type; keys below `unused` ones may be missing."""
    absent = [item.name for item in fields(schema) if item.name not in cfg]
    missing = sorted(key for key in OmegaConf.missing_keys(cfg) if key.split(".")[0] not in unused)
    if absent or missing:
        keys = [*absent, *missing]
        raise UserError(f"required and not set: {', '.join(keys)}; give each a value, such as {keys[0]}=...")
    _check_keys(cfg, schema, "")
    return cfg


def _check_keys(node: Any, schema: type, path: str) -> None:
    require(isinstance(node, DictConfig), f"{path.rstrip('.')}={node} must be a mapping")
    hints = get_type_hints(schema, include_extras=True)
    for key in node:
        require(key in hints, f"{path}{key} is not a setting: there are {', '.join(path + hint for hint in hints)}")
    for key, hint in hints.items():
        if inspect.isclass(hint) and is_dataclass(hint):
            _check_keys(node[key], hint, f"{path}{key}.")
        elif hint is not Any:
            ranges.check(_plain(node[key]), hint, f"{path}{key}")


def build(node: Any, path: str) -> Any:
    """Instantiate the object of a config node; `path` is its key, for error messages."""
    if not (isinstance(node, DictConfig) and "_target_" in node):
        raise UserError(f"{path}={ranges.shown(node)} must be a config of a class: {_suggestion(node, path)}")
    _check_arguments(node, path)
    return instantiate(node)


def build_algorithm(node: DictConfig, *, resumes: bool) -> Any:
    """Build the algorithm; without `init_from` when resuming, because that run may have been deleted."""
    return build(OmegaConf.merge(node, {"init_from": None}) if resumes and "init_from" in node else node, "algo")


def _check_arguments(node: Any, path: str) -> None:
    """Check the arguments of a node against the signature of its target, so that an error names its key."""
    if isinstance(node, ListConfig):
        for number, child in enumerate(node):
            _check_arguments(child, f"{path}[{number}]")
    if not isinstance(node, DictConfig):
        return
    arguments = {str(key): node[key] for key in node if key != "_target_"}
    for key, value in arguments.items():
        _check_arguments(value, f"{path}.{key}")
    if "_target_" in node:
        target = get_object(node._target_)
        try:
            inspect.signature(target).bind(**arguments)
        except TypeError as error:
            raise UserError(f"{path} does not fit {node._target_}: {error}") from error
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target, include_extras=True)
        for key, value in arguments.items():
            _check_value(value, hints.get(key, Any), f"{path}.{key}")


def _check_value(value: Any, hint: Any, path: str) -> None:
    """Check one argument: an object of the expected class, a mapping of such objects, or a plain value."""
    if isinstance(value, DictConfig) and get_origin(hint) is Mapping and _expected_classes(get_args(hint)[1]):
        for key, child in value.items():
            _check_value(child, get_args(hint)[1], f"{path}.{key!s}")
    elif isinstance(value, DictConfig) and "_target_" in value:
        target = get_object(value._target_)
        fits = not inspect.isclass(target) or not _expected_classes(hint) or issubclass(target, _expected_classes(hint))
        expected = " or ".join(f"{one.__module__}.{one.__name__}" for one in _expected_classes(hint))
        require(fits, f"{path} is a {target.__name__}, but must be a {expected}")
    elif _expected_classes(hint) and not (value is None and NoneType in get_args(hint)):
        names = " or ".join(one.__name__ for one in _expected_classes(hint))
        raise UserError(f"{path}={ranges.shown(value)} must be a config of {names}: {_suggestion(value, path)}")
    else:
        ranges.check(_plain(value), hint, path)


def _expected_classes(hint: Any) -> tuple[type, ...]:
    """Return the classes allowed by a type hint, or () if it allows plain values only."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = (int, float, bool, str, NoneType, dict)
    return tuple(one for one in options if inspect.isclass(one) and one not in (*plain, Any) and not get_origin(one))


def _suggestion(value: Any, path: str) -> str:
    """Return what to type instead of an invalid value."""
    files = CONF.rglob(f"{value}.yaml") if isinstance(value, str) and value.isidentifier() else ()
    groups = [file.parent.relative_to(CONF).as_posix() for file in files]
    if groups:
        return f"type {groups[0]}@{path}={value}"
    group = {"opponent": "agent"}.get(path.rpartition(".")[2], path.rpartition(".")[2])
    options = ", ".join(sorted(file.stem for file in (CONF / group).glob("*.yaml")))
    return f"choose one of {options}" if options else "keep its default, and override the keys below it"


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True) if isinstance(value, DictConfig | ListConfig) else value


def require_tuned(names: DictConfig) -> None:
    """Raise `UserError` if tuned settings named by the user do not exist; the default ones are optional."""
    name = names.get("tuned")
    known = name in (None, f"{names.env}_{names.algo}") or (CONF / "tuned" / f"{name}.yaml").is_file()
    require(known, f"tuned={name} is unknown: leave it out, or choose {names.env}_{names.algo} or none")


def require_algorithm_fits(cfg: DictConfig, game: Game) -> None:
    try:
        require_traits(get_object(cfg.algo._target_).needs, game)
    except UserError as error:
        names = cfg.composition
        raise UserError(
            f"algo={names.algo} cannot play env={names.env}: {error}; "
            f"algorithms that fit: {', '.join(_fitting_algorithms(game)) or 'none yet'}"
        ) from error


def _fitting_algorithms(game: Game) -> Iterator[str]:
    for name in sorted(path.stem for path in (CONF / "algo").glob("*.yaml")):
        target = OmegaConf.load(CONF / "algo" / f"{name}.yaml")._target_
        try:
            if get_object(target).needs <= game.traits:
                yield name
        except ImportError:  # needs an optional package that is not installed
            continue


def build_agent(role: str, cfg: DictConfig, game: Game) -> Agent:
    """Build the agent configured under `role`, and check that it can play the game."""
    agent = build(cfg[role], role)
    try:
        agent.check(game)
    except UserError as error:
        names = cfg.composition
        raise UserError(
            f"{role}={names[role]} cannot play env={names.env}: {error}; {role}=random always fits"
        ) from error
    return agent


def task_overrides() -> list[str]:
    """Return the overrides that affect the results, other than env, algo and seed."""
    words = HydraConfig.get().overrides.task
    keys = (word.lstrip("+~").partition("=")[0] for word in words)
    return [word for word, key in zip(words, keys, strict=True) if key not in UNNAMED and not key.startswith("logger.")]


def warn_on_device_mismatch(option: str, algo: object) -> None:
    """Warn if the settings are tuned for a GPU and the network runs on the CPU, or vice versa."""
    compute = getattr(algo, "compute", None)
    if compute is not None and compute.on_gpu != (accelerator(option) == "gpu"):
        other = "cuda" if compute.on_gpu else "cpu"
        log.warning("the network is on %s, but the tuned settings are not: type device=%s", compute.torch_device, other)


def resolved(cfg: DictConfig) -> dict[str, Any]:
    """Return plain values with every interpolation resolved, to save with the run."""
    config = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
    assert isinstance(config, dict)
    return {str(key): value for key, value in config.items()}


@contextmanager
def discard_outputs_on_error(directory: Path) -> Iterator[None]:
    """On an error before the run has started, delete what Hydra has written and the directories created for it.

    A run that has saved its configuration can be resumed, so it is kept. So are the jobs of a sweep, with the error.
    """
    try:
        yield
    except BaseException:  # also Ctrl-C
        hydra_config = HydraConfig.get()
        refused = hydra_config.mode != RunMode.MULTIRUN and not (directory / CONFIG).exists()
        if refused and hydra_config.output_subdir is not None:
            shutil.rmtree(directory / hydra_config.output_subdir)
            with contextlib.suppress(OSError):  # not empty
                for path in new_directories:
                    path.rmdir()
        raise


def compose_train(*overrides: str) -> DictConfig:
    """Compose a configuration from command-line overrides, for calling `train` in scripts and notebooks."""
    with hydra.initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = hydra.compose("train", list(overrides), return_hydra_config=True)
    HydraConfig.instance().set_config(cfg)
    cfg = DictConfig({key: node for key, node in cfg.items_ex(resolve=False) if key != "hydra"})
    cfg.composition.overrides = task_overrides()
    return DictConfig(resolved(cfg))


def load_config(directory: Path) -> DictConfig:
    """Load the saved configuration of a run. It may be untrusted, so only classes that conf/ names are allowed."""
    path, config = directory / CONFIG, read_config(directory)
    for value in _strings(config):
        require("${" not in value, f"{path} contains the interpolation {value}: a saved configuration must be resolved")
    _allowed_targets().check(config, str(path))
    return DictConfig(config)


@cache
def _allowed_targets() -> Targets:
    return Targets(CONF)


_loading: ContextVar[tuple[Path, ...]] = ContextVar("_loading", default=())  # runs whose agents are being built


def load_agent(run: str, checkpoint_name: str, changes: dict[str, Any] | None = None) -> Agent:
    """Load the agent of a finished run; `changes` override values of its algo."""
    directory, outer = Path(run), _loading.get()
    place = directory.resolve()
    require(place not in outer, f"{directory} contains an agent that refers to itself: it cannot be loaded")
    require(len(outer) < MAX_NESTED_RUNS, f"{directory}: an agent may load at most {MAX_NESTED_RUNS} runs")
    token = _loading.set((*outer, place))
    try:
        return _load_agent(directory, checkpoint_name, changes)
    finally:
        _loading.reset(token)


def _load_agent(directory: Path, checkpoint_name: str, changes: dict[str, Any] | None) -> Agent:
    config = load_config(directory)
    require("algo" in config, f"{directory} is not a run directory: its config.yaml names no algo")
    path = checkpoint_path(directory, checkpoint_name)
    saved = checkpoint.load(path)
    has_agent = saved.get("learner", {}) is not None
    require(has_agent, f"{path} contains no agent: the run was stopped before it saved one")
    algo = build(_with_changes(config.algo, changes), "algo")
    with checkpoint.as_checkpoint_errors(config.algo._target_, path):
        return algo.load_agent(saved["learner"])


def _with_changes(algo: DictConfig, changes: dict[str, Any] | None) -> DictConfig:
    OmegaConf.set_struct(algo, True)
    try:
        merged = OmegaConf.merge(algo, changes or {})
    except OmegaConfBaseException as error:
        raise UserError(f"agent.changes does not fit the algo of the run: {' '.join(str(error).split())}") from error
    assert isinstance(merged, DictConfig)
    return merged


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _strings(child)
    elif isinstance(node, str):
        yield node
