import pytest
from hypothesis import given, settings

from src.core.errors import UserError
from src.core.play.game_record import read_game, write_game
from tests.envs.quoridor.making import GAME, START, positions


def test_both_players_name_moves_as_they_lie_on_the_board():
    state = GAME.play(START, GAME.parse_move(START, "e2"))
    action = GAME.parse_move(state, "e8")
    assert action == GAME.parse_move(START, "e2"), "a step forward is the same action for both"
    assert GAME.move_name(state, action) == "e8"
    wall = GAME.parse_move(state, "a1h")
    assert wall == GAME.parse_move(START, "h8h")


@settings(max_examples=100, deadline=None)
@given(positions())
def test_positions_and_moves_are_read_back(drawn):
    game, state = drawn
    assert game.read_position(game.write_position(state)) == state
    for action in game.legal_actions(state):
        assert game.parse_move(state, game.move_name(state, action)) == action


@pytest.mark.parametrize("text", ["", "e", "e0", "j1", "e10", "e3x", "e9h", "i3v", "E2", "e2 ", "e5", "e1"])
def test_what_is_no_move_is_refused(text):
    with pytest.raises(UserError):
        GAME.parse_move(START, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("e1 e9 10 10 0", "5 words"),
        ("e1 e9 10 10 0 - -", "7 words"),
        ("e1 e1 10 10 0 -", "one cell"),
        ("e1h e9 10 10 0 -", "not cells"),
        ("e1 e9 11 10 0 -", "begins with 10"),
        ("e1 e9 -1 10 0 -", "whole number"),
        ("e1 e9 10 \u00b2 0 -", "whole number"),
        ("e1 e9 10 10 201 -", "ends after 200"),
        ("e1 e9 8 8 0 e3", "no wall"),
        ("e1 e9 8 8 0 e3h,e3v", "overlaps or crosses"),
        ("e1 e9 8 8 0 e3h,f3h", "overlaps or crosses"),
        ("e1 e9 8 8 0 e3h,", "not a move"),
        ("e1 e9 10 10 0 e3h", "21 walls on the board and in hand: there are 20"),
        ("e1 a9 8 8 0 a8h,b8v", "cut a pawn off"),
        ("e9 a5 10 10 0 -", "on its goal already"),
        ("e9 a1 10 10 1 -", "on its goal already"),
    ],
)
def test_positions_that_cannot_be_are_refused(text, message):
    with pytest.raises(UserError, match=message):
        GAME.read_position(text)


def test_a_finished_position_can_be_read():
    assert GAME.outcome(GAME.read_position("e9 a5 10 10 1 -")) == 1
    assert GAME.outcome(GAME.read_position("e5 a1 10 10 2 -")) == -1


def test_a_game_is_saved_and_read_back():
    state, actions = START, []
    for name in ("e2", "e8", "e2h", "d8", "f2"):
        actions.append(GAME.parse_move(state, name))
        state = GAME.play(state, actions[-1])
    text = write_game(GAME, START, actions)
    assert text == "start e1 e9 10 10 0 -\nmoves e2 e8 e2h d8 f2\nresult *\n"
    assert read_game(GAME, text) == (START, actions)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the lines start, moves and result"),
        ("start e1 e9 10 10 0 -\nmoves e2\n", "the lines start, moves and result"),
        ("start e1 e9 10 10 0 -\nmoves e2 e3\nresult *\n", "move 2 of the game record: e3 is not legal"),
        ("start e1 e9 10 10 0 -\nmoves e2\nresult 1-0\n", r"result 1-0, but its moves give \*"),
        ("start e8 a5 10 10 0 -\nmoves e9\nresult *\n", "its moves give 1-0"),
    ],
)
def test_games_that_cannot_be_are_refused(text, message):
    with pytest.raises(UserError, match=message):
        read_game(GAME, text)
