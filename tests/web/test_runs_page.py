"""The Runs page in a browser."""

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from filelock import FileLock
from selenium.webdriver.common.keys import Keys

from tests.core.made_runs import CONFIG, PNG, make_run
from tests.web.browser import Browser

CHART = """const plot = document.querySelectorAll('.r-grid .r-chart')[arguments[0]];
const chart = plot && getElement(+plot.id.slice(1)).chart;"""
SWEEP = "const chart = getElement(+document.querySelector('.r-sweep .r-chart').id.slice(1)).chart;"
TALLY = {"episodes": 10, "wins": 9, "draws": 1, "losses": 0, "win_rate": 0.9, "win_rate_ci95": [0.6, 0.98]}


def drawn(browser: Browser, place: int = 0) -> list[list[float]]:
    """Return the values of each curve of a chart that is not empty."""
    code = """const series = chart && chart.getOption() ? chart.getOption().series : [];
    return (series || []).map(line => line.data.map(point => point[1])).filter(line => line.length > 0);"""
    return browser.script(CHART + code, place)


def texts(browser: Browser, css: str) -> list[str]:
    return browser.script("return [...document.querySelectorAll(arguments[0])].map(one => one.innerText.trim())", css)


def runs_listed(browser: Browser) -> list[str]:
    return [key.removeprefix("run ") for key in browser.attributes(".r-table tbody th input", "data-key")]


def wait_listed(browser: Browser, names: list[str]) -> None:
    browser.until(lambda: runs_listed(browser) == names, f"the runs {names} in the table")


def wait_url(browser: Browser, part: str) -> None:
    browser.until(lambda: part in browser.driver.current_url, f"{part} in the address")


def shifts(browser: Browser) -> list[tuple[float, list[Any]]]:
    """Return the layout shifts since the page was opened: how large each is, and what moved from where to where."""
    code = """const done = arguments[0];
    const at = box => [box.x, box.y, box.width, box.height].map(Math.round);
    const moved = one => one.sources.map(source => [String(source.node?.className || source.node?.nodeName),
      at(source.previousRect), at(source.currentRect)]);
    new PerformanceObserver(list => done(list.getEntries().map(one => [one.value, moved(one)])))
        .observe({type: 'layout-shift', buffered: true});
    setTimeout(() => done([]), 300);"""
    return browser.driver.execute_async_script(code)


def wait_drawn(browser: Browser, values: list[list[float]]) -> None:
    browser.until(lambda: drawn(browser) == values, f"the curves {values}")


@pytest.fixture(scope="module")
def two_runs(scratch: Path) -> list[Path]:
    made = [make_run(scratch / "outputs", f"compared/{name}") for name in ("one", "two")]
    (made[1] / "metrics.csv").write_text("step,eval/win_rate,train/lr\n10,0.25,0.5\n20,0.5,0.25\n")
    (made[0] / "heat.png").write_bytes(PNG)
    return made


def test_two_runs_are_compared_and_followed_while_they_train(browser: Browser, two_runs: list[Path]):
    browser.open("/runs?compare=outputs/compared/one,outputs/compared/two&metric=eval/win_rate")
    wait_drawn(browser, [[0.5, 0.75], [0.25, 0.5]])
    with (two_runs[1] / "metrics.csv").open("a") as file:
        file.write("30,0.875,0.125\n40,0.9")
    wait_drawn(browser, [[0.5, 0.75], [0.25, 0.5, 0.875]])
    browser.choose(".r-metric", "train/lr")
    browser.until(lambda: texts(browser, ".r-grid h2") == ["eval/win_rate", "train/lr"], "two charts")
    browser.until(lambda: drawn(browser, 1) == [[0.5, 0.25, 0.125]], "the second chart")
    wait_url(browser, "metric=eval/win_rate,train/lr")
    browser.click(".r-remove")
    browser.until(lambda: texts(browser, ".r-grid h2") == ["train/lr"], "one chart")
    browser.refresh()
    wait_drawn(browser, [[0.5, 0.25, 0.125]])


