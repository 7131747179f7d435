"""The training command: its files, its options, and that no failure loses a run."""

import csv
import http.server
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import yaml
from omegaconf import DictConfig

from src.config.compose import compose_train
from src.config.load import load_config
from src.core.errors import UserError
from src.core.runs import checkpoint
from src.train import train
from tests.algos.making import rows_without_times
from tests.golden.metrics import is_documented
from tests.lab import ROOT, Lab, Process, contents, read_json
from tests.wandb_file import history, of_kind, offline_file, run_record, summary

LAST = "checkpoints/last.safetensors"
QUICK = ("algo.episodes=600", "algo.eval_every=200", "evaluation.episodes=40")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Lab(tmp_path_factory.mktemp("finished")).train(*QUICK, "logger=csv")


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, subprocess.CompletedProcess]:
    """Return a command that was run in an empty folder, and its output."""
    lab = Lab(tmp_path_factory.mktemp("tracked"))
    return lab, lab.run("train", *QUICK, "seed=5")


@pytest.fixture(scope="module")
def tracked_run(tracked: tuple[Lab, subprocess.CompletedProcess]) -> Path:
    lab, done = tracked
    assert done.returncode == 0, done.stderr
    return lab.run_directories()[-1]


def results_without_times(run: Path) -> dict:
    result = read_json(run / "eval.json")
    for score in result["scores"].values():
        del score["seconds"]
    return result


def assert_same_end(run: Path, other: Path) -> None:
    assert rows_without_times(run) == rows_without_times(other)
    assert results_without_times(run) == results_without_times(other)
    assert (run / "qtable.json").read_bytes() == (other / "qtable.json").read_bytes()


def test_a_run_leaves_everything_in_its_directory(tracked: tuple[Lab, subprocess.CompletedProcess]):
    lab, done = tracked
    assert done.returncode == 0, done.stderr
    (run,) = lab.run_directories()
    assert run.parent == lab.folder / "outputs/runs/tictactoe/qlearning"
    assert {path.name for path in run.iterdir()} >= {
        ".hydra", "train.log", "metrics.csv", "eval.json", "checkpoints", "wandb", "config.yaml", "qtable.json",
    }  # fmt: skip
    assert {path.stem for path in (run / "checkpoints").iterdir()} == {"first", "last", "best"}
    assert "qlearning on tictactoe" in done.stdout
    assert "Warning" not in done.stderr
    assert "95% range" in done.stdout
    assert [row["step"] for row in rows_without_times(run)] == ["200", "400", "600", "600"]
    assert yaml.safe_load((run / "config.yaml").read_text())["composition"]["algo"] == "qlearning"


def numbers(row: dict[str, str]) -> dict[str, float]:
    """Return a logged row without the values that wandb adds."""
    return {name: json.loads(value) for name, value in row.items() if not name.startswith("_")}


def test_a_wandb_dashboard_shows_curves_and_the_rest_once(tracked_run: Path):
    run, path = tracked_run, offline_file(tracked_run)
    logged = history(path)
    *curves, table, picture = [row for row in logged if not any(name.startswith("eval/game") for name in row)]
    curve = {"step", "time/seconds", "time/steps_per_second", "train/td_error", "train/table_size", "train/stage"}
    curve |= {"eval/not_lost_share", "eval/lost_lines", "eval/elo", "eval/elo_low", "eval/elo_high"}
    curve |= {f"{group}/{name}" for group in ("eval", "eval/all") for name in ("win_rate", "episodes")}
    curve |= {f"{group}/win_rate_{end}" for group in ("eval", "eval/all") for end in ("low", "high")}
    curve |= {"eval/all/win_rate_error"}
    curve |= {f"eval/lost_lines_{part}_{seat}" for part in ("table", "shortcuts") for seat in ("first", "second")}
    assert [numbers(row).keys() for row in curves] == [curve] * 3, "no final figure is a curve of one point"
    assert [numbers(row)["step"] for row in curves] == [200, 400, 600]
    games = [row for row in logged if "eval/game._type" in row]
    assert [(row["eval/game._type"], row["step"]) for row in games] == [
        ('"video-file"', str(s)) for s in (200, 400, 600)
    ]
    assert [path.stem for path in sorted((run / "videos").iterdir())] == [f"{step:012}" for step in (200, 400, 600)]
    assert {name.split(".")[0] for name in table if name[0] != "_"} == {"final/baselines", "step"}
    assert {name.split(".")[0] for name in picture if name[0] != "_"} == {"eval/win_rate_curve", "step"}
    assert table["step"] == picture["step"] == "600"

    with (run / "metrics.csv").open(newline="") as file:
        *rows, last = csv.DictReader(file)
    assert [float(row["eval/not_lost_share"]) for row in rows] == [
        numbers(row)["eval/not_lost_share"] for row in curves
    ]
    shown = summary(path)
    final = {name: float(value) for name, value in last.items() if name.startswith("final/")}
    assert {name: shown[name] for name in final} == final
    assert {f"final/{name}" for name in ("win_rate", "win_rate_low", "win_rate_high", "episodes")} < final.keys()
    assert {"final/elo", "final/elo_low", "final/elo_high"} < final.keys()
    assert {f"final/minimax/{name}_rate" for name in ("win", "draw", "loss")} < final.keys()
    assert all(is_documented(name) for name in {*curve, *final, "final/baselines", "eval/win_rate_curve"})


