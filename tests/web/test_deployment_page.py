"""The page of the wargame in a browser."""

import re
import time
from functools import partial

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from src.web.deployment.zoom import SCRIPT
from tests.web.browser import Browser

COLUMNS = 25
ORDER = ["roster-1", "roster-2", "units-1", "units-2"]


def part(name: str) -> str:
    return f'[data-part="{name}"]'


def pick(browser: Browser, col: int, row: int) -> None:
    browser.click(f'[data-id="hex-{row * COLUMNS + col}"]')


def open_board(browser: Browser, query: str) -> None:
    browser.open(f"/deployment?{query}")
    browser.find(".dp-pieces")


def hurry(browser: Browser) -> None:
    """Let agents act at full speed."""
    browser.click(".dp .q-btn-toggle button:last-child")


def begin_battle(browser: Browser) -> None:
    """Place the units that are left, and wait for the first turn of a person."""
    hurry(browser)
    browser.click(part("rest"))
    browser.wait_text(part("headline"), "confirm")
    browser.click(part("confirm"))
    browser.wait_text(part("headline"), "choose a hex to move to")


def placed(browser: Browser) -> set[str | None]:
    return {token.get_attribute("data-unit") for token in browser.all(".dp-pieces .token")}


def moment(browser: Browser) -> str:
    return browser.text(part("moment"))


def put_away(browser: Browser) -> None:
    """Close the notifications, which may cover the board."""
    browser.script("document.querySelectorAll('.q-notification button').forEach(button => button.click())")
    browser.until(lambda: not browser.all(".q-notification"), "the last notification to go")


def is_over(browser: Browser) -> bool:
    return bool(browser.all(".dp-over-now"))


def stepped_on(browser: Browser, before: str) -> bool:
    return moment(browser) != before or is_over(browser)


def top(browser: Browser) -> int:
    """Return the distance of the board from the top of its column."""
    return browser.script("return document.querySelector('.dp-board').offsetTop")


def wait_moment(browser: Browser, words: str) -> None:
    browser.wait_text(part("moment"), words)


def test_a_side_is_deployed_by_clicks(browser: Browser):
    open_board(browser, "seed=1&scenario=classic")
    pick(browser, 2, 13)
    browser.wait_notification("Unit R1 cannot be deployed there: it is a wall.")
    pick(browser, 3, 3)
    browser.wait_notification("it is outside the zone of player 1")
    browser.click(part("confirm"))
    browser.wait_notification("player 1 cannot confirm: R1, R2, R3, R4, S1 are still to be deployed")
    browser.click(part("pass"))
    browser.wait_notification("player 1 has a legal placement")
    put_away(browser)
    assert moment(browser) == "0 / 0"
    assert not placed(browser)

    browser.click('[data-row="S1"] .pick')
    pick(browser, 12, 13)
    browser.wait_text(part("roster-1"), "4 of 5 to deploy")
    assert placed(browser) == {"S1"}
    browser.until(lambda: not browser.text(".lab-say"), "the refusal to be removed")
    pick(browser, 12, 13)
    browser.wait_notification("unit S1 stands there")
    put_away(browser)
    browser.click('[data-row="S1"] .undo')
    browser.wait_text(part("roster-1"), "5 of 5 to deploy")
    assert not placed(browser)

    for number, unit in enumerate(("S1", "R1", "R2", "R3", "R4"), 1):
        browser.click(f'[data-row="{unit}"] .pick')
        pick(browser, 6 + number, 13)
        if unit == "R3":  # once more, from the keyboard
            browser.wait_text(part("roster-1"), "1 of 5 to deploy")
            browser.press("u")
            browser.wait_text(part("roster-1"), "2 of 5 to deploy")
            browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait_text(part("headline"), "You have placed every unit: confirm")
    assert placed(browser) == {"S1", "R1", "R2", "R3", "R4"}
    assert "9 of 9 to deploy" in browser.text(part("roster-2"))
    hurry(browser)
    browser.press(Keys.ENTER)
    browser.wait_text(part("headline"), "Your R1: choose a hex to move to, or wait")
    assert len(placed(browser)) == 14


def test_the_lists_are_in_order_and_collapse(browser: Browser):
    open_board(browser, "seed=1&scenario=classic")
    names = [element.get_attribute("data-part") for element in browser.all("[data-part]")]
    assert [name for name in names if name in ORDER] == ORDER
    tops = [browser.find(part(name)).rect["y"] for name in ORDER]
    assert tops == sorted(tops)
    shown = lambda: [browser.find(f'[data-row="{unit}"]').is_displayed() for unit in ("R1", "B1")]  # noqa: E731
    for expected in ([True, True], [True, False], [True, True]):
        browser.until(lambda: shown() == expected, "the second roster")  # noqa: B023
        browser.click(f"{part('roster-2')} .q-item")


