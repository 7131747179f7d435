"""What a step is worth; the values live in the `reward` config group."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from src.core.errors import LabError
from src.envs.minesweeper.rules import PLAYING, WON, kernel

COMPONENTS = ("progress", "outcome", "step", "invalid", "flag")  # a step's reward is their sum

# What a step brought, as the compiled step writes it.
RESULT = np.dtype(
    [
        ("reward", np.float64),  # the sum of the five that follow
        ("progress", np.float64),
        ("outcome", np.float64),
        ("step", np.float64),
        ("invalid", np.float64),
        ("flag", np.float64),
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


class Terms(NamedTuple):
    """The values as the compiled step wants them: plain floats, what is switched off being zero."""

    progress: float
    win: float
    loss: float
    step: float
    invalid: float
    right_flag: float
    wrong_flag: float


@dataclass(frozen=True)
class Reward:
    """Penalties are given as positive numbers and subtracted.

    Flag shaping pays the change in `flag_correct_reward` a right flag plus `flag_incorrect_reward` a wrong one, so a
    flag that is taken away gives back what it brought and toggling earns nothing. Flags set before the mines are laid
    are settled by the first reveal. The step that ends a game pays its outcome and its progress only.
    """

    progress_reward: float = 0.01
    win_reward: float = 1.0
    loss_reward: float = -1.0
    step_penalty: float = 1e-4
    invalid_penalty: float = 1e-3
    flag_correct_reward: float = 0.002
    flag_incorrect_reward: float = -0.002
    use_flag_shaping: bool = False

    def __post_init__(self) -> None:
        for name in ("step_penalty", "invalid_penalty"):
            if getattr(self, name) < 0:
                raise LabError(
                    f"reward.{name}={getattr(self, name)} would be a gain: give the penalty as a number >= 0"
                )

    def terms(self) -> Terms:
        shaping = float(self.use_flag_shaping)
        return Terms(
            progress=float(self.progress_reward),
            win=float(self.win_reward),
            loss=float(self.loss_reward),
            step=-float(self.step_penalty),
            invalid=-float(self.invalid_penalty),
            right_flag=shaping * self.flag_correct_reward,
            wrong_flag=shaping * self.flag_incorrect_reward,
        )


@kernel
def flags_worth(game: Any, terms: Terms) -> float:
    """What the flags on the board of `game`, a record of `Boards.games`, are worth as they stand."""
    if not game.laid:
        return 0.0
    return game.right_flags * terms.right_flag + (game.flags - game.right_flags) * terms.wrong_flag


@kernel
def pay(game: Any, result: Any, valid: bool, opened: int, flags_before: float, terms: Terms) -> None:
    """Write what a step was worth to `result`, a record of `RESULT`."""
    goes_on = game.status == PLAYING
    result.progress = opened * terms.progress
    result.outcome = 0.0 if goes_on else (terms.win if game.status == WON else terms.loss)
    result.step = terms.step if goes_on else 0.0
    result.invalid = 0.0 if valid else terms.invalid
    result.flag = flags_worth(game, terms) - flags_before if goes_on else 0.0
    result.reward = result.progress + result.outcome + result.step + result.invalid + result.flag
