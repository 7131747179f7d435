"""Validate configurations and build objects from them, for all entry points."""

import contextlib
import copy
import inspect
import logging
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.errors import HydraException
from hydra.types import RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from .cli import user_message
from .core import ranges, ranks
from .core.errors import UserError, require
from .core.files import remove_new_directories
from .core.package import CHECKOUT, ROOT, canonical, locate
from .core.play.agent import Agent, OpponentPool, SelfPlay, require_traits
from .core.play.arena import require_openings
from .core.play.curriculum import Curriculum
from .core.play.game import Game
from .core.play.past_selves import PastSelves
from .core.runs import checkpoint
from .core.runs.config_file import CONFIG, REPLACED, read_config
from .core.runs.report import require_measured
from .core.runs.run import Algorithm, Environment, checkpoint_path, has_learner
from .core.runs.targets import Targets
from .core.runs.trackers import Tracker
from .paths import CONF
from .resolvers import accelerator, tuned
from .schema import Train

log = logging.getLogger(__name__)

UNNAMED = (  # overrides left out of run names: shown elsewhere, or without effect on the results
    *("env", "algo", "seed", "resume", "logger", "launcher", "hparams_search", "sampler", "pruner"),
    *("checkpoint_seconds", "optimized_metric", "profile"),
)
MAX_NESTED_RUNS = 4  # runs that an agent may load, one within the other
ROLES: dict[str, type] = {  # what a configuration builds, by its key
    "env": Environment,
    "env.game": Game,
    "algo": Algorithm,
    "agent": Agent,
    "opponent": Agent,
    "curriculum": Curriculum,
    "logger.tracker": Tracker,
}


def validate(cfg: DictConfig, schema: type, unused: tuple[str, ...] = ()) -> DictConfig:
    """Return `cfg` if every key is known, set and of its type; keys below `unused` ones may be missing."""
    absent = [item.name for item in fields(schema) if item.name not in cfg]
    try:
        missing = sorted(key for key in OmegaConf.missing_keys(cfg) if key.split(".")[0] not in unused)
    except InterpolationKeyError as error:  # such as curriculum.warm_up.random.game, which is ${env.game}
        group = str(error.full_key).split(".")[0]
        _report_misfit(cfg, group, group, error)
        raise
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


