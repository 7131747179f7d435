import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from src.core.errors import UserError
from src.core.play.game import Game
from src.core.runs import checkpoint
from src.core.runs.config_file import read_config
from src.core.runs.run import PROGRESS, VIDEO_FRAMES, VIDEO_WIDTH, Pruned, Run, has_learner
from src.envs.tictactoe.game import TicTacToe
from tests.core.fixed import RecordingTracker
from tests.lab import contents

CONFIG = {"seed": 3, "checkpoint_seconds": 1e9, "composition": {}}


def test_a_run_goes_back_to_what_was_saved_last(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        assert run.restore() is None
        run.log(1, {"train/td_error": 1.0})
        run.save_best(0.5, {"weights": 1})
        run.save({"weights": 2})
        run.log(2, {"train/td_error": 2.0})
    with Run(tmp_path, CONFIG, None) as again:
        assert again.restore() == {"weights": 2}
        assert (tmp_path / "metrics.csv").read_text().count("\n") == 2
        again.save_best(0.4, {"weights": 3})
        assert again.best() == {"weights": 1}, "what was the best before it was resumed still counts"
        again.save_best(0.6, {"weights": 4})
        assert again.best() == {"weights": 4}


def test_of_equal_scores_the_later_checkpoint_is_the_best(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        for weights, score in enumerate([0.0, 0.0, 0.5, 0.5, 0.25]):
            run.save_best(score, {"weights": weights})
            assert run.best() == {"weights": min(weights, 3)}


def test_a_later_checkpoint_within_the_standard_error_is_the_best(tmp_path):
    scores = [0.5, 0.49, 0.475, 0.45, 0.46]
    with Run(tmp_path, CONFIG, None) as run:
        for weights, score in enumerate(scores):
            run.save_best(score, {"weights": weights}, error=0.03)
            assert run.best() == {"weights": min(weights, 2)}, "compared with the highest, not with the latest best"


def test_a_resumed_run_still_shows_its_latest_and_best_win_rate(tmp_path, capsys):
    with Run(tmp_path, CONFIG, None) as run:
        for step, rate in ((1, 0.5), (2, 0.25)):
            run.log(step, {"eval/win_rate": rate})
            run.save_best(rate, {})
        run.save({})
        run.log(3, {"eval/win_rate": 0.75})
    with Run(tmp_path, CONFIG, None) as again:
        again.restore()
        with again.progress("steps", 10, 2):
            pass
    assert capsys.readouterr().err.splitlines()[0] == " 20% 2/10 steps, win rate 25.0%, highest score 50.0%"


def test_progress_is_written_without_waiting_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Run(tmp_path, CONFIG, None) as run, run.progress("steps, in games", 10, 0) as advance:
        monkeypatch.setattr("os.fsync", lambda _: pytest.fail("fsync within the training"))
        advance(10)
        written = json.loads((tmp_path / PROGRESS).read_text())
        assert (written["done"], written["total"], written["unit"]) == (10, 10, "steps")
        (tmp_path / PROGRESS).unlink()
        (tmp_path / PROGRESS).mkdir()  # it cannot be replaced
        advance(10)


def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.restore()
        run.log(1, {"train/td_error": 1.0})
        run.save_best(0.5, {"weights": 1})
    with Run(tmp_path, CONFIG, None) as again:
        assert again.restore() is None
        again.log(1, {"train/td_error": 1.5})
    assert (tmp_path / "metrics.csv").read_text().count("\n") == 2


def test_seconds_continue_after_a_resume(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run._began -= 100
        run.save({})
    with Run(tmp_path, CONFIG, None) as again:
        again.restore()
        assert again.seconds >= 100


def test_saving_is_due_by_time(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.save_when_due(lambda: {"step": 1})
        assert not (tmp_path / "checkpoints").exists()
        run._saved -= 2e9
        run.save_when_due(lambda: {"step": 2})
    with Run(tmp_path, CONFIG, None) as again:
        assert again.restore() == {"step": 2}


def test_two_processes_cannot_share_a_directory(tmp_path):
    with Run(tmp_path, CONFIG, None), pytest.raises(UserError, match="another process"), Run(tmp_path, CONFIG, None):
        pass


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.save({})
        run.save_best(0.5, {})
    with pytest.raises(UserError, match="does not belong"), Run(tmp_path, CONFIG | {"seed": 4}, None):
        pass
    (tmp_path / "checkpoints" / "best.safetensors").replace(tmp_path / "checkpoints" / "last.safetensors")
    with pytest.raises(UserError, match="does not belong"), Run(tmp_path, CONFIG, None):
        pass


def test_the_tracker_gets_the_exit_status_of_a_run(tmp_path):
    tracker = RecordingTracker()
    with Run(tmp_path, CONFIG, tracker):
        pass
    with pytest.raises(RuntimeError), Run(tmp_path, CONFIG, tracker):
        raise RuntimeError
    assert tracker.of("finish") == [False, True]


class Pictures(TicTacToe):
    """Draws black and white in turn, larger than a video may be, and counts."""

    drawn = 0

    def image(self, state: str) -> np.ndarray:
        self.drawn += 1
        return np.full((200, 400, 3), 255 * (self.drawn % 2), np.uint8)


def test_a_few_evaluation_games_are_kept_from_the_first_to_the_last(tmp_path: Path):
    tracker, game = RecordingTracker(), Pictures(symmetric=True)

    def evaluate(run: Run, steps: Iterable[int]) -> None:
        for step in steps:
            with run.recorded_game(game, step, step / 100) as on_position:
                for _ in range(VIDEO_FRAMES + 5):
                    if on_position:
                        on_position("." * 9)
            run.log(step, {})

    with Run(tmp_path, CONFIG | {"logger": {"videos": 3}}, tracker) as run:
        run.save({})
        evaluate(run, range(10, 80, 10))
    with Run(tmp_path, CONFIG | {"logger": {"videos": 3}}, tracker) as run:
        evaluate(run, range(50, 101, 10))  # again from a checkpoint at step 40
    names = sorted((tmp_path / "videos").iterdir())
    assert [int(path.stem) for path in names] == [10, 50, 100]
    assert len(tracker.of("video")) == 4
    with Image.open(names[-1]) as image:
        assert image.size == (VIDEO_WIDTH, VIDEO_WIDTH // 2)
        assert image.n_frames == VIDEO_FRAMES  # type: ignore[attr-defined]
    assert game.drawn == 4 * VIDEO_FRAMES


def test_there_is_no_video_of_a_game_without_pictures_and_where_none_is_wanted(tmp_path: Path):
    class Text(TicTacToe):
        image = Game.image

    for number, (game, count) in enumerate(((Text(symmetric=True), 5), (Pictures(symmetric=True), 0))):
        run = Run(tmp_path / str(number), CONFIG | {"logger": {"videos": count}}, None)
        with run, run.recorded_game(game, 10, 1.0) as on_position:
            assert on_position is None
        assert not (tmp_path / str(number) / "videos").exists()


def test_an_observer_of_evaluations_ends_a_run_early(tmp_path):
    tracker, observed = RecordingTracker(), []

    def observe(step, score):
        observed.append((step, score))
        if score < 0.5:
            raise Pruned(f"{score} at step {step}")

    def train():
        with Run(tmp_path, CONFIG, tracker, observe) as run:
            run.restore()
            for step, score in ((10, 0.75), (20, 0.25), (30, 1.0)):
                run.log(step, {"eval/win_rate": score})
                run.save_best(score, {"weights": step})

    with pytest.raises(Pruned):
        train()
    assert (tmp_path / "pruned.txt").read_text() == "0.25 at step 20\n"
    assert (tmp_path / "win_rate.png").exists()
    assert observed == [(10, 0.75), (20, 0.25)]
    assert tracker.calls[-2:] == [("mark_pruned", (20,), {}), ("finish", (), {"failed": False})]
    with Run(tmp_path, CONFIG, None):
        assert not (tmp_path / "pruned.txt").exists(), "it is trained again"


LAST, BEST = "checkpoints/last.safetensors", "checkpoints/best.safetensors"


def finished(directory: Path) -> Path:
    with Run(directory, CONFIG, None) as run:
        run.restore()
        run.log(1, {"train/td_error": 1.0, "eval/win_rate": 0.5})
        run.save_best(0.5, {"weights": np.ones(3)})
        run.log(2, {"train/td_error": 2.0})
        run.save({"weights": np.ones(3)})
        run.finish({"final/win_rate": 0.5}, {"scores": {}})
    return directory


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def cut_line(path: Path, number: int) -> None:
    lines = path.read_bytes().split(b"\r\n")
    lines[number - 1] = lines[number - 1][:4]
    path.write_bytes(b"\r\n".join(lines))


def not_finite(path: Path) -> None:
    saved = checkpoint.load(path)
    saved["learner"]["weights"][1] = np.nan
    checkpoint.save(path, saved)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / LAST).unlink(), r"has results \(eval.json, .*best.safetensors, metrics.csv\) but no last"),
        (lambda run: (run / BEST).unlink(), "no checkpoint at .*best.safetensors"),
        (lambda run: flip(run / BEST), "best.safetensors is damaged: its contents do not match its checksum"),
        (lambda run: flip(run / LAST), "last.safetensors is damaged: its contents do not match its checksum"),
        (lambda run: (run / BEST).write_bytes((run / BEST).read_bytes()[:50]), "best.safetensors is damaged"),
        (lambda run: not_finite(run / BEST), "best.safetensors cannot be used: learner.weights holds NaN"),
        (lambda run: not_finite(run / LAST), "last.safetensors cannot be used: learner.weights holds NaN"),
        (lambda run: (run / "metrics.csv").unlink(), "metrics.csv has lost rows"),
        (lambda run: cut_line(run / "metrics.csv", 2), "metrics.csv, line 2 is cut short"),
        (lambda run: cut_line(run / "metrics.csv", 3), "metrics.csv, line 3 is cut short"),
        (lambda run: (run / "metrics.csv").write_bytes(b"step\r\n1\r\n2"), "2 were written, 1 are there, and line 3"),
        (lambda run: (run / "metrics.csv").write_bytes(b"\xff\xfe"), "metrics.csv is not readable as CSV"),
        (lambda run: (run / "metrics.csv").write_text("\ufeffstep\r\n1\r\n2\r\n3\r\n"), "no column named step"),
    ],
)
def test_a_damaged_run_is_refused_and_left_as_it_was(tmp_path: Path, damage: Callable[[Path], None], message: str):
    run = finished(tmp_path / "run")
    damage(run)
    before = contents(run)
    with pytest.raises(UserError, match=message), Run(run, CONFIG | {"logger": {"trackers": {}}}, None):
        pass
    assert contents(run) == before


def test_an_undamaged_run_resumes(tmp_path: Path):
    with Run(finished(tmp_path / "run"), CONFIG, None) as run:
        restored = run.restore()
    assert restored is not None
    assert restored["weights"].tolist() == [1, 1, 1]


def test_a_directory_where_nothing_was_learned_yet_is_begun(tmp_path: Path):
    with Run(tmp_path, CONFIG, None):
        pass  # killed at once
    assert not has_learner(tmp_path)
    with Run(tmp_path, CONFIG, None) as run:
        assert run.restore() is None
        assert not has_learner(tmp_path)
        run.save({"weights": 1})
        assert has_learner(tmp_path)


def go_on(directory: Path, *, logged: bool) -> None:
    with Run(directory, CONFIG, None) as run:
        saved = run.restore()
        assert saved is not None
        if logged:
            run.log(3, {"train/td_error": 2.0})
        saved["network"]


def test_a_checkpoint_that_cannot_be_gone_on_from_is_named(tmp_path: Path):
    run = finished(tmp_path / "run")
    with pytest.raises(UserError, match=r"safetensors does not hold what this run expects \(KeyError: 'network'\)"):
        go_on(run, logged=False)
    with pytest.raises(KeyError):  # a bug, raised after the run has resumed
        go_on(run, logged=True)
    with Run(run, CONFIG, None) as again:
        again.restore()
        with pytest.raises(UserError, match=r"best.safetensors does not hold what this run expects"):
            again.load_best(lambda saved: saved["network"])


@pytest.mark.parametrize("change", [{"rows": "x"}, {"rows": None}, {"seconds": "x"}, {"seconds": []}])
def test_a_checkpoint_with_other_values_than_a_run_keeps_is_named(tmp_path: Path, change: dict[str, object]):
    run = finished(tmp_path / "run")
    checkpoint.save(run / LAST, checkpoint.load(run / LAST) | change)
    with pytest.raises(UserError, match=r"last.safetensors does not hold what"):
        go_on(run, logged=False)


@pytest.mark.parametrize("name", ["diagnostics.json", "win_rate.png", "diff.patch", "train.log", ".lock", LAST])
def test_what_cannot_be_written_later_is_refused_at_once(tmp_path: Path, name: str):
    run = finished(tmp_path / "run")
    (run / name).unlink(missing_ok=True)
    (run / name).mkdir()
    before = contents(run)
    with pytest.raises(UserError, match=f"{Path(name).name} is not a regular file"), Run(run, CONFIG, None):
        pass
    assert contents(run) == before


@pytest.mark.parametrize("name", ["checkpoints", "wandb", "tensorboard", "eval.json", ".hydra"])
def test_a_directory_with_a_link_is_refused_and_left_as_it_was(tmp_path: Path, name: str):
    run, outside = finished(tmp_path / "run"), tmp_path / "outside"
    if (run / name).exists():
        (run / name).rename(outside)
    (run / name).symlink_to(outside)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.exists()}
    with pytest.raises(UserError, match=f"{name} is a symlink"):
        Run(run, CONFIG, None)
    with pytest.raises(UserError, match=f"{name} is a symlink"):
        read_config(run)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.exists()} == before
