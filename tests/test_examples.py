"""The examples of other libraries over our environments do what they say."""

import re

import pytest

from tests.lab import python

pytestmark = pytest.mark.slow


def test_sb3_contrib_learns_by_hand():
    text = python("-m", "docs.examples.sb3_by_hand", "--steps", "16384").stdout
    assert float(text.split()[-1]) > 0.5, "a random player has about 0.3 as a mean of both seats"


def test_ppo_in_one_file_learns():
    text = python("-m", "docs.examples.single_file_ppo", "--steps", "45056").stdout
    revealed = [float(share) for share in re.findall(r"([\d.]+)% of the safe", text)]
    assert revealed[-1] > revealed[0] + 5


def test_players_meet_in_pettingzoo():
    text = python("-m", "docs.examples.pettingzoo_match", "--games", "10").stdout
    first, second = map(int, re.findall(r"(\d+) (?:won by|by) the", text))
    assert 5 <= first + second <= 10
