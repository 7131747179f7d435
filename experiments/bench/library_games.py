"""Measure batches of a game in our rules, OpenSpiel and pgx: steps per second against a random opponent.

    python -m experiments.bench.library_games [--num-envs 64 1024] [--seconds 3]

All go through `VersusEnv.vectorize`; pgx steps all games of a batch in one compiled call, the others one by one. The
last column is that call alone. Needs the extras `openspiel` and `pgx`.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from src.core.play.agent import RandomAgent
from src.core.play.game import TwoPlayerGame
from src.core.seeding import draw
from src.envs.connect_four.game import ConnectFour
from src.envs.open_spiel.game import OpenSpiel
from src.envs.othello.game import Othello
from src.envs.pgx.game import Pgx
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import OutcomeReward, VersusEnv

OURS: dict[str, TwoPlayerGame] = {
    "tic_tac_toe": TicTacToe(symmetric=True),
    "connect_four": ConnectFour(rows=6, cols=7, length=4),
    "othello": Othello(8),
}


def speed(step: Callable[[], int], seconds: float) -> float:
    """Return what `step` counts per second."""
    for _ in range(10):
        step()
    count, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        count += step()
    return count / elapsed


def env_speed(game: TwoPlayerGame, num_envs: int, seconds: float) -> float:
    start = game.initial(np.random.default_rng(0))
    for size in (4**k for k in range(7)):  # the sizes for which pgx compiles a step
        game.play_batch([start] * size, [game.legal_actions(start)[0]] * size)
    env = VersusEnv(game, RandomAgent(), OutcomeReward(1.0, 0.0, -1.0, gamma=1.0), "random", {}).vectorize(num_envs)
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def step() -> int:
        masks = env.action_masks()
        env.step(np.where(masks, rng.random(masks.shape), -1).argmax(axis=1))
        return num_envs

    return speed(step, seconds)


def call_speed(game: TwoPlayerGame, num_envs: int, seconds: float) -> float:
    rng = np.random.default_rng(0)
    states = [game.initial(rng)] * num_envs
    actions = [draw(rng, game.legal_actions(state)) for state in states]
    return speed(lambda: len(game.play_batch(states, actions)), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--seconds", type=float, default=3.0, help="per figure")
    options = parser.parse_args()
    print(f"{'steps/s':<14}{'envs':>6}{'ours':>10}{'OpenSpiel':>18}{'pgx':>18}{'its call':>12}")
    for name, ours in OURS.items():
        for num_envs in options.num_envs:
            pgx = Pgx(name)
            base, spiel, jitted = (env_speed(g, num_envs, options.seconds) for g in (ours, OpenSpiel(name, {}), pgx))
            alone = call_speed(pgx, num_envs, options.seconds)
            figures = "".join(f"{one:>10,.0f} ({one / base:4.2f}x)" for one in (spiel, jitted))
            print(f"{name:<14}{num_envs:>6}{base:>10,.0f}{figures}{alone:>12,.0f}", flush=True)


if __name__ == "__main__":
    main()
