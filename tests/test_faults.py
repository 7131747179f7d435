"""A short fault injection; every kind of attack detects a planted fault."""

import asyncio
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wandb

from experiments.faults import files, kills, lines, links, report, searches, sweeps, tabs, torchrun
from experiments.faults.__main__ import ATTACKS
from experiments.faults.report import Row
from experiments.faults.training import TRAININGS, same
from src.config.hparams_search import Search
from src.core.errors import UserError
from src.core.runs.run import Run
from src.engine import Engine
from tests.lab import ROOT

pytestmark = pytest.mark.slow

TABLE = next(training for training in TRAININGS if training.name == "qlearning, tictactoe")
SAMPLE = {"files": 4, "links": 2} | dict.fromkeys(
    ("kills", "sweeps", "commands", "searches", "garbage", "interrupts", "tabs"), 1
)
ELSEWHERE = {"lines", "command-lines", "torchrun"}  # in test_engine.py and test_bad_inputs.py; the last takes minutes


def test_nothing_breaks(tmp_path: Path):
    assert SAMPLE.keys() | ELSEWHERE == ATTACKS.keys()
    amounts = ["--only", *SAMPLE] + [word for name, amount in SAMPLE.items() for word in (f"--{name}", str(amount))]
    # In a process of its own: it forks, and a fork of one in which OpenMP has started threads would wait for them.
    command = [sys.executable, "-m", "experiments.faults", "--json", str(tmp_path / "results.jsonl"), *amounts]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}  # see NiceGUI
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    tried = Counter[str]()
    for row in report.read(tmp_path / "results.jsonl"):
        tried[row.attack] += row.tried
    assert all(tried[name] >= amount for name, amount in SAMPLE.items())


# Faults that were planted.


def one_kill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aim: str, moment: float) -> Row:
    number = signal.SIGXFSZ if aim == "cut" else signal.SIGKILL
    monkeypatch.setattr(kills, "kills", lambda *_: [kills.Kill(aim, moment, number)])
    row, folder = Row("kills", TABLE.name), tmp_path / "kills"
    folder.mkdir()
    kills.Killer(folder, 0, [TABLE]).case(0, row)
    return row


def test_a_checkpoint_that_is_not_written_whole_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("src.core.runs.provenance.MAX_DIFF_CHARS", 0)  # a larger file would be cut before it
    monkeypatch.setattr("src.core.runs.checkpoint.write_atomic", lambda path, data: make_folder(path).write_bytes(data))
    row = one_kill(monkeypatch, tmp_path, "cut", 15_000)
    assert row.tried == 1
    assert "safetensors is damaged" in row.failures[0]
    assert "kills: SIGXFSZ at cut 15000" in row.failures[0]


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
    assert "metrics.csv differs" in row.failures[0]


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

    def analyze(self, arguments: list[str]) -> str:
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
    lines.Talks(Path(), 0, make).case(0, row)
    assert message in row.failures[0]
    assert "--only lines --seed 0 --case 0" in report.reproductions([row], 0)


def raise_error(_: str) -> None:
    raise ValueError("a bug")


def write_elsewhere(_: str) -> None:
    Path("outside/secret").write_text("changed")


def read_elsewhere(_: str) -> None:
    Path("outside/secret").read_text()


def print_an_escape(_: str) -> None:
    print("\x1b[31m")


def change_the_run(_: str) -> None:
    (files.RUN / "eval.json").write_text("{}")


def run_foreign_code(_: str) -> None:
    importlib.import_module("outputs.gift.p")


def take_memory(_: str) -> None:
    np.ones(1 << 33, np.uint8)


