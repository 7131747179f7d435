"""How fast the wargame steps: one environment, and batches of them, by opponent and by scenario.

    python -m experiments.bench.deployment_env

Random legal actions of the learner; a step is one action of it with everything the opponent answers, the observation,
the mask and the reward, resets included. The sampling of actions is not counted. The last line says how much of a
learner's time is left for that: sb3-contrib's MaskablePPO over a batch, a rollout and its updates.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sb3_contrib

from experiments.bench.speed import Row
from experiments.composition import composed
from src.algos.maskable_ppo import MaskedVecEnv
from src.compose import build
from src.envs.deployment.env import DeploymentEnv

OPPONENTS = ("erratic", "greedy", "defensive", "tactical", "random")
SCENARIOS = ("deployment", "deployment_mirror", "deployment_siege")
ENV_COUNTS = (1, 8, 32, 64, 256)


class Speed(NamedTuple):
    """Environment steps a second."""

    best: float
    median: float
    core: float  # best by the processor time of all threads, which other people's load disturbs least


def make(env: str, opponent: str) -> DeploymentEnv:
    return build(composed("train", f"env={env}", f"agent@env.opponent={opponent}").env, "env")


def single(env: DeploymentEnv) -> Iterator[Callable[[], object]]:
    """Steps of one environment, each ready to be timed."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    while True:
        legal = np.flatnonzero(info["action_mask"])
        action = int(legal[rng.integers(legal.size)])

        def step(action: int = action) -> None:
            nonlocal info
            *_, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()

        yield step


def batched(env: DeploymentEnv, count: int) -> Iterator[Callable[[], object]]:
    """Steps of a batch."""
    rng, batch = np.random.default_rng(0), env.vectorize(count)
    _, info = batch.reset(seed=0)
    while True:
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in info["action_mask"]])

        def step(actions: np.ndarray = actions) -> None:
            nonlocal info
            *_, info = batch.step(actions)

        yield step


def measure(steps: Iterator[Callable[[], object]], count: int, seconds: float, repeats: int) -> Speed:
    for _ in range(max(200 // count, 5)):  # compiles, and takes the games out of their common beginning
        next(steps)()
    rates, core = [], []
    for _ in range(repeats):
        calls, stepping, working, began = 0, 0.0, 0.0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            step = next(steps)
            before, worked = time.perf_counter(), time.process_time()
            step()
            stepping += time.perf_counter() - before
            working += time.process_time() - worked
            calls += 1
        rates.append(calls * count / stepping)
        core.append(calls * count / working)
    return Speed(max(rates), statistics.median(rates), max(core))


class TimedGames(MaskedVecEnv):
    """Counts the seconds that the games themselves take."""

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
    """Where the time of a rollout and its updates goes."""

    games: float  # share of it, masks and the hand-over to sb3 included; the rest is sb3's
    speed: float  # steps a second of the whole


def sb3_shares(env: DeploymentEnv, count: int = 64, steps: int = 64) -> Shares:
    """sb3-contrib as it comes, four epochs in batches of 512."""
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
        Row("wargame, one game", measure(single(env), 1, seconds, 3).median, "steps/s"),
        Row("wargame, 64 games", measure(batched(env, 64), 64, seconds, 3).median, "steps/s"),
    ]
    return [*found, Row("wargame in sb3, share of the games", sb3_shares(env).games * 100, "%")]


def show(name: str, speed: Speed) -> None:
    print(f"{name:<44}{speed.best:>12,.0f}{speed.median:>12,.0f}{speed.core:>16,.0f}", flush=True)


def show_header(title: str) -> None:
    print(f"\n{title}\n{'':<44}{'best':>12}{'median':>12}{'a core-second':>16}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--envs", type=int, nargs="*", default=ENV_COUNTS, help="batch sizes")
    options = parser.parse_args(arguments)
    show_header("one environment, env steps/s by opponent")
    for opponent in OPPONENTS:
        speed = measure(single(make("deployment", opponent)), 1, options.seconds, options.repeats)
        show(f"deployment, against {opponent}", speed)
    show_header("one environment, env steps/s by scenario")
    for name in SCENARIOS:
        show(f"{name}, against greedy", measure(single(make(name, "greedy")), 1, options.seconds, options.repeats))
    show_header("batches, env steps/s by number of envs")
    for count in options.envs:
        speed = measure(batched(make("deployment", "greedy"), count), count, options.seconds, options.repeats)
        show(f"deployment, against greedy, {count} envs", speed)
    shares = sb3_shares(make("deployment", "greedy"))
    print(
        f"\nsb3-contrib's MaskablePPO over 64 envs: {shares.games:.1%} of the time steps the games, "
        f"{1 - shares.games:.1%} is sb3's (network, buffer, updates); {shares.speed:,.0f} steps/s in all"
    )


if __name__ == "__main__":
    main()
