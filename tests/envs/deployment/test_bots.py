"""Bots: their preferences and placements, their labels for imitation, and the planner, which searches with one."""

from typing import Any

import numpy as np
import pytest

from src.config.build import build
from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent
from src.core.play.arena import evaluate
from src.core.seeding import generator
from src.envs.deployment.bots import Bot, Redeployed
from src.envs.deployment.bots.placement import UNRANKED, BackLine, Deterministic, FrontLine, Placement, Scripted
from src.envs.deployment.bots.planner import Planner
from src.envs.deployment.bots.policy import RNG as RNG_RECORD
from src.envs.deployment.bots.policy import any_action, choose, score_actions
from src.envs.deployment.bots.teacher import BotTeacher, LabeledBatch
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules import hexgrid
from src.envs.deployment.rules.scenario import Hex
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.rules.world import MELEE
from src.envs.splitmix import below
from src.envs.tictactoe.game import TicTacToe
from tests.envs.deployment.making import (
    aim,
    armies,
    battle,
    begin,
    bot,
    conf,
    contents,
    copied,
    full_game,
    position,
    random_action,
    roster,
    small_game,
    wait_out,
    wait_until,
)
from tests.test_compositions import composed

FULL = full_game()
FIXED, ACTIVE = small_game(deployment_type="fixed"), small_game()
NOTHING = {"damage": 0.0, "threat": 0.0, "objective": 0.0, "to_objective": 0.0, "to_enemy": 0.0}
TACTICAL = Bot(FrontLine("first"), damage=1, threat=0.3, objective=25, to_objective=2, to_enemy=0, explore=0)
GREEDY = Bot(FrontLine("first"), damage=1, threat=0, objective=0, to_objective=0, to_enemy=0.5, explore=0)
PASSIVE = bot(**NOTHING)  # neither moves nor charges
SEED = np.uint64(1)


def only(**weights: float) -> Bot:
    return bot(**NOTHING | weights)


def placing(placement: Placement) -> Bot:
    return Bot(placement, **NOTHING, explore=0)


def choice(agent: Agent, game: DeploymentGame, state: GameState, rng: np.random.Generator | None = None) -> int:
    action = agent.decide(game, state, rng or np.random.default_rng(0)).action
    assert action is not None
    return action


def placed(agent: Agent) -> GameState:
    state = begin(FULL)
    while state.phase == "deployment":
        FULL.play(state, choice(agent, FULL, state))
    return state


def moved(agent: Agent, game: DeploymentGame, state: GameState, unit: str = "a1") -> Hex:
    """Return where the active unit goes."""
    after = copied(game, state)
    game.play(after, choice(agent, game, state))
    return position(after, unit)


def test_the_deterministic_placement_goes_in_order():
    state = placed(placing(Deterministic()))
    for player, pool in state.deployment_state.deployment_pools_by_player.items():
        units = [unit for unit in state.units.values() if unit.player == player]
        assert [(unit.col, unit.row) for unit in units] == list(pool[: len(units)])
    order = state.games.units["order"][0]
    assert [order[u] for u in state.numbers] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_front_and_back_lines_are_where_they_say():
    distances = []
    for placement in (FrontLine("first"), BackLine("first")):
        state = placed(placing(placement))
        for unit in state.units.values():
            zone = state.scenario.pools[2 - unit.player]
            distances.append(min(hexgrid.distance((unit.col, unit.row), other) for other in zone))
    assert max(distances[:14]) == 6
    assert min(distances[14:]) == 13


def deployment_of(game: DeploymentGame, agent: Agent, seed: int) -> tuple[Hex, ...]:
    """Return where an agent places the units of both players, in a game with this seed."""
    state, rng = begin(game, seed), np.random.default_rng(seed)
    while state.phase == "deployment":
        game.play(state, choice(agent, game, state, rng))
    return tuple(position(state, unit) for unit in state.units)


