"""The command: it ends with a verdict or when the games are used up, and processes play the same games."""

import pytest

from tests.lab import Lab, read_json

WEAK = ("env=tictactoe", "agents=[minimax,random]", "opening_plies=1", "fewest_opening_plies=0")


def test_a_clear_difference_is_found_early(lab: Lab):
    done = lab.run("sprt", *WEAK, "games=400", "elo1=50", "json=out.json")
    assert done.returncode == 0, done.stderr
    result = read_json(lab.folder / "out.json")
    assert result["verdict"] == "elo1=50 accepted"
    assert 32 <= result["games"] < 400, "at least 16 pairs, and no more than needed"
    assert result["llr"] > 2.94
    assert result["losses"] == 0
    assert result["wins"] + result["draws"] == result["games"] == 2 * sum(result["pairs"])
    assert "LLR" in done.stdout


@pytest.mark.slow
def test_processes_play_the_same_games(lab: Lab):
    results = []
    for workers in (1, 2):
        done = lab.run("sprt", *WEAK, "games=40", "stop_early=false", f"workers={workers}", "json=out.json")
        assert done.returncode == 0, done.stderr
        results.append(read_json(lab.folder / "out.json"))
    assert results[0] == results[1]
    assert results[0]["games"] == 40
    assert "games or the time" not in results[0]["verdict"]


@pytest.mark.slow
def test_the_number_of_games_is_a_limit(lab: Lab):
    done = lab.run("sprt", "env=tictactoe", "agents=[random,other=random]", "games=10", "json=out.json")
    assert done.returncode == 0, done.stderr
    assert read_json(lab.folder / "out.json")["verdict"].startswith("no decision")