def test_what_an_address_asks_for_stands_first_and_nothing_jumps(browser: Browser, two_runs: list[Path]):
    for width in (1280, 400):
        browser.resize(width, 900)
        browser.open("/runs?compare=experiments/tictactoe_qlearning")
        browser.until(lambda: drawn(browser), "a curve")
        browser.until(lambda: runs_listed(browser)[:1] == ["experiments/tictactoe_qlearning"], "it to be the first")
        moved = shifts(browser)
        assert sum(value for value, _ in moved) < 0.01, f"parts of the page move at a width of {width}: {moved}"
    script = f"{CHART} return [0, 950, 2e5, 1.25e6].map(chart.getOption().xAxis[0].axisLabel.formatter)"
    assert browser.script(script, 0) == ["0", "950", "200k", "1.25M"]


@pytest.fixture(scope="module")
def sweep(scratch: Path) -> list[Path]:
    """Two learning rates with two seeds each."""
    made = []
    for number, (lr, seed) in enumerate([(0.1, 1), (0.1, 2), (0.2, 1), (0.2, 2)]):
        text = f"step,eval/win_rate,losses/loss\n10,{lr * seed},4\n20,{2 * lr * seed},2\n30,{lr},0\n"
        path = make_run(scratch / "outputs", f"sweep/{number}", text)
        (path / "config.yaml").write_text(CONFIG.replace("seed: 3", f"seed: {seed}") + f"algo: {{lr: {lr}, size: 5}}\n")
        (path / "eval.json").write_text(json.dumps({"scores": {"random": TALLY | {"win_rate": lr * seed}}}))
        made.append(path)
    return made


COMPARE = "/runs?compare=" + ",".join(f"outputs/sweep/{number}" for number in range(4))


def test_the_table_is_filtered_and_mistakes_explained_in_place(browser: Browser, sweep: list[Path]):
    browser.open("/runs?filter=run%3Doutputs/sweep/*")
    browser.until(lambda: len(runs_listed(browser)) == 4, "the whole sweep")
    browser.fill(".r-filter input", "run=outputs/sweep/* lr>0.15 seed=2")
    wait_listed(browser, ["outputs/sweep/3"])
    browser.fill(".r-filter input", "lrr>0.15")
    browser.wait_text(".r-filter-fault[role=alert]", "lrr is not a field of any run: did you mean lr?")
    assert runs_listed(browser) == ["outputs/sweep/3"], "the list stays as it is"
    browser.fill(".r-filter input", "sweep/1")
    wait_listed(browser, ["outputs/sweep/1"])
    assert browser.text(".r-filter-fault") == ""
    browser.click(".r-table tbody tr td:nth-child(2)")
    browser.until(lambda: drawn(browser), "its curves")
    metrics = "eval/win_rate,losses/loss"
    wait_url(browser, f"/runs?compare=outputs/sweep/1&metric={metrics}&filter=sweep/1")
    browser.refresh()
    wait_listed(browser, ["outputs/sweep/1"])


def test_columns_are_chosen_sorted_and_kept_while_the_name_stays(browser: Browser, sweep: list[Path]):
    browser.open("/runs?filter=run%3Doutputs/sweep/*&columns=state,algo.lr,losses/loss,seed")
    browser.until(lambda: len(runs_listed(browser)) == 4, "the sweep")
    heads = ".r-table thead th"
    assert texts(browser, heads) == ["run", "state", "algo.lr", "losses/loss", "seed"]
    browser.click(".r-columns input")
    browser.press("algo.si")
    browser.until(lambda: len(browser.all(".q-menu .q-item")) == 1, "one column to choose")
    browser.click(".q-menu .q-item")
    browser.until(lambda: "algo.size" in texts(browser, heads), "the column")
    browser.press(Keys.ESCAPE)
    wait_url(browser, "algo.size")
    browser.click(f"{heads}:nth-child({texts(browser, heads).index('algo.lr') + 1}) button")
    for order in ((0, 1, 2, 3), (3, 2, 1, 0)):
        browser.click(f"{heads}:first-child button")
        wait_listed(browser, [f"outputs/sweep/{number}" for number in order])
    assert browser.attributes(f"{heads}:first-child", "aria-sort") == ["descending"]
    browser.resize(390, 844)
    moved = """const box = document.querySelector('.r-table .q-table__middle'), name = box.querySelector('tbody th');
    const before = name.getBoundingClientRect().left; box.scrollLeft = 200;
    return [box.scrollLeft, name.getBoundingClientRect().left - before]"""
    scrolled, shift = browser.script(moved)
    assert scrolled > 50
    assert abs(shift) < 1


