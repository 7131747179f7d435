"""Experiments: bounds computed by hand, results that are kept and continued, and figures of the current code."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.deployment_value import __main__ as deployment_value
from experiments.minesweeper_ceiling.__main__ import gain_at_most, gain_by_halves, gains, survey
from experiments.minesweeper_ceiling.playouts import Guess, Played, Player
from experiments.quoridor_features.match import FEATURES, plan_of, play_pair
from experiments.quoridor_features.results import Pair, Results
from src.core.errors import UserError

SETTINGS = {"seconds": 0.05, "seed": 0}  # of quoridor_features


def test_the_bounds_by_hand():
    """The first guess wins all even playouts, the second all odd ones and one more."""
    won = np.array([[1, 0, 1, 0], [1, 1, 0, 1]], np.bool_)
    assert gain_at_most(won) == pytest.approx(0.75 - 0.5)
    # By the even playouts the first is best: nothing gained. By the odd ones the second: 0.5 instead of 1 of the even.
    assert gain_by_halves(won) == pytest.approx((0.0 + (0.5 - 1.0)) / 2)


def test_metrics_of_games_and_guesses():
    guess = Guess(np.zeros(2), np.array([[1, 0, 1, 0], [1, 1, 0, 1]], np.bool_))
    games = [Played(True, False, 0, []), Played(False, True, 1, [guess]), Played(False, False, 2, [guess, guess])]
    metrics = survey(games)
    assert metrics["won"] == pytest.approx(1 / 3)
    assert metrics["lost_beyond_help"] == pytest.approx(1 / 3)
    assert metrics["unsearched_guesses_per_game"] == 1
    assert gains(games, 0.5)["gain_at_most"] == pytest.approx([12.5, 12.5, 12.5])
    with pytest.raises(SystemExit, match="no guess was looked into"):
        gains(games[:1], 0.5)


@pytest.mark.slow
def test_playouts_of_real_guesses():
    player = Player(8, 8, 14, candidates=3, playouts=20)
    games = [game for seed in range(12) if (game := player.play(seed, look=True)) is not None]
    again = [game for seed in range(12) if (game := player.play(seed, look=False)) is not None]
    assert [(game.won, game.guesses) for game in games] == [(game.won, game.guesses) for game in again]
    looked = [guess for game in games for guess in game.looked]
    assert len(looked) == sum(game.guesses for game in games) > 0
    for guess in looked:
        assert guess.won.shape == (guess.risk.size, 20)
        assert guess.risk.size <= 4
        safe = 1 - guess.risk
        assert (guess.won.mean(1) <= safe + 4 * np.sqrt(safe * guess.risk / 20)).all(), "who reveals a mine has lost"
    firsts = [game for game in games if game.guesses]
    expected = np.array([game.looked[0].won[0].mean() for game in firsts])
    spread = np.sqrt((expected * (1 - expected)).sum())
    assert abs(sum(game.won for game in firsts) - expected.sum()) < 3 * spread, "playouts go as the games themselves"


@pytest.mark.parametrize("env", deployment_value.RUNS)
def test_every_cell_was_played_with_the_game_and_weights_of_now(env: str):
    games = 1000 if env in deployment_value.SCENARIOS else 2000
    for name in deployment_value.opponents(deployment_value.HERE / deployment_value.RUNS[env]):
        cell = deployment_value.Cell(env, name, 160 if name == "planner" else games, 2028)
        assert cell.key() in deployment_value.read(), f"{cell}: run python -m experiments.deployment_value"
        table = "table.md" if env in deployment_value.SCENARIOS else "classic/table.md"
        assert deployment_value.row(cell) in (deployment_value.HERE / table).read_text().splitlines()


@pytest.mark.parametrize("feature", ["killers", "exact_races"])
def test_the_players_differ_in_one_feature(feature):
    full, without = plan_of(feature, 0.05, 3)["players"].values()
    assert full["features"].pop(feature) is True
    assert without["features"].pop(feature) is False
    assert full == without
    assert full["seconds"] == 0.05


def test_a_pair_is_played():
    outcomes = play_pair(plan_of("history", 0.0001, 0), 1)
    assert len(outcomes) == 2
    assert set(outcomes) <= {1, 0, -1}


def test_results_are_kept_and_continued(tmp_path: Path):
    results = Results(tmp_path, SETTINGS)
    results.add(Pair("killers", 1), [1, 0])
    results.add(Pair("killers", 0), [1, -1])
    results.add(Pair("history", 0), [None, 1])
    again = Results(tmp_path, SETTINGS)
    assert again.pairs == results.pairs
    rows = [line for line in again.table().splitlines() if "`" in line]
    assert len(rows) == len(FEATURES)
    assert "| without `killers` | 4 | 2/1/1 | 62.5% (" in rows[0]
    assert "| without `history` | 0 | | | |" in rows, "a pair with an aborted game does not count"
    assert (tmp_path / "table.md").read_text() == again.table()


def test_results_of_other_settings_are_refused(tmp_path: Path):
    Results(tmp_path, SETTINGS).add(Pair("killers", 0), [1, 1])
    with pytest.raises(UserError, match=r"has games with .*0\.05.* another --folder"):
        Results(tmp_path, {"seconds": 0.1, "seed": 0})
    assert list(json.loads((tmp_path / "results.json").read_text())["pairs"]) == ["killers"]
