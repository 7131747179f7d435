"""The table of runs in a browser."""

from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.web.browser import Browser
from tests.web.test_runs import a_png, make_run

CHART = "const chart = getElement(+document.querySelector('.r-chart').id.slice(1)).chart;"


def drawn(browser: Browser) -> list[list[float]]:
    """Return the values of each curve that is not empty."""
    code = """const series = chart && chart.getOption() ? chart.getOption().series : [];
    return (series || []).map(line => line.data.map(point => point[1])).filter(line => line.length > 0);"""
    return browser.script(CHART + code)


def shifts(browser: Browser) -> float:
    """Return the cumulative layout shift since the page was opened."""
    code = """const done = arguments[0];
    new PerformanceObserver(list => done(list.getEntries().reduce((sum, one) => sum + one.value, 0)))
        .observe({type: 'layout-shift', buffered: true});
    setTimeout(() => done(0), 300);"""
    return browser.driver.execute_async_script(code)


def wait_drawn(browser: Browser, values: list[list[float]]) -> None:
    browser.until(lambda: drawn(browser) == values, f"the curves {values}")


@pytest.fixture(scope="module")
def two_runs(scratch: Path) -> list[Path]:
    made = [make_run(scratch / "outputs", f"compared/{name}") for name in ("one", "two")]
    (made[1] / "metrics.csv").write_text("step,eval/win_rate,train/lr\n10,0.25,0.5\n20,0.5,0.25\n")
    (made[0] / "heat.png").write_bytes(a_png())
    return made


def test_two_runs_are_compared_and_followed_while_they_train(browser: Browser, two_runs: list[Path]):
    browser.open("/runs?compare=outputs/compared/one,outputs/compared/two&metric=eval/win_rate")
    wait_drawn(browser, [[0.5, 0.75], [0.25, 0.5]])
    with (two_runs[1] / "metrics.csv").open("a") as file:
        file.write("30,0.875,0.125\n40,0.9")
    wait_drawn(browser, [[0.5, 0.75], [0.25, 0.5, 0.875]])
    browser.until(lambda: browser.script("return document.querySelector('.r-pictures img').naturalWidth") == 1, "a PNG")
    (link,) = browser.attributes(".r-pictures a", "href")
    assert urlopen(browser.address + link).read() == a_png(), "a picture leads to the whole of it"

    browser.choose(".r-metric", "train/lr")
    wait_drawn(browser, [[0.5, 0.25, 0.125]])
    browser.until(lambda: "metric=train/lr" in browser.driver.current_url, "the address to follow")
    browser.refresh()
    wait_drawn(browser, [[0.5, 0.25, 0.125]])


def test_what_an_address_asks_for_stands_first_and_nothing_jumps(browser: Browser, two_runs: list[Path]):
    for width in (1280, 400):
        browser.resize(width, 900)
        browser.open("/runs?compare=experiments/tictactoe_qlearning")
        browser.until(lambda: drawn(browser), "a curve")
        assert "experiments/tictactoe_qlearning" in browser.text(".r-table tbody tr"), "others are newer"
        assert shifts(browser) < 0.05
    labels = browser.script(f"{CHART} return [0, 950, 2e5, 1.25e6].map(chart.getOption().xAxis[0].axisLabel.formatter)")
    assert labels == ["0", "950", "200k", "1.25M"]


def test_the_table_is_filtered_and_selected_from(browser: Browser, two_runs: list[Path]):
    browser.open("/runs")
    browser.wait_text(".r-table", "outputs/compared/one")
    browser.wait_text(".r-table", "experiments/")
    browser.click(".r-filter input")
    browser.press("compared/o")
    browser.until(lambda: len(browser.all(".r-table tbody tr")) == 1, "one row")
    browser.click(".r-table tbody tr td:nth-child(2)")
    wait_drawn(browser, [[0.5, 0.75]])
    assert browser.driver.current_url.endswith("/runs?compare=outputs/compared/one&metric=eval/win_rate")
    browser.wait_text(".r-detail", "no eval.json in this run")


@pytest.mark.parametrize("name", ["outputs/../secret", "/etc", "outputs/compared/way-out", "experiments/../src"])
def test_a_way_out_is_refused_everywhere(browser: Browser, two_runs: list[Path], scratch: Path, name: str):
    (scratch / "secret").mkdir(exist_ok=True)
    (scratch / "secret" / "config.yaml").write_text("seed: 1\n")
    (scratch / "secret" / "plan.png").write_bytes(a_png())
    link = scratch / "outputs" / "compared" / "way-out"
    if not link.is_symlink():
        link.symlink_to(scratch / "secret")
    browser.open(f"/runs?compare={name},outputs/compared/one&metric=eval/win_rate")
    browser.wait_notification(name)
    wait_drawn(browser, [[0.5, 0.75]])
    for run, file in ((name, "plan.png"), ("outputs/compared/one", "../../../secret/plan.png")):
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{browser.address}/runs/picture?run={quote(run)}&file={quote(file)}")
