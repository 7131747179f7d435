"""The action space: indices, their meaning and legality, which unit acts, and reports of what an action did."""

from zlib import crc32

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.agent import Decision, RandomAgent
from src.core.play.game import Game
from src.envs.deployment.bots import FirstUnit
from src.envs.deployment.rules.deployment import DeploymentError
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.step_report import Command, apply_and_describe, apply_command
from tests.envs.deployment import oracle
from tests.envs.deployment.making import (
    COVER_MAP,
    SMALL_MAP,
    SMALL_SCENARIO,
    aim,
    battle,
    begin,
    bot,
    contents,
    copied,
    full_game,
    go,
    position,
    random_action,
    random_game,
    roster,
    small_game,
    wait_until,
)

BY_ID = small_game(deployment_type="fixed")
CHOICE = small_game(activation="choice")  # players choose the unit that acts
FIXED = small_game(activation="choice", deployment_type="fixed")
SIEGE = full_game("classic_siege")
STRIDE = 0x9E3779B97F4A7C15  # which the generator of the dice adds for every die


def test_the_dimensions_are_those_of_the_contract():
    """5.2: fixed by the two keys, independent of the scenario."""
    game = full_game(deployment_max_unit_slots=10, deployment_max_hex_slots=180)
    actions, pool = game.actions, game.scenario.pools[0]
    assert (actions.deployment_action_dim, actions.pass_action) == (10 * 180 + 1, 10 * 180)
    assert actions.wait_action + 1 == game.num_actions == (10 * 180 + 1) + 525 + 10 + 1
    state = begin(game)
    placements = [actions.deploy(slot, state.cell_of(one)) for slot in range(5) for one in pool]
    assert placements == [slot * 180 + hex_slot for slot in range(5) for hex_slot in range(len(pool))]
    assert game.legal_actions(state) == placements, "slots without a unit or a hex are masked"
    other = full_game("classic_mirror", "trench", deployment_max_unit_slots=10, deployment_max_hex_slots=180)
    assert other.num_actions == game.num_actions, "whatever the scenario and its zones"


def test_units_are_ordered_by_id_and_hexes_by_column_and_row():
    """5.1: lexicographic ids, independent of their order in the scenario, and hexes by (col, row)."""
    shuffled = roster(u10=("rifleman", (2, 5)), u2=("sergeant", (4, 5)), U3=("brute", (6, 5)))
    game = small_game(scenario=SMALL_SCENARIO | {"player_1": shuffled})
    state, actions = begin(game), game.actions
    assert [unit.id for unit in game.scenario.rosters[0]] == ["U3", "u10", "u2"]
    pool = state.deployment_state.deployment_pools_by_player[1]
    assert list(pool) == sorted(pool)
    for action in range(actions.pass_action):
        unit_slot, hex_slot = actions.slots_of(action)
        unit = ("U3", "u10", "u2")[unit_slot]
        assert actions.describe(state, action) == f"deploy_unit {unit} {pool[hex_slot]}"


def test_the_mapping_is_stable():
    """10.2.1: an index means the same tuple in every episode and after every placement, and it places so."""
    game, rng = small_game(), np.random.default_rng(0)
    meanings: dict[tuple[int, int], str] = {}
    for _ in range(20):
        state = game.initial(rng)
        while state.phase == "deployment":
            player = state.deployment_state.current_deployer
            for action in game.legal_actions(state):
                name = game.actions.describe(state, action)
                assert meanings.setdefault((player, action), name) == name
            action, by_name = random_action(game, state, rng), copied(game, state)
            unit, at = meanings[player, action].split()[1], game.actions.target_hex(state, action)
            assert at is not None
            game.deploy_unit(by_name, unit, *at)
            game.play(state, action)
            assert by_name.units == state.units
            assert meanings[player, action] == f"deploy_unit {unit} {position(state, unit)}"
    assert len(meanings) == 14 * 2 + 14 * 3


