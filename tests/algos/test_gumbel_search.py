"""Gumbel search: the schedule, scores and values by hand, and what it finds in real games."""

import math

import numpy as np
import pytest

from src.algos.alphazero.search import (
    Evaluated,
    SearchConfig,
    SearchResult,
    SearchTrees,
    Settings,
    back_up_some,
    begin_some,
    completed_values,
    considered_visits,
    finish_some,
    interior_action,
    new_trees,
    root_action,
    run_searches,
    search,
    select_some,
)
from src.core.play.game import TwoPlayerGame
from src.core.play.search_interface import PositionBatch
from src.envs.tictactoe.game import TicTacToe
from tests.envs.quoridor.making import make_game

SETTINGS = Settings(visit_offset=3.0, value_scale=1.0, discount=0.5)
PRIORS = np.array([[0.5, 0.25, 0.25, 0.0]], np.float32)  # the last action is illegal


@pytest.mark.parametrize(
    ("considered", "simulations", "expected"),
    [
        (1, 3, [0, 1, 2]),
        (2, 5, [0, 0, 1, 1, 2]),
        (3, 6, [0, 0, 0, 1, 1, 2]),
        (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]),  # two rounds of 4 simulations
        (4, 16, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        (8, 3, [0, 0, 0]),  # too few for all of them
    ],
)
def test_sequential_halving_by_hand(considered: int, simulations: int, expected: list[int]):
    assert considered_visits(considered, simulations) == expected


def small_tree(seat_of_child: int = 1) -> SearchTrees:
    """A root of seat 0 with value 0.2, after one simulation of action 0, whose position has value 0.6."""
    trees = new_trees(1, 4, 4)
    values, seats = np.array([0.2], np.float32), np.array([0], np.int8)
    begin_some(trees, PRIORS, values, seats, np.zeros((1, 4), np.float32), 0, 1)
    select_some(trees, SETTINGS, np.array([0]), 0, 1)
    assert (trees.leaf_parents[0], trees.leaf_actions[0]) == (0, 0), "the action with the highest prior comes first"
    add_leaf(trees, 1, value=0.6, seat=seat_of_child)
    return trees


def add_leaf(
    trees: SearchTrees, node: int, value: float, seat: int, outcome: int | None = None, solved: int = 0
) -> None:
    values, seats = np.array([value], np.float32), np.array([seat], np.int8)
    ended, outcomes = np.array([outcome is not None]), np.array([outcome or 0], np.int8)
    back_up_some(trees, SETTINGS, node, PRIORS, values, seats, ended, outcomes, np.array([solved], np.int16), 0, 1)


def test_values_change_sign_and_are_discounted_on_the_way_up():
    """The opponent's 0.6 is -0.3 for the player to move at the root, which had 0.2 by the network."""
    trees = small_tree()
    assert trees.visits[0, :2].tolist() == [2, 1]
    assert trees.sums[0, :2].tolist() == pytest.approx([0.2 - 0.3, 0.6])


def test_a_player_who_moves_twice_keeps_the_sign():
    trees = small_tree(seat_of_child=0)
    assert trees.sums[0, 0] == pytest.approx(0.2 + 0.3)


def test_actions_without_visits_have_the_mixed_value():
    """One visit with Q = -0.3: (0.2 + 1 * -0.3) / 2 = -0.05."""
    assert completed_values(small_tree(), SETTINGS, 0, 0)[:3] == (pytest.approx(-0.05), 1, 1)


def test_the_weight_of_values_grows_with_the_visits():
    """(3 + 1 visit) * 1 / 2, for Q values in [-1, 1]."""
    scale, highest = completed_values(small_tree(), SETTINGS, 0, 0)[3:]
    assert (scale, highest) == (2.0, pytest.approx(-0.05))