def test_a_game_against_an_agent_is_played_to_its_end_and_looked_back_at(browser: Browser):
    open_board(browser, "seed=2&scenario=classic_mirror&player_2=greedy")
    at_first = top(browser)
    begin_battle(browser)
    pick(browser, 12, 0)
    browser.wait_notification("cannot go there: no path that short")
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait_text(part("log"), "Your A1 moves to")
    while not is_over(browser):
        before = moment(browser)
        if "wait" in browser.text(part("headline")):
            browser.press("w")
        browser.until(partial(stepped_on, browser, before), "a step")
    assert "win" in browser.text(part("headline")) or "draw" in browser.text(part("headline"))
    ended = browser.text(part("headline"))
    browser.until(lambda: browser.text(".lab-result") in ("You win", "You lose", "A draw"), "the result")
    assert top(browser) == at_first
    browser.script("document.querySelector('.dp-headline').textContent = 'a long name '.repeat(20)")
    assert top(browser) == at_first
    browser.script("document.querySelector('.dp-headline').textContent = arguments[0]", ended)
    assert browser.all(".dp-log .die"), "dice are shown"

    steps = int(moment(browser).split("/")[1])
    browser.click('.dp-log [data-moment="1"]')
    wait_moment(browser, f"1 / {steps} · history")
    assert placed(browser) == {"A1"}
    pick(browser, 12, 13)
    browser.wait_notification("this is an earlier moment")
    browser.click(part("forth"))
    wait_moment(browser, f"2 / {steps} · history")
    assert len(placed(browser)) == 2
    browser.press("[", "[")
    wait_moment(browser, f"0 / {steps} · history")
    assert not placed(browser)
    browser.click(f'.dp-log [data-moment="{steps}"]')
    wait_moment(browser, f"{steps} / {steps}")
    assert browser.text(part("headline")) == ended


def test_agents_are_watched_and_a_new_game_is_chosen(browser: Browser):
    open_board(browser, "seed=3&player_1=greedy&placement_1=back_line&player_2=random&order=alternated_p1_start")
    for name in ("confirm", "undo", "rest", "pass"):
        assert browser.find(part(name)).get_attribute("disabled"), f"agents need no {name}"
    browser.press(" ")
    wait_moment(browser, "1 / 1")
    browser.click(part("step"))
    wait_moment(browser, "2 / 2")
    browser.refresh()
    wait_moment(browser, "2 / 2")
    assert "greedy" in browser.text(part("status"))
    hurry(browser)
    browser.click(part("play"))
    browser.until(lambda: is_over(browser), "the end of the game")
    assert "win" in browser.text(part("headline")) or "draw" in browser.text(part("headline"))
    browser.click(part("new"))
    browser.choose('[data-field="scenario"]', "siege")
    browser.click(part("start"))
    browser.until(lambda: "scenario=siege" in browser.driver.current_url, "the address of the new game")
    browser.wait_text(part("roster-1"), "10 of 10 to deploy")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_in_the_line_above_the_board_is_cut(browser: Browser, width: int):
    browser.resize(width, 900)
    open_board(browser, "seed=1")
    cut = """return [...document.querySelectorAll('.dp-status *, .dp-headline')]
        .filter(e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX !== 'visible').length"""
    assert browser.script(cut) == 0
    assert "human" in browser.text(".dp-status .p1 small")
    assert browser.script("return document.documentElement.scrollWidth <= innerWidth")


def is_visible(browser: Browser, css: str) -> bool:
    """Return whether an element is in the visible part of the board."""
    return browser.script(
        "const one = document.querySelector(arguments[0])?.getBoundingClientRect();"
        "const view = document.querySelector('.dp-board').getBoundingClientRect();"
        "return !!one && one.left >= view.left && one.right <= view.right && one.top >= view.top"
        " && one.bottom <= view.bottom",
        css,
    )


def zoomed_to(browser: Browser, percent: int) -> None:
    browser.wait_text(".dp-zoom-level", f"{percent}%")
    wide = (
        "const [a, b] = ['.dp-layers', '.dp-board'].map(css => document.querySelector(css).clientWidth); return a / b"
    )
    assert browser.script(wide) == pytest.approx(percent / 100, rel=0.15)


def test_the_board_is_zoomed_by_buttons_and_keys(browser: Browser):
    open_board(browser, "seed=1")
    zoomed_to(browser, 100)
    browser.click('[aria-label="zoom in"]')
    zoomed_to(browser, 150)
    browser.press("+", "+", "+")
    zoomed_to(browser, 300)
    browser.press("-")
    zoomed_to(browser, 200)
    browser.click('[aria-label="fit the board"]')
    zoomed_to(browser, 100)
    browser.press("=", "0", "-")
    zoomed_to(browser, 100)
    assert browser.script("return document.documentElement.scrollWidth <= innerWidth")


