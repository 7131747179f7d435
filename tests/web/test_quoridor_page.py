"""Quoridor in a browser."""

import re
from pathlib import Path

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.keys import Keys

from src.web.saved_games import GameStore, SavedGame
from tests.web.browser import Browser
from tests.web.test_runs_page import wait_url


def begin(browser: Browser, first: str, second: str) -> None:
    browser.open(f"/quoridor?first={first}&second={second}")
    wait_engine(browser)


def wait_engine(browser: Browser) -> None:
    browser.until(lambda: "Move" in browser.text(".note"), "the engine")


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
    browser.click(".headline")
    browser.script("document.activeElement.blur()")


def load(browser: Browser, text: str) -> None:
    if not browser.find(".qr-text textarea").is_displayed():
        browser.click(".qr-texts .q-item")
        browser.until(lambda: browser.find(".qr-text textarea").is_displayed(), "the field for texts")
    browser.find(".qr-text textarea").send_keys(Keys.CONTROL + "a", Keys.NULL, text)
    browser.click(".qr-do-upload")


def review_a_blunder(browser: Browser) -> None:
    """Load a game with a blunder, try another move instead of one, and review it."""
    load(browser, "start e6 d4 0 0 20 -\nmoves e7 d3 e6 d2 e7 d1\nresult 0-1")
    wait_moves(browser, 6)
    browser.click("[data-id='ply-2']")
    browser.wait_text(".headline", "Position after move 2 of 6")
    browser.click("[data-id='e8'] .hit")
    browser.wait_text(".qr-variation", "move 3 e8")
    browser.click(".qr-return")
    browser.wait_text(".headline", "Position after move 2 of 6")
    browser.click(".qr-do-review")
    browser.wait_text(".qr-progress", "Player 1: 1 blunder · Player 2: no mistakes")
    browser.click("[data-id='ply-3'].qr-move")
    browser.wait_text(".qr-comment", "e6 was a blunder: it cost 100% of the winning chances, e8 was better.")


def test_a_mistake_is_practiced_until_a_better_move_is_found(browser: Browser):
    begin(browser, "you", "you")
    assert not browser.find(".qr-practice").is_enabled()
    review_a_blunder(browser)
    browser.click(".qr-practice")
    browser.wait_text(".headline", "Position after move 2 of 6")
    browser.wait_text(".note", "Find a better move than e6.")
    browser.click("[data-id='e6'] .hit")
    browser.wait_text(".lab-say", "E6 costs 100% of the winning chances: try another move")
    browser.click("[data-id='e8'] .hit")
    browser.wait_text(".headline", "Variation")
    browser.wait_text(".note", "Right.")
    browser.wait_text(".qr-comment", "e8 was the best move.")
    browser.click(".qr-return")
    browser.press(Keys.END)
    browser.wait_text(".headline", "Player 2 wins")
    assert "better" not in browser.text(".note")


def test_a_game_is_won_by_mouse_keys_and_hints_and_reviewed(browser: Browser):
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
    browser.press("?")
    browser.click(".qr-hint")
    wait_moves(browser, 10)
    load(browser, "e8 a6 0 0 20 -")
    wait_moves(browser, 0)
    browser.click("[data-id='e9'] .hit")
    browser.wait_text(".status.won .headline", "You win")
    assert browser.text(".headline") == "You win"
    assert not browser.all(".spot"), "a finished game takes no more moves"
    browser.click(".review")
    browser.wait_text(".headline", "Position after move 0")
    browser.press(Keys.END)
    browser.wait_text(".headline", "You win")
    browser.click(".new-game")
    browser.wait_text(".headline", "Your move")
    assert not browser.all(".status.over")


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

    browser.until(lambda: "/quoridor/" in browser.driver.current_url, "the address of the game")
    address = browser.driver.current_url
    load(browser, "e4 e6 3 2 10 d4h")
    browser.until(lambda: not moves(browser), "the position that was pasted")
    browser.until(lambda: browser.driver.current_url != address, "an address of its own")
    assert len(browser.all(".quoridor .plank")) == 5
    leave_field(browser)
    browser.press("v")
    click_wall(browser, "a1v")
    browser.wait_text(".note", "click again to place a1v")
    click_wall(browser, "a1v")
    wait_moves(browser, 2)

    browser.click("[data-id='ply-1']")
    browser.wait_text(".note", "Play another move to try it")
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
    browser.choose(".qr-seat.qr-second", "Random moves")
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


