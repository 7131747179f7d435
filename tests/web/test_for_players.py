"""What a player reads and saves: refusals, results, rules, pictures, and the start page."""

from pathlib import Path

import pytest
from PIL import Image

from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.play_by_hand import why_not
from src.web.deployment.page import without_coordinates
from src.web.match_panel import result_for
from src.web.pages import PageEntry, discover
from src.web.shell import sentence
from src.web.start.page import ago
from tests.web.browser import Browser

GAMES = [page for page in discover([]) if page.games]


@pytest.mark.parametrize(
    ("outcome", "people", "words", "tone"),
    [
        (1, {0}, "You win", "won"),
        (1, {1}, "You lose", "lost"),
        (-1, {0}, "You lose", "lost"),
        (-1, {1}, "You win", "won"),
        (0, {0}, "A draw", "even"),
        (1, {0, 1}, "Player 1 wins", "first"),
        (-1, set(), "Player 2 wins", "second"),
    ],
)
def test_the_result_speaks_to_the_only_player(outcome: int, people: set[int], words: str, tone: str):
    assert result_for(outcome, frozenset(people), "")[:2] == (words, tone)


@pytest.mark.parametrize(
    ("position", "move", "reason"),
    [
        ("e1 e9 10 10 0 -", "e2", None),
        ("e1 e9 10 10 0 -", "e3h", None),
        ("e1 e9 10 10 0 -", "e4", "your pawn cannot go there in one move"),
        ("e1 e9 0 10 0 -", "e3h", "you have no walls left"),
        ("e1 e9 9 10 2 e5v", "e5h", "another wall is in the way"),
        ("e1 e9 9 10 2 e5h", "f5h", "another wall is in the way"),
        ("a1 e9 5 10 0 a1h", "b1v", "that wall would block the last path"),
    ],
)
def test_a_refused_move_is_explained(position: str, move: str, reason: str | None):
    game = Quoridor(size=9, walls=10, ply_limit=200, distance_maps=False)
    assert why_not(game, game.read_position(position), move) == reason


def test_messages_are_sentences_without_coordinates():
    assert sentence("that cell is taken") == "That cell is taken."
    assert sentence("Really?") == "Really?"
    assert without_coordinates("R1 cannot go to (12, 0): no path") == "R1 cannot go there: no path"


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"), (90_000, "1 day ago")]
)
def test_how_long_ago(seconds: float, text: str):
    assert ago(seconds) == text


@pytest.mark.parametrize("page", GAMES, ids=lambda page: page.title)
def test_every_game_has_its_rules_in_three_pictures(page: PageEntry):
    assert len(page.rules) == 3
    assert all(rule.svg.startswith("<svg") and rule.text.endswith(".") for rule in page.rules)


def test_the_rules_are_offered_once_and_are_one_click_away(browser: Browser):
    browser.open("/tictactoe")
    browser.script("localStorage.clear()")
    browser.refresh()
    browser.until(lambda: browser.find(".lab-offer").is_displayed(), "the offer")
    browser.click(".lab-offer .see")
    browser.until(lambda: len(browser.all(".lab-rules-pictures svg")) == 3, "three pictures")
    browser.wait_text(".lab-rules-pictures", "Three in a row wins")
    browser.refresh()
    browser.wait_text(".headline", "Your turn: X")
    assert not browser.find(".lab-offer").is_displayed()
    browser.click(".lab-rules")
    browser.until(lambda: len(browser.all(".lab-rules-pictures svg")) == 3, "three pictures")