@pytest.mark.parametrize("env", ["deployment", "deployment_mirror", "deployment_siege", "deployment_alternated"])
def test_bots_place_alike_in_every_game(env: str):
    """One placement of each seat for every agent, and several for the pool that a learner trains against."""
    built = build(composed(f"env={env}").env, "env")
    agents = {name: agent for name, agent in built.baselines.items() if name != "random"}
    for name in ("balanced", "planner"):
        agents[name] = build(composed("env=deployment", f"agent={name}", config="evaluate").agent, "agent")
    assert list(agents) == ["tactical", "defensive", "greedy", "balanced", "planner"]
    for name, agent in agents.items():
        assert len({deployment_of(built.game, agent, seed) for seed in range(5)}) == 1, name
    for member in built.opponent.members.values():
        assert len({deployment_of(built.game, member, seed) for seed in range(5)}) > 1


@pytest.mark.parametrize("placement", [FrontLine("first"), BackLine("first")])
@pytest.mark.parametrize("zones", ["trench", "redoubt", "corners", "pincer", "side by side"])
def test_both_sides_place_alike(placement: Placement, zones: str):
    """In symmetric zones each hex has the rank of the opposite one, also where hexes of one column are equally good."""
    beside = {"player_1": [{"cols": [0, 1], "rows": [0, 5]}], "player_2": "turned"}
    game = small_game(zones=beside) if zones == "side by side" else full_game("classic_mirror", zones)
    first, second = placement.ranks(game.world)[:: game.world.slots]
    inside = np.flatnonzero(first < UNRANKED)
    np.testing.assert_array_equal(first[inside], second[game.world.seen["turned"][1, inside]])
    assert len(set(first[inside])) == inside.size, "no two hexes are equal"


def test_neither_flank_is_filled_first():
    """Of two equal hexes, left and right of the center, the left one is first in even columns, else the right one."""
    game = full_game("classic_mirror", "trench")
    first, drawn = (FrontLine(ties).ranks(game.world)[0] for ties in ("first", "random"))
    columns, equal = game.world.columns, 0
    for cell in np.flatnonzero(drawn < UNRANKED):
        row, col = divmod(int(cell), columns)
        other = row * columns + columns - 1 - col
        if col < columns // 2 and drawn[cell] == drawn[other]:
            assert (first[cell] < first[other]) == (col % 2 == 0)
            equal += 1
    assert equal > 20


def test_equally_good_hexes_are_equally_likely():
    """Player 2's zone in the hammer has seven hexes that are nearest to the enemy's and to an objective."""
    game = full_game(scenario="classic_mirror", deployment_type="active")
    ranks = FrontLine("random").ranks(game.world)[game.world.slots]
    best = np.flatnonzero(ranks == ranks.min()).tolist()
    assert len(best) == 7
    rng, agent, counts, start = (
        np.random.default_rng(3),
        placing(FrontLine("random")),
        dict.fromkeys(best, 0),
        begin(game),
    )
    while game.to_move(start) == 0:
        game.play(start, choice(bot(), game, start))
    for _ in range(700):
        state = copied(game, start)
        game.play(state, choice(agent, game, state, rng))
        counts[int(state.games.units["cell"][0, game.world.slots])] += 1
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 25, counts  # chi-squared, 6 degrees of freedom


def test_the_scripted_placement_is_the_scenarios():
    state = placed(placing(Scripted()))
    for army in state.scenario.rosters:
        assert [position(state, unit.id) for unit in army] == [unit.position for unit in army]
    with pytest.raises(UserError, match=r"script .*unit R1"):
        placing(Scripted()).check(full_game(zones="trench"))


def test_bots_play_this_game_only():
    for agent in (bot(), planner(), Redeployed(Deterministic(), RandomAgent())):
        with pytest.raises(UserError, match="plays the deployment wargame only"):
            agent.check(TicTacToe(symmetric=True))
    with pytest.raises(UserError, match="explore=2"):
        bot(2.0)


@pytest.mark.parametrize("agent", [bot(), bot(1.0), bot(threat=1.0), Redeployed(BackLine("first"), RandomAgent())])
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
    assert choice(only(damage=1.0), FIXED, state) == aim(FIXED, state, best)


