"""The page of Minesweeper: drawings, and games in a browser."""

import os
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from src.core.errors import UserError
from src.envs.minesweeper.difficulty import count_3bv
from src.envs.minesweeper.notation import read_board
from src.envs.minesweeper.rules import neighbors
from src.envs.minesweeper.solver import Proof, analyze, choose, exact_moves
from src.web.minesweeper import board
from src.web.minesweeper.advice import describe_loss, describe_mistakes, find_mistakes, proof_text
from src.web.minesweeper.match import MinesweeperMatch, read_size, today
from src.web.minesweeper.panels import custom_position, describe_consistency, whole
from src.web.saved_games import GameStore, SavedGame
from tests.web.browser import Browser

FIRST = 40  # the middle of 9x9


def classes(svg: str) -> list[str]:
    return [part.get("class") or "" for part in ElementTree.fromstring(svg).iter()]


def new_match(no_guess: bool = False, seed: int = 0) -> MinesweeperMatch:
    return MinesweeperMatch("9x9x10", np.random.default_rng(seed), no_guess)


def test_cells_odds_marks_and_the_end_are_drawn():
    drawn = classes(board.draw(read_board("1F.\n012")))
    assert [drawn.count(kind) for kind in ("open", "shut", "flag")] == [4, 2, 1]
    assert [name for name in drawn if name.startswith("n ")] == ["n n1", "n n1", "n n2"], "a zero is left blank"
    odds = np.array([[0.0, 1.0, 0.004, 0.999, 0.5]])
    root = ElementTree.fromstring(board.draw(read_board("....F"), board.Marks(odds=odds)))
    shown = [part.text for part in root.iter() if part.get("class") == "odds"]
    assert shown == ["0", "100", "<1", ">99"], "only certainty is 0 or 100"
    names = [part.get("aria-label") for part in root.iter() if part.get("role") == "gridcell"]
    assert names[2:] == [
        "row 1, column 3: hidden, <1% mine",
        "row 1, column 4: hidden, >99% mine",
        "row 1, column 5: flag",
    ]
    marks = board.Marks(hint=1, risky=True, also=(2,), proof=(0,), cursor=3)
    assert {"hint risky", "proof", "also", "cursor"} <= set(classes(board.draw(read_board("1..."), marks)))
    mines = np.array([[True, True, True, False]])
    drawn = classes(board.draw(read_board("..FF"), board.Marks(mines=mines, exploded=0)))
    counts = [drawn.count(kind) for kind in ("bang", "wrong", "flag", "mine")]
    assert counts == [1, 1, 2, 2 * 2], "each mine is a circle and its spikes"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9x9", "such as 16x30x99"),
        ("9x9x-1", "such as 16x30x99"),
        ("999x9x10", "too large for this page"),
        ("9x9x73", "at most 72 fit"),
        ("0x9x1", "=0 must be a whole number in"),
        ("16x16x40@2026-02-30", "is not a day: expected a date such as"),
        ("16x16x40@9999-01-01", "the board of 9999-01-01 is not there yet"),
        ("9x9x10@2026-01-31", "the board of a day has the size 16x16x40"),
    ],
)
def test_a_board_that_cannot_be_is_refused(text: str, message: str):
    with pytest.raises(UserError, match=message):
        read_size(text)


def test_everybody_gets_the_same_board_of_a_day_which_needs_no_guess():
    day = "16x16x40@2026-01-31"
    one, other = (MinesweeperMatch(day, np.random.default_rng(seed), no_guess=False) for seed in (0, 1))
    assert read_size(day) == read_size(today()) == (16, 16, 40)
    assert one.first is not None
    with pytest.raises(UserError, match="begins this board at the marked cell"):
        one.click(one.first + 1)
    for match in (one, other):
        match.click(one.first)
    assert (one.mines == other.mines).all()
    tomorrow = MinesweeperMatch("16x16x40@2026-02-01", np.random.default_rng(0), no_guess=False)
    tomorrow.click(one.first)
    assert (one.mines != tomorrow.mines).any()
    while not one.is_over:
        chances = analyze(one.view.visible, one.view.mines).mine_probability
        for cell in np.flatnonzero((one.view.visible < 0) & (chances == 0)):
            one.click(int(cell))
    assert one.outcome == 1


