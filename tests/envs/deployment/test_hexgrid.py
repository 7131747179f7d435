"""Coordinates, distances, lines of sight, and symmetric maps."""

import numpy as np
import pytest

from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules import hexgrid
from tests.envs.deployment import geometry, oracle
from tests.envs.deployment.making import COVER_MAP, begin, conf, full_game, small_game


def test_distances_between_two_lists_of_hexes():
    ones, others = [(0, 0), (3, 5), (98, 98)], [(1, 4), (0, 98)]
    table = hexgrid.distances_between(ones, others)
    assert table.tolist() == [[hexgrid.distance(one, other) for other in others] for one in ones]


def test_neighbors_on_a_board_are_open_and_in_bounds():
    game = small_game()
    for cell, near in enumerate(game.world.near):
        col, row = cell % 9, cell // 9
        around = [one for one in hexgrid.neighbors(col, row) if game.scenario.board.is_open(one)]
        expected = {r * 9 + c for c, r in around} if game.scenario.board.is_open((col, row)) else set()
        assert {int(n) for n in near if n >= 0} == expected


def test_the_geometry_of_the_plane_gives_the_same_hexes():
    """Distances, neighbors and the turned board, by centers in the plane."""
    cells = hexgrid.cells_of(9, 7)
    table = hexgrid.distances(9, 7)
    for a, one in enumerate(cells):
        assert sorted(geometry.neighbors(one)) == sorted(hexgrid.neighbors(*one))
        assert geometry.turned(one, 9, 7) == hexgrid.turned(*one, 9, 7)
        assert [geometry.distance(one, other) for other in cells] == table[a].tolist()
        assert [hexgrid.distance(one, other) for other in cells] == table[a].tolist()


def covered_game() -> DeploymentGame:
    return small_game(board={"map": COVER_MAP})


@pytest.mark.parametrize("make", [small_game, covered_game, full_game])
def test_sight_is_a_line_free_of_walls_and_cover(make):
    game = make()
    state, rng = begin(game), np.random.default_rng(0)
    cells = hexgrid.cells_of(game.scenario.board.cols, game.scenario.board.rows)
    blocked = 0
    for a, b in rng.integers(len(cells), size=(2000, 2)):
        expected = oracle.sees(state, cells[a], cells[b])
        assert game.world.sight[a, b] == expected
        blocked += not expected
    assert 50 < blocked < 1950


@pytest.mark.parametrize("make", [small_game, covered_game, full_game])
def test_the_board_is_the_same_from_both_sides(make):
    """Turned by 180 degrees: walls, objectives, distances, neighbors and sight."""
    game = make()
    world = game.world
    turned = world.seen["turned"][1]
    inside = np.flatnonzero(world.cells["is_open"])
    assert set(turned[inside]) == set(inside), "walls lie opposite walls, free hexes opposite free ones"
    assert (turned[turned] == np.arange(turned.size)).all()
    assert ((world.cells["objective"] >= 0) == (world.cells["objective"][turned] >= 0))[inside].all()
    pairs = np.ix_(inside, inside)
    images = np.ix_(turned[inside], turned[inside])
    assert (world.distance[pairs] == world.distance[images]).all()
    assert (world.sight[pairs] == world.sight[images]).all()
    assert (world.sight == world.sight.T).all()


@pytest.mark.parametrize("zones", ["trench", "redoubt", "corners", "pincer"])
def test_zones_are_fair_to_the_hex(zones: str):
    first, second = full_game(zones=zones).scenario.pools
    assert {hexgrid.turned(*one, 25, 21) for one in first} == set(second)
    assert not set(first) & set(second)


def test_hammer_is_the_zone_it_is_said_to_be():
    """Odd columns give player 2 one row more."""
    first, second = full_game(zones="hammer").scenario.pools
    assert {row for _, row in first} == set(range(13, 21))
    assert {row for _, row in second} == set(range(8))
    assert len(second) - len(first) == 12


def test_the_map_is_as_described():
    board = full_game().scenario.board
    assert (board.cols, board.rows) == (25, 21)
    assert len(board.walls) == 70
    assert not board.cover
    assert board.objectives == ((2, 10), (12, 1), (12, 10), (12, 19), (22, 10))
    assert board.forbidden == {(col, 20) for col in range(1, 25, 2)}
    assert all(len(board.objective_hexes(center)) == 7 for center in board.objectives)
    woods = full_game(board=conf("board/woods")).scenario.board
    assert (woods.walls, woods.objectives, len(woods.cover)) == (board.walls, board.objectives, 72)


def test_mirrored_rosters_stand_opposite_each_other():
    scenario = full_game("classic_mirror").scenario
    for one, other in zip(*scenario.rosters, strict=True):
        assert hexgrid.turned(*one.position, 25, 21) == other.position
        assert one.profile == other.profile
