"""Text boards, heatmaps and the game in the terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from src.core.play.agent import Agent, Decision
from src.core.play.game import Game
from src.envs.minesweeper import play_local as local
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.image import save_heatmap
from src.envs.minesweeper.notation import text_board
from tests.lab import Lab

VISIBLE = np.array([[0, 1, -1], [1, 2, -2], [-1, -1, -1]], np.int8)


def test_text_board_with_probabilities() -> None:
    actions = np.zeros(18)
    actions[[2, 7, 9 + 8]] = 0.2, 0.5, 0.3
    chances = np.full((3, 3), 0.25)
    chances[2, :2] = 1.0
    lines = text_board(VISIBLE, 2, action_probability=actions, mine_probability=chances).split("\n")
    assert lines[2:9] == [
        "  0     1 [.]",
        "  1  1  2  F",
        "  2  . [.][.]",
        "1. reveal row 2, column 1: 50.0%",
        "2. flag row 2, column 2: 30.0%",
        "3. reveal row 0, column 2: 20.0%",
        "mine probability, %",
    ]
    assert lines[-1] == "  2 100 100  25"
    assert lines[-2] == "  1          25"
    certain = text_board(VISIBLE, 2, action_probability=np.eye(18)[2])
    assert certain.endswith("1. reveal row 0, column 2: 100.0%"), "without the impossible"
    solution = np.zeros((3, 3), bool)
    solution[2, 0] = True
    assert text_board(VISIBLE, 2, solution=solution).split("\n")[-1] == "  2  *  .  ."


def test_heatmap_is_a_picture_that_shows_the_chances(tmp_path: Path) -> None:
    low, high = tmp_path / "low.png", tmp_path / "high.png"
    save_heatmap(low, VISIBLE, np.full((3, 3), 0.1))
    save_heatmap(high, VISIBLE, np.full((3, 3), 0.9))
    first, second = imread(low), imread(high)
    assert first.shape == second.shape
    assert not np.allclose(first, second)


def answers(*lines: str) -> Callable[[str], str]:
    waiting = iter(lines)

    def ask(prompt: str) -> str:
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    return ask


def play(*lines: str, agent: Agent | None = None, **settings: Any) -> tuple[int | None, str]:
    shown: list[str] = []
    game = Minesweeper(5, 5, 6, **settings)
    outcome = local.play_local(game, np.random.default_rng(0), agent, ask=answers(*lines), output=shown.append)
    return outcome, "\n".join(shown)


def test_quitting_and_the_end_of_input_leave_the_game() -> None:
    assert play("q", "r 0 0")[0] is None
    assert play()[0] is None
    assert play("q")[1].count("6 mines") == 1
    assert "which is safe" in play("m", "q")[1], "before the first reveal"
    assert "without flags" in play("f 0 0", flag_actions=False)[1]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("hello", "'hello' is not a move"),
        ("", "'' is not a move"),
        ("r 1", "'r 1' is not a move"),
        ("r one 2", "is not a move"),
        ("r ² 2", "is not a move"),
        ("r -1 2", "is not a move"),
        ("r 5 0", "row 5, column 0 is off the board: rows 0..4, columns 0..4"),
        ("f 0 99", "off the board"),
        ("r 0 0", "row 0, column 0 is revealed already"),
    ],
)
def test_bad_input_gets_a_sentence_and_changes_nothing(line: str, sentence: str) -> None:
    quiet = play("r 0 0", "f 4 4")[1]
    shown = play("r 0 0", line, "f 4 4")[1]
    assert sentence in shown
    assert [text for text in shown.split("\n") if sentence not in text] == quiet.split("\n")


def test_a_person_can_win_and_lose() -> None:
    game = Minesweeper(5, 5, 6)
    state = game.play(game.initial(np.random.default_rng(0)), 0)
    mines = np.flatnonzero(state.boards.number[0] == 9)
    moves = [f"r {cell // 5} {cell % 5}" for cell in range(25) if cell not in mines]
    outcome, shown = play(*moves)
    assert outcome == 1
    assert shown.endswith("You won.")
    outcome, shown = play("r 0 0", f"r {mines[0] // 5} {mines[0] % 5}")
    assert outcome == -1
    assert shown.endswith("That was a mine.")
    assert shown.count("*") == 6, "the mines are shown at the end and not before"


class Stepper(Agent):
    """Reveals the first hidden cell, with a reason; stops when cell 12 is open."""

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        if view.visible[2, 2] >= 0:
            return Decision(None)
        actions = np.zeros(50)
        actions[12] = 1
        info = {"guess": True, "action_probability": actions, "mine_probability": np.full((5, 5), 0.08)}
        return Decision(12, info)


def test_an_agent_moves_on_enter() -> None:
    outcome, shown = play("", "", agent=Stepper())
    assert outcome is None
    assert "reveal row 2, column 2 (guess: True)" in shown
    assert "1. reveal row 2, column 2: 100.0%" in shown
    assert "mine probability, %" in shown
    assert shown.endswith("The agent stops here.")


@pytest.mark.parametrize("folder", [".", "no"])
def test_probabilities_are_shown_and_drawn_if_the_folder_exists(folder: str, tmp_path: Path) -> None:
    shown: list[str] = []
    picture, ask = tmp_path / folder / "heat.png", answers("r 0 0", "m", "r 0 0", "q")
    game = Minesweeper(5, 5, 6)
    local.play_local(game, np.random.default_rng(0), heatmap=picture, ask=ask, output=shown.append)
    assert "mine probability, %" in "\n".join(shown)
    assert picture.read_bytes().startswith(b"\x89PNG") if folder == "." else "there is no folder" in "\n".join(shown)
    assert "is revealed already" in shown[-1], "the game goes on"


def test_the_command_is_played_by_hand_and_by_an_agent(lab: Lab) -> None:
    typed = "r 0 0\nnonsense\n" + "\n" * 70  # an empty line lets the agent move
    done = lab.run("play_local", "env=minesweeper_8x8", "env.config.first_click=agent", "agent=exact", stdin=typed)
    assert done.returncode == 0, done.stderr
    assert "'nonsense' is not a move" in done.stdout
    assert any(ending in done.stdout for ending in ("You won.", "That was a mine.", "The agent stops here."))


@pytest.mark.slow
def test_a_game_without_a_terminal_is_refused(lab: Lab) -> None:
    done = lab.run("play_local", "env=tictactoe", stdin="q\n")
    assert done.returncode != 0
    assert "cannot be played in the terminal" in done.stderr
    assert "Traceback" not in done.stderr
