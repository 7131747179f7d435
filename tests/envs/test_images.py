"""The pictures of all games: their size, what they show, and that they show no more than the player may see."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from src.core.play import arena
from src.core.play.agent import Agent, Decision, RandomAgent
from src.core.play.canvas import CELL, FIRST, GREEN, MAX_SIDE, SECOND, mix, text_image
from src.core.play.game import Game
from src.core.play.game_record import Replay, ReplayedGame
from src.envs.connect_four.game import ConnectFour
from src.envs.deployment.image import heat
from src.envs.deployment.rules.scenario import Hex
from src.envs.game_2048.game import Game2048
from src.envs.minesweeper import image
from src.envs.minesweeper.game import Minesweeper
from src.envs.othello.game import Othello
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
    "connect_four": ConnectFour(4, 5, 3),
    "othello": Othello(4),
    "game_2048": Game2048(size=3, goal=64),
}
START = QUORIDOR.initial(np.random.default_rng(0))


def where(picture: np.ndarray, color: str) -> np.ndarray:
    """Return the pixels (row, column) of exactly this color."""
    return np.argwhere((picture == list(bytes.fromhex(color[1:]))).all(axis=2))


def has(picture: np.ndarray, color: str) -> int:
    return len(where(picture, color))


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


def mines_after(*actions: int, mines: tuple[int, ...] = (1, 7, 20)) -> np.ndarray:
    """Draw the game of Minesweeper with these mines after its first reveal at 0 and these actions."""
    state = MINES.start(0, mines)
    for action in actions:
        state = MINES.play(state, action)
    return MINES.image(state)


def battle_of(array: Any = None, index: Any = 0, value: int = 0, a1: Hex = (2, 5), **others: Hex) -> np.ndarray:
    """Draw a battle of the wargame in which one value was changed."""
    state = battle(WARGAME, 0, a1=a1, b1=(2, 1), **others)
    if array is not None:
        array(state.games)[0, index] = value
    return WARGAME.image(state)


def active_units() -> list[np.ndarray]:
    state = battle(WARGAME, a1=(2, 5), a2=(4, 5), b1=(2, 1))
    before, active = WARGAME.image(state), state.active_unit_id
    WARGAME.play(state, WARGAME.actions.wait_action)
    assert state.active_unit_id != active
    return [before, WARGAME.image(state)]


def quoridor_positions() -> list[np.ndarray]:
    first, second = START.pawns
    changes: list[dict[str, Any]] = [{"pawns": pawns} for pawns in ((first + 1, second), (first, second - 1))]
    changes += [{"left": left} for left in ((2, 3), (3, 2))]
    changes += [{}, {"horizontal": 1 << 5}, {"vertical": 1 << 5}, {"vertical": 1 << 6}, {"ply": 1}]
    return [QUORIDOR.image(START._replace(**change)) for change in changes]


def battles() -> list[np.ndarray]:
    """Units, their health, who holds objectives, score and round."""
    wounded = number(battle(WARGAME, 0, a1=(2, 5), b1=(2, 1)), "b1")
    changes: list[tuple[Callable, Any, int]] = [
        (lambda games: games.units["hp"], wounded, 1),
        *((lambda games: games.control, 0, seat) for seat in (0, 1)),
        (lambda games: games.sides["victory_points"], 1, 7),
        (lambda games: games.games["round"], ..., 3),
    ]
    return [battle_of(), battle_of(a1=(3, 5)), battle_of(b2=(4, 1)), *(battle_of(*change) for change in changes)]


DIFFERENT: dict[str, Callable[[], list[np.ndarray]]] = {
    "stones": lambda: [TICTACTOE.image(state) for state in (".........", "X........", "O........", "XXXOXOXOO")],
    "numbers": lambda: [image.draw(np.array([[count, -1]]), 1, None) for count in range(9)],
    "flags": lambda: [mines_after(), mines_after(24 + 5), mines_after(24 + 5, 24 + 11), mines_after(23)],
    "lost games": lambda: [  # another mine, another one that exploded, a right flag, a wrong flag
        *(mines_after(7), mines_after(7, mines=(1, 7, 23)), mines_after(1)),
        *(mines_after(24 + 20, 7), mines_after(24 + 23, 7)),
    ],
    "quoridor": quoridor_positions,
    "battles": battles,
    "active units": active_units,
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_positions_that_differ_have_different_pictures(name: str):
    pictures = DIFFERENT[name]()
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)


def test_completed_rows_are_marked():
    pictures = [TICTACTOE.image(board) for board in ("XX.OO....", "XXXOO....", "XXXOXOXOO")]
    none, one, two = (has(picture, GREEN) for picture in pictures)
    assert none == 0 < one < two, "one stone can complete two rows"
    assert min(has(pictures[0], color) for color in (FIRST, SECOND)) > 0


@pytest.mark.parametrize("flags", [(), (24 + 20, 24 + 23)])
def test_what_looks_alike_to_the_player_has_equal_pictures(flags: tuple[int, ...]):
    """The first column shows the same numbers wherever the mines of the others are."""
    one, other = (mines_after(*flags, mines=(1, 7, mine)) for mine in (20, 23))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(mines_after(*flags), mines_after(24 + 11, 24 + 11, *flags))  # a flag removed again


def test_the_end_of_minesweeper_is_colored():
    assert has(mines_after(7), SECOND) > 500, "the whole cell of the mine that exploded"
    won = mines_after(mines=(21, 22, 23))  # by the first reveal
    assert has(won, GREEN) > 0
    assert has(won, SECOND) < 500


def test_large_boards_are_scaled_down():
    game = Minesweeper(60, 90, 900)
    assert max(game.image(game.initial(np.random.default_rng(0))).shape) == MAX_SIDE
    tiny = Minesweeper(1, 700, 9)
    assert tiny.image(tiny.start(0, [9])).shape[1] == MAX_SIDE


def test_the_winner_and_the_walls_of_quoridor_are_where_they_belong():
    """a1h runs above a1 and b1, a1v to the right of a1 and a2; rank 1 is at the bottom."""
    plain = QUORIDOR.image(START)
    assert has(plain, GREEN) == 0
    assert has(plain, PLANK) > has(QUORIDOR.image(START._replace(left=(2, 3))), PLANK)
    top, bottom = (where(QUORIDOR.image(START._replace(pawns=pawns)), GREEN) for pawns in ((22, 7), (17, 2)))
    assert top[:, 0].max() < plain.shape[0] / 2 < bottom[:, 0].min(), "player 1 won at the top, player 2 at the bottom"
    for state, tall in ((START._replace(horizontal=1), False), (START._replace(vertical=1), True)):
        changed = np.argwhere((QUORIDOR.image(state) != plain).any(axis=2))
        (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0)
        assert (bottom - top > right - left) == tall
        expected = np.array(plain.shape[:2]) / 2 + np.array([1.5, -1.5]) * PITCH  # from c3 to between a1 and b2
        np.testing.assert_allclose(((top + bottom) / 2, (left + right) / 2), expected, atol=3)


def test_a_held_objective_has_the_color_of_its_holder():
    pictures = [battle_of(lambda games: games.control, 0, seat) for seat in (-1, 0, 1)]
    nobody, first, second = ([has(picture, color) for color in (FIRST, SECOND)] for picture in pictures)
    assert first[0] > nobody[0] == second[0]
    assert second[1] > nobody[1] == first[1]


def test_dead_and_unplaced_units_are_not_drawn():
    assert has(battle_of(b2=(4, 1)), SECOND) > has(battle_of(), SECOND)
    placing = GAMES["deployment"]
    empty = placing.initial(np.random.default_rng(0))
    before = has(placing.image(empty), FIRST)
    for picture in (battle_of(), placing.image(empty)):
        assert picture[:, :8].min() == 255, "the margin, where a unit off the board would be"
    assert has(placing.image(placing.play(empty, placing.legal_actions(empty)[0])), FIRST) > before


class Certain(Agent):
    """Chooses the first action, and reports that all are as probable."""

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        legal = game.legal_actions(view)
        return Decision(legal[0], {"action_probability": np.isin(np.arange(game.num_actions), legal) / len(legal)})


def test_the_hexes_of_a_player_are_the_darker_the_more_often_it_uses_them():
    game = small_game()
    setups = arena.play_setups(game, RandomAgent(), RandomAgent(), range(2, 6), 0, game.is_set_up)
    assert [seat for _, seat in setups] == [0, 1, 0, 1]
    placed = [unit for state, _ in setups for unit in state.units.values()]
    assert all(unit.col >= 0 and not unit.acted for unit in placed), "all are placed, and nothing is played after it"
    again = arena.play_setups(game, RandomAgent(), RandomAgent(), range(4, 6), 0, game.is_set_up)
    assert [state.units for state, _ in again] == [state.units for state, _ in setups[2:]], "each has its own seed"
    certain = arena.play_setups(game, Certain(), Certain(), range(4), 0, game.is_set_up)
    assert certain[0][0].units != certain[2][0].units, "drawn from probabilities, not the same each time"
    places = [battle(game, a1=at, a2=(4, 5), b1=(2, 1), b2=(4, 1), b3=(6, 1)) for at in ((2, 5), (6, 5))]
    picture = game.setup_image([(state, 0) for state in places])
    half = mix(FIRST, CELL, heat(0.5))
    assert has(picture, half) > has(picture, FIRST) > 200, "two hexes in half of the setups, one in all"
    assert has(picture, SECOND) == 0, "what the opponent does is not shown"
    assert has(game.setup_image([(places[0], 1)]), SECOND) > 600


def test_a_game_without_its_own_picture_shows_its_text():
    game = Nim()
    state = game.initial(np.random.default_rng(0))
    picture = game.image(state)
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, text_image(game.render(state)))
    assert game.image(game.play(state, 0)).tobytes() != picture.tobytes()


def test_text_is_monospaced_and_empty_text_is_drawn_too():
    assert text_image("iiii\n....").shape == text_image("MMMM\n####").shape
    assert text_image("").shape[2] == text_image("\n\n").shape[2] == 3


def test_the_line_protocol_shows_the_picture_of_its_game():
    game = ReplayedGame(MINES)
    shown = game.image(game.play(Replay(seed=3), 0))
    np.testing.assert_array_equal(shown, MINES.image(MINES.play(MINES.initial(np.random.default_rng(3)), 0)))


def test_colors_mix():
    assert mix("#ff0000", "#0000ff", 1) == "#ff0000"
    assert mix("#ff0000", "#0000fe", 0.5) == "#80007f"


def test_stones_and_tiles_are_where_the_position_has_them():
    game = ConnectFour(4, 5, 3)
    one = game.play(game.initial(np.random.default_rng(0)), 4)
    stone = where(game.image(one), FIRST)
    height, width, _ = game.image(one).shape
    assert (stone.min(axis=0) > [height / 2, width * 0.75]).all(), "at the bottom of the last column"
    assert has(game.image(game.play(one, 0)), SECOND) == len(stone)
    othello = Othello(4)
    state = othello.initial(np.random.default_rng(0))
    before, after = othello.image(state), othello.image(othello.play(state, othello.legal_actions(state)[0]))
    disc = has(before, FIRST) // 2
    assert (has(after, FIRST), has(after, SECOND)) == (4 * disc, disc)
    small = Game2048(size=3, goal=64)
    board = small.initial(np.random.default_rng(0))
    assert (small.image(board) == small.image(board._replace(seed=1))).all(), "the tiles to come are not shown"
    assert (small.image(board) != small.image(board._replace(score=8))).any()
