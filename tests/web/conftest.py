from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from src.web import shell
from tests.web import browser as parts


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "driver" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(autouse=True)
def silent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play no sounds where there is no browser to play them."""
    if "driver" not in request.fixturenames:
        monkeypatch.setattr(shell, "sound", lambda kind: None)


@pytest.fixture
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages that a page without a browser would show."""
    notifications: list[str] = []
    monkeypatch.setattr(shell, "notify", lambda message, link=None: notifications.append(message))
    return notifications


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of the server."""
    return tmp_path_factory.mktemp("play")


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with parts.chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="session")
def address(driver: webdriver.Chrome, scratch: Path) -> Iterator[str]:
    """Return the address of the server of these tests; requested after the browser, without which nothing is served."""
    with parts.serving(scratch) as address:
        yield address


@pytest.fixture
def browser(driver: webdriver.Chrome, address: str) -> Iterator[parts.Browser]:
    """Return the browser of these tests, reset to a new session."""
    browser = parts.Browser(driver, address)
    browser.resize(1280, 900)
    yield browser
    browser.close_other_tabs()
    driver.get("about:blank")
    driver.delete_all_cookies()
