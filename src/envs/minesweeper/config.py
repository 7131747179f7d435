"""The configuration of the environments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gymnasium.vector import AutoresetMode

from ...core.errors import UserError
from ...core.ranges import Bounds, Fraction, Interval, check_fields
from ..masked_env import RENDER_FPS
from .reward import AnyReward, Reward
from .variant import Encoding, FirstClick, Side, Variant

if TYPE_CHECKING:
    from .game import Minesweeper

EPISODE_MEANS = ("safe_revealed", "invalid_rate")  # values of `final_info` that learners log as means over games
VECTOR_METADATA: dict[str, Any] = {  # both vector environments have it
    "render_modes": ["ansi"],
    "render_fps": RENDER_FPS,
    "autoreset_mode": AutoresetMode.SAME_STEP,
}


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
            **asdict(self.variant()), frontier_mask=self.frontier_mask, encoding=self.encoding(), reward=self.reward
        )