BOARD = (
    "<meta name='viewport' content='width=device-width'><div class='dp-zoom-level'></div>"
    "<div class='dp-board' style='height: 200px; overflow: auto'><div class='dp-pieces' style='height: 900px'>"
    "<div class='focus' style='margin-top: 800px; height: 20px'></div></div></div>"
)


def test_a_board_that_is_there_before_the_script_is_zoomed_and_followed(browser: Browser):
    """A busy server may send both at once, the board first."""
    browser.resize(390, 844)
    browser.driver.get("about:blank")
    browser.script("document.body.innerHTML = arguments[0]", BOARD)
    browser.script(SCRIPT)
    zoom = "return document.querySelector('.dp-zoom-level').textContent"
    assert browser.script(zoom) == "200%"
    browser.until(lambda: is_visible(browser, ".focus"), "the action, which is below")
    browser.press("+")
    browser.until(lambda: browser.script(zoom) == "300%", "the board to be zoomed")


@pytest.mark.parametrize("size", [(390, 844), (844, 390)])
def test_the_board_follows_the_action_on_a_small_screen(browser: Browser, size: tuple[int, int]):
    browser.resize(*size)
    open_board(browser, "seed=2&scenario=classic_mirror&player_2=greedy")
    zoomed_to(browser, 200)
    scrolled = "return document.querySelector('.dp-board').scrollTop"
    browser.until(lambda: browser.script(scrolled) > 0, "the zone of player 1, which is below")
    browser.press(Keys.ARROW_RIGHT)
    browser.until(lambda: is_visible(browser, ".dp-pieces .cursor"), "the cursor")
    for _ in range(2):
        browser.press(Keys.ARROW_LEFT)
    browser.until(lambda: is_visible(browser, ".dp-pieces .cursor"), "the cursor at the other end")
    begin_battle(browser)
    for _ in range(3):
        browser.wait_text(part("headline"), "choose a hex to move to")
        browser.until(lambda: is_visible(browser, ".token.active"), "the unit that acts")
        active = browser.attributes(".token.active", "data-unit")
        browser.press("w")
        browser.until(partial(lambda old: browser.attributes(".token.active", "data-unit") != old, active), "the next")


@pytest.mark.parametrize("size", [(390, 844), (1400, 900)])
def test_units_are_told_apart_at_every_size(browser: Browser, size: tuple[int, int]):
    """Signs take the room of the names where these are too small to be read."""
    browser.resize(*size)
    open_board(browser, "seed=1&scenario=classic_mirror")
    browser.click(part("rest"))
    browser.wait_text(part("headline"), "confirm")
    heights = (
        "return ['.sign', '.name', '.hp-bar'].map(css => Math.max(...[...document.querySelectorAll('.token ' + css)]"
        ".map(one => one.getBoundingClientRect().height)))"
    )
    is_large = size[0] > 390
    for key, percent, has_names in (("0", 100, is_large), ("+", 150, is_large), ("+", 200, True)):
        browser.press(key)
        zoomed_to(browser, percent)
        sign, name, bar = browser.script(heights)
        assert sign >= 10
        assert name >= 8 if has_names else name == 0
        assert bar >= 2.5


