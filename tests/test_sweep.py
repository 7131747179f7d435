"""Sweeps: searches, launchers, the final table, and continuing after a kill."""

import csv
import io
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from src.config import CONF, cli
from src.core.errors import UserError
from src.core.play.arena import wilson_interval
from src.core.runs import checkpoint, sweep_jobs
from src.core.runs.report import PlainConsole
from tests.algos.making import rows_without_times
from tests.lab import Lab, contents, need, read_json
from tests.test_train import wait_for

pytestmark = pytest.mark.slow

QUICK = ("algo.episodes=600", "algo.eval_every=200", "evaluation.episodes=40", "logger=csv")
SWEEP = "hydra.sweep.dir=sweep"
LAUNCHERS = {"sweep": "joblib", "ray": "ray", "slurm": "submitit"}  # by their extras


def need_launchers(*extras: str) -> None:
    for extra in extras or LAUNCHERS:
        need(extra, f"hydra_plugins.hydra_{LAUNCHERS[extra]}_launcher")


def table(lab: Lab) -> list[dict[str, str]]:
    with (lab.folder / "sweep/sweep.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def win_rate(run: Path) -> float:
    return read_json(run / "eval.json")["scores"]["random"]["win_rate"]


@pytest.fixture(scope="module")
def single_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Lab(tmp_path_factory.mktemp("single")).train("seed=2", *QUICK)


def test_failing_jobs_stand_in_the_table_beside_whole_ones(lab: Lab):
    (lab.folder / "sweep/3/.lock").mkdir(parents=True)  # so that it cannot be held: not the user's mistake
    command = ("train", "-m", "algo.epsilon=0.1,7,0.2,0.3", *QUICK, SWEEP)
    done = lab.refuse(*command)
    refusal = "algo.epsilon=7 must be a number in [0, 1]"
    assert refusal in done.stderr
    assert refusal in (lab.folder / "sweep/1/train.log").read_text()
    rows = table(lab)
    assert [row["algo.epsilon"] for row in rows] == ["0.1", "7", "0.2", "0.3"]
    assert [row["status"] for row in rows[:3]] == ["finished", f"failed: {refusal}", "finished"]
    assert rows[3]["status"].startswith("failed: sweep/3/.lock is not a regular file")
    for row in (rows[0], rows[2]):
        run, rate = lab.folder / "sweep" / row["job"], win_rate(lab.folder / "sweep" / row["job"])
        assert rows_without_times(run)[-1]["step"] == "600"
        assert "results are in" in (run / "train.log").read_text()
        assert float(row["result"]) == rate
        assert (float(row["low"]), float(row["high"])) == wilson_interval(round(40 * rate), 40)
    assert (lab.folder / "sweep/command.txt").read_text() in done.stdout, "to go on with"
    printed = (lab.folder / "sweep/sweep.txt").read_text()
    assert "episodes" not in printed, "what does not vary is in the CSV file"
    for word in ("epsilon", "final/win_rate", "95% range", "finished", "failed: sweep/3/.lock"):
        assert word in printed
        assert word in done.stdout
    assert "failed: sweep/3/.lock" in lab.run("sweep", "sweep").stdout, "it can be asked for again"

    (lab.folder / "sweep/3/.lock").rmdir()
    assert lab.run(*command).returncode != 0
    assert [row["status"] for row in table(lab)] == ["finished", f"failed: {refusal}", "finished", "finished"]


def test_a_metric_has_its_interval_and_a_sweep_its_settings(lab: Lab):
    metric = ("optimized_metric=final/minimax/draw_rate", *QUICK, SWEEP)
    assert lab.run("train", "-m", "seed=1,2", *metric).returncode == 0
    for row in table(lab):
        draws = read_json(lab.folder / "sweep" / row["job"] / "eval.json")["scores"]["minimax"]["draws"]
        assert row["metric"] == "final/minimax/draw_rate"
        assert float(row["result"]) == draws / 40
        assert (float(row["low"]), float(row["high"])) == wilson_interval(draws, 40)
    before = contents(lab.folder)
    done = lab.refuse("train", "-m", "seed=1,3", *metric)
    assert "sweep is the sweep of another command: resume it with python -m src.train -m seed=1,2" in done.stderr
    assert contents(lab.folder) == before
    config = lab.folder / "sweep/1/config.yaml"
    config.write_text(config.read_text().replace("seed: 2", "seed: 3"))
    assert lab.run("train", "-m", "seed=1,2", *metric).returncode != 0
    assert "sweep/1 has a run of other settings" in table(lab)[1]["status"]


def test_a_job_finished_after_a_failure_is_finished(tmp_path: Path, single_run: Path):
    """Such as one that was refused a second time while it still ran."""
    job = tmp_path / "0"
    shutil.copytree(single_run, job)
    (job / sweep_jobs.FAILED).write_text("another process is training in it\n")
    for later, status in ((-10, "finished"), (10, "failed: another process is training in it")):
        finished = (job / "eval.json").stat().st_mtime
        os.utime(job / sweep_jobs.FAILED, (finished + later, finished + later))
        assert [one.status for one in sweep_jobs.read_jobs(tmp_path)] == [status]


@pytest.mark.parametrize("words", [("-m", "seed=1,2"), ("hparams_search=tictactoe_qlearning",)])
def test_a_command_deletes_nothing_of_another_in_its_sweep(lab: Lab, words: tuple[str, ...]):
    """Neither one that is refused because the other runs, nor one whose jobs cannot be composed."""
    folder = lab.folder / "sweep"
    held = sweep_jobs.lock(folder)
    (folder / "command.txt").write_text(shlex.join(["python", "-m", "src.train", *words, *QUICK]))
    (folder / "optuna.log").touch()
    (folder / "multirun.yaml").touch()
    before = contents(folder)
    refused = lab.run("train", *words, *QUICK, SWEEP)
    held.release()
    assert refused.returncode != 0
    assert refused.stderr.startswith("error: another process runs the sweep in sweep")
    assert contents(folder) == before
    (folder / "command.txt").unlink()
    assert lab.run("train", "-m", "nosuch=1,2", SWEEP).returncode != 0
    assert {path.name for path in folder.iterdir()} - {sweep_jobs.LOCK} == {"optuna.log", "multirun.yaml"}


@pytest.mark.parametrize("name", ["0/train.log", "0/.hydra", "multirun.yaml"])
def test_a_sweep_with_a_link_is_refused_before_it_writes(lab: Lab, name: str):
    path = lab.folder / "sweep" / name
    path.parent.mkdir(parents=True)
    path.symlink_to(lab.folder / ("elsewhere" if path.suffix else "."))
    done = lab.run("train", "-m", "seed=1,2", *QUICK, SWEEP)
    assert done.stderr.startswith(f"error: {path.relative_to(lab.folder)} is a symlink")
    assert done.stderr.count("\n") == 1
    assert contents(lab.folder) == {}


def test_a_sweep_without_its_table_ends_with_an_error(lab: Lab):
    command = ("train", "-m", "seed=1", *QUICK, SWEEP)
    assert lab.run(*command).returncode == 0
    log = lab.folder / "sweep/0/metrics.csv"
    log.write_text(log.read_text().replace(",40,", ",nan,"))  # final/episodes
    done = lab.refuse(*command)
    assert done.stderr.splitlines()[-1].startswith("error: sweep/0/metrics.csv: final/episodes=nan")
    assert not (lab.folder / "sweep" / sweep_jobs.LOCK).exists()


def test_a_sweep_over_seeds_ends_with_its_settings(lab: Lab):
    done = lab.succeed("train", "-m", "seed=1,2", "algo.lr=0.5,1", *QUICK, SWEEP)
    sweep = lab.folder / "sweep"
    with (sweep / "comparison.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["algo.lr"], row["seeds"]) for row in rows] == [("0.5", "2"), ("1", "2")]
    for number, row in enumerate(rows):
        assert float(row["mean"]) == pytest.approx(
            (win_rate(sweep / str(number)) + win_rate(sweep / f"{number + 2}")) / 2
        )
    written = {path.name for path in sweep.iterdir() if path.is_file()}
    assert written >= {"comparison.json", "comparison.png", "comparison.svg", "sweep.json", "sweep.csv"}
    for text in (done.stdout, (sweep / "sweep.txt").read_text()):
        assert "Probability that a run of the row scores" in text
        assert text.index("finished") < text.index("IQM"), "after the jobs"
    lab.succeed("compare", "runs=[sweep]", "output=again")
    assert (lab.folder / "again/comparison.csv").read_bytes() == (sweep / "comparison.csv").read_bytes()


def test_numbers_that_nobody_drew_are_shown_whole():
    jobs = [
        sweep_jobs.Job(seed, {"seed": seed, "lr": "0.00123456789"}, None, None, None, "") for seed in ("1234567891",)
    ]
    text = io.StringIO()
    PlainConsole(file=text, width=160).print(sweep_jobs.as_table("", jobs))
    assert "1234567891" in text.getvalue()
    assert "0.001235" in text.getvalue()


def test_a_killed_sweep_resumes_without_repeating_finished_jobs(lab: Lab):
    overrides = ("seed=1,2,3", "algo.episodes=2000", "algo.eval_every=250", "evaluation.episodes=40", "logger=csv")
    process = lab.start("train", "-m", *overrides, "checkpoint_seconds=0.05", SWEEP)
    first, second = lab.folder / "sweep/0", lab.folder / "sweep/1"
    log, saved = second / "metrics.csv", second / "checkpoints/last.safetensors"
    wait_for(process, lambda: saved.exists() and checkpoint.load(saved)["rows"] > 1)
    process.kill()
    process.communicate()
    assert not (second / "eval.json").exists()
    written = (first / "eval.json").stat().st_mtime_ns
    begun = log.read_text().splitlines()[1]

    python, dash_m, module, *arguments = shlex.split((lab.folder / "sweep/command.txt").read_text())
    assert (python, dash_m, module) == ("python", "-m", "src.train")
    lab.succeed("train", *arguments)
    assert (first / "eval.json").stat().st_mtime_ns == written
    assert log.read_text().splitlines()[1].startswith(begun), (
        "it went on from its checkpoint, so its times are still there"
    )
    whole = lab.train("seed=2", *overrides[1:])
    assert rows_without_times(second) == rows_without_times(whole)
    assert [row["status"] for row in table(lab)] == ["finished"] * 3
    assert [float(row["result"]) for row in table(lab)] == [win_rate(lab.folder / "sweep" / job) for job in "012"]


@pytest.mark.parametrize(("extra", "launcher"), [("sweep", "joblib"), ("slurm", "submitit_local"), ("ray", "ray")])
def test_a_launcher_runs_jobs_elsewhere_to_the_same_end(lab: Lab, launcher: str, extra: str, single_run: Path):
    need_launchers(extra)
    home = {"HOME": str(lab.folder)}  # Ray keeps a token there
    jobs = ("seed=2", "algo.epsilon=0.3,7")
    done = lab.run("train", "-m", f"launcher={launcher}", *jobs, *QUICK, SWEEP, environment=home)
    assert done.returncode != 0, "the second job is refused"
    rows = table(lab)
    refusal = "failed: algo.epsilon=7 must be a number in [0, 1]"
    assert [row["status"] for row in rows] == ["finished", refusal]
    assert float(rows[0]["result"]) == win_rate(lab.folder / "sweep/0")
    used = yaml.safe_load((lab.folder / "sweep/0/.hydra/hydra.yaml").read_text())["hydra"]["launcher"]["_target_"]
    assert f"hydra_{LAUNCHERS[extra]}_launcher" in used
    assert rows_without_times(lab.folder / "sweep/0") == rows_without_times(single_run)


def test_slurm_is_called_with_the_configured_resources():
    need_launchers("slurm")
    from submitit.slurm.slurm import _make_sbatch_string

    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = compose("train", ["launcher=slurm", "hydra.launcher.partition=gpu"], return_hydra_config=True)
    asked: Any = OmegaConf.to_container(cfg.hydra.launcher, resolve=False)
    assert asked["_target_"].endswith("SlurmLauncher")
    known = ("partition", "array_parallelism", "signal_delay_s", "gpus_per_node", "cpus_per_task")
    script = _make_sbatch_string("work", folder="logs", map_count=40, **{name: asked[name] for name in known})
    assert "#SBATCH --partition=gpu" in script
    assert "#SBATCH --array=0-39%32" in script
    assert "#SBATCH --cpus-per-task=4" in script


@pytest.mark.parametrize("search", sorted(path.stem for path in (CONF / "hparams_search").glob("*.yaml")))
def test_every_search_varies_what_there_is(search: str):
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = compose("train", [f"hparams_search={search}"], return_hydra_config=True)
    assert cfg.hydra.sweeper.sampler._target_ == "optuna.samplers.TPESampler"
    unknown = object()
    for key in cfg.hydra.sweeper.params or {}:
        assert OmegaConf.select(cfg, key, default=unknown) is not unknown, key


def hydra_part(*arguments: str) -> tuple[Any, ...]:
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = compose("train", cli.apply_group_aliases(list(arguments)), return_hydra_config=True)
    return tuple(OmegaConf.to_container(cfg.hydra[key], resolve=False) for key in ("sweeper", "launcher"))


@pytest.mark.parametrize(("theirs", "ours"), cli.GROUP_ALIASES.items())
def test_both_spellings_of_a_sweeper_or_launcher_mean_the_same(theirs: str, ours: str):
    need_launchers()
    wanted = hydra_part(ours)
    assert hydra_part(theirs) == wanted
    assert hydra_part(theirs, ours) == wanted


def test_launchers_and_the_search_can_be_named_as_in_hydra():
    assert hydra_part("hydra/sweeper=optuna")[0]["_target_"] == "hydra_plugins.optuna_sweeper.OptunaSweeper"
    assert hydra_part("hydra/sweeper=optuna", "hparams_search=minesweeper_ppo")[0]["n_trials"] == 30
    launchers = {f"launcher={path.stem}" for path in (CONF / "launcher").glob("*.yaml")}
    assert launchers | {"hparams_search=optuna"} == set(cli.GROUP_ALIASES.values())


def test_the_command_to_resume_uses_our_options(lab: Lab):
    search = ("hydra/sweeper=optuna", "algo.epsilon=choice(0.1, 0.3)", "hydra.sweeper.n_trials=1", *QUICK, SWEEP)
    need("sweep", "optuna")
    assert lab.run("train", "-m", *search).returncode == 0
    assert "hparams_search=optuna" in (lab.folder / "sweep/command.txt").read_text()
    lab.succeed("train", "-m", *search)


@pytest.mark.parametrize("flags", [("--cfg", "hydra"), ("--cfg=job",), ("-c", "job"), ("--info",)])
def test_what_would_run_is_shown_of_one_run(flags: tuple[str, ...]):
    with pytest.raises(UserError, match="shows a single run: leave out -m, and give one value"):
        cli.train_arguments(["-m", "seed=1,2", *flags])
    cli.train_arguments(["seed=1", *flags])


def test_the_short_flag_of_cfg_is_not_read_as_a_folder():
    assert cli.add_extensions(["-c", "job", "seed=1"]) == ["--cfg=job", "seed=1"]