def test_passing_is_legal_only_where_nothing_else_is():
    """10.2.3, over many games of which some are stuck."""
    game, rng, seen = small_game(min_enemy_distance=8, on_deadlock="truncate"), np.random.default_rng(3), set()
    for _ in range(60):
        for state in random_game(game, rng):
            if state.phase == "deployment" and game.outcome(state) is None:
                mask = state.games.mask[0]
                placements = bool(mask[: game.actions.pass_action].any())
                assert mask[game.actions.pass_action] == (not placements)
                seen.add(placements)
    assert seen == {True, False}


def test_destinations_are_numbered_as_the_player_sees_the_board():
    """The board is rotated for player 2: the hex in front of its unit has the same index as for player 1."""
    game, rng = small_game(), np.random.default_rng(4)
    for player in (1, 2):
        state = next(one for one in random_game(game, rng) if one.phase == "move" and game.to_move(one) == player - 1)
        assert state.active_unit_id is not None
        unit = state.units[state.active_unit_id]
        reached = oracle.steps_to(state, unit, unit.profile.move).keys() - {oracle.at(unit)}
        names = {oracle.move_to(game, one, player): f"{unit.id} goes to {one}" for one in reached}
        assert {action: game.actions.describe(state, action) for action in game.legal_actions(state)[:-1]} == names


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (-1, r"action -1 does not exist: they are 0\.\.115"),
        (116, r"action 116 does not exist"),
        (2 * 16, "unit slot 2 of player 1 is empty"),
        (15, "hex slot 15 of player 1 is empty"),
        (48, "player 1 has a legal placement"),
        (60, "the phase is deployment: deploy a unit first"),
        (115, "the phase is deployment"),
    ],
)
def test_an_illegal_action_is_rejected_with_a_reason(action: int, message: str):
    game = small_game(deployment_max_hex_slots=16)
    with pytest.raises(DeploymentError, match=message):
        game.play(begin(game), action)


def test_actions_are_named_by_unit_and_hex():
    state = battle(BY_ID, a1=(4, 6), b2=(8, 0))
    for action, words, name in (
        (go(BY_ID, state, (4, 5)), "a1 goes to (4, 5)", "go:4,5"),
        (BY_ID.actions.wait_action, "a1 waits", "wait"),
    ):
        assert (BY_ID.actions.describe(state, action), BY_ID.move_name(state, action)) == (words, name)
    wait_until(BY_ID, state, "shoot", "a1")
    shot = aim(BY_ID, state, "b2")
    assert (BY_ID.actions.describe(state, shot), BY_ID.move_name(state, shot)) == ("a1 shoots b2", "shoot:b2")


def test_no_unit_is_active_before_it_is_chosen():
    """Choosing a unit is choosing its hex, so the action space and the weights of networks are the same."""
    assert (CHOICE.num_actions, CHOICE.observation_size) == (BY_ID.num_actions, BY_ID.observation_size)
    rng = np.random.default_rng(1)
    state, chosen = begin(CHOICE, 1), set()
    while CHOICE.outcome(state) is None:
        action, before = random_action(CHOICE, state, rng), state.active_unit_id
        at = CHOICE.actions.target_hex(state, action)
        in_battle = state.phase != "deployment"
        CHOICE.play(state, action)
        if in_battle and before is None:
            assert state.active_unit_id is not None
            assert position(state, state.active_unit_id) == at
            assert state.units[state.active_unit_id].player == CHOICE.to_move(state) + 1
            chosen.add(state.active_unit_id)
        else:
            assert state.active_unit_id is None, "an action ends the activation"
    assert {"a1", "a2", "b1", "b2"} <= chosen


def test_units_act_in_the_order_that_their_player_chooses():
    state = battle(FIXED, a1=(2, 5), a2=(4, 5), b1=(2, 1))
    assert FIXED.legal_actions(state) == sorted(go(FIXED, state, at) for at in ((2, 5), (4, 5)))
    FIXED.play(state, go(FIXED, state, (4, 5)))
    assert state.active_unit_id == "a2"
    FIXED.play(state, FIXED.actions.wait_action)
    assert FIXED.legal_actions(state) == [go(FIXED, state, (2, 5))], "a single unit is chosen too"
    assert state.units["a2"].acted