def test_the_board_of_the_day_is_chosen_and_begins_at_its_mark(browser: Browser):
    browser.open("/minesweeper")
    browser.choose(".choose-board", "Today's board, without a guess")
    browser.wait_text(".headline", "The board of the day")
    browser.wait_text(".advice", "Begin at the marked cell")
    browser.click("[data-id=cell-0]")
    browser.wait_text(".lab-say", "Everybody begins this board at the marked cell")
    browser.click("[data-id=cell-136]")
    browser.wait_text(".headline", "Playing")
    browser.click(".new-game")
    browser.wait_text(".headline", "The board of the day")
    assert today().replace("@", "%40") in browser.driver.current_url


def test_flags_chords_and_the_end_go_through_the_engine():
    match = new_match()
    match.click(FIRST)
    assert match.started
    mined = np.flatnonzero(match.mines.ravel()).tolist()
    for cell in mined:
        match.flag(cell)
    assert match.mines_left == 0
    with pytest.raises(UserError, match="take the flag off"):
        match.click(mined[0])
    before = match.view.visible.copy()
    with pytest.raises(UserError, match="takes no flag"):
        match.flag(FIRST)
    assert np.array_equal(match.view.visible, before)
    for _ in range(81):  # chords alone open everything once all mines are flagged
        for cell in np.flatnonzero(match.view.visible.ravel() > 0).tolist():
            if match.outcome is None:
                match.click(cell)
    assert match.outcome == 1
    with pytest.raises(UserError, match="the game is over"):
        match.play(0)


def test_a_chord_at_a_wrong_flag_loses_and_later_clicks_are_refused():
    match = new_match()
    match.click(FIRST)
    near, degree = neighbors(9, 9)
    for number in np.flatnonzero(match.view.visible.ravel() == 1).tolist():
        around = near[number, : degree[number]].tolist()
        wrong = [cell for cell in around if match.value(cell) < 0 and not match.mines.ravel()[cell]]
        if wrong:
            break
    match.flag(wrong[0])
    match.click(number)
    assert match.outcome == -1
    assert match.exploded is not None
    assert match.mines.ravel()[match.exploded]
    hidden = int(np.flatnonzero(match.view.visible.ravel() == -1)[0])
    for touch, cell in ((match.click, hidden), (match.click, wrong[0]), (match.click, FIRST), (match.flag, hidden)):
        with pytest.raises(UserError, match="the game is over"):
            touch(cell)


def test_a_reason_is_only_given_where_there_is_one():
    assert "too long to show" in proof_text(None)
    assert "number of mines" in proof_text(Proof((), counted=True))
    assert "ringed numbers" in proof_text(Proof((1, 2)))


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1.5, None, True, "3", {}])
def test_what_is_no_whole_number_is_refused(value: object):
    with pytest.raises(UserError, match="not a whole number"):
        whole(value)
    assert whole(3.0) == 3


def test_a_board_without_guess_is_won_by_reasoning():
    match = new_match(no_guess=True)
    match.flag(0)
    match.click(FIRST)
    assert match.value(0) != -1, "the flag is kept, or its cell was opened"
    while match.outcome is None:
        choice = choose(match.view.visible, 10, exact_moves)
        assert choice.certain
        match.play(int(choice.action or 0))
    assert match.outcome == 1


def test_too_many_tries_are_reported_and_no_mines_are_laid():
    # which row has the odd mine cannot be deduced
    match = MinesweeperMatch("2x6x5", np.random.default_rng(0), no_guess=True)
    with pytest.raises(UserError, match="without a guess: ask for fewer mines"):
        match.click(0)
    assert (match.started, (match.view.visible == -1).all()) == (False, True)


