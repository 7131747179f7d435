"""The page of the wargame, without and with a browser."""

import asyncio
import threading
import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from src.core.errors import UserError
from src.core.play.agent import Agent
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.step_report import Command
from src.play import ConfigLab
from src.web.clickable import LEFT, RIGHT, Pick
from src.web.deployment.match import DeploymentMatch, Seat
from src.web.deployment.match_setup import MatchSetup
from src.web.deployment.page import DeploymentPage
from src.web.deployment.panels import NewGame
from src.web.game_page import Visit
from src.web.saved_games import SavedGame
from tests.envs.deployment.making import bot, full_game
from tests.lab import ROOT
from tests.waiting import PATIENCE
from tests.web.browser import Browser
from tests.web.inner import in_tab

COLUMNS = 25
IN_ZONE = "hex-332"  # (7, 13), of player 1
SCRIPT = (ROOT / "src/web/deployment/page.js").read_text()


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game()


PEOPLE, AGENTS = (None, None), (bot(0.1), bot(0.1))


def open_page(game: DeploymentGame, players: tuple[Agent | None, Agent | None]) -> DeploymentPage:
    """Return the page of two players; None is a person."""
    first, second = (Seat("somebody", one, np.random.default_rng(seat)) for seat, one in enumerate(players, 1))
    lab = ConfigLab([], 0)
    return DeploymentPage(Visit(lab), DeploymentMatch(game, (first, second), 4), NewGame(lab, MatchSetup()))


def deploy_all(page: DeploymentPage) -> None:
    while page.match.state.phase == "deployment":
        page.place_rest()


@in_tab
async def test_a_value_that_no_control_has_changes_nothing(game: DeploymentGame, notifications: list[str]):
    page = open_page(game, PEOPLE)
    page.pace.value = None
    assert page.timer.interval == page.pace.value == 0.5
    assert notifications == ["'None' is not an option: choose one of the list"]
    wrong: list[Any] = [None, {}, "1", -1, float("nan")]
    for value in wrong:
        page.slider.set_value(value)
        assert page.ply is None
        assert page.slider.value == 0
    assert len(notifications) == 1 + len(wrong)
    page.pace.value = 0.15
    assert page.timer.interval == 0.15
    assert len(notifications) == 1 + len(wrong)


@in_tab
async def test_only_the_left_button_plays(game: DeploymentGame, notifications: list[str]):
    page = open_page(game, PEOPLE)
    page.pick(Pick(IN_ZONE, RIGHT))
    assert not page.match.moves
    page.pick(Pick(IN_ZONE, LEFT))
    assert len(page.match.moves) == 1
    assert not notifications


@in_tab
async def test_rosters_go_when_all_is_placed_and_the_end_is_no_pause(game: DeploymentGame):
    page = open_page(game, AGENTS)
    page.pace.value = 0.03
    page.toggle()
    assert [roster.box.visible for roster in page.rosters] == [True, True]
    while page.match.state.phase == "deployment":
        await page.tick()
    assert page.match.reports[-1].phase != "deployment", "more than the deployment was done at once"
    assert [roster.box.visible for roster in page.rosters] == [False, False]
    assert page.play_button.props["icon"] == "pause"
    while not page.match.is_over:
        await page.tick()
    assert page.play_button.props["icon"] == "play_arrow"


@in_tab
async def test_an_agent_that_breaks_is_not_asked_again(game: DeploymentGame, monkeypatch: pytest.MonkeyPatch):
    page = open_page(game, AGENTS)

    def broken(state: GameState) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(page.match, "decide", broken)
    page.toggle()
    with pytest.raises(ZeroDivisionError):
        await page.tick()
    assert not page.playing
    await page.tick()


@in_tab
async def test_a_decision_is_dropped_if_the_step_before_is_taken_back(
    game: DeploymentGame, notifications: list[str], monkeypatch: pytest.MonkeyPatch
):
    alternating = full_game(deployment_order_mode="alternated_p1_start", confirming_players=[1])
    decide, may_decide = DeploymentMatch.decide, threading.Event()

    def slow(match: DeploymentMatch, state: GameState) -> Command:
        may_decide.wait(2 * PATIENCE)  # the test does not wait as long for anything
        return decide(match, state)

    page = open_page(alternating, (None, bot(0.1)))
    page.pick(Pick(IN_ZONE, LEFT))
    monkeypatch.setattr(DeploymentMatch, "decide", slow)
    deciding = asyncio.create_task(page.step())
    await asyncio.sleep(0)
    page.undo()
    assert not page.match.moves
    may_decide.set()
    await deciding
    assert not page.match.moves
    assert not notifications
    with pytest.raises(UserError, match="there is nothing to take back yet"):
        page.undo()


