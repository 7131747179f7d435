from typing import Any

import numpy as np
import pytest
import torch

from src.core.errors import UserError
from src.envs.minesweeper.net import CellCodes
from src.envs.minesweeper.observation import encode
from src.envs.minesweeper.variant import Encoding
from src.nets.auto import AutoNet
from src.nets.boards import CNN, Residual
from src.nets.flat import MLP, FlatNet
from src.nets.symmetry import averaged, mirrored, mirrors

CODES = CellCodes()
ARCHITECTURES = [
    CNN(16, encoder=CODES, value_pool="mean_max"),
    Residual(8, 3, 2, encoder=CODES, value_pool="mean_max"),
    Residual(8, 1, 0, encoder=CODES, value_pool="mean_max"),
]


def board(rows: int, cols: int, seed: int = 0, batch: int = 2) -> torch.Tensor:
    return torch.randint(-2, 9, (batch, rows, cols), dtype=torch.int8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("net", ARCHITECTURES, ids=["cnn", "residual", "residual without pooling"])
def test_all_reveals_come_before_all_flags(net: CNN | Residual):
    rows, cols = 3, 5
    module = net.build((rows, cols), 2 * rows * cols, aux=True)
    conv: Any = module.policy_head[0]
    with torch.no_grad():
        conv.weight.zero_()
        conv.bias.copy_(torch.tensor([1.0, -1.0]))
    policy = module(board(rows, cols)).policy
    assert (policy[:, : rows * cols] == 1).all()
    assert (policy[:, rows * cols :] == -1).all()


def test_a_logit_belongs_to_the_cell_of_its_number():
    """What changes in one corner is seen in the logits of that corner, of either kind, and of no cell far away."""
    rows, cols = 9, 12
    module = Residual(8, 1, 0, encoder=CODES, value_pool="mean_max").build((rows, cols), 2 * rows * cols, aux=True)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    before = torch.full((1, rows, cols), -1, dtype=torch.int8)
    after = before.clone()
    after[0, rows - 1, 0] = 3
    changed = (module(before).policy != module(after).policy)[0].view(2, rows, cols)
    assert changed[:, rows - 1, 0].all()
    assert not changed[:, 0, :].any()
    assert not changed[:, :, cols - 1].any()


@pytest.mark.parametrize("net", ARCHITECTURES, ids=["cnn", "residual", "residual without pooling"])
def test_one_set_of_weights_plays_every_size(net: CNN | Residual):
    module = net.build((8, 8), 64, aux=True)
    heads = module(board(16, 30))
    assert heads.policy.shape == (2, 480)
    assert heads.value.shape == (2,)
    assert heads.aux.shape == (2, 16, 30)


@pytest.mark.parametrize(
    "net", [CNN(16, None, True, value_pool="mean_max"), Residual(8, 1, 0, None, True, value_pool="mean_max")], ids=str
)
def test_actions_on_corners_come_after_those_on_cells(net: CNN | Residual):
    """One kind on the 9 x 9 cells and two on the 8 x 8 corners between them, as in Quoridor."""
    module = net.build((2, 9, 9), 81 + 2 * 64)
    conv: Any = module.policy_head[0]
    with torch.no_grad():
        conv.weight.zero_()
        conv.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
    policy = module(torch.zeros(1, 2, 9, 9)).policy[0]
    assert policy.tolist() == [1.0] * 81 + [2.0] * 64 + [3.0] * 64
    assert module(torch.zeros(1, 2, 5, 5)).policy.shape == (1, 25 + 2 * 16)


def test_a_logit_of_a_corner_belongs_to_the_cell_below_and_left_of_it():
    module = Residual(8, 1, 0, None, True, value_pool="mean_max").build((1, 9, 9), 81 + 2 * 64)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    before = torch.zeros(1, 1, 9, 9)
    after = before.clone()
    after[0, 0, 7, 1] = 1.0
    changed = (module(before).policy != module(after).policy)[0, 81:].view(2, 8, 8)
    assert changed[:, 7, 1].all()
    assert not changed[:, :, 5:].any()
    assert not changed[:, :4].any()


def test_actions_that_belong_to_no_cell_get_a_dense_layer():
    assert CNN(16, None, True, value_pool="mean_max").build((4, 3, 3), 19)(torch.zeros(2, 4, 3, 3)).policy.shape == (
        2,
        19,
    )
    assert CNN(16, value_pool="mean_max").build((4, 3, 3), 20)(torch.zeros(2, 4, 3, 3)).policy.shape == (2, 20)


def test_a_board_spread_into_planes_is_what_the_environment_shows():
    visible = board(4, 7, batch=1)
    expected = encode(Encoding(), visible[0].numpy(), 5)
    assert np.array_equal(CODES.encode(visible)[0].float().numpy(), expected)
    assert len(expected) == CODES.planes()


@pytest.mark.parametrize("net", [CNN(16, value_pool="mean_max"), Residual(8, 1, 0, value_pool="mean_max")], ids=str)
def test_values_of_a_board_without_codes_are_quantities(net: CNN | Residual):
    module = net.build((4, 4), 16)
    low, high = (module(torch.full((1, 4, 4), value)).policy for value in (0.25, 0.75))
    assert not torch.equal(low, high)
    stem: Any = next(iter(module.trunk.children()))
    assert stem.in_channels == 1


def test_quantities_are_not_encoded_as_codes():
    """Otherwise 0.25 and 0.75 would be the same planes."""
    with pytest.raises(UserError, match=r"set net_defaults\.encoder=null"):
        CNN(16, encoder=CODES, value_pool="mean_max").build((4, 4), 16)(torch.full((1, 4, 4), 0.25))


def test_the_policy_does_not_train_the_auxiliary_head_that_it_reads():
    module = Residual(8, 1, 0, policy_from_aux=2.0, encoder=CODES, value_pool="mean_max").build((4, 4), 16, aux=True)
    heads = module(board(4, 4))
    heads.policy.square().sum().backward()
    trained = {name for name, weight in module.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert "aux_weight" in trained
    assert trained.isdisjoint({"aux_head.weight", "aux_head.bias"})
    module(board(4, 4)).aux.sum().backward()
    gradients = {name: weight.grad for name, weight in module.named_parameters()}
    gradient = gradients["aux_head.weight"]
    assert gradient is not None
    assert gradient.any()


def test_what_is_no_board_is_refused():
    with pytest.raises(UserError, match="is not a board"):
        CNN(16, value_pool="mean_max").build((5,), 5)


def test_a_tower_begins_as_its_first_convolution():
    """Any number of blocks starts as the identity."""
    module = Residual(8, 4, 2, value_pool="mean_max").build((3, 4, 4), 16)
    planes = torch.rand(2, 3, 4, 4)
    stem = next(iter(module.trunk.children()))
    assert torch.equal(module.trunk(planes), torch.relu(stem(planes)))


@pytest.mark.parametrize(("rows", "cols", "count"), [(4, 4, 8), (3, 5, 4)])
def test_mirrors_are_all_different_and_undone(rows: int, cols: int, count: int):
    x = torch.arange(rows * cols).view(1, rows, cols)
    images = [turn(x) for turn, _ in mirrors(rows, cols)]
    assert len({tuple(image.flatten().tolist()) for image in images}) == count
    assert all(torch.equal(undo(turn(x)), x) for turn, undo in mirrors(rows, cols))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_the_average_is_the_same_for_every_mirror_image(shape: tuple[int, int]):
    net = Residual(8, 1, 1, value_pool="mean_max").build(shape, 2 * shape[0] * shape[1], aux=True)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(std=0.3, generator=torch.Generator().manual_seed(3))
    x = board(*shape)
    plain, average = net(x), averaged(net, x)
    assert not torch.allclose(plain.policy, average.policy)
    for turn, undo in mirrors(*shape):
        image = averaged(net, turn(x))
        policy = undo(image.policy.view(2, 2, *turn(x).shape[-2:])).flatten(1)
        assert torch.allclose(policy, average.policy, atol=1e-5)
        assert torch.allclose(undo(image.aux), average.aux, atol=1e-5)
        assert torch.allclose(image.value, average.value, atol=1e-5)


def test_labels_are_turned_with_their_board():
    x = board(3, 5, batch=4)
    right, mine = torch.cat([x > 3, x > 5], dim=1).flatten(1), x.float()
    for choice in range(4):
        turned, policy, cells = mirrored(x, right, mine, choice)
        assert torch.equal(policy, torch.cat([turned > 3, turned > 5], dim=1).flatten(1))
        assert torch.equal(cells, turned.float())
        with_pass = mirrored(x, torch.cat([right, torch.full((4, 1), 7)], dim=1), mine, choice)[1]
        assert torch.equal(with_pass[:, :-1], policy), "an action beside the cells moves none of them"
        assert (with_pass[:, -1] == 7).all()


@pytest.mark.parametrize(
    "net",
    [CNN(16, value_pool="mean_max"), Residual(8, 1, 0, policy_from_aux=2.0, value_pool="mean_max"), MLP([8])],
    ids=str,
)
def test_heads_are_float32_under_autocast(net: CNN | Residual | MLP):
    """Rounded logits would make ratios differ from 1 before anything was learned."""
    module = net.build((3, 4, 4), 16, aux=True)
    with torch.autocast("cpu", torch.bfloat16):
        heads = module(torch.rand(2, 3, 4, 4))
    assert {heads.policy.dtype, heads.value.dtype, heads.aux.dtype} == {torch.float32}


def test_a_network_is_chosen_by_the_shape_and_predicts_what_it_is_asked_for():
    auto = AutoNet(CNN(8, value_pool="mean"), MLP([8]))
    assert isinstance(auto.build((9,), 4), FlatNet)
    assert isinstance(auto.build((3, 3), 9), FlatNet), "too small for convolutions"
    assert not isinstance(auto.build((2, 3, 4), 12), FlatNet), "planes of a board"
    cells = board(3, 4).float()
    assert auto.build((3, 4), 12)(cells).aux.numel() == 0
    assert auto.build((3, 4), 12, aux=True)(cells).aux.shape == (2, 3, 4)


def test_a_board_of_one_row_has_no_corners():
    assert Residual(8, 1, 0, corner_planes=True, value_pool="mean_max").build((1, 5), 2)(
        torch.zeros(1, 1, 5)
    ).policy.shape == (1, 2)
