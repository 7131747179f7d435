"""A network that parses the observations of the wargame, checked against the game itself."""

import numpy as np
import pytest
import torch

from src.config.build import build
from src.core.errors import UserError
from src.envs.deployment import observation
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.net import Units, UnitsNet
from src.envs.deployment.observation import GLOBAL, PLANES, UNIT
from tests.test_compositions import composed

GAMES = ("deployment", "deployment_mirror", "deployment_siege")


@pytest.fixture(scope="module", params=GAMES)
def made(request: pytest.FixtureRequest) -> tuple[DeploymentEnv, Units]:
    small = ("algo.net.channels=8", "algo.net.blocks=1")
    cfg = composed(f"env={request.param}", "algo=ppo", "net@algo.net=units", *small)
    return build(cfg.env, "env"), build(cfg.algo.net, "algo.net")


def net_for(env: DeploymentEnv, architecture: Units) -> UnitsNet:
    torch.manual_seed(0)
    return architecture.build(env.observation_space.shape or (), env.game.num_actions)


def split(env: DeploymentEnv, architecture: Units, values: np.ndarray) -> tuple[torch.Tensor, ...]:
    return net_for(env, architecture).split(torch.from_numpy(values)[None])


def deployed(env: DeploymentEnv, seed: int) -> tuple[np.ndarray, int]:
    """Return an observation with units of both sides on the board, and its seat."""
    values, info = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    while values[0] > 0:  # deployment
        values, _, _, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    return values, info["seat"]


def test_the_layout_names_what_the_game_observes(made: tuple[DeploymentEnv, Units]):
    env, architecture = made
    values = deployed(env, seed=3)[0]
    for theirs, own in zip(observation.parts(env.game.world, values), split(env, architecture, values), strict=True):
        np.testing.assert_array_equal(theirs, own[0].numpy())
    assert GLOBAL[observation.SECOND] == "second", "in deployment, where the network needs it, the seat"
    indices = (observation.ON_BOARD, observation.ACTIVE, observation.COLUMN, observation.ROW)
    assert [UNIT[index] for index in indices] == ["on_board", "active", "col", "row"]
    assert PLANES[observation.OWN_ZONE] == "own_zone"


def test_cells_are_scored_in_the_order_of_the_actions(made: tuple[DeploymentEnv, Units]):
    """With one feature a cell, its own number, the scores of placements are the numbers of the cells they name."""
    env, architecture = made
    net, world, slots = net_for(env, architecture), env.game.world, architecture.unit_slots
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
        board = number.view(1, 1, architecture.rows, -1).expand(1, 8, -1, -1)
        scores = net.placement_logits(features, planes, board, torch.zeros(1, slots, 8))[0] / 8**0.5
        cells = world.hexes[seat][world.hexes[seat] >= 0]
        expected = world.seen[seat, cells]["turned"]
        assert scores[: cells.size].round().int().tolist() == expected.tolist()
        seen_seats.add(seat)
    assert seen_seats == {0, 1}


def test_unit_features_are_added_to_their_cells(made: tuple[DeploymentEnv, Units]):
    env, architecture = made
    net = net_for(env, architecture)
    _, units, planes = net.split(torch.from_numpy(deployed(env, seed=3)[0])[None])
    board = net.scatter(units[:, :, observation.ON_BOARD, None], net.cells_of(units))[0, 0]
    on_board = (planes[0, PLANES.index("own_hp")] > 0) | (planes[0, PLANES.index("their_hp")] > 0)
    assert torch.equal(board > 0, on_board)
    assert board.max() == 1


def test_every_kind_of_action_depends_on_what_is_seen(made: tuple[DeploymentEnv, Units]):
    env, architecture = made
    net, slots = net_for(env, architecture), architecture.unit_slots
    values = torch.from_numpy(deployed(env, seed=3)[0])[None].requires_grad_()
    heads = net(values)
    assert heads.policy.shape == (1, env.game.num_actions)
    sizes = (slots * architecture.hex_slots, 1, net.cells, slots, 1)
    for part in (*heads.policy.split(sizes, dim=1), heads.value):
        gradient = torch.autograd.grad(part.square().sum(), values, retain_graph=True)[0]
        assert gradient.abs().sum() > 0


def test_a_layout_that_does_not_fit_is_refused_with_both_sizes():
    with pytest.raises(UserError, match=r"\(5577,\) and 1052 actions, .* has \(5825,\) and 2120"):
        Units(unit_slots=5, hex_slots=104, rows=21, columns=25, channels=8, blocks=1, pool_every=0).build((5825,), 2120)