def test_the_best_guess_is_marked_and_one_number_is_not_repeated():
    visible = read_board("1...\n....\n....")
    odds = np.full(visible.shape, 0.2)
    odds[0, 1] = odds[1, 0] = odds[1, 1] = 1 / 3
    drawn = classes(board.draw(visible, board.Marks(odds=odds)))
    assert drawn.count("best") == 1
    assert drawn.count("odds") == 4, "three cells at the number, and one for all others"
    assert board.best_guess(visible, odds) == 2
    odds[2, 3] = 0.0
    assert board.best_guess(visible, odds) is None, "no guess is needed"


@pytest.mark.parametrize(
    ("mines", "moves", "words"),
    [
        ([1, 5], [0, 1], "At move 2, row 1, column 3 was safe."),
        ([1, 11], [0, 1], "The last reveal was a guess: a mine with 33%, while row 1, column 3 had 12%."),
        ([1, 11], [0, 11], "The last reveal was a guess: a mine with 12%, and no cell was safer. Bad luck."),
    ],
)
def test_a_loss_is_explained(mines: list[int], moves: list[int], words: str):
    match = MinesweeperMatch("3x4x2", np.random.default_rng(0), no_guess=True)
    match.restore({"seed": 0, "mines": mines}, moves)
    assert match.outcome == -1
    assert describe_loss(match) == words


def test_every_guess_that_was_not_needed_is_a_mistake():
    match = MinesweeperMatch("3x4x2", np.random.default_rng(0), no_guess=True)
    match.restore({"seed": 0, "mines": [1, 5]}, [0, 12 + 1, 4, 2, 1])
    found = find_mistakes(match)
    assert [(one.number, round(one.risk, 3), one.safe) for one in found] == [(3, 0.667, 2), (5, 1.0, 3)]
    assert str(found[0]) == "At move 3, a mine with 67%, row 1, column 3 was safe."
    one_guess = "One earlier guess was not needed: at move 3 row 1, column 3 was safe. Review shows them."
    assert describe_mistakes(found, 5) == one_guess
    assert describe_mistakes(found, 3) == ""
    assert match.outcome == -1, "the match itself is not replayed"


@pytest.mark.parametrize("move", ["x", 99])
def test_a_saved_game_that_is_refused_changes_nothing(move: object):
    match = MinesweeperMatch("3x4x2", np.random.default_rng(0), no_guess=True)
    match.restore({"seed": 0, "mines": [1, 5]}, [0])
    kept = match.start, list(match.moves)
    with pytest.raises(UserError):
        match.restore({"seed": 7, "mines": None}, [move])
    assert (match.start, match.moves) == kept


def test_mistakes_are_shown_after_a_loss_and_in_the_review(browser: Browser, scratch: Path):
    setup = {"board": "3x4x2", "guess": "none", "odds": "none", "agent": "exact"}
    game = SavedGame("/minesweeper", setup, {"seed": 0, "mines": [1, 5]}, [0, 4, 1], "You lose", 3.0, 1)
    key = GameStore(scratch / "outputs" / "games").save(game)
    browser.open(f"/minesweeper/{key}")
    browser.wait_text(".status.lost .headline", "You lose")
    browser.wait_text(".status.over", "8 safe cells were left, 3.00 s")
    browser.wait_text(".advice", "One earlier guess was not needed: at move 2 row 1, column 3 was safe.")
    browser.click(".review")
    browser.wait_text(".headline", "Position after move 1 of 3")
    browser.wait_text(".advice", "At move 2, a mine with 67%, row 1, column 3 was safe.")
    browser.until(lambda: browser.all(".ms .hint"), "the safe cell")
    browser.click(".look-last-page")
    browser.wait_text(".status.over .headline", "You lose")
    browser.click(".new-game")
    browser.wait_text(".headline", "Reveal any cell")


LOST = {"board": "3x4x2", "guess": "none", "odds": "none", "agent": "exact"}


