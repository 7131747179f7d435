"""Hostile sweep directories: read by `src.sweep`, continued by `src.train`, shown by the page of runs."""

import json
import os
import random
import shlex
from collections.abc import Callable
from pathlib import Path

import yaml
from filelock import FileLock

from experiments.faults import forks
from experiments.faults.files import OUTSIDE, Hostilities, Reading, command, page
from experiments.faults.hostile import HOSTILE, TEXTS, VALUES, damaged_bytes, mutated_tree, put_special
from experiments.faults.kills import MAX_SECONDS, train

SWEEP = Path("outputs/sweep")
SMALL = ("algo.episodes=100", "algo.eval_every=50", "evaluation.episodes=4", "logger=csv", "checkpoint_seconds=0.05")
COMMANDS = {
    "sweep": ("-m", "algo=qlearning", "algo.lr=0.3,0.5", *SMALL),
    "search": ("hparams_search=tictactoe_qlearning", "pruner=median", "hydra.sweeper.n_trials=3", *SMALL),
}
NAMES = (
    *("optuna.log", "optuna.log.lock", "command.txt", "multirun.yaml", "sweep.csv", "sweep.txt", ".search.lock"),
    *("history.png", "importance.png", "optimization_results.yaml", ".sweep.csv.partial", "0", "0/.hydra", "0/.lock"),
    *("0/failed.txt", "0/pruned.txt", "0/train.log", "0/eval.json", "0/metrics.csv", "0/config.yaml", "0/checkpoints"),
    *("0/.hydra/overrides.yaml", "0/.hydra/config.yaml", "0/checkpoints/last.safetensors", "0/provenance.json"),
)


def special(rng: random.Random) -> None:
    put_special(rng, SWEEP / rng.choice(NAMES), OUTSIDE.absolute())


def text(rng: random.Random) -> None:
    """Write bytes that are no text, no YAML or no command line."""
    name = rng.choice(("command.txt", "command.txt", "0/failed.txt", "0/pruned.txt", "0/.hydra/overrides.yaml"))
    path, texts = (
        SWEEP / name,
        ("", "\n", "'", 'python -m "x', "a b", "\0", "x" * 10_000_000, *HOSTILE.values(), *TEXTS),
    )
    before = path.read_bytes() if path.exists() else b"failed\n"
    changed = (b"\xff\xfe\x80", damaged_bytes(rng, before), damaged_bytes(rng, before), before + b"'")
    path.write_bytes(rng.choice((rng.choice(texts).encode(), rng.choice(changed))))


def results(rng: random.Random) -> None:
    """Write results that cannot be: of the evaluation at the end, and of the metric that is compared."""
    if rng.random() < 0.4:
        path = SWEEP / "0/config.yaml"
        config = yaml.safe_load(path.read_text())
        config["optimized_metric"] = rng.choice((5, None, [], {}, "x", "final/episodes", *TEXTS, rng.choice(VALUES)))
        path.write_text(yaml.safe_dump(config))
        return
    path = SWEEP / "0/metrics.csv"
    head, *_, last = rows = path.read_text().splitlines()
    values = last.split(",")
    for name in (*rng.sample(head.split(","), 3), "final/win_rate", "final/episodes"):
        if name in head.split(",") and rng.random() < 0.7:
            odd = ("nan", "inf", "-inf", "1e300", "-1", "", "x", "1e999", "0", "9" * 400, *TEXTS)
            values[head.split(",").index(name)] = rng.choice(odd)
    path.write_text("\n".join([*rows[:-1], ",".join(values)]) + "\n")


def journal(rng: random.Random) -> None:
    """Damage the journal of a search: its lines, their values, or its bytes."""
    path = SWEEP / "optuna.log"
    lines = path.read_text().splitlines() if path.exists() else ['{"op_code": 0}']
    place, damage = rng.randrange(len(lines)), rng.randrange(4)
    if damage == 0:
        path.write_bytes(damaged_bytes(rng, path.read_bytes() if path.exists() else b"{}"))
        return
    if damage == 1:
        lines[place] = json.dumps(mutated_tree(rng, json.loads(lines[place])))
    elif damage == 2:
        del lines[place]
    else:
        others = (lines[-1], "{}", "[]", "null", '{"op_code": 99}', '{"op_code": 4}', "x" * 1_000_000)
        lines.insert(place, rng.choice(others))
    path.write_text("\n".join(lines) + "\n")


def printed(rng: random.Random) -> None:
    """Write markup and escapes where the table of the sweep prints them."""
    odd = rng.choice(TEXTS)
    if rng.random() < 0.3:
        (SWEEP / "0").rename(SWEEP / odd.replace("/", ""))
    elif rng.random() < 0.4:
        (SWEEP / "0/failed.txt").write_text(f"{odd}\n")
        os.utime(SWEEP / "0/failed.txt", (2**32, 2**32))
    elif rng.random() < 0.5:
        (SWEEP / "0/eval.json").unlink()
        (SWEEP / "0/pruned.txt").write_text(odd)
    else:
        words = [f"{odd}=1", f"algo.lr={odd}", odd]
        (SWEEP / "0/.hydra/overrides.yaml").write_text(yaml.safe_dump(rng.sample(words, 2)))


def unfinished(rng: random.Random) -> None:
    """Let a job have more to do, so that continuing it writes to it; sometimes with something else in its place."""
    (SWEEP / "0/eval.json").unlink()
    special(rng)


def read_by_something(damage: Callable[[random.Random], None]) -> Callable[[random.Random, str], Reading]:
    def prepare(rng: random.Random, base: str) -> Reading:
        damage(rng)
        again = shlex.join([*COMMANDS[base], f"hydra.sweep.dir={SWEEP}"]).split()
        return rng.choice(
            (
                Reading("sweep", lambda: command("sweep", str(SWEEP)), writes=True),
                Reading("continue", lambda: command("train", *again), writes=True),
                Reading("page", lambda: page(base)),
            )
        )

    return prepare


class Sweeps(Hostilities):
    name = "sweeps"
    refused_partly = True  # a job of several
    kinds = {
        "links, pipes, devices": read_by_something(special),
        "text": read_by_something(text),
        "results": read_by_something(results),
        "journal": read_by_something(journal),
        "markup, escapes": read_by_something(printed),
        "unfinished": read_by_something(unfinished),
    }

    def base(self, rng: random.Random, kind: str) -> tuple[str, Path, Path]:
        name = "search" if kind == "journal" else rng.choice(list(COMMANDS))
        folder = self.folder / f"base-{name}"
        with FileLock(self.folder / f"{name}.lock"):
            if not folder.exists():
                made = self.folder / f"made-{name}"
                made.mkdir()
                arguments = [*COMMANDS[name], f"hydra.sweep.dir={SWEEP}"]
                child = forks.start(lambda: train(made, arguments, None), self.folder / f"{name}.txt")
                if not child.wait(MAX_SECONDS) or child.code != 0:
                    raise RuntimeError(f"{name} does not end: {child.text[-2000:]}")
                made.rename(folder)
        return name, folder / SWEEP, SWEEP
