"""Compare searches with and without a pruner: the steps that they train, and the best network that they find.

    python -m experiments.search_pruning [--trials 16]

The sampler is random and seeded, so that all searches have the same trials. Searches are kept in
outputs/studies/search_pruning/<pruner>: one that is finished is not repeated, one that was stopped goes on.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from src.core.files import write_atomic
from src.core.play.arena import Tally
from src.core.runs.report import as_interval, as_percent
from src.core.runs.runlog import LoggedMetrics
from src.core.runs.sweep_jobs import read_jobs

HERE, SWEEPS = Path(__file__).parent, Path("outputs/studies/search_pruning")
PRUNERS = ("none", "median")  # options of conf/pruner; the first is what the other is compared with
BOARD = ("env.config.H=6", "env.config.W=6", "env.config.mine_count=5")
SETTINGS = (
    *("hparams_search=minesweeper_ppo", "sampler=random", *BOARD),
    *("net_defaults.channels=16", "net_defaults.blocks=1", "algo.play.symmetries=false", "algo.compute.threads=1"),
    *("algo.num_envs=64", "algo.steps_per_env=16", "algo.mini_batches=8"),
    *("algo.total_steps=16384", "algo.eval_every=2048", "algo.eval_episodes=200", "evaluation.episodes=500"),
    *("~env.baselines.rules", "~env.baselines.heuristic", "~env.baselines.exact", "logger=csv"),
)
FRESH_SEED = 1000  # of the boards on which the best network is measured again


@dataclass(frozen=True)
class Trial:
    job: str
    status: str  # finished, pruned or failed
    steps: int
    seconds: float
    result: float | None
    curve: list[tuple[int, float]]  # step and win rate of each evaluation


@dataclass(frozen=True)
class Outcome:
    """One finished search."""

    pruner: str
    trials: list[Trial]
    best_job: str
    best: Tally  # of the best network on fresh boards

    @property
    def steps(self) -> int:
        return sum(trial.steps for trial in self.trials)

    @property
    def seconds(self) -> float:
        return sum(trial.seconds for trial in self.trials)


def call(module: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{module} {' '.join(arguments)}\n{done.stdout}{done.stderr}")


def search(pruner: str, trials: int) -> None:
    print(f"pruner={pruner}", flush=True)
    call(
        "src.train",
        *SETTINGS,
        f"pruner={pruner}",
        f"hydra.sweeper.n_trials={trials}",
        f"hydra.sweep.dir={SWEEPS / pruner}",
    )


def measure(pruner: str, games: int) -> Outcome:
    """Read the trials of a search, and evaluate its best network on boards that no trial was evaluated on."""
    sweep = SWEEPS / pruner
    trials = [read_trial(sweep / job.name, job.status.partition(":")[0], job.result) for job in read_jobs(sweep)]
    finished = [trial for trial in trials if trial.result is not None]
    if not finished:
        raise SystemExit(f"{sweep} has no finished trial: there is nothing to report")
    best = max(finished, key=lambda trial: trial.result or 0)
    path = sweep / f"best_{best.job}_{games}.json"
    if not path.exists():
        agent = ("agent=trained", f"agent.run={sweep / best.job}")
        call(
            "src.evaluate",
            "env=minesweeper_8x8",
            *BOARD,
            *agent,
            f"seed={FRESH_SEED}",
            f"episodes={games}",
            f"json={path}",
        )
    score = json.loads(path.read_text())
    return Outcome(pruner, trials, best.job, Tally(score["wins"], score["draws"], score["losses"]))


def read_trial(directory: Path, status: str, result: float | None) -> Trial:
    log = LoggedMetrics(directory)
    steps, rates = log.column("eval/win_rate")
    _, seconds = log.column("time/seconds")
    curve = [(int(step), rate) for step, rate in zip(steps, rates, strict=True)]
    return Trial(directory.name, status, curve[-1][0] if curve else 0, max(seconds, default=0.0), result, curve)


def table(outcomes: list[Outcome]) -> str:
    first = outcomes[0]
    lines = [
        "| pruner | finished, pruned | steps | of those without | seconds | best trial | its win rate, new boards |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        states = [trial.status for trial in one.trials]
        counts = f"{states.count('finished')}, {states.count('pruned')}"
        won = f"{as_percent(one.best.win_rate)} ({as_interval(one.best)}, {one.best.games:,} games)"
        share = f"{one.steps / first.steps:.0%}"
        lines.append(
            f"| {one.pruner} | {counts} | {one.steps:,} | {share} | {one.seconds:.0f} | {one.best_job} | {won} |"
        )
    return "\n".join(lines) + "\n"


def draw(path: Path, outcomes: list[Outcome]) -> None:
    """Plot the evaluations of all trials, a panel for each pruner."""
    figure = Figure(figsize=(4.5 * len(outcomes), 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(outcomes), sharey=True, squeeze=False)[0]
    for panel, one in zip(panels, outcomes, strict=True):
        for trial in one.trials:
            best = trial.job == one.best_job
            style = {"color": "C1" if best else "C0", "linewidth": 2 if best else 1, "zorder": 3 if best else 2}
            panel.plot(
                *zip(*trial.curve, strict=True),
                **style,
                marker="x" if trial.status == "pruned" else None,
                markevery=[-1],
            )
        panel.set(title=f"pruner={one.pruner}: {one.steps:,} steps", xlabel="step")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("win rate, 200 games")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def report(outcomes: list[Outcome], folder: Path) -> str:
    """Write table.md, curves.png and trials.json."""
    text = table(outcomes)
    write_atomic(folder / "table.md", text)
    trials = {one.pruner: [asdict(trial) for trial in one.trials] for one in outcomes}
    write_atomic(folder / "trials.json", json.dumps(trials, indent=1) + "\n")
    draw(folder / "curves.png", outcomes)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=16, help="of each search")
    parser.add_argument("--games", type=int, default=2000, help="on fresh boards, of the best network of each search")
    parser.add_argument("--folder", type=Path, default=HERE, help="for table and picture")
    options = parser.parse_args()
    for pruner in PRUNERS:
        search(pruner, options.trials)
    print(report([measure(pruner, options.games) for pruner in PRUNERS], options.folder))


if __name__ == "__main__":
    main()
