"""The compiled computation of rewards."""

from typing import Any

import numpy as np

from src.envs.minesweeper.reward import Terms
from src.envs.minesweeper.rules import PLAYING, WON, kernel

RESULT = np.dtype(
    [
        ("reward", np.float64),  # the sum of the next five
        ("progress", np.float64),
        ("outcome", np.float64),
        ("step", np.float64),
        ("invalid", np.float64),
        ("flag", np.float64),
        ("final_safe_revealed", np.float64),  # this and the next three: of a game that ended in this step
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


@kernel
def flags_worth(game: Any, terms: Terms) -> float:
    """Return the reward for the flags on the board of `game`, a record of `Boards.games`."""
    if not game.laid:
        return 0.0
    return game.right_flags * terms.right_flag + (game.flags - game.right_flags) * terms.wrong_flag


@kernel
def write_reward(game: Any, result: Any, valid: bool, opened: int, flags_before: float, terms: Terms) -> None:
    """Write the reward of a step to `result`, a record of `RESULT` whose `truncated` is already set.

    A truncated game is rewarded like a lost one; otherwise toggling flags up to the limit would cost less than a risk.
    """
    goes_on = game.status == PLAYING
    result.progress = opened * terms.progress
    result.outcome = terms.win if game.status == WON else (0.0 if goes_on and not result.truncated else terms.loss)
    result.step = terms.step if goes_on else 0.0
    result.invalid = 0.0 if valid else terms.invalid
    result.flag = flags_worth(game, terms) - flags_before if goes_on else 0.0
    result.reward = result.progress + result.outcome + result.step + result.invalid + result.flag
