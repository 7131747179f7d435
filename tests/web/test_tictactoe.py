"""The page of tic-tac-toe: drawings, and games in a browser."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.envs.tictactoe.game import TicTacToe
from src.envs.tictactoe.rules import TRANSFORMS
from src.web.lab import FinishedRun
from src.web.tictactoe import picture
from src.web.tictactoe.match import TicTacToeMatch, analyse
from src.web.tictactoe.page import players_of
from src.web.tictactoe.remarks import LOOKED_UP, remark_of
from tests.web.browser import Browser

GAME = TicTacToe(symmetric=True)
AGENT = MinimaxAgent()


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def match(*human_seats: int) -> TicTacToeMatch:
    return TicTacToeMatch(GAME, np.random.default_rng(0), frozenset(human_seats))


def test_every_stone_is_drawn_and_every_cell_can_be_picked():
    root = drawn(picture.board("XO..X...O", last=4))
    assert [part.get("data-id") for part in root.iter() if part.get("data-id")] == [f"cell-{n}" for n in range(9)]
    classes = [part.get("class") for part in root.iter()]
    assert (classes.count("x"), classes.count("o"), classes.count("last"), classes.count("row")) == (2, 2, 1, 0)


def test_both_rows_that_one_stone_finishes_are_struck_through():
    classes = [part.get("class") for part in drawn(picture.board("XXXXOOXOO")).iter()]
    assert classes.count("row") == 2


def test_cells_show_their_values():
    analysis = analyse(GAME, AGENT, "XO.......")
    assert analysis.canonical is None, "nothing is looked up by a search"
    root = drawn(picture.board("XO.......", values=analysis.values))
    texts = [(part.text, part.get("class")) for part in root.iter() if "value" in (part.get("class") or "")]
    assert texts.count(("win", "value good")) == 3
    assert texts.count(("draw", "value even")) == 4


@pytest.mark.parametrize(
    ("score", "tone"), [("win-in-3", "good"), ("loss", "bad"), ("draw", "even"), ("0.00", "even"), ("-0.25", "bad")]
)
def test_tones(score: str, tone: str):
    assert picture.CellValue(score, best=False).tone == tone


def test_taking_back_leads_to_the_last_turn_of_a_person():
    game = match(1)
    with pytest.raises(UserError, match="no move to take back"):
        game.take_back()
    game.play(4)
    with pytest.raises(UserError, match="no move of yours"):
        game.take_back()
    with pytest.raises(UserError, match="that cell is taken"):
        game.play_human(4)
    game.play_human(0)
    with pytest.raises(UserError, match="it is X's turn"):
        game.play_human(8)
    game.play(8)
    game.take_back()
    assert (game.state, game.moves, game.waits_for_human) == ("....X....", [4], True)
    watched = match()
    watched.play(0)
    watched.play(1)
    watched.take_back()
    assert watched.moves == [0]


def test_every_agent_tells_its_choice_in_a_sentence():
    table = {"rule": "greedy", "transform": "Rot180", "move": 4, "best_q": -0.0}
    assert remark_of(table) == "It uses its table. Looked up rotated by 180°, the best move has the value 0."
    search = {"score": "win-in-3", "depth": 3, "nodes": 60, "line": "4,0,8", "static": 0}
    assert remark_of(search) == "It sees a win in 3, 3 plies deep in 60 positions: 4 0 8."
    assert remark_of(search | {"score": "-12"}).startswith("It sees a score of -12,")
    assert remark_of(AGENT.decide(GAME, "XX.OO....", np.random.default_rng(0)).info).startswith(
        "It values the position at 1,"
    )
    searched = {"value": -0.5, "visits": 3, "simulations": 16}
    assert remark_of(searched) == "3 of 16 simulations tried this move; its value is -0.50 (a win: +1)."
    assert remark_of({}) == ""
    assert LOOKED_UP.keys() == TRANSFORMS.keys()


def test_a_run_with_a_table_is_offered_once(tmp_path: Path):
    table, network = (
        FinishedRun(tmp_path / name, f"outputs/{name}", "tictactoe", "any") for name in ("table", "network")
    )
    table.path.mkdir()
    (table.path / "qtable.json").touch()
    offered = [key for key in players_of([network, table]) if ":" in key]
    assert offered == ["qtable:outputs/table", "run:outputs/network"]


def stones(browser: Browser) -> str:
    """Return the board shown on the screen."""
    labels = browser.attributes("[data-id^=cell-]", "aria-label")
    return "".join({"X": "X", "O": "O"}.get(label.split(", ")[1], ".") for label in labels)


def play_best(browser: Browser) -> None:
    """Play a perfect move and wait for the reply."""
    before = stones(browser)
    browser.click(f"[data-id=cell-{AGENT.best_actions(GAME, before)[0]}]")

    def answered() -> bool:
        return before.count(".") - stones(browser).count(".") == 2 or "turn" not in browser.text(".headline")

    browser.until(answered, "the answer")


def test_a_game_to_the_end_with_undo_and_values(browser: Browser):
    browser.open("/tictactoe?o=minimax")
    browser.wait_text(".headline", "Your turn: X")
    browser.press("0")
    browser.until(lambda: stones(browser).count("O") == 1, "the answer")
    browser.click("[data-id=cell-0]")
    browser.wait_text(".lab-say.refusal", "That cell is taken.")
    assert browser.attributes("[data-id=cell-0]", "aria-label") == ["cell 0, X"], "a cell is called as the engine does"
    browser.click(".undo")
    browser.until(lambda: stones(browser) == "." * 9, "the empty board")
    browser.choose(".choose-values", "Q-table experiments/tictactoe_qlearning")
    browser.wait_text(".history", "It uses its table.")
    assert len(browser.all("svg .value")) == 9
    while "Your turn" in browser.text(".headline"):
        play_best(browser)
    assert browser.text(".headline") == "A draw", "both play perfectly"
    played = stones(browser)
    browser.refresh()
    browser.wait_text(".choose-values", "Q-table experiments/tictactoe_qlearning")
    browser.until(lambda: stones(browser) == played, "the same game")


def test_a_win_against_random_in_the_second_seat(browser: Browser):
    for _ in range(20):  # chance has it that a perfect player draws now and then
        browser.open("/tictactoe?x=random&o=you")
        browser.wait_text(".headline", "Your turn: O")
        while "turn" in browser.text(".headline"):
            play_best(browser)
        if browser.text(".headline") == "You win":
            browser.wait_text(".lab-ending.won .lab-result", "You win")
            return
    pytest.fail("never won in twenty games")


def test_agents_are_watched_and_tabs_are_apart(browser: Browser):
    browser.open("/tictactoe?x=minimax&o=qtable:experiments/tictactoe_qlearning")
    first = browser.tab
    browser.new_tab("/tictactoe?x=you&o=you")
    browser.click("[data-id=cell-4]")
    browser.wait_text(".headline", "Your turn: O")
    browser.script("document.querySelector('[data-id=cell-0]').dataset.id = 'cell-99'")
    browser.click("[data-id=cell-99]")
    browser.wait_notification("'cell-99' does not exist")
    assert stones(browser).replace(".", "") == "X"
    browser.go_to(first)
    browser.wait_text(".headline", "A draw")
    browser.wait_text(".history", "It uses its table.")


def test_an_unknown_player_is_reported(browser: Browser):
    browser.open("/tictactoe?o=<b>nobody</b>&values=you")
    browser.wait_notification("player '<b>nobody</b>' is unknown")
    browser.wait_notification("player 'you' is unknown")
    browser.wait_text(".headline", "Your turn: X")
