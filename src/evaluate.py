"""Score an agent over seeded games."""

import json
from pathlib import Path

import hydra
from omegaconf import DictConfig

from src.core.cli import launch
from src.core.errors import require


@hydra.main(version_base="1.3", config_path="../conf", config_name="evaluate")
def main(cfg: DictConfig) -> float:
    from src import compose
    from src.core import arena, report
    from src.core.agent import SelfPlay
    from src.core.console import progress_bar
    from src.core.files import write_atomic

    compose.refuse_missing_keys(cfg, besides="opponent")
    game = compose.build(cfg.env).game
    agent = compose.build_agent("agent", cfg, game)
    opponent = None
    if game.players == 2:
        compose.refuse_missing_keys(cfg)
        opponent = compose.build_agent("opponent", cfg, game)
    if isinstance(opponent, SelfPlay):
        opponent.become(agent)
    starts = None if cfg.boards is None else game.fixed_starts(Path(cfg.boards))
    episodes = cfg.episodes if starts is None else len(starts)
    require(episodes >= 1, f"episodes={episodes}: a score needs at least one game")
    require(cfg.seed >= 0, f"seed={cfg.seed}: a seed is a whole number from 0 upwards")
    with progress_bar("games", episodes) as advance:
        score = arena.evaluate(game, agent, opponent, episodes, cfg.seed, starts, advance)

    rival = cfg.composition.opponent if game.players == 2 else cfg.composition.agent
    report.show(f"{cfg.composition.agent} on {cfg.composition.env}", game, agent, {rival: score})
    if cfg.json is not None:
        names = {"env": cfg.composition.env, "agent": cfg.composition.agent, "seed": cfg.seed}
        names |= {"opponent": rival} if game.players == 2 else {}
        result = names | report.score_as_dict(game, score) | report.every_reply_as_dict(game, agent)
        if starts is not None:
            result["per_board"] = [int(outcome == 1) for outcome in score.outcomes]
        write_atomic(Path(cfg.json), json.dumps(result, indent=2) + "\n")
    return score.total.win_rate


def spell_out_opponent(arguments: list[str]) -> list[str]:
    """Agent and opponent are options of one group; `opponent=x` is short for Hydra's `agent@opponent=x`."""
    return [f"agent@{argument}" if argument.startswith("opponent=") else argument for argument in arguments]


if __name__ == "__main__":
    launch(main, spell_out_opponent)
