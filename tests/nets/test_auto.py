import pytest

from src.nets.auto import AutoNet
from src.nets.boards import BoardNet, Residual
from src.nets.flat import MLP, FlatNet


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((2, 3, 3), FlatNet), ((3, 3), FlatNet), ((40,), FlatNet), ((8, 4, 4), BoardNet), ((9, 9), BoardNet)],
)
def test_convolutions_are_for_boards_that_one_of_them_does_not_cover(shape, kind):
    assert isinstance(AutoNet(Residual(8, 1, 0), MLP([8])).build(shape, 9), kind)