def test_groups_have_a_mean_and_a_band_and_differences_are_listed(browser: Browser, sweep: list[Path]):
    browser.open(COMPARE + "&metric=eval/win_rate&band=range")
    browser.until(lambda: len(drawn(browser)) == 4, "four curves")
    browser.wait_text("section[aria-label='differences of configuration']", "2 settings differ")
    heads = [f"outputs/sweep/{number}" for number in range(4)]
    table = [["setting", *heads], ["seed", "1", "2", "1", "2"], ["algo.lr", "0.1", "0.1", "0.2", "0.2"]]
    cells = "return [...document.querySelectorAll('.r-differences tr')].map(r => [...r.cells].map(c => c.innerText))"
    assert browser.script(cells) == table
    browser.choose(".r-group", "all settings but the seed")
    code = CHART + "return chart.getOption().series.map(s => [s.type, s.name])"
    groups = ["algo.lr=0.1 (2 runs)", "algo.lr=0.2 (2 runs)"]
    expected = [[kind, name] for name in groups for kind in ("line", "custom")]
    browser.until(lambda: browser.script(code, 0) == expected, "two means with their bands")
    browser.choose(".r-band", "no band")
    means = [[0.15, 0.3, 0.1], [0.3, 0.6, 0.2]]
    browser.until(lambda: [[round(y, 6) for y in line] for line in drawn(browser)] == means, "the means alone")
    wait_url(browser, "group=all%20but%20the%20seed&band=none")
    browser.choose(".r-group", "algo.lr")
    wait_url(browser, "group=algo.lr")


