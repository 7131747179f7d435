"""The reward of a step as the compiled step writes it; what it is made of is in `reward.py`."""

from typing import Any

import numpy as np

from . import reward
from .reward import COMPONENTS, StepFeatures
from .rules import LOST, PLAYING, WON, kernel

RESULT = np.dtype(
    [
        ("reward", np.float64),  # the sum of the next
        ("components", np.float64, len(COMPONENTS)),
        ("final_safe_revealed", np.float64),  # of a game that ended in this step: share of its safe cells revealed
        ("final_steps", np.int32),
        ("final_invalid_steps", np.int32),
        ("final_won", np.bool_),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("steps", np.int32),  # of the game in progress
        ("invalid_steps", np.int32),
    ],
    align=True,
)

_components, _flags_worth = kernel(reward.components), kernel(reward.flags_worth)


@kernel
def flags_worth(game: Any, weights: Any) -> float:
    """Return the reward for the flags that are on the board of `game`, a record of `Boards.games`."""
    if not game.laid:
        return 0.0
    return _flags_worth(game.right_flags, game.flags - game.right_flags, weights)


@kernel
def write_reward(game: Any, result: Any, valid: bool, opened: int, flags_before: float, weights: Any) -> None:
    """Write the reward of a step to `result`, a record of `RESULT` that says whether it was truncated."""
    step = StepFeatures(
        opened,
        game.status == WON,
        game.status == LOST,
        result.truncated,
        game.status == PLAYING,
        not valid,
        flags_worth(game, weights) - flags_before,
    )
    parts = _components(step, weights)
    result.reward = 0.0
    for k in range(len(parts)):
        result.components[k] = parts[k] + 0.0  # -0.0 would be shown as a penalty
        result.reward += parts[k]


def components_of(result: Any) -> dict[str, float]:
    """Return the parts of the reward in a record of `RESULT` by name."""
    return dict(zip(COMPONENTS, result["components"].tolist(), strict=True))
