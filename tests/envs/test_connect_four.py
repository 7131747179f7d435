"""Connect Four: published counts of positions, lines in every direction, notation and symmetry."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.seeding import draw
from src.envs.connect_four.game import ConnectFour
from src.envs.connect_four.rules import Position

GAME = ConnectFour(rows=6, cols=7, length=4)
EMPTY = Position(0, 0)
# Sequences of moves, by depth; none continues after a line.
PERFT = {1: 7, 2: 49, 3: 343, 4: 2401, 5: 16807, 6: 117649, 7: 823536, 8: 5673234}

POSITIONS = [1, 7, 49, 238, 1120, 4263]  # different ones after so many plies: OEIS A212693


def play(moves: str, game: ConnectFour = GAME) -> Position:
    state = EMPTY
    for move in moves:
        state = game.play(state, game.parse_move(state, move))
    return state


@pytest.mark.parametrize("depth", [4, 6, pytest.param(8, marks=pytest.mark.slow)])
def test_the_number_of_move_sequences_is_the_published_one(depth: int):
    assert GAME.perft(EMPTY, depth) == PERFT[depth]


def test_the_number_of_positions_is_the_published_one():
    reached, counts = {EMPTY}, []
    for _ in range(len(POSITIONS)):
        counts.append(len(reached))
        reached = {GAME.play(state, col) for state in reached for col in GAME.legal_actions(state)}
    assert counts == POSITIONS


@pytest.mark.parametrize(
    ("moves", "outcome"),
    [
        ("aabbccd", 1),  # a row
        ("gabababa", -1),  # a column of the second player
        ("abbccdcddgd", 1),  # rising to the right
        ("gffeededdad", 1),  # rising to the left
        ("gababab", None),  # three in a column
    ],
)
def test_four_stones_in_a_line_win(moves: str, outcome: int | None):
    assert GAME.outcome(play(moves)) == outcome
    assert bool(GAME.legal_actions(play(moves))) == (outcome is None)


def lines_by_hand(cells: np.ndarray, length: int) -> bool:
    rows, cols = cells.shape
    ends = [(row, col, down, right) for row, col in np.ndindex(rows, cols) for down, right in STEPS]
    return any(
        all(
            0 <= row + k * down < rows and 0 <= col + k * right < cols and cells[row + k * down, col + k * right]
            for k in range(length)
        )
        for row, col, down, right in ends
    )


STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


@pytest.mark.parametrize(("rows", "cols", "length"), [(6, 7, 4), (4, 5, 3), (3, 3, 3)])
def test_outcomes_of_random_games_are_those_of_lines_found_by_hand(rows: int, cols: int, length: int):
    game, rng, outcomes = ConnectFour(rows, cols, length), np.random.default_rng(0), set()
    for _ in range(12):
        state = game.initial(rng)
        while game.outcome(state) is None:
            assert not any(lines_by_hand(stones, length) for stones in game.cells(state))
            state = game.play(state, draw(rng, game.legal_actions(state)))
            assert game.read_position(game.write_position(state)) == state
        first, second = (lines_by_hand(stones, length) for stones in game.cells(state))
        assert game.outcome(state) == int(first) - int(second)
        assert first or second or game.cells(state).any(axis=0).all()
        outcomes.add(game.outcome(state))
    assert {1, -1} <= outcomes


def test_the_player_to_move_is_observed_first():
    first, second = GAME.observe(play("d")), GAME.observe(play("da"))
    assert np.argwhere(first).tolist() == [[1, 5, 3]], "the stone is the opponent's, at the bottom"
    assert np.argwhere(second).tolist() == [[0, 5, 3], [1, 5, 0]]


def test_the_mirror_image_of_a_game_is_a_game():
    straight, flipped = GAME.symmetries()
    state, image = play("aabdg"), play("ggfda")
    assert np.array_equal(GAME.observe(state).flat[flipped.observation], GAME.observe(image).ravel())
    assert np.array_equal(GAME.observe(state).flat[straight.observation], GAME.observe(state).ravel())
    assert flipped.actions.tolist() == [6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X" * 3, "42 cells X, O or ."),
        ("X" + "." * 41, "a stone has an empty cell below it"),
        ("." * 40 + "OO", "X moves first"),
        ("." * 28 + "OOO...." + "XXXX...", "the game was over before the last stone"),
    ],
)
def test_a_position_that_cannot_be_reached_is_refused(text: str, message: str):
    text = text.replace("." * 28 + "OOO....", "." * 28 + "OOOO...") if "over" in message else text
    with pytest.raises(UserError, match=message):
        GAME.read_position(text)


def test_a_full_column_takes_no_more_stones():
    full = play("aaaaaa")
    assert GAME.legal_actions(full) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(UserError, match="column 0 is full"):
        GAME.play(full, 0)
    with pytest.raises(UserError, match="a is not a legal move here: legal are b c d e f g"):
        GAME.parse_move(full, "a")
    with pytest.raises(UserError, match="no line of 8 fits on 6x7"):
        ConnectFour(6, 7, 8)
