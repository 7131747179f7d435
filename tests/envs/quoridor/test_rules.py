from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.core.errors import UserError
from src.envs.quoridor import rules
from src.envs.quoridor.rules import distance, distance_map
from tests.envs.quoridor.making import GAME, START, make_game, positions, turned
from tests.envs.quoridor.slow import SlowQuoridor


def legal_names(game, state) -> set[str]:
    return {game.move_name(state, action) for action in game.legal_actions(state)}


def pawn_moves(text: str, game=GAME) -> str:
    state = game.read_position(text)
    return " ".join(sorted(name for name in legal_names(game, state) if len(name) == 2))


def test_perft_matches_known_counts():
    assert [GAME.perft(START, depth) for depth in range(5)] == [1, 131, 16677, 2062264, 247569030]


@pytest.mark.parametrize(
    ("position", "targets"),
    [
        ("e1 e9 10 10 0 -", "d1 e2 f1"),
        ("e5 a9 10 10 0 -", "d5 e4 e6 f5"),
        ("e5 a9 8 8 0 e5h,d4v", "e4 f5"),
        ("e5 e6 10 10 0 -", "d5 e4 e7 f5"),  # over the other pawn
        ("e5 e6 10 10 1 -", "d6 e4 e7 f6"),
        ("e5 e6 8 8 0 e6h", "d5 d6 e4 f5 f6"),  # a wall behind it: to either side
        ("e5 e6 8 8 0 e6h,d6v", "d5 e4 f5 f6"),  # one of them walled off
        ("e5 e6 8 8 0 e5h", "d5 e4 f5"),  # a wall between them: no jump at all
        ("e5 f5 8 8 0 f5v", "d5 e4 e6 f4 f6"),  # sideways, with a wall behind
        ("h5 i5 10 10 0 -", "g5 h4 h6 i4 i6"),  # the edge counts as a wall behind
        ("d4 d5 8 8 0 c5h", "c4 c5 d3 e4 e5"),
    ],
)
def test_steps_and_jumps(position, targets):
    assert pawn_moves(position) == targets


def test_the_last_gap_stays_open():
    row = "a4h,c4h,e4h,g4h"  # closes rank 4 from a to h: i4 to i5 is the only way up and down
    assert {"h3h", "h3v", "h4v", "h5h", "h5v", "h8v"} <= legal_names(GAME, GAME.read_position(f"e1 e9 6 10 1 {row}"))
    corridor = GAME.read_position(f"e1 e9 6 8 1 {row},h4v,h6v")  # from i4 up to i7
    assert not {"h3h", "h5h", "h7h", "h8v"} & legal_names(GAME, corridor), "each would close it at one end or inside"
    assert {"h1h", "h2v", "h8h"} <= legal_names(GAME, corridor)
    with pytest.raises(UserError, match="h5h is not legal"):
        GAME.parse_move(corridor, "h5h")


def test_no_walls_in_hand_no_walls_to_place():
    assert legal_names(GAME, GAME.read_position("e1 e9 0 10 0 -")) == {"d1", "e2", "f1"}
    assert len(legal_names(GAME, GAME.read_position("e1 e9 0 10 1 -"))) == 131


@settings(max_examples=60, deadline=None)
@given(positions())
def test_legal_moves_are_those_of_the_slow_rules(drawn):
    """This includes that no legal wall leaves a pawn without a path."""
    game, state = drawn
    assert legal_names(game, state) == SlowQuoridor(game.size, state).legal_names()


