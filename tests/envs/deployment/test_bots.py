"""Bots: their preferences, their placements, and the legality of their actions."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent
from src.core.play.arena import evaluate
from src.envs.deployment.bots import Bot, Redeployed
from src.envs.deployment.bots.placement import BackLine, Deterministic, FrontLine, Placement, Scripted
from src.envs.deployment.rules import hexgrid
from src.envs.deployment.rules.dice import charge_chance
from src.envs.tictactoe.game import TicTacToe
from tests.envs.deployment.making import (
    aim,
    battle,
    begin,
    bot,
    conf,
    copied,
    full_game,
    go,
    roster,
    small_game,
    wait_until,
)

FULL = full_game()
FIXED = small_game(deployment_type="fixed")
PLACEMENTS = {"deterministic": Deterministic(), "front": FrontLine(), "back": BackLine(), "scripted": Scripted()}
NOTHING = {"damage": 0.0, "threat": 0.0, "objective": 0.0, "to_objective": 0.0, "to_enemy": 0.0}
RNG = np.random.default_rng(0)


def choice(agent: Agent, game, state) -> int:
    action = agent.decide(game, state, RNG).action
    assert action is not None
    return action


def placed(placement: Placement, game=FULL):
    state = begin(game)
    agent = Bot(placement, **NOTHING, explore=0)
    while state.phase == "deployment":
        game.play(state, choice(agent, game, state))
    return state


def test_the_deterministic_placement_goes_in_order():
    state = placed(PLACEMENTS["deterministic"])
    for player, pool in state.deployment_state.deployment_pools_by_player.items():
        units = [unit for unit in state.units.values() if unit.player == player]
        assert [(unit.col, unit.row) for unit in units] == list(pool[: len(units)])
    state_order = state.games.units["order"][0]
    assert [state_order[u] for u in state.numbers] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_front_and_back_lines_are_where_they_say():
    distances = {}
    for name in ("front", "back"):
        state = placed(PLACEMENTS[name])
        pools = state.scenario.pools
        distances[name] = [
            min(hexgrid.distance((unit.col, unit.row), other) for other in pools[2 - unit.player])
            for unit in state.units.values()
        ]
    assert max(distances["front"]) == 6
    assert min(distances["back"]) == 13


def test_equally_good_hexes_are_equally_likely():
    """Player 2's zone in the hammer has seven hexes that are nearest to the enemy's and to an objective."""
    game = full_game(scenario="classic_mirror", deployment_type="active")
    ranks = FrontLine().ranks(game.world)[game.world.slots]
    best = np.flatnonzero(ranks == ranks.min()).tolist()
    assert len(best) == 7
    rng, agent, counts = np.random.default_rng(3), Bot(FrontLine(), **NOTHING, explore=0), dict.fromkeys(best, 0)
    first_player = bot()
    for _ in range(700):
        state = begin(game)
        while game.to_move(state) == 0:
            game.play(state, choice(first_player, game, state))
        action = agent.decide(game, state, rng).action
        assert action is not None
        game.play(state, action)
        counts[int(state.games.units["cell"][0, game.world.slots])] += 1
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 25, counts  # chi-squared, 6 degrees of freedom


def test_the_scripted_placement_is_the_scenarios():
    state = placed(PLACEMENTS["scripted"])
    for army in state.scenario.rosters:
        for unit in army:
            assert (state.units[unit.id].col, state.units[unit.id].row) == unit.position


def test_a_script_that_does_not_fit_is_refused_at_once():
    with pytest.raises(UserError, match=r"script .*unit R1"):
        Bot(Scripted(), **NOTHING, explore=0).check(full_game(zones="trench"))
    Bot(Scripted(), **NOTHING, explore=0).check(FULL)


def test_bots_play_this_game_only():
    for agent in (bot(), Redeployed(Deterministic(), RandomAgent())):
        with pytest.raises(UserError, match="plays the deployment wargame only"):
            agent.check(TicTacToe(symmetric=True))
    with pytest.raises(UserError, match="explore=2"):
        bot(2.0)


@pytest.mark.parametrize("agent", [bot(), bot(1.0), bot(threat=1.0), Redeployed(BackLine(), RandomAgent())])
def test_every_choice_is_legal(agent: Agent):
    """`play` rejects illegal actions, so two complete games suffice."""
    score = evaluate(FULL, agent, bot(0.5), 4, seed=1)
    assert score.total.games == 4
    assert score.metrics["deployment_valid_action_rate"] == 1


def test_a_greedy_bot_shoots_what_it_hurts_most():
    """A spitter (6 points, easily killed) beside a brute (24 points): expected points decide."""
    state = battle(FIXED, a1=(4, 6), b1=(3, 1), b3=(5, 1))
    wait_until(FIXED, state, "shoot", "a1")
    expected = {
        unit: min(FIXED.world.expected[0, 0, u] / FIXED.world.units["hp"][u], 1) * FIXED.world.units["points"][u]
        for unit, u in (("b1", 3), ("b3", 5))
    }
    best = max(expected, key=lambda unit: expected[unit])
    assert choice(bot(**NOTHING | {"damage": 1.0}), FIXED, state) == aim(FIXED, state, best)


def test_weights_decide_where_a_unit_goes():
    state = battle(FIXED, a1=(0, 6), b2=(8, 0))
    to_objective = bot(**NOTHING | {"to_objective": 1.0})
    reached = copied(FIXED, state)
    FIXED.play(reached, choice(to_objective, FIXED, state))
    cell = reached.games.units["cell"][0, 0]
    assert FIXED.world.to_objective[0, cell] == 0
    to_enemy, away = bot(**NOTHING | {"to_enemy": 1.0}), bot(**NOTHING | {"to_enemy": -1.0})
    for agent, wanted in ((to_enemy, min), (away, max)):
        moved = copied(FIXED, state)
        FIXED.play(moved, choice(agent, FIXED, state))
        reachable = [action for action in FIXED.legal_actions(state) if action < FIXED.actions.world.first_target]
        options = [hexgrid.distance(at_of(state, action), (8, 0)) for action in reachable]
        options.append(hexgrid.distance((0, 6), (8, 0)))
        unit = moved.units["a1"]
        assert hexgrid.distance((unit.col, unit.row), (8, 0)) == wanted(options)


def at_of(state, action: int) -> tuple[int, int]:
    row, col = divmod(action - FIXED.actions.world.first_move, 9)
    return col, row


def test_a_cautious_bot_leaves_the_line_of_fire():
    """Walls hide it from the spitter at (2, 0), whose shots hurt more than its claws."""
    state = battle(FIXED, a1=(4, 5), b3=(2, 0))
    moved = copied(FIXED, state)
    FIXED.play(moved, choice(bot(**NOTHING | {"threat": 1.0}), FIXED, state))
    spitter, cell = state.cell_of((2, 0)), moved.games.units["cell"][0, 0]
    assert FIXED.world.sight[spitter, state.cell_of((4, 5))]
    assert not FIXED.world.sight[spitter, cell]


COVER_SPOT = """
     . . . . . . . . .
     . . . . . * . . .
     . . . . . . . . .
     . . . . o . . . .
     . . . * . . . . .
     . . . . . . . . .
     . x . x . x . x .
