"""Measure the strength of the wargame's bots, and the effect of their placements.

    python -m experiments.bench.deployment_bots [--games 1000] [--envs deployment deployment_mirror deployment_siege]

Every pair plays both seats equally often; the win rate is the first one's, with its 95% Wilson interval. `planner`
searches for about a second per game and plays a tenth of the games.
"""

import argparse
from collections.abc import Sequence
from itertools import combinations

from experiments.composition import composed
from src.config.build import build
from src.core.play.agent import Agent
from src.core.play.arena import evaluate
from src.core.play.game import Game
from src.core.runs.report import as_interval, as_percent

BOTS = ("random", "greedy", "defensive", "tactical")
PLACEMENTS = ("deterministic", "back_line", "front_line", "scripted")


def player(*overrides: str) -> tuple[Game, Agent]:
    cfg = composed("evaluate", *overrides)
    return build(cfg.env, "env").game, build(cfg.agent, "agent")


def show(name: str, game: Game, agent: Agent, opponent: Agent, games: int, seed: int) -> None:
    score = evaluate(game, agent, opponent, games, seed)
    total, first, second = score.total, score.of_seat(0), score.of_seat(1)
    print(
        f"{name:<58}{total.games:>7}{as_percent(total.win_rate):>8}{as_interval(total):>14}{total.draws:>7}"
        f"{as_percent(first.win_rate):>10}{as_percent(second.win_rate):>10}{score.seconds / games * 1000:>9.1f}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1000, help="games a pair")
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--envs", nargs="+", default=["deployment", "deployment_mirror", "deployment_siege"])
    parser.add_argument("--battle", default="tactical", help="the bot that fights after each placement")
    options = parser.parse_args(arguments)
    for env in options.envs:
        print(
            f"\n{'':<58}{'games':>7}{'won':>8}{'95% range':>14}{'drawn':>7}{'as first':>10}{'second':>10}{'ms/game':>9}"
        )
        for one, other in combinations(BOTS, 2):
            game, agent = player(f"env={env}", f"agent={one}")
            _, opponent = player(f"agent={other}")
            show(f"{env}: {one} against {other}", game, agent, opponent, options.games, options.seed)
        for other in BOTS:
            game, agent = player(f"env={env}", "agent=planner")
            _, opponent = player(f"agent={other}")
            show(f"{env}: planner against {other}", game, agent, opponent, max(options.games // 10, 2), options.seed)
        for one, other in combinations(PLACEMENTS, 2):
            game, agent = player(f"env={env}", f"agent={options.battle}", f"agent/placement={one}")
            _, opponent = player(f"agent={options.battle}", f"agent/placement={other}")
            show(f"{env}: placed {one} against {other}", game, agent, opponent, options.games, options.seed)


if __name__ == "__main__":
    main()
