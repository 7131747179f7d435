"""A real browser connected to the real server."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.lab import ROOT, Lab, Process
from tests.waiting import PATIENCE

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)

Found = TypeVar("Found")


@contextmanager
def serving(folder: Path, port: int = 0, **options: Any) -> Iterator[str]:
    """Yield the address of a new server with `folder` as its working directory; `options` go to `Lab.start`."""
    runs = f"runs=[outputs,{ROOT / 'experiments'}]"
    process = Lab(folder).start("play", f"port={port}", "open_browser=false", "seed=0", runs, **options)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if "http://" not in line:
            process.kill()
            pytest.fail(f"the server did not start: {line}{process.communicate()[1]}")
        errors = _collected(process)
        yield line.split()[2]
    finally:
        process.terminate()
        process.wait()
    assert "Traceback" not in (log := "".join(errors)), (
        f"something broke in the server, whatever the pages showed:\n{log}"
    )


def _collected(process: Process) -> list[str]:
    """Collect the log of the server, so that its pipe does not fill up."""
    lines: list[str] = []
    threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True).start()
    return lines


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    paths = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        reason = f"{' and '.join(missing)} not installed: the pages cannot be tried in a browser"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = str(paths["chromium"])
    for switch in (*SWITCHES, f"--user-data-dir={profile}", "--window-size=1280,900"):
        options.add_argument(switch)
    service = webdriver.ChromeService(str(paths["chromedriver"]), log_output=subprocess.DEVNULL)
    driver = webdriver.Chrome(options, service)
    try:
        yield driver
    finally:
        driver.quit()


class Browser:
    """The actions and observations of a visitor. All methods wait for their elements."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, path: str) -> None:
        """Open a page and wait until it is connected to its server and built."""
        self.driver.get(self.address + path)
        self.wait_built()

    def refresh(self) -> None:
        self.driver.refresh()
        self.wait_built()

    def wait_built(self) -> None:
        self.wait_connected()
        self.until(lambda: not self.all(".lab-placeholder"), "the page to be built")

    def wait_connected(self) -> None:
        self.until(lambda: self.script("return !!window.socket && window.socket.connected"), "a connection")

    def new_tab(self, path: str) -> str:
        """Open a page in another tab and switch to it; return the name of the tab for `go_to`."""
        self.driver.switch_to.new_window("tab")
        self.open(path)
        return self.driver.current_window_handle

    def go_to(self, tab: str) -> None:
        self.driver.switch_to.window(tab)

    @property
    def tab(self) -> str:
        return self.driver.current_window_handle

    def close_other_tabs(self) -> None:
        first, *others = self.driver.window_handles
        for other in others:
            self.driver.switch_to.window(other)
            self.driver.close()
        self.driver.switch_to.window(first)

    def resize(self, width: int, height: int) -> None:
        """Resize the visible page, not the window; a phone is 390 wide."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def find(self, css: str) -> WebElement:
        return self.until(lambda: next(iter(self.all(css)), None), css)

    def text(self, css: str) -> str:
        return self.until(lambda: [element.text for element in self.all(css)], css)[0]

    def attributes(self, css: str, name: str) -> list[str]:
        """Return an attribute of all elements in one call, so that none is redrawn meanwhile."""
        code = "return [...document.querySelectorAll(arguments[0])].map(e => e.getAttribute(arguments[1]) ?? '')"
        return self.script(code, css, name)

    def click(self, css: str) -> None:
        self._act(css, lambda mouse, element: mouse.click(element))

    def right_click(self, css: str) -> None:
        self._act(css, lambda mouse, element: mouse.context_click(element))

    def long_press(self, css: str, seconds: float = 0.6) -> None:
        """Press long with a finger; a short press is a tap."""
        element = self.find(css)
        finger = ActionBuilder(self.driver, mouse=PointerInput("touch", "finger"), duration=0)
        finger.pointer_action.move_to(element).pointer_down().pause(seconds).pointer_up()
        finger.perform()

    def press(self, *keys: str) -> None:
        """Send keys to the focused element."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def send(self, css: str, value: object) -> None:
        """Send a value of a control to the server, which may be one that the control does not offer."""
        self.script(
            "const box = document.querySelector(arguments[0]);"
            "const control = [box, ...box.querySelectorAll('*')].find(part => /^c\\d+$/.test(part.id));"
            "for (const name of ['update:value', 'update:model-value']) getElement(control).$emit(name, arguments[1])",
            css,
            value,
        )

    def until(self, condition: Callable[[], Found | None], what: str) -> Found:
        """Return the first true result of a condition; retry if elements were redrawn meanwhile."""

        def attempt(_: webdriver.Chrome) -> Any:
            try:
                return condition()
            except StaleElementReferenceException:
                return None

        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(attempt, f"waited in vain for {what}")

    def wait_text(self, css: str, words: str) -> None:
        """Wait until an element contains the text."""
        try:
            found = lambda: any(words.lower() in element.text.lower() for element in self.all(css))  # noqa: E731
            self.until(found, f"{words!r} in {css}")
        except Exception as error:
            raise AssertionError(f"{css} never said {words!r}, but {[e.text for e in self.all(css)]}") from error

    def wait_notification(self, words: str) -> None:
        """Wait until a message contains the text, in the line of the page or floating."""
        self.wait_text(".q-notification, .lab-say", words)

    def choose(self, css: str, option: str) -> None:
        """Pick an option of a dropdown; click again if a moving dialog swallowed the click."""
        clicked = 0.0

        def found() -> Any:
            nonlocal clicked
            if not self.all(".q-menu") and time.monotonic() - clicked > 3:
                self.click(css)
                clicked = time.monotonic()
            return next((item for item in self.all(".q-menu .q-item") if item.text.strip() == option), None)

        self.until(found, f"the option {option}").click()
        self.until(lambda: not self.all(".q-menu .q-item"), "the menu to close")

    def fill(self, css: str, text: str) -> None:
        """Replace the text of a field."""
        field = self.find(css)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text)

    def _act(self, css: str, act: Callable[[ActionChains, WebElement], ActionChains]) -> None:
        def attempt() -> bool:
            element = self.find(css)
            self.script("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
            act(ActionChains(self.driver, duration=0), element).perform()
            return True

        self.until(attempt, f"{css} to be clickable")
