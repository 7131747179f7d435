"""The pages for everyone: findings of axe-core, keys alone, sizes of targets, and layouts."""

from collections.abc import Callable
from importlib.metadata import distribution
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from src.web.pages import discover
from tests.web.browser import Browser
from tests.web.test_deployment_page import begin_battle
from tests.web.test_quoridor_page import review_a_blunder, wait_engine, wait_moves

SIZES = {
    "phone": (390, 844),
    "landscape": (844, 390),
    "tablet": (820, 1180),
    "desktop": (1400, 900),
    "zoomed": (700, 450),
}
FADING = "return document.getAnimations().some(one => one instanceof CSSTransition && one.playState == 'running')"
FINDINGS = """axe.run(document, {resultTypes: ['violations'], ...arguments[0]}).then(found => arguments[1](
  found.violations.filter(one => ['critical', 'serious'].includes(one.impact))
  .map(one => [one.id, one.nodes[0].html.slice(0, 200), one.nodes[0].failureSummary])))"""


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    return distribution("axe-core-python").locate_file("axe_core_python/axe.min.js").read_text()


def findings(browser: Browser, axe: str) -> list[Any]:
    """Return the critical and serious findings on the page that is shown; a dark theme differs in contrast only."""
    browser.script(axe)
    browser.driver.set_script_timeout(120)
    found = []
    for dark, options in (("true", {"runOnly": ["color-contrast"]}), ("false", {})):
        browser.script(f"Quasar.Dark.set({dark})")
        browser.until(lambda: not browser.script(FADING), "the colors of the theme")
        found += browser.driver.execute_async_script(FINDINGS, options)
    return found


def small_targets(browser: Browser) -> list[str]:
    """Return the targets too small for a finger, but for links in a sentence; the target of a checkbox is its label."""
    return browser.script(
        "return [...document.querySelectorAll('button, a, input, .q-field__control, [role=switch], [role=slider]')]"
        ".filter(one => one.checkVisibility() && !one.closest('.q-field .q-field__control button, .lab-say'))"
        ".map(one => (one.matches('input') && one.closest('label, .q-field__control')) || one)"
        ".map(one => [one.className + ' ' + one.textContent.slice(0, 30), one.getBoundingClientRect()])"
        ".filter(([, box]) => box.width && box.height && (box.height < 43.5 || box.width < 43.5))"
        ".map(([name, box]) => `${name}: ${Math.round(box.width)} by ${Math.round(box.height)}`)"
    )


def wait_dialog(browser: Browser, css: str) -> None:
    browser.until(lambda: browser.find(css).is_displayed(), css)
    browser.until(lambda: not browser.all(".q-transition--scale-enter-active"), "the dialog to stand still")


def values(browser: Browser) -> None:
    browser.press("5")
    browser.find("svg .value")


def refused_and_ended(browser: Browser) -> None:
    for cell in (5, 1, 4, 2, 6):  # one is taken
        browser.press(str(cell))
    browser.wait_text(".status.over .headline", "X wins")


def rules(browser: Browser) -> None:
    browser.click(".lab-rules")
    wait_dialog(browser, ".lab-rules-pictures")


def odds_shown(browser: Browser) -> None:
    browser.click("[data-id=cell-0]")
    browser.find(".ms-legend.on")
    browser.find(".ms .odds")


def lost(browser: Browser) -> None:
    browser.click(".play")
    browser.wait_text(".status.over .headline", "Lost with an agent")


def hinted(browser: Browser) -> None:
    wait_engine(browser)
    browser.click("[data-id='e2'] .hit")
    wait_moves(browser, 1)
    browser.press("?")
    browser.find(".qr-hint")


def advised(browser: Browser) -> None:
    browser.find(".dp-pieces")
    browser.press("a")
    browser.wait_text("[data-part=advice]", "It would place R1 on")
    assert browser.all(".dp-pieces .heat")


def advised_in_battle(browser: Browser) -> None:
    begin_battle(browser)
    drawn = browser.until(lambda: browser.all(".dp-pieces [data-choice]"), "the advice")
    assert len(browser.all(".dp-choices li")) == len(drawn) <= 3
    assert not browser.all(".dp-pieces .heat")


def compared(browser: Browser) -> None:
    browser.click(".r-table tbody [type=checkbox]")
    browser.until(lambda: browser.all(".r-grid .r-chart canvas"), "a chart")


def watched(browser: Browser) -> None:
    browser.until(lambda: browser.all(".r-differences td") and browser.all(".r-side img[src]"), "a game and the facts")


def invalid(browser: Browser) -> None:
    browser.fill(".t-overrides textarea", "algo.lr=-1")
    browser.until(lambda: browser.all(".t-overrides.q-field--error"), "the mistake")


def asked(browser: Browser) -> None:
    browser.fill(".t-overrides textarea", "seed=1")
    browser.wait_text(".lab-command code", "seed=1")
    browser.click(".t-start")
    wait_dialog(browser, ".t-confirm")


