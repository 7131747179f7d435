"""Agents as typed for a match, `agents=[hard=alphabeta:difficulty=hard,...]`: parse, compose and build them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import hydra
from omegaconf import DictConfig, OmegaConf

from ..core.errors import UserError, require
from .cli import group_options, quote_value, refuse_multirun
from .errors import as_user_errors

if TYPE_CHECKING:
    from ..core.play.agent import Agent


class AgentSpec(NamedTuple):
    """An agent as typed: `[LABEL=]NAME[:KEY=VALUE ...]`."""

    label: str
    name: str  # an option of the group agent, or a run directory
    settings: tuple[str, ...]  # KEY=VALUE


def quote_agents(arguments: list[str]) -> list[str]:
    """Quote the items of `agents=[...]`, whose settings contain `=`, which Hydra's lists do not allow."""
    refuse_multirun(arguments)

    def with_quotes(found: re.Match[str]) -> str:
        return f"agents=[{','.join(quote_value(text.strip()) for text in found[1].split(',') if text.strip())}]"

    return [re.sub(r"\Aagents=\[([^\[\]'\"]*)\]\Z", with_quotes, argument) for argument in arguments]


def parse_specs(texts: list[str]) -> list[AgentSpec]:
    """Parse a list of agents; raise `UserError` if two have the same label."""
    specs = [parse_spec(text) for text in texts]
    require(len(specs) >= 2, f"agents has {len(specs)} entries: a tournament needs at least two players")
    labels = [spec.label for spec in specs]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    require(not twice, f"agents: {', '.join(twice)} is listed twice: give one another name, such as other=NAME")
    return specs


def parse_spec(text: str) -> AgentSpec:
    """Parse `[LABEL=]NAME[:KEY=VALUE ...]`; a run directory without a label is named after its folder."""
    named = re.fullmatch(r"(?:([^=:/]+)=)?([^:=][^:]*)((?::[^:=]+=[^:]*)*)", text.strip())
    if named is None:
        raise UserError(
            f"agents: {text!r} must be NAME, NAME:KEY=VALUE or LABEL=NAME:KEY=VALUE, "
            "such as hard=alphabeta:difficulty=hard"
        )
    label, name, settings = (group.strip() for group in named.groups(""))
    words = tuple(settings.split(":")[1:])
    short = Path(name).resolve().name or name if _is_path(name) else name
    return AgentSpec(label or ":".join([short, *words]), name, words)


def _is_path(name: str) -> bool:
    return "/" in name or name in (".", "..")


def compose_spec(spec: AgentSpec) -> DictConfig:
    """Return the resolved configuration of an agent; raise `UserError` if it is unknown or incomplete."""
    from ..core.runs.zoo import is_model  # a slow import

    known, name = group_options("agent"), spec.name
    is_run = _is_path(name) or (name not in known and (Path(name).is_dir() or is_model(name)))
    require(
        is_run or spec.name in known,
        f"agents: {spec.name} is neither an agent nor a run: agents are {', '.join(known)}",
    )
    overrides = ["agent=trained", f"agent.run={quote_value(spec.name)}"] if is_run else [f"agent={spec.name}"]
    for setting in spec.settings:  # a value, or an option of a group below `agent`
        is_group = bool(group_options(f"agent/{setting.partition('=')[0]}"))
        overrides.append(f"agent/{setting}" if is_group else f"agent.{setting}")
    with _errors_of(spec.label):
        node = hydra.compose("evaluate", overrides).agent
        missing = sorted(key.removeprefix("agent.") for key in OmegaConf.missing_keys(node))
        require(not missing, f"{', '.join(missing)} is required: type {spec.name}:{''.join(missing[:1])}=...")
        return DictConfig(OmegaConf.to_container(node, resolve=True))


def build_agent(label: str, node: DictConfig) -> "Agent":
    """Build a composed agent, also without a running Hydra; raise `UserError` if it is for training only."""
    from ..core.play.agent import OpponentPool, SelfPlay
    from .build import build

    with _errors_of(label):
        agent: Agent = build(node, "agent")
    require(not isinstance(agent, SelfPlay | OpponentPool), f"agents: {label} is for training only")
    return agent


@contextmanager
def _errors_of(label: str) -> Iterator[None]:
    """Raise errors as `UserError` with the label of the agent."""
    try:
        with as_user_errors():
            yield
    except UserError as error:
        raise UserError(f"agents: {label}: {error}") from error
