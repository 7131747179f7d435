"""The pages for everyone: findings of axe-core, keys alone, sizes of targets, and layouts."""

from collections.abc import Callable
from importlib.metadata import distribution
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from src.web.pages import discover
from tests.web.browser import Browser
from tests.web.test_quoridor_page import load, wait_moves

PATHS = [page.path for page in discover([])]
SIZES = {
    "phone": (390, 844),
    "landscape": (844, 390),
    "tablet": (820, 1180),
    "desktop": (1400, 900),
    "zoomed": (700, 450),
}


FADING = "return document.getAnimations().some(one => one instanceof CSSTransition && one.playState == 'running')"


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    return distribution("axe-core-python").locate_file("axe_core_python/axe.min.js").read_text()


def findings(browser: Browser, axe: str) -> list[Any]:
    """Return the critical and serious findings on the page that is shown, in a light and in a dark theme."""
    browser.script(axe)
    browser.driver.set_script_timeout(120)
    found = []
    for dark in ("false", "true"):
        browser.script(f"Quasar.Dark.set({dark})")
        browser.until(lambda: not browser.script(FADING), "the colors of the theme")
        found += browser.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(found => arguments[0]("
            "found.violations.filter(one => ['critical', 'serious'].includes(one.impact))"
            ".map(one => [one.id, one.nodes[0].html.slice(0, 200), one.nodes[0].failureSummary])))"
        )
    return found


def wait_shown(browser: Browser) -> None:
    browser.until(lambda: not browser.all(".lab-busy.on"), "everything to be shown")


def small_targets(browser: Browser) -> list[str]:
    """Return the targets that are too small for a finger; the target of a checkbox is its label."""
    return browser.script(
        "return [...document.querySelectorAll('button, a, input, .q-field__control, [role=switch], [role=slider]')]"
        ".filter(one => one.checkVisibility() && !one.closest('.q-field .q-field__control button'))"
        ".map(one => (one.matches('input') && one.closest('label, .q-field__control')) || one)"
        ".map(one => [one.className + ' ' + one.textContent.slice(0, 30), one.getBoundingClientRect()])"
        ".filter(([, box]) => box.width && box.height && (box.height < 43.5 || box.width < 43.5))"
        ".map(([name, box]) => `${name}: ${Math.round(box.width)} by ${Math.round(box.height)}`)"
    )


def assert_fits_every_window(browser: Browser) -> None:
    for size in SIZES:
        browser.resize(*SIZES[size])
        if size == "phone":
            assert small_targets(browser) == []
        browser.until(lambda: browser.script("return document.documentElement.scrollWidth <= innerWidth"), size)


@pytest.mark.parametrize("path", [*PATHS, "/nothing", "/quoridor/000000000000"])
def test_a_page_has_no_finding_and_fits_every_window(browser: Browser, axe: str, path: str):
    browser.open(path)
    wait_shown(browser)
    assert findings(browser, axe) == []
    if path in PATHS:
        browser.resize(*SIZES["phone"])
        browser.refresh()
        wait_shown(browser)
        assert_fits_every_window(browser)


def hinted(browser: Browser) -> None:
    browser.press("?")
    browser.find(".qr-hint")


def moved(browser: Browser) -> None:
    browser.click("[data-id='e2'] .hit")
    browser.until(lambda: len(browser.all(".qr-move")) > 1, "a reply")
    hinted(browser)


def reviewed(browser: Browser) -> None:
    """Review a game with a blunder, of which a variation was tried."""
    browser.until(lambda: "loading" not in browser.text(".qr-note"), "the engine")
    load(browser, "start e6 d4 0 0 20 -\nmoves e7 d3 e6 d2 e7 d1\nresult 0-1")
    wait_moves(browser, 6)
    browser.click("[data-id='ply-2']")
    browser.wait_text(".qr-headline", "Position after move 2 of 6")
    browser.click("[data-id='e8'] .hit")
    browser.find(".qr-variation")
    browser.click(".qr-return")
    browser.wait_text(".qr-headline", "Position after move 2 of 6")
    browser.click(".qr-do-review")
    browser.wait_text(".qr-progress", "1 blunder")
    browser.click("[data-id='ply-3'].qr-move")
    browser.wait_text(".qr-comment", "was a blunder")


def odds_shown(browser: Browser) -> None:
    browser.click("[data-id=cell-40]")
    browser.find(".ms-legend.on")
    browser.find(".ms .odds")


def refused_and_ended(browser: Browser) -> None:
    for cell in (0, 0, 1, 3, 4, 6):  # one is taken
        browser.press(str(cell))
    browser.wait_text(".lab-result", "X wins")


def lost(browser: Browser) -> None:
    browser.click("[data-id=cell-0]")
    browser.wait_text(".headline", "Playing")
    browser.click(".play")
    browser.wait_text(".lab-result", "You lose")


def rules(browser: Browser) -> None:
    browser.click(".lab-rules")
    browser.until(lambda: browser.find(".lab-rules-pictures").is_displayed(), "the rules")
    browser.until(lambda: not browser.all(".q-transition--scale-enter-active"), "the dialog to stand still")


def advised(browser: Browser) -> None:
    browser.find(".dp-pieces")
    browser.press("a")
    browser.wait_text("[data-part=advice]", "It would place")


def advised_in_battle(browser: Browser) -> None:
    browser.click("[data-part=rest]")
    browser.wait_text("[data-part=headline]", "confirm")
    browser.click("[data-part=confirm]")
    browser.click(".dp .q-btn-toggle button:last-child")
    browser.wait_text("[data-part=headline]", "choose a hex to move to")
    browser.press("a")
    browser.find(".dp-pieces .choice")


def compared(browser: Browser) -> None:
    browser.click(".r-table tbody [type=checkbox]")
    browser.until(lambda: browser.all(".r-grid .r-chart canvas"), "a chart")


def invalid(browser: Browser) -> None:
    browser.fill(".t-overrides textarea", "algo.lr=-1")
    browser.until(lambda: browser.all(".t-overrides.q-field--error"), "the mistake")


def asked(browser: Browser) -> None:
    browser.wait_text(".t-checked", "valid")
    browser.click(".t-start")
    browser.until(lambda: browser.find(".t-confirm").is_displayed(), "the question")
    browser.until(lambda: not browser.all(".q-transition--scale-enter-active"), "the dialog to stand still")


STATES: list[tuple[str, Callable[[Browser], None]]] = [
    ("/tictactoe?x=you&o=you&values=minimax", lambda browser: browser.press("4")),
    ("/tictactoe?x=you&o=you", refused_and_ended),
    ("/tictactoe", rules),
    ("/minesweeper?board=9x9x71&agent=random", lost),
    ("/minesweeper?odds=exact", odds_shown),
    ("/minesweeper?odds=exact&board=16x30x99", odds_shown),
    ("/quoridor?first=you&second=runner", moved),
    ("/quoridor?first=you&second=you", reviewed),
    ("/deployment?scenario=classic&seed=3", advised),
    ("/deployment?scenario=classic&seed=3", advised_in_battle),
    ("/runs", compared),
    ("/training?env=minesweeper_8x8&algo=ppo", invalid),
    ("/training", asked),
]


@pytest.mark.parametrize(("path", "act"), STATES, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_no_state_of_a_game_has_a_serious_finding(
    browser: Browser, axe: str, path: str, act: Callable[[Browser], None]
):
    browser.open(path)
    wait_shown(browser)
    act(browser)
    wait_shown(browser)
    assert findings(browser, axe) == []


def focused(browser: Browser) -> str:
    return browser.script("return document.activeElement.dataset.id || ''")


def tab_to_board(browser: Browser) -> None:
    """Press the tab key until a part of the board has the focus."""
    browser.script("document.activeElement.blur()")
    for _ in range(60):
        browser.press(Keys.TAB)
        if focused(browser):
            return
    pytest.fail("the board is not reached by the tab key")


def test_tictactoe_is_played_by_keys_alone(browser: Browser):
    browser.open("/tictactoe?x=you&o=you")
    browser.wait_text(".headline", "Your turn: X")
    tab_to_board(browser)
    assert focused(browser) == "cell-0"
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait_text(".headline", "Your turn: O")
    assert browser.attributes("[data-id=cell-4]", "aria-label") == ["cell 4, X"]
    assert focused(browser) == "cell-4", "the focus stays where it was played"
    browser.press(Keys.ARROW_LEFT, " ")
    browser.until(lambda: browser.attributes("[data-id=cell-3]", "aria-label") == ["cell 3, O"], "the answer")


def test_minesweeper_is_played_by_keys_alone(browser: Browser):
    browser.open("/minesweeper")
    browser.wait_text(".ms-left", "10")
    tab_to_board(browser)
    browser.press(Keys.ARROW_RIGHT, "f")
    browser.wait_text(".ms-left", "9")
    assert browser.attributes("[data-id=cell-1]", "aria-label") == ["row 1, column 2: flag"]
    assert focused(browser) == "cell-1"
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait_text(".headline", "Playing")


def test_quoridor_is_played_by_keys_alone(browser: Browser):
    browser.open("/quoridor?first=you&second=you")
    browser.until(lambda: "loading" not in browser.text(".qr-note"), "the engine")
    browser.find(".spot")
    tab_to_board(browser)
    assert focused(browser) == "a1"
    browser.press(*[Keys.ARROW_RIGHT] * 4, Keys.ARROW_UP, Keys.ENTER)
    browser.until(lambda: len(browser.all(".qr-move")) == 1, "the move e2")
    browser.press("h")
    browser.until(lambda: browser.attributes(".spot", "data-id")[0] == "a1h", "the places of walls")
    tab_to_board(browser)
    browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait_text(".qr-note", "click again to place b1h")
    browser.press(Keys.ENTER)
    browser.until(lambda: len(browser.all(".quoridor .wall")) == 1, "the wall")


def test_the_wargame_is_played_by_keys_alone(browser: Browser):
    browser.open("/deployment?scenario=classic&seed=3&player_2=random")
    browser.wait_text("[data-part=headline]", "You deploy: place R1")
    browser.script("document.activeElement.blur()")
    for left in range(5, 0, -1):
        browser.wait_text("[data-part=roster-1]", f"{left} of 5 to deploy")
        browser.press(*[Keys.ARROW_RIGHT] * (3 * left), Keys.ENTER)
    browser.wait_text("[data-part=headline]", "You have placed every unit")
    browser.press("u")
    browser.wait_text("[data-part=roster-1]", "1 of 5 to deploy")
    browser.press("a")
    browser.wait_text("[data-part=advice]", "It would place")
    browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait_text("[data-part=headline]", "You have placed every unit")
    browser.press(Keys.ENTER)
    browser.wait_text("[data-part=headline]", "choose a hex to move to")
    before = browser.text("[data-part=moment]")
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait_text("[data-part=log]", "moves to")
    browser.press("u")
    browser.wait_text("[data-part=moment]", before)


def test_advice_fits_every_window(browser: Browser):
    browser.resize(*SIZES["phone"])
    browser.open("/deployment?scenario=classic&seed=3")
    advised(browser)
    assert_fits_every_window(browser)


def test_a_reveal_sends_what_has_changed(browser: Browser):
    browser.open("/minesweeper?board=16x30x99")
    browser.wait_text(".ms-left", "99")
    whole = browser.script("return document.querySelector('.ms').outerHTML.length")
    browser.script(
        "window.received = 0; const receive = socket.io.engine.transport.ws.onmessage;"
        "socket.io.engine.transport.ws.onmessage = event => { received += event.data.length; return receive(event); }"
    )
    browser.right_click("[data-id=cell-0]")
    browser.wait_text(".ms-left", "98")
    assert browser.script("return received") < whole / 10
    assert browser.attributes("[data-id=cell-0]", "aria-label") == ["row 1, column 1: flag"]