def test_a_second_click_on_a_mine_keeps_the_lost_board_which_can_be_played_again(browser: Browser, scratch: Path):
    game = SavedGame("/minesweeper", LOST, {"seed": 0, "mines": [1, 5]}, [0, 4], "", 3.0, 1)
    key = GameStore(scratch / "outputs" / "games").save(game)
    browser.open(f"/minesweeper/{key}")
    browser.wait_text(".headline", "Playing")
    mine = browser.find("[data-id=cell-5]")
    ActionChains(browser.driver, duration=0).click(mine).perform()
    browser.wait_text(".status.lost .headline", "You lose")
    ActionChains(browser.driver, duration=0).click().perform()  # without a move of the mouse
    assert cells(browser)[5] == "mine"
    assert len(browser.all("[data-id=cell-5] .bang")) == 1
    browser.click(".same-board")
    browser.wait_text(".headline", "Playing")
    assert cells(browser)[0] == "2", "the first reveal is made"
    games = shown_statistics(browser)["games"]
    for cell in (2, 3, 4, 6, 7, 8, 9, 10, 11):
        browser.click(f"[data-id=cell-{cell}]")
    browser.wait_text(".headline", "You win")
    assert shown_statistics(browser)["games"] == games, "a board that was seen before does not count"


def clock(browser: Browser) -> int:
    return int(browser.text(".ms-clock").split()[-1])


def test_the_clock_goes_on_while_a_game_is_not_open(browser: Browser, scratch: Path):
    store = GameStore(scratch / "outputs" / "games")
    for moves, seconds in (([0, 4], 112), ([12 + 1], 0), ([0, 4, 1], 12)):  # begun, flagged only, lost
        key = store.save(
            SavedGame("/minesweeper", LOST, {"seed": 0, "mines": [1, 5]}, moves, "", 12.0 * (seconds > 0), 1)
        )
        file = scratch / "outputs" / "games" / f"{key}.json"
        os.utime(file, (time.time() - 100, time.time() - 100))
        browser.open(f"/minesweeper/{key}")
        for _ in range(2):
            browser.until(lambda: cells(browser) != ["hidden"] * 12, "the game")
            browser.until(lambda: seconds <= clock(browser) < seconds + 90, f"{seconds} seconds")  # noqa: B023
            browser.refresh()


@pytest.mark.parametrize(
    ("rows", "clicks"),
    [
        ("*..\n...\n...", 1),  # one opening reveals everything
        ("*.*\n...\n*.*", 5),  # only numbers
        ("..*..\n..*..", 2),  # two openings with their borders
        (".*...\n.*...", 3),  # the numbers on the left are beside no opening
        ("***", 0),
    ],
)
def test_3bv_is_the_number_of_clicks_that_a_board_needs(rows: str, clicks: int):
    mines = np.array([[sign == "*" for sign in row] for row in rows.split("\n")])
    assert count_3bv(mines) == clicks


def shown_statistics(browser: Browser) -> dict[str, str]:
    code = "return [...document.querySelectorAll('.ms-statistics dd')].map(one => [one.dataset.name, one.textContent])"
    return dict(browser.script(code))


def test_games_are_counted_in_the_browser_by_board(browser: Browser):
    browser.open("/minesweeper?board=2x3x1")
    browser.script("localStorage.removeItem('minesweeper 2x3x1'); localStorage.removeItem('minesweeper 4x4x7')")
    browser.open("/minesweeper?board=4x4x7")  # won with the first reveal
    for wins in (1, 2):
        browser.click("[data-id=cell-5]")
        browser.wait_text(".status.over .headline", "You win")
        browser.until(lambda: shown_statistics(browser)["wins"] == f"{wins} (100%)", "the win")  # noqa: B023
        browser.click(".new-game")
        browser.wait_text(".headline", "Reveal any cell")
    browser.refresh()
    browser.until(lambda: shown_statistics(browser)["streak"] == "2, longest 2", "the wins in a row")
    assert shown_statistics(browser)["best"].endswith(" s")
    browser.click(".ask")  # a game with a hint does not count
    browser.until(lambda: browser.all(".ms .hint"), "the hint")
    browser.click("[data-id=cell-5]")
    browser.wait_text(".status.over .headline", "You win")
    assert shown_statistics(browser)["games"] == "2"
    browser.open("/minesweeper?board=2x3x1")
    browser.until(lambda: shown_statistics(browser)["games"] == "0", "the statistics of the other board")
    browser.open("/minesweeper?board=4x4x7")
    browser.until(lambda: shown_statistics(browser)["games"] == "2", "the statistics of the board")
    browser.click(".reset-statistics")
    browser.until(lambda: shown_statistics(browser)["games"] == "0", "the reset")
    browser.refresh()
    browser.until(lambda: shown_statistics(browser)["games"] == "0", "it to last")


