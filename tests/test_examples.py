"""The examples of other libraries over our environments do what they say."""

import re
import subprocess
import sys

import pytest

from tests.lab import ROOT


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False, env=None
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_sb3_contrib_learns_by_hand():
    text = run("docs.examples.sb3_by_hand", "--steps", "16384")
    assert float(text.split()[-1]) > 0.5, "a random player has about 0.3 as a mean of both seats"


@pytest.mark.slow
def test_ppo_in_one_file_learns():
    text = run("docs.examples.single_file_ppo", "--steps", "45056")
    revealed = [float(share) for share in re.findall(r"([\d.]+)% of the safe", text)]
    assert revealed[-1] > revealed[0] + 5


@pytest.mark.slow
def test_players_meet_in_pettingzoo():
    text = run("docs.examples.pettingzoo_match", "--games", "10")
    first, second = map(int, re.findall(r"(\d+) (?:won by|by) the", text))
    assert 5 <= first + second <= 10