def test_a_wandb_run_has_name_and_tags(tracked_run: Path):
    record = run_record(offline_file(tracked_run))
    changed = "algo.episodes=600-eval_every=200-evaluation.episodes=40"  # ambiguous last parts
    assert record.display_name == f"tictactoe-qlearning-{changed}-seed5"
    assert list(record.tags) == ["env:tictactoe", "algo:qlearning", "reward:outcome", "curriculum:none"]
    assert record.run_group == "tictactoe-qlearning"
    assert record.project == "tactical-board-games"
    config = {item.key: json.loads(item.value_json) for item in record.config.update}
    assert config["algo"]["episodes"] == 600
    provenance = config["provenance"]
    assert provenance["commit"] == (git("rev-parse", "HEAD").strip() or None)
    assert provenance["dirty"] == (bool(git("status", "--porcelain")) if provenance["commit"] else None)
    assert provenance["versions"]["numpy"] == np.__version__
    assert provenance["hardware"]["cores"] >= 1


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout


def test_wandb_has_axes_summaries_and_artifacts(tracked_run: Path):
    run, path = tracked_run, offline_file(tracked_run)
    axes = {record.name or record.glob_name: record.step_metric for record in of_kind(path, "metric")}
    curves = ("eval/win_rate", "eval/elo", "eval/not_lost_share", "train/win_rate")
    assert axes == {"step": "", "*": "step"} | dict.fromkeys(curves, "step")
    scores = [float(row["eval/not_lost_share"]) for row in rows_without_times(run) if row["eval/not_lost_share"]]
    assert summary(path)["eval/not_lost_share"] == {"max": max(scores), "last": scores[-1]}
    logged = of_kind(path, "artifact")
    first, last = (one for one in logged if one.type == "model")
    assert [entry.path for entry in first.manifest.contents] == ["best.safetensors"], "while it trained"
    assert set(first.aliases) == set(last.aliases) == {"best", "latest"}
    artifacts = {artifact.type: artifact for artifact in logged}  # of a type the last one
    files = {
        kind: {entry.path: Path(entry.local_path) for entry in artifact.manifest.contents}
        for kind, artifact in artifacts.items()
    }
    names = ("best", "last")
    assert files["model"] == {f"{name}.safetensors": run / f"checkpoints/{name}.safetensors" for name in names}
    assert files["evaluation"] == {"eval.json": run / "eval.json"}
    assert ("code" in files) == (run / "diff.patch").exists()
    stored = [path for found in files.values() for path in found.values()]
    assert all(run in path.parents for path in stored), "to be uploaded later it has to stay with the run"
    result = read_json(run / "eval.json")["scores"]
    (table,) = run.glob("wandb/offline-run-*/files/media/table/final/*.table.json")
    rows = read_json(table)
    assert rows["columns"] == ["baseline", "episodes", "wins", "draws", "losses", "aborted", "win_rate", "low", "high"]
    assert [row[0] for row in rows["data"]] == ["random", "minimax"]
    for name, *row in rows["data"]:
        assert row[5:] == [result[name]["win_rate"], *result[name]["win_rate_ci95"]]


class Sink(http.server.BaseHTTPRequestHandler):
    """Records every request and rejects it."""

    requests: ClassVar[list[str]] = []

    def refuse(self) -> None:
        self.requests.append(self.requestline)
        self.send_error(404)

    do_GET = do_POST = do_PUT = do_CONNECT = refuse  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


