"""Environments in which a placement deploys the learner's units."""

from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent
from src.envs.deployment.bots.placement import BackLine, Deterministic, FrontLine, Placement, Scripted
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.world import DEPLOYMENT
from tests.envs.deployment.making import REWARD, bot, full_game, small_game

ORDERS = ("player_by_player", "alternated_p1_start")
SEATS = ("first", "second")


def make(game: DeploymentGame, opponent: Agent, seat: Any, **placements: Placement) -> DeploymentEnv:
    return DeploymentEnv(game, opponent, REWARD, seat, {}, placements=placements)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("opponent", [bot(), RandomAgent()], ids=["compiled", "python"])
def test_the_learner_begins_in_the_battle_with_its_units_placed(opponent: Agent, seat: str, order: str):
    game = small_game(deployment_order_mode=order)
    env = make(game, opponent, seat, scripted=Scripted())
    for seed in range(5):
        _, info = env.reset(seed=seed)
        state = env._batch.states[0]
        assert state.phase != "deployment"
        own = [unit for unit in state.units.values() if unit.player - 1 == info["seat"]]
        starts = {unit.id: unit.position for unit in game.scenario.rosters[info["seat"]]}
        cells = state.games.units["start"][0]
        assert {unit.id: int(cells[state.number(unit.id)]) for unit in own} == {
            name: state.cell_of(at) for name, at in starts.items()
        }


def test_drawn_placements_do_not_count_as_deployments():
    game = full_game()
    batch = make(game, bot(), "first", front=FrontLine(), back=BackLine()).vectorize(8)
    batch.reset(seed=3)
    rng, drawn = np.random.default_rng(0), set()
    starts: dict[int, set[int]] = {0: set(), 1: set()}
    for _ in range(200):
        for i, placement in enumerate(batch.buffers.results["placement"]):
            drawn.add(int(placement))
            starts[int(placement)].update(batch.games.units["start"][i, :5].tolist())
        masks = batch.action_masks()
        _, _, ended, _, info = batch.step((masks * rng.random(masks.shape)).argmax(axis=1))
        assert (batch.games.games["phase"] != DEPLOYMENT).all()
        if ended.any():
            assert (info["final_info"]["deployment_steps_mean"][ended] == 14).all(), "both sides were placed"
    assert drawn == {0, 1}
    assert not starts[0] & starts[1], "the front line and the back line"
    assert batch.episode_stats.episodes == 0


@pytest.mark.parametrize("opponent", [bot(), RandomAgent()], ids=["compiled", "python"])
def test_units_that_were_placed_for_the_learner_are_not_rewarded(opponent: Agent):
    env = make(small_game(), opponent, "first", front=FrontLine())
    env.reset(seed=1)
    _, _, _, _, info = env.step(int(np.flatnonzero(env.action_masks())[-1]))
    assert info["rewards"]["deployment"] == 0


def test_a_fixed_deployment_has_no_placements():
    with pytest.raises(UserError, match=r"env\.placements is for active deployments"):
        make(small_game(deployment_type="fixed"), bot(), "first", front=FrontLine())


def test_a_script_that_does_not_fit_is_refused():
    with pytest.raises(UserError, match="script does not fit"):
        make(full_game(zones="trench"), bot(), "first", front=FrontLine(), scripted=Scripted())
    make(full_game(zones="trench"), bot(), "first", line=Deterministic())
