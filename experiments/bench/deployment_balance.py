"""Measure how fair the scenarios of the wargame are: every bot plays itself, and a trained network if one is named.

    python -m experiments.bench.deployment_balance [--games 2000] [--envs deployment deployment_mirror deployment_siege]
    python -m experiments.bench.deployment_balance --run experiments/deployment_value/scenarios --run-games 400
    python -m experiments.bench.deployment_balance --overrides env.game.profiles.skitterer.control=1   # try a change

Prints how often player 1 wins with its 95% Wilson interval, draws counted as halves, how many games end with units on
both sides, so that victory points decide, and how many rounds a game has.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.bench.deployment_bots import player
from src.algos.network_agent import NetworkAgent
from src.core.errors import require
from src.core.kernels import jit
from src.core.play.arena import wilson_interval
from src.envs.deployment import rules
from src.envs.deployment.bots.bot import Bot, require_action
from src.envs.deployment.bots.policy import NO_ACTION, RNG, Policy, choose
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.deployment import deadlock
from src.envs.deployment.rules.kernels import OFF_BOARD, UNDECIDED
from src.envs.deployment.rules.world import Games, World

BOTS = ("greedy", "defensive", "tactical", "balanced")
ENVS = ("deployment", "deployment_mirror", "deployment_siege")
OTHERS = ("deployment_alternated", "deployment_classic", "deployment_classic_mirror")


class Balance(NamedTuple):
    games: int
    first: float  # share of the points of player 1: 1 for a win, 0.5 for a draw
    drawn: float
    on_points: float  # share of the games that end with units on both sides
    rounds: float


@jit(nogil=True, _nrt=False)
def play_out(world: World, games: Games, policy: Policy, rng: np.ndarray, i: int) -> bool:
    """Play game i to its end with one policy on both sides; return whether its placement had a hex for every unit."""
    while not rules.is_over(games, i):
        action = choose(world, games, i, policy, rng[0])
        if action == NO_ACTION:
            return False
        rules.play(world, games, i, action)
    return True


def balance(game: DeploymentGame, bot: Bot, count: int, seed: int = 0) -> Balance:
    """Let a bot play itself."""
    games, rng = started(game, count, seed), np.zeros(1, RNG)
    for i in range(count):
        require_action(0 if play_out(game.world, games, bot.policy(game), rng, i) else NO_ACTION)
    return summary(game, games)


@jit(nogil=True, _nrt=False)
def play_actions(world: World, games: Games, rows: np.ndarray, actions: np.ndarray) -> None:
    for n in range(actions.size):
        rules.play(world, games, rows[n], actions[n])


def network_balance(game: DeploymentGame, agent: NetworkAgent, count: int, seed: int = 0) -> Balance:
    """Let a network play itself, all games in step."""
    games = started(game, count, seed)
    while (rows := unfinished(games)).size:
        play_actions(game.world, games, rows, agent.choose_actions(*game.observe_turns(games, rows), ()))
    return summary(game, games)


def unfinished(games: Games) -> np.ndarray:
    return np.flatnonzero((games.games["outcome"] == UNDECIDED) & ~games.games["deadlocked"])


def started(game: DeploymentGame, count: int, seed: int) -> Games:
    games = game.games(count)
    games.games["random"] = np.random.default_rng(seed).integers(2**64, size=count, dtype=np.uint64)
    for i in range(count):
        rules.start(game.world, games, i)
    return games


def summary(game: DeploymentGame, games: Games) -> Balance:
    count = games.games.size
    for i in np.flatnonzero(games.games["deadlocked"])[:1]:
        raise deadlock(game.state(games, int(i)))
    outcome = games.games["outcome"]
    alive = (games.units["cell"] != OFF_BOARD).reshape(count, 2, -1).any(axis=2).all(axis=1)
    return Balance(
        count,
        float((outcome + 1).mean() / 2),
        float((outcome == 0).mean()),
        float(alive.mean()),
        float(games.games["round"].mean()),
    )


def show(name: str, found: Balance) -> None:
    low, high = wilson_interval(round(found.first * found.games), found.games)
    print(
        f"{name:<36}{found.games:>7}{found.first:>10.1%}{f'{100 * low:.1f}-{100 * high:.1f}':>14}"
        f"{found.drawn:>8.1%}{found.on_points:>11.1%}{found.rounds:>8.1f}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2000, help="games of each bot")
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--envs", nargs="+", default=ENVS, choices=[*ENVS, *OTHERS])
    parser.add_argument("--overrides", nargs="+", default=[], help="of the environments, such as env.game.rounds=4")
    parser.add_argument("--run", help="run directory of a network that plays itself, too")
    parser.add_argument("--run-games", type=int, default=400, help="games of the network, some 0.5 s each on one core")
    options = parser.parse_args(arguments)
    print(f"{'':<36}{'games':>7}{'player 1':>10}{'95% range':>14}{'drawn':>8}{'on points':>11}{'rounds':>8}")
    for env in options.envs:
        for name in BOTS:
            game, bot = player(f"env={env}", f"agent={name}", *options.overrides)
            assert isinstance(game, DeploymentGame)
            assert isinstance(bot, Bot)
            show(f"{env}, {name}", balance(game, bot, options.games, options.seed))
        if options.run is not None:
            game, agent = player(f"env={env}", "agent=trained", f"agent.run={options.run}", *options.overrides)
            assert isinstance(game, DeploymentGame)
            require(isinstance(agent, NetworkAgent), f"--run {options.run}: its agent is no network")
            assert isinstance(agent, NetworkAgent)
            agent.check(game)
            show(f"{env}, the network", network_balance(game, agent, options.run_games, options.seed))


if __name__ == "__main__":
    main()
