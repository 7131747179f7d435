import numpy as np
import pytest

from src.envs.minesweeper.calibration import auroc, calibration_error


def test_what_comes_true_as_often_as_claimed_has_no_error():
    claimed, true = np.array([0.25] * 4 + [0.75] * 4), np.array([1, 0, 0, 0, 1, 1, 1, 0])
    assert calibration_error(claimed, true) == pytest.approx(0.0)


def test_the_error_is_the_gap_of_each_bin_by_its_size():
    """Half of the claims are 0.9 and never true, half are 0.1 and always: both gaps are 0.9."""
    assert calibration_error(np.array([0.9, 0.9, 0.1, 0.1]), np.array([0, 0, 1, 1])) == pytest.approx(0.9)
    assert calibration_error(np.array([1.0, 0.0]), np.array([1, 0])) == 0.0


def test_the_area_by_hand():
    """Of the four pairs of a positive (0.8, 0.4) and a negative (0.6, 0.2), three are in order."""
    assert auroc(np.array([0.8, 0.4, 0.6, 0.2]), np.array([1, 1, 0, 0])) == pytest.approx(0.75)
    assert auroc(np.array([0.5, 0.5]), np.array([1, 0])) == pytest.approx(0.5), "a tie counts half"