STATES: dict[str, tuple[Callable[[Browser], None], ...]] = {  # one after the other
    "/": (),
    "/nothing": (),
    "/tictactoe?x=you&o=you&values=minimax": (values, refused_and_ended, rules),
    "/minesweeper?board=9x9x71&agent=random&odds=exact": (odds_shown, lost),
    "/quoridor?first=you&second=you": (hinted, review_a_blunder),
    "/deployment?scenario=classic&seed=3": (advised, advised_in_battle),
    "/runs": (compared,),
    "/runs/experiments/tictactoe_qlearning": (watched,),
    "/training": (invalid, asked),
}


@pytest.mark.parametrize("path", STATES)
def test_a_page_has_no_finding_and_fits_every_window(browser: Browser, axe: str, path: str):
    browser.open(path)
    for act in STATES[path] or (lambda browser: None,):
        act(browser)
        browser.until(lambda: not browser.all(".lab-busy.on"), "everything to be shown")
        assert findings(browser, axe) == []
    browser.press(Keys.ESCAPE)
    browser.until(lambda: not browser.all(".q-dialog"), "a dialog to close")
    for size in SIZES:
        browser.resize(*SIZES[size])
        browser.until(lambda: browser.script("return document.documentElement.scrollWidth <= innerWidth"), size)
        if size == "phone":
            assert small_targets(browser) == []


PLACES = """return ['.status', '.stage', '.board', '.actions', '.details'].map(css => {
    const box = document.querySelector(css).getBoundingClientRect();
    return [box.left, box.top, box.width, box.height].map(Math.round); })"""
IN_VIEW = """return ['.board', '.status', '.actions'].filter(css => {
    const box = document.querySelector(css).getBoundingClientRect();
    return box.top < 47 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth; })"""


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768)])
@pytest.mark.parametrize("path", ["/tictactoe", "/minesweeper?board=16x30x99", "/quoridor", "/deployment"])
def test_the_board_its_status_and_its_actions_are_in_view(browser: Browser, path: str, size: tuple[int, int]):
    browser.resize(*size)
    browser.open(path)
    browser.find(".board svg")
    assert browser.script(IN_VIEW) == []
    assert browser.script("return document.documentElement.scrollHeight <= innerHeight"), "only the details scroll"


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/tictactoe?x=you&o=you", "52334961"),
        ("/minesweeper?board=9x9x71", (Keys.ARROW_LEFT + Keys.ENTER) * 6),
    ],
)
def test_nothing_moves_at_the_end_of_a_game(browser: Browser, path: str, keys: str):
    for size in ((1280, 900), SIZES["phone"]):
        browser.resize(*size)
        browser.open(path)
        browser.find(".board svg")
        before = browser.script(PLACES)
        browser.press(*keys)
        browser.until(lambda: browser.all(".status.over"), "the end")
        browser.until(lambda: not browser.all(".lab-busy.on"), "everything to be shown")
        assert browser.script(PLACES) == before


def test_the_states_of_every_page_are_visited():
    assert {page.path for page in discover([])} < {path.partition("?")[0] for path in STATES}


LINKS = """return [...document.querySelectorAll('.lab-link')].map(link => {
    const {x, y, right, width, height} = link.getBoundingClientRect();
    const isOnTop = link.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    return [link.innerText.trim().split('\\n').pop(), isOnTop && x >= 0 && right <= innerWidth]; })"""


@pytest.mark.parametrize("size", [(1024, 768), SIZES["phone"], SIZES["tablet"], SIZES["landscape"]])
def test_every_page_is_in_the_navigation_with_its_name(browser: Browser, size: tuple[int, int]):
    browser.resize(*size)
    browser.open("/tictactoe")
    assert browser.script(LINKS) == [[page.title, True] for page in discover([])]


def test_a_focus_is_outlined_and_the_navigation_is_skipped(browser: Browser):
    browser.open("/runs")
    browser.press(Keys.TAB)
    assert browser.script("return document.activeElement.textContent") == "Skip to the page"
    assert browser.script("return document.activeElement.getBoundingClientRect().top") >= 0
    assert browser.script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press(Keys.ENTER, Keys.TAB)
    browser.until(lambda: browser.script("return !!document.activeElement.closest('.lab-main')"), "the page")


def test_controls_of_the_browser_follow_the_theme(browser: Browser):
    browser.open("/")
    for dark, scheme in (("true", "dark"), ("false", "light")):
        browser.script(f"Quasar.Dark.set({dark})")
        assert browser.script("return getComputedStyle(document.documentElement).colorScheme") == scheme


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
    assert browser.attributes("[data-id=cell-4]", "aria-label") == ["cell 5, X"]
    assert focused(browser) == "cell-4", "the focus stays where it was played"
    browser.press(Keys.ARROW_LEFT, " ")
    browser.until(lambda: browser.attributes("[data-id=cell-3]", "aria-label") == ["cell 4, O"], "the answer")


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
    wait_engine(browser)
    browser.find(".spot")
    tab_to_board(browser)
    assert focused(browser) == "a1"
    browser.press(*[Keys.ARROW_RIGHT] * 4, Keys.ARROW_UP, Keys.ENTER)
    wait_moves(browser, 1)
    browser.press("h")
    browser.until(lambda: browser.attributes(".spot", "data-id")[0] == "a1h", "the places of walls")
    tab_to_board(browser)
    browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait_text(".note", "click again to place b1h")
    browser.press(Keys.ENTER)
    browser.until(lambda: len(browser.all(".quoridor .wall")) == 1, "the wall")


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