class WrongClassError(UserError):
    """The object at `path` of a configuration is of a class that is not accepted there."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


def build(node: Any, path: str) -> Any:
    """Instantiate the object of a config node; `path` is its key, for error messages."""
    _check_node(node, path)
    _check_arguments(node, path)
    return instantiate(_located(node))


def _check_node(node: Any, path: str) -> None:
    if not (isinstance(node, DictConfig) and "_target_" in node):
        raise UserError(f"{path}={ranges.shown(node)} must be a config of a class: {_suggestion(node, path)}")
    _check_class(node, ROLES.get(path, Any), path)


def get_object(name: Any, path: str) -> Any:
    """Return the class or function of the `_target_` at `path`; raise `UserError` if there is none."""
    require(isinstance(name, str), f"{path}._target_={ranges.shown(name)} must be the name of a class")
    try:
        return resolve_name(locate(name))
    except Exception as error:  # whatever the module does when it is imported
        raise UserError(f"{path}._target_={ranges.shown(name)} cannot be imported: {error}") from error


def _located(node: DictConfig) -> DictConfig:
    """Return a node whose `_target_`s are importable under the present name of this package."""
    if ROOT == CHECKOUT:
        return node
    plain = OmegaConf.to_container(node, resolve=True)
    return OmegaConf.create(_rename_targets(plain, locate))


def _rename_targets(node: Any, rename: Callable[[str], str]) -> Any:
    """Return plain values with another name for each `_target_`."""
    if isinstance(node, dict):
        return {
            key: rename(value) if key == "_target_" and isinstance(value, str) else _rename_targets(value, rename)
            for key, value in node.items()
        }
    return [_rename_targets(value, rename) for value in node] if isinstance(node, list) else node


def prepare(cfg: DictConfig, directory: Path) -> tuple[Any, Any, Any, Any]:
    """Build environment, algorithm, curriculum and tracker; raise `UserError` if they cannot be trained together."""
    cfg = validate(cfg, Train)
    require_tuned(cfg.composition)
    env = build_env(cfg)
    require_algorithm_fits(cfg, env.game)
    require_measured(cfg.optimized_metric, env)
    require_openings(env.game, cfg.evaluation.opening_plies)
    algo = build_algorithm(cfg.algo, resumes=has_learner(directory))
    curriculum = build_curriculum(cfg)
    supported = ranks.world_size() == 1 or getattr(algo, "many_ranks", False)
    require(supported, f"algo={cfg.composition.algo} supports a single process only: start it without torchrun")
    require_profilable(cfg, algo)
    algo.check(env, curriculum)
    tracker = None if cfg.logger.tracker is None else build(cfg.logger.tracker, "logger.tracker")
    return env, algo, curriculum, tracker


def build_env(cfg: DictConfig) -> Any:
    """Build the environment. A reward that it does not accept is reported with the options that it does."""
    try:
        return build(cfg.env, "env")
    except WrongClassError as error:
        _report_misfit(cfg, error.path.rpartition(".")[2], error.path, error)
        raise


def build_curriculum(cfg: DictConfig) -> Any:
    """Build the curriculum. One for other environments is reported with the options for this one."""
    try:
        return build(cfg.curriculum, "curriculum")
    except (UserError, HydraException) as error:
        _report_misfit(cfg, "curriculum", "curriculum", error)
        raise


def _report_misfit(cfg: DictConfig, group: str, place: str, error: Exception) -> None:
    """Raise an error that lists the options of `group` that can be built at `place`, unless the chosen one can."""
    names = cfg.get("composition", {})
    chosen, fitting = names.get(group), []
    if chosen is not None:
        fitting = _fitting_options(cfg, group, place)
    if fitting and chosen not in fitting:
        reason = "" if isinstance(error, WrongClassError) else f"{user_message(error)}; "
        options = " or ".join(f"{group}={name}" for name in fitting)
        raise UserError(f"{group}={chosen} does not fit env={names['env']}: {reason}type {options}") from error


def _fitting_options(cfg: DictConfig, group: str, place: str) -> list[str]:
    """Return the options of a group, those of --config-dir included, that can be built at `place` of `cfg`."""
    root, fitting = place.split(".")[0], []
    with contextlib.ExitStack() as stack:
        if not GlobalHydra.instance().is_initialized():
            stack.enter_context(own_hydra())
        stack.enter_context(warnings.catch_warnings(action="ignore"))  # Hydra's, about the files of options
        for name in GlobalHydra.instance().config_loader().get_group_options(group, ObjectType.CONFIG):
            trial = copy.deepcopy(cfg)
            OmegaConf.set_struct(trial, False)
            with contextlib.suppress(Exception):  # whatever prevents it, an option that cannot be built does not fit
                OmegaConf.update(trial, place, hydra.compose(f"{group}/{name}")[group], merge=False)
                build(trial[root], root)
                fitting.append(name)
    return fitting


def build_algorithm(node: DictConfig, *, resumes: bool) -> Any:
    """Build the algorithm; without `init_from` when resuming, because that run may have been deleted."""
    return build(OmegaConf.merge(node, {"init_from": None}) if resumes and "init_from" in node else node, "algo")


def require_profilable(cfg: DictConfig, algo: Any) -> None:
    """Raise `UserError` for `profile=true` with an algorithm that has no updates of a network."""
    require(
        not cfg.profile or getattr(algo, "updates_network", True),
        f"profile=true records operators of torch, which algo={cfg.composition.algo} does not use: leave it out",
    )


def _check_arguments(node: Any, path: str) -> None:
    """Check the arguments of a node against the signature of its target, so that an error names its key."""
    if isinstance(node, ListConfig):
        for number, child in enumerate(node):
            _check_arguments(child, f"{path}[{number}]")
    if not isinstance(node, DictConfig):
        return
    arguments = {str(key): node[key] for key in node if key != "_target_"}
    target = get_object(node._target_, path) if "_target_" in node else None
    hints = {} if target is None else _hints(target)
    for key, value in arguments.items():
        _check_class(value, hints.get(key, Any), f"{path}.{key}")  # before the arguments of that class
        _check_arguments(value, f"{path}.{key}")
    if target is not None:
        try:
            inspect.signature(target).bind(**arguments)
        except (TypeError, ValueError) as error:  # ValueError: it has no signature
            old = [f"{path}.{key}" for key in arguments if key in REPLACED.get(node._target_, {})]
            reason = f"the run is of an earlier version, with another network ({', '.join(old)})" if old else str(error)
            raise UserError(f"{path} does not fit {node._target_}: {reason}") from error
        for key, value in arguments.items():
            _check_value(value, hints.get(key, Any), f"{path}.{key}")


def _hints(target: Any) -> dict[str, Any]:
    return get_type_hints(target.__init__ if inspect.isclass(target) else target, include_extras=True)


def _check_class(value: Any, hint: Any, path: str) -> None:
    """Raise `UserError` if a node names no class that its place accepts, or a function that returns none."""
    if not (isinstance(value, DictConfig) and "_target_" in value):
        return
    target, expected = get_object(value._target_, path), _expected_classes(hint)
    require(bool(expected) or hint is Any, f"{path} must be {ranges.describe(hint)}, not a {value._target_}")
    made, is_class = target, inspect.isclass(target)
    if not is_class:
        made = None
        with contextlib.suppress(Exception):  # not a function, or its hints cannot be read
            made = get_type_hints(target)["return"]
    if not inspect.isclass(made) or (expected and not any(_fits(made, one, is_class) for one in expected)):
        names = " or ".join(f"{one.__module__}.{one.__name__}" for one in expected) or "class"
        wrong = f"{path} is a {value._target_}, but must be a {names}: {_suggestion(None, path)}"
        raise WrongClassError(wrong, path)


def _fits(made: type, expected: type, is_exact: bool) -> bool:
    """Whether objects of a class, or of its subclasses unless `is_exact`, are of another class or have its methods."""
    if getattr(expected, "_is_protocol", False):
        names = [name for name, member in vars(expected).items() if inspect.isfunction(member)]
        return not is_exact or all(hasattr(made, name) for name in names)
    return issubclass(made, expected) or (not is_exact and issubclass(expected, made))


def _check_value(value: Any, hint: Any, path: str) -> None:
    """Check one argument: an object of the expected class, a mapping of such objects, or a plain value."""
    if isinstance(value, DictConfig) and get_origin(hint) is Mapping and _expected_classes(get_args(hint)[1]):
        for key, child in value.items():
            _check_value(child, get_args(hint)[1], f"{path}.{key!s}")
    elif isinstance(value, DictConfig) and "_target_" in value:
        _check_class(value, hint, path)
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
    name, usual = names.get("tuned"), tuned(names.env, names.algo)
    known = name in (None, usual) or (CONF / "tuned" / f"{name}.yaml").is_file()
    require(known, f"tuned={name} is unknown: leave it out, or choose {usual} or none")


def algorithm_class(node: Any) -> Any:
    """Return the class of an algorithm from its configuration, which is checked; `build` checks its settings."""
    _check_node(node, "algo")
    return get_object(node._target_, "algo")


def require_algorithm_fits(cfg: DictConfig, game: Game) -> None:
    needs = algorithm_class(cfg.algo).needs
    try:
        require_traits(needs, game)
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
            if get_object(target, "algo").needs <= game.traits:
                yield name
        except UserError:  # needs an optional package that is not installed
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
    playable = role == "opponent" or not isinstance(agent, SelfPlay | OpponentPool)
    require(
        playable, f"{role}={cfg.composition[role]} is an opponent for training only: choose another, such as random"
    )
    return agent


def build_players(cfg: DictConfig, schema: type, game: Game) -> tuple[Agent, Agent | None]:
    """Build `agent`, and in a two-player game `opponent`; otherwise there must be none on the command line."""
    agent = build_agent("agent", cfg, game)
    if game.players == 1:
        given = [word for word in HydraConfig.get().overrides.task if word.startswith("agent@opponent")]
        require(not given, f"env={cfg.composition.env} is a single-player game: leave out opponent=...")
        return agent, None
    opponent = build_agent("opponent", validate(cfg, schema), game)
    require(
        not isinstance(opponent, PastSelves),
        "opponent=past_selves is for training only, where there are snapshots: type opponent=self or another agent",
    )
    if isinstance(opponent, SelfPlay):
        opponent.set_agent(agent)
    return agent, opponent


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
    config = _rename_targets(OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True), canonical)
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
            remove_new_directories()
        raise


@contextmanager
def own_hydra() -> Iterator[None]:
    """Let `hydra.compose` use conf/, also inside another application of Hydra, which is left as it was."""
    outer, GlobalHydra.instance().hydra = GlobalHydra.instance().hydra, None
    try:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = outer  # another instance: the context manager replaces it


def compose_train(*overrides: str) -> DictConfig:
    """Compose a configuration from command-line overrides, for calling `train` in scripts and notebooks."""
    with own_hydra():
        cfg = hydra.compose("train", list(overrides), return_hydra_config=True)
    HydraConfig.instance().set_config(cfg)
    cfg = DictConfig({key: node for key, node in cfg.items_ex(resolve=False) if key != "hydra"})
    validate(cfg, Train)
    cfg.composition.overrides = task_overrides()
    return DictConfig(resolved(cfg))


def load_config(directory: Path) -> DictConfig:
    """Load the saved configuration of a run. It may be untrusted, so only classes that conf/ names are allowed."""
    path, config = directory / CONFIG, read_config(directory)
    for value in _strings(config):
        require("${" not in value, f"{path} contains the interpolation {value}: a saved configuration must be resolved")
    _allowed_targets().check(config, str(path))
    return DictConfig(config)


def require_known_targets(cfg: DictConfig) -> None:
    """Raise `UserError` if an untrusted configuration names code that conf/ does not name."""
    plain = OmegaConf.to_container(cfg)
    assert isinstance(plain, dict)
    _allowed_targets().check({str(key): value for key, value in plain.items()}, "the configuration")


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
