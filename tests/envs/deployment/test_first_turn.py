"""Who begins the rounds of the battle: player 1, or whom the dice choose."""

import numpy as np
import pytest

from src.envs.deployment.bots.planner import final_points, turn_number
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.observation import GLOBAL
from src.envs.deployment.rules.state import GameState
from tests.envs.deployment.making import begin, full_game

HELD = (0, 0, 1, 1, -1)  # two objectives each: 10 points whenever a player scores
ROLLED = full_game(deployment_type="fixed", first_turn="roll_off")


def waiting(game: DeploymentGame, state: GameState) -> list[tuple[int, int, tuple[int, ...]]]:
    """Let every unit wait; return (round, player whose turn it is, victory points) of each turn and of the end."""
    seen: list[tuple[int, int, tuple[int, ...]]] = []
    state.games.control[0] = HELD
    while True:
        now = (state.round, state.current_player, tuple(state.victory_points.values()))
        if not seen or now != seen[-1]:
            seen.append(now)
        if game.outcome(state) is not None:
            return seen
        game.play(state, game.actions.wait_action)


def seed_with(first: int) -> int:
    return next(seed for seed in range(20) if begin(ROLLED, seed).current_player == first)


@pytest.mark.parametrize("first", [1, 2])
def test_the_second_player_scores_once_more_at_the_end(first: int):
    def points(own: int, theirs: int) -> tuple[int, int]:
        return (own, theirs) if first == 1 else (theirs, own)

    second = 3 - first
    assert waiting(ROLLED, begin(ROLLED, seed_with(first))) == [
        *((1, first, points(0, 0)), (1, second, points(0, 0))),
        *((2, first, points(10, 0)), (2, second, points(10, 10))),
        *((3, first, points(20, 10)), (3, second, points(20, 20))),
        *((4, first, points(30, 20)), (4, second, points(30, 30))),
        *((5, first, points(40, 30)), (5, second, points(40, 30)), (5, second, points(40, 40))),
    ]


def test_the_dice_choose_each_player_equally_often():
    firsts = [begin(ROLLED, seed).current_player for seed in range(400)]
    assert 160 < firsts.count(1) < 240


def test_player_1_begins_unless_the_dice_decide():
    game = full_game(deployment_type="fixed")
    assert {begin(game, seed).current_player for seed in range(20)} == {1}


def test_nothing_is_rolled_before_the_deployment_ends():
    game, plain = full_game(first_turn="roll_off"), full_game()
    for seed in range(6):
        state, other = begin(game, seed), begin(plain, seed)
        while state.phase == "deployment":
            assert state.game["first"] == 0
            assert state.game["random"] == other.game["random"]
            action = int(np.flatnonzero(state.games.mask[0])[0])
            game.play(state, action)
            plain.play(other, action)
        assert state.game["random"] != other.game["random"], "one number for the roll-off"


@pytest.mark.parametrize("first", [1, 2])
def test_players_see_whether_their_turn_is_the_second_of_a_round(first: int):
    state = begin(ROLLED, seed_with(first))
    own_turn, second = GLOBAL.index("own_turn"), GLOBAL.index("second")
    assert state.current_player == first
    assert (ROLLED.observe(state)[own_turn], ROLLED.observe(state)[second]) == (1, 0)
    while state.current_player == first:
        ROLLED.play(state, ROLLED.actions.wait_action)
    assert (ROLLED.observe(state)[own_turn], ROLLED.observe(state)[second]) == (1, 1)


@pytest.mark.parametrize("first", [1, 2])
def test_the_planner_counts_turns_as_they_are_played(first: int):
    state, turns = begin(ROLLED, seed_with(first)), [2]
    while ROLLED.outcome(state) is None:
        if turn_number(state.games, 0) != turns[-1]:
            turns.append(turn_number(state.games, 0))
        ROLLED.play(state, ROLLED.actions.wait_action)
    assert turns == list(range(2, 12))


@pytest.mark.parametrize("first", [1, 2])
def test_the_planner_expects_the_points_that_will_be_scored(first: int):
    state = begin(ROLLED, seed_with(first))
    state.games.control[0] = HELD
    while ROLLED.outcome(state) is None:
        assert [final_points(ROLLED.world, state.games, 0, seat) for seat in (0, 1)] == [40, 40]
        ROLLED.play(state, ROLLED.actions.wait_action)
