"""Names and addresses of runs in wandb, and what TensorBoard reads."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import wandb

from src.core.errors import UserError
from src.core.runs.run import Run
from src.core.runs.trackers import (
    ADDRESS,
    NAME_LENGTH,
    TAG_LENGTH,
    UPLOAD_SECONDS,
    TensorboardTracker,
    TrackerGroup,
    WandbTracker,
    run_name,
)
from src.envs.tictactoe.game import TicTacToe
from tests.core.fixed import RecordingTracker
from tests.lab import need

CONFIG: dict[str, Any] = {
    "composition": {"env": "e", "algo": "a", "reward": "r", "curriculum": "c", "sweep": None, "experiment": None},
    "seed": 0,
}
RUN: dict[str, Any] = {"seed": 0, "checkpoint_seconds": 60, "logger": {"videos": 5}}
GAME = TicTacToe(symmetric=True)
URL = "https://wandb.ai/somebody/lab/runs/abc123"


def start(mode: Any, directory: Path) -> None:
    WandbTracker(mode, "lab", entity=None, init_timeout=1).start(directory, CONFIG)


@pytest.mark.parametrize("reachable", [True, False])
def test_an_online_run_notes_its_address_and_no_other_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, reachable: bool
):
    modes = []

    def init(mode: str, **_: Any) -> SimpleNamespace:
        modes.append(mode)
        if mode == "online" and not reachable:
            raise ConnectionError("there is no network")
        return SimpleNamespace(url=URL, dir=f"{mode}-run-1/files", define_metric=lambda *_, **__: None)

    monkeypatch.setattr(wandb, "init", init)
    start("offline", tmp_path / "offline")
    start("online", tmp_path / "online")
    assert ("wandb sync offline-run-1\n" in caplog.text) != reachable, "of this run, not of others in the directory"
    assert modes == ["offline", "online"] + ["offline"] * (not reachable)
    notes = {path.parent.name: path.read_text() for path in tmp_path.glob(f"*/{ADDRESS}")}
    assert notes == ({"online": f"{URL}\n"} if reachable else {})


def test_only_files_that_the_run_has_written_are_uploaded(tmp_path: Path):
    tracker = WandbTracker("offline", "lab", entity=None, init_timeout=1)
    uploaded: list[wandb.Artifact] = []
    tracker.session = SimpleNamespace(
        id="1", dir=tmp_path / "files", log=print, log_artifact=lambda artifact, aliases: uploaded.append(artifact)
    )
    for name in ("eval.json", "checkpoints/last.safetensors", "checkpoints/another.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    tracker.results(tmp_path, {"scores": {}})
    assert [set(artifact.manifest.entries) for artifact in uploaded] == [{"last.safetensors"}, {"eval.json"}]


def named(*overrides: str, seed: int = 2) -> str:
    composition = {"env": "minesweeper_8x8", "algo": "ppo", "overrides": list(overrides)}
    return run_name({"composition": composition, "seed": seed})


def test_a_name_lists_the_differences_from_the_defaults():
    assert named("algo.lr=0.0003") == "minesweeper_8x8-ppo-lr=0.0003-seed2"
    assert named() == "minesweeper_8x8-ppo-seed2"
    assert named("net@algo.net=cnn", "+env.x=1") == "minesweeper_8x8-ppo-net=cnn-x=1-seed2"
    assert named("algo.lr=1", "env.lr=2") == "minesweeper_8x8-ppo-algo.lr=1-env.lr=2-seed2"
    earlier = {"composition": {"env": "e", "algo": "a"}, "seed": 0}
    assert run_name(earlier) == "e-a-seed0"


def test_long_names_are_cut_and_stay_distinct():
    names = [named(*(f"algo.setting_{number}=0.123456" for number in range(9)), f"algo.last={last}") for last in "ab"]
    assert [len(name) for name in names] == [NAME_LENGTH] * 2
    assert names[0] != names[1]
    assert all(name.startswith("minesweeper_8x8-ppo-setting_0=0.123456-") and name.endswith("-seed2") for name in names)


def test_tags_are_no_longer_than_wandb_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        wandb, "init", lambda **settings: given.update(settings) or SimpleNamespace(define_metric=print)
    )
    config = CONFIG | {"composition": CONFIG["composition"] | {"reward": "r" * 100}}
    WandbTracker("offline", "lab", entity=None, init_timeout=1).start(tmp_path, config)
    assert given["tags"] == ["env:e", "algo:a", f"reward:{'r' * 100}"[:TAG_LENGTH], "curriculum:c"]


def test_labels_replace_those_of_the_composition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        wandb, "init", lambda **settings: given.update(settings) or SimpleNamespace(define_metric=print)
    )
    labels = {"name": "first", "group": "paper", "job_type": "ablation", "notes": "a note", "tags": ["baseline"]}
    WandbTracker("offline", "lab", None, 1, **labels).start(tmp_path, CONFIG)  # type: ignore[arg-type]
    assert {key: given[key] for key in labels if key != "tags"} == {key: labels[key] for key in labels if key != "tags"}
    assert given["tags"] == ["env:e", "algo:a", "reward:r", "curriculum:c", "baseline"]
    with pytest.raises(UserError, match="tags="):
        WandbTracker("offline", "lab", None, 1, tags=["t" * (TAG_LENGTH + 1)])


def test_the_best_checkpoint_is_uploaded_as_it_was_while_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a copy, because the next one overwrites it, and not with every evaluation of a fast run."""
    tracker = WandbTracker("offline", "lab", entity=None, init_timeout=1)
    uploaded: list[tuple[wandb.Artifact, list[str]]] = []

    def log_artifact(artifact: wandb.Artifact, aliases: list[str]) -> None:
        uploaded.append((artifact, aliases))

    tracker.session = SimpleNamespace(id="1", dir=tmp_path / "wandb/files", log_artifact=log_artifact)
    path = tmp_path / "best.safetensors"
    for number, now in enumerate((5.0, 6.0, 5.0 + UPLOAD_SECONDS)):
        monkeypatch.setattr("time.monotonic", lambda now=now: now)
        path.write_text(f"best {number}")
        tracker.best_checkpoint(path)
    assert [aliases for _, aliases in uploaded] == [["latest", "best"]] * 2
    copies = [Path(artifact.manifest.entries[path.name].local_path or "") for artifact, _ in uploaded]
    assert [copy.read_text() for copy in copies] == ["best 0", "best 2"]
    assert all(tmp_path in copy.parents for copy in copies), "to be uploaded later they have to stay with the run"


