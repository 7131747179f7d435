"""Progress within an update, and the estimate of its time before any update is done."""

from pathlib import Path

import pytest
import torch

from src.algos.ppo import PPOTrainer
from src.algos.trainer import NetworkTrainer
from src.algos.update_progress import UpdateProgress, seconds_per_row
from src.core.runs import console
from tests.algos.making import fit, ppo, saved_learner, versus
from tests.waiting import stopped_clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return stopped_clock(monkeypatch, "src.algos.update_progress.monotonic")


def test_a_part_is_one_of_time(clock: list[float]):
    """A rollout of 1 s for the first step and 0.5 s for the others, and training of 8 s, estimated as 4 s."""
    shown: list[tuple[float, str, float]] = []
    progress = UpdateProgress(steps=3, batches=4)
    progress.training_seconds = 4.0
    for done in (0, 100):
        progress.start(lambda *words: shown.append(words), done, size=100)
        for seconds in (1.0, 0.5, 0.5):
            clock[0] += seconds
            progress.end_step()
        for _ in range(4):
            clock[0] += 2.0
            progress.end_batch()
    parts, phases, speeds = zip(*shown, strict=True)
    assert phases[:4] == ("rollout 1/3", "rollout 2/3", "rollout 3/3", "minibatch 1/4")
    assert parts[0] == pytest.approx(100 * 1 / 7), "three steps of 1 s, then training"
    assert parts[1:3] == pytest.approx((100 * 1.5 / 6, 100 * 2 / 6))
    assert (parts[3], speeds[3]) == (pytest.approx(100 * 4 / 10), pytest.approx(100 / 10))
    assert parts[6] == pytest.approx(100)
    assert parts[7 + 2] == pytest.approx(100 + 100 * 2 / 10), "the training of the update before took 8 s"


@pytest.mark.parametrize(
    ("most", "sizes"), [(200, [64, 64, 128, 200]), (30, [30, 30]), (100_000, [64, 64, 128, 256, 512])]
)
def test_the_time_of_a_batch_is_measured_on_few_rows(clock: list[float], most: int, sizes: list[int]):
    measured: list[int] = []

    class Loss:
        def __init__(self, rows: int) -> None:
            self.rows = rows

        def backward(self) -> None:
            measured.append(self.rows)
            clock[0] += 0.05 + self.rows / 2000

    assert seconds_per_row(Loss, most) == pytest.approx(0.05 / sizes[-1] + 1 / 2000)  # type: ignore[arg-type]
    assert measured == sizes


def test_a_long_first_update_is_shown_with_an_estimate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(console, "MEASURED_SECONDS", 0.0)
    caplog.set_level("INFO")
    algo = ppo(total_steps=64, num_envs=4, steps_per_env=16, mini_batches=2, epochs=2)
    fit(algo, versus(), tmp_path / "shown")
    lines = capsys.readouterr().err.splitlines()
    phases = [line.rpartition(", ")[2] for line in lines if "rollout" in line or "minibatch" in line]
    expected = [f"rollout {step}/16" for step in range(1, 17)] + [f"minibatch {batch}/4" for batch in range(1, 5)]
    assert phases == expected
    assert "ETA" in lines[2]
    assert [record.message.split(";")[0] for record in caplog.records if "expected" in record.message] == [
        "about 1 s expected"
    ]


def test_the_estimate_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    algo = ppo(total_steps=128, num_envs=4, steps_per_env=16, mini_batches=2)
    fit(algo, versus(), tmp_path / "with")
    monkeypatch.setattr(PPOTrainer, "warm_up", NetworkTrainer.warm_up)
    fit(algo, versus(), tmp_path / "without")
    ours, others = (saved_learner(tmp_path / name, "last")["weights"] for name in ("with", "without"))
    assert all(torch.equal(ours[name], others[name]) for name in others)
