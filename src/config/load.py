"""Load the configuration and the agent of a saved run, which may come from an untrusted source."""

from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..core.errors import UserError, require
from ..core.package import config_dirs
from ..core.play.agent import Agent
from ..core.runs import checkpoint
from ..core.runs.config_file import CONFIG, read_config
from ..core.runs.run import checkpoint_path
from ..core.runs.zoo import find_run
from . import CONF
from .build import build, plain, require_class
from .targets import Targets

MAX_NESTED_RUNS = 4  # runs that an agent may load, one within the other
_loading: ContextVar[tuple[Path, ...]] = ContextVar("_loading", default=())  # runs whose agents are being built


def load_agent(run: str, checkpoint_name: str, changes: dict[str, Any] | None = None) -> Agent:
    """Load the agent of a finished run, given by its directory or name; `changes` override values of its algo."""
    directory, outer = find_run(run), _loading.get()
    place = directory.resolve()
    require(place not in outer, f"{directory} contains an agent that refers to itself: it cannot be loaded")
    require(len(outer) < MAX_NESTED_RUNS, f"{directory}: an agent may load at most {MAX_NESTED_RUNS} runs")
    token = _loading.set((*outer, place))
    try:
        return _load_agent(directory, checkpoint_name, changes or {})
    finally:
        _loading.reset(token)


def _load_agent(directory: Path, checkpoint_name: str, changes: dict[str, Any]) -> Agent:
    config = load_config(directory)
    require("algo" in config, f"{directory} is not a run directory: its config.yaml names no algo")
    require_class(config.algo, "algo")  # which may need a package to read the checkpoint, too
    path = checkpoint_path(directory, checkpoint_name)
    saved = checkpoint.load(path)
    has_agent = saved.get("learner", {}) is not None
    require(has_agent, f"{path} contains no agent: the run was stopped before it saved one")
    OmegaConf.set_struct(config.algo, True)
    try:
        node = OmegaConf.merge(config.algo, changes)
    except OmegaConfBaseException as error:
        raise UserError(f"agent.changes does not fit the algo of the run: {' '.join(str(error).split())}") from error
    for key in getattr(require_class(node, "algo"), "not_for_play", ()):
        node[key] = None
    algo = build(node, "algo")
    with checkpoint.as_checkpoint_errors(config.algo._target_, path):
        agent: Agent = algo.load_agent(saved["learner"])
    agent.trained_in = plain(config.get("env"))
    return agent


def load_config(directory: Path) -> DictConfig:
    """Load the saved configuration of a run, in which only `allowed_targets` may be named, without its loggers."""
    path, config = directory / CONFIG, read_config(directory)
    config.pop("logger", None)  # chosen anew by every command
    for value in _strings(config):
        require("${" not in value, f"{path} contains the interpolation {value}: a saved configuration must be resolved")
    allowed_targets().check(config, str(path))
    return DictConfig(config)


def require_known_targets(cfg: DictConfig) -> None:
    """Raise `UserError` if an untrusted configuration names code that conf/ does not name."""
    plain = OmegaConf.to_container(cfg)
    assert isinstance(plain, dict)
    allowed_targets().check({str(key): value for key, value in plain.items()}, "the configuration")


def allowed_targets() -> Targets:
    """Return the classes that conf/ and the present extensions name."""
    return targets_in(CONF, *config_dirs())


@cache
def targets_in(*folders: Path) -> Targets:
    return Targets(*folders)


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _strings(child)
    elif isinstance(node, str):
        yield node
