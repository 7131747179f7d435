"""Observations agree with the game state and the action mask, and the network for units parses them."""

import copy
from itertools import chain

import numpy as np
import pytest
import torch

from src.config.build import build
from src.core.errors import UserError
from src.envs.deployment import observation
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.net import Units, UnitsNet
from src.envs.deployment.observation import GLOBAL, PLANES, UNIT
from src.envs.deployment.rules.state import GameState
from tests.envs.deployment import oracle
from tests.envs.deployment.making import (
    COVER_MAP,
    DEADLOCK,
    armies,
    begin,
    conf,
    full_game,
    random_game,
    roster,
    small_game,
)
from tests.test_compositions import composed

GAMES = {
    "small": small_game(),
    "full": full_game("classic_siege"),
    "cover": small_game(board={"map": COVER_MAP}),
    "alternated": small_game(deployment_order_mode="alternated_p1_start"),
}


def seen(game: DeploymentGame, state: GameState):
    facts, units, planes = observation.parts(game.world, game.observe(state))
    named = dict(zip(GLOBAL, facts, strict=True))
    return named, units, dict(zip(PLANES, planes, strict=True))


def test_the_layout_is_the_documented_one():
    assert (len(GLOBAL), len(UNIT), len(PLANES)) == (17, 31, 10)
    values = GAMES["small"].observe(begin(GAMES["small"]))
    assert values.shape == (GAMES["small"].observation_size,) == (17 + 2 * 3 * 31 + 10 * 63,)
    assert values.dtype == np.float32


@pytest.mark.parametrize("name", [*GAMES, "choice"])
def test_every_value_is_that_of_the_state(name: str):
    """Against an implementation without tables, of both players, over random games with wounds, flights and charges."""
    game = GAMES.get(name) or small_game(activation="choice", rounds=4, victory_points=3)
    out, varied, rng = np.zeros(game.observation_size, np.float32), [], np.random.default_rng(11)
    games = [random_game(game, rng) for _ in range(4 if name != "full" else 2)]
    for number, state in enumerate(chain(*games)):
        if name == "full" and number % 7:  # the reference is slow on the full board
            continue
        for player in (1, 2) if number % 3 == 0 else (game.to_move(state) + 1,):
            observation.observe(game.world, game.static_features, state.games, state.i, player - 1, out)
            np.testing.assert_allclose(out, oracle.observe(game, state, player), atol=1e-6)
            varied.append(out.copy())
    assert (np.min(varied), np.max(varied)) == (0, 1)
    facts, units, planes = zip(*(observation.parts(game.world, values) for values in varied), strict=True)
    assert not (np.ptp(facts, axis=0)[[GLOBAL.index(n) for n in GLOBAL if n != "phase_command"]] == 0).any()
    if name == "full":
        assert (np.ptp(np.array(units), axis=(0, 1)) > 0).all(), "every feature differs between units or moments"
    assert (np.array(planes).any(axis=(0, 2, 3))).all()


def test_extreme_profiles_stay_within_the_space():
    """Features of a huge unit are 1 at most; an army worth a single point is whole, one worth nothing has none."""
    huge = {"move": 99, "toughness": 99, "hp": 99, "control": 99, "points": 1}
    arms = {"attacks": 99, "hit": 2, "strength": 99, "ap": 6, "damage": 99}
    giant = conf("profiles/warriors")["rifleman"] | huge | {"ranged": arms | {"range": 99}, "melee": arms}
    scenario = armies(roster(a=("giant", (2, 5))), roster(b=("ghost", (2, 1))))
    game = small_game(scenario=scenario, profiles={"giant": giant, "ghost": giant | {"points": 0}})
    facts, units, _ = seen(game, begin(game))
    wide = [UNIT.index(name) for name in ("move", "toughness", "hp", "control", "ranged_reach", "melee_damage")]
    assert (units[0, wide] == 1).all()
    assert (facts["own_points"], facts["their_points"]) == (1, 0)


def test_a_deadlock_is_visible_in_the_observation():
    game = small_game(**DEADLOCK)
    state = begin(game)
    while not state.games.mask[0, game.actions.pass_action]:
        assert seen(game, state)[0]["placement_exists"] == 1
        game.play(state, game.legal_actions(state)[0])
    facts, _, planes = seen(game, state)
    assert facts["placement_exists"] == 0
    assert planes["candidate"].sum() == 0