def test_the_consistency_of_a_custom_position_is_described():
    for text, mines, words in (("1.", 1, "one placement"), ("......\n" * 6, 10, "10^"), ("1.\n..", 1, "3 placements")):
        assert words in describe_consistency(custom_position(read_board(text), mines))
    with pytest.raises(UserError, match="no placement of 3 mines agrees"):
        describe_consistency(custom_position(read_board("111\n1.1\n111"), 3))
    with pytest.raises(UserError, match="do not fit on 2 cells"):
        custom_position(read_board("1."), 3)


def cells(browser: Browser) -> list[str]:
    """Return the state of each cell on the screen: hidden, flag, mine, wrong flag or a number."""
    return [label.rpartition(": ")[2] for label in browser.attributes("[data-id^=cell-]", "aria-label")]


def odds(browser: Browser) -> list[str]:
    return browser.script("return [...document.querySelectorAll('.odds')].map(e => e.textContent)")


def click_safe_cell(browser: Browser) -> None:
    """Reveal a cell whose odds are shown as 0, unless none is left because the game is won."""
    before = cells(browser)
    found = browser.script(
        "const safe = [...document.querySelectorAll('.odds')].find(e => e.textContent === '0');"
        "safe?.dispatchEvent(new MouseEvent('click', {bubbles: true})); return !!safe"
    )
    if found:
        browser.until(lambda: cells(browser) != before, "the reveal")


def test_a_game_is_won_by_clicking_where_the_odds_are_zero(browser: Browser):
    browser.open("/minesweeper?board=8x8x10&guess=none&odds=exact")
    browser.wait_text(".ms-left", "10")
    browser.right_click("[data-id=cell-0]")
    browser.until(lambda: cells(browser)[0] == "flag", "the flag")
    browser.wait_text(".ms-left", "9")
    browser.right_click("[data-id=cell-0]")
    browser.until(lambda: cells(browser)[0] == "hidden", "no flag")
    browser.wait_text(".advice", "The first reveal is always safe")
    assert not odds(browser)
    browser.click("[data-id=cell-27]")
    browser.wait_text(".headline", "Playing")
    while "You win" not in browser.text(".headline"):
        click_safe_cell(browser)
    assert cells(browser).count("flag") == 10, "the mines are flagged at the end"
    assert browser.text(".ms-left") == "0"
    assert not browser.all(".ms .hint, .ms .proof, .odds")
    browser.wait_text(".status.won .faint", "every safe cell is revealed, ")
    ended = cells(browser)
    browser.refresh()
    browser.wait_text(".headline", "You win")
    assert cells(browser) == ended, "a refresh shows the same game"


