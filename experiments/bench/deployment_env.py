"""How fast the wargame steps: one environment, and batches of them, by opponent and by scenario.

    python -m experiments.bench.deployment_env

Random legal actions of the learner; a step is one action of it with everything the opponent answers, the observation,
the mask and the reward, resets included. The sampling of actions is not counted.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from hydra import compose, initialize_config_dir

from src.compose import CONF, build
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
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = compose("train", [f"env={env}", f"agent@env.opponent={opponent}"])
    return build(cfg.env, "env")


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


if __name__ == "__main__":
    main()
