"""Measure how fair the scenarios of the wargame are: every bot plays itself.

    python -m experiments.bench.deployment_balance [--games 2000] [--envs deployment deployment_mirror deployment_siege]

Prints how often player 1 wins with its 95% Wilson interval, draws counted as halves, how many games end with units on
both sides, so that victory points decide, and how many rounds a game has.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.bench.deployment_bots import player
from src.core.kernels import jit
from src.core.play.arena import wilson_interval
from src.envs.deployment import rules
from src.envs.deployment.bot_policy import LUCK, NO_ACTION, Policy, choose
from src.envs.deployment.bots import Bot, require_action
from src.envs.deployment.deployment import deadlock
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.state import OFF_BOARD, Games
from src.envs.deployment.world import World

BOTS = ("greedy", "defensive", "tactical")
ENVS = ("deployment", "deployment_mirror", "deployment_siege")
OTHERS = ("deployment_alternated", "deployment_classic", "deployment_classic_mirror")


class Balance(NamedTuple):
    games: int
    first: float  # share of the points of player 1: 1 for a win, 0.5 for a draw
    drawn: float
    on_points: float  # share of the games that end with units on both sides
    rounds: float


@jit(nogil=True, _nrt=False)
def play_out(world: World, games: Games, policy: Policy, luck: np.ndarray, i: int) -> bool:
    """Play game i to its end with one policy on both sides; return whether its placement had a hex for every unit."""
    rules.start(world, games, i)
    while not rules.is_over(games, i):
        action = choose(world, games, i, policy, luck[0])
        if action == NO_ACTION:
            return False
        rules.play(world, games, i, action)
    return True


def balance(game: DeploymentGame, bot: Bot, count: int, seed: int = 0) -> Balance:
    """Let a bot play itself."""
    games, luck = game.games(count), np.zeros(1, LUCK)
    games.games["random"] = np.random.default_rng(seed).integers(2**64, size=count, dtype=np.uint64)
    for i in range(count):
        require_action(0 if play_out(game.world, games, bot.policy(game), luck, i) else NO_ACTION)
        if games.games[i]["deadlocked"]:
            raise deadlock(game.state(games, i))
    outcome = games.games["outcome"]
    alive = (games.units["cell"] != OFF_BOARD).reshape(count, 2, -1).any(axis=2).all(axis=1)
    return Balance(
        count,
        float((outcome + 1).mean() / 2),
        float((outcome == 0).mean()),
        float(alive.mean()),
        float(games.games["round"].mean()),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2000, help="games of each bot")
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--envs", nargs="+", default=ENVS, choices=[*ENVS, *OTHERS])
    options = parser.parse_args(arguments)
    print(f"{'':<36}{'games':>7}{'player 1':>10}{'95% range':>14}{'drawn':>8}{'on points':>11}{'rounds':>8}")
    for env in options.envs:
        for name in BOTS:
            game, bot = player(f"env={env}", f"agent={name}")
            assert isinstance(game, DeploymentGame)
            assert isinstance(bot, Bot)
            found = balance(game, bot, options.games, options.seed)
            low, high = wilson_interval(round(found.first * found.games), found.games)
            print(
                f"{env + ', ' + name:<36}{found.games:>7}{found.first:>10.1%}{f'{100 * low:.1f}-{100 * high:.1f}':>14}"
                f"{found.drawn:>8.1%}{found.on_points:>11.1%}{found.rounds:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
