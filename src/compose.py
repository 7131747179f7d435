"""From configuration to objects: what the entry points share, and the only other place that knows Hydra."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf

from src.core.agent import Agent
from src.core.errors import LabError, require
from src.core.game import Game, Trait
from src.core.run import load_learner

log = logging.getLogger(__name__)

CONF = Path(__file__).parent.parent / "conf"


def refuse_missing_keys(cfg: DictConfig, besides: str = "") -> None:
    """Refuse `???` anywhere but below the key `besides`, whose part of the configuration is not used."""
    missing = sorted(key for key in OmegaConf.missing_keys(cfg) if key.split(".")[0] != besides)
    if missing:
        raise LabError(f"required and not set: {', '.join(missing)}; give each a value, such as {missing[0]}=...")


def build(node: DictConfig) -> Any:
    try:
        return instantiate(node)
    except InstantiationException as error:
        if isinstance(error.__cause__, TypeError) and "keyword argument" in str(error.__cause__):
            raise LabError(f"{node._target_} does not take that: {error.__cause__}") from error
        raise


def require_algorithm_fits(cfg: DictConfig, game: Game) -> None:
    names = cfg.composition
    needs = get_object(cfg.algo._target_).needs
    if not needs <= game.traits:
        options = {path.stem: OmegaConf.load(path) for path in sorted((CONF / "algo").glob("*.yaml"))}
        fitting = [name for name, algo in options.items() if get_object(algo._target_).needs <= game.traits]
        refuse(
            f"algo={names.algo}",
            needs,
            f"env={names.env}",
            game,
            f"algorithms that fit: {', '.join(fitting) or 'none yet'}",
        )


def build_agent(role: str, cfg: DictConfig, game: Game) -> Agent:
    """The agent of that role, which has to be able to play the game."""
    agent = build(cfg[role])
    if not agent.needs <= game.traits:
        refuse(
            f"{role}={cfg.composition[role]}", agent.needs, f"env={cfg.composition.env}", game, f"{role}=random fits"
        )
    return agent


def refuse(player: str, needs: frozenset[Trait], env: str, game: Game, advice: str) -> NoReturn:
    missing = " and ".join(trait for trait in Trait if trait in needs - game.traits)
    raise LabError(f"{player} cannot play {env}: it needs a game {missing}; {advice}")


def resolved(cfg: DictConfig) -> dict[str, Any]:
    """Plain values with every interpolation resolved, to be kept with the run and read back without Hydra."""
    config = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
    assert isinstance(config, dict)
    return {str(key): value for key, value in config.items()}


@contextmanager
def discard_if_refused(directory: Path) -> Iterator[None]:
    """Hydra makes the run directory before it asks us: where nothing but its own notes are in it, take it back.

    The jobs of a sweep keep theirs, with the reason in the log.
    """
    try:
        yield
    except Exception as error:
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            log.error("refused: %s", error)
        elif {path.name for path in directory.iterdir()} <= {".hydra"}:
            shutil.rmtree(directory)
        raise


def load_config(directory: Path) -> DictConfig:
    """The configuration of an earlier run. It may come from a stranger, so it can only name classes of ours."""
    path = directory / "config.yaml"
    if not path.is_file():
        raise LabError(f"{directory} is not a run directory: it has no config.yaml")
    try:
        config = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise LabError(f"{path} is not readable as YAML: {error}") from error
    require(isinstance(config, dict), f"{path} is not the configuration of a run")
    for value in _strings(config):
        if "${" in value:
            raise LabError(f"{path} holds an interpolation, {value}, which a saved configuration never does")
    for target in _targets(config):
        if not _is_ours(target):
            raise LabError(f"{path} wants to build {target}, which is not a class of the laboratory: refused")
    return DictConfig(config)


def load_agent(run: str, checkpoint: str) -> Agent:
    """The agent of a finished run."""
    directory = Path(run)
    algo = build(load_config(directory).algo)
    return algo.load_agent(load_learner(directory, checkpoint))


def _is_ours(target: str) -> bool:
    """Classes of ours and their alternative constructors; src.core.files.os.remove starts alike but is none."""
    if not target.startswith("src."):
        return False
    try:
        found = get_object(target)
    except (ImportError, ValueError):
        return False
    owner = getattr(found, "__self__", found)
    return found is load_agent or (isinstance(owner, type) and owner.__module__.startswith("src."))


def _targets(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "_target_" in node:
            yield str(node["_target_"])
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _targets(child)


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _strings(child)
    elif isinstance(node, str):
        yield node
