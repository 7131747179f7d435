"""Past selves as opponents in batches of the wargame."""

from typing import Any

import numpy as np

from src.core.play.past_selves import PastSelves
from tests.core.fixed import Fixed, fixed
from tests.envs.deployment.making import make_env


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


def test_every_finished_game_is_counted_for_the_learner_and_resumed_exactly():
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
