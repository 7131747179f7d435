"""Trainings started by the server, without a browser."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hydra import initialize_config_module
from starlette.requests import Request

from src.core.errors import UserError
from src.play import ConfigLab
from src.web.files import RunPath, read_metrics
from src.web.training import form, jobs
from src.web.training.form import Choices
from src.web.training.jobs import Jobs, is_running
from src.web.training.page import is_local
from tests.waiting import wait_until

LONG = ("algo.episodes=50000000", "logger=csv", "checkpoint_seconds=1", "algo.eval_every=100")


def state_of(job: jobs.Job) -> str:
    return jobs.state_of(job, jobs.tail(job))


def can_continue(job: jobs.Job) -> bool:
    return jobs.can_continue(job, state_of(job))


def until(condition: Callable[[], bool], jobs_: Jobs, what: str) -> None:
    """Wait for a condition, unless a training fails before."""

    def holds() -> bool:
        if condition():
            return True
        failed = [jobs.tail(job) for job in jobs_.all() if state_of(job) == "failed"]
        assert not failed, failed
        return False

    wait_until(holds, what)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Jobs]:
    found = Jobs(tmp_path / "outputs")
    yield found
    for job in found.running():
        os.killpg(job.pid or 0, 9)


def start(found: Jobs, *arguments: str) -> jobs.Job:
    return found.start(arguments, found.new_directory("tictactoe", "qlearning"))


def rows(job: jobs.Job) -> int:
    return len(read_metrics(RunPath("x", job.directory, job.directory)).columns.get("step", ()))


@pytest.mark.slow
def test_a_training_outlives_its_server_is_stopped_and_continued(started: Jobs):
    job = start(started, *LONG)
    until(lambda: rows(job) > 2, started, "rows of metrics")
    least = max(jobs.NICENESS, os.getpriority(os.PRIO_PROCESS, 0))
    assert os.getpriority(os.PRIO_PROCESS, job.pid or 0) == least, "those who play come first"
    after = Jobs(started.home)  # of a server that was started again
    assert [(one.name, one.pid, state_of(one)) for one in after.all()] == [(job.name, job.pid, "running")]
    assert after.all()[0].arguments == LONG
    with pytest.raises(UserError, match="is being trained already"):
        after.start([f"resume={job.directory}"], job.directory)
    after.stop(job.name)
    with pytest.raises(UserError, match=r"is being stopped|already ended"):
        after.stop(job.name)
    until(lambda: not is_running(job), started, "the end of the training")
    assert state_of(job) == "stopped"
    assert "stopped: continue with" in jobs.tail(job), "as after Ctrl-C in a terminal"
    assert (job.directory / "checkpoints/last.safetensors").exists()

    before = rows(job)
    again = after.start([f"resume={jobs.quoted(str(job.directory))}"], job.directory)
    until(lambda: rows(job) > before + 2, after, "rows of metrics")
    assert state_of(again) == "running"
    after.stop(again.name)
    until(lambda: not is_running(again), after, "the end of the training")
    assert [state_of(one) for one in after.all()] == ["stopped", "stopped"]


@pytest.mark.slow
def test_a_training_that_was_killed_has_failed_and_can_be_continued(started: Jobs):
    job = start(started, *LONG)
    until(lambda: rows(job) > 2, started, "rows of metrics")
    assert not can_continue(job), "it runs"
    os.killpg(job.pid or 0, signal.SIGKILL)
    wait_until(lambda: not is_running(job), "the end of the training")
    assert state_of(job) == "failed"
    assert can_continue(job)


@pytest.mark.slow
def test_a_training_that_does_not_stop_is_ended(started: Jobs):
    job = start(started, *LONG)
    until(lambda: (job.directory / "checkpoints/last.safetensors").exists(), started, "a checkpoint")
    with pytest.raises(UserError, match="stop this training before you end it"):
        started.end(job.name)
    os.killpg(job.pid or 0, signal.SIGSTOP)  # it hangs
    started.stop(job.name)
    assert state_of(job) == "stopping"
    started.end(job.name)
    until(lambda: not is_running(job), started, "the end of the training")
    assert state_of(job) == "stopped"
    assert can_continue(job)
    with pytest.raises(UserError, match="already ended"):
        started.end(job.name)


@pytest.mark.slow
def test_only_so_many_trainings_run_at_a_time(started: Jobs):
    running = [start(started, *LONG) for _ in range(jobs.MAX_RUNNING)]
    with pytest.raises(UserError, match=f"at most {jobs.MAX_RUNNING} run at a time: stop one, or wait"):
        start(started, *LONG)
    assert len(started.all()) == jobs.MAX_RUNNING, "the refused one left nothing behind"
    until(lambda: all((job.directory / "config.yaml").exists() for job in running), started, "the settings")
    started.stop(running[0].name)
    until(lambda: not is_running(running[0]), started, "the end of the training")
    assert is_running(start(started, *LONG))


@pytest.mark.slow
def test_a_training_that_is_refused_says_why_and_leaves_no_run(started: Jobs):
    job = start(started, "algo.lr=-1")
    wait_until(lambda: not is_running(job), "the end of the training")
    assert state_of(job) == "failed"
    assert not can_continue(job), "there is nothing to continue"
    assert "error: algo.lr=-1 must be" in jobs.tail(job)
    assert not job.directory.exists()


def test_broken_records_are_left_out(tmp_path: Path):
    for name, text in (("a", "{"), ("b", '{"pid": 1}'), ("c", '{"pid": "x", "arguments": [], "directory": "d"}')):
        (tmp_path / ".training" / name).mkdir(parents=True)
        (tmp_path / ".training" / name / "job.json").write_text(text)
    found = Jobs(tmp_path)
    assert found.all() == []
    with pytest.raises(UserError, match="is not a training"):
        found.stop("../../etc")


def test_old_records_are_forgotten_but_not_their_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "MAX_KEPT", 2)
    found = Jobs(tmp_path)
    for number in range(4):
        job = jobs.Job(tmp_path / ".training" / str(number), (), tmp_path / f"run{number}", None)
        job.directory.mkdir()
        jobs._write(job)
    found._forget()
    assert [job.name for job in found.all()] == ["3", "2"]
    assert all((tmp_path / f"run{number}").is_dir() for number in range(4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-m seed=1", "-m is a flag"),
        ("--config-dir=/tmp", "is a flag"),
        ("seed", "seed is not an override: write key=value"),
        ("hydra.run.dir=/tmp", "changes Hydra itself"),
        ("+hydra.launcher.x=1", "changes Hydra itself"),
        ("algo._target_=os.system", "names code to run"),
        ("+algo.x={_target_: os.system}", "names code to run"),
        ("algo.lr=${oc.env:HOME}", "has a $"),
        (r"'algo.net=$\{oc.create\:$\{oc.decode\:\\\{_tar$\{oc.select\:nope\,get\}_\\\:this\\\}\}\}'", "has a $"),
        (r"'algo.note=a\{b'", "or a backslash"),
        ("resume=outputs/x", "choose the run under Continue"),
        ("launcher=joblib", "start a sweep in a terminal"),
        ("hparams_search=optuna", "start a search in a terminal"),
        ("algo.lr='1", "a quotation mark"),
        ("x" * 5000, "at most 4,000 characters"),
    ],
)
def test_only_settings_are_overrides(text: str, message: str):
    with pytest.raises(UserError) as caught:
        form.words_of(text)
    assert message in str(caught.value)


def test_the_command_is_one_to_type():
    choices = Choices({"env": "quoridor", "algo": "", "reward": ""}, "seed=3\n'algo.note=a; rm -rf *'")
    assert choices.arguments() == ["env=quoridor", "seed=3", "algo.note=a; rm -rf *"]
    assert form.shown(choices.arguments()) == "python -m src.train env=quoridor seed=3 'algo.note=a; rm -rf *'"


def test_progress_is_read_from_the_output_and_the_log():
    output = "training in outputs\n  0% 0/20,000 episodes\n  5% 1,000/20,000 episodes, 300 episodes/s, ETA 1:00\n"
    assert jobs.progress(output, None) == (1000, 20_000, "episodes")
    assert jobs.progress(output, 1500.0) == (1500, 20_000, "episodes")
    assert jobs.progress(output, 1e9) == (20_000, 20_000, "episodes")
    assert jobs.progress(output + "  1% 10/1,000 games, random\n", 20_000.0) == (10, 1000, "games"), "the evaluation"
    assert jobs.progress("importing", 5.0) is None


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConfigLab]:
    with initialize_config_module("conf", version_base="1.3"):
        yield ConfigLab([tmp_path_factory.mktemp("outputs")], seed=0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["algo.lr=-1"], "algo.lr=-1 must be"),
        (["algo.speed=1"], "algo.speed is not a setting"),
        (["env=minesweeper_8x8"], "algo=qlearning cannot play env=minesweeper_8x8"),
        (["reward=minesweeper"], "reward=minesweeper does not fit env=tictactoe"),
        (["env=chess"], "env=chess is unknown"),
        (["seed=1,2"], "has several values"),
        (["a b=1"], "cannot be parsed"),
    ],
)
def test_a_training_is_checked_by_composing_it(lab: ConfigLab, overrides: list[str], message: str):
    with pytest.raises(UserError) as caught:
        lab.check_training(overrides)
    assert message in str(caught.value)


def test_code_is_refused_even_if_an_interpolation_hides_its_name(lab: ConfigLab, tmp_path: Path):
    made = tmp_path / "made"
    hidden = r"$\{oc.create\:$\{oc.decode\:\\\{_tar$\{oc.select\:nope\,get\}_\\\:os.mkdir\\\,path\\\:MADE\\\}\}\}"
    with pytest.raises(UserError, match=r"algo.net has _target_ 'os.mkdir', which is refused"):
        lab.check_training(["env=minesweeper_8x8", "algo=ppo", f"algo.net={hidden.replace('MADE', str(made))}"])
    assert not made.exists()


def test_what_the_form_leaves_open_is_chosen_by_the_configuration(lab: ConfigLab):
    groups = lab.training_groups()
    assert {"env", "algo", "reward", "curriculum"} <= groups.keys()
    assert "quoridor" in groups["env"]
    chosen = lab.check_training(["seed=3", "algo.lr=0.5"])
    assert {"env": "tictactoe", "algo": "qlearning", "reward": "outcome"}.items() <= chosen.items()
    assert lab.game("tictactoe").players == 2, "the pages compose as before"


@pytest.mark.parametrize(
    ("peer", "host", "local"),
    [
        ("127.0.0.1", "127.0.0.1:8080", True),
        ("127.0.0.1", "localhost", True),
        ("::1", "[::1]:8080", True),
        ("192.168.0.7", "192.168.0.1:8080", False),
        ("192.168.0.7", "localhost:8080", False),
        ("127.0.0.1", "evil.example:8080", False),  # a site whose name was made to point here
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "", False),
        ("", "localhost", False),
    ],
)
def test_only_this_machine_trains(peer: str, host: str, local: bool):
    scope = {"type": "http", "headers": [(b"host", host.encode())], "client": (peer, 1) if peer else None}
    assert is_local(Request(scope)) == local