def drag_wall(browser: Browser, name: str) -> None:
    """Drag a wall from the rack of the mover to where it lies on the board."""
    plank, ghost = browser.find(".rack.own .plank"), browser.find(f"[data-id='{name}'] .ghost")
    along = (20, 3) if name.endswith("h") else (3, 20)
    mouse = ActionChains(browser.driver).click_and_hold(plank).move_to_element_with_offset(ghost, *along)
    mouse.perform()
    browser.until(lambda: browser.attributes(".dragged", "data-id") == [name], f"a preview of {name}")
    mouse.reset_actions()
    ActionChains(browser.driver).release().perform()


def test_a_wall_is_dragged_from_the_rack_and_goes_back_off_the_board(browser: Browser):
    begin(browser, "you", "you")
    browser.find(".spot")
    drag_wall(browser, "c4h")
    assert wait_moves(browser, 1) == ["c4h"]
    drag_wall(browser, "f5v")
    assert wait_moves(browser, 2) == ["c4h", "f5v"]
    drag_wall(browser, "c4v")
    browser.wait_text(".lab-say.refusal", "Another wall is in the way.")
    plank = browser.find(".rack.own .plank")
    ActionChains(browser.driver).click_and_hold(plank).move_to_element(browser.find(".headline")).release().perform()
    browser.click("[data-id='e2'] .hit")
    assert wait_moves(browser, 3) == ["c4h", "f5v", "e2"]
    assert len(browser.all(".quoridor .wall")) == 2


def tap(browser: Browser, css: str, right: int = 0, down: int = 0) -> None:
    """Tap beside the middle of an element, in pixels."""
    finger = ActionBuilder(browser.driver, mouse=PointerInput("touch", "finger"), duration=0)
    finger.pointer_action.move_to(browser.find(css), right, down).pointer_down().pointer_up()
    finger.perform()


def test_walls_are_previewed_and_placed_by_touch(browser: Browser):
    browser.resize(390, 844)
    begin(browser, "you", "you")
    browser.find(".spot")
    tap(browser, "[data-id='c4h'] .ghost", right=12)
    browser.wait_text(".note", "tap again to place c4h")
    assert not moves(browser)
    tap(browser, "[data-id='f6'] .hit", right=-11)  # a cell out of reach, near the groove on its left
    browser.wait_text(".note", "tap again to place e")
    tap(browser, "[data-id='c4h'] .ghost", right=12, down=3)
    browser.wait_text(".note", "tap again to place c4h")
    tap(browser, "[data-id='c4h'] .ghost", right=12, down=-3)
    assert wait_moves(browser, 1) == ["c4h"]
    tap(browser, "[data-id='d4h'] .ghost", right=-8)
    browser.wait_text(".lab-say.refusal", "Another wall is in the way.")
    tap(browser, "[data-id='e8'] .hit")
    assert wait_moves(browser, 2) == ["c4h", "e8"], "a cell in reach"
    tap(browser, "[data-id='a5'] .hit")
    browser.wait_text(".lab-say.refusal", "Your pawn cannot go there in one move.")


def test_another_move_is_tried_and_kept_beside_the_game(browser: Browser):
    begin(browser, "you", "you")
    for played, name in enumerate(("e2", "e8", "e3"), 1):
        browser.click(f"[data-id='{name}'] .hit")
        wait_moves(browser, played)
    browser.click("[data-id='ply-1']")
    browser.wait_text(".headline", "Position after move 1 of 3")
    browser.click("[data-id='d9'] .hit")
    browser.wait_text(".headline", "Variation")
    assert wait_moves(browser, 2) == ["e2", "d9"]
    browser.click(".qr-return")
    browser.wait_text(".headline", "Position after move 1 of 3")
    assert moves(browser) == ["e2", "e8", "e3"]
    browser.press(Keys.END)
    browser.wait_text(".headline", "Player 2 to move")
    browser.click("[data-id='e7'] .hit")
    wait_moves(browser, 4)
    browser.refresh()
    assert wait_moves(browser, 4) == ["e2", "e8", "e3", "e7"], "a variation is not taken for the game"
    browser.wait_text(".qr-variation", "move 2 d9")
    browser.click(".qr-variation")
    browser.until(lambda: moves(browser) == ["e2", "d9"], "the variation")
    browser.press("u")
    browser.until(lambda: not browser.all(".qr-variation"), "the variation to be taken back")
    browser.refresh()
    wait_moves(browser, 4)
    assert not browser.all(".qr-variation"), "one that was taken back is not saved"


