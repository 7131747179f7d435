"""Train sb3-contrib's MaskablePPO on an environment of this package, without its configuration of algorithms.

python -m docs.examples.sb3_by_hand --steps 20000
"""

import argparse

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor

from src.api import make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="tictactoe")
    parser.add_argument("--steps", type=int, default=20_000)
    args = parser.parse_args()

    envs = make_vec_env(lambda: make(args.env, "agent@env.opponent=random"), n_envs=8, seed=0)
    model = MaskablePPO("MlpPolicy", envs, n_steps=128, batch_size=256, gamma=1.0, learning_rate=1e-3, seed=0)
    model.learn(args.steps)  # the masks come from env.action_masks()

    env = Monitor(make(args.env, "agent@env.opponent=random"))
    env.reset(seed=1)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=200)
    print(f"mean return against a random player after {args.steps} steps: {mean:.2f}")


if __name__ == "__main__":
    main()
