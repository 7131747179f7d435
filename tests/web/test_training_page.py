"""The Training page in a browser."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from src.web.training.jobs import Jobs
from tests.web.browser import Browser, serving
from tests.web.test_middleware import status
from tests.web.test_runs import make_run

COMMAND = "python -m src.train"
LONG = "seed=5 algo.episodes=50000000 logger=csv checkpoint_seconds=1 algo.eval_every=100"


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
    wait_shown(browser, env="as configured: tictactoe", algo="as configured: qlearning", experiment="as configured")
    browser.wait_text(".t-checked", "valid")
    browser.choose(".t-env", "minesweeper_8x8")
    browser.wait_text(".t-checked", "algo=qlearning cannot play env=minesweeper_8x8")
    assert browser.find(".t-start").get_attribute("disabled") is not None
    browser.choose(".t-algo", "ppo")
    wait_shown(browser, env="minesweeper_8x8", algo="ppo", reward="as configured: minesweeper")
    browser.fill(".t-overrides textarea", "algo.lr=-1")
    browser.wait_text(".t-checked", "algo.lr=-1 must be a number > 0")
    assert browser.all(".t-overrides.q-field--error")
    browser.fill(".t-overrides textarea", "-m seed=1,2")
    browser.wait_text(".t-checked", "-m is a flag")
    browser.fill(".t-overrides textarea", "seed=7")
    expected = f"{COMMAND} env=minesweeper_8x8 algo=ppo seed=7"
    browser.wait_text(".t-command code", expected)
    browser.refresh()
    browser.wait_text(".t-command code", expected)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A working directory whose trainings are killed at the end, should the test fail."""
    yield tmp_path
    for job in Jobs(tmp_path / "outputs").running():
        os.killpg(job.pid or 0, signal.SIGKILL)


def test_a_training_is_confirmed_watched_and_found_after_a_refresh_and_a_restart(browser: Browser, folder: Path):
    with serving(folder) as address:
        first = Browser(browser.driver, address)
        first.open("/training")
        first.wait_text("section[aria-label='training runs']", "No training was started here yet.")
        first.fill(".t-overrides textarea", LONG)
        first.wait_text(".t-checked", "valid")
        first.click(".t-start")
        first.wait_text(".t-confirm", f"{COMMAND} {LONG}")
        first.press(Keys.ESCAPE)
        first.until(lambda: not first.all(".t-confirm"), "the question to go")
        assert not (folder / "outputs").exists(), "nothing is started without a yes"
        first.click(".t-start")
        confirm(first)
        first.wait_text(".t-job .t-state", "running")
        first.wait_text(".t-progress", "of 50,000,000 episodes")
        first.until(lambda: first.script("return document.querySelector('.t-job .r-chart').clientWidth") > 0, "a curve")
        first.wait_text(".t-log", "training in outputs/runs/tictactoe/qlearning/")
        first.refresh()
        first.wait_text(".t-job .t-state", "running")
    with serving(folder) as address:
        second = Browser(browser.driver, address)
        second.open("/training")
        second.wait_text(".t-job .t-state", "running")
        second.click(".t-stop")
        confirm(second)
        second.wait_text(".t-job .t-state", "stopped")
        second.wait_text(".t-log", "stopped: continue with")
        (config,) = folder.glob("outputs/runs/tictactoe/qlearning/*/config.yaml")
        assert "seed: 5" in config.read_text()
        second.click(".t-continue")
        second.wait_text(".t-confirm", f"{COMMAND} resume=outputs/runs/tictactoe/qlearning/")
        confirm(second)
        second.until(lambda: len(second.all(".t-job")) == 2, "a second training of the same run")
        second.until(lambda: [one.text for one in second.all(".t-state")] == ["running", "stopped"], "it to run")
        (again,) = Jobs(folder / "outputs").running()
        os.killpg(again.pid or 0, signal.SIGSTOP)  # it hangs
        second.click(".t-stop")
        confirm(second)
        second.until(lambda: [one.text for one in second.all(".t-state")] == ["stopping", "stopped"], "it to be asked")
        second.click(".t-end")
        confirm(second)
        second.until(lambda: [one.text for one in second.all(".t-state")] == ["stopped", "stopped"], "it to stop")
    assert len(list(folder.glob("outputs/runs/*/*/*/config.yaml"))) == 1


def test_an_unfinished_run_leads_to_its_continuation(browser: Browser, scratch: Path):
    make_run(scratch / "outputs", "left/one")
    browser.open("/runs?compare=outputs/left/one")
    browser.click(".r-continue")
    browser.until(lambda: "/training" in browser.driver.current_url, "the page Train")
    chosen = "return document.querySelector('.t-unfinished input')?.value"
    browser.until(lambda: browser.script(chosen) == "outputs/left/one", "the run to be chosen")


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_a_page_of_another_site_does_not_get_the_form(address: str, origin: str):
    host, port = address.removeprefix("http://").split(":")
    assert status((host, int(port)), "/training", {"Origin": origin}) == 403
    assert status((host, int(port)), "/training", {"Host": "evil.example"}) == 400