def test_curves_are_smoothed_axes_logarithmic_and_charts_downloaded(browser: Browser, sweep: list[Path]):
    browser.open("/runs?compare=outputs/sweep/0&metric=losses/loss")
    wait_drawn(browser, [[4, 2, 0]])
    browser.script(
        "const slider = document.querySelector('.r-smooth input'); slider.value = 0.5;"
        "slider.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    browser.until(lambda: len(drawn(browser)) == 2, "the curve before and after")
    smooth, raw = drawn(browser)
    assert raw == [4, 2, 0]
    assert smooth == pytest.approx([4, 2 / 0.75 + 0, 1 / 0.875])
    wait_url(browser, "smooth=0.5")
    browser.click(".r-log-y")
    browser.wait_text(".r-meaning", "1 points not above 0 are left out")
    assert browser.script(CHART + "return chart.getOption().yAxis[0].type", 0) == "log"
    browser.refresh()
    browser.until(lambda: len(drawn(browser)) == 2 and drawn(browser)[1] == [4, 2], "the same after a refresh")
    browser.script(
        "window.saved = []; HTMLAnchorElement.prototype.click = function() {"
        "window.saved.push([this.download, this.href.slice(0, 22), this.href.length]) }"
    )
    browser.click(".r-download")
    ((name, kind, size),) = browser.until(lambda: browser.script("return window.saved"), "an image")
    assert (name, kind) == ("losses_loss.png", "data:image/png;base64,")
    assert size > 5000, "it is not empty"


def test_a_sweep_is_shown_as_parallel_coordinates(browser: Browser, sweep: list[Path]):
    browser.open("/runs?filter=run%3Doutputs/sweep/*&compare=outputs/sweep/2")
    browser.until(lambda: len(runs_listed(browser)) == 4, "the sweep")
    browser.click(".r-sweep .q-expansion-item__container > .q-item")
    code = SWEEP + "const o = chart.getOption(); return o && o.parallelAxis && [o.parallelAxis.map(a => a.name), "
    code += "o.series[0].data.map(line => [line.name.slice(-1), line.value.at(-1), line.lineStyle.width ?? 0]).sort()]"
    expected = [["0", 0.1, 0], ["1", 0.2, 0], ["2", 0.2, 4], ["3", 0.4, 0]]
    browser.until(lambda: (found := browser.script(code)) and found[1] == expected, "a line for each run")
    assert set(browser.script(code)[0]) == {"seed", "lr", "win_rate"}
    browser.fill(".r-filter input", "run=outputs/sweep/* seed=1")
    browser.until(lambda: [line[0] for line in browser.script(code)[1]] == ["0", "2"], "only the listed runs")


def test_a_run_is_named_and_noted_on_its_page_and_followed_to_its_end(browser: Browser, scratch: Path):
    path = make_run(scratch / "outputs", "live/one")
    (path / "heat.png").write_bytes(PNG)
    with FileLock(path / ".lock"):
        browser.open("/runs?filter=run%3Doutputs/live/*")
        browser.click(".r-open")
        browser.wait_text(".r-missing", "training; it is evaluated at the end")
        browser.wait_text(".r-title", "Live one")
        assert browser.driver.current_url.endswith("/runs/outputs/live/one")
        browser.until(
            lambda: browser.script("return document.querySelector('.r-pictures img').naturalWidth") == 1, "it"
        )
        (link,) = browser.attributes(".r-pictures a", "href")
        assert urlopen(browser.address + link).read() == PNG, "a picture leads to the whole of it"
        assert drawn(browser) == [[0.5, 0.75]]
        browser.click(".r-edit")
        browser.fill(".r-note-name input", "The <b>first</b> one")
        browser.fill(".r-note-text textarea", "learns <b>slowly</b>")
        browser.fill(".r-note-tags input", "baseline, " + "x" * 41)
        browser.click(".r-save")
        browser.wait_text(".r-editor [role=alert]", "too long")
        browser.fill(".r-note-tags input", "baseline, keep")
        browser.click(".r-save")
        browser.until(lambda: texts(browser, ".r-tags .r-tag") == ["baseline", "keep"], "the tags")
        assert (browser.text(".r-notes"), browser.text(".r-title")) == ("learns <b>slowly</b>", "The <b>first</b> one")
        saved = {"text": "learns <b>slowly</b>", "tags": ["baseline", "keep"], "name": "The <b>first</b> one"}
        assert json.loads((path / "notes.json").read_text()) == saved
        (path / "eval.json").write_text(json.dumps({"scores": {"random": TALLY}}))
        (path / "curve.png").write_bytes(PNG)
        browser.wait_text(".r-scores", "90.0%")
    browser.wait_text(".r-state", "finished")
    browser.until(lambda: len(browser.all(".r-pictures img")) == 2, "its picture")
    browser.open("/runs?filter=tag%3Dbaseline")
    wait_listed(browser, ["outputs/live/one"])
    browser.wait_text(".r-table", "The <b>first</b> one")


def test_checkpoints_of_a_run_are_watched_and_its_settings_compared_with_the_defaults(browser: Browser):
    browser.open("/runs/experiments/tictactoe_qlearning")
    browser.wait_text(".r-differences", "algo.episodes")
    cells = "return [...document.querySelectorAll('.r-differences tr')].map(r => [...r.cells].map(c => c.innerText))"
    assert ["algo.episodes", "10000", "30000"] in browser.script(cells)
    browser.wait_text(".lab-command code", "experiment=tictactoe_qlearning")
    browser.until(lambda: browser.all(".r-dots i"), "the end of a game that its best checkpoint plays")
    assert browser.script("return document.querySelector('.r-side img').naturalWidth") > 50
    (play,), (again,) = browser.attributes(".r-play", "href"), browser.attributes(".r-again", "href")
    browser.open(play)
    assert "run:experiments" in browser.driver.current_url.replace("%3A", ":")
    browser.open(again)
    browser.wait_text(".t-checked", "valid")
    browser.wait_text(".lab-command code", "experiment=tictactoe_qlearning")


def test_where_a_checkpoint_places_its_units_is_shown_below_its_games(browser: Browser):
    browser.open("/runs/experiments/deployment_ppo")
    width = "return document.querySelector('.r-best .r-setup img')?.naturalWidth ?? 0"
    browser.until(lambda: browser.script(width) > 300, "the map of its deployments")
    browser.open("/runs/experiments/tictactoe_qlearning")
    browser.until(lambda: browser.all(".r-dots i"), "the end of a game")
    assert not browser.find(".r-setup").is_displayed(), "a game without a setup"


def test_pages_of_the_table_are_turned_and_all_matches_selected(browser: Browser, sweep: list[Path], scratch: Path):
    for number in range(15):
        make_run(scratch / "outputs", f"many/{number:02}")
    browser.open("/runs?filter=many/&sort=run")
    wait_listed(browser, [f"outputs/many/{number:02}" for number in range(10)])
    browser.click("button[aria-label='next page']")
    wait_listed(browser, [f"outputs/many/{number}" for number in range(10, 15)])
    browser.wait_text(".r-place", "11-15 of 15")
    browser.click(".r-all")
    browser.until(lambda: len(drawn(browser)) == 15, "all of them compared")
    browser.until(lambda: browser.driver.current_url.count("outputs/many/") == 15, "the address to follow")
    browser.click(".r-none")
    browser.until(lambda: "compare=" not in browser.driver.current_url, "none selected")


def test_runs_are_selected_and_sorted_with_keys_alone(browser: Browser, sweep: list[Path]):
    browser.open("/runs?filter=run%3Doutputs/sweep/*")
    browser.until(lambda: len(runs_listed(browser)) == 4, "the sweep")
    browser.script("document.querySelector('.r-table thead button').focus()")
    browser.press(Keys.ENTER)
    wait_listed(browser, [f"outputs/sweep/{number}" for number in range(4)])
    browser.script("document.querySelectorAll('.r-table tbody input')[1].focus()")
    browser.press(Keys.SPACE)
    wait_url(browser, "compare=outputs/sweep/1")
    focused = "return document.activeElement.dataset.key"
    browser.until(lambda: browser.script(focused) == "run outputs/sweep/1", "the focus on its row again")


def test_a_way_out_is_refused_everywhere(browser: Browser, two_runs: list[Path], scratch: Path):
    (scratch / "secret").mkdir()
    (scratch / "secret" / "config.yaml").write_text("seed: 1\n")
    (scratch / "secret" / "plan.png").write_bytes(PNG)
    (scratch / "outputs" / "compared" / "way-out").symlink_to(scratch / "secret")
    names = ["outputs/../secret", "/etc", "outputs/compared/way-out", "experiments/../src"]
    # `browser.open` would wait until the page is complete, and notifications last for seconds only.
    browser.driver.get(f"{browser.address}/runs?compare={','.join(names)},outputs/compared/one&metric=eval/win_rate")
    browser.until(lambda: all(name in " ".join(texts(browser, ".q-notification")) for name in names), "four refusals")
    wait_drawn(browser, [[0.5, 0.75]])
    files = [(name, "plan.png") for name in names] + [("outputs/compared/one", "../../../secret/plan.png")]
    for run, file in files:
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{browser.address}/runs/picture?run={quote(run)}&file={quote(file)}")