def test_an_agent_plays_on_and_shows_its_reasons(browser: Browser):
    browser.open("/minesweeper?board=9x9x10&guess=none")
    browser.click("[data-id=cell-40]")
    browser.wait_text(".headline", "Playing")
    browser.click(".ask")
    browser.wait_text(".advice", "is safe: it follows from the ringed numbers")
    assert browser.all(".ms .proof")
    browser.script("document.querySelector('[data-id=cell-0]').dataset.id = 'cell-81'")
    before = cells(browser)
    browser.script(
        "document.querySelector('[data-id=cell-81]').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    browser.wait_notification("'cell-81' does not exist")
    assert cells(browser) == before
    browser.click(".play")
    browser.wait_text(".headline", "Solved with an agent")


def test_invalid_choices_in_the_url_are_reported_and_not_applied(browser: Browser):
    browser.open("/minesweeper?board=2x2x9&guess=maybe&odds=rules&agent=chess")
    for words in ("9 mines do not fit", "guess 'maybe' is", "odds 'rules' is", "agent 'chess' is"):
        browser.wait_notification(words)
    browser.wait_text(".ms-left", "10")
    assert len(cells(browser)) == 81


def test_keys_fingers_and_the_flag_mode_reveal_and_flag(browser: Browser):
    browser.open("/minesweeper?board=9x9x10")
    browser.wait_text(".ms-left", "10")
    browser.long_press("[data-id=cell-8]")
    browser.until(lambda: cells(browser)[8] == "flag", "the flag")
    assert cells(browser).count("hidden") == 80
    browser.long_press("[data-id=cell-8]", seconds=0.05)
    browser.wait_notification("take the flag off")
    browser.right_click("[data-id=cell-8]")
    browser.wait_text(".ms-left", "10")
    browser.click(".flag-mode")
    browser.click("[data-id=cell-0]")
    browser.wait_text(".ms-left", "9")
    assert cells(browser)[0] == "flag"
    browser.right_click("[data-id=cell-4]")
    browser.wait_text(".headline", "Playing")

    browser.open("/minesweeper?board=9x9x10")
    browser.wait_text(".ms-left", "10")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    browser.until(lambda: browser.all(".ms .cursor"), "the cursor")
    browser.press("f")
    browser.until(lambda: cells(browser)[FIRST + 1] == "flag", "the flag")
    browser.press(Keys.ENTER)
    browser.wait_notification("take the flag off")
    browser.press("f", Keys.ENTER)
    browser.wait_text(".headline", "Playing")
    browser.press("n")
    browser.wait_text(".headline", "Reveal any cell")


def test_a_position_is_set_up_analyzed_and_refused_where_it_cannot_be(browser: Browser):
    browser.open("/minesweeper")
    browser.click(".set-up")
    browser.wait_text(".advice", "placements")
    for text, mines in (("121\n...", "2"), ("181\n...", "2")):
        browser.fill(".position textarea", text)
        browser.fill(".custom-mines input", mines)
        browser.click(".analyze")
        if text.startswith("121"):
            browser.wait_text(".advice", "one placement")
            assert odds(browser) == ["100", "0", "100"]
            browser.click(".step")
            browser.wait_notification("this position was set up by hand")
    browser.wait_notification("no placement of 2 mines agrees with the numbers on the board")
    browser.until(lambda: not browser.all(".odds"), "no odds for what cannot be")
    browser.click(".back")
    browser.wait_text(".headline", "Reveal any cell")


def test_a_board_of_another_size(browser: Browser):
    browser.open("/minesweeper")
    browser.click(".choose-board")
    browser.until(lambda: [item for item in browser.all(".q-menu .q-item") if "Another" in item.text], "it")[0].click()
    for name, value in (("Rows", "5"), ("Columns", "6"), ("Mines", "40")):
        browser.fill(f".custom input[aria-label={name}]", value)
    browser.click(".accept")
    browser.wait_notification("40 mines do not fit")
    browser.fill(".custom input[aria-label=Mines]", "4")
    browser.click(".accept")
    browser.until(lambda: len(cells(browser)) == 30, "the board of 5 by 6")
    browser.until(lambda: "board=5x6x4" in browser.driver.current_url, "its address")


def test_a_network_shows_its_predictions(browser: Browser):
    browser.open(
        "/minesweeper?board=8x8x10&odds=run:experiments/minesweeper_8x8&agent=hybrid:experiments/minesweeper_8x8"
    )
    browser.wait_text(".ms-left", "10")
    browser.click("[data-id=cell-27]")
    browser.until(lambda: browser.all(".odds"), "its belief")
    browser.click(".ask")
    browser.wait_text(".advice", "Row")
    browser.choose(".choose-agent", "Network experiments/minesweeper_8x8")
    browser.click(".ask")
    browser.wait_text(".advice", "it predicts a mine there with")