@pytest.fixture(scope="module", params=["deployment", "deployment_siege"])
def made(request: pytest.FixtureRequest) -> tuple[DeploymentEnv, UnitsNet]:
    small = ("algo.net.channels=8", "algo.net.blocks=1")
    cfg = composed(f"env={request.param}", "algo=ppo", "net@algo.net=units", *small)
    env = build(cfg.env, "env")
    torch.manual_seed(0)
    return env, build(cfg.algo.net, "algo.net").build(env.observation_space.shape, env.game.num_actions)


def in_battle(env: DeploymentEnv) -> np.ndarray:
    """Return an observation with units of both sides on the board."""
    values, info = env.reset(seed=3)
    rng = np.random.default_rng(3)
    while values[0] > 0:  # deployment
        values, _, _, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    return values


def test_the_layout_names_what_the_game_observes(made: tuple[DeploymentEnv, UnitsNet]):
    env, net = made
    values = in_battle(env)
    parts = net.split(torch.from_numpy(values)[None])
    for theirs, own in zip(observation.parts(env.game.world, values), parts, strict=True):
        np.testing.assert_array_equal(theirs, own[0].numpy())
    assert GLOBAL[observation.SECOND] == "second", "in deployment, where the network needs it, the seat"
    indices = (observation.ON_BOARD, observation.ACTIVE, observation.COLUMN, observation.ROW)
    assert [UNIT[index] for index in indices] == ["on_board", "active", "col", "row"]
    assert PLANES[observation.OWN_ZONE] == "own_zone"


def test_cells_are_scored_in_the_order_of_the_actions(made: tuple[DeploymentEnv, UnitsNet]):
    """With one feature a cell, its own number, the scores of placements are the numbers of the cells they name."""
    env, made_net = made
    net, world = copy.deepcopy(made_net), env.game.world
    with torch.no_grad():
        for layer, weight, bias in ((net.cell_to_place, 1.0, 0.0), (net.unit_to_place, 0.0, 1.0)):
            layer.weight.fill_(weight / 8)
            layer.bias.fill_(bias)  # type: ignore[union-attr]
    seen_seats = set()
    for seed in range(8):
        values, info = env.reset(seed=seed)
        seat = info["seat"]
        features, _, planes = net.split(torch.from_numpy(values)[None])
        number = torch.arange(net.cells, dtype=torch.float32)
        board = number.view(1, 1, net.rows, -1).expand(1, 8, -1, -1)
        scores = net.placement_logits(features, planes, board, torch.zeros(1, net.slots, 8))[0] / 8**0.5
        cells = world.hexes[seat][world.hexes[seat] >= 0]
        expected = world.seen[seat, cells]["turned"]
        assert scores[: cells.size].round().int().tolist() == expected.tolist()
        seen_seats.add(seat)
    assert seen_seats == {0, 1}


def test_unit_features_are_added_to_their_cells(made: tuple[DeploymentEnv, UnitsNet]):
    env, net = made
    _, units, planes = net.split(torch.from_numpy(in_battle(env))[None])
    board = net.scatter(units[:, :, observation.ON_BOARD, None], net.cells_of(units))[0, 0]
    on_board = (planes[0, PLANES.index("own_hp")] > 0) | (planes[0, PLANES.index("their_hp")] > 0)
    assert torch.equal(board > 0, on_board)
    assert board.max() == 1


def test_every_kind_of_action_depends_on_what_is_seen(made: tuple[DeploymentEnv, UnitsNet]):
    env, net = made
    values = torch.from_numpy(in_battle(env))[None].requires_grad_()
    heads = net(values)
    assert heads.policy.shape == (1, env.game.num_actions)
    sizes = (net.slots * net.hex_slots, 1, net.cells, net.slots, 1)
    for part in (*heads.policy.split(sizes, dim=1), heads.value):
        gradient = torch.autograd.grad(part.square().sum(), values, retain_graph=True)[0]
        assert gradient.abs().sum() > 0


def test_a_layout_that_does_not_fit_is_refused_with_both_sizes():
    with pytest.raises(UserError, match=r"\(5577,\) and 1052 actions, .* has \(5825,\) and 2120"):
        Units(unit_slots=5, hex_slots=104, rows=21, columns=25, channels=8, blocks=1, pool_every=0).build((5825,), 2120)