GUARD = """
import os, socket
connect = socket.socket.connect

def guarded(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(("127.", "::1")):
        with open(os.environ["CONNECTIONS"], "a") as file:
            print(address, file=file)
    return connect(self, address)

socket.socket.connect = guarded
"""


@pytest.fixture(scope="module")
def guarded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An offline run of a Python process of its own, where the guard sits and wandb would ask `Sink` for its proxy."""
    lab = Lab(tmp_path_factory.mktemp("guarded"))
    (lab.folder / "guard").mkdir()
    (lab.folder / "guard/sitecustomize.py").write_text(GUARD)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        environment = dict.fromkeys(("WANDB_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY"), address)
        environment |= {"PYTHONPATH": f"{lab.folder / 'guard'}:{ROOT}", "CONNECTIONS": str(lab.folder / "connections")}
        run = lab.train(*QUICK, environment=environment)
        server.shutdown()
    return run


def test_an_offline_run_sends_nothing(guarded_run: Path):
    """Neither from Python nor from the service of wandb."""
    assert history(offline_file(guarded_run))
    assert Sink.requests == []
    assert not (guarded_run.parents[4] / "connections").exists()


def test_the_same_command_gives_the_same_metrics(guarded_run: Path, finished_run: Path, tracked_run: Path):
    assert_same_end(guarded_run, finished_run)  # which has another hash seed
    assert rows_without_times(tracked_run) != rows_without_times(guarded_run), "it has another seed"


def rows_written(run: Path) -> int:
    return (run / "metrics.csv").read_text().count("\n") - 1 if (run / "metrics.csv").exists() else 0


def wait_for(process: Process, condition: Callable[[], bool]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


@pytest.mark.slow
def test_a_killed_run_ends_like_one_that_was_not(lab: Lab):
    overrides = ["logger=csv", "algo.episodes=4000", "algo.eval_every=200", "evaluation.episodes=40", "seed=2"]
    overrides += ["curriculum=random_first", "curriculum.promote_at=0.93"]
    overrides += ["algo.lr=0.5", "checkpoint_seconds=0.1"]
    uninterrupted = lab.train(*overrides)
    stages = [row["train/stage"] for row in rows_without_times(uninterrupted)]
    promoted_after = stages.index("1")
    assert 2 < promoted_after < 15, "some kills have to fall on either side of the promotion"

    process, moments = lab.start("train", *overrides), random.Random(0)
    wait_for(process, lambda: len(lab.run_directories()) == 2)
    (killed,) = set(lab.run_directories()) - {uninterrupted}
    for rows in [0, 1, promoted_after, promoted_after + 2, 17]:
        wait_for(process, lambda rows=rows: rows_written(killed) >= rows)  # type: ignore[misc]
        time.sleep(moments.uniform(0.0, 0.1))
        process.kill()
        process.communicate()
        if rows > 1:
            assert checkpoint.load(killed / LAST)["learner"]["episode"] > 0
        process = lab.start("train", f"resume={killed}", "logger=csv")
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert_same_end(killed, uninterrupted)


def resume(run: Path) -> None:
    """Resume a run as its command does, in this process."""
    train(DictConfig({**load_config(run), "logger": compose_train("logger=csv").logger}), run)


def test_resuming_a_finished_run_gives_the_same_results_again(tmp_path: Path, finished_run: Path):
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    resume(run)
    assert_same_end(run, finished_run)


@pytest.mark.slow
def test_a_resumed_run_is_one_run_in_wandb(lab: Lab):
    run = lab.train("algo.episodes=100", "algo.eval_every=100", "evaluation.episodes=10")
    assert lab.run("train", f"resume={run}").returncode == 0
    files = sorted(run.glob("wandb/offline-run-*/run-*.wandb"))
    assert len(files) == 2
    assert len({run_record(path).run_id for path in files}) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algo: {_target_: os.system}", "os.system"),
        ("algo: {_target_: src.core.files.os.remove}", "os.remove"),
        ("algo: {_target_: src.algos.maskable_ppo.model.Model.load}", "Model.load"),
        ("seed: '${oc.env:HOME}'", "interpolation"),
        ("a: [1", "YAML"),
        ("just words", "not the configuration of a run"),
        (None, "not a run directory"),
    ],
)
def test_what_is_no_configuration_of_a_run_is_refused(tmp_path: Path, text: str | None, message: str):
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=message):
        resume(tmp_path)


@pytest.mark.parametrize("name", ["train.log", ".lock", "wandb"])
def test_a_link_in_a_run_directory_is_not_written_through(lab: Lab, finished_run: Path, name: str):
    run = Path(shutil.copytree(finished_run, lab.folder / "run"))
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(lab.folder / "outside")
    done = lab.run("train", f"resume={run}", "logger=csv")
    assert f"{name} is a symlink" in done.stderr
    assert not (lab.folder / "outside").exists()


TINY = ("algo.total_steps=64", "algo.num_envs=4", "algo.steps_per_env=8", "algo.mini_batches=2", "algo.eval_episodes=2")


def test_a_run_resumes_without_the_run_that_it_started_from(tmp_path: Path):
    common, first, second = ("algo=ppo", *TINY, "evaluation.episodes=4", "logger=csv"), tmp_path / "a", tmp_path / "b"
    train(compose_train(*common), first)
    train(compose_train(*common, f"algo.init_from={first}"), second)
    before = rows_without_times(second)
    first.rename(tmp_path / "moved")
    resume(second)
    assert rows_without_times(second) == before
    with pytest.raises(UserError, match="there is no checkpoint at"):
        train(compose_train(*common, f"algo.init_from={first}"), tmp_path / "c")


def test_a_directory_that_holds_a_run_takes_no_other(lab: Lab, finished_run: Path):
    before = contents(finished_run)
    assert ".hydra/overrides.yaml" in before
    done = lab.refuse("train", *QUICK, "logger=csv", "seed=9", f"hydra.run.dir={finished_run}")
    assert "already contains a run" in done.stderr
    assert contents(finished_run) == before


def test_the_notes_of_another_command_are_left_alone(lab: Lab):
    (lab.folder / "mine/.hydra").mkdir(parents=True)
    (lab.folder / "mine/.hydra/config.yaml").write_text("theirs: 1\n")
    before = contents(lab.folder)
    done = lab.run("train", "algo.epsilon=7", "hydra.run.dir=mine")
    assert "mine/.hydra belongs to another command" in done.stderr
    assert contents(lab.folder) == before


def test_a_refused_run_leaves_the_directory_that_was_named(lab: Lab):
    (lab.folder / "mine").mkdir()
    assert lab.run("train", "algo.epsilon=7", "hydra.run.dir=mine").returncode != 0
    assert list(lab.folder.iterdir()) == [lab.folder / "mine"]


def test_a_run_with_a_quote_in_its_path_can_be_resumed(lab: Lab, finished_run: Path):
    run = Path(shutil.copytree(finished_run, lab.folder / "it's mine"))
    lab.succeed("train", f"resume={run}", "logger=csv")


@pytest.mark.slow
def test_an_untrusted_run_does_not_decide_where_results_go(lab: Lab, finished_run: Path):
    run = Path(shutil.copytree(finished_run, lab.folder / "run"))
    config = yaml.safe_load((run / "config.yaml").read_text())
    target = {"_target_": "src.core.runs.trackers.WandbTracker", "mode": "online", "project": "theirs"}
    config["logger"] = {"tracker": target | {"entity": "stranger", "init_timeout": 1}}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    done = lab.succeed("train", f"resume={run}")
    assert "wandb could not" not in done.stderr
    assert run_record(offline_file(run)).project == "tactical-board-games"


def test_a_run_that_is_still_going_cannot_be_resumed(lab: Lab):
    process = lab.start("train", "logger=csv", "algo.episodes=1000000")
    wait_for(process, lambda: bool(lab.run_directories()))
    (run,) = lab.run_directories()
    done = lab.run("train", f"resume={run}")
    process.kill()
    process.communicate()
    assert "another process is training" in done.stderr


def wandb_service_of(pid: int) -> int | None:
    """Return the process id of the wandb service of the process `pid`."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command.read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if any(word.endswith(b"wandb-core") for word in words) and str(pid).encode() in words:
            return int(command.parent.name)
    return None


