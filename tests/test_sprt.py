"""The command: it ends with a verdict or when the games are used up, and processes play the same games."""

import pytest

from src.core.play.rating import Hypotheses, PairCounts
from src.sprt import status_line, summary
from tests.lab import ROOT, Lab, read_json

WEAK = ("env=tictactoe", "agents=[minimax,random]", "opening_plies=1", "fewest_opening_plies=0")


def test_a_clear_difference_is_found_early(lab: Lab):
    done = lab.succeed("sprt", *WEAK, "games=400", "elo1=50", "json=out.json")
    result = read_json(lab.folder / "out.json")
    assert result["verdict"] == "elo1=50 accepted"
    assert 32 <= result["games"] < 400, "at least 16 pairs, and no more than needed"
    assert result["llr"] > 2.94
    assert result["losses"] == 0
    assert result["wins"] + result["draws"] == result["games"] == 2 * sum(result["pairs"])
    assert "LLR" in done.stdout


def test_a_match_that_is_won_completely_is_valid_json(lab: Lab):
    lab.succeed("sprt", *WEAK, "games=2", "json=out.json")
    result = read_json(lab.folder / "out.json")
    assert "Infinity" not in (lab.folder / "out.json").read_text()
    assert result["pairs"] == [0, 0, 0, 0, 1]
    assert result["elo"] is None
    low, high = result["elo_ci95"]
    assert low < 0, "one pair proves nothing"
    assert high is None


def test_the_verdict_is_that_of_the_first_crossing(lab: Lab):
    equal = ("env=tictactoe", "agents=[random,other=random]", "opening_plies=1", "fewest_opening_plies=0", "seed=3")
    narrow = ("elo0=-10", "elo1=10", "alpha=0.49", "beta=0.49", "games=80", "json=out.json")
    lab.succeed("sprt", *equal, *narrow)
    stopped = read_json(lab.folder / "out.json")
    assert (stopped["games"], stopped["verdict"]) == (32, "elo0=-10 accepted")
    lab.succeed("sprt", *equal, *narrow, "stop_early=false")
    full = read_json(lab.folder / "out.json")
    assert full["games"] == 80
    assert full["llr"] > 0.04, "the last pair would accept elo1"
    assert full["verdict"] == "elo0=-10 accepted"


def test_aborted_pairs_are_reported():
    test, counts = Hypotheses(0, 20, 0.05, 0.05), PairCounts(aborted=2)
    assert status_line(test, counts) == "2 pairs aborted"
    counts.add((1, 1))
    assert status_line(test, counts).startswith("2 games: +2 =0 -0, 100.0%, Elo +inf")
    assert status_line(test, counts).endswith(", 2 pairs aborted")
    assert summary(["a", "b"], test, counts, "none")["aborted_pairs"] == 2


def test_processes_play_agents_of_the_user(lab: Lab):
    _write_agent(lab, "src.core.play.agent.RandomAgent")
    words = ("agents=[mine,random]", "opening_plies=2", "games=4", "workers=2")
    done = lab.succeed("sprt", "--config-dir=mine", "env=tictactoe", *words, seconds=120)
    assert "4 games" in done.stdout


@pytest.mark.slow
def test_a_process_that_fails_ends_the_match(lab: Lab):
    (lab.folder / "fragile.py").write_text(FRAGILE)
    environment = {"PYTHONPATH": f"{ROOT}:{lab.folder}"}
    words = ("--config-dir=mine", "env=tictactoe", "agents=[mine,random]", "opening_plies=2", "games=8", "workers=2")
    for target, message in {
        "fragile.Refused": "error: agents: mine: the board is gone",
        "fragile.Killed": "error: one of 2 worker processes ended before its task was done",
    }.items():
        _write_agent(lab, target)
        done = lab.refuse("sprt", *words, environment=environment, seconds=120)
        assert done.stderr.startswith(message)
        assert len(done.stderr.splitlines()) == 1, done.stderr


FRAGILE = """
import multiprocessing, os
from src.core.errors import UserError
from src.core.play.agent import RandomAgent

class Refused(RandomAgent):
    def __init__(self):
        if multiprocessing.parent_process() is not None:
            raise UserError("the board is gone")

class Killed(RandomAgent):
    def decide(self, *arguments):
        os._exit(1)

    decide_batch = decide
"""


def _write_agent(lab: Lab, target: str) -> None:
    (lab.folder / "mine" / "agent").mkdir(parents=True, exist_ok=True)
    (lab.folder / "mine" / "agent" / "mine.yaml").write_text(f"_target_: {target}\n")


@pytest.mark.slow
def test_processes_play_the_same_games(lab: Lab):
    results = []
    for workers in (1, 2):
        lab.succeed("sprt", *WEAK, "games=40", "elo1=200", "stop_early=false", f"workers={workers}", "json=out.json")
        results.append(read_json(lab.folder / "out.json"))
    assert results[0] == results[1]
    assert results[0]["games"] == 40
    assert "games or the time" not in results[0]["verdict"]


@pytest.mark.slow
def test_the_number_of_games_is_a_limit(lab: Lab):
    lab.succeed("sprt", "env=tictactoe", "agents=[random,other=random]", "games=10", "json=out.json")
    assert read_json(lab.folder / "out.json")["verdict"].startswith("no decision")