def test_weights_decide_where_a_unit_goes():
    state, enemy = battle(FIXED, a1=(0, 6), b2=(8, 0)), (8, 0)
    reached = moved(only(to_objective=1.0), FIXED, state)
    assert FIXED.world.to_objective[0, state.cell_of(reached)] == 0
    moves = [FIXED.actions.target_hex(state, action) for action in FIXED.legal_actions(state)]
    options = [hexgrid.distance(one or (0, 6), enemy) for one in moves]  # waiting has no target
    assert hexgrid.distance(moved(only(to_enemy=1.0), FIXED, state), enemy) == min(options)
    assert hexgrid.distance(moved(only(to_enemy=-1.0), FIXED, state), enemy) == max(options)


def test_a_cautious_bot_leaves_the_line_of_fire():
    """Walls hide it from the spitter at (2, 0), whose shots hurt more than its claws."""
    state = battle(FIXED, a1=(4, 5), b3=(2, 0))
    spitter, reached = state.cell_of((2, 0)), moved(only(threat=1.0), FIXED, state)
    assert FIXED.world.sight[spitter, state.cell_of((4, 5))]
    assert not FIXED.world.sight[spitter, state.cell_of(reached)]


def test_the_danger_of_a_hex_is_the_damage_that_is_expected_there():
    """The only enemy does not shoot, and its charge reaches every hex."""
    state = battle(FIXED, a1=(0, 6), b2=(8, 0))
    scores = np.full(FIXED.num_actions, np.nan)
    policy = only(threat=1.0).policy(FIXED)
    score_actions(FIXED.world, state.games, state.i, policy, np.zeros(1, RNG_RECORD)[0], scores)
    damage = FIXED.world.expected[MELEE, 4, 0] / FIXED.world.units["hp"][0] * FIXED.world.units["points"][0]
    assert set(scores[np.isfinite(scores)].tolist()) == {-damage}


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
    scenario=armies(
        roster(a1=("rifleman", (2, 5)), a2=("sergeant", (4, 5))),
        roster(b1=("brute", (2, 1)), b2=("brute", (4, 1)), b3=("spitter", (6, 1))),
    ),
)


def test_a_cautious_bot_takes_cover():
    """All hexes around a1 are in sight of b3; on one of them fewer of its shots get through."""
    assert moved(only(threat=1.0), IN_COVER, battle(IN_COVER, a1=(3, 3), b3=(3, 0))) == (3, 4)


def test_a_greedy_bot_shoots_at_the_open_one_of_two_targets():
    state = battle(IN_COVER, a1=(0, 4), b1=(3, 4), b2=(3, 2))
    wait_until(IN_COVER, state, "shoot", "a1")
    assert {aim(IN_COVER, state, one) for one in ("b1", "b2")} <= set(IN_COVER.legal_actions(state))
    assert choice(only(damage=1.0), IN_COVER, state) == aim(IN_COVER, state, "b2")


def test_charges_are_weighed():
    """A rifleman charges a spitter, but a brute only if the weight of threats is 0; scratch space does not matter."""
    state = battle(FIXED, a1=(4, 5), b3=(4, 3), b1=(8, 0))
    wait_until(FIXED, state, "charge", "a1")
    for _ in range(2):
        assert choice(bot(), FIXED, state) == choice(only(damage=1.0), FIXED, state) == aim(FIXED, state, "b3")
        state.games.sets[:] = 0
    brute = battle(FIXED, a1=(4, 5), b1=(4, 3))
    wait_until(FIXED, brute, "charge", "a1")
    assert choice(only(damage=1.0), FIXED, brute) == aim(FIXED, brute, "b1")
    assert choice(only(damage=1.0, threat=2.0), FIXED, brute) == FIXED.actions.wait_action


def test_exploring_bots_draw_from_all_legal_actions():
    state = battle(FIXED, a1=(4, 6), b2=(8, 0))
    rng = np.random.default_rng(0)
    assert {choice(bot(1.0), FIXED, state, rng) for _ in range(2000)} == set(FIXED.legal_actions(state))
    assert len({choice(bot(), FIXED, state, rng) for _ in range(20)}) == 1