@pytest.mark.slow
def test_killing_wandb_does_not_end_a_run(lab: Lab):
    process = lab.start("train", "algo.episodes=3000", "algo.eval_every=250", "evaluation.episodes=40")
    wait_for(process, lambda: bool(list(lab.folder.rglob("metrics.csv"))))
    service = wandb_service_of(process.pid)
    assert service is not None
    os.kill(service, signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert "wandb could not log" in err
    assert "Traceback" not in err
    assert rows_without_times(lab.run_directories()[0])[-1]["step"] == "3000"


@pytest.mark.slow
def test_without_a_connection_an_online_run_continues_offline(lab: Lab):
    unreachable = {"WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "a" * 40}
    done = lab.succeed(
        "train", *QUICK, "logger=wandb_online", "logger.trackers.wandb.init_timeout=2", environment=unreachable
    )
    assert "wandb could not start" in done.stderr
    assert history(offline_file(lab.run_directories()[0]))


def test_multirun_writes_complete_runs_of_one_group(lab: Lab):
    small = ("algo.episodes=100", "algo.eval_every=100", "evaluation.episodes=10")
    lab.succeed("train", "-m", "seed=1,2", "algo.epsilon=0.25,0.5", *small)
    runs = sorted(path.parent for path in lab.folder.glob("outputs/sweeps/*/*/config.yaml"))
    assert [run.name for run in runs] == ["0", "1", "2", "3"]
    assert all((run / "eval.json").exists() and (run / "metrics.csv").exists() for run in runs)
    records = [run_record(offline_file(run)) for run in runs]
    assert {record.run_group for record in records} == {runs[0].parent.name}
    names = [record.display_name for record in records]
    assert [name[-5:] for name in names] == ["seed1", "seed1", "seed2", "seed2"]
    assert ["-epsilon=0.25-" in name for name in names] == [True, False] * 2
    assert ["-epsilon=0.5-" in name for name in names] == [False, True] * 2
    assert len({record.run_id for record in records}) == len(set(names)) == 4


def test_an_experiment_with_a_misspelled_key_is_refused(lab: Lab):
    conf = Path(shutil.copytree(ROOT / "conf", lab.folder / "conf"))
    (conf / "experiment" / "typo.yaml").write_text("# @package _global_\nchekpoint_seconds: 5\n")
    done = lab.refuse("train", f"--config-path={conf}", "experiment=typo")
    assert "chekpoint_seconds" in done.stderr


def test_help_lists_every_choice_and_imports_nothing_heavy(lab: Lab):
    done = lab.succeed("train", "--help")
    for line in ("env: ", "algo: ", "reward: ", "curriculum: ", "agent: ", "logger: ", "experiment: ", "launcher: "):
        assert line in done.stdout
    loaded = lab.run("train", "--help", environment={"PYTHONPROFILEIMPORTTIME": "1"}).stderr
    modules = {line.split("|")[-1].strip() for line in loaded.splitlines() if line.startswith("import time:")}
    assert "hydra" in modules
    assert not modules & {"torch", "wandb", "gymnasium", "numba", "matplotlib", "stable_baselines3", "rich", "numpy"}


def test_ctrl_c_prints_the_command_to_resume(lab: Lab):
    process = lab.start("train", "algo.episodes=1000000", "logger=csv")
    assert process.stderr is not None
    began = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    directory = began.removeprefix("training in ").strip()
    assert err.strip().splitlines()[-1] == f"stopped: continue with python -m src.train resume={directory}"
    assert (lab.folder / directory / "config.yaml").is_file()


def test_a_folder_that_cannot_be_written_to_is_named(lab: Lab):
    (lab.folder / "outputs").touch()
    done = lab.refuse("train", "logger=csv")
    assert re.fullmatch(r"error: outputs/runs/\S+ cannot be read: Not a directory\n", done.stderr)


def test_a_script_trains_without_a_command(tmp_path: Path):
    quick = ("algo.episodes=300", "algo.eval_every=100", "evaluation.episodes=20", "logger=csv")
    assert train(compose_train(*quick), tmp_path / "run")["final/episodes"] == 20
    assert read_json(tmp_path / "run/eval.json")["scores"]["random"]["episodes"] == 20
    with pytest.raises(UserError, match=r"algo\.epsilon=7 must be a number in"):
        train(compose_train("algo.epsilon=7"), tmp_path / "other")
    with pytest.raises(UserError, match=r"algorithms that fit: .*ppo"):
        train(compose_train("env=minesweeper_8x8", "algo=qlearning"), tmp_path / "other")
    assert not (tmp_path / "other").exists()
