"""Training runs started by the server, without a browser."""

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hydra import initialize_config_module
from starlette.requests import Request

from src.core.errors import UserError
from src.core.package import CONFIG_DIRS, command
from src.play import ConfigLab
from src.web.files import RunPath, read_metrics
from src.web.training import form, jobs
from src.web.training.jobs import Job, Jobs
from src.web.training.page import is_local
from tests.lab import ROOT
from tests.waiting import wait_until

HIDDEN = r"$\{oc.create\:$\{oc.decode\:\\\{_tar$\{oc.select\:nope\,get\}_\\\:os.mkdir\\\,path\\\:MADE\\\}\}\}"
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
    least = max(jobs.NICENESS, os.getpriority(os.PRIO_PROCESS, 0))
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
    again = after.start([f"resume={jobs.quote_value(str(job.directory))}"], job.directory)
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
    folders = [started.home / ".training" / str(number) for number in range(jobs.MAX_RUNNING)]
    running = [Job(folder, LONG, started.home / folder.name) for folder in folders]
    with ExitStack() as locks:
        for job in running:
            job.directory.mkdir(parents=True)
            job.folder.mkdir(parents=True)
            job.save()
            (job.directory / "config.yaml").touch()
            fcntl.flock(locks.enter_context((job.folder / "alive").open("w")), fcntl.LOCK_EX)
        with pytest.raises(UserError, match=f"at most {jobs.MAX_RUNNING} run at a time: stop one, or wait"):
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
    monkeypatch.setattr(jobs, "MAX_KEPT", 2)
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


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("is a flag", ["-m seed=1", "--config-dir=/tmp"]),
        ("seed is not an override: write key=value", ["seed"]),
        ("changes Hydra itself", ["hydra.run.dir=/tmp", "+hydra.launcher.x=1"]),
        ("names code to run", ["algo._target_=os.system", "+algo.x={_target_: os.system}"]),
        ("has a $ or a backslash", ["algo.lr=${oc.env:HOME}", r"'algo.note=a\{b'", f"'algo.net={HIDDEN}'"]),
        ("choose the run under Continue", ["resume=outputs/x"]),
        ("start others in a terminal", ["launcher=joblib"]),
        ("start a search in a terminal", ["hparams_search=optuna"]),
        ("a quotation mark", ["algo.lr='1"]),
        ("at most 4,000 characters", ["x" * 5000]),
    ],
)
def test_only_settings_are_overrides(message: str, texts: list[str]):
    for text in texts:
        with pytest.raises(UserError) as caught:
            form.parse_overrides(text)
        assert message in str(caught.value)


def test_the_command_is_one_to_type():
    options = {"env": "quoridor", "algo": form.DEFAULT, "reward": form.DEFAULT}
    arguments = form.train_arguments(options, "seed=3\n'algo.note=a; rm -rf *'")
    assert arguments == ["env=quoridor", "seed=3", "algo.note=a; rm -rf *"]
    assert command("train", *arguments) == "python -m src.train env=quoridor seed=3 'algo.note=a; rm -rf *'"


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


def test_several_values_are_a_sweep_with_a_run_for_each_combination(lab: ConfigLab):
    hidden = "net_defaults.hidden=[64,64]"
    assert lab.training_jobs(["env=quoridor", hidden, "~x"]) == [["env=quoridor", hidden, "~x"]]
    jobs = lab.training_jobs(["seed=1,2", "algo.lr=0.1,0.2", "reward=outcome"])
    assert jobs == [[f"seed={s}", f"algo.lr={lr}", "reward=outcome"] for s in (1, 2) for lr in (0.1, 0.2)]
    for text, message in (("seed=range(0,1000000000)", "more than 64 runs"), ("algo.lr=interval(0,1)", "for a search")):
        with pytest.raises(UserError, match=message):
            lab.training_jobs([text])


def test_only_algorithms_that_can_play_the_game_are_offered(lab: ConfigLab):
    usual, fitting = lab.fitting_algorithms("minesweeper_8x8")
    assert usual == "qlearning"
    assert {"ppo", "imitation"} <= set(fitting)
    assert not {"qlearning", "alphazero", "nnue"} & set(fitting)
    assert "qlearning" in lab.fitting_algorithms(None)[1]


def test_presets_are_valid(lab: ConfigLab):
    for preset in form.PRESETS:
        assert preset.options.items() <= lab.check_training(form.train_arguments(preset.options, "")).items()


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


def test_code_is_refused_even_if_an_interpolation_hides_its_name(lab: ConfigLab, tmp_path: Path):
    made = tmp_path / "made"
    with pytest.raises(UserError, match=r"algo.net has _target_ 'os.mkdir', which is refused"):
        lab.check_training(["env=minesweeper_8x8", "algo=ppo", f"algo.net={HIDDEN.replace('MADE', str(made))}"])
    assert not made.exists()


def test_what_the_form_leaves_open_is_chosen_by_the_configuration(lab: ConfigLab, monkeypatch: pytest.MonkeyPatch):
    groups = lab.training_groups()
    assert {"env", "algo", "reward", "curriculum"} <= groups.keys()
    assert "quoridor" in groups["env"]
    assert "gomoku" not in groups["env"]
    monkeypatch.setenv(CONFIG_DIRS, str(ROOT / "tests/extension/conf"))
    assert "gomoku" in lab.training_groups()["env"], "of --config-dir"
    monkeypatch.delenv(CONFIG_DIRS)
    chosen = lab.check_training(["seed=3", "algo.lr=0.5"])
    assert {"env": "tictactoe", "algo": "qlearning", "reward": "outcome"}.items() <= chosen.items()
    assert lab.game("tictactoe").players == 2, "the pages compose as before"


@pytest.mark.parametrize(
    ("peer", "hosts", "local"),
    [
        ("127.0.0.1", ["127.0.0.1:8080", "localhost"], True),
        ("::1", ["[::1]:8080"], True),
        ("192.168.0.7", ["192.168.0.1:8080", "localhost:8080"], False),
        ("127.0.0.1", ["evil.example:8080", "localhost.evil.example", ""], False),  # names that were made to point here
        ("", ["localhost"], False),
    ],
)
def test_only_this_machine_trains(peer: str, hosts: list[str], local: bool):
    for host in hosts:
        scope = {"type": "http", "headers": [(b"host", host.encode())], "client": (peer, 1) if peer else None}
        assert is_local(Request(scope)) == local