def test_both_sides_choose_alike_among_equal_hexes():
    """This bot values only the distance to the enemy, for which many hexes are equal."""
    agent, board = only(to_enemy=1.0), FIXED.scenario.board
    for one, other in (((0, 6), (8, 0)), ((4, 6), (4, 0)), ((3, 5), (6, 0))):
        first = battle(FIXED, a1=one, b1=other)
        second = battle(FIXED, a1=board.turned(other), b1=board.turned(one))
        wait_until(FIXED, second, "move", "b1")
        assert moved(agent, FIXED, first) == board.turned(moved(agent, FIXED, second, "b1"))


def test_a_redeployed_agent_places_one_way_and_fights_another():
    class Waits(RandomAgent):
        counters = ("luck",)
        games_in_step = 7

        def decide(self, game, view, rng):
            assert view.phase != "deployment"
            return super().decide(game, view, rng)._replace(action=game.actions.wait_action, info={"luck": 1})

    agent = Redeployed(Deterministic(), Waits())
    state, expected = placed(agent), placed(placing(Deterministic()))
    np.testing.assert_array_equal(state.games.units["cell"], expected.games.units["cell"])
    first, wait = choice(agent, FULL, begin(FULL)), FULL.actions.wait_action
    rng = np.random.default_rng(0)
    together = agent.decide_batch(FULL, [begin(FULL), state, begin(FULL)], [rng] * 3)
    assert [decision.action for decision in together] == [first, wait, first]
    assert [decision.info for decision in together] == [{"luck": 0}, {"luck": 1}, {"luck": 0}]
    assert agent.decide(FULL, state, rng) == together[1]
    assert (agent.counters, agent.games_in_step) == (("luck",), 7)
    assert evaluate(FULL, agent, RandomAgent(), 2, seed=0).total.games == 2


def played_again(game: DeploymentGame, explore: float, rows: int) -> LabeledBatch:
    """Return batch 0 of seed 0 of tactical against greedy, played through the game instead of in one compiled call."""
    random, rng = generator(0, "labels", 0), np.zeros(1, RNG_RECORD)
    rng["random"] = random.integers(2**64, dtype=np.uint64)
    random.integers(1)
    made: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]] = []
    while len(made) < rows:
        state = game.initial(random)
        taught, positions = below(rng[0], 3), []
        while game.outcome(state) is None:
            seat, mask = game.to_move(state), state.games.mask[state.i].copy()
            action = choose(game.world, state.games, state.i, TACTICAL.policy(game), rng[0])
            positions.append((seat, game.observe(state), np.arange(mask.size) == action, mask))
            if taught == 1 - seat:
                action = choose(game.world, state.games, state.i, GREEDY.policy(game), rng[0])
            if below(rng[0], 1_000_000) < 1_000_000 * explore:
                action = any_action(state.games, state.i, rng[0])
            state = game.play(state, action)
        outcome = game.outcome(state)
        assert outcome is not None
        for seat, *row in positions:
            made.append((*row, np.zeros(0, np.float32), (1 + (outcome if seat == 0 else -outcome)) / 2))
    return LabeledBatch(*(np.stack(column) for column in zip(*made[:rows], strict=True)))


@pytest.mark.parametrize("explore", [0.0, 0.3])
def test_labels_have_the_teachers_action_and_the_outcome(explore: float):
    game = small_game()
    batch = BotTeacher(TACTICAL, {"greedy": GREEDY}, explore).labeled_batch(game, 0, 0, 500)
    for made, expected in zip(batch, played_again(game, explore, 500), strict=True):
        assert np.array_equal(made, expected)
    assert {0.0, 1.0} <= set(batch.win_probability)
    assert (batch.legal_actions | ~batch.good_actions).all()