def test_keys_of_the_board_do_not_scroll_the_page(browser: Browser):
    begin(browser, "you", "you")
    browser.script("addEventListener('keydown', e => prevented.push([e.key, e.defaultPrevented]))")
    keys = {"Home": Keys.HOME, "End": Keys.END, "ArrowLeft": Keys.ARROW_LEFT}
    for css, expected in ((".qr-do-swap-vert", True), (".qr-typed input", False)):
        browser.find(css)
        browser.script("document.querySelector(arguments[0]).focus(); window.prevented = []", css)
        browser.press(*keys.values())
        browser.until(lambda: browser.script("return prevented.length") == len(keys), "the keys")
        assert browser.script("return prevented") == [[name, expected] for name in keys], css
    browser.script("document.activeElement.blur(); window.prevented = []")
    ActionChains(browser.driver).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL).perform()
    browser.until(lambda: browser.script("return prevented.length") == 2, "the keys")
    assert browser.script("return prevented.map(([key, prevented]) => prevented)") == [False, False]


def test_keys_in_a_dialog_do_not_play(browser: Browser):
    begin(browser, "you", "you")
    browser.click(".lab-rules")
    browser.find(".q-dialog .q-card")
    browser.press(Keys.ARROW_UP, Keys.ESCAPE)
    browser.until(lambda: not browser.all(".q-dialog .q-card"), "the dialog to close")
    browser.press(Keys.ARROW_RIGHT)
    assert wait_moves(browser, 1) == ["f1"], "not e2"


def test_a_review_draws_the_evaluation_and_marks_mistakes(browser: Browser):
    begin(browser, "you", "you")
    review_a_blunder(browser)
    assert browser.attributes(".qr-move:has(b)", "data-id") == ["ply-3"]
    assert len(browser.all(".qr-blunder")) == 1
    browser.click(".qr-graph [data-id='ply-1']")
    browser.wait_text(".headline", "Position after move 1 of 6")
    leave_field(browser)
    browser.press("n")
    browser.until(lambda: not browser.find(".qr-graph").is_displayed(), "the review to go with its game")


def test_a_clock_is_optional_kept_with_the_game_and_ends_it(browser: Browser):
    browser.open("/quoridor?first=you&second=you&clock=180:100:0.5")
    wait_engine(browser)
    assert browser.text(".qr-clock.qr-first") == "1:40", "it stands until the first move"
    browser.click("[data-id='e2'] .hit")
    browser.wait_text(".status.over .headline", "Player 1 wins")
    browser.wait_text(".status.over", "on time")
    assert not browser.all(".spot")
    browser.refresh()
    browser.wait_text(".status.over .headline", "Player 1 wins")
    browser.click(".new-game")
    browser.until(lambda: browser.text(".qr-clock.qr-second") == "3:00", "the clocks of a new game")
    browser.choose(".qr-times", "No clock")
    browser.until(lambda: not browser.find(".qr-clocks").is_displayed(), "no clock")


def test_a_win_against_a_level_of_known_strength_gives_a_rating(browser: Browser, scratch: Path):
    store = GameStore(scratch / "outputs" / "games")
    start = {"position": "e8 a5 0 0 20 -", "seed": 0}
    keys = [store.save(SavedGame("/quoridor", {"first": "you", "second": "easy"}, start, [])) for _ in range(2)]
    browser.open(f"/quoridor/{keys[0]}")
    browser.script("localStorage.removeItem('rating /quoridor')")
    browser.refresh()
    browser.wait_text(".lab-rating", "You have no rating yet")
    for games, key in enumerate(keys, 1):
        browser.open(f"/quoridor/{key}")
        wait_engine(browser)
        type_move(browser, "e9")
        browser.wait_text(".headline", "You win")
        browser.wait_text(".lab-rating", f"({games} game")
    found = re.search(r"Your rating (\d+) ± (\d+) \(2 games, \+\d+\)", browser.text(".lab-rating"))
    assert found is not None, browser.text(".lab-rating")
    assert int(found[1]) > 1100
    browser.refresh()
    browser.wait_text(".lab-rating", f"Your rating {found[1]} ± {found[2]} (2 games)")
    browser.click(".lab-try")
    wait_url(browser, "/quoridor?first=you&second=")
