"""Sweep directories of others: links, pipes, damaged files and values that cannot be."""

import io
import os
from pathlib import Path

import pytest

from src.core.errors import UserError
from src.core.runs import sweep_jobs
from src.core.runs.report import PlainConsole


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """Return the directory of a sweep with one finished job."""
    (tmp_path / "0/.hydra").mkdir(parents=True)
    (tmp_path / "0/.hydra/overrides.yaml").write_text("- seed=1\n")
    (tmp_path / "0/config.yaml").write_text("optimized_metric: final/win_rate\n")
    (tmp_path / "0/metrics.csv").write_text("step,final/win_rate,final/episodes\n10,0.75,40\n")
    (tmp_path / "0/eval.json").touch()
    (job,) = sweep_jobs.read_jobs(tmp_path)
    assert (job.status, job.result, job.parameters) == ("finished", 0.75, {"seed": "1"})
    return tmp_path


@pytest.mark.parametrize(
    "name", ["sweep.csv", "optuna.log.lock", "1", "0/train.log", "0/.hydra", "0/.hydra/hydra.yaml"]
)
def test_a_link_in_a_sweep_is_refused_by_its_name(finished: Path, tmp_path_factory: pytest.TempPathFactory, name: str):
    path, outside = finished / name, tmp_path_factory.mktemp("outside")
    if path.is_dir():
        path.rename(outside / "moved")
    path.symlink_to(outside / "moved")
    with pytest.raises(UserError, match=f"{path.name} is a symlink"):
        sweep_jobs.read_jobs(finished)


@pytest.mark.parametrize("name", [sweep_jobs.FAILED, "pruned.txt"])
def test_a_reason_that_is_no_text_is_reported_with_its_file(finished: Path, name: str):
    (finished / "0/eval.json").unlink()
    path = finished / "0" / name
    for content in (b"\xff\xfe", b"a" * (sweep_jobs.MAX_TEXT + 1)):
        path.write_bytes(content)
        with pytest.raises(UserError, match=name):
            sweep_jobs.read_jobs(finished)
    path.write_bytes(b"")
    assert sweep_jobs.read_jobs(finished)[0].status == f"{path.stem}: "
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match=name):
        sweep_jobs.read_jobs(finished)


@pytest.mark.parametrize("content", [b"python -m src.train 'seed=1", b"\xff", b"", None])
def test_a_damaged_command_is_reported_with_its_file(tmp_path: Path, content: bytes | None):
    path = tmp_path / sweep_jobs.COMMAND
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    with pytest.raises(UserError, match=str(tmp_path)):
        sweep_jobs.require_same_jobs(str(tmp_path), ["seed=1"])
    path.unlink()
    path.symlink_to("elsewhere")
    with pytest.raises(UserError, match=f"{sweep_jobs.COMMAND} is a symlink"):
        sweep_jobs.require_same_jobs(str(tmp_path), ["seed=1"])


@pytest.mark.parametrize("row", ["nan,40", "1e300,40", "-1,40", "a,40", "1,nan", "1,1e300", "1,0", "1,a"])
def test_a_rate_that_cannot_be_is_reported_with_its_file(finished: Path, row: str):
    (finished / "0/metrics.csv").write_text(f"step,final/win_rate,final/episodes\n10,{row}\n")
    with pytest.raises(UserError, match=r"metrics\.csv"):
        sweep_jobs.read_jobs(finished)


@pytest.mark.parametrize("metric", ["5", "[a]"])
def test_a_metric_that_is_no_name_is_reported_with_its_file(finished: Path, metric: str):
    (finished / "0/config.yaml").write_text(f"optimized_metric: {metric}\n")
    with pytest.raises(UserError, match=r"config\.yaml: optimized_metric="):
        sweep_jobs.read_jobs(finished)


def test_other_numbers_than_rates_are_shown_as_they_are(finished: Path):
    (finished / "0/config.yaml").write_text("optimized_metric: final/random/moves\n")
    for value in ("nan", "1e+300"):
        (finished / "0/metrics.csv").write_text(f"step,final/random/moves\n10,{value}\n")
        assert f" {value} " in printed(sweep_jobs.read_jobs(finished))


def printed(jobs: list[sweep_jobs.Job]) -> str:
    text = io.StringIO()
    PlainConsole(file=text, width=160).print(sweep_jobs.as_table("[/title] :smile:", jobs))
    return text.getvalue()


def test_the_table_shows_brackets_and_escapes_as_they_are():
    values = {"[red]": "[/nope/a.npy]", "key": "\x1b[31m\r\x9b:smile:\udc80"}
    shown = printed([sweep_jobs.Job("[0]", values, "[m]", 0.5, None, "failed: [bold]")])
    for text in ("[/title] :smile:", "[red]", "[/nope/a.npy]", r"\x1b[31m\r\x9b:smile:\udc80", "[0]", "[m]", "[bold]"):
        assert text in shown