def test_labels_depend_on_the_seed_and_number_alone():
    game, teacher = small_game(), BotTeacher(TACTICAL, {"tactical": TACTICAL, "greedy": GREEDY}, 0.1)
    first, again = teacher.labeled_batch(game, 3, 4, 100), teacher.labeled_batch(game, 3, 4, 100)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    for other in (teacher.labeled_batch(game, 3, 5, 100), teacher.labeled_batch(game, 4, 4, 100)):
        assert not np.array_equal(first.observation, other.observation)


def test_bad_settings_of_a_teacher_are_refused():
    with pytest.raises(UserError, match=r"teacher\.others is empty"):
        BotTeacher(TACTICAL, {}, 0.0)
    with pytest.raises(UserError, match=r"explore=1\.0 must be 0"):
        BotTeacher(Bot(FrontLine("first"), 0, 0, 0, 0, 0, 1.0), {"tactical": TACTICAL}, 0.0)
    with pytest.raises(UserError, match=r"placement\.ties=random must be first"):
        BotTeacher(placing(FrontLine("random")), {"tactical": TACTICAL}, 0.0)
    with pytest.raises(UserError, match="plays the wargame only"):
        BotTeacher(TACTICAL, {"tactical": TACTICAL}, 0.0).check(TicTacToe(symmetric=True))


def planner(policy: Bot | None = None, **changes: Any) -> Planner:
    values: dict[str, Any] = {"candidates": 100, "rollouts": 200, "turns": 1, "objectives": 0.5, "confidence": 0.0}
    return Planner(policy or bot(), **values | changes)


def last_turn():
    """Return a position that player 2 wins by reaching the objective, and loses by points otherwise."""
    state = battle(FIXED, a1=(0, 6), b2=(4, 0))
    state.games.games["round"] = 5
    wait_until(FIXED, state, "move", "b2")
    return state


def test_the_planner_finds_a_certain_win_that_its_bot_misses():
    state = last_turn()
    assert choice(PASSIVE, FIXED, state) == FIXED.actions.wait_action
    FIXED.play(state, choice(planner(PASSIVE), FIXED, state))
    assert FIXED.world.to_objective[0, state.games.units["cell"][0, 4]] == 0
    wait_out(FIXED, state)
    assert FIXED.outcome(state) == -1


def test_the_planner_charges_for_a_likely_kill_that_wins():
    """The charge is certain, and the sergeant kills the last enemy in 9 of 10 fights; its bot does not charge."""
    state = battle(FIXED, a2=(4, 5), b2=(4, 3))
    wait_until(FIXED, state, "charge", "a2")
    assert choice(PASSIVE, FIXED, state) == FIXED.actions.wait_action
    assert choice(planner(PASSIVE), FIXED, state) == aim(FIXED, state, "b2")


def test_a_search_changes_nothing_and_does_not_know_the_dice():
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


def test_a_batch_of_searches_gives_the_same_decisions():
    states = [begin(FIXED), last_turn(), begin(ACTIVE)]
    for game, some in ((FIXED, states[:2] * 3), (ACTIVE, states[2:])):
        together = planner().decide_batch(game, some, [np.random.default_rng(k) for k in range(len(some))])
        alone = [planner().decide(game, state, np.random.default_rng(k)) for k, state in enumerate(some)]
        assert together == alone


def test_the_planners_units_are_placed_by_its_bot():
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
def test_the_planner_plays_whole_games(activation: str):
    game = small_game(activation=activation)
    assert evaluate(game, planner(rollouts=30), planner(candidates=4, rollouts=4), 4, seed=0).total.games == 4


def test_bad_settings_of_a_planner_are_refused():
    wrong: dict[str, Any] = {"candidates": 0, "rollouts": 0, "turns": -1, "objectives": 1.5, "confidence": -1.0}
    for key, value in wrong.items():
        with pytest.raises(UserError, match=f"{key}={value} must be"):
            planner(**{key: value})


def test_the_planner_is_stronger_than_its_bot():
    score = evaluate(FIXED, planner(PASSIVE, rollouts=100), PASSIVE, 40, seed=0)
    assert score.total.wins >= 30  # one of a thousand times for a player of equal strength
