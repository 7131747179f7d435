"""The pictures of all games: their size, what they show, and that they show no more than the player may see."""

from typing import Any

import numpy as np
import pytest

from src.core.play.canvas import FIRST, GREEN, MAX_SIDE, SECOND, mix, text_image
from src.core.play.game import Game
from src.core.play.game_record import Replay, ReplayedGame
from src.envs.deployment.rules.scenario import Hex
from src.envs.minesweeper import image
from src.envs.minesweeper.game import Minesweeper
from src.envs.quoridor.image import PITCH, PLANK
from src.envs.tictactoe.game import TicTacToe
from tests.envs.deployment.making import battle, number, small_game
from tests.envs.quoridor.making import make_game
from tests.web.small_games import Nim

TICTACTOE = TicTacToe(symmetric=True)
QUORIDOR = make_game(5, 3)
MINES = Minesweeper(4, 6, 3, safe_neighborhood=False)
WARGAME = small_game(deployment_type="fixed")
GAMES: dict[str, Game] = {
    "tictactoe": TICTACTOE,
    "minesweeper": MINES,
    "quoridor": QUORIDOR,
    "deployment": small_game(on_deadlock="truncate"),
}


def has(picture: np.ndarray, color: str) -> int:
    """Count the pixels of exactly this color."""
    return int((picture == list(bytes.fromhex(color[1:]))).all(axis=2).sum())


@pytest.mark.parametrize("name", GAMES)
def test_the_size_of_a_picture_is_the_same_in_a_whole_game(name: str):
    game, rng = GAMES[name], np.random.default_rng(0)
    state = game.initial(rng)
    shape = game.image(state).shape
    assert min(shape[:2]) >= 100
    assert max(shape[:2]) <= MAX_SIDE
    while True:
        picture = game.image(state)
        assert picture.dtype == np.uint8
        assert picture.shape == (*shape[:2], 3)
        np.testing.assert_array_equal(game.image(state), picture)  # drawing changes nothing
        if game.outcome(state) is not None:
            return
        state = game.play(state, int(rng.choice(game.random_actions(game.view(state)))))


# Tic-tac-toe


def test_stones_and_completed_rows_are_drawn():
    boards = [".........", "X........", "O........", "XX.OO....", "XXXOO....", "XXXOXOXOO"]
    pictures = [TICTACTOE.image(board) for board in boards]
    assert len({picture.tobytes() for picture in pictures}) == len(boards)
    assert [bool(has(picture, FIRST)) for picture in pictures] == [False, True, False, True, True, True]
    assert [bool(has(picture, SECOND)) for picture in pictures] == [False, False, True, True, True, True]
    rows, two_rows = has(pictures[4], GREEN), has(pictures[5], GREEN)
    assert [has(picture, GREEN) for picture in pictures[:4]] == [0] * 4
    assert 0 < rows < two_rows, "one stone can complete two rows"


# Minesweeper


def test_numbers_and_flags_are_drawn():
    state = MINES.start(0, [5, 11, 17])  # in the last column
    pictures = [MINES.image(state)]
    for action in (24 + 5, 24 + 11, 24 + 11, 23):  # a flag, another, which is removed again, and a number
        state = MINES.play(state, action)
        pictures.append(MINES.image(state))
    np.testing.assert_array_equal(pictures[1], pictures[3])
    assert len({picture.tobytes() for picture in pictures}) == 4


def test_every_number_has_its_own_picture_and_color():
    pictures = [image.draw(np.array([[count, -1]]), 1, None) for count in range(9)]
    assert len({picture.tobytes() for picture in pictures}) == 9
    for count, color in enumerate(image.NUMBERS, 1):
        assert has(pictures[count], color) > has(pictures[0], color), count


