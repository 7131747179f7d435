"""The pool of past selves: who is kept, who is drawn, what is counted and saved."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from src.core import ranks
from src.core.errors import UserError
from src.core.play.agent import SelfPlay
from src.core.play.past_selves import CURRENT, PastSelves, pool_metrics
from src.envs.tictactoe.game import TicTacToe
from tests.algos.making import versus
from tests.core.fixed import Fixed, fixed

GAME = TicTacToe(symmetric=True)


def pool(**changes: Any) -> PastSelves:
    settings: dict[str, Any] = {"size": 4, "snapshot_every": 1, "current_share": 0.5, "priority": 1.0, "memory": 0.5}
    made = PastSelves(**(settings | changes))
    made.set_agent(Fixed(CURRENT))
    return made


def grown(evaluations: int, **changes: Any) -> PastSelves:
    made = pool(**changes)
    for number in range(evaluations):
        made.add_snapshot(lambda number=number: {"weights": {}, "number": number}, fixed)  # type: ignore[misc]
    return made


def numbers(pool: PastSelves) -> list[int]:
    return [snapshot.number for snapshot in pool.snapshots]


def test_the_pool_is_bounded_and_covers_the_whole_training():
    """By hand: of 0 1 2 3 4, 1 has the nearest neighbors and is the oldest such; then 3, 5, 6, 2 are removed."""
    kept = [numbers(grown(evaluations)) for evaluations in range(4, 10)]
    assert kept == [[0, 1, 2, 3], [0, 2, 3, 4], [0, 2, 4, 5], [0, 2, 4, 6], [0, 2, 4, 7], [0, 4, 7, 8]]
    assert numbers(grown(1000))[0] == 0
    assert numbers(grown(1000))[-1] == 999
    assert len(numbers(grown(1000))) == 4
    assert max(np.diff(numbers(grown(1000, size=8)))) < 500


def test_snapshots_are_taken_every_few_evaluations():
    assert numbers(grown(7, snapshot_every=3)) == [0, 3, 6]


@pytest.mark.parametrize(("share", "priority"), [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.3, 2.0)])
def test_opponents_are_drawn_as_configured(share: float, priority: float):
    made = grown(3, current_share=share, priority=priority)
    for number, wins in ((0, 8), (1, 3)):  # of ten: the scores are 9 / 12, 4 / 12 and 1 / 2
        for game in range(10):
            made.record(number, 1 if game < wins else -1)
    made._merge_recent()
    weights = np.array([3 / 12, 8 / 12, 6 / 12]) ** priority
    expected = {CURRENT: share} | dict(zip((0, 1, 2), (1 - share) * weights / weights.sum(), strict=True))
    rng, games = np.random.default_rng(0), 20_000
    drawn = Counter(made.sample(rng) for _ in range(games))
    for number, probability in expected.items():
        assert drawn[number] / games == pytest.approx(probability, abs=0.015)


def test_results_by_hand():
    """A win, a draw and a loss are 1.5 points; half of them count after the next evaluation, with the new ones."""
    made = grown(1, memory=0.5)
    for outcome in (1, 0, -1):
        made.record(0, outcome)
    made.record(CURRENT, 1)  # not counted
    made.record(99, 1)  # a snapshot that is not in the pool
    assert pool_metrics([made]) == {"train/past_selves": 1, "train/past_selves_score": 1.5 / 3}
    other = grown(2)
    other.record(1, 1)
    assert pool_metrics([made, other]) == {"train/past_selves": 3, "train/past_selves_score": 2.5 / 4}
    made.add_snapshot(dict, fixed)
    assert (made.snapshots[0].points, made.snapshots[0].games) == (1.5, 3)
    assert made.snapshots[0].score == 2.5 / 5
    made.record(0, 1)
    made.add_snapshot(dict, fixed)
    assert (made.snapshots[0].points, made.snapshots[0].games) == (1.75, 2.5)
    assert pool_metrics([made]) == {"train/past_selves": 3}
    assert pool_metrics([]) == {}


def test_who_beats_the_learner_is_met_more_often():
    made = grown(3, current_share=0.0, priority=1.0)
    for _ in range(50):
        made.record(1, -1)
        made.record(2, 1)
    made._merge_recent()
    easy, hard = made.probabilities()[2], made.probabilities()[1]
    assert hard > made.probabilities()[0] > easy


def test_the_current_self_takes_over_from_a_removed_snapshot():
    made = grown(9)
    assert [made.player(number).number for number in (0, 1, 4, CURRENT)] == [0, CURRENT, 4, CURRENT]  # type: ignore[attr-defined]


def test_decisions_are_those_of_each_opponent():
    made = grown(3)
    view = GAME.view(GAME.initial(np.random.default_rng(0)))
    rngs = [np.random.default_rng(i) for i in range(5)]
    decisions = made.decide_for([2, CURRENT, 0, 2, 1], GAME, [view] * 5, rngs)
    assert [decision.action for decision in decisions] == [3, 0, 1, 3, 2], "snapshot n plays cell n + 1"


def test_a_saved_pool_is_restored_with_its_results():
    made = grown(6)
    made.record(4, 1)
    made._merge_recent()
    made.record(2, -1)
    other = pool()
    other.load_state(made.state(), fixed)
    assert other.state() == made.state()
    rngs = np.random.default_rng(0), np.random.default_rng(0)
    assert [other.sample(rngs[0]) for _ in range(50)] == [made.sample(rngs[1]) for _ in range(50)]
    for one in (made, other):
        one.add_snapshot(lambda: {"weights": {}, "number": 6}, fixed)
    assert other.state() == made.state()


def play(envs: Any, rng: np.random.Generator, steps: int) -> list[Any]:
    seen = []
    for _ in range(steps):
        masks = envs.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observations, rewards, *_ = envs.step(actions)
        seen.append((observations.tolist(), rewards.tolist()))
    return seen


def test_games_in_progress_are_resumed_against_the_same_opponents():
    """Saved in the middle of games, after the pool has changed since they began."""
    made = grown(3, current_share=0.2)
    envs = versus(made).vectorize(16)
    envs.reset(seed=1)
    play(envs, np.random.default_rng(0), 7)
    made.add_snapshot(lambda: {"weights": {}, "number": 3}, fixed)
    play(envs, np.random.default_rng(5), 1)
    saved, state = envs.state(), made.state()
    assert len({match["number"] for match in saved}) > 2
    assert sum(games for _, _, games in state["recent"][0]) > 0 or made.snapshots[0].games > 0
    expected = play(envs, np.random.default_rng(2), 30)
    again = pool(current_share=0.2)
    again.load_state(state, fixed)
    resumed = versus(again).vectorize(16)
    resumed.reset(seed=99)
    resumed.load_state(saved)
    assert play(resumed, np.random.default_rng(2), 30) == expected
    assert again.state() == made.state(), "the results are counted alike"


def test_every_finished_game_is_counted_once_for_the_learner():
    made = grown(2, current_share=0.0)
    envs = versus(made).vectorize(8)
    envs.reset(seed=0)
    outcomes = []
    rng = np.random.default_rng(3)
    for _ in range(20):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in envs.action_masks()])
        *_, info = envs.step(actions)
        if "final_info" in info:
            outcomes += info["final_info"]["outcome"][info["_final_info"]].tolist()
    counts = np.array([counts for _, *counts in made.state()["recent"][0]])
    assert counts.sum(axis=0).tolist() == [sum((outcome + 1) / 2 for outcome in outcomes), len(outcomes)]
    assert len(set(outcomes)) > 1


def test_it_is_refused_where_it_makes_no_sense():
    with pytest.raises(UserError, match="cannot be a baseline"):
        versus(baselines={"past": pool()})
    with pytest.raises(UserError, match=r"size=1"):
        pool(size=1)
    with pytest.raises(UserError, match="there is none here"):
        PastSelves(4, 1, 0.5, 1.0, 0.5).decide(GAME, GAME.initial(np.random.default_rng(0)), np.random.default_rng(0))
    assert isinstance(pool(), SelfPlay)


def test_ranks_add_their_results_and_keep_their_own_games(monkeypatch: pytest.MonkeyPatch):
    made = grown(1)
    made.record(0, 1)
    other = {0: [1.0, 3.0]}  # points and games of the other rank
    monkeypatch.setattr(ranks, "gather", lambda value: [value, other if isinstance(value, dict) else [[0, 1.0, 3.0]]])
    state = made.state()
    made.add_snapshot(dict, fixed)
    assert (made.snapshots[0].points, made.snapshots[0].games) == (2, 4)
    again = pool()
    monkeypatch.setattr(ranks, "rank", lambda: 1)
    again.load_state(state, fixed)
    assert again._recent == other