def test_the_mixed_value_weighs_actions_by_their_prior():
    """Q = -0.3 with prior 0.5 and Q = 0.45 with prior 0.25 average to -0.05: (0.2 + 2 * -0.05) / 3."""
    trees = small_tree()
    select_some(trees, SETTINGS, np.array([0]), 0, 1)
    assert (trees.leaf_parents[0], trees.leaf_actions[0]) == (0, 1)
    add_leaf(trees, 2, value=-0.9, seat=1)
    assert completed_values(trees, SETTINGS, 0, 0)[:3] == (pytest.approx(0.1 / 3), 2, 1)
    for noise, best in ((0.75, 1), (0.85, 0)):  # log 0.5 - 2 * 0.3 is 0.807 less than log 0.25 + 2 * 0.45
        trees.noisy[0, 0] = math.log(0.5) + noise
        assert root_action(trees, SETTINGS, 0, 1) == best


def test_the_root_chooses_among_actions_with_scheduled_visits():
    trees = small_tree()
    assert root_action(trees, SETTINGS, 0, 1) == 0
    assert root_action(trees, SETTINGS, 0, 0) == 1, "the first of two equal ones"
    trees.noisy[0, 2] += 0.1  # Gumbel noise
    assert root_action(trees, SETTINGS, 0, 0) == 2
    assert root_action(trees, SETTINGS, 0, 5) == -1


def test_an_illegal_action_is_never_chosen():
    trees = small_tree()
    trees.noisy[0, 3] = 100.0
    assert root_action(trees, SETTINGS, 0, 0) == 1
    assert interior_action(trees, SETTINGS, 0, 0) in (1, 2)


def improved() -> tuple[np.ndarray, float]:
    """By hand: Q values -0.3, -0.05, -0.05 with the weight (3 + 1) * 1 / 2 = 2."""
    weights = np.array([0.5 * math.exp(-0.6), 0.25 * math.exp(-0.1), 0.25 * math.exp(-0.1), 0.0])
    policy = weights / weights.sum()
    return policy, float(policy @ [-0.3, -0.05, -0.05, 0.0])


def test_the_improved_policy_by_hand():
    trees, (policy, value) = small_tree(), improved()
    actions, values = np.zeros(1, np.int64), np.zeros(1, np.float32)
    policies, visits = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.int32)
    finish_some(trees, SETTINGS, actions, policies, values, visits, 0, 1)
    assert actions[0] == 0, "the most visited action"
    np.testing.assert_allclose(policies[0], policy, rtol=1e-5)
    assert values[0] == pytest.approx(value)
    assert visits[0].tolist() == [1, 0, 0, 0]


def test_below_the_root_visits_follow_the_improved_policy():
    """Improved probabilities 0.38, 0.31, 0.31 minus 1/2, 0, 0 visits: action 1, the first of two equal ones."""
    assert improved()[0][:3].tolist() == pytest.approx([0.3775, 0.3112, 0.3112], abs=1e-4)
    trees = small_tree()
    assert interior_action(trees, SETTINGS, 0, 0) == 1
    trees.priors[0, 0, :3] = 0.99, 0.005, 0.005
    assert interior_action(trees, SETTINGS, 0, 0) == 0


def test_a_finished_position_counts_its_outcome_again_and_again():
    """Player 1 has won: whatever the network says, and for the player to move there it is a win, too."""
    trees = small_tree()
    select_some(trees, SETTINGS, np.array([0]), 0, 1)
    add_leaf(trees, 2, value=-0.9, seat=1, outcome=-1)
    assert trees.values[0, 2] == 1.0
    trees.noisy[0, 1] = 100.0  # choose its action again
    select_some(trees, SETTINGS, np.array([1]), 0, 1)
    assert (trees.leaf_parents[0], trees.leaves[0]) == (-1, 2)
    add_leaf(trees, 3, value=0.0, seat=1)
    assert trees.visits[0, :4].tolist() == [4, 1, 2, 0]
    assert trees.sums[0, 2] == 2.0


