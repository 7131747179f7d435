"""Training runs in processes of their own."""

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from src.core.errors import UserError
from src.core.runs import training_jobs
from src.core.runs.index.files import RunPath, read_metrics
from src.core.runs.training_jobs import Job, Jobs
from tests.waiting import wait_until

LONG = ("algo.episodes=50000000", "logger=csv", "checkpoint_seconds=1", "algo.eval_every=100")


def until(condition: Callable[[], bool], started: Jobs, what: str) -> None:
    """Wait for a condition; stop waiting if a training run fails."""
    wait_until(lambda: condition() or any(job.state() == "failed" for job in started.all()), what)
    assert condition(), [job.output() for job in started.all()]


def wait_end(job: Job) -> None:
    wait_until(lambda: not job.is_running(), "the end of the training")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Jobs]:
    found = Jobs(tmp_path / "outputs")
    yield found
    for job in found.running():
        os.killpg(job.pid or 0, 9)


def start(started: Jobs, *arguments: str) -> Job:
    return started.start(arguments, started.new_directory("tictactoe", "qlearning"))


def rows(job: Job) -> int:
    return len(read_metrics(RunPath("x", job.directory, job.directory), ["step"]).columns.get("step", ()))


@pytest.mark.slow
def test_a_training_run_outlives_its_server_is_stopped_and_continued(started: Jobs):
    job = start(started, *LONG)
    until(lambda: rows(job) > 2, started, "rows of metrics")
    least = max(training_jobs.NICENESS, os.getpriority(os.PRIO_PROCESS, 0))
    assert os.getpriority(os.PRIO_PROCESS, job.pid or 0) == least, "those who play come first"
    after = Jobs(started.home)  # of a server that was started again
    assert after.all() == [job]
    assert (job.arguments, job.state(), job.can_continue()) == (LONG, "running", False)
    with pytest.raises(UserError, match="is being trained already"):
        after.start([f"resume={job.directory}"], job.directory)
    job.stop()
    wait_end(job)
    assert (job.state(), job.can_continue()) == ("stopped", True)
    assert "stopped: continue with" in job.output(), "as after Ctrl-C in a terminal"
    assert (job.directory / "checkpoints/last.safetensors").exists()

    before = rows(job)
    again = after.start([f"resume={training_jobs.quote_value(str(job.directory))}"], job.directory)
    until(lambda: rows(job) > before + 2, after, "rows of metrics")
    with pytest.raises(UserError, match="stop this training before you end it"):
        again.kill()
    os.killpg(again.pid or 0, signal.SIGSTOP)  # it hangs
    again.stop()
    assert again.state() == "stopping"
    with pytest.raises(UserError, match="is being stopped"):
        again.stop()
    again.kill()
    wait_end(again)
    assert [(one.state(), one.can_continue()) for one in after.all()] == [("stopped", True)] * 2
    for act in (again.stop, again.kill):
        with pytest.raises(UserError, match="already ended"):
            act()


def test_training_runs_are_limited_and_a_killed_one_has_failed(started: Jobs):
    """A job runs as long as its file is locked, here by this process."""
    folders = [started.home / ".training" / str(number) for number in range(training_jobs.MAX_RUNNING)]
    running = [Job(folder, LONG, started.home / folder.name) for folder in folders]
    with ExitStack() as locks:
        for job in running:
            job.directory.mkdir(parents=True)
            job.folder.mkdir(parents=True)
            job.save()
            (job.directory / "config.yaml").touch()
            fcntl.flock(locks.enter_context((job.folder / "alive").open("w")), fcntl.LOCK_EX)
        with pytest.raises(UserError, match=f"at most {training_jobs.MAX_RUNNING} run at a time: stop one, or wait"):
            start(started, *LONG)
        assert started.running() == running[::-1], "the refused one left nothing behind"
    assert (running[0].state(), running[0].can_continue()) == ("failed", True)


@pytest.mark.slow
def test_a_training_that_is_refused_says_why_and_leaves_no_run(started: Jobs):
    job = start(started, "algo.lr=-1")
    wait_end(job)
    assert (job.state(), job.can_continue()) == ("failed", False)
    assert "error: algo.lr=-1 must be" in job.output()
    assert not job.directory.exists()


def test_broken_and_old_records_are_forgotten_but_not_their_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training_jobs, "MAX_KEPT", 2)
    records = [Job(tmp_path / ".training" / str(number), (), tmp_path / f"run{number}") for number in range(4)]
    for job in records:
        job.directory.mkdir()
        job.folder.mkdir(parents=True)
        job.save()
    for name, text in (("a", "{"), ("b", '{"pid": 1}'), ("c", '{"pid": "x", "arguments": [], "directory": "d"}')):
        (tmp_path / ".training" / name).mkdir()
        (tmp_path / ".training" / name / "job.json").write_text(text)
    found = Jobs(tmp_path)
    assert found.all() == records[::-1]
    found.forget_old()
    assert found.all() == records[:1:-1]
    assert all(job.directory.is_dir() for job in records)


def test_a_run_that_was_continued_is_listed_once_and_a_sweep_ends_with_its_last_run(tmp_path: Path):
    sweep = ("-m", "seed=1,2")
    records = [
        Job(tmp_path / ".training" / str(number), arguments, tmp_path / run)
        for number, (arguments, run) in enumerate([(LONG, "a"), (sweep, "b"), (("resume=a",), "a")])
    ]
    for job in records:
        job.folder.mkdir(parents=True)
        job.save()
    assert Jobs(tmp_path).latest() == [records[2], records[1]]
    for number in (2, 10):
        (tmp_path / "b" / str(number)).mkdir(parents=True)
        (tmp_path / "b" / str(number) / "config.yaml").touch()
        (tmp_path / "b" / "2" / "eval.json").touch()
    assert [run.name for run in records[1].runs()] == ["2", "10"]
    assert (records[1].state(), records[1].can_continue()) == ("failed", True)
    (tmp_path / "b" / "10" / "eval.json").touch()
    assert (records[1].state(), records[1].can_continue()) == ("finished", False)