@in_tab
async def test_moves_of_another_tab_wait_for_an_agent_that_still_decides(
    game: DeploymentGame, monkeypatch: pytest.MonkeyPatch
):
    page, other = open_page(game, AGENTS), open_page(game, AGENTS)
    await other.step()
    moves = other.match.moves_as_json()
    saved = SavedGame(page.path, page.match_setup, other.match.start, moves, revision=1, key="shared")
    page.saved_key = saved.key
    decide, may_decide = DeploymentMatch.decide, threading.Event()

    def slow(match: DeploymentMatch, state: GameState) -> Command:
        may_decide.wait(2 * PATIENCE)  # the test does not wait as long for anything
        assert not match.moves, "the state changed while the agent read it"
        return decide(match, state)

    monkeypatch.setattr(DeploymentMatch, "decide", slow)
    deciding = asyncio.create_task(page.step())
    await asyncio.sleep(0)
    following = asyncio.create_task(page.follow(saved))
    await asyncio.sleep(0.05)
    assert not page.match.moves
    may_decide.set()
    await deciding
    await following
    assert page.match.moves == other.match.moves


@in_tab
async def test_steps_of_a_battle_are_taken_back_and_leave_the_log(game: DeploymentGame, notifications: list[str]):
    page = open_page(game, PEOPLE)
    deploy_all(page)
    while len(page.match.moves) < 21:
        page.wait()
    assert len(page.log.pieces) == 2
    page.undo()
    assert len(page.match.moves) == 20
    assert len(page.log.pieces) == 1
    assert 'data-moment="20"' in page.log.pieces[0].content
    assert 'data-moment="21"' not in page.log.pieces[0].content
    page.wait()
    assert 'data-moment="21"' in page.log.pieces[1].content
    assert not notifications


def click_unit(page: DeploymentPage, unit: str) -> None:
    one = page.match.state.units[unit]
    page.pick(Pick(f"hex-{one.row * COLUMNS + one.col}", LEFT))


@in_tab
async def test_a_person_chooses_the_unit_that_acts_and_may_choose_another(notifications: list[str]):
    page = open_page(full_game(activation="choice"), PEOPLE)
    deploy_all(page)
    state, steps = page.match.state, len(page.match.moves)
    assert page.headline() == "Player 1: choose one of your units on a marked hex"
    own = [unit for unit in state.units.values() if unit.player == 1]
    assert page.candidates == sorted((unit.col, unit.row) for unit in own)
    for unit in ("R2", "S1", "S1"):  # another one instead, and the same once more
        click_unit(page, unit)
        assert (page.match.state.active_unit_id, len(page.match.moves)) == (unit, steps + 1)
    page.wait()
    click_unit(page, "S1")  # it has acted
    assert page.match.state.active_unit_id is None
    page.wait()  # with the first that may be chosen
    units = page.match.state.units
    assert [unit.id for unit in units.values() if unit.acted] == sorted(
        ["S1", min((one for one in own if one.id != "S1"), key=lambda one: (one.col, one.row)).id]
    )
    assert [report.action for report in page.match.reports[steps:]][1] == "S1 waits"
    assert len(page.match.moves) == steps + 4
    for unit, others in (("R2", "S1"), ("R2", "B1")):  # one that has acted, and one of the enemy
        click_unit(page, unit)
        with pytest.raises(UserError, match="cannot aim at anything") if others == "B1" else nullcontext():
            click_unit(page, others)
        assert (page.match.state.active_unit_id, len(page.match.moves)) == ("R2", steps + 5)
    assert not notifications


@in_tab
async def test_a_look_at_another_unit_changes_nothing_where_the_first_one_acts(game: DeploymentGame):
    page = open_page(game, PEOPLE)
    deploy_all(page)
    page.wait()
    steps, unit = len(page.match.moves), page.match.state.active_unit_id
    for other in ("R1", "R3", "S1"):
        click_unit(page, other)
        assert (page.looked_at, page.match.state.active_unit_id, len(page.match.moves)) == (other, unit, steps)


@in_tab
async def test_the_odds_of_a_person_are_shown_on_the_board_and_beside_it(game: DeploymentGame):
    page = open_page(game, PEOPLE)
    deploy_all(page)
    while not page.odds.content:
        page.wait()
    shown = page.odds.content.count("<tr>") - 1
    assert page.pieces.content.count('class="odds"') == shown > 0


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
    """Place the units that are left, and choose the first one in the first turn of a person."""
    hurry(browser)
    browser.click(part("rest"))
    browser.wait_text(".headline", "confirm")
    browser.click(part("confirm"))
    browser.wait_text(".headline", "You: choose one of your units")
    choose(browser, sorted(browser.attributes(".token.p1", "data-unit"))[0])


