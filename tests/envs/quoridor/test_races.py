"""Races without walls in hand, compared with the exact result of every position by retrograde analysis."""

from collections import defaultdict, deque
from itertools import product

import numpy as np
import pytest

from src.core.play.search_interface import DECIDED, WIN
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.rules import Position, distance
from tests.envs.quoridor.making import GAME, GAMES, random_position
from tests.envs.quoridor.test_master import make_search


def exact_results(game: Quoridor, walls: Position) -> dict[Position, int]:
    """Return the plies to the end of every race on a board, by perfect play: negative if the player to move loses.

    A race that nobody can win has no result.
    """
    empty = walls._replace(left=(0, 0), ply=0)
    with_path = [
        [cell for cell in range(game.cells) if distance(game.board_of(empty._replace(pawns=(cell, cell))), player) >= 0]
        for player in range(2)
    ]
    pairs = [(one, other) for one, other in product(*with_path) if one != other]
    races = [empty._replace(pawns=pair, ply=ply) for pair in pairs for ply in (0, 1)]
    before: dict[Position, list[Position]] = defaultdict(list)
    results: dict[Position, int] = {}
    choices: dict[Position, int] = {}
    decided: deque[Position] = deque()
    for race in races:
        if game.outcome(race) is not None:
            results[race] = 0  # lost: the other player has arrived
            decided.append(race)
            continue
        targets = [game.play(race, action)._replace(ply=1 - race.ply) for action in game.legal_actions(race)]
        choices[race] = len(targets)
        for target in targets:
            before[target].append(race)
    while decided:
        race = decided.popleft()
        for earlier in before[race]:
            choices[earlier] -= 1
            if earlier not in results and (results[race] <= 0 or choices[earlier] == 0):
                results[earlier] = 1 - results[race] if results[race] <= 0 else -1 - results[race]
                decided.append(earlier)
    return results


@pytest.mark.parametrize(("size", "seed"), [(3, 0), (4, 1), (5, 2), (5, 3)])
def test_solved_races_end_as_they_should(size: int, seed: int):
    game = GAMES[size]
    results = exact_results(game, random_position(game, seed, 40))
    unfinished = [race for race in results if game.outcome(race) is None]
    solved = {race: plies for race in unfinished if (plies := game.solved(race)) is not None}
    assert solved == {race: results[race] for race in solved}
    assert len(solved) > len(unfinished) / 4


def test_the_master_knows_who_wins_a_race():
    results = exact_results(GAME, random_position(GAME, 3, 60))
    races = [race for race in results if GAME.outcome(race) is None]
    for number in np.random.default_rng(0).choice(len(races), 40, replace=False):
        *_, found = make_search().deepen(races[number], depth=50)
        exact = results[races[number]]
        assert abs(found.score) > DECIDED
        assert (found.score > 0) == (exact > 0)
        assert WIN - abs(found.score) >= abs(exact), "nobody wins faster than perfect play"