@pytest.mark.parametrize(("motion", "behavior"), [("reduce", "instant"), ("no-preference", "smooth")])
def test_the_board_does_not_glide_for_those_who_want_less_motion(browser: Browser, motion: str, behavior: str):
    features = [{"name": "prefers-reduced-motion", "value": motion}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        open_board(browser, "seed=1")
        zoomed_to(browser, 100)  # else keys may be pressed before the page listens
        browser.script(
            "window.scrolls = []; const scroll = Element.prototype.scrollTo;"
            "Element.prototype.scrollTo = function (to) { scrolls.push(to.behavior); return scroll.call(this, to); }"
        )
        browser.press("+", "+", "+")
        zoomed_to(browser, 300)
        browser.script("window.scrolls = []")
        browser.press(Keys.ARROW_LEFT)
        browser.until(lambda: browser.script("return scrolls.length"), "the board to scroll")
        assert browser.script("return scrolls[0]") == behavior
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("by_hand", [False, True])
def test_the_board_arrives_even_if_it_was_stopped_on_its_way_but_not_by_hand(browser: Browser, by_hand: bool):
    open_board(browser, "seed=1")
    browser.press("+", "+", "+")
    zoomed_to(browser, 300)
    browser.script(
        "window.stopped = 0; const byHand = arguments[0], scroll = Element.prototype.scrollTo;"
        "Element.prototype.scrollTo = function (to) { if (to.behavior !== 'smooth') return scroll.call(this, to);"
        " if (byHand) setTimeout(() => { dispatchEvent(new WheelEvent('wheel')); stopped++; }); else stopped++; }",
        by_hand,
    )
    browser.press(Keys.ARROW_LEFT)
    browser.until(lambda: browser.script("return stopped"), "the board to scroll")
    if by_hand:
        time.sleep(1.5)
        assert not is_visible(browser, ".dp-pieces .cursor"), "a person has looked elsewhere meanwhile"
    else:
        browser.until(lambda: is_visible(browser, ".dp-pieces .cursor"), "the cursor")


def test_an_invalid_url_is_reported(browser: Browser):
    browser.open("/deployment?scenario=chess")
    browser.wait_text(part("problem"), "scenario=chess is unknown: choose one of skirmish, mirror, siege")


def test_a_unit_shows_its_card_and_range_and_a_target_its_odds(browser: Browser):
    open_board(browser, "seed=2&scenario=classic_mirror&player_2=greedy")
    begin_battle(browser)
    browser.wait_text(part("card"), "A1")
    assert browser.all(".dp-pieces .range"), "the range of the unit that acts"
    enemy = browser.find(".token.p2")
    name, (col, row) = enemy.get_attribute("data-unit"), map(int, (enemy.get_attribute("data-at") or "").split())
    hovered = browser.find(f'[data-id="hex-{row * COLUMNS + col}"]')
    ActionChains(browser.driver).move_to_element(hovered).perform()
    browser.wait_text(part("card"), f"{name} ")
    assert "The opponent" in browser.text(part("card"))
    ActionChains(browser.driver).move_to_element(browser.find(part("headline"))).perform()
    before = moment(browser)
    own = browser.attributes('.token.p1[data-unit="A2"]', "data-at")[0].split()
    pick(browser, int(own[0]), int(own[1]))
    browser.wait_text(part("card"), "A2 ")
    assert moment(browser) == before
    assert not browser.all(".lab-say.refusal"), "a look at a unit is no mistake"
    while not browser.all(".dp-pieces .odds"):
        before = moment(browser)
        if "wait" in browser.text(part("headline")):
            browser.press("w")
        browser.until(partial(stepped_on, browser, before), "a step")
        assert not is_over(browser), "there is something to shoot at"
    browser.wait_text(part("odds"), "target")
    shown = len(browser.all(".dp-odds tbody tr, .dp-odds > tr"))
    assert shown == len(browser.all(".dp-pieces .odds"))


def advised(browser: Browser, words: str) -> str:
    """Wait for advice and return it."""
    browser.wait_text(part("advice"), words)
    return browser.text(part("advice"))


def test_a_network_advises_where_to_deploy_and_what_to_do_in_battle(browser: Browser):
    open_board(browser, "seed=3&scenario=classic&player_2=random")
    assert not browser.all(".dp-pieces .heat")
    browser.press("a")
    found = re.match(
        r"It would place R1 on (\d+), (\d+) \((\d+)%\); it expects (?:to win|to lose|an even game)",
        advised(browser, "place R1"),
    )
    assert found
    assert browser.attributes(".dp-pieces .best", "data-hex") == [f"{found[1]} {found[2]}"]
    assert len(browser.all(".dp-pieces .heat")) > 50
    assert f"{found[3]}%" in [label.text for label in browser.all(".dp-pieces .chance")]
    browser.click('[data-row="S1"] .pick')
    advised(browser, "place S1 on")
    best = browser.attributes(".dp-pieces .best", "data-hex")[0]
    col, row = map(int, best.split())
    pick(browser, col, row)
    advised(browser, "place R1 on")
    assert browser.attributes('.token[data-unit="S1"]', "data-at") == [best]
    hurry(browser)
    browser.click(part("rest"))
    advised(browser, "confirm the deployment")
    assert not browser.all(".dp-pieces .heat")
    browser.click(part("confirm"))
    browser.wait_text(part("headline"), "choose a hex to move to")
    unit = browser.attributes(".token.active", "data-unit")[0]
    advised(browser, f"{unit} ")
    drawn = browser.attributes(".dp-pieces [data-choice]", "data-choice")
    assert drawn
    assert len(browser.all(".dp-choices li")) == len(drawn) <= 3
    browser.press("[")
    wait_moment(browser, "history")
    advised(browser, "It would place")
    browser.click(part("advise"))
    browser.until(lambda: not browser.find(part("advice")).is_displayed(), "the advice to be hidden")
    assert not browser.all(".dp-pieces .heat")
