"""The charts and addresses of the Runs page, without a browser."""

import asyncio
import json
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from nicegui import ui

from src.core.runs.index import curves, files
from src.core.runs.index.curves import Curve, Scale
from src.core.runs.index.files import Metrics
from src.core.runs.index.rows import Index
from src.web.runs import charts
from src.web.runs.page import RunsPage
from src.web.runs.view import View, parse_url
from tests.core.made_runs import make_run, metrics, rows_of
from tests.web.inner import in_tab


def test_the_address_holds_everything_that_is_chosen_and_is_stable():
    view = View(("outputs/a=1,b=2/x", "experiments/y z"), ("eval/win_rate",), "time/seconds")
    expected = "/runs?compare=outputs/a%3D1%2Cb%3D2/x,experiments/y%20z&metric=eval/win_rate&axis=time/seconds"
    assert view.url() == expected
    view = View(("a",), ("m", "n"), "x", "0.6", "xy", "algo.lr", "range", "algo=ppo & lr>1", "-seed", ("seed", "a.b"))
    assert all(chosen != default for chosen, default in zip(view, View(), strict=True))
    assert parse_url(view.url().partition("?")[2]) == view
    assert parse_url("compare=a,b,a,&metric=") == View(("a", "b"))
    assert View().url() == "/runs"


def series_of(runs: dict[str, Metrics], scale: Scale) -> list[dict[str, Any]]:
    """Return what is drawn of the metric m."""
    options = charts.curve_options(curves.run_curves(runs, "m", scale), scale)
    json.dumps(options, allow_nan=False)
    return options["series"]


def test_curves_have_whiskers_and_the_raw_line_below_a_smooth_one():
    plain = metrics(step=[1, 2, 3], m=[0.1, None, 0.3])
    sure = metrics(step=[1, 2], m=[None, 0.5], m_low=[None, 0.4], m_high=[None, 0.6])
    series = series_of({"a": plain, "b": sure}, Scale())
    assert [(line["name"], line["data"]) for line in series] == [
        ("a", [[1.0, 0.1], [3.0, 0.3]]),
        ("b", [[2.0, 0.5]]),
        ("b", [[2.0, 0.4], [2.0, 0.6], [2.0, None]]),
    ]
    assert len({line["color"] for line in series}) == 2
    run = metrics(step=[1, 2, 3], m=[1, 3, 2], m_low=[0] * 3, m_high=[4] * 3)
    line, raw = series_of({"a": run}, Scale(smooth=0.5))
    points = run.points("step", "m")
    assert (line["data"], raw["data"]) == (curves.smoothed(points, 0.5).tolist(), points.tolist())
    assert raw["lineStyle"]["opacity"] < 0.5
    assert line["name"] == raw["name"], "the legend switches both"


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show():
    runs = {"a": metrics(step=[0, 1, 2], m=[1, -1, 2], m_low=[0.5, -2, -1], m_high=[2, 2, 2])}
    (both,) = curves.run_curves(runs, "m", Scale(log_x=True, log_y=True))
    assert (both.points, both.whiskers) == ([[2.0, 2.0]], [])
    assert charts.note("m", runs, [both], Scale(log_y=True)).startswith("1 points not above 0 are left out")
    drawn = charts.curve_options([both], Scale(log_x=True))
    assert (drawn["xAxis"]["type"], drawn["yAxis"]["type"]) == ("log", "value")


def test_a_group_is_a_mean_with_an_interval_or_its_range():
    runs = [
        metrics(step=[0, 10], m=[1, 3]),
        metrics(step=[0, 5, 5, 10], m=[2, 9, 3, 4]),  # the last value of a step counts
        metrics(step=[0, 5], m=[3, 7]),  # stopped early: it counts where it was
    ]

    spread, interval = (curves.mean_curve("g", runs, "m", Scale(), band, 100) for band in ("range", "interval"))
    assert spread.points == interval.points == [[0.0, 2.0], [5.0, 4.0], [10.0, 3.5]]
    assert spread.band == [[0.0, 1.0, 3.0], [5.0, 2.0, 7.0], [10.0, 3.0, 4.0]]
    half = 4.303 * 1.0 / 3**0.5  # Student's t with two degrees of freedom, standard deviation 1
    assert interval.band[0] == pytest.approx([0.0, 2.0 - half, 2.0 + half])
    assert curves.mean_curve("g", runs[:1], "m", Scale(), "interval", 100).band == [], "one run has no interval"
    assert curves.mean_curve("g", [Metrics()], "m", Scale(), "range", 100) == Curve("g", [])
    assert all(low > 0 for _, low, _ in curves.mean_curve("g", runs, "m", Scale(log_y=True), "interval", 100).band)
    json.dumps(charts.curve_options([interval, spread], Scale()), allow_nan=False)


