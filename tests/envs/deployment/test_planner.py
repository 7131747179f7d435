"""The planner: what it finds, what it must not know or change, and that it is an agent like any other."""

from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.arena import evaluate
from src.envs.deployment.bots import Bot
from src.envs.deployment.bots.planner import Planner
from src.envs.tictactoe.game import TicTacToe
from tests.envs.deployment.making import (
    aim,
    battle,
    begin,
    bot,
    contents,
    full_game,
    random_action,
    small_game,
    wait_out,
    wait_until,
)

FIXED = small_game(deployment_type="fixed")
ACTIVE = small_game()
PASSIVE = bot(damage=0.0, threat=0.0, objective=0.0, to_objective=0.0)  # neither moves nor charges
SEED = np.uint64(1)


def planner(policy: Bot | None = None, **changes: Any) -> Planner:
    values: dict[str, Any] = {"candidates": 100, "rollouts": 200, "turns": 1, "objectives": 0.5, "confidence": 0.0}
    return Planner(policy or bot(), **values | changes)


def choice(agent, game, state, seed: int = 0) -> int:
    action = agent.decide(game, state, np.random.default_rng(seed)).action
    assert action is not None
    return action


def last_turn():
    """Return a position that player 2 wins by reaching the objective, and loses by points otherwise."""
    state = battle(FIXED, a1=(0, 6), b2=(4, 0))
    state.games.games["round"] = 5
    wait_until(FIXED, state, "move", "b2")
    return state


def test_it_finds_a_certain_win_that_its_bot_misses():
    state = last_turn()
    assert choice(PASSIVE, FIXED, state) == FIXED.actions.wait_action
    FIXED.play(state, choice(planner(PASSIVE), FIXED, state))
    assert FIXED.world.to_objective[0, state.games.units["cell"][0, 4]] == 0
    wait_out(FIXED, state)
    assert FIXED.outcome(state) == -1


def test_it_charges_for_a_likely_kill_that_wins():
    """The charge is certain, and the sergeant kills the last enemy in 9 of 10 fights; its bot does not charge."""
    state = battle(FIXED, a2=(4, 5), b2=(4, 3))
    wait_until(FIXED, state, "charge", "a2")
    assert choice(PASSIVE, FIXED, state) == FIXED.actions.wait_action
    assert choice(planner(PASSIVE), FIXED, state) == aim(FIXED, state, "b2")


def test_it_changes_nothing_and_does_not_know_the_dice():
    state = begin(FIXED)
    before = contents(state)
    found = planner().search(FIXED, state, SEED)
    assert contents(state) == before
    state.games.games["random"] = 12345
    np.testing.assert_array_equal(planner().search(FIXED, state, SEED), found)
    assert planner().search(FIXED, state, np.uint64(2))["total"].tolist() != found["total"].tolist()
    agent = planner(turns=None, rollouts=20)
    outcomes = [evaluate(ACTIVE, agent, bot(0.5), 4, seed=3).outcomes for _ in range(2)]
    assert outcomes[0] == outcomes[1], "a seed determines the choices"


def test_more_rollouts_change_nothing_where_no_dice_are_rolled():
    state = last_turn()
    few, many = (planner(PASSIVE, rollouts=rollouts).search(FIXED, state, SEED) for rollouts in (1, 2000))
    assert few["action"].tolist() == many["action"].tolist()
    np.testing.assert_allclose(few["total"] / few["rollouts"], many["total"] / many["rollouts"])


def test_rollouts_are_divided_by_halving():
    found = planner(candidates=8, rollouts=240).search(FIXED, begin(FIXED), SEED)
    assert found["rollouts"].tolist() == [70, 70, 30, 30, 10, 10, 10, 10]


def test_candidates_are_the_best_by_the_score_of_the_bot():
    state, rng = begin(FIXED), np.random.default_rng(0)
    while FIXED.outcome(state) is None:
        found = planner(candidates=3, rollouts=1, turns=0).search(FIXED, state, SEED)
        everything = planner(rollouts=1, turns=0).search(FIXED, state, SEED)
        assert sorted(everything["action"].tolist()) == FIXED.legal_actions(state)
        assert sorted(found["score"]) == sorted(everything["score"])[-3:]
        assert choice(planner(candidates=1), FIXED, state) == choice(bot(), FIXED, state)
        FIXED.play(state, random_action(FIXED, state, rng))


def test_a_batch_gives_the_same_decisions():
    states = [begin(FIXED), last_turn(), begin(ACTIVE)]
    for game, some in ((FIXED, states[:2] * 3), (ACTIVE, states[2:])):
        together = planner().decide_batch(game, some, [np.random.default_rng(k) for k in range(len(some))])
        alone = [planner().decide(game, state, np.random.default_rng(k)) for k, state in enumerate(some)]
        assert together == alone


def test_units_are_placed_by_the_bot():
    game = full_game()
    state = begin(game)
    while state.phase == "deployment":
        assert choice(planner(), game, state) == choice(bot(), game, state)
        game.play(state, choice(planner(), game, state))
    with pytest.raises(UserError, match="does not search the deployment"):
        planner().analyze(game, begin(game), 3)


def test_an_analysis_begins_with_the_choice():
    agent = planner(PASSIVE)
    lines = agent.analyze(FIXED, last_turn(), 3)
    assert [len(line.actions) for line in lines] == [1, 1, 1]
    assert lines[0].actions[0] == agent.search(FIXED, last_turn(), np.uint64(0))[0]["action"]
    assert float(lines[0].score) > 0.5


def test_the_bots_choice_is_kept_unless_another_is_better():
    state = last_turn()  # no dice are left, so there is no doubt
    assert choice(planner(PASSIVE, confidence=100.0), FIXED, state) != choice(PASSIVE, FIXED, state)
    state = begin(FIXED)
    assert choice(planner(confidence=100.0), FIXED, state) == choice(bot(), FIXED, state)


@pytest.mark.parametrize("activation", ["by_id", "choice"])
def test_it_plays_whole_games(activation: str):
    game = small_game(activation=activation)
    assert evaluate(game, planner(rollouts=30), planner(candidates=4, rollouts=4), 4, seed=0).total.games == 4


def test_it_plays_this_game_only():
    with pytest.raises(UserError, match="plays the deployment wargame only"):
        planner().check(TicTacToe(symmetric=True))
    wrong: dict[str, Any] = {"candidates": 0, "rollouts": 0, "turns": -1, "objectives": 1.5, "confidence": -1.0}
    for key, value in wrong.items():
        with pytest.raises(UserError, match=f"{key}={value} must be"):
            planner(**{key: value})


def test_it_is_stronger_than_its_bot():
    score = evaluate(FIXED, planner(PASSIVE, rollouts=100), PASSIVE, 40, seed=0)
    assert score.total.wins >= 30  # one of a thousand times for a player of equal strength
