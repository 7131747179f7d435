"""The command that compares settings over seeds."""

import csv
from pathlib import Path

import pytest

from tests.core.test_comparison import write_run
from tests.lab import Lab, contents, read_json


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "comparison.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_settings_are_compared_from_the_command_line(lab: Lab):
    for seed in (1, 2):
        for lr in (0.1, 0.2):
            write_run(lab.folder / f"outputs/sweeps/a/{seed}{lr}", lr, seed, algo={"lr": lr, "n": seed})
    (lab.folder / "outputs/sweeps/a/20.1/eval.json").unlink()
    before = contents(lab.folder)
    done = lab.succeed("compare", "runs=[outputs/sweeps/a]", "group=algo.lr", "output=null")
    assert contents(lab.folder) == before
    assert "left out: outputs/sweeps/a/20.1: not finished" in done.stdout.splitlines()
    lab.succeed("compare", "runs=[outputs/sweeps/a]", "group=[algo.n,algo.lr]", "output=mine")
    assert [(row["algo.n"], row["algo.lr"], row["seeds"]) for row in rows(lab.folder / "mine")] == [
        ("1", "0.1", "1"), ("1", "0.2", "1"), ("2", "0.2", "1"),
    ]  # fmt: skip
    assert [one["run"] for one in read_json(lab.folder / "mine/comparison.json")["left_out"]] == [
        "outputs/sweeps/a/20.1"
    ]
    lab.succeed("compare", "runs=[outputs]", "group=algo.lr")
    (written,) = (lab.folder / "outputs/comparisons").iterdir()
    assert [(row["algo.lr"], row["seeds"]) for row in rows(written)] == [("0.1", "1"), ("0.2", "2")]