@pytest.mark.parametrize("flags", [(), (20, 23)])
def test_positions_that_look_alike_to_the_player_have_equal_pictures(flags: tuple[int, ...]):
    """The first column shows the same numbers wherever the mines of the others are."""
    states = [MINES.start(0, [1, 7, 20]), MINES.start(0, [1, 7, 23])]
    for k, flag in [(k, flag) for k in range(2) for flag in flags]:
        states[k] = MINES.play(states[k], 24 + flag)
    views = [MINES.view(state) for state in states]
    np.testing.assert_array_equal(views[0].visible, views[1].visible)
    pictures = [MINES.image(state) for state in states]
    np.testing.assert_array_equal(pictures[0], pictures[1])


def test_mines_are_shown_once_the_game_is_over():
    mines = [1, 7, 20]
    lost = MINES.image(MINES.play(MINES.start(0, mines), 7))
    others = [
        MINES.image(MINES.play(MINES.start(0, [1, 7, 23]), 7)),  # another mine
        MINES.image(MINES.play(MINES.start(0, mines), 1)),  # another one explodes
        MINES.image(MINES.play(MINES.play(MINES.start(0, mines), 24 + 20), 7)),  # a flag on a mine
        MINES.image(MINES.play(MINES.play(MINES.start(0, mines), 24 + 23), 7)),  # a wrong flag
    ]
    assert len({picture.tobytes() for picture in (lost, *others)}) == 5
    assert has(lost, SECOND) > 500, "a whole tile"
    won = MINES.start(0, [21, 22, 23])
    for cell in np.flatnonzero(won.boards.number[0] < 9):
        won = won if MINES.outcome(won) is not None else MINES.play(won, int(cell))
    assert MINES.outcome(won) == 1
    assert has(MINES.image(won), GREEN) > 0
    assert has(MINES.image(won), SECOND) < 500


def test_large_boards_are_scaled_down():
    game = Minesweeper(60, 90, 900)
    picture = game.image(game.initial(np.random.default_rng(0)))
    assert max(picture.shape) == MAX_SIDE
    tiny = Minesweeper(1, 700, 9)
    assert tiny.image(tiny.start(0, [9])).shape[1] == MAX_SIDE


# Quoridor


START = QUORIDOR.initial(np.random.default_rng(0))


def test_pawns_walls_and_walls_in_hand_are_drawn():
    first, second = START.pawns
    changes: list[dict[str, Any]] = [
        {},
        *({"pawns": pawns} for pawns in ((first + 1, second), (first, second - 1))),
        *({"left": left} for left in ((2, 3), (3, 2))),
        {"horizontal": 1 << 5},
        *({"vertical": 1 << wall} for wall in (5, 6)),
        {"ply": 1},
    ]
    pictures = [QUORIDOR.image(START._replace(**change)) for change in changes]
    assert len({picture.tobytes() for picture in pictures}) == len(changes)
    assert has(pictures[5], PLANK) > has(pictures[0], PLANK) > has(pictures[3], PLANK)


def test_the_winner_is_marked():
    won = [START._replace(pawns=(22, 7)), START._replace(pawns=(17, 2))]
    assert [QUORIDOR.outcome(state) for state in won] == [1, -1]
    top, bottom = (np.argwhere((QUORIDOR.image(state) == list(bytes.fromhex(GREEN[1:]))).all(axis=2)) for state in won)
    plain = QUORIDOR.image(START)
    assert has(plain, GREEN) == 0
    assert top[:, 0].max() < plain.shape[0] / 2 < bottom[:, 0].min(), "player 1 won at the top, player 2 at the bottom"


def test_walls_are_where_their_names_say():
    """a1h runs above a1 and b1, a1v to the right of a1 and a2; rank 1 is at the bottom."""
    plain = QUORIDOR.image(START)
    for state, tall in ((START._replace(horizontal=1), False), (START._replace(vertical=1), True)):
        changed = np.argwhere((QUORIDOR.image(state) != plain).any(axis=2))
        (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0)
        assert (bottom - top > right - left) == tall
        expected = np.array(plain.shape[:2]) / 2 + np.array([1.5, -1.5]) * PITCH  # from c3 to between a1 and b2
        np.testing.assert_allclose(((top + bottom) / 2, (left + right) / 2), expected, atol=3)


