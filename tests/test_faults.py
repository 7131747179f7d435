"""A short fault injection; every kind of attack detects a planted fault."""

import importlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.faults import files, kills, lines
from experiments.faults.report import Row, reproductions, table
from experiments.faults.training import TRAININGS, same
from src.core.errors import UserError
from src.core.runs.run import Run
from src.engine import Engine
from tests.lab import ROOT

pytestmark = pytest.mark.slow

TABLE = next(training for training in TRAININGS if training.name == "qlearning, tictactoe")
SEARCH = "alphabeta, tictactoe"


def test_nothing_breaks():
    amounts = {"kills": 10, "commands": 1, "lines": 2000, "process-lines": 30, "interrupts": 3, "files": 60}
    arguments = [word for name, amount in amounts.items() for word in (f"--{name}", str(amount))]
    # In a process of its own: it forks, and a fork of one in which OpenMP has started threads would wait for them.
    done = subprocess.run(
        [sys.executable, "-m", "experiments.faults", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| lines | **all** | 2,000 | 2,000 | 0 |" in done.stdout
    assert "| files | **all** | 60 | 60 | 0 |" in done.stdout


# Faults that were planted.


def one_kill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aim: str, moment: float) -> Row:
    number = signal.SIGXFSZ if aim == "cut" else signal.SIGKILL
    monkeypatch.setattr(kills, "kills", lambda *_: [kills.Kill(aim, moment, number)])
    row = Row("kills", TABLE.name)
    kills.Killer(tmp_path, 0, [TABLE]).case(0, row)
    return row


def test_a_checkpoint_that_is_not_written_whole_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("src.core.runs.provenance.MAX_DIFF_CHARS", 0)  # a larger file would be cut before it
    monkeypatch.setattr("src.core.runs.checkpoint.write_atomic", lambda path, data: make_folder(path).write_bytes(data))
    row = one_kill(monkeypatch, tmp_path, "cut", 15_000)
    assert (row.tried, row.survived) == (1, 0)
    assert "safetensors is damaged" in row.failures[0].reason
    assert "kills: SIGXFSZ at cut 15000" in row.failures[0].reason


def make_folder(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    return path


def test_a_generator_that_does_not_advance_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    restore = Run.restore

    def without_generator(run: Run) -> dict[str, Any] | None:
        saved = restore(run)
        return saved if saved is None else saved | {"rng": np.random.default_rng(7).bit_generator.state}

    monkeypatch.setattr(Run, "restore", without_generator)
    row = one_kill(monkeypatch, tmp_path, "operation", 150)
    assert "metrics.csv differs" in row.failures[0].reason


class Lenient(Engine):
    """Accepts an illegal move."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        strict = self.game.parse_move

        def parse_move(state: Any, text: str) -> int:
            try:
                return strict(state, text)
            except UserError:
                return self.game.legal_actions(self.game.view(state))[0]

        self.game.parse_move = parse_move  # type: ignore[method-assign]


class Forgetful(Engine):
    """Loses the position after an error."""

    def answer(self, line: str) -> str:
        answer = super().answer(line)
        if answer.startswith("error "):
            self.state = self.game.play(self.start, self.game.legal_actions(self.game.view(self.start))[0])
        return answer


class Fragile(Engine):
    """Raises an error."""

    def analyse(self, arguments: list[str]) -> str:
        raise ValueError("a bug")


class Talkative(Engine):
    """Answers in another format."""

    def legal(self, arguments: list[str]) -> str:
        return "legal are " + super().legal(arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Lenient, "the moves became"),
        (Forgetful, "something has changed"),
        (Fragile, "ValueError: a bug"),
        (Talkative, "legal are"),
    ],
)
def test_a_fault_of_the_engine_is_reported(make: Callable[..., Engine], message: str):
    row = Row("lines", "planted")
    lines.Talks(0, make).case(0, row)
    assert message in row.failures[0].reason
    assert "--only lines --seed 0 --case 0" in reproductions([row], 0)


def raise_error(_: str) -> None:
    raise ValueError("a bug")


def write_elsewhere(_: str) -> None:
    Path("outside").write_text("changed")


def change_the_run(_: str) -> None:
    (files.RUN / "eval.json").write_text("{}")


def run_foreign_code(_: str) -> None:
    importlib.import_module("outputs.gift.p")


def take_memory(_: str) -> None:
    np.ones(1 << 33, np.uint8)


def hang(_: str) -> None:
    time.sleep(600)


@pytest.fixture(scope="module")
def hostilities(tmp_path_factory: pytest.TempPathFactory) -> files.Hostilities:
    return files.Hostilities(tmp_path_factory.mktemp("faults"), 0, [SEARCH, "qlearning, tictactoe"])


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (raise_error, "ValueError: a bug"),
        (write_elsewhere, "changed a file outside of the run"),
        (change_the_run, "changed outputs/run/eval.json"),
        (run_foreign_code, "executed foreign code"),
        (take_memory, "MemoryError"),
        (hang, "does not end within 3 s"),
    ],
)
def test_a_fault_of_a_reader_is_reported(
    hostilities: files.Hostilities, monkeypatch: pytest.MonkeyPatch, reader: Callable[[str], None], message: str
):
    monkeypatch.setattr(files, "READERS", (reader,))
    monkeypatch.setattr(files, "SECONDS", 3.0 if reader is hang else files.SECONDS)
    row = Row("files", "planted")
    assert hostilities.case(0, row) == "failed"
    assert message in row.failures[0].reason


def test_the_table_adds_up():
    rows = [Row("kills", "a", 10), Row("kills", "b", 5), Row("lines", "c", 7)]
    rows[1].fail(3, "broken")
    assert table(rows).splitlines()[2:] == [
        "| kills | a | 10 | 10 | 0 |  |",
        "| kills | b | 5 | 4 | 1 |  |",
        "| kills | **all** | 15 | 14 | 1 |  |",
        "| lines | c | 7 | 7 | 0 |  |",
    ]


def test_trees_are_compared_to_the_last_bit():
    tree = {"a": [np.array([1.0, np.nan]), 1, None], "b": {}}
    assert same(tree, {"a": [np.array([1.0, np.nan]), 1, None], "b": {}})
    for other in (
        {"a": [np.array([1.0, 2.0]), 1, None], "b": {}},
        {"a": [np.array([1.0, np.nan], np.float32), 1, None], "b": {}},
        {"a": [np.array([1.0, np.nan]), 1.0, None], "b": {}},
        {"a": [np.array([1.0, np.nan]), 1, None]},
    ):
        assert not same(tree, other)
