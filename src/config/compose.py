"""Compose configurations, validate them, and build what a command needs from them."""

import contextlib
import copy
import inspect
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError

from ..core import ranges, ranks
from ..core.errors import UserError, require
from ..core.package import canonical, rename_targets
from ..core.play.agent import Agent, OpponentPool, SelfPlay, require_traits
from ..core.play.arena import require_openings
from ..core.play.game import Game
from ..core.play.past_selves import PastSelves
from ..core.runs.config_file import read_config
from ..core.runs.report import require_measured
from ..core.runs.run import has_learner
from ..core.runs.sweep_jobs import as_typed
from ..core.runs.trackers import TrackerGroup
from ..core.runs.zoo import find_run
from . import CONF
from .build import WrongClassError, build, get_object, plain, require_class
from .errors import user_message
from .resolvers import accelerator, defer_tuned, is_option, open_parameters, tuned
from .schema import Train

log = logging.getLogger(__name__)

UNNAMED = (  # overrides left out of run names: shown elsewhere, or without effect on the results
    *("env", "algo", "seed", "resume", "logger", "launcher", "hparams_search", "sampler", "pruner"),
    *("checkpoint_seconds", "optimized_metric", "profile"),
)


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
        cfg = hydra.compose("train", open_parameters(defer_tuned(list(overrides))), return_hydra_config=True)
    HydraConfig.instance().set_config(cfg)
    cfg = validate(without_hydra(cfg), Train)
    cfg.composition.overrides = task_overrides()
    return DictConfig(resolved(cfg))


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return a composed configuration as `hydra.main` passes it to a command."""
    return DictConfig({key: node for key, node in cfg.items_ex(resolve=False) if key != "hydra"})


def task_overrides() -> list[str]:
    """Return the overrides that affect the results, other than env, algo and seed."""
    words = [as_typed(word) for word in HydraConfig.get().overrides.task]
    keys = (word.lstrip("+~").partition("=")[0] for word in words)
    return [word for word, key in zip(words, keys, strict=True) if key not in UNNAMED and not key.startswith("logger.")]


def resolved(cfg: DictConfig) -> dict[str, Any]:
    """Return plain values with every interpolation resolved, to save with the run."""
    config = rename_targets(OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True), canonical)
    assert isinstance(config, dict)
    return {str(key): value for key, value in config.items()}


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
        keys = list(dict.fromkeys([*absent, *missing]))
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
            ranges.check(plain(node[key]), hint, f"{path}{key}")


def prepare(cfg: DictConfig, directory: Path) -> tuple[Any, Any, Any, Any]:
    """Build environment, algorithm, curriculum and tracker; raise `UserError` if they cannot be trained together."""
    cfg = validate(cfg, Train)
    require_tuned(cfg.composition)
    env = build_env(cfg)
    require_algorithm_fits(cfg, env.game)
    require_measured(cfg.optimized_metric, env)
    require_openings(env.game, cfg.evaluation.opening_plies)
    algo = build_algorithm(cfg.algo, resumes=has_learner(directory))
    curriculum, name = build_curriculum(cfg), cfg.composition.algo
    require(
        ranks.world_size() == 1 or getattr(algo, "many_ranks", False),
        f"algo={name} supports a single process only: start it without torchrun",
    )
    require(
        not cfg.profile or getattr(algo, "updates_network", True),
        f"profile=true records operators of torch, which algo={name} does not use: leave it out",
    )
    for stage in curriculum.all(env):
        gamma = getattr(getattr(stage, "reward", None), "gamma", None)
        same = gamma in (None, getattr(algo, "gamma", gamma))
        require(same, f"reward.gamma={gamma} must be algo.gamma, the learner's discount factor: leave it out")
    algo.check(env, curriculum)
    trackers = [build(node, f"logger.trackers.{name}") for name, node in cfg.logger.trackers.items()]
    return env, algo, curriculum, TrackerGroup(trackers) if trackers else None


def require_tuned(names: DictConfig) -> None:
    """Raise `UserError` if tuned settings named by the user do not exist; the default ones are optional."""
    name, usual = names.get("tuned"), tuned(str(names.env), str(names.algo))
    if name in (None, usual) or is_option("tuned", str(name)):
        return
    prefix = str(name).removesuffix(str(names.algo))  # an experiment may set tuned to <experiment>_${algo}
    fitting = sorted(file.stem.removeprefix(prefix) for file in (CONF / "tuned").glob(f"{prefix}*.yaml"))
    if prefix == f"{names.get('experiment')}_" and fitting:
        options = " or ".join(f"algo={algo}" for algo in fitting)
        raise UserError(f"experiment={names.experiment} has no settings for algo={names.algo}: choose {options}")
    raise UserError(f"tuned={name} is unknown: leave it out, or choose {usual} or none")


def build_env(cfg: DictConfig) -> Any:
    """Build the environment. A reward that it does not accept is reported with the options that it does."""
    try:
        return build(cfg.env, "env")
    except WrongClassError as error:
        _report_misfit(cfg, error.path.rpartition(".")[2], error.path, error)
        raise


def require_algorithm_fits(cfg: DictConfig, game: Game) -> None:
    """Raise `UserError` that names the algorithms that can play the game if the chosen one cannot."""
    algo = require_class(cfg.algo, "algo")
    try:
        require_traits(algo.needs, game)
    except UserError as error:
        names = cfg.composition
        raise UserError(
            f"algo={names.algo} cannot play env={names.env}: {error}; "
            f"algorithms that fit: {', '.join(fitting_algorithms(game)) or 'none yet'}"
        ) from error


def fitting_algorithms(game: Game) -> list[str]:
    """Return the options of the group `algo` that can play a game."""
    fitting = []
    for path in sorted((CONF / "algo").glob("*.yaml")):
        with contextlib.suppress(UserError):  # needs an optional package that is not installed
            if get_object(OmegaConf.load(path)._target_, "algo").needs <= game.traits:
                fitting.append(path.stem)
    return fitting


def build_algorithm(node: DictConfig, *, resumes: bool) -> Any:
    """Build the algorithm; without `init_from` when resuming, because that run may have been deleted."""
    return build(OmegaConf.merge(node, {"init_from": None}) if resumes and "init_from" in node else node, "algo")


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
    chosen = names.get(group)
    fitting = [] if chosen is None else _fitting_options(cfg, group, place)
    if fitting and chosen not in fitting:
        reason = "" if isinstance(error, WrongClassError) else f"{user_message(error)}; "
        options = " or ".join(f"{group}={name}" for name in fitting)
        raise UserError(f"{group}={chosen} does not fit env={names['env']}: {reason}type {options}") from error


def _fitting_options(cfg: DictConfig, group: str, place: str) -> list[str]:
    """Return the options of a group, including --config-dir, that can be built at `place` of `cfg`."""
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


def warn_on_device_mismatch(option: str, algo: object) -> None:
    """Warn if the settings are tuned for a GPU and the network runs on the CPU, or vice versa."""
    compute = getattr(algo, "compute", None)
    if compute is not None and compute.on_gpu != (accelerator(option) == "gpu"):
        other = "cuda" if compute.on_gpu else "cpu"
        log.warning("the network is on %s, but the tuned settings are not: type device=%s", compute.torch_device, other)


def build_agent(role: str, cfg: DictConfig, game: Game) -> Agent:
    """Build the agent configured under `role`, and check that it can play the game."""
    agent, names = build(cfg[role], role), cfg.composition
    try:
        agent.check(game)
    except UserError as error:
        advice = f"{role}=random always fits"
        if agent.trained_in not in (None, plain(cfg.env)):
            trained = read_config(find_run(cfg[role].run)).get("composition", {}).get("env")
            advice = f"leave out env=... to play in the environment of its training{f', {trained}' if trained else ''}"
        raise UserError(f"{role}={names[role]} cannot play env={names.env}: {error}; {advice}") from error
    playable = role == "opponent" or not isinstance(agent, SelfPlay | OpponentPool)
    require(playable, f"{role}={names[role]} is an opponent for training only: choose another, such as random")
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
