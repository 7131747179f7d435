"""Results under their metric names."""

from src.core.play.arena import Score, Tally, wilson_interval
from src.core.runs.metrics import is_documented
from src.core.runs.report import score_metrics, win_rate_band, win_rate_metrics


def test_a_win_rate_is_logged_with_its_interval():
    low, high = wilson_interval(30, 40)
    assert win_rate_band(30.0, 40.0) == {"train/win_rate_low": low, "train/win_rate_high": high}
    assert win_rate_band(0, 0) == {"train/win_rate_low": 0.0, "train/win_rate_high": 1.0}
    metrics = win_rate_metrics(Tally(30, 5, 5), "eval")
    assert metrics == {
        "eval/win_rate": 0.75, "eval/win_rate_low": low, "eval/win_rate_high": high, "eval/episodes": 40,
    }  # fmt: skip
    assert all(is_documented(name) for name in (*metrics, *win_rate_band(1, 2)))


def test_the_final_evaluation_has_names_of_its_own():
    scores = {"a": Score([1, 0], [0, 1], 0.0, {"steps": 3.0}), "b": Score([-1, -1], [0, 1], 0.0, {})}
    metrics = score_metrics(scores)
    assert all(name.startswith("final/") and is_documented(name) for name in metrics)
    assert (metrics["final/win_rate"], metrics["final/episodes"], metrics["final/a/steps"]) == (0.5, 2, 3.0)
    assert (metrics["final/a/draw_rate"], metrics["final/b/loss_rate"]) == (0.5, 1.0)
