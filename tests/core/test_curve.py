"""The learning curve of a run, drawn from its files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from src.core.errors import UserError
from src.core.files import MAX_DATA_BYTES
from src.core.play.arena import Tally
from src.core.runs.curve import PICTURE, draw_run, main, run_figure
from src.core.runs.run import Run

CONFIG = {"seed": 0, "checkpoint_seconds": 60, "algo": {"eval_episodes": 400}}


def finished_run(
    folder: Path, scores: dict[str, Any], curve: tuple[float, ...] = (0.25, 0.5), group: str = "eval"
) -> Path:
    with Run(folder, CONFIG, None) as run:
        for number, rate in enumerate(curve, 1):
            run.log(10 * number, {f"{group}/win_rate": rate, f"{group}/episodes": 100})
        run.finish({"final/win_rate": 0.5}, {"scores": scores})
    return folder


def score(wins: int, games: int, seats: bool = False) -> dict[str, Any]:
    return Tally(wins, 0, games - wins).as_dict() | ({"seats": {}} if seats else {})


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def dashed(figure: Figure) -> list[float]:
    """Return the heights of the dashed lines."""
    return [np.unique(line.get_ydata()).item() for line in figure.axes[0].lines if line.get_linestyle() == "--"]


def test_a_baseline_of_a_one_player_game_is_a_dashed_line(tmp_path: Path):
    run = finished_run(tmp_path, {"trained": score(60, 100), "exact": score(450, 500)})
    figure = run_figure(run)
    assert sorted(labels(figure)) == [
        "exact, its own win rate: 90.0% (n=500)",
        "learner during training (n=100 a point, 95% band)",
        "learner, final evaluation: 60.0% (n=100)",
    ]
    assert dashed(figure) == [0.9]
    assert Image.open(run / PICTURE).text["Description"].splitlines() == labels(figure)  # type: ignore[attr-defined]


def test_results_against_baselines_are_markers_after_the_curve(tmp_path: Path):
    figure = run_figure(
        finished_run(tmp_path, {"random": score(9, 10, seats=True), "runner": score(1, 10, seats=True)})
    )
    assert sorted(labels(figure)) == [
        "against random, final evaluation: 90.0% (n=10)",
        "against runner, final evaluation: 10.0% (n=10)",
        "learner against random during training (n=100 a point, 95% band)",
    ]
    assert dashed(figure) == []
    markers = [bar.lines[0].get_xydata()[0] for bar in figure.axes[0].containers]
    assert [rate for _, rate in markers] == [0.9, 0.1]
    assert all(step > 20 for step, _ in markers)


def test_the_band_is_the_wilson_interval_of_each_point(tmp_path: Path):
    figure = run_figure(finished_run(tmp_path, {}, curve=(0.25, 0.5)))
    (band,) = figure.axes[0].collections
    corners = {(step, round(end, 4)) for step, end in band.get_paths()[0].vertices}
    assert {(20, round(end, 4)) for end in Tally(50, 0, 50).as_dict()["win_rate_ci95"]} <= corners


def test_the_curve_of_all_baselines_is_named(tmp_path: Path):
    run = finished_run(tmp_path, {"random": score(9, 10, seats=True)}, group="eval/all")
    assert "learner against all baselines during training (n=100 a point, 95% band)" in labels(run_figure(run))


def test_the_curve_of_a_table_names_its_metric(tmp_path: Path):
    with Run(tmp_path, CONFIG, None) as run:
        run.log(10, {"eval/not_lost_share": 0.5})
        run.finish({}, {"scores": {"random": score(9, 10, seats=True)}})
    figure = run_figure(tmp_path)
    assert "share of lines not lost over every play" in labels(figure)[0]
    assert figure.axes[0].get_ylabel() != "win rate"


def test_nothing_is_drawn_where_nothing_was_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert not draw_run(tmp_path)
    main([str(tmp_path), str(tmp_path / "missing")])
    assert capsys.readouterr().out.count("nothing to draw") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_not_drawn_through_a_link(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine")
    run = finished_run(tmp_path / "run", {"trained": score(60, 100)})
    for name in (PICTURE, "config.yaml"):
        (run / name).unlink()
    (run / PICTURE).symlink_to(tmp_path / "mine.txt")
    with pytest.raises(UserError, match=f"{PICTURE} is a symlink"):
        main([str(run)])
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_the_results_that_are_read_have_a_limit(tmp_path: Path):
    run = finished_run(tmp_path / "run", {})
    with (run / "eval.json").open("r+b") as file:
        file.truncate(MAX_DATA_BYTES + 1)
    with pytest.raises(UserError, match=r"eval\.json is larger"):
        draw_run(run)