def test_several_trackers_get_the_same_and_end_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    need("tensorboard", "tensorboard")
    good, broken = tmp_path / "good", tmp_path / "broken"
    for folder in (good, broken):
        folder.mkdir()
    (broken / "tensorboard").write_text("a file where the folder should be")
    recorder = RecordingTracker()
    for folder in (good, broken):
        with Run(folder, RUN, TrackerGroup([TensorboardTracker(), recorder])) as run:
            run.log(10, {"eval/win_rate": 0.25})
    assert caplog.text.count("the run continues") == 1
    assert len(recorder.of("log")) == 2


def test_what_is_logged_can_be_read_by_tensorboard(tmp_path):
    need("tensorboard", "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Run(tmp_path, RUN, TensorboardTracker()) as run:
        with run.recorded_game(GAME, 10, 0.0) as on_position:
            assert on_position is not None
            on_position("." * 9)
        run.log(10, {"eval/win_rate": 0.25})
        run.histogram("train/action_probability", np.array([0.1, 0.1, 0.9]))
        run.log(20, {"eval/win_rate": 0.5})
        run.finish({"final/win_rate": 0.75}, {})
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("eval/win_rate")] == [(10, 0.25), (20, 0.5)]
    assert [(event.step, event.value) for event in events.Scalars("final/win_rate")] == [(20, 0.75)]
    assert sorted(events.Tags()["images"]) == ["eval/game", "eval/win_rate_curve"]
    (game,) = events.Images("eval/game")
    assert (game.step, game.width, game.encoded_image_string[:3]) == (10, 320, b"GIF")
    (histogram,) = events.Histograms("train/action_probability")
    value = histogram.histogram_value
    assert (histogram.step, value.num, value.sum) == (10, 3, pytest.approx(1.175)), "at the middle of their bins"


def test_a_run_continues_without_it(tmp_path, caplog):
    need("tensorboard", "tensorboard")
    (tmp_path / "tensorboard").write_text("a file where the folder should be")
    with Run(tmp_path, {"seed": 0, "checkpoint_seconds": 60}, TensorboardTracker()) as run:
        run.log(10, {"eval/win_rate": 0.25})
        run.finish({"final/win_rate": 0.75}, {})
    assert caplog.text.count("the run continues") == 1
    assert "0.75" in (tmp_path / "metrics.csv").read_text()
