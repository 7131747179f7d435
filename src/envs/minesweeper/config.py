"""The configuration of the environments, and the format of their observations."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ...core.errors import UserError
from ...core.ranges import Bounds, Fraction, Interval, check_fields
from ..masked_env import RENDER_FPS
from .reward import AnyReward, Reward
from .variant import FLAGGED, FirstClick, Side, Variant

if TYPE_CHECKING:
    from .game import Minesweeper

REVEALED, FLAGS, NUMBERS = 0, 1, 2  # plane indices; the numbers 0..8 have a plane each
BASE_PLANES = 11

EPISODE_MEANS = ("safe_revealed", "invalid_rate")  # values of `final_info` that learners log as means over games
VECTOR_METADATA: dict[str, Any] = {  # of both vector environments
    "render_modes": ["ansi"],
    "render_fps": RENDER_FPS,
    "autoreset_mode": AutoresetMode.SAME_STEP,
}


class Layout(NamedTuple):
    """Indices of the optional observation planes; -1 if absent."""

    frontier: int
    remaining_mines_ratio: int
    progress: int


@dataclass(frozen=True)
class Encoding:
    """The format of observations: stacked planes, or the board itself."""

    compact: bool = False  # one int8 plane (H, W): -1 hidden, -2 flagged, 0..8
    frontier: bool = False  # plane: unrevealed cells next to a revealed one
    remaining_mines_ratio: bool = False  # plane: unflagged mines / unflagged hidden cells
    progress: bool = False  # plane: fraction of the safe cells revealed

    def __post_init__(self) -> None:
        extra = [name for name in Layout._fields if getattr(self, name)]
        if self.compact and extra:
            raise UserError(
                f"a compact observation has no planes: set {', '.join(extra)} to false, or compact to false"
            )

    @property
    def layout(self) -> Layout:
        places, following = [], BASE_PLANES
        for name in Layout._fields:
            places.append(following if getattr(self, name) else -1)
            following += getattr(self, name)
        return Layout(*places)

    @property
    def planes(self) -> int:
        return 0 if self.compact else BASE_PLANES + self.frontier + self.remaining_mines_ratio + self.progress

    def space(self, rows: int, cols: int) -> spaces.Box:
        if self.compact:
            return spaces.Box(FLAGGED, 8, (rows, cols), np.int8)
        return spaces.Box(0.0, 1.0, (self.planes, rows, cols), np.float32)


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """The settings of an environment, by the names that users write."""

    H: Side
    W: Side
    mine_count: Annotated[int, Bounds(ge=1)]
    first_click: FirstClick
    max_steps: Interval  # ends an episode, such as one of endless flag toggling
    flag_actions: bool
    reward: AnyReward = field(default_factory=Reward)
    guarantee_safe_neighborhood: bool = True
    mine_density: Sequence[Fraction] | None = None
    frontier_mask: bool = False  # restricts masks to cells next to a revealed one; the rules allow all
    compact: bool = False  # this and the next three: see `Encoding`
    frontier: bool = False
    remaining_mines_ratio: bool = False
    progress: bool = False
    render_mode: Literal["ansi"] | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def require_multi_action(self) -> None:
        """Raise `UserError` if steps that reveal several cells are impossible: mines not laid yet, or flag actions."""
        if self.first_click == "agent" or self.flag_actions:
            raise UserError(
                "several cells can be revealed in one step only after the first click and without flags: set "
                "env.config.first_click=uniform and env.config.flag_actions=false"
            )

    def encoding(self) -> Encoding:
        return Encoding(self.compact, self.frontier, self.remaining_mines_ratio, self.progress)

    def variant(self) -> Variant:
        return Variant(
            self.H,
            self.W,
            self.mine_count,
            safe_neighborhood=self.guarantee_safe_neighborhood,
            first_click=self.first_click,
            mine_density=self.mine_density,
            max_steps=self.max_steps,
            flag_actions=self.flag_actions,
        )

    def game(self) -> "Minesweeper":
        from .game import Minesweeper  # imports the compiled rules, which the torch environment does not need

        return Minesweeper(
            **asdict(self.variant()),
            frontier_mask=self.frontier_mask,
            encoding=self.encoding(),
            reward=self.reward,
        )