def choose(browser: Browser, unit: str) -> None:
    """Click on a unit, which acts next, once the board has stopped scrolling to it."""
    script = f"return document.querySelector('.token[data-unit=\"{unit}\"]').getBoundingClientRect().top"

    def rests() -> bool:
        before = browser.script(script)
        time.sleep(0.2)
        return bool(browser.script(script) == before)

    browser.until(rests, "the board to rest")
    col, row = map(int, browser.attributes(f'.token[data-unit="{unit}"]', "data-at")[0].split())
    pick(browser, col, row)
    browser.wait_text(".headline", f"Your {unit}: choose a hex to move to, or wait")


def placed(browser: Browser) -> set[str | None]:
    return {token.get_attribute("data-unit") for token in browser.all(".dp-pieces .token")}


def moment(browser: Browser) -> str:
    return browser.text(part("moment"))


def put_away(browser: Browser) -> None:
    """Close the notifications, which may cover the board."""
    browser.script("document.querySelectorAll('.q-notification button').forEach(button => button.click())")
    browser.until(lambda: not browser.all(".q-notification"), "the last notification to go")


def top(browser: Browser) -> int:
    """Return the distance of the board from the top of its column."""
    return browser.script("return document.querySelector('.dp-board').offsetTop")


def wait_moment(browser: Browser, words: str) -> None:
    browser.wait_text(part("moment"), words)


def test_both_rosters_are_shown_above_both_tables_and_can_be_collapsed(browser: Browser):
    open_board(browser, "seed=1&scenario=classic&player_2=human")
    panels = ["roster-1", "roster-2", "units-1", "units-2"]
    tops = [browser.find(part(name)).location["y"] for name in panels]
    assert tops == sorted(set(tops)), "in this order, below each other"
    for player in (1, 2):
        rows, header = f"{part(f'roster-{player}')} .dp-row", f"{part(f'roster-{player}')} .q-item"
        for shown in (True, False, True):
            wait_shown(browser, rows, shown)
            browser.click(header)


def wait_shown(browser: Browser, css: str, shown: bool) -> None:
    browser.until(lambda: {one.is_displayed() for one in browser.all(css)} == {shown}, f"{css} to be shown: {shown}")


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
    browser.wait_text(".headline", "You have placed every unit: confirm")
    assert placed(browser) == {"S1", "R1", "R2", "R3", "R4"}
    assert "9 of 9 to deploy" in browser.text(part("roster-2"))
    hurry(browser)
    browser.press(Keys.ENTER)
    browser.wait_text(".headline", "You: choose one of your units on a marked hex")
    assert len(placed(browser)) == 14
    choose(browser, "R2")
    choose(browser, "S1")  # instead
    browser.press("w")
    browser.wait_text(".headline", "You: choose one of your units on a marked hex")
    assert browser.attributes('[data-status="S1"]', "class") == ["acted"]
    assert browser.attributes('[data-status="R2"]', "class") == [""]


def test_a_battle_is_fought_and_looked_back_at(browser: Browser):
    open_board(browser, "seed=2&scenario=classic_mirror&player_2=greedy")
    begin_battle(browser)
    pick(browser, 12, 0)
    browser.wait_notification("cannot go there: no path that short")
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait_text(part("log"), "Your A1 moves to")

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


def test_agents_are_watched_to_the_end_and_a_new_game_is_chosen(browser: Browser):
    open_board(browser, "seed=3&scenario=classic_mirror&player_1=greedy&placement_1=back_line&player_2=random")
    for name in ("confirm", "undo", "rest", "pass"):
        assert browser.find(part(name)).get_attribute("disabled"), f"agents need no {name}"
    at_first = top(browser)
    browser.press(" ")
    wait_moment(browser, "1 / 1")
    browser.click(part("step"))
    wait_moment(browser, "2 / 2")
    browser.refresh()
    wait_moment(browser, "2 / 2")
    assert "greedy" in browser.text(part("status"))
    hurry(browser)
    browser.click(part("play"))
    browser.until(
        lambda: browser.text(".status.over .headline") in ("Player 1 wins", "Player 2 wins", "A draw"), "the result"
    )
    assert browser.all(".status.over")
    assert browser.all(".dp-log .die"), "dice are shown"
    assert top(browser) == at_first
    browser.click(part("new"))
    browser.choose('[data-field="scenario"]', "siege")
    browser.click(part("start"))
    browser.until(lambda: "scenario=siege" in browser.driver.current_url, "the address of the new game")
    browser.wait_text(part("roster-1"), "10 of 10 to deploy")


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


