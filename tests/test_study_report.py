"""Curves of studies: means and intervals computed by hand, and pictures that were drawn from the committed data."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from experiments.study_report import DESCRIPTION, Outcome, digest, draw, half_width, overlay, read_outcomes
from src.core.play.arena import Tally
from tests.lab import ROOT

STUDIES = sorted((ROOT / "experiments").glob("*/runs.json"))


def outcome(arm: str, seed: int, curve: list[float]) -> Outcome:
    places = [100.0 * (number + 1) for number in range(len(curve))]
    return Outcome(arm, seed, places, [place + seed for place in places], curve, {"x": Tally(1, 0, 1)})


def test_curves_are_means_with_an_interval_over_seeds():
    axes = Figure().add_subplot()
    runs = [outcome("a", 0, [0.2, 0.5, 0.9]), outcome("a", 1, [0.2, 0.502]), outcome("b", 0, [0.1])]
    overlay(axes, runs, "seconds")
    several, one = axes.lines
    assert several.get_xydata() == pytest.approx(np.array([[100.5, 0.2], [200.5, 0.501]]))
    assert [line.get_label() for line in axes.lines] == ["a (2 seeds, 95%)", "b (1 seed)"]
    assert one.get_xydata() == pytest.approx(np.array([[100, 0.1]]))
    (band,) = axes.collections
    # Two scores 0.002 apart: Student's half width is 12.706 * 0.001.
    edge = np.asarray(band.get_paths()[0].vertices)
    last = edge[edge[:, 0] == 200.5, 1]
    assert (last.min(), last.max()) == pytest.approx((0.501 - 0.012706, 0.501 + 0.012706))


@pytest.mark.parametrize(("count", "quantile"), [(2, 12.706), (10, 2.262), (12, 2.262), (20, 2.093), (1000, 2.045)])
def test_an_interval_of_any_number_of_seeds_is_wide_enough(count: int, quantile: float):
    values = [0.0] * (count - 1) + [1.0]
    assert half_width(values) == pytest.approx(quantile / count, rel=1e-3)  # deviation sqrt(1 / count)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.parent.name)
def test_the_picture_of_a_study_was_drawn_from_its_data(path: Path):
    with Image.open(path.with_name("curves.png")) as picture:
        assert picture.info[DESCRIPTION] == digest(read_outcomes(path)), f"run {path.parent.name} with --only-draw"


def test_what_is_drawn_again_has_the_digest_of_its_data(tmp_path: Path):
    runs = [outcome("a", 0, [0.2, 0.5])]
    draw(tmp_path / "curves.png", runs, ["steps", "seconds"])
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.info[DESCRIPTION] == digest(runs) != digest([outcome("a", 1, [0.2, 0.5])])
