"""The reward of a step, defined once for the single, the compiled and the torch environment.

`flags_worth` and `components` take numbers or tensors: `game.py` compiles them, `torch_env.py` calls them with tensors
(N,) float64. So they may only use arithmetic, without branches.
"""

from collections import namedtuple
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ...core.ranges import NonNegative, check_fields
from ..two_player_env import OutcomeReward, outcome_values


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


AnyReward = Reward | OutcomeReward
Weights: Any = namedtuple("Weights", [field.name for field in fields(Reward)])  # type: ignore[misc]


def weights(reward: AnyReward) -> Any:
    """Return the values of a reward as floats, for `components`; an `OutcomeReward` has no shaping."""
    if isinstance(reward, OutcomeReward):
        win, _, loss = outcome_values(reward)  # a game cannot be drawn
        return Weights(**{field.name: 0.0 for field in fields(Reward)} | {"win_reward": win, "loss_reward": loss})
    return Weights(*(float(getattr(reward, field.name)) for field in fields(Reward)))


class StepFeatures(NamedTuple):
    """What a step did: numbers, or tensors (N,) float64."""

    opened: Any  # safe cells that it revealed
    won: Any  # 1 if it won the game, else 0; likewise the next four
    lost: Any  # it revealed a mine
    truncated: Any  # the game reached its step limit
    undecided: Any  # neither won nor lost, also at the step limit
    invalid: Any  # the action was on a revealed cell
    flags_gain: Any  # change of `flags_worth`


class Components(NamedTuple):
    """The parts of a reward, which is their sum; also the names in `info["rewards"]`."""

    progress: Any
    outcome: Any
    step: Any
    invalid: Any
    flag: Any


COMPONENTS = Components._fields


def flags_worth(right: Any, wrong: Any, weights: Any) -> Any:
    """Return the reward for so many right and wrong flags on a board; a step is rewarded with its change."""
    return weights.use_flag_shaping * (right * weights.flag_correct_reward + wrong * weights.flag_incorrect_reward)


def components(step: StepFeatures, weights: Any) -> Components:
    """Return the parts of the reward of a step.

    A game that reaches its step limit is rewarded like a lost one, or toggling flags up to the limit would cost less
    than a risk.
    """
    return Components(
        progress=step.opened * weights.progress_reward,
        outcome=step.won * weights.win_reward + (step.lost + step.truncated) * weights.loss_reward,
        step=step.undecided * -weights.step_penalty,
        invalid=step.invalid * -weights.invalid_penalty,
        flag=step.undecided * step.flags_gain,
    )
