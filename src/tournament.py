"""Rate agents and runs of a two-player game by a round robin."""

import json
from pathlib import Path

from omegaconf import DictConfig

from .config.agent_specs import build_agent, compose_spec, parse_specs, quote_agents
from .config.cli import hydra_command
from .core.errors import require


@hydra_command("tournament", quote_agents)
def run(cfg: DictConfig) -> None:
    from .config import schema
    from .config.build import build
    from .config.compose import validate
    from .core.files import require_writable, write_atomic
    from .core.play.rating import Standings, require_playable, round_robin
    from .core.runs import report
    from .core.runs.console import progress_bar
    from .core.runs.report import PlainConsole

    cfg = validate(cfg, schema.Tournament)
    for path in (cfg.json, cfg.markdown):
        if path is not None:
            require_writable(Path(path))  # before the games are played
    game = build(cfg.env, "env").game
    require(game.players == 2, f"env={cfg.composition.env} is a single-player game: a tournament needs two players")
    specs = parse_specs(list(cfg.agents))
    anchor = specs[0].label if cfg.anchor is None else cfg.anchor
    labels = [spec.label for spec in specs]
    require(anchor in labels, f"anchor={anchor} is not one of the agents: {', '.join(labels)}")
    players = {spec.label: build_agent(spec.label, compose_spec(spec)) for spec in specs}
    require_playable(game, players, cfg.games, cfg.opening_plies)
    with progress_bar("games", cfg.games * len(players) * (len(players) - 1) // 2) as advance:
        matches = round_robin(game, players, cfg.games, cfg.seed, cfg.opening_plies, advance)

    standings = Standings(matches, anchor)
    title = f"{cfg.composition.env}: Elo above {anchor}, percentage of points against each player"
    PlainConsole().print(report.standings_table(title, standings))
    if cfg.markdown is not None:
        write_atomic(Path(cfg.markdown), report.standings_markdown(standings))
    if cfg.json is not None:
        settings = {"env": cfg.composition.env, "seed": cfg.seed, "opening_plies": cfg.opening_plies}
        agents = {spec.label: ":".join([spec.name, *spec.settings]) for spec in specs}
        result = {**settings, "agents": agents, **report.standings_as_dict(standings)}
        write_atomic(Path(cfg.json), json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    run()