@pytest.mark.parametrize("size", [(390, 844), (1400, 900)])
def test_the_board_is_zoomed_and_its_units_told_apart(browser: Browser, size: tuple[int, int]):
    """Signs take the room of the names where these are too small to be read."""
    browser.resize(*size)
    open_board(browser, "seed=1&scenario=classic_mirror")
    cut = """return [...document.querySelectorAll('.status *')]
        .filter(e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX !== 'visible').length"""
    assert browser.script(cut) == 0, "in the line above the board"
    browser.click(part("rest"))
    browser.wait_text(".headline", "confirm")
    heights = (
        "return ['.sign', '.name', '.hp-bar'].map(css => Math.max(...[...document.querySelectorAll('.token ' + css)]"
        ".map(one => one.getBoundingClientRect().height)))"
    )
    is_large = size[0] > 390
    for key, percent, has_names in (("0", 100, is_large), ("=", 150, is_large), ("+", 200, True)):
        browser.press(key)
        zoomed_to(browser, percent)
        sign, name, bar = browser.script(heights)
        assert sign >= 10
        assert name >= 8 if has_names else name == 0
        assert bar >= 2.5
    browser.press("+", "+", "-")
    zoomed_to(browser, 200)
    browser.click('[aria-label="fit the board"]')
    zoomed_to(browser, 100)
    browser.click('[aria-label="zoom in"]')
    zoomed_to(browser, 150)
    assert browser.script("return document.documentElement.scrollWidth <= innerWidth")


BOARD = (
    "<meta name='viewport' content='width=device-width'><div class='dp-zoom-level'></div>"
    "<div class='dp-board' style='height: 200px; overflow: auto'><div class='dp-pieces' style='height: 900px'>"
    "<div class='focus' style='margin-top: 800px; height: 20px'></div></div></div>"
)


@pytest.mark.parametrize(("motion", "behavior"), [("reduce", "instant"), ("no-preference", "smooth")])
def test_the_script_follows_the_action_unless_a_person_scrolls(browser: Browser, motion: str, behavior: str):
    """The board may be there before the script, a busy browser may stop on the way, and some want less motion."""
    features = [{"name": "prefers-reduced-motion", "value": motion}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.resize(390, 844)
    browser.driver.get("about:blank")
    browser.script("document.body.innerHTML = arguments[0]", BOARD)
    browser.script(
        "window.scrolls = []; window.byHand = false; const scroll = Element.prototype.scrollTo;"
        "Element.prototype.scrollTo = function (to) { scrolls.push(to.behavior);"
        " if (to.behavior !== 'smooth') return scroll.call(this, to);"
        " if (byHand) setTimeout(() => dispatchEvent(new WheelEvent('wheel'))); }"  # stopped on its way
    )
    try:
        browser.script(SCRIPT)
        assert browser.script("return scrolls[0]") == behavior
        browser.until(lambda: is_visible(browser, ".focus"), "the action, which is below")
        zoom = "return document.querySelector('.dp-zoom-level').textContent"
        assert browser.script(zoom) == "200%", "as on a phone"
        browser.press("+")
        browser.until(lambda: browser.script(zoom) == "300%", "the board to be zoomed")
        if behavior == "smooth":
            elsewhere = "document.querySelector('.focus').style.marginTop = 0; document.body.append('')"
            browser.script(f"window.byHand = true; window.scrolls = []; {elsewhere}")
            browser.until(lambda: browser.script("return scrolls.length"), "the board to scroll")
            time.sleep(1.3)
            assert not is_visible(browser, ".focus"), "a person has looked elsewhere meanwhile"
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_board_follows_the_action_on_a_small_screen(browser: Browser):
    browser.resize(390, 844)
    open_board(browser, "seed=2&scenario=classic_mirror&player_2=greedy")
    zoomed_to(browser, 200)
    scrolled = "return document.querySelector('.dp-board').scrollTop"
    browser.until(lambda: browser.script(scrolled) > 0, "the zone of player 1, which is below")
    browser.press(Keys.ARROW_RIGHT)
    browser.until(lambda: is_visible(browser, ".dp-pieces .cursor"), "the cursor")
    browser.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    browser.until(lambda: is_visible(browser, ".dp-pieces .cursor"), "the cursor at the other end")
    begin_battle(browser)
    browser.until(lambda: is_visible(browser, ".token.active"), "the unit that acts")


def test_an_invalid_url_is_reported(browser: Browser):
    browser.open("/deployment?scenario=chess")
    browser.wait_text(".lab-problem", "scenario=chess is unknown: choose one of skirmish, mirror, siege")


def test_a_unit_shows_its_card_and_its_range(browser: Browser):
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
    ActionChains(browser.driver).move_to_element(browser.find(".headline")).perform()
    before = moment(browser)
    choose(browser, "A2")
    browser.wait_text(part("card"), "A2 ")
    assert moment(browser) == before, "it was chosen instead"
    assert not browser.all(".lab-say.refusal")