def hang(_: str) -> None:
    time.sleep(600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an attack, beside the reference runs of all."""
    folder = tmp_path_factory.mktemp("faults") / "attack"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (raise_error, "ValueError: a bug"),
        (write_elsewhere, "changed outside/secret"),
        (read_elsewhere, "which is outside"),
        (print_an_escape, "prints an escape"),
        (change_the_run, "changed outputs/run/eval.json"),
        (run_foreign_code, "executed foreign code"),
        (take_memory, "MemoryError"),
        (hang, "does not end within 3 s"),
    ],
)
def test_a_fault_of_a_reader_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reader: Callable[[str], None], message: str
):
    monkeypatch.setattr(files, "READERS", (reader,))
    monkeypatch.setattr(files, "SECONDS", 3.0 if reader is hang else files.SECONDS)
    row = Row("files", "planted")
    files.Runs(folder, 0, ["qlearning, tictactoe"]).case(0, row)
    assert message in row.failures[0]


def follow_links(*_: str) -> None:
    for path in Path("outputs").rglob("*"):
        if path.is_symlink():
            (path / "x" if path.is_dir() else path).write_text("through a link")


def put_link(_: object, path: Path, outside: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "secret")


@pytest.mark.parametrize("attack", [links.Links, sweeps.Sweeps])
def test_a_command_that_writes_through_links_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, attack: type[files.Hostilities]
):
    monkeypatch.setattr(links, "RUNS", (TABLE.name,))  # without OpenMP, whose threads a fork would wait for
    monkeypatch.setattr(sweeps, "NAMES", ("0/train.log",))
    monkeypatch.setattr(sweeps, "put_special", put_link)
    for reader in ("command", "page"):
        monkeypatch.setattr(sys.modules[attack.__module__], reader, follow_links)
    row = Row(attack.name, "planted")
    attack(folder, 0).case(0, row)
    assert "changed outside/" in row.failures[0]


def test_an_artifact_from_outside_a_run_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    run, names = tmp_path / "run", ("run/inside", "outside")
    run.mkdir()
    with wandb.init(mode="offline", dir=run, settings=wandb.Settings(silent=True, console="off")) as tracked:
        artifact = wandb.Artifact("files", "model")
        for name in names:
            (tmp_path / name).write_text(name)
            artifact.add_file(str(tmp_path / name), policy="immutable", skip_cache=True)
        tracked.log_artifact(artifact)
    wandb.teardown()  # which writes what is left
    assert links.uploaded(run) == [str(tmp_path / "outside")]


def test_a_search_that_forgets_interrupted_trials_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Search, "_interrupted", lambda _: iter(()))
    kill = kills.Kill("operation", 200, signal.SIGKILL)
    monkeypatch.setattr(searches, "kills", lambda *_: [kill])
    row = Row("searches", "killed")
    searches.Searches(tmp_path, 0).case(1, row)
    assert "the trials differ" in row.failures[1]


def test_a_rank_that_does_not_end_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torchrun, "ENDING", 0.1)
    environment = os.environ | {"FAULTS_CASE": f"{tmp_path}", "LOCAL_RANK": "0"}
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environment)
    reason = torchrun.Torchrun(tmp_path, 0).wait_for_end(str(tmp_path), launcher=0)
    assert reason is not None
    assert "1 ranks still run" in reason
    assert process.wait() == -signal.SIGKILL


def test_a_page_that_is_not_served_is_reported(tmp_path: Path):
    class Broken(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(500)

    server = HTTPServer(("127.0.0.1", 0), Broken)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reason = asyncio.run(tabs.Tabs(tmp_path, 0).visit(f"http://127.0.0.1:{server.server_port}"))
    server.shutdown()
    assert reason is not None
    assert reason.count("status 500") == 9


def test_the_table_adds_up(tmp_path: Path):
    rows = [Row("kills", "a", 10), Row("kills", "b", 5), Row("files", "c", 7), Row("kills", "a", 2)]
    rows[1].fail(3, "broken")
    rows[2].verdicts.update(refused=4, worked=3)
    report.write(tmp_path / "results.jsonl", report.merged(rows))
    report.replace_attacks(tmp_path / "results.jsonl", [Row("files", "c", 8)])
    kept = (tmp_path / "table.md").read_text()
    assert kept.splitlines()[2:] == ["| kills | 2 | 17 | 1 |  |  | `` |", "| files | 1 | 8 | 0 |  |  | `` |"]
    assert report.table([rows[2]]).splitlines()[2:] == ["| files | 1 | 7 | 0 | 4 | 3 | `` |"]


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
