"""Let two players of your own meet in a PettingZoo environment of this package.

python -m docs.examples.pettingzoo_match --env quoridor --games 4
"""

import argparse
from collections import Counter

import numpy as np

from src.api import make_aec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="tictactoe")
    parser.add_argument("--games", type=int, default=20)
    args = parser.parse_args()

    rng, results = np.random.default_rng(0), Counter[str]()
    env = make_aec(args.env)
    for game in range(args.games):
        env.reset(seed=game)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            if terminated or truncated:
                action = None
                results[agent] += reward > 0
            else:
                action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
            env.step(action)
    print(f"{args.games} games: {results['player_0']} won by the first, {results['player_1']} by the second player")


if __name__ == "__main__":
    main()
