"""Quoridor in a browser."""

import re

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.web.browser import Browser


def begin(browser: Browser, first: str, second: str) -> None:
    browser.open(f"/quoridor?first={first}&second={second}")
    browser.until(lambda: "loading" not in browser.text(".qr-note"), "the engine")


def moves(browser: Browser) -> list[str]:
    return browser.script("return [...document.querySelectorAll('.qr-move')].map(move => move.textContent)")


def wait_moves(browser: Browser, count: int) -> list[str]:
    browser.until(lambda: len(moves(browser)) == count, f"{count} moves")
    return moves(browser)


def click_wall(browser: Browser, name: str) -> None:
    """Click in the groove, beside the corner between two walls."""

    def attempt() -> bool:
        spot = browser.find(f"[data-id='{name}'] .hit")
        browser.script("arguments[0].scrollIntoView({block: 'center'})", spot)
        along = (20, 0) if name.endswith("h") else (0, 20)
        ActionChains(browser.driver).move_to_element_with_offset(spot, *along).click().perform()
        return True

    browser.until(attempt, f"the groove of {name}")


def type_move(browser: Browser, name: str) -> None:
    browser.click(".qr-typed input")
    browser.press(name, Keys.ENTER)


def leave_field(browser: Browser) -> None:
    browser.click(".qr-headline")
    browser.script("document.activeElement.blur()")


def take_hint(browser: Browser) -> None:
    played = len(moves(browser))
    browser.press("?")
    browser.click(".qr-hint")
    browser.until(lambda: len(moves(browser)) > played + 1 or "win" in browser.text(".qr-headline"), "a reply")


def load(browser: Browser, text: str) -> None:
    if not browser.find(".qr-text textarea").is_displayed():
        browser.click(".qr-texts .q-item")
        browser.until(lambda: browser.find(".qr-text textarea").is_displayed(), "the field for texts")
    browser.find(".qr-text textarea").send_keys(Keys.CONTROL + "a", Keys.NULL, text)
    browser.click(".qr-do-upload")


def test_a_whole_game_is_won_by_mouse_keys_and_hints(browser: Browser):
    """Against a player without a wall or a choice, who is never in the way of what is played here."""
    begin(browser, "you", "runner")
    browser.click("[data-id='e2'] .hit")
    assert wait_moves(browser, 2)[0] == "e2"
    browser.press(Keys.ARROW_UP)
    wait_moves(browser, 4)
    type_move(browser, "a1v")
    assert wait_moves(browser, 6)[4] == "a1v"
    click_wall(browser, "h3h")
    assert wait_moves(browser, 8)[6] == "h3h"
    leave_field(browser)
    while "win" not in browser.text(".qr-headline"):
        take_hint(browser)
    assert browser.text(".qr-headline") == "You win"
    browser.wait_text(".lab-ending.won .lab-result", "You win")
    assert moves(browser)[-1][1] == "9"
    assert not browser.all(".spot"), "a finished game takes no more moves"
    browser.click(".review")
    browser.wait_text(".qr-headline", "Position after move 0")
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    browser.wait_text(".qr-headline", "Position after move 1 ")
    browser.press(Keys.END)
    browser.wait_text(".qr-headline", "You win")
    browser.press(Keys.HOME)
    browser.wait_text(".qr-headline", "Position after move 0")
    browser.click(".rematch")
    wait_moves(browser, 0)
    assert not browser.find(".lab-ending").is_displayed()


def test_the_moves_are_seen_beside_the_board(browser: Browser):
    browser.resize(1400, 900)
    begin(browser, "you", "you")
    browser.click("[data-id='e2'] .hit")
    wait_moves(browser, 1)
    box = browser.script("scrollTo(0, 0); return document.querySelector('.qr-move').getBoundingClientRect().toJSON()")
    assert box["bottom"] <= 900
    assert box["left"] > browser.script("return document.querySelector('.quoridor').getBoundingClientRect().right")


