"""Rate agents and runs of a two-player game by a round robin."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import hydra
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from .cli import as_user_errors, exit_on_user_error, launch, quote_value, refuse_multirun
from .core.errors import UserError, require
from .paths import CONF

if TYPE_CHECKING:
    from .core.play.agent import Agent


class Entry(NamedTuple):
    """A player as typed: `[LABEL=]NAME[:KEY=VALUE ...]`."""

    label: str
    name: str  # an option of the group agent, or a run directory
    settings: tuple[str, ...]  # KEY=VALUE


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="tournament")
@exit_on_user_error
def main(cfg: DictConfig) -> None:
    from rich.console import Console

    from . import compose, schema
    from .core.files import require_writable, write_atomic
    from .core.play.tournament import Standings, require_playable, round_robin
    from .core.runs import leaderboard
    from .core.runs.console import progress_bar

    cfg = compose.validate(cfg, schema.Tournament)
    for path in (cfg.json, cfg.markdown):
        if path is not None:
            require_writable(Path(path))  # before the games are played
    game = compose.build(cfg.env, "env").game
    require(game.players == 2, f"env={cfg.composition.env} is a single-player game: a tournament needs two players")
    entries = parse_entries(list(cfg.agents))
    anchor = entries[0].label if cfg.anchor is None else cfg.anchor
    labels = [entry.label for entry in entries]
    require(anchor in labels, f"anchor={anchor} is not one of the agents: {', '.join(labels)}")
    players = {entry.label: build_player(entry) for entry in entries}
    require_playable(game, players, cfg.games, cfg.opening_plies)
    with progress_bar("games", cfg.games * len(players) * (len(players) - 1) // 2) as advance:
        matches = round_robin(game, players, cfg.games, cfg.seed, cfg.opening_plies, advance)

    standings = Standings(matches, anchor)
    title = f"{cfg.composition.env}: Elo above {anchor}, percentage of points against each player"
    Console().print(leaderboard.cross_table(title, standings))
    if cfg.markdown is not None:
        write_atomic(Path(cfg.markdown), leaderboard.markdown(standings))
    if cfg.json is not None:
        settings = {"env": cfg.composition.env, "seed": cfg.seed, "opening_plies": cfg.opening_plies}
        agents = {entry.label: ":".join([entry.name, *entry.settings]) for entry in entries}
        result = {**settings, "agents": agents, **leaderboard.as_dict(standings)}
        write_atomic(Path(cfg.json), json.dumps(result, indent=2) + "\n")


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
    from . import compose
    from .core.play.agent import OpponentPool, SelfPlay

    known = _options("agent")
    is_run = _is_path(entry.name) or (entry.name not in known and Path(entry.name).is_dir())
    require(
        is_run or entry.name in known,
        f"agents: {entry.name} is neither an agent nor a run directory: agents are {', '.join(known)}",
    )
    overrides = ["agent=trained", f"agent.run={quote_value(entry.name)}"] if is_run else [f"agent={entry.name}"]
    try:
        with as_user_errors():
            node = hydra.compose("evaluate", [*overrides, *map(_override, entry.settings)]).agent
            missing = sorted(key.removeprefix("agent.") for key in OmegaConf.missing_keys(node))
            require(not missing, f"{', '.join(missing)} is required: type {entry.name}:{''.join(missing[:1])}=...")
            agent: Agent = compose.build(node, "agent")
    except UserError as error:
        raise UserError(f"agents: {entry.label}: {error}") from error
    require(not isinstance(agent, SelfPlay | OpponentPool), f"agents: {entry.name} is for training only")
    return agent


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


def run() -> None:
    launch(main, quote_agents)


if __name__ == "__main__":
    run()