def test_chargers_are_chosen_first_in_fights():
    """a2 has charged b1, beside which a1 stands: a1 fights after the charger, and after b1's answer."""

    def play(state: GameState, action: int) -> None:
        FIXED.play(state, action)
        FIXED.play(state, FIXED.actions.wait_action)

    state = battle(FIXED, a1=(2, 5), a2=(4, 5), b1=(3, 4))
    while state.phase != "fight" or state.game["to_move"] != 0:
        play(state, FIXED.legal_actions(state)[0])
    state.games.units["charged"][0, state.number("a2")] = True
    play(state, go(FIXED, state, (2, 5)))  # chosen before the flag was set by hand
    assert {FIXED.actions.target_hex(state, action) for action in FIXED.legal_actions(state)} == {(4, 5)}


def test_names_and_errors_speak_of_the_choice():
    state = battle(FIXED, a1=(2, 5), a2=(4, 5), b1=(2, 1))
    action = go(FIXED, state, (2, 5))
    assert FIXED.move_name(state, action) == "unit:a1"
    for illegal in (FIXED.actions.wait_action, aim(FIXED, state, "b1"), go(FIXED, state, (0, 5))):
        with pytest.raises(UserError, match="no unit is active: choose the hex of a1 or a2"):
            FIXED.play(state, illegal)
    report = apply_and_describe(FIXED, state, Command("play", (action,)))
    assert report.action == "player 1 chooses a1"
    assert (report.start, report.end, report.dice) == (None, (2, 5), None)


@pytest.mark.parametrize("weights", [{"to_enemy": 1.0}, {}, {"threat": 1.0, "objective": 10.0, "to_objective": 0.5}])
def test_bots_choose_by_id_so_that_their_games_are_the_same(weights: dict[str, float]):
    """Thus they are as strong as with `by_id`, in whole games."""
    for seed in range(3):
        finals = []
        for game in (small_game(), CHOICE):
            state = begin(game, seed)
            while game.outcome(state) is None:
                action = bot(**weights).decide(game, state, np.random.default_rng(0)).action
                assert action is not None
                game.play(state, action)
            finals.append((state.units, state.victory_points, game.outcome(state), int(state.game["random"])))
        assert finals[0] == finals[1]


class ByObservation(RandomAgent):
    """Draws its action from what it observes alone, as a network does."""

    def decide(self, game: Game, view: GameState, rng: np.random.Generator) -> Decision:
        return super().decide(game, view, np.random.default_rng(crc32(game.observe(view).tobytes())))


def test_an_agent_made_for_by_id_plays_the_same_game_where_its_player_chooses():
    """It observes the same once the first unit is chosen; a choice is never asked of it."""
    with_choice, agent = full_game(activation="choice"), ByObservation()
    by_id, chosen, chooses = full_game(), FirstUnit(agent), 0
    one, other, rng = begin(by_id, 3), begin(with_choice, 3), np.random.default_rng(0)
    while by_id.outcome(one) is None:
        if other.phase != "deployment":
            assert other.active_unit_id is None
            first = chosen.decide(with_choice, other, rng).action
            assert first is not None
            with_choice.play(other, first)
            chooses += 1
        np.testing.assert_array_equal(by_id.observe(one), with_choice.observe(other))
        assert one.active_unit_id == other.active_unit_id
        action = agent.decide(by_id, one, rng).action
        assert action is not None
        assert chosen.decide(with_choice, other, rng).action == action
        by_id.play(one, action)
        with_choice.play(other, action)
    assert with_choice.outcome(other) == by_id.outcome(one)
    assert one.units == other.units
    assert chooses > 50


def test_a_report_has_the_dice_that_were_rolled_and_their_effect():
    """Over a whole game, which its seed and commands replay."""
    game = SIEGE
    state, again, rng, player = begin(game, 3), begin(game, 3), np.random.default_rng(0), bot(0.2)
    charges, phases, hurt = set(), set(), 0
    while game.outcome(state) is None:
        command, word = Command("play", (player.decide(game, state, rng).action,)), int(state.game["random"])
        report = apply_and_describe(game, state, command)
        rolled = (int(state.game["random"]) - word) * pow(STRIDE, -1, 2**64) % 2**64
        assert rolled == (0 if report.dice is None else sum(map(len, report.dice.rolled))), report
        apply_command(game, again, command)
        assert again.units == state.units
        if report.dice is None:
            continue
        phases.add(report.phase)
        if report.phase == "charge":
            reached = any("reaches its target" in event for event in report.events)
            assert reached == (sum(report.dice.rolled[0]) >= report.dice.needed[0]), report
            assert ("the charge falls short" in report.events) != reached
            charges.add(reached)
        else:
            through = sum(len(dice) == 3 and dice[2] < report.dice.needed[2] for dice in report.dice.rolled)
            assert (report.damage > 0) == (through > 0), report
            assert any("loses" in event for event in report.events) == (through > 0)
            hurt += through
    assert phases == {"shoot", "charge", "fight"}
    assert charges == {True, False}
    assert hurt > 10


