"""Measure self-play batches of Quoridor: moves per second, with legal actions and observations after every move.

    python -m experiments.bench.quoridor_batch

Compared are `VersusEnv.vectorize`, the loop in Python that serves every game, and the compiled positions of self-play
and search, on one core and on all of them. Moves are random, pawn moves and walls equally often; drawing them is not
counted.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from experiments.bench.speed import Row
from experiments.composition import composed
from src.config.build import build
from src.core.parallel import CORES
from src.core.play.agent import RandomAgent
from src.envs.quoridor import positions as compiled
from src.envs.quoridor.game import Quoridor
from src.envs.two_player_env import OutcomeReward, VersusEnv


def moves_per_second(
    game: Quoridor, masks: Callable[[], np.ndarray], play: Callable[[np.ndarray], int], seconds: float
) -> float:
    """Return the speed of `play`, which takes an action for each game and returns the number of moves."""
    rng, moves, spent = np.random.default_rng(0), 0, 0.0
    weights = np.where(np.arange(game.num_actions) < game.cells, 30.0, 1.0)
    for number in range(1_000_000):
        actions = (rng.random(masks().shape) * weights * masks()).argmax(axis=1)
        began = time.perf_counter()
        played = play(actions)
        if number >= 20:  # compiled, and past the common beginning
            moves, spent = moves + played, spent + time.perf_counter() - began
        if spent >= seconds:
            break
    return moves / spent


def loop_speed(game: Quoridor, games: int, seconds: float) -> float:
    """Return the moves per second of both players in `VersusEnv.vectorize`."""
    opponent = RandomAgent()
    env = VersusEnv(game, opponent, OutcomeReward(1.0, 0.0, -1.0, gamma=1.0), "random", {"random": opponent}).vectorize(
        games
    )
    env.reset(seed=0)

    def play(actions: np.ndarray) -> int:
        env.step(actions)
        return 2 * games  # the opponent answers in the same step

    return moves_per_second(game, env.action_masks, play, seconds)


def compiled_speed(game: Quoridor, games: int, seconds: float, threads: bool) -> float:
    """Return the moves per second of compiled positions; finished games are replaced within the measured time."""
    batch, start = game.positions(games, 1), game.initial(np.random.default_rng(0))
    batch.set_roots(range(games), [start] * games)
    least, compiled.GAMES_PER_THREAD = compiled.GAMES_PER_THREAD, 64 if threads else games

    def play(actions: np.ndarray) -> int:
        batch.play(actions)
        ended = np.flatnonzero(batch.ended).tolist()
        batch.set_roots(ended, [start] * len(ended))
        return games

    try:
        return moves_per_second(game, lambda: batch.masks, play, seconds)
    finally:
        compiled.GAMES_PER_THREAD = least


def rows(seconds: float, games: int = 1024) -> list[Row]:
    game = build(composed("evaluate", "env=quoridor").env, "env").game
    loop = loop_speed(game, 64, seconds)
    speeds = {"one core": compiled_speed(game, games, seconds, threads=False)}
    if CORES > 1:
        speeds[f"{CORES} cores"] = compiled_speed(game, games, seconds, threads=True)
    return [
        Row(f"Quoridor self-play, {where}", speed, "moves/s", "VersusEnv in Python", loop)
        for where, speed in speeds.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time of each")
    for row in rows(parser.parse_args().seconds):
        print(f"{row.name}: {row.figure:,.0f} {row.unit}, {row.peer}: {row.peer_figure:,.0f}, ratio {row.ratio:.1f}")


if __name__ == "__main__":
    main()
