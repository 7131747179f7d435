"""Train the arms of a study over several seeds and compare the results.

`python -m experiments.<name>` runs one; its arms are in experiments/<name>/__main__.py. Runs are kept in
outputs/studies/<name>/<arm>/<seed>: one that is finished is not repeated, one that was stopped goes on.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from experiments.composition import kept_by_train
from experiments.study_report import Outcome, draw, read_outcomes, table
from src.core.errors import UserError
from src.core.files import write_atomic
from src.core.runs.run import is_finished

RUNS = Path("outputs/studies")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}  # networks have their own setting


@dataclass(frozen=True)
class Arm:
    name: str
    overrides: tuple[str, ...]  # of src.train
    starts_from: str | None = None  # the arm whose network of the same seed it starts from


@dataclass(frozen=True)
class Study:
    name: str
    arms: tuple[Arm, ...]  # the first is what the others are compared with
    seeds: tuple[int, ...]
    scores: tuple[str, ...]  # which rows of eval.json the table shows
    axes: tuple[str, ...] = ("steps",)  # of the curves: seconds too, where they are what is asked

    def __post_init__(self) -> None:
        known: set[str | None] = {None}
        for arm in self.arms:
            if arm.starts_from not in known:
                raise ValueError(f"{arm.name} starts from {arm.starts_from}, which is no arm that stands before it")
            known.add(arm.name)

    def directory(self, arm: str, seed: int) -> Path:
        return RUNS / self.name / arm.replace(",", "").replace(" ", "_") / str(seed)

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)


def overrides(study: Study, arm: Arm, seed: int) -> list[str]:
    start = [f"algo.init_from={study.directory(arm.starts_from, seed)}"] if arm.starts_from else []
    return [*arm.overrides, *start, f"seed={seed}", "logger=csv"]


def is_trained(study: Study, arm: Arm, seed: int) -> bool:
    """Whether a run is finished; raise `UserError` if it has another configuration than the study."""
    directory = study.directory(arm.name, seed)
    if not (directory / "config.yaml").exists():
        return False
    config = kept_by_train(*overrides(study, arm, seed))
    try:
        return is_finished(directory, config)
    except UserError as error:
        reason = f"{directory} holds a run of other values than the study now has: remove it to run it anew"
        raise SystemExit(reason) from error


def train(study: Study, arm: Arm, seed: int) -> None:
    directory = study.directory(arm.name, seed)
    begun = (directory / "config.yaml").exists()
    new = [*overrides(study, arm, seed), f"hydra.run.dir={directory}"]
    how = [f"resume={directory}", "logger=csv"] if begun else new
    print(f"{arm.name}, seed {seed}", flush=True)
    command, environment = [sys.executable, "-m", "src.train", *how], os.environ | ONE_THREAD
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"src.train {' '.join(how)}\n{done.stdout}{done.stderr}")


def train_all(study: Study, jobs: int, after_each: Callable[[], object] = lambda: None) -> None:
    """Train every arm with every seed, `jobs` at a time; an arm that starts from another waits for it.

    A run that fails does not stop those beside it; its error is raised after them.
    """
    runs = [(arm, seed) for seed in study.seeds for arm in study.arms]
    missing = [run for run in runs if not is_trained(study, *run)]  # first of all, so that a refusal changes nothing
    left, shares = list(study.arms), shares_of_cores(jobs)
    with ThreadPoolExecutor(jobs, initializer=lambda: use_cores(shares.get())) as pool:
        while left:
            ready = [arm for arm in left if arm.starts_from not in {other.name for other in left}]
            futures = [pool.submit(train, study, *run) for run in missing if run[0] in ready]
            for future in as_completed(futures):
                if future.exception() is None:
                    after_each()
            raise_first(futures)
            left = [arm for arm in left if arm not in ready]


def raise_first(futures: Sequence[Future[None]]) -> None:
    for future in futures:
        future.result()


def shares_of_cores(jobs: int) -> SimpleQueue[list[int]]:
    """Return the cores of each of the runs at a time, so that they are equally fast."""
    shares: SimpleQueue[list[int]] = SimpleQueue()
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for job in range(jobs):
        shares.put(cores[job::jobs] or cores[job % len(cores) :][:1] if cores else [])
    return shares


def use_cores(cores: Sequence[int]) -> None:
    """Restrict this thread, and with it the processes that it starts, to these cores."""
    if cores:
        os.sched_setaffinity(0, cores)


def collect(study: Study, arm: Arm, seed: int) -> Outcome:
    steps = collect(study, study.arm(arm.starts_from), seed).steps[-1] if arm.starts_from else 0
    return Outcome.read(study.directory(arm.name, seed), arm.name, seed, steps)


def report(study: Study, folder: Path) -> str:
    """Write table.md, curves.png and runs.json of the runs finished so far."""
    outcomes = [
        collect(study, arm, seed)
        for arm in study.arms
        for seed in study.seeds
        if (study.directory(arm.name, seed) / "eval.json").exists()
    ]
    if not outcomes:
        raise SystemExit(f"no run of {study.name} is finished yet: there is nothing to report")
    text = "\n\n".join(table(outcomes, name) for name in study.scores) + "\n"
    write_atomic(folder / "table.md", text)
    write_atomic(folder / "runs.json", json.dumps([outcome.as_dict(study.scores) for outcome in outcomes], indent=1))
    draw(folder / "curves.png", outcomes, study.axes)
    return text


def main(study: Study, arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("experiments") / study.name, help="for table and picture")
    parser.add_argument("--only-report", action="store_true", help="of the runs that are finished, train nothing")
    parser.add_argument("--only-draw", action="store_true", help="curves.png, from the runs.json of the folder")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, which share the cores")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: at least one run at a time")
    if options.only_draw:
        draw(options.folder / "curves.png", read_outcomes(options.folder / "runs.json"), study.axes)
        return
    if not options.only_report:
        train_all(study, options.jobs, lambda: report(study, options.folder))
    print(report(study, options.folder))
