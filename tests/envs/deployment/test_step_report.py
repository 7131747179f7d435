"""A step report contains the dice that were rolled and what changed."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.step_report import Command, apply_and_describe, apply_command
from tests.envs.deployment.making import (
    COVER_MAP,
    SMALL_MAP,
    aim,
    battle,
    begin,
    bot,
    contents,
    full_game,
    small_game,
    wait_until,
)

STRIDE = 0x9E3779B97F4A7C15  # which the generator of the dice adds for every die


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game("classic_siege")


def test_a_report_has_the_dice_that_were_rolled_and_their_effect(game: DeploymentGame):
    """Over a whole game, which its seed and commands replay."""
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


@pytest.mark.parametrize(("board", "save"), [(SMALL_MAP, 5), (COVER_MAP, 4)])
def test_the_save_in_cover_is_reported(board: str, save: int):
    """A brute on (4, 4), shot at with AP-1."""
    game = small_game(deployment_type="fixed", board={"map": board})
    state = battle(game, a1=(4, 6), b1=(4, 4))
    wait_until(game, state, "shoot", "a1")
    report = apply_and_describe(game, state, Command("play", (aim(game, state, "b1"),)))
    assert report.dice is not None
    assert report.dice.needed[2] == save


def test_an_illegal_command_raises_and_changes_nothing(game: DeploymentGame):
    state = begin(game)
    before = contents(state)
    for step in (
        Command("play", (game.actions.wait_action,)),
        Command("deploy_unit", ("R1", 0, 0)),
        Command("play", (10**9,)),
    ):
        with pytest.raises(UserError):
            apply_and_describe(game, state, step)
        assert contents(state) == before


def test_commands_of_people_are_reported_by_name(game: DeploymentGame):
    state = begin(game)
    assert apply_and_describe(game, state, Command("deploy_unit", ("R1", 10, 13))).end == (10, 13)
    assert apply_and_describe(game, state, Command("undeploy_unit", ("R1",))).action == "undeploy_unit R1"
    assert apply_and_describe(game, state, Command("deploy_unit", ("R1", 9, 14))).action == "deploy_unit R1 (9, 14)"


def test_legal_actions_have_target_hexes(game: DeploymentGame):
    """The placements of a unit cover the whole zone of its player."""
    state = begin(game)
    placements = [action for action in game.legal_actions(state) if game.actions.slots_of(action)[0] == 0]
    assert {game.actions.target_hex(state, action) for action in placements} == set(game.scenario.pools[0])
    assert game.actions.target_hex(state, game.actions.wait_action) is None