@pytest.mark.parametrize(("plies", "value"), [(2, 0.25), (-3, -0.125)])
def test_a_solved_position_counts_its_discounted_outcome(plies: int, value: float):
    """A forced win of the player to move in 2 plies, or a loss in 3: 0.5 ** plies, and nothing more to search."""
    trees = small_tree()
    select_some(trees, SETTINGS, np.array([0]), 0, 1)
    add_leaf(trees, 2, value=0.9, seat=1, solved=plies)
    assert trees.values[0, 2] == value
    assert trees.exact[0, :3].tolist() == [False, False, True]
    assert trees.sums[0, 0] == pytest.approx(0.2 - 0.3 - 0.5 * value)


class Uniform:
    """A network that knows nothing."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, positions: PositionBatch) -> "Uniform":
        self.calls += 1
        self._answer = Evaluated(
            (positions.masks / np.maximum(positions.masks.sum(axis=1, keepdims=True), 1)).astype(np.float32),
            np.zeros(len(positions.masks), np.float32),
        )
        return self

    def result(self) -> Evaluated:
        return self._answer


def searched(game: TwoPlayerGame, states: list, simulations: int, considered: int = 16) -> SearchResult:
    positions = game.positions(len(states), simulations + 1)
    positions.set_roots(range(len(states)), states)
    config = SearchConfig(simulations, considered, visit_offset=50.0, value_scale=1.0)
    network = Uniform()
    noise = np.zeros(positions.masks.shape, np.float32)
    (found,) = run_searches([search(positions, config, 0.99, noise)], [positions], network)
    assert network.calls == simulations + 1
    return found


def test_it_wins_and_blocks_in_tic_tac_toe():
    game = TicTacToe(symmetric=True)
    states = ["XX.OO....", "OO.X.X...", "XX..O...."]
    found = searched(game, states, simulations=64)
    assert found.actions.tolist() == [2, 4, 2], "X wins, X wins though O threatens to, O blocks"
    assert found.values[0] > 0.9
    assert found.visits.sum(axis=1).tolist() == [64, 64, 64]
    assert ((found.policies > 0) == [[cell == "." for cell in state] for state in states]).all()
    np.testing.assert_allclose(found.policies.sum(axis=1), 1.0, rtol=1e-5)


def test_the_line_follows_the_visits_and_ends_with_the_game():
    found = searched(TicTacToe(symmetric=True), ["XX.OO...."], simulations=64)
    assert found.ranked(0)[0] == 2
    assert found.line(0, 2) == (2,)
    assert found.action_value(0, 2) == pytest.approx(0.99)
    *_, last = found.ranked(0)
    line = found.line(0, last)
    assert len(line) > 1
    assert len(TicTacToe(symmetric=True).line_names("XX.OO....", line)) == len(line), "all moves are legal"


def test_it_steps_onto_the_goal_in_quoridor():
    game = make_game(size=5, walls=2)
    state = game.initial(np.random.default_rng(0))._replace(pawns=(17, 8))
    assert game.outcome(state) is None
    (action,) = searched(game, [state], simulations=32, considered=48).actions
    assert game.outcome(game.play(state, int(action))) == 1


def test_searches_in_turn_find_what_each_finds_alone():
    game = TicTacToe(symmetric=True)
    states = ["XX.OO....", "X...O...."]
    alone = [searched(game, [state], simulations=16).policies for state in states]
    batches = [game.positions(1, 17) for _ in states]
    config, noise = SearchConfig(16, 16, visit_offset=50.0, value_scale=1.0), np.zeros((1, 9), np.float32)
    for batch, state in zip(batches, states, strict=True):
        batch.set_roots([0], [state])

    def evaluate(positions: PositionBatch) -> Uniform:
        return Uniform()(positions)

    together = run_searches([search(batch, config, 0.99, noise) for batch in batches], batches, evaluate)
    for one, result in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, result.policies)
