"""The Training page in a browser, and what outlives a server: training runs and games."""

import http.client
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from src.core.runs.training_jobs import Jobs
from tests.core.made_runs import make_run
from tests.web.browser import Browser, serving
from tests.web.test_runs_page import runs_listed, shifts, wait_url
from tests.web.test_saved_games import begin, wait_address
from tests.web.test_tictactoe import stones

COMMAND = "python -m src.train"
LONG = "seed=5 algo.episodes=50000000 logger=csv checkpoint_seconds=1 algo.eval_every=100"
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def wait_shown(browser: Browser, **choices: str) -> None:
    """Wait until the fields of config groups show these choices."""
    read = "return arguments[0].map(name => document.querySelector(`.t-${name} input`).value)"
    names, expected = list(choices), list(choices.values())
    browser.until(lambda: browser.script(read, names) == expected, f"{choices}")


def confirm(browser: Browser) -> None:
    """Say yes; click again if the moving dialog swallowed the click."""
    browser.until(lambda: browser.all(".t-confirm .t-yes"), "the question")

    def answered() -> bool:
        for button in browser.all(".t-confirm .t-yes"):
            browser.script("arguments[0].click()", button)
        return not browser.all(".t-confirm")

    browser.until(answered, "the question to go")


def test_the_form_shows_the_command_and_explains_mistakes_in_place(browser: Browser):
    browser.open("/training")
    wait_shown(browser, env="tictactoe (default)", algo="qlearning (default)", experiment="default")
    browser.wait_text(".t-checked", "valid")
    browser.choose(".t-env", "minesweeper_8x8")
    wait_shown(browser, env="minesweeper_8x8", algo="ppo", reward="minesweeper (default)")
    browser.click(".t-algo input")
    browser.until(lambda: browser.all(".q-menu .q-item"), "the algorithms")
    offered = [item.text for item in browser.all(".q-menu .q-item")]
    assert "imitation" in offered
    assert not {"qlearning (default)", "alphazero"} & set(offered), "they cannot play it"
    browser.press(Keys.ESCAPE)
    for text, message in (("algo.lr=-1", "algo.lr=-1 must be a number > 0"), ("-m seed=1,2", "-m is a flag")):
        browser.fill(".t-overrides textarea", "seed=6")
        browser.wait_text(".lab-command code", "seed=6")
        browser.fill(".t-overrides textarea", text)
        browser.wait_text(".t-checked", message)
        assert browser.all(".t-overrides.q-field--error")
        assert browser.text(".lab-command code") == "", "no command of an earlier state"
        assert browser.find(".t-start").get_attribute("disabled") is not None
    browser.fill(".t-overrides textarea", "seed=7,8")
    browser.wait_text(".t-checked", "a sweep of 2 runs")
    browser.wait_text(".lab-command code", f"{COMMAND} -m env=minesweeper_8x8 algo=ppo seed=7,8")
    browser.fill(".t-overrides textarea", "seed=7")
    expected = f"{COMMAND} env=minesweeper_8x8 algo=ppo seed=7"
    browser.wait_text(".lab-command code", expected)
    browser.refresh()
    browser.wait_text(".lab-command code", expected)
    browser.click(".t-presets .q-btn:nth-child(3)")
    browser.wait_text(".lab-command code", f"{COMMAND} env=quoridor algo=ppo")
    wait_shown(browser, env="quoridor", algo="ppo")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A working directory whose training runs are killed at the end, should the test fail."""
    yield tmp_path
    for job in Jobs(tmp_path / "outputs").running():
        os.killpg(job.pid or 0, signal.SIGKILL)


def test_games_and_training_runs_outlive_the_server(driver: webdriver.Chrome, folder: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(folder, port) as address:
        browser = Browser(driver, address)
        browser.open("/runs?filter=losses/loss%3C100&sort=-losses/loss")  # no run is read yet
        browser.until(lambda: runs_listed(browser), "a run")
        browser.until(lambda: not browser.text(".r-status"), "all runs to be read")
        moved = shifts(browser)
        assert sum(value for value, _ in moved) < 0.01, f"rows move the page as they are read: {moved}"
        browser.click(".r-table tbody input")
        wait_url(browser, "compare=")
        assert all(part in driver.current_url for part in ("sort=-losses/loss", "filter=losses/loss"))

        browser.open("/training")
        browser.wait_text("section[aria-label='training runs']", "No training was started here yet.")
        browser.fill(".t-overrides textarea", LONG)
        browser.wait_text(".lab-command code", LONG)
        browser.click(".t-start")
        browser.wait_text(".t-confirm", f"{COMMAND} {LONG}")
        assert not (folder / "outputs").exists(), "nothing is started without a yes"
        confirm(browser)
        browser.wait_text(".t-job .t-state", "running")
        browser.wait_text(".r-progress", "of 50,000,000 episodes")
        browser.wait_text(".t-job", "episodes/s")
        browser.wait_text(".t-link", "Tictactoe · qlearning")
        path, opened = begin(browser), browser.script("return performance.timeOrigin")
    with serving(folder, port):
        browser.until(lambda: browser.script("return performance.timeOrigin") != opened, "the page to come back")
        browser.wait_built()
        browser.click("[data-id=cell-0]")
        browser.until(lambda: stones(browser) == "O...X....", "the next move")
        assert wait_address(browser, "/tictactoe") == path

        browser.open("/training")
        browser.wait_text(".t-job .t-state", "running")
        (job,) = Jobs(folder / "outputs").running()
        os.killpg(job.pid or 0, signal.SIGSTOP)  # it hangs
        browser.click(".t-stop")
        confirm(browser)
        browser.wait_text(".t-job .t-state", "stopping")
        browser.click(".t-end")
        confirm(browser)
        browser.wait_text(".t-job .t-state", "stopped")
        browser.click(".t-continue")
        browser.wait_text(".t-confirm", f"{COMMAND} resume=outputs/runs/tictactoe/qlearning/")
        driver.get("about:blank")
    (config,) = folder.glob("outputs/runs/*/*/*/config.yaml")
    assert "seed: 5" in config.read_text()


def test_an_unfinished_run_leads_to_its_continuation(browser: Browser, scratch: Path):
    make_run(scratch / "outputs", "left/one")
    browser.open("/runs/outputs/left/one")
    browser.click(".r-continue")
    browser.until(lambda: "/training" in browser.driver.current_url, "the page Train")
    chosen = "return document.querySelector('.t-unfinished input')?.value"
    browser.until(lambda: browser.script(chosen) == "outputs/left/one", "the run to be chosen")


def status(address: str, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    connection.request("GET", path, headers=headers)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_page_of_another_site_does_not_get_the_form(address: str):
    for origin in ("http://evil.example", "null"):
        assert status(address, "/training", {"Origin": origin}) == 403
        assert status(address, SOCKET, UPGRADE | {"Origin": origin}) == 403
    assert status(address, "/training", {"Host": "evil.example"}) == 400
    assert status(address, SOCKET, UPGRADE | {"Origin": address}) == 101
