"""Evaluate an agent over seeded games."""

import json
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from .config.cli import expand_opponent, hydra_command
from .core.errors import require


@hydra_command("evaluate", expand_opponent)
def run(cfg: DictConfig) -> None:
    from .config import compose, schema
    from .core.files import require_writable, write_atomic
    from .core.play import arena
    from .core.runs import report
    from .core.runs.console import progress_bar

    overrides = HydraConfig.get().overrides.task
    cfg = compose.validate(cfg, schema.Evaluate, unused=("opponent",))
    if cfg.json is not None:
        require_writable(Path(cfg.json))  # before the games are played
    game = compose.build_env(cfg).game
    agent, opponent = compose.build_players(cfg, schema.Evaluate, game)
    starts = None if cfg.boards is None else game.fixed_starts(Path(cfg.boards))
    given = [override for override in overrides if override.startswith("episodes=")]
    require(starts is None or not given, "boards=... sets the number of games: leave out episodes=...")
    episodes = cfg.episodes if starts is None else len(starts) * game.players
    arena.require_varied(game, agent, opponent, cfg.opening_plies, episodes)
    with progress_bar("games", episodes) as advance:
        score = arena.evaluate(
            game, agent, opponent, episodes, cfg.seed, starts, cfg.opening_plies, on_progress=advance
        )

    rival = cfg.composition.opponent if game.players == 2 else cfg.composition.agent
    lines = report.every_reply(game, agent)
    report.show(f"{cfg.composition.agent} on {cfg.composition.env}", game, {rival: score}, lines)
    if cfg.json is not None:
        names = {"env": cfg.composition.env, "agent": cfg.composition.agent, "seed": cfg.seed}
        names |= {"opponent": rival} if game.players == 2 else {}
        result = names | report.score_as_dict(game, score) | report.lines_as_dict(lines)
        if starts is not None:
            result["per_board"] = [int(outcome == 1) for outcome in score.outcomes]
        write_atomic(Path(cfg.json), json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    run()
