"""Rewards; their values are set in the `reward` config group."""

from dataclasses import dataclass
from typing import NamedTuple

from src.core.ranges import NonNegative, check_fields

COMPONENTS = ("progress", "outcome", "step", "invalid", "flag")  # a step's reward is their sum


class Terms(NamedTuple):
    """The values as floats for the step; disabled terms are zero."""

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

    Flag shaping rewards the change of `flag_correct_reward` per correct flag plus `flag_incorrect_reward` per wrong
    one, so removing a flag reverts its reward and toggling earns nothing. Flags set before the mines are laid are
    evaluated at the first reveal. The last step of a game is rewarded for its outcome and its progress only.
    """

    progress_reward: float = 0.01
    win_reward: float = 1.0
    loss_reward: float = -1.0
    step_penalty: NonNegative = 1e-4
    invalid_penalty: NonNegative = 1e-3
    flag_correct_reward: float = 0.002
    flag_incorrect_reward: float = -0.002
    use_flag_shaping: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

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
