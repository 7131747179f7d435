"""Measure PPO updates with the tuned settings by number of CPU threads, in one process.

    OMP_WAIT_POLICY=passive python -m experiments.bench.threads                     # minesweeper_8x8 and quoridor
    OMP_WAIT_POLICY=passive python -m experiments.bench.threads deployment --threads 1 2 8

Wall time is what a user waits for. The processor time of the learning thread is what that comes to on idle cores, which
other people's load disturbs less, as long as threads that wait do so asleep: `OMP_WAIT_POLICY=passive`.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import hydra

from src.algos.compute import torch_threads
from src.algos.ppo import PPOTrainer
from src.config import CONF
from src.config.build import build
from src.core.runs.run import Run


def measure(env_name: str, counts: list[int], rounds: int) -> dict[int, tuple[float, float]]:
    """Return steps per second of the best update for each number of threads, by wall time and by thread time."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = hydra.compose("train", [f"env={env_name}", "algo=ppo", "device=cpu"])
    env, algo, curriculum = (build(cfg[name], name) for name in ("env", "algo", "curriculum"))
    best = dict.fromkeys(counts, (0.0, 0.0))
    with TemporaryDirectory() as folder, Run(Path(folder), {"seed": 0, "checkpoint_seconds": 1e9}, None) as run:
        learning = PPOTrainer(algo, env, curriculum, run)
        learning.start()
        learning.update()  # compiles
        for count in counts * rounds:
            steps, wall, own = learning.steps, time.perf_counter(), time.thread_time()
            with torch_threads(count):
                learning.update()
            done = learning.steps - steps
            rates = done / (time.perf_counter() - wall), done / (time.thread_time() - own)
            best[count] = max(best[count][0], rates[0]), max(best[count][1], rates[1])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("envs", nargs="*", default=["minesweeper_8x8", "quoridor"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3, help="updates with each number of threads")
    args = parser.parse_args()
    for env in args.envs:
        measured = measure(env, args.threads, args.rounds)
        first = measured[args.threads[0]]
        for count, (wall, own) in measured.items():
            print(
                f"{env}, {count} threads: {wall:,.0f} steps/s of wall time ({wall / first[0]:.2f}x), "
                f"{own:,.0f} of the thread's time ({own / first[1]:.2f}x)",
                flush=True,
            )


if __name__ == "__main__":
    main()
