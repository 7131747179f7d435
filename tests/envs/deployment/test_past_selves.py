"""Past selves as opponents in batches of the wargame."""

from typing import Any

import numpy as np
import pytest

from src.core.play.past_selves import PastSelves
from src.envs.two_player_env import Episode, OutcomeReward
from tests.core.fixed import Fixed, fixed
from tests.envs.deployment.making import DEADLOCK, make_env, small_game


def pool() -> PastSelves:
    made = PastSelves(3, 1, current_share=0.3, priority=1.0, memory=0.5)
    made.set_agent(Fixed(-1))
    return made


def add(made: PastSelves, number: int) -> None:
    made.add_snapshot(lambda: {"weights": {}, "number": number}, fixed)


def play(envs: Any, seed: int, steps: int) -> tuple[list[Any], list[int]]:
    seen, outcomes, rng = [], [], np.random.default_rng(seed)
    for _ in range(steps):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in envs.action_masks()])
        observations, rewards, *_, info = envs.step(actions)
        seen.append((observations.tobytes(), rewards.tolist()))
        if "final_info" in info:
            outcomes += info["final_info"]["outcome"][info["_final_info"]].tolist()
    return seen, outcomes


def test_finished_games_are_counted_and_resumed_exactly():
    made = pool()
    for number in range(3):
        add(made, number)
    made.current_share = 0.0
    envs = make_env(opponent=made).vectorize(6)
    envs.reset(seed=1)
    _, outcomes = play(envs, 0, 60)
    counts = np.array([counts for _, *counts in made.state()["recent"][0]]).sum(axis=0)
    assert counts.tolist() == [sum((outcome + 1) / 2 for outcome in outcomes), len(outcomes)]
    assert len(outcomes) > 6

    made.current_share = 0.3
    add(made, 3)
    play(envs, 5, 25)
    saved, state = envs.state(), made.state()
    assert len(set(saved["batch"]["numbers"])) > 1
    expected, _ = play(envs, 2, 40)
    again = pool()
    again.load_state(state, fixed)
    resumed = make_env(opponent=again).vectorize(6)
    resumed.reset(seed=99)
    resumed.load_state(saved)
    assert play(resumed, 2, 40)[0] == expected
    assert again.state() == made.state()


def recorded(made: PastSelves) -> list[float]:
    """Return points and games since the last evaluation."""
    return np.array([[0.0, 0.0], *(counts for _, *counts in made.state()["recent"][0])]).sum(axis=0).tolist()


def snapshots_only() -> PastSelves:
    made = pool()
    add(made, 0)
    made.current_share = 0.0
    return made


def test_a_single_environment_reports_its_games_too():
    made = snapshots_only()
    env, rng, outcomes = make_env(opponent=made), np.random.default_rng(0), []
    for seed in range(3):
        _, info = env.reset(seed=seed)
        while "outcome" not in info:
            *_, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        outcomes.append(info["outcome"])
    assert recorded(made) == [sum((outcome + 1) / 2 for outcome in outcomes), 3]


@pytest.mark.parametrize("of_episode", [True, False])
def test_aborted_games_are_not_reported(of_episode: bool):
    game: Any = small_game(on_deadlock="truncate", **DEADLOCK)
    made = snapshots_only()
    if of_episode:
        episode = Episode(game, made, (0,), OutcomeReward(1.0, 0.0, -1.0))
        episode.start()
        while episode.own_outcome is None:
            episode.play(int(episode.action_mask().argmax()))
        episode.report_result()
        assert game.is_aborted(episode.state)
    else:
        env = make_env(game, made, "first")
        _, info = env.reset(seed=0)
        while "outcome" not in info:
            *_, info = env.step(info["action_mask"].argmax())
        assert info["aborted"]
    assert recorded(made) == [0, 0]
