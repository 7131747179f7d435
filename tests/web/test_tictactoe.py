"""The page of tic-tac-toe: drawings, and games in a browser."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.runs.index.playable import FinishedRun
from src.envs.tictactoe.game import TicTacToe
from src.envs.tictactoe.rules import TRANSFORMS
from src.web.tictactoe import board
from src.web.tictactoe.page import LOOKED_UP, TicTacToeMatch, analyze, comment, players_of
from tests.web.browser import Browser

GAME = TicTacToe(symmetric=True)
AGENT = MinimaxAgent()


def match(*human_seats: int) -> TicTacToeMatch:
    return TicTacToeMatch(GAME, np.random.default_rng(0), frozenset(human_seats))


def test_stones_rows_and_values_are_drawn_on_cells_to_pick():
    root = ElementTree.fromstring(board.draw("XO..X...O", last=4))
    assert [part.get("data-id") for part in root.iter() if part.get("data-id")] == [f"cell-{n}" for n in range(9)]
    classes = [part.get("class") for part in root.iter()]
    assert [classes.count(kind) for kind in ("x", "o", "last", "row")] == [2, 2, 1, 0]
    assert board.draw("XXXXOOXOO").count('class="row"') == 2, "both rows that one stone finishes"
    analysis = analyze(GAME, AGENT, "XO.......")
    assert analysis.canonical is None, "nothing is looked up by a search"
    root = ElementTree.fromstring(board.draw("XO.......", values=analysis.values))
    texts = [(part.text, part.get("class")) for part in root.iter() if "value" in (part.get("class") or "")]
    assert texts.count(("win", "value good")) == 3
    assert texts.count(("draw", "value even")) == 4


@pytest.mark.parametrize(
    ("score", "tone"), [("win-in-3", "good"), ("loss", "bad"), ("draw", "even"), ("0.00", "even"), ("-0.25", "bad")]
)
def test_tones(score: str, tone: str):
    assert board.CellValue(score, best=False).tone == tone


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


def test_a_match_follows_another_from_the_first_move_that_differs():
    game = match(0, 1)
    for move, note in ((4, {"rule": "greedy"}), (0, None), (8, None)):
        game.play(move, note)
    game.follow(None, [4, 1])
    assert (game.state, game.moves) == (".O..X....", [4, 1])
    assert game.notes == [{"rule": "greedy"}, None], "what is known about the moves in common stays"


@pytest.mark.parametrize("moves", [[4, 4], [99], ["4"], [True], [{}]])
def test_saved_moves_that_cannot_be_played_are_refused(moves: list[object]):
    game = match(0)
    with pytest.raises(UserError, match="not a"):
        game.restore(None, moves)
    assert game.moves == []


def test_every_agent_tells_its_choice_in_a_sentence():
    table = {"rule": "greedy", "transform": "Rot180", "move": 4, "best_q": -0.0}
    assert comment(table) == "It uses its table. Looked up rotated by 180°, the best move has the value 0."
    search = {"score": "win-in-3", "depth": 3, "nodes": 60, "line": "4,0,8", "static": 0}
    assert comment(search) == "It sees a win in 3, 3 moves deep in 60 positions: 5 1 9."
    assert comment(search | {"score": "-12"}).startswith("It sees a score of -12,")
    assert comment(AGENT.decide(GAME, "XX.OO....", np.random.default_rng(0)).info).startswith(
        "It values the position at 1,"
    )
    searched = {"value": -0.5, "visits": 3, "simulations": 16}
    assert comment(searched) == "3 of 16 simulations tried this move; its value is -0.50 (a win: +1)."
    assert comment({}) == ""
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


def over(browser: Browser) -> bool:
    return "turn" not in browser.text(".headline")


def test_a_game_to_the_end_with_undo_and_values(browser: Browser):
    browser.open("/tictactoe?o=minimax")
    browser.wait_text(".headline", "Your turn: X")
    browser.press("1")
    browser.until(lambda: stones(browser).count("O") == 1, "the answer")
    assert browser.attributes("[data-id=cell-0]", "aria-label") == ["cell 1, X"], "cells are numbered from 1"
    browser.click(".undo")
    browser.until(lambda: stones(browser) == "." * 9, "the empty board")
    browser.choose(".choose-values", "Q-table experiments/tictactoe_qlearning")
    browser.wait_text(".history", "It uses its table.")
    assert len(browser.all("svg .value")) == 9
    while "Your turn" in browser.text(".headline"):
        before = stones(browser)
        browser.click(f"[data-id=cell-{AGENT.best_actions(GAME, before)[0]}]")
        browser.until(lambda: stones(browser).count(".") < before.count(".") - 1 or over(browser), "the answer")  # noqa: B023
    assert browser.text(".headline") == "A draw", "both play perfectly"
    browser.wait_text(".moves", "It values the position at 0")
    played = stones(browser)
    browser.refresh()
    browser.wait_text(".choose-values", "Q-table experiments/tictactoe_qlearning")
    browser.until(lambda: stones(browser) == played, "the same game")