def test_what_is_refused_leaves_the_game_as_it_was(browser: Browser):
    begin(browser, "you", "runner")
    type_move(browser, "e5v")
    wait_moves(browser, 2)
    click_wall(browser, "e5h")
    browser.wait_text(".lab-say.refusal", "Another wall is in the way.")
    type_move(browser, "z9")
    browser.wait_notification("z9 is not a move")
    load(browser, "e1 e1 10 10 0 -")
    browser.wait_notification("both pawns stand on one cell")
    assert moves(browser) == ["e5v", "e8"]
    assert len(browser.all(".quoridor .wall")) == 1

    load(browser, "e4 e6 3 2 10 d4h")
    browser.until(lambda: not moves(browser), "the position that was pasted")
    assert len(browser.all(".quoridor .plank")) == 5
    leave_field(browser)
    browser.press("v")
    click_wall(browser, "a1v")
    browser.wait_text(".qr-note", "click again to place a1v")
    click_wall(browser, "a1v")
    wait_moves(browser, 2)

    browser.click("[data-id='ply-1']")
    browser.wait_text(".qr-note", "position after ply 11")
    assert not browser.all(".spot")
    browser.press(Keys.ESCAPE, "u")
    browser.until(lambda: not moves(browser), "both moves to be taken back")
    assert len(browser.all(".quoridor .wall")) == 1
    browser.press("u")
    browser.wait_notification("there is no move to take back")


def test_two_tabs_are_two_games_and_agents_wait_when_paused(browser: Browser):
    begin(browser, "you", "you")
    first = browser.tab
    browser.click("[data-id='e2'] .hit")
    wait_moves(browser, 1)

    browser.new_tab("/quoridor?first=runner&second=you")
    assert wait_moves(browser, 1) == ["e2"]
    top = browser.script("return document.querySelector('.quoridor .name').textContent")
    assert top == "a", "the files are named in order, whoever sits below"
    browser.choose(".qr-second", "Random moves")
    browser.until(lambda: len(moves(browser)) > 2, "the agents to play")
    browser.click("[data-id='ply-1']")  # looking back pauses the game
    browser.wait_text(".qr-do-pause", "continue")
    paused = len(moves(browser))
    browser.press("s")
    assert len(wait_moves(browser, paused + 1)) == paused + 1
    assert re.search(r"/quoridor/[0-9a-f]{12}$", browser.driver.current_url)
    browser.refresh()
    browser.wait_text(".qr-seat.qr-second", "Random moves")

    browser.go_to(first)
    assert moves(browser) == ["e2"]
    browser.press(Keys.ARROW_DOWN)
    assert wait_moves(browser, 2) == ["e2", "e8"]


def test_controls_that_send_nonsense_change_nothing(browser: Browser):
    begin(browser, "you", "you")
    for part, value, message in (
        (".qr-delay", "soon", "'soon' is not a number from 0 to 2"),
        (".qr-modes", None, "'None' is not an option"),
        (".qr-typed", {"a": 1}, "is not a move"),
    ):
        browser.send(part, value)
        if part == ".qr-typed":
            type_move(browser, "")
        browser.wait_notification(message)
    leave_field(browser)
    browser.click("[data-id='e2'] .hit")
    assert wait_moves(browser, 1) == ["e2"]


def test_a_hint_is_taken_by_keys_alone_in_either_case(browser: Browser):
    begin(browser, "you", "you")
    browser.press("?")
    browser.script("arguments[0].focus()", browser.find(".qr-hint"))
    browser.press(Keys.ENTER)
    wait_moves(browser, 1)
    browser.press("U")
    wait_moves(browser, 0)


def test_a_player_that_is_not_there_is_refused(browser: Browser):
    browser.open("/quoridor?first=deep-blue")
    browser.wait_notification("player 'deep-blue' is unknown")
    browser.wait_text(".qr-headline", "Your move")