def test_a_refusal_shakes_the_part_and_the_next_move_clears_it(browser: Browser):
    browser.open("/tictactoe?x=you&o=you")
    browser.wait_text(".headline", "Your turn: X")
    browser.click("[data-id=cell-4]")
    browser.wait_text(".headline", "Your turn: O")
    browser.script(
        "window.shaken = []; new MutationObserver(all => all.forEach(one => {"
        "if (one.target.classList.contains('shake')) shaken.push(one.target.dataset.id); }))"
        ".observe(document.querySelector('.drawing'), {subtree: true, attributes: true, attributeFilter: ['class']})"
    )
    for _ in range(2):
        browser.click("[data-id=cell-4]")
        browser.wait_text(".lab-say.refusal", "That cell is taken.")
    browser.until(lambda: "cell-4" in browser.script("return shaken"), "the shake")
    assert not browser.all(".q-notification"), "nothing covers the board"
    browser.click("[data-id=cell-0]")
    browser.until(lambda: browser.text(".lab-say") == "", "an empty line")


def test_a_link_that_cannot_be_copied_is_shown(browser: Browser):
    """Pages of plain HTTP, as in a local network, have no clipboard."""
    browser.open("/tictactoe?x=you&o=you")
    for clipboard, words in (
        ("{writeText: async words => { window.copied = words; }}", "copied"),
        ("undefined", f"Copy it here: {browser.driver.current_url}"),
    ):
        browser.script(f"Object.defineProperty(navigator, 'clipboard', {{value: {clipboard}, configurable: true}})")
        browser.click(".share")
        options = lambda: [one for one in browser.all(".q-menu .q-item") if "Copy the link" in one.text]  # noqa: E731
        browser.until(options, "the link")[0].click()
        browser.until(lambda: any(words in one.text for one in browser.all(".q-notification")), words)  # noqa: B023
        browser.until(lambda: not browser.all(".q-menu"), "the menu to close")
    assert browser.script("return window.copied") == browser.driver.current_url


def test_a_game_is_saved_as_a_picture_and_as_a_film(browser: Browser, tmp_path: Path):
    browser.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.open("/tictactoe?x=you&o=you")
    for number, cell in enumerate((4, 0, 8), 1):
        browser.click(f"[data-id=cell-{cell}]")
        browser.wait_text(".lab-where", f"{number} / {number}")
    for words, name, frames in (("as a picture", "tictactoe.png", 1), ("as a film", "tictactoe.gif", 4)):
        browser.click(".share")
        options = lambda: [one for one in browser.all(".q-menu .q-item") if words in one.text]  # noqa: E731, B023
        browser.until(options, words)[0].click()
        browser.until((tmp_path / name).is_file, name)
        with Image.open(tmp_path / name) as image:
            assert getattr(image, "n_frames", 1) == frames
        browser.until(lambda: not browser.all(".q-menu"), "the menu to close")


def test_sound_is_off_until_it_is_switched_on(browser: Browser):
    browser.open("/tictactoe")
    browser.script("localStorage.clear()")
    browser.refresh()
    pressed = lambda: browser.attributes(".lab-sound", "aria-pressed")[0]  # noqa: E731
    assert pressed() == "false"
    assert browser.script("sound('won'); return !window.audio")
    browser.click(".lab-sound")
    browser.until(lambda: pressed() == "true", "sound")
    assert browser.script("return !!window.audio")
    browser.refresh()
    browser.until(lambda: pressed() == "true", "sound, still")
    browser.script("localStorage.clear()")


def test_the_start_page_continues_games_lists_runs_and_plays_itself(browser: Browser):
    browser.open("/tictactoe?x=you&o=you")
    browser.click("[data-id=cell-4]")
    browser.until(lambda: browser.driver.current_url.count("/") == 4, "the address")
    game = browser.driver.current_url.removeprefix(browser.address)
    browser.open("/")
    browser.wait_text(".st-name", "board lab")
    browser.wait_text(f".st-row[href='{game}']", "Tic-tac-toe: one move, just now")
    assert any(link.startswith("/runs/") for link in browser.attributes(".st-run", "href"))
    pawns = lambda: [browser.attributes(".game-card .pawn .body", axis) for axis in ("cx", "cy")]  # noqa: E731
    browser.until(lambda: len(pawns()[0]) == 2, "the board")
    first = pawns()
    browser.until(lambda: pawns() != first, "a move by itself")
    browser.click(f".st-row[href='{game}']")
    browser.wait_text(".headline", "Your turn: O")
