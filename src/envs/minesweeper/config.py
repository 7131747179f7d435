"""The configuration of a Minesweeper environment."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from ...core.errors import UserError
from ...core.ranges import Bounds, Fraction, Interval, check_fields
from ..two_player_env import OutcomeReward
from .encoding import Encoding
from .reward import Reward
from .variant import FirstClick, Side, Variant

if TYPE_CHECKING:
    from .game import Minesweeper

RENDER_MODES = ("ansi",)
EPISODE_MEANS = ("safe_revealed", "invalid_rate")  # values of `final_info` that learners log as means over games


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    H: Side
    W: Side
    mine_count: Annotated[int, Bounds(ge=1)]
    first_click: FirstClick  # "uniform": the env draws and plays the first reveal
    max_steps: Interval  # ends an episode, such as one of endless flag toggling
    flag_actions: bool  # False: actions reveal only
    reward: Reward | OutcomeReward = field(default_factory=Reward)
    guarantee_safe_neighborhood: bool = True  # the first reveal keeps its 8 neighbours free of mines, not only itself
    mine_density: Sequence[Fraction] | None = None  # [low, high]: each episode's mine count is drawn from this band
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
        return Encoding(
            compact=self.compact,
            frontier=self.frontier,
            remaining_mines_ratio=self.remaining_mines_ratio,
            progress=self.progress,
        )

    def variant(self) -> Variant:
        return Variant(
            rows=self.H,
            cols=self.W,
            mines=self.mine_count,
            safe_neighborhood=self.guarantee_safe_neighborhood,
            first_click=self.first_click,
            mine_density=self.mine_density,
            max_steps=self.max_steps,
            flag_actions=self.flag_actions,
        )

    def game(self) -> "Minesweeper":
        # Imported here: it imports the compiled rules, which the torch environment does not need.
        from .game import Minesweeper

        return Minesweeper(
            **vars(self.variant()), frontier_mask=self.frontier_mask, encoding=self.encoding(), reward=self.reward
        )
