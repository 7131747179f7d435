"""Measure steps per second of the wargame: single and batched environments, by opponent and scenario.

    python -m experiments.bench.deployment_env

Random legal actions of the learner; a step is one action of it with everything the opponent answers, the observation,
the mask and the reward, resets included. The sampling of actions is not counted. Networks as opponents, as in
self-play, are asked once for all games by arrays, and for comparison by views of the games. The last line says how much
of a learner's time is left for the games: sb3-contrib's MaskablePPO over a batch, a rollout and its updates.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sb3_contrib

from experiments.bench.speed import Row, Speed, measure, show, show_header
from experiments.composition import composed
from src.algos.compute import Compute
from src.algos.maskable_ppo import MaskedVecEnv
from src.algos.network_agent import InferenceConfig, NetworkAgent
from src.config.build import build
from src.core.play.agent import Agent, Decision
from src.core.play.game import Game
from src.envs.deployment.env import DeploymentEnv
from src.nets.flat import MLP

OPPONENTS = ("erratic", "greedy", "defensive", "tactical", "random")
SCENARIOS = ("deployment", "deployment_mirror", "deployment_siege")
ENV_COUNTS = (1, 8, 32, 64, 256, 1024)


def make(env: str, opponent: str) -> DeploymentEnv:
    return build(composed("train", f"env={env}", f"agent@env.opponent={opponent}").env, "env")


class One:
    """A single environment, reset whenever a game ends."""

    def __init__(self, env: DeploymentEnv) -> None:
        self.env, self.rng = env, np.random.default_rng(0)
        _, self.info = env.reset(seed=0)

    def sample(self) -> None:
        legal = np.flatnonzero(self.info["action_mask"])
        self.action = int(legal[self.rng.integers(legal.size)])

    def step(self) -> None:
        *_, terminated, truncated, self.info = self.env.step(self.action)
        if terminated or truncated:
            _, self.info = self.env.reset()


class Many:
    """A vector environment."""

    def __init__(self, env: DeploymentEnv, count: int) -> None:
        self.batch, self.rng = env.vectorize(count), np.random.default_rng(0)
        _, self.info = self.batch.reset(seed=0)

    def sample(self) -> None:
        self.actions = np.array([self.rng.choice(np.flatnonzero(mask)) for mask in self.info["action_mask"]])

    def step(self) -> None:
        *_, self.info = self.batch.step(self.actions)


def one(env: DeploymentEnv, seconds: float, repeats: int) -> Speed:
    games = One(env)
    return measure(games.sample, games.step, 1, seconds, repeats)


def many(env: DeploymentEnv, count: int, seconds: float, repeats: int) -> Speed:
    games = Many(env, count)
    return measure(games.sample, games.step, count, seconds, repeats)


class ByViews(Agent):
    """An agent that gets views of the games instead of arrays."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return self.agent.decide(game, view, rng)

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        return self.agent.decide_batch(game, views, rngs)


def small_network(env: DeploymentEnv) -> NetworkAgent:
    """Return a network with random weights that takes little time itself."""
    net = MLP([16]).build((env.game.observation_size,), env.game.num_actions)
    compute, play = Compute("cpu", "float32", compile=False, threads=1), InferenceConfig(symmetries=False)
    return NetworkAgent(net, compute, play, greedy=False)


class TimedGames(MaskedVecEnv):
    """Measure the seconds spent in the games themselves."""

    seconds = 0.0

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        began = time.perf_counter()
        result = super().step_wait()
        self.seconds += time.perf_counter() - began
        return result

    def action_masks(self) -> np.ndarray:
        began = time.perf_counter()
        masks = super().action_masks()
        self.seconds += time.perf_counter() - began
        return masks


class Shares(NamedTuple):
    """How the time of a rollout and its updates is divided."""

    games: float  # fraction spent in the games, including masks and the adapter; the rest is sb3's
    speed: float  # steps a second of the whole


def sb3_shares(env: DeploymentEnv, count: int = 64, steps: int = 64) -> Shares:
    """Return the shares of sb3-contrib with its defaults: four epochs in batches of 512."""
    games = TimedGames(env.vectorize(count))
    model = sb3_contrib.MaskablePPO("MlpPolicy", games, n_steps=steps, batch_size=512, n_epochs=4, device="cpu", seed=0)
    model.learn(count * steps)  # compiles
    games.seconds, began = 0.0, time.perf_counter()
    model.learn(count * steps, reset_num_timesteps=False)
    elapsed = time.perf_counter() - began
    return Shares(games.seconds / elapsed, count * steps / elapsed)


def rows(seconds: float) -> list[Row]:
    env = make("deployment", "greedy")
    found = [
        Row("wargame, one game", one(env, seconds, 3).median, "steps/s"),
        Row("wargame, 64 games", many(env, 64, seconds, 3).median, "steps/s"),
    ]
    return [*found, Row("wargame in sb3, share of the games", sb3_shares(env).games * 100, "%")]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--envs", type=int, nargs="*", default=ENV_COUNTS, help="batch sizes")
    options = parser.parse_args(arguments)
    show_header("one environment, by opponent", options.repeats)
    for opponent in OPPONENTS:
        show(f"deployment, against {opponent}", one(make("deployment", opponent), options.seconds, options.repeats))
    show_header("one environment, by scenario", options.repeats)
    for name in SCENARIOS:
        show(f"{name}, against greedy", one(make(name, "greedy"), options.seconds, options.repeats))
    show_header("batches against greedy, by number of envs", options.repeats)
    for count in options.envs:
        show(f"{count} envs", many(make("deployment", "greedy"), count, options.seconds, options.repeats))
    show_header("256 envs against a small network", options.repeats)
    env = make("deployment", "greedy")
    network = small_network(env)
    for way, player in (("asked by arrays", network), ("asked by views", ByViews(network))):
        env.opponent = player
        show(way, many(env, 256, options.seconds, options.repeats))
    shares = sb3_shares(make("deployment", "greedy"))
    print(
        f"\nsb3-contrib's MaskablePPO over 64 envs: {shares.games:.1%} of the time steps the games, "
        f"{1 - shares.games:.1%} is sb3's (network, buffer, updates); {shares.speed:,.0f} steps/s in all"
    )


if __name__ == "__main__":
    main()
