import numpy as np
import pytest
import torch

from src.envs.minesweeper.metrics import GAMES, auroc, calibration_error, mine_calibration
from src.envs.minesweeper.vec_env import VecMinesweeper
from src.nets.boards import Heads
from tests.envs.minesweeper.making import make_config


def test_what_comes_true_as_often_as_claimed_has_no_error():
    claimed, true = np.array([0.25] * 4 + [0.75] * 4), np.array([1, 0, 0, 0, 1, 1, 1, 0])
    assert calibration_error(claimed, true) == pytest.approx(0.0)


def test_the_error_is_the_gap_of_each_bin_by_its_size():
    """Half of the predictions are 0.9 and never true, half are 0.1 and always true: both gaps are 0.9."""
    assert calibration_error(np.array([0.9, 0.9, 0.1, 0.1]), np.array([0, 0, 1, 1])) == pytest.approx(0.9)
    assert calibration_error(np.array([1.0, 0.0]), np.array([1, 0])) == 0.0


def test_the_area_by_hand():
    """Of the four pairs of a positive (0.8, 0.4) and a negative (0.6, 0.2), three are in order."""
    assert auroc(np.array([0.8, 0.4, 0.6, 0.2]), np.array([1, 1, 0, 0])) == pytest.approx(0.75)
    assert auroc(np.array([0.5, 0.5]), np.array([1, 0])) == pytest.approx(0.5), "a tie counts half"


class Oracle:
    """A network that knows the mines and has a policy over `kinds` of action; what it says of open cells is wrong."""

    def __init__(self, envs: VecMinesweeper, kinds: int, sees: bool) -> None:
        self.envs, self.kinds, self.sees = envs, kinds, sees

    def heads(self, observations: np.ndarray) -> Heads:
        placed, masks = self.envs.mine_mask(), self.envs.action_masks()
        hidden = masks[:, : placed[0].size].reshape(placed.shape)
        mines = torch.from_numpy(placed | ~hidden)
        aux = torch.where(mines, 9.0, -9.0) if self.sees else torch.zeros(len(mines), 0)
        return Heads(torch.zeros(len(mines), self.kinds * mines[0].numel()), torch.zeros(len(mines)), aux)


@pytest.mark.parametrize("flags", [False, True])
def test_who_knows_the_mines_is_calibrated_with_and_without_flags(flags: bool):
    envs = VecMinesweeper(GAMES, make_config(rows=5, cols=5, mines=4, first_click="uniform", flag_actions=flags))
    measured = mine_calibration(envs, Oracle(envs, 1 + flags, sees=True), seed=0)
    assert measured["eval/mine_auroc"] == 1.0
    assert measured["eval/mine_ece"] < 0.001
    assert mine_calibration(envs, Oracle(envs, 1 + flags, sees=False), seed=0) == {}, "no head, nothing to measure"