def test_an_event_is_reported_once_when_it_happens():
    """Every kind over a whole game, compared with the state before and after each action."""
    game, rng, player = SIEGE, np.random.default_rng(0), bot(0.2)
    words_of = {"turns": "'s turn", "points": " scores ", "flights": " has fled"}
    words_of |= {"holders": " takes objective ", "losses": " left", "falls": "hp and falls"}
    state, kinds = begin(game, 3), dict.fromkeys(words_of, 0)
    while game.outcome(state) is None:
        before, points, turn = state.units, state.victory_points, (state.round, state.current_player)
        holders, to_move = state.objectives, game.to_move(state) + 1
        action = player.decide(game, state, rng).action
        report = apply_and_describe(game, state, Command("play", (action,)))
        assert report.player == to_move
        hurt = {one: unit for one, unit in state.units.items() if unit.hp < before[one].hp}
        now = f"round {state.round}: player {state.current_player}'s turn"
        expected = {
            "turns": [now] if (state.round, state.current_player) != turn else [],
            "points": [f"player {k} scores {state.victory_points[k] - points[k]}" for k in (1, 2)],
            "flights": [f"{one} has fled" for one, unit in state.units.items() if unit.fled and not before[one].fled],
            "holders": [f"player {k} takes objective {at}" for at, k in state.objectives.items() if k != holders[at]],
            "losses": [f"{one} loses {before[one].hp - unit.hp} hp, {unit.hp} left" for one, unit in hurt.items()],
            "falls": [f"{one} loses {before[one].hp} hp and falls" for one, unit in hurt.items() if unit.col < 0],
        }
        expected["losses"] = [words for words in expected["losses"] if not words.endswith(" 0 left")]
        expected["points"] = [words for words in expected["points"] if not words.endswith(" 0")]
        for kind, words in words_of.items():
            assert [event for event in report.events if words in event] == expected[kind]
            kinds[kind] += len(expected[kind])
    assert kinds["turns"] == 10
    assert min(kinds.values()) > 0


@pytest.mark.parametrize(("board", "save"), [(SMALL_MAP, 5), (COVER_MAP, 4)])
def test_the_save_in_cover_is_reported(board: str, save: int):
    """A brute on (4, 4), shot at with AP-1."""
    game = small_game(deployment_type="fixed", board={"map": board})
    state = battle(game, a1=(4, 6), b1=(4, 4))
    wait_until(game, state, "shoot", "a1")
    report = apply_and_describe(game, state, Command("play", (aim(game, state, "b1"),)))
    assert report.dice is not None
    assert report.dice.needed[2] == save


def test_an_illegal_command_raises_and_changes_nothing():
    state = begin(SIEGE)
    before = contents(state)
    for name, *arguments in (("play", SIEGE.actions.wait_action), ("deploy_unit", "R1", 0, 0), ("play", 10**9)):
        with pytest.raises(UserError):
            apply_and_describe(SIEGE, state, Command(name, tuple(arguments)))
        assert contents(state) == before


def test_commands_of_people_are_reported_by_name():
    state = begin(SIEGE)
    assert apply_and_describe(SIEGE, state, Command("deploy_unit", ("R1", 10, 13))).end == (10, 13)
    assert apply_and_describe(SIEGE, state, Command("undeploy_unit", ("R1",))).action == "undeploy_unit R1"
    assert apply_and_describe(SIEGE, state, Command("deploy_unit", ("R1", 9, 14))).action == "deploy_unit R1 (9, 14)"
