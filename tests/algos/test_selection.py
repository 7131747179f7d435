"""Selection of the best checkpoint."""

from itertools import pairwise

import pytest

from src.algos.minimax import MinimaxAgent
from src.algos.selection import selection_error, selection_metrics, selection_score
from src.core.play.agent import RandomAgent
from src.core.play.arena import walk_replies
from src.core.runs import checkpoint
from src.core.runs.run import BEST, Run
from tests.algos.making import PLAIN_WEIGHTS, minesweeper, no_curriculum, ppo, run_in, versus
from tests.algos.test_alphazero import alphazero
from tests.algos.test_imitation import imitation
from tests.algos.test_maskable_ppo import learner as maskable_ppo
from tests.core.fixed import FirstMove, Fixed


def test_where_every_line_can_be_walked_the_share_not_lost_counts():
    env = versus()
    lines = [walk_replies(env.game, FirstMove(), seat) for seat in (0, 1)]
    lost, total = sum(tally.losses for tally in lines), sum(tally.games for tally in lines)
    assert 0 < lost < total
    metrics = selection_metrics(env, FirstMove(), 2, seed=0)
    assert selection_score(metrics) == metrics["eval/not_lost_share"] == 1 - lost / total
    assert metrics["eval/episodes"] == 2, "the win rate is logged as well"
    assert metrics["eval/elo_low"] < metrics["eval/elo"] < metrics["eval/elo_high"]
    drawn = selection_metrics(env, RandomAgent(), 4, seed=0)
    assert selection_score(drawn) == drawn["eval/win_rate"], "a player that draws its moves has no lines to walk"
    assert selection_error(metrics) == 0, "exact"
    assert selection_error({"eval/win_rate": 0.9, "eval/episodes": 100}) == pytest.approx(0.03)


@pytest.mark.parametrize("learner", [ppo, maskable_ppo, imitation])
def test_the_best_checkpoint_allows_for_the_noise_of_its_evaluation(learner, monkeypatch, tmp_path):
    found, save_best = [], Run.save_best

    def spy(run, score, weights, error=0.0, win_rate=0.0):
        found.append((score, error))
        save_best(run, score, weights, error, win_rate)

    monkeypatch.setattr(Run, "save_best", spy)
    with run_in(tmp_path) as run:
        learner(eval_episodes=20).fit(minesweeper(), no_curriculum(), run)
    assert all(error == pytest.approx((score * (1 - score) / 20) ** 0.5) for score, error in found)
    assert any(error > 0 for _, error in found)


@pytest.mark.parametrize("plies", [0, 3])
def test_ppo_opens_its_evaluations_with_random_moves(plies, monkeypatch, tmp_path):
    from src.algos import trainer

    asked = []

    def spy(env, agent, episodes, seed, opening_plies, *reports):
        asked.append(opening_plies)
        return selection_metrics(env, agent, episodes, seed, opening_plies, *reports)

    monkeypatch.setattr(trainer, "selection_metrics", spy)
    env = versus()
    with run_in(tmp_path) as run:
        ppo(total_steps=64, losses=PLAIN_WEIGHTS, eval_opening_plies=plies).fit(env, no_curriculum(), run)
    assert set(asked) == {plies}


def test_elo_counts_a_draw_as_half_and_one_player_has_none():
    env = versus(baselines={"best": MinimaxAgent()})
    drawn = selection_metrics(env, MinimaxAgent(), 10, seed=0)
    assert (drawn["eval/win_rate"], drawn["eval/elo"]) == (0.0, pytest.approx(0.0)), "equals draw all their games"
    alone = selection_metrics(minesweeper(), RandomAgent(), 4, seed=0)
    assert not any("elo" in name for name in alone)


def test_players_that_repeat_their_games_play_two():
    """More of the same would only look like a better sample; random first plies make them different."""
    env = versus(baselines={"fixed": Fixed(1), "random": RandomAgent()})
    metrics = selection_metrics(env, FirstMove(), 40, seed=0)
    assert (metrics["eval/episodes"], metrics["eval/all/episodes"]) == (2, 22)
    assert selection_metrics(env, FirstMove(), 40, seed=0, opening_plies=1)["eval/episodes"] == 20


def test_the_first_game_against_the_first_baseline_can_be_watched():
    env = versus(baselines={"random": RandomAgent(), "best": MinimaxAgent()})
    seen: list[str] = []
    metrics = selection_metrics(env, FirstMove(), 8, seed=3, on_position=seen.append)
    assert metrics == selection_metrics(env, FirstMove(), 8, seed=3), "watching changes nothing"
    assert seen[0] == "." * 9
    assert env.game.outcome(seen[-1]) is not None, "one whole game"
    assert all(sum(a != b for a, b in zip(*pair, strict=True)) == 1 for pair in pairwise(seen))


def test_with_several_baselines_the_games_against_all_count():
    baselines = {"best": MinimaxAgent(), "random": RandomAgent()}
    env = versus(baselines=baselines)
    metrics = selection_metrics(env, RandomAgent(), 39, seed=0)
    alone = [versus(baselines={"one": one}) for one in baselines.values()]
    rates = [selection_metrics(one, RandomAgent(), 20, seed=0)["eval/win_rate"] for one in alone]
    assert (metrics["eval/episodes"], metrics["eval/all/episodes"]) == (20, 40), "39, rounded up to whole pairs"
    assert metrics["eval/win_rate"] == rates[0] != rates[1]
    assert selection_score(metrics) == metrics["eval/all/win_rate"] == pytest.approx(sum(rates) / 2)
    assert selection_error(metrics) == pytest.approx(sum(20 * rate * (1 - rate) for rate in rates) ** 0.5 / 40)


@pytest.mark.parametrize("exact", [{}, {"eval/not_lost_share": 1.0}])
@pytest.mark.parametrize("learner", [ppo, maskable_ppo, imitation, alphazero])
def test_where_the_first_baseline_is_never_beaten_the_others_decide(learner, exact, monkeypatch, tmp_path):
    rates = iter([0.2, 0.4, 0.3, 0.1])  # of the four evaluations, over all baselines

    def measured(*_):
        over_all = {"eval/all/win_rate": next(rates), "eval/all/win_rate_error": 0.0}
        return exact | over_all | {"eval/win_rate": 0.0, "eval/episodes": 10}

    monkeypatch.setattr("src.algos.trainer.selection_metrics", measured)
    with run_in(tmp_path) as run:
        env = versus() if learner is alphazero else minesweeper()
        learner(total_steps=512, eval_every=128).fit(env, no_curriculum(), run)
    assert not list(rates)
    assert checkpoint.load(tmp_path / BEST)["win_rate"] == 0.4


def test_equal_exact_scores_are_decided_by_the_win_rate(tmp_path):
    with run_in(tmp_path) as run:
        for number, (score, win_rate) in enumerate([(0.5, 0.9), (1.0, 0.3), (1.0, 0.6), (1.0, 0.6), (1.0, 0.5)]):
            run.save_best(score, {"number": number}, win_rate=win_rate)
        assert run.best()["number"] == 3
        run.save({})
    with run_in(tmp_path) as resumed:
        resumed.restore()
        for number, win_rate, best in ((5, 0.5, 3), (6, 0.6, 6), (7, 0.7, 7)):
            resumed.save_best(1.0, {"number": number}, win_rate=win_rate)
            assert resumed.best()["number"] == best
