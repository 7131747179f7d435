"""The bounds of minesweeper_ceiling, hand-computed and by a few real playouts."""

import numpy as np
import pytest

from experiments.minesweeper_ceiling.__main__ import gain_at_most, gain_by_halves, gains, survey
from experiments.minesweeper_ceiling.playouts import Guess, Played, Player


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
    player = Player(8, 8, 10, candidates=3, playouts=40)
    games = [game for seed in range(60) if (game := player.play(seed, look=True)) is not None]
    again = [game for seed in range(60) if (game := player.play(seed, look=False)) is not None]
    assert [(game.won, game.guesses) for game in games] == [(game.won, game.guesses) for game in again]
    looked = [guess for game in games for guess in game.looked]
    assert len(looked) == sum(game.guesses for game in games) > 0
    for guess in looked:
        assert guess.won.shape == (guess.risk.size, 40)
        assert guess.risk.size <= 4
        safe = 1 - guess.risk
        assert (guess.won.mean(1) <= safe + 4 * np.sqrt(safe * guess.risk / 40)).all(), "who reveals a mine has lost"
    firsts = [game for game in games if game.guesses]
    expected = np.array([game.looked[0].won[0].mean() for game in firsts])
    spread = np.sqrt((expected * (1 - expected)).sum())
    assert abs(sum(game.won for game in firsts) - expected.sum()) < 3 * spread, "playouts go as the games themselves"
