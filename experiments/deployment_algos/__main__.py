"""Compare algo=maskable_ppo with algo=ppo in the wargame, with the tuned settings that they share.

    python -m experiments.deployment_algos --device cuda --steps 1048576 --seeds 0 1 2 --jobs 3
    python -m experiments.deployment_algos --device cuda --seconds 150 --seeds 0 1 2 --jobs 3

The first trains both for as many steps, the second for as many seconds; with both limits or none, both are compared in
turn. Tables are written to experiments/deployment_algos/{steps,seconds} as runs finish, those of a command that was
stopped are continued by the same command. Other options are those of `experiments.study`, such as --only-report.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.study import Arm, Study, main

EVAL_EVERY = {"cpu": 16384, "cuda": 262144}  # steps
STEPS = {"cpu": 81920, "cuda": 1048576}
SECONDS = {"cpu": 300, "cuda": 150}
UNLIMITED = 10**12  # steps


def study(budget: str, limit: int, options: argparse.Namespace) -> Study:
    steps, seconds = (limit, "null") if budget == "steps" else (UNLIMITED, limit)
    alike = (
        f"env={options.env}",
        f"device={options.device}",
        f"algo.eval_every={EVAL_EVERY[options.device]}",
        f"evaluation.episodes={options.episodes}",
        f"algo.total_steps={steps}",
        f"algo.seconds={seconds}",
    )
    arms = tuple(Arm(algo, (f"algo={algo}", *alike)) for algo in ("ppo", "maskable_ppo"))
    scores = ("random", "greedy", "defensive", "tactical")
    name = f"deployment_algos/{options.env}_{options.device}_{limit}_{budget}"
    return Study(name, arms, tuple(options.seeds), scores, axes=("steps", "seconds"))


def run(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="deployment_classic", help="or another env of the wargame")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--steps", type=int, help="compare after this many steps")
    parser.add_argument("--seconds", type=int, help="compare after this many seconds, evaluations included")
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--episodes", type=int, default=1000, help="games against each bot at the end")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="for tables and pictures")
    options, others = parser.parse_known_args(arguments)
    limits = {"steps": options.steps, "seconds": options.seconds}
    if not any(limits.values()):
        limits = {"steps": STEPS[options.device], "seconds": SECONDS[options.device]}
    for budget, limit in limits.items():
        if limit is not None:
            main(study(budget, limit, options), ["--folder", str(options.folder / budget), *others])


if __name__ == "__main__":
    run()
