"""An account of an action tells the dice that were rolled and what changed, and changes nothing itself."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.account import Account, Step, apply_and_describe, perform
from src.envs.deployment.game import DeploymentGame
from tests.envs.deployment.making import begin, bot, contents, full_game

STRIDE = 0x9E3779B97F4A7C15  # what the dice's generator adds for every die


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game("siege")


@pytest.fixture(scope="module")
def described(game: DeploymentGame) -> list[tuple[Step, Account, int, bytes]]:
    """A whole game: each step with its account, how many dice the engine rolled, and the state after it."""
    state, rng, player, entries = begin(game, 3), np.random.default_rng(0), bot(0.2), []
    while game.outcome(state) is None:
        step, word = Step("play", (player.decide(game, state, rng).action,)), int(state.game["random"])
        account = apply_and_describe(game, state, step)
        stepped = (int(state.game["random"]) - word) * pow(STRIDE, -1, 2**64) % 2**64
        entries.append((step, account, stepped, state.games.units.tobytes()))
    return entries


def test_the_dice_told_are_those_the_engine_rolled(described: list[tuple[Step, Account, int, bytes]]):
    for _, account, rolled, _ in described:
        assert rolled == (0 if account.dice is None else sum(map(len, account.dice.rolled))), account
    assert {account.phase for _, account, _, _ in described if account.dice} == {"shoot", "charge", "fight"}


def test_damage_is_what_the_dice_say(described: list[tuple[Step, Account, int, bytes]]):
    hurt = 0
    for _, account, _, _ in described:
        if account.phase in ("shoot", "fight") and account.dice:
            save = account.dice.needed[2]
            through = sum(len(dice) == 3 and dice[2] < save for dice in account.dice.rolled)
            assert (account.damage > 0) == (through > 0), account
            assert any("loses" in event for event in account.events) == (through > 0)
            hurt += through
    assert hurt > 10


def test_a_charge_is_told_as_it_went(described: list[tuple[Step, Account, int, bytes]]):
    outcomes = set()
    for _, account, _, _ in described:
        if account.phase == "charge" and account.dice:
            reached = any("reaches its target" in event for event in account.events)
            assert reached == (sum(account.dice.rolled[0]) >= account.dice.needed[0]), account
            assert ("the charge falls short" in account.events) != reached
            outcomes.add(reached)
    assert outcomes == {True, False}


def test_a_seed_and_its_steps_are_the_game(game: DeploymentGame, described: list[tuple[Step, Account, int, bytes]]):
    state = begin(game, 3)
    for step, _, _, units in described:
        perform(game, state, step)
        assert state.games.units.tobytes() == units


def test_a_refused_step_is_not_told_and_changes_nothing(game: DeploymentGame):
    state = begin(game)
    before = contents(state)
    for step in (Step("play", (game.actions.waiting,)), Step("deploy_unit", ("R1", 0, 0)), Step("play", (10**9,))):
        with pytest.raises(UserError):
            apply_and_describe(game, state, step)
        assert contents(state) == before


def test_actions_of_people_are_told_by_name(game: DeploymentGame):
    state = begin(game)
    assert apply_and_describe(game, state, Step("deploy_unit", ("R1", 10, 13))).end == (10, 13)
    assert apply_and_describe(game, state, Step("undeploy_unit", ("R1",))).action == "undeploy_unit R1"
    assert apply_and_describe(game, state, Step("deploy_unit", ("R1", 9, 14))).action == "deploy_unit R1 (9, 14)"


def test_legal_actions_point_at_hexes(game: DeploymentGame):
    """All placements of a unit together point at its player's whole zone."""
    state = begin(game)
    placements = [action for action in game.legal_actions(state) if game.actions.slots_of(action)[0] == 0]
    assert {game.actions.points_at(state, action) for action in placements} == set(game.scenario.pools[0])
    assert game.actions.points_at(state, game.actions.waiting) is None