@settings(max_examples=60, deadline=None)
@given(positions())
def test_shortest_paths_are_those_of_the_slow_rules(drawn):
    game, state = drawn
    walls = [action for action in game.legal_actions(state) if action >= game.cells]
    for after in [state, *(game.play(state, action) for action in walls[::9])]:
        slow, steps = SlowQuoridor(game.size, after), np.zeros(game.cells, np.int64)
        for player in (0, 1):
            path, board = game.shortest_path(after, player), game.board_of(after)
            distance_map(board, player, steps)
            assert distance(board, player) == steps[path[0]] == len(path) - 1 == slow.distance(player)
            assert path[0] == after.pawns[player]
            assert path[-1] // game.size == (game.size - 1 if player == 0 else 0)
            for cell, following in pairwise((cell % game.size, cell // game.size) for cell in path):
                assert following in slow.steps(cell)


@settings(max_examples=60, deadline=None)
@given(positions())
def test_unmake_takes_back_what_make_did(drawn):
    game, state = drawn
    board, out = rules.new_board(game.size, game.ply_limit), np.zeros(256, np.int64)
    rules.set_up(board, np.uint64(state.horizontal), np.uint64(state.vertical), state.pawns, state.left, state.ply)
    fields = [name for name in rules.BOARD.names or () if name not in ("reached", "other_reached")]
    count = rules.list_legal(board, out)
    before = {name: np.array(board[name]) for name in fields}
    for move in out[:count].copy():
        origin = rules.make(board, move)
        after = game.play(state, game.turned(state, int(move)))
        assert (int(board["horizontal"]), int(board["vertical"])) == (after.horizontal, after.vertical)
        assert tuple(board["pawn"]) == after.pawns
        fresh = game.board_of(after)
        for name in fields:
            assert np.array_equal(board[name], fresh[name]), name
        rules.unmake(board, move, origin)
        for name in fields:
            assert np.array_equal(board[name], before[name]), name


@settings(max_examples=60, deadline=None)
@given(positions())
def test_the_board_turned_round_has_the_same_actions(drawn):
    game, state = drawn
    other = turned(game, state)
    assert game.legal_actions(state) == game.legal_actions(other)
    assert game.candidates(state, True) == game.candidates(other, True)
    assert game.candidates(state, False) == game.candidates(other, False)
    assert game.factors(state) == game.factors(other)
    assert np.array_equal(game.observe(state), game.observe(other))


@settings(max_examples=30, deadline=None)
@given(positions(sizes=(3, 5, 9)), st.integers(-5, 300))
def test_an_illegal_action_is_refused(drawn, action):
    game, state = drawn
    if action in game.legal_actions(state):
        assert game.play(state, action).ply == state.ply + 1
    else:
        with pytest.raises(UserError, match="is not legal in"):
            game.play(state, action)


def test_the_end():
    game = make_game(ply_limit=10)
    last = game.read_position("e8 a9 10 10 9 -")  # player 2 to move on the last ply
    drawn = game.play(last, game.parse_move(last, "a8"))
    assert game.outcome(drawn) == 0
    assert game.legal_actions(drawn) == []
    assert game.perft(drawn, 1) == 0
    win = game.read_position("e8 a9 10 10 8 -")
    assert game.outcome(game.play(win, game.parse_move(win, "e9"))) == 1
    goal = game.read_position("e5 a2 10 10 9 -")
    won = game.play(goal, game.parse_move(goal, "a1"))
    assert game.outcome(won) == -1, "a goal reached on the last ply wins"
    assert game.legal_actions(won) == []
    assert game.perft(won, 1) == 0


@pytest.mark.parametrize(("size", "start"), [(9, "e1 e9"), (3, "b1 b3"), (4, "c1 b4"), (8, "e1 d8")])
def test_other_boards(size, start):
    game = make_game(size, walls=2)
    assert game.write_position(game.initial(np.random.default_rng(0))) == f"{start} 2 2 0 -"
    assert game.num_actions == size**2 + 2 * (size - 1) ** 2


@pytest.mark.parametrize("wrong", [{"size": 2}, {"size": 10}, {"walls": -1}, {"walls": 100}, {"ply_limit": 0}])
def test_impossible_games_are_refused(wrong):
    with pytest.raises(UserError, match="must be a whole number in"):
        make_game(**wrong)


@settings(max_examples=40, deadline=None)
@given(positions())
def test_planes_are_those_of_the_slow_rules(drawn):
    game, state = drawn
    size, me, slow = game.size, state.ply % 2, SlowQuoridor(game.size, state)
    planes = np.zeros((8, size, size))
    for k, player in enumerate((me, 1 - me)):
        planes[k][slow.pawns[player][::-1]] = 1
        planes[4 + k] = state.left[player] / game.walls
        for row, col in np.ndindex(size, size):
            steps = slow.distance(player, (col, row))
            planes[6 + k, row, col] = 1 if steps is None else min(steps / (2 * size), 1)
    for col, row, kind in slow.walls:
        planes[2 + "hv".index(kind), row, col] = 1
    if me == 1:
        planes = planes[:, ::-1, ::-1]
        planes[2:4] = np.roll(planes[2:4], (-1, -1), (1, 2))  # marked at the lower-left cell as this player sees it
    seen = make_game(size, game.walls, distance_maps=True).observe(state)
    np.testing.assert_array_equal(seen, planes.astype(np.float32))
    np.testing.assert_array_equal(game.observe(state), seen[:6])
