"""Players of a match as typed on the command line, and their agents."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import hydra
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from .cli import as_user_errors, quote_value, refuse_multirun
from .core.errors import UserError, require

if TYPE_CHECKING:
    from .core.play.agent import Agent


class Entry(NamedTuple):
    """A player as typed: `[LABEL=]NAME[:KEY=VALUE ...]`."""

    label: str
    name: str  # an option of the group agent, or a run directory
    settings: tuple[str, ...]  # KEY=VALUE


def parse_entries(texts: list[str]) -> list[Entry]:
    """Parse the list of players; raise `UserError` if two have the same name."""
    entries = [parse_entry(text) for text in texts]
    require(len(entries) >= 2, f"agents has {len(entries)} entries: a tournament needs at least two players")
    labels = [entry.label for entry in entries]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    require(not twice, f"agents: {', '.join(twice)} is listed twice: give one another name, such as other=NAME")
    return entries


def parse_entry(text: str) -> Entry:
    """Parse `[LABEL=]NAME[:KEY=VALUE ...]`; a run directory without a label is named after its folder."""
    named = re.fullmatch(r"(?:([^=:/]+)=)?([^:=][^:]*)((?::[^:=]+=[^:]*)*)", text.strip())
    if named is None:
        raise UserError(
            f"agents: {text!r} must be NAME, NAME:KEY=VALUE or LABEL=NAME:KEY=VALUE, "
            "such as hard=alphabeta:difficulty=hard"
        )
    label, name, settings = (group.strip() for group in named.groups(""))
    words = tuple(settings.split(":")[1:])
    return Entry(label or ":".join([_short(name), *words]), name, words)


def _short(name: str) -> str:
    return Path(name).resolve().name or name if _is_path(name) else name


def _is_path(name: str) -> bool:
    return "/" in name or name in (".", "..")


def build_player(entry: Entry) -> "Agent":
    """Build the agent of an entry; raise `UserError` if it is unknown or for training only."""
    return build_composed(entry.label, compose_player(entry))


def compose_player(entry: Entry) -> DictConfig:
    """Return the resolved configuration of an entry; raise `UserError` if it is unknown or incomplete."""
    known = _options("agent")
    is_run = _is_path(entry.name) or (entry.name not in known and Path(entry.name).is_dir())
    require(
        is_run or entry.name in known,
        f"agents: {entry.name} is neither an agent nor a run directory: agents are {', '.join(known)}",
    )
    overrides = ["agent=trained", f"agent.run={quote_value(entry.name)}"] if is_run else [f"agent={entry.name}"]
    with _errors_of(entry.label):
        node = hydra.compose("evaluate", [*overrides, *map(_override, entry.settings)]).agent
        missing = sorted(key.removeprefix("agent.") for key in OmegaConf.missing_keys(node))
        require(not missing, f"{', '.join(missing)} is required: type {entry.name}:{''.join(missing[:1])}=...")
        return DictConfig(OmegaConf.to_container(node, resolve=True))


def build_composed(label: str, node: DictConfig) -> "Agent":
    """Build the agent of a composed entry, which needs no Hydra; raise `UserError` if it is for training only."""
    from . import compose
    from .core.play.agent import OpponentPool, SelfPlay

    with _errors_of(label):
        agent: Agent = compose.build(node, "agent")
    require(not isinstance(agent, SelfPlay | OpponentPool), f"agents: {label} is for training only")
    return agent


@contextmanager
def _errors_of(label: str) -> Iterator[None]:
    """Raise errors of an entry as `UserError` that names it."""
    try:
        with as_user_errors():
            yield
    except UserError as error:
        raise UserError(f"agents: {label}: {error}") from error


def _override(setting: str) -> str:
    """Return a setting of an agent as Hydra's override: a value, or an option of a group below `agent`."""
    key, _, value = setting.partition("=")
    return f"agent/{key}={value}" if _options(f"agent/{key}") else f"agent.{key}={value}"


def _options(group: str) -> list[str]:
    """Return the options of a config group, those of --config-dir included."""
    return sorted(GlobalHydra.instance().config_loader().get_group_options(group))


def quote_agents(arguments: list[str]) -> list[str]:
    """Quote the entries of `agents=[...]`, whose settings contain `=`, which Hydra's lists do not allow."""
    refuse_multirun(arguments)
    return [_with_quotes(argument) for argument in arguments]


def _with_quotes(argument: str) -> str:
    found = re.fullmatch(r"agents=\[([^\[\]'\"]*)\]", argument)
    if found is None:
        return argument
    return f"agents=[{','.join(quote_value(entry.strip()) for entry in found[1].split(',') if entry.strip())}]"
