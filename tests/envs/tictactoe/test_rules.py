import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.core.errors import UserError
from src.envs.tictactoe import rules
from src.envs.tictactoe.game import TicTacToe
from src.envs.tictactoe.rules import BoardEncoding

GAME = TicTacToe(symmetric=True)
START = GAME.initial(np.random.default_rng(0))


def reachable() -> set[str]:
    seen, open_states = set(), [START]
    while open_states:
        state = open_states.pop()
        if state not in seen:
            seen.add(state)
            open_states += [GAME.play(state, action) for action in GAME.legal_actions(state)]
    return seen


STATES = sorted(reachable())
states = st.sampled_from(STATES)


def test_known_counts():
    assert len(STATES) == 5478
    assert len({GAME.canonical(state).key for state in STATES}) == 765


def test_perft_matches_known_counts():
    assert [GAME.perft(START, depth) for depth in range(10)] == [
        1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872,
    ]  # fmt: skip


@given(states)
def test_canonical_is_the_smallest_image_and_the_same_for_all_of_them(state):
    canonical = GAME.canonical(state)
    images = [rules.apply(moves, state) for moves in rules.TRANSFORMS.values()]
    assert canonical.key == min(images)
    assert {GAME.canonical(image).key for image in images} == {canonical.key}


@given(states, st.integers(0, 8))
def test_moves_map_both_ways(state, action):
    canonical = GAME.canonical(state)
    assert rules.inverse(canonical.moves)[canonical.moves[action]] == action
    if action in GAME.legal_actions(state):
        moved = rules.apply(canonical.moves, GAME.play(state, action))
        assert moved == GAME.play(canonical.key, canonical.moves[action])


@pytest.mark.parametrize(
    ("name", "image_of_corner_0", "image_of_edge_1"),
    [
        ("Identity", 0, 1),
        ("Rot90", 2, 5),
        ("Rot180", 8, 7),
        ("Rot270", 6, 3),
        ("FlipVertical", 6, 7),
        ("FlipHorizontal", 2, 1),
        ("FlipMainDiagonal", 0, 3),
        ("FlipAntiDiagonal", 8, 5),
    ],
)
def test_symmetries_do_what_their_names_say(name, image_of_corner_0, image_of_edge_1):
    moves = rules.TRANSFORMS[name]
    assert (moves[0], moves[1]) == (image_of_corner_0, image_of_edge_1)


def test_without_symmetry_a_position_stands_for_itself():
    plain = TicTacToe(symmetric=False)
    assert plain.canonical("..X......").key == "..X......"
    assert plain.canonical("..X......").moves == tuple(range(9))


@given(states)
def test_an_illegal_move_is_refused(state):
    for action in set(range(-1, 11)) - set(GAME.legal_actions(state)):
        with pytest.raises(UserError, match="not a legal move"):
            GAME.play(state, action)


def test_a_won_game_is_over_even_with_empty_cells():
    assert GAME.outcome("XXXOO....") == 1
    assert GAME.outcome("XX.OOOX..") == -1
    assert GAME.legal_actions("XXXOO....") == []
    assert GAME.outcome("XOXXOOOXX") == 0


def test_board_encoding():
    board = ["X", "", "", "", "O", "", "", "", ""]
    assert BoardEncoding.to_state_key(board) == "X...O...."
    assert BoardEncoding.get_legal_moves(board) == [1, 2, 3, 5, 6, 7, 8]
    assert BoardEncoding.get_legal_moves(list("XXXOO") + [""] * 4) == []


@pytest.mark.parametrize("board", [["X"] * 8, ["Z", *[""] * 8], ["O", *[""] * 8], ["X", "X", *[""] * 7]])
def test_impossible_boards_are_refused(board):
    with pytest.raises(UserError):
        BoardEncoding.to_state_key(board)


def test_observation_is_seen_by_the_player_to_move():
    planes = GAME.observe("X...O...X")  # O to move
    assert planes.shape == (2, 3, 3)
    assert planes[0].ravel().nonzero()[0].tolist() == [4]
    assert planes[1].ravel().nonzero()[0].tolist() == [0, 8]