""".replace(" ", "")
SLOW_RIFLES = conf("profiles/warriors")
SLOW_RIFLES["rifleman"]["move"] = 1
IN_COVER = small_game(
    deployment_type="fixed",
    board={"map": COVER_SPOT},
    profiles=SLOW_RIFLES,
    scenario={
        "player_1": roster(a1=("rifleman", (2, 5)), a2=("sergeant", (4, 5))),
        "player_2": roster(b1=("brute", (2, 1)), b2=("brute", (4, 1)), b3=("spitter", (6, 1))),
    },
)


def test_a_cautious_bot_takes_cover():
    """All hexes around a1 are in sight of b3; on one of them fewer of its shots get through."""
    state = battle(IN_COVER, a1=(3, 3), b3=(3, 0))
    moved = copied(IN_COVER, state)
    IN_COVER.play(moved, choice(bot(**NOTHING | {"threat": 1.0}), IN_COVER, state))
    assert (moved.units["a1"].col, moved.units["a1"].row) == (3, 4)


def test_a_greedy_bot_shoots_at_the_open_one_of_two_targets():
    state = battle(IN_COVER, a1=(0, 4), b1=(3, 4), b2=(3, 2))
    wait_until(IN_COVER, state, "shoot", "a1")
    assert {aim(IN_COVER, state, one) for one in ("b1", "b2")} <= set(IN_COVER.legal_actions(state))
    assert choice(bot(**NOTHING | {"damage": 1.0}), IN_COVER, state) == aim(IN_COVER, state, "b2")


def test_a_charge_is_decided_without_earlier_scratch_space():
    state = battle(FIXED, a1=(4, 5), b3=(4, 3), b1=(8, 0))
    wait_until(FIXED, state, "charge", "a1")
    expected = choice(bot(), FIXED, state)
    assert expected == aim(FIXED, state, "b3")
    state.games.sets[:] = 0
    assert choice(bot(), FIXED, state) == expected


def test_charges_are_weighed():
    """A rifleman charges a spitter, but a brute only if the weight of threats is 0."""
    state = battle(FIXED, a1=(4, 5), b3=(4, 3), b1=(8, 0))
    wait_until(FIXED, state, "charge", "a1")
    assert choice(bot(**NOTHING | {"damage": 1.0}), FIXED, state) == aim(FIXED, state, "b3")
    brute = battle(FIXED, a1=(4, 5), b1=(4, 3))
    wait_until(FIXED, brute, "charge", "a1")
    assert choice(bot(**NOTHING | {"damage": 1.0}), FIXED, brute) == aim(FIXED, brute, "b1")
    assert choice(bot(**NOTHING | {"damage": 1.0, "threat": 2.0}), FIXED, brute) == FIXED.actions.wait_action


def test_the_odds_of_a_charge():
    rolls = [a + b for a in range(1, 7) for b in range(1, 7)]
    for steps in range(-3, 15):
        assert charge_chance(steps) == pytest.approx(sum(roll >= steps for roll in rolls) / 36)


def test_exploring_bots_draw_from_all_legal_actions():
    state = battle(FIXED, a1=(4, 6), b2=(8, 0))
    rng, agent = np.random.default_rng(0), bot(1.0)
    drawn = {agent.decide(FIXED, state, rng).action for _ in range(2000)}
    assert drawn == set(FIXED.legal_actions(state))
    assert len({bot().decide(FIXED, state, rng).action for _ in range(20)}) == 1


def test_a_redeployed_agent_places_one_way_and_fights_another():
    class Waits(RandomAgent):
        def decide(self, game, view, rng):
            assert view.phase != "deployment"
            return super().decide(game, view, rng)._replace(action=game.actions.wait_action)

    agent, state = Redeployed(Deterministic(), Waits()), begin(FULL)
    while state.phase == "deployment":
        FULL.play(state, choice(agent, FULL, state))
    expected = placed(PLACEMENTS["deterministic"])
    np.testing.assert_array_equal(state.games.units["cell"], expected.games.units["cell"])
    assert choice(agent, FULL, state) == FULL.actions.wait_action
    together = agent.decide_batch(FULL, [begin(FULL), state, begin(FULL)], [RNG] * 3)
    first = choice(agent, FULL, begin(FULL))
    assert [decision.action for decision in together] == [first, FULL.actions.wait_action, first]


def test_both_sides_choose_alike_among_equal_hexes():
    """This bot values only the distance to the enemy, for which many hexes are equal."""
    agent, board = bot(**NOTHING | {"to_enemy": 1.0}), FIXED.scenario.board
    for one, other in (((0, 6), (8, 0)), ((4, 6), (4, 0)), ((3, 5), (6, 0))):
        first = battle(FIXED, a1=one, b1=other)
        second = battle(FIXED, a1=board.turned(other), b1=board.turned(one))
        wait_until(FIXED, second, "move", "b1")
        ends = []
        for state, unit in ((first, "a1"), (second, "b1")):
            FIXED.play(state, choice(agent, FIXED, state))
            ends.append((state.units[unit].col, state.units[unit].row))
        assert ends[0] == board.turned(ends[1])


def test_a_redeployed_agent_is_counted_like_the_one_that_fights():
    class Counting(RandomAgent):
        counters = ("luck",)
        games_in_step = 7

        def decide(self, game, view, rng):
            return super().decide(game, view, rng)._replace(info={"luck": 1})

    agent = Redeployed(Deterministic(), Counting())
    assert (agent.counters, agent.games_in_step) == (("luck",), 7)
    assert agent.decide(FULL, begin(FULL), RNG).info == {"luck": 0}
    assert evaluate(FULL, agent, RandomAgent(), 2, seed=0).total.games == 2


def test_habits_beat_chance():
    """random < greedy is clear after a few games; the README of the game has the full table."""
    greedy = Bot(FrontLine(), damage=1, threat=0, objective=0, to_objective=0, to_enemy=0.5, explore=0)
    score = evaluate(FULL, greedy, RandomAgent(), 20, seed=0)
    assert score.total.wins >= 15


def test_going_is_named_by_hex():
    state = battle(FIXED, a1=(4, 6), b2=(8, 0))
    assert FIXED.actions.describe(state, go(FIXED, state, (4, 5))) == "a1 goes to (4, 5)"
    assert FIXED.actions.describe(state, FIXED.actions.wait_action) == "a1 waits"
    wait_until(FIXED, state, "shoot", "a1")
    assert FIXED.actions.describe(state, aim(FIXED, state, "b2")) == "a1 shoots b2"