# The wargame


def test_units_health_holders_score_and_round_are_drawn():
    def picture(array: Any = None, index: Any = 0, value: int = 0, a1: Hex = (2, 5), **others: Hex) -> bytes:
        state = battle(WARGAME, 0, a1=a1, b1=(2, 1), **others)
        if array is not None:
            array(state.games)[0, index] = value
        return WARGAME.image(state).tobytes()

    wounded = number(battle(WARGAME, 0, a1=(2, 5), b1=(2, 1)), "b1")
    pictures = [
        picture(),
        picture(a1=(3, 5)),
        picture(b2=(4, 1)),
        picture(lambda games: games.units["hp"], wounded, 1),
        *(picture(lambda games: games.control, 0, seat) for seat in (0, 1)),
        picture(lambda games: games.sides["victory_points"], 1, 7),
        picture(lambda games: games.games["round"], ..., 3),
    ]
    assert len(set(pictures)) == len(pictures)


def test_a_held_objective_has_the_color_of_its_holder():
    state = battle(WARGAME, 0, a1=(2, 5), b1=(2, 1))
    colors = []
    for seat in (-1, 0, 1):
        state.games.control[0, 0] = seat
        colors.append([has(WARGAME.image(state), color) for color in (FIRST, SECOND)])
    nobody, first, second = colors
    assert first[0] > nobody[0] == second[0]
    assert second[1] > nobody[1] == first[1]


def test_dead_and_unplaced_units_are_not_drawn():
    state = battle(WARGAME, a1=(2, 5), b1=(2, 1), b2=(4, 1))
    dead = battle(WARGAME, a1=(2, 5), b1=(2, 1))
    assert has(WARGAME.image(state), SECOND) > has(WARGAME.image(dead), SECOND)
    placing = GAMES["deployment"]
    empty = placing.initial(np.random.default_rng(0))
    before = has(placing.image(empty), FIRST)
    for picture in (WARGAME.image(dead), placing.image(empty)):
        assert picture[:, :8].min() == 255, "the margin, where a unit off the board would be"
    placed = placing.play(empty, placing.legal_actions(empty)[0])
    assert has(placing.image(placed), FIRST) > before


def test_the_active_unit_is_marked():
    state = battle(WARGAME, a1=(2, 5), a2=(4, 5), b1=(2, 1))
    before, active = WARGAME.image(state), state.active_unit_id
    WARGAME.play(state, WARGAME.actions.wait_action)
    assert state.active_unit_id != active
    assert WARGAME.image(state).tobytes() != before.tobytes()


# Games without their own picture


def test_a_game_without_its_own_picture_shows_its_text():
    game = Nim()
    state = game.initial(np.random.default_rng(0))
    picture = game.image(state)
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    np.testing.assert_array_equal(picture, text_image(game.render(state)))
    assert game.image(game.play(state, 0)).tobytes() != picture.tobytes()


def test_text_is_monospaced_and_empty_text_is_drawn_too():
    assert text_image("iiii\n....").shape == text_image("MMMM\n####").shape
    assert text_image("").shape[2] == text_image("\n\n").shape[2] == 3


def test_the_line_protocol_shows_the_picture_of_its_game():
    game = ReplayedGame(MINES)
    state = Replay(seed=3)
    shown = game.image(game.play(state, 0))
    np.testing.assert_array_equal(shown, MINES.image(MINES.play(MINES.initial(np.random.default_rng(3)), 0)))


def test_colors_mix():
    assert mix("#ff0000", "#0000ff", 1) == "#ff0000"
    assert mix("#ff0000", "#0000fe", 0.5) == "#80007f"
