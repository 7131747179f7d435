"""The reward, defined once: every backend computes it from the same function."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from src.core.errors import UserError
from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.reward import Reward, StepFeatures, components, flags_worth, weights
from src.envs.minesweeper.torch_env import TorchMinesweeper
from src.envs.two_player_env import OutcomeReward
from tests.envs.minesweeper.making import make_config, set_boards

REWARD = Reward(
    progress_reward=2.0,
    win_reward=30.0,
    loss_reward=-500.0,
    step_penalty=7.0,
    invalid_penalty=11.0,
    flag_correct_reward=13.0,
    flag_incorrect_reward=-17.0,
    use_flag_shaping=True,
)
OUTCOME = OutcomeReward(win=1.0, draw=0.0, loss=-1.0, gamma=1.0)
UNDECIDED = StepFeatures(opened=0, won=0, lost=0, truncated=0, undecided=1, invalid=0, flags_gain=0)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (UNDECIDED, (0, 0, -7, 0, 0)),
        (UNDECIDED._replace(opened=3), (6, 0, -7, 0, 0)),
        (UNDECIDED._replace(opened=3, won=1, undecided=0), (6, 30, 0, 0, 0)),
        (UNDECIDED._replace(lost=1, undecided=0, flags_gain=5), (0, -500, 0, 0, 0)),
        (UNDECIDED._replace(truncated=1, invalid=1), (0, -500, -7, -11, 0)),
        (UNDECIDED._replace(flags_gain=-4), (0, 0, -7, 0, -4)),
    ],
)
def test_components_by_hand(step: StepFeatures, expected: tuple[int, ...]):
    assert components(step, weights(REWARD)) == expected
    tensors = StepFeatures(*(torch.full((2,), value, dtype=torch.float64) for value in step))
    assert [part.tolist() for part in components(tensors, weights(REWARD))] == [[value] * 2 for value in expected]


def test_flags_are_worth_nothing_without_shaping():
    assert flags_worth(2, 1, weights(REWARD)) == 2 * 13 - 17
    assert flags_worth(2, 1, weights(Reward())) == 0


# A strip of six cells with mines at 2 and 5, whose first reveal was at 0, which opened 0 and 1:
#   0 1 * . . *
STEPS = [  # action, reward by REWARD; flags are at 6 and beyond
    (6 + 2, -7 + 13),  # a right flag
    (6 + 3, -7 - 17),  # a wrong one
    (6 + 3, -7 + 17),  # taken away
    (0, -7 - 11),  # invalid
    (4, -7 + 2),
    (3, 2 + 30),  # the last safe cell
]


def strip(reward: Reward | OutcomeReward) -> EnvConfig:
    return make_config(rows=1, cols=6, mines=2, reward=reward, safe_neighborhood=False)


def rewards_of(backend: str, config: EnvConfig) -> Iterator[float]:
    game, env = config.game(), MinesweeperEnv(config)
    state = game.start(0, [2, 5])
    if backend == "game":
        for action, _ in STEPS:
            state = game.play(state, action)
            yield float(state.result[0]["reward"])
        return
    envs: Any = {"env": env, "batch": env.vectorize(3), "torch": TorchMinesweeper(3, config, "cpu")}[backend]
    envs.reset(seed=0)
    if backend == "torch":
        mines = torch.tensor([0, 0, 1, 0, 0, 1]).bool().expand(3, 1, 6)
        set_boards(envs, mines, torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool))
        yield from (float(envs.step(torch.full((3,), action))[1][2]) for action, _ in STEPS)
        return
    for field in ("number", "visible", "games"):
        getattr(envs._batch.boards, field)[:] = getattr(state.boards, field)
    for action, _ in STEPS:
        yield float(np.ravel(envs.step(action if backend == "env" else np.full(3, action))[1])[-1])


@pytest.mark.parametrize("backend", ["game", "env", "batch", "torch"])
def test_every_backend_computes_them(backend: str):
    assert list(rewards_of(backend, strip(REWARD))) == [expected for _, expected in STEPS]
    assert list(rewards_of(backend, strip(OUTCOME))) == [0, 0, 0, 0, 0, 1], "the outcome is rewarded at the end only"


def test_a_lost_and_a_truncated_game_have_the_outcome_of_a_loss():
    env = MinesweeperEnv(make_config(rows=3, cols=3, mines=3, max_steps=4, reward=OUTCOME, safe_neighborhood=False))
    env.reset(seed=0)
    assert env.step(0)[1] == 0
    assert env.step(int(np.flatnonzero(env.mine_mask())[0]))[1] == -1
    env.reset(seed=0)
    assert [env.step(9)[1] for _ in range(4)] == [0, 0, 0, -1]


def test_a_potential_or_a_score_that_would_be_ignored_is_refused():
    class Shaped(OutcomeReward):
        def potential(self, game: object, state: object, seat: int) -> float:
            return 1.0

    with pytest.raises(UserError, match="the potential of Shaped is not used in this game"):
        MinesweeperEnv(strip(Shaped(1.0, 0.0, -1.0, gamma=1.0)))

    class Scored(OutcomeReward):
        def score(self, game: object, state: object, seat: int) -> float:
            return 1.0

    with pytest.raises(UserError, match="the score of Scored is not used in this game"):
        MinesweeperEnv(strip(Scored(1.0, 0.0, -1.0, gamma=1.0)))
