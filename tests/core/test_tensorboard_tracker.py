import os
from importlib.util import find_spec

import pytest

from src.core.runs.run import Run
from src.core.runs.trackers import TensorboardTracker


def test_what_is_logged_can_be_read_by_tensorboard(tmp_path):
    if find_spec("tensorboard") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("tensorboard is not installed: extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Run(tmp_path, {"seed": 0, "checkpoint_seconds": 60}, TensorboardTracker()) as run:
        run.log(10, {"eval/win_rate": 0.25})
        run.log(20, {"eval/win_rate": 0.5})
        run.finish({"final/win_rate": 0.75}, {})
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("eval/win_rate")] == [(10, 0.25), (20, 0.5)]
    assert [(event.step, event.value) for event in events.Scalars("final/win_rate")] == [(20, 0.75)]
    assert events.Tags()["images"] == ["eval/win_rate_curve"]


def test_a_run_continues_without_it(tmp_path, caplog):
    if find_spec("tensorboard") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("tensorboard is not installed: extra tensorboard")
    (tmp_path / "tensorboard").write_text("a file where the folder should be")
    with Run(tmp_path, {"seed": 0, "checkpoint_seconds": 60}, TensorboardTracker()) as run:
        run.log(10, {"eval/win_rate": 0.25})
        run.finish({"final/win_rate": 0.75}, {})
    assert caplog.text.count("the run continues") == 1
    assert "0.75" in (tmp_path / "metrics.csv").read_text()
