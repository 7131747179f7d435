"""Batches of positions: the Python one follows the rules of its game, the compiled one is the same."""

import numpy as np
import pytest

from src.core.play.game import GamePositions, TwoPlayerGame
from src.core.play.search_interface import PositionBatch, board_symmetries
from src.envs.quoridor.positions import QuoridorPositions
from src.envs.tictactoe.game import TicTacToe
from tests.envs.quoridor.making import make_game
from tests.marks import mostly_slow

DESCRIBED = ("masks", "seats", "ended", "outcomes", "solved")
START = "." * 9


def drawn(rng: np.random.Generator, masks: np.ndarray, cells: int) -> np.ndarray:
    """Sample pawn moves and walls equally often, so that games end."""
    weights = np.where(np.arange(masks.shape[1]) < cells, 5.0, 1.0)
    return (rng.random(masks.shape) * weights * masks).argmax(axis=1)


def test_positions_in_python_are_those_of_the_game():
    positions = GamePositions(TicTacToe(symmetric=True), 2, 3)
    positions.set_roots([0, 1], [START, "XX.OO...."])
    assert positions.masks.tolist() == [[True] * 9, [cell == "." for cell in "XX.OO...."]]
    assert positions.seats.tolist() == [0, 0]
    positions.expand(np.array([0, 0]), np.array([4, 2]), 1)
    assert positions.seats.tolist() == [1, 1]
    assert positions.ended.tolist() == [False, True]
    assert positions.outcomes.tolist() == [0, 1]
    assert not positions.masks[1].any()
    positions.expand(np.array([1, -1]), np.array([0, 0]), 2)
    assert positions.observations[0].tolist() == TicTacToe(symmetric=True).observe("O...X....").tolist()
    assert positions.outcomes.tolist() == [0, 1], "nothing happens in a tree without a parent"
    assert positions.roots() == [START, "XX.OO...."], "the roots stay"
    positions.play(np.array([8, 8]))
    assert positions.roots() == ["........X", "XX.OO...X"]


def assert_same(one: PositionBatch, other: PositionBatch) -> None:
    for name in DESCRIBED:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    going = ~one.ended
    np.testing.assert_array_equal(one.observations[going], other.observations[going])


@pytest.mark.parametrize(
    ("size", "maps"), mostly_slow([(5, True), (9, True), (3, False), (4, True), (9, False)], fast=2)
)
def test_the_compiled_batch_is_the_same_as_that_in_python(size: int, maps: bool):
    game = make_game(size, walls=size // 2, ply_limit=30, distance_maps=maps)
    rng, count, nodes = np.random.default_rng(size), 9, 12
    compiled, plain = game.positions(count, nodes), GamePositions(game, count, nodes)
    assert isinstance(compiled, QuoridorPositions)
    start, finished, solved = game.initial(rng), 0, 0
    starts = [start, *[start._replace(pawns=(0, game.cells - 1), left=(1, 0))] * (count - 1)]  # some races are decided
    for batch in (compiled, plain):
        batch.set_roots(range(count), starts)
    for _ in range(45):
        assert_same(compiled, plain)
        grow(rng, game.cells, compiled, plain, nodes)
        roots = compiled.roots()
        assert roots == plain.roots(), "a search leaves the roots as they were"
        for batch in (compiled, plain):
            batch.set_roots(range(count), roots)
        actions = drawn(rng, plain.masks, game.cells)
        compiled.play(actions)
        plain.play(actions)
        over = np.flatnonzero(plain.ended).tolist()
        finished += len(over)
        solved += int((plain.solved != 0).sum())
        for batch in (compiled, plain):
            batch.set_roots(over, [starts[row] for row in over])
    assert finished > 5
    assert solved > 5


def grow(rng: np.random.Generator, cells: int, compiled: PositionBatch, plain: GamePositions, nodes: int) -> None:
    """Expand random nodes of all trees in both batches."""
    masks, ended = [plain.masks.copy()], [plain.ended.copy()]
    rows = np.arange(len(plain.masks))
    for node in range(1, nodes):
        parents = rng.integers(node, size=len(rows))
        parents[np.array(ended)[parents, rows]] = -1
        actions = drawn(rng, np.array(masks)[parents, rows], cells)
        compiled.expand(parents, actions, node)
        plain.expand(parents, actions, node)
        assert_same(compiled, plain)
        masks.append(plain.masks.copy())
        ended.append(plain.ended | (parents < 0))


@pytest.mark.parametrize(
    "game",
    [TicTacToe(symmetric=True), make_game(5, walls=4, ply_limit=60, distance_maps=True), make_game(3, walls=2)],
    ids=["tictactoe", "quoridor", "without maps"],
)
def test_the_image_of_a_game_under_a_symmetry_is_a_game(game: TwoPlayerGame):
    """Play random games and their images side by side."""
    symmetries, rng = game.symmetries(), np.random.default_rng(1)
    assert (symmetries[0].observation == np.arange(symmetries[0].observation.size)).all(), "the identity is first"
    assert (symmetries[0].actions == np.arange(game.num_actions)).all()
    for symmetry in symmetries:
        assert sorted(symmetry.actions) == list(range(game.num_actions))
        for _ in range(5):
            state, image = game.initial(rng), game.initial(rng)
            while game.outcome(state) is None:
                observation = game.observe(state)
                np.testing.assert_array_equal(game.observe(image).ravel(), observation.ravel()[symmetry.observation])
                legal = np.zeros(game.num_actions, bool)
                legal[game.legal_actions(state)] = True
                assert np.flatnonzero(legal[symmetry.actions]).tolist() == game.legal_actions(image)
                action = int(drawn(rng, legal[None], 25)[0])
                state = game.play(state, action)
                image = game.play(image, int(np.flatnonzero(symmetry.actions == action)[0]))
            assert game.outcome(image) == game.outcome(state)


def test_the_symmetries_of_boards():
    assert len(TicTacToe(symmetric=True).symmetries()) == 8
    assert len(make_game(5).symmetries()) == 2
    assert len(board_symmetries((2, 4, 3), 12)) == 4, "no rotation by 90 degrees"
    with_pass = board_symmetries((1, 2, 2), 9)
    assert with_pass[1].actions.tolist() == [2, 3, 0, 1, 6, 7, 4, 5, 8], "two kinds for each cell, and a pass"
    quarter = board_symmetries((1, 2, 2), 4)[4]
    assert quarter.actions.tolist() == [0, 2, 1, 3]