def test_a_band_is_not_drawn_across_steps_of_one_run():
    pairs = [metrics(step=[x, x + 10], m=[y, y]) for x in (0, 80) for y in (1, 2)]
    alone = metrics(step=[20, 50], m=[5, 5])
    curve = curves.mean_curve("g", [*pairs, alone], "m", Scale(), "range", 100)
    assert curve.points[2:4] == [[20.0, 5.0], [50.0, 5.0]]
    (band,) = [one for one in charts.curve_options([curve], Scale())["series"] if one["type"] == "custom"]
    assert [(part[0], part[3]) for part in band["data"]] == [(0.0, 10.0), (80.0, 90.0)]


def test_parallel_coordinates_have_an_axis_for_each_difference(tmp_path: Path):
    settings = "algo: {{lr: {0}, with_lr: {0}, kind: {1}, same: 1}}"  # lr and with_lr change together: one axis
    texts = [settings.format(lr, kind) for lr in (0.001, 0.1) for kind in ("a", "null")]
    rows = rows_of(tmp_path / "outputs", *texts)
    drawn = charts.parallel_options(rows, "score", ["outputs/s/1"])
    types = {axis["name"]: axis["type"] for axis in drawn["parallelAxis"]}
    assert types == {"lr": "category", "kind": "category", "score": "value"}
    assert {axis["name"]: axis.get("data") for axis in drawn["parallelAxis"]}["lr"] == ["0.001", "0.1"]
    data = drawn["series"][0]["data"]
    assert dict(zip(types, data[1]["value"], strict=True)) == {"lr": "0.001", "kind": "none", "score": 0.75}
    assert [line["lineStyle"].get("width") for line in data] == [None, 4, None, None]
    assert charts.parallel_options(rows, "win_rate", [])["series"][0]["data"] == [], "none is finished"
    json.dumps(drawn, allow_nan=False)
    many = rows_of(
        tmp_path / "outputs" / "many", *(f"algo: {{lr: {10.0**-power:.9f}}}" for power in range(charts.MAX_TICKS + 1))
    )
    assert charts.parallel_options(many, "score", [])["parallelAxis"][0]["type"] == "log", "too many to name each"


def test_what_is_sent_of_many_runs_is_what_a_chart_can_show():
    points = np.array([[1e6 + step, 1 / 3] for step in range(files.MAX_VALUES)])
    runs = {str(number): metrics(step=points[:, 0].tolist(), m=points[:, 1].tolist()) for number in range(62)}
    sent = [charts.as_script(line["data"]) for line in series_of(runs, Scale())]
    assert sum(one.count("[") - 1 for one in sent) <= curves.MAX_POINTS + 62
    assert sent[0].startswith("Object.freeze([[1000000,0.333333333],")
    assert charts.as_script([[1.0, None], [1.5, -0.25]]) == "Object.freeze([[1,null],[1.5,-0.25]])"


@in_tab
async def test_a_poll_reads_nothing_again_that_a_selection_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = [make_run(tmp_path, f"s/{number}").relative_to(tmp_path.parent).as_posix() for number in range(3)]
    page = RunsPage(Index([tmp_path]), View())
    page.index.rows()
    parse = files.parse_metrics

    def parse_slowly(*arguments: Any) -> Metrics:
        time.sleep(0.1)  # the polls begin meanwhile
        return parse(*arguments)

    parsed = Mock(side_effect=parse_slowly)
    monkeypatch.setattr(files, "parse_metrics", parsed)
    client = ui.context.client

    async def in_page(work: Awaitable[None]) -> None:
        with client:  # each task has its own
            await work

    await asyncio.gather(*map(in_page, (page.select(names, True), page.poll(), page.poll())))
    assert parsed.call_count == len(names)
    assert len(page.grid._charts["eval/win_rate"].plot.options["series"]) == len(names)
