"""Minesweeper as a `Game`, as used by agents, the arena and the web page; and one compiled step with its reward."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...core.errors import UserError
from ...core.play.capabilities import AuxTask
from ...core.play.game import Game, Trait
from . import observation, reward, rules
from .notation import read_boards, text_board
from .reward import COMPONENTS, AnyReward, Reward, StepFeatures
from .rules import LOST, PLAYING, WON, Boards, kernel
from .variant import MINE, Encoding, Variant

RESULT = np.dtype(
    [
        ("reward", np.float64),  # the sum of the components
        ("components", np.float64, len(COMPONENTS)),
        ("final_safe_revealed", np.float64),  # if a game ended in this step: share of its safe cells revealed
        ("final_steps", np.int32),
        ("final_invalid_steps", np.int32),
        ("final_won", np.bool_),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("steps", np.int32),  # of the game in progress, like the next
        ("invalid_steps", np.int32),
    ],
    align=True,
)

_components, _flags_worth = kernel(reward.components), kernel(reward.flags_worth)


@kernel
def play_action(boards: Boards, i: int, action: int, result: Any, max_steps: int, weights: Any) -> int:
    """Play an action on board `i`, write the step to `result`, a record of `RESULT`, and return the cells opened."""
    cells = boards.visible.shape[1]
    cell = action if action < cells else action - cells
    valid = boards.visible[i, cell] < 0
    flags_before = flags_worth(boards.games[i], weights)
    opened = 0
    if valid and action < cells:
        opened = rules.reveal(boards, i, cell)
    elif valid:
        rules.toggle_flag(boards, i, cell)
    finish_step(boards.games[i], result, valid, opened, flags_before, max_steps, weights)
    return opened


@kernel
def flags_worth(game: Any, weights: Any) -> float:
    """Return the reward for the flags that are on the board of `game`, a record of `Boards.games`."""
    if not game.laid:
        return 0.0
    return _flags_worth(game.right_flags, game.flags - game.right_flags, weights)


@kernel
def finish_step(
    game: Any, result: Any, valid: bool, opened: int, flags_before: float, max_steps: int, weights: Any
) -> None:
    """Count a step and compute its reward."""
    result.steps += 1
    result.invalid_steps += not valid
    result.terminated = game.status != PLAYING
    result.truncated = not result.terminated and result.steps >= max_steps
    result.terminated = result.terminated or result.truncated  # a truncated game is lost
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


@dataclass(frozen=True)
class View:
    """The information available to the player."""

    visible: np.ndarray  # (H, W) int8: -1 hidden, -2 flagged, 0..8 the number revealed
    mines: int  # mine count of the board, flagged or not
    over: bool = False  # the game has ended; the board alone does not show a loss


@dataclass
class Position:
    boards: Boards  # a single one
    exploded: int | None = None  # the cell of the mine that ended the game
    result: np.ndarray = field(default_factory=lambda: np.zeros(1, RESULT))  # the latest step
    reward_totals: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COMPONENTS, 0.0))


@dataclass(eq=False, kw_only=True)
class Minesweeper(Variant, Game[Position, View]):
    """Actions 0..HW-1 reveal a cell; HW..2HW-1 toggle a flag, if there are flag actions.

    An action on a revealed cell changes nothing: it is counted as invalid and rewarded with the invalid penalty.
    """

    traits: ClassVar[frozenset[Trait]] = frozenset({Trait.ONE_PLAYER})
    aux_task: ClassVar[AuxTask | None] = AuxTask("mine")
    mirrored: ClassVar[bool] = True
    has_coded_labels: ClassVar[bool] = True

    frontier_mask: bool = False  # restricts masks to cells next to a revealed one; the rules allow all
    encoding: Encoding = field(default_factory=Encoding)
    reward: AnyReward = field(default_factory=Reward)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.has_coded_cells = self.encoding.compact
        self.weights = reward.weights(self.reward)
        self.step_limit = np.iinfo(np.int32).max if self.max_steps is None else self.max_steps

    def initial(self, rng: np.random.Generator) -> Position:
        boards = self._empty_board()
        boards.games[0]["random"] = rng.integers(2**64, dtype=np.uint64)
        begin = rules.start_revealed if self.first_click == "uniform" else rules.start_game
        begin(boards, 0, *self.mine_range)
        return Position(boards)

    def to_move(self, state: Position) -> int:
        return 0

    def legal_actions(self, view: View) -> list[int]:
        hidden = self.random_actions(view)
        return hidden + [self.cells + cell for cell in hidden] if self.flag_actions else hidden

    def play(self, state: Position, action: int) -> Position:
        if self.outcome(state) is not None:
            raise UserError("the game is over")
        if not 0 <= action < self.num_actions:
            raise UserError(f"action {action} does not exist: they are 0..{self.num_actions - 1}")
        result = state.result[0]
        play_action(state.boards, 0, action, result, self.step_limit, self.weights)
        state.exploded = action if int(state.boards.games[0]["status"]) == LOST else None
        for name, amount in components_of(result).items():
            state.reward_totals[name] += amount
        return state

    def move_name(self, state: Position, action: int) -> str:
        """Return `reveal:ROW,COLUMN` or `flag:ROW,COLUMN`, which toggles a flag; both count from 0."""
        kind, cell = divmod(action, self.cells)
        return f"{'flag' if kind else 'reveal'}:{cell // self.cols},{cell % self.cols}"

    def sensible_mask(self, view: View) -> np.ndarray:
        """Return the mask of the environments: hidden cells, or the frontier if that is configured."""
        hidden = view.visible.ravel() < 0
        reveals = observation.frontier_or_hidden(view.visible) if self.frontier_mask else hidden
        if not self.flag_actions:
            return reveals.copy()
        # Without a step limit a deterministic player could toggle a flag forever.
        return np.concatenate([reveals, hidden & (self.max_steps is not None)])

    def is_open(self, state: Position, action: int) -> bool:
        return bool(state.boards.visible[0, action % self.cells] < 0)

    def outcome(self, state: Position) -> int | None:
        status = int(state.boards.games[0]["status"])
        if status != PLAYING:
            return status
        return 0 if state.result[0]["truncated"] else None

    def view(self, state: Position) -> View:
        visible = state.boards.visible[0].reshape(self.rows, self.cols).copy()
        return View(visible, int(state.boards.games[0]["mines"]), over=self.outcome(state) is not None)

    def observe(self, view: View) -> np.ndarray:
        return observation.encode(self.encoding, view.visible, view.mines)

    def render(self, state: Position) -> str:
        view = self.view(state)
        return text_board(view.visible, view.mines)

    def image(self, state: Position) -> np.ndarray:
        """Draw the board as the player sees it; with all mines once the game is over."""
        from . import image  # Pillow, needed for pictures only

        view, outcome, ending = self.view(state), self.outcome(state), None
        if outcome is not None:
            mines = (state.boards.number[0] == MINE).reshape(self.rows, self.cols)
            ending = image.Ending(outcome, mines, state.exploded)
        return image.draw(view.visible, view.mines, ending)

    def episode_metrics(self, state: Position) -> dict[str, float]:
        game, steps = state.boards.games[0], int(state.result[0]["steps"])
        status = int(game["status"])  # still PLAYING if the player gave up or reached the step limit
        return {
            "avg_progress": 1 - int(game["safe_left"]) / (self.cells - int(game["mines"])),
            "steps": float(steps),
            **({"steps_to_win": float(steps)} if status == WON else {}),
            **({"steps_to_loss": float(steps)} if status == LOST else {}),
            "invalid_rate": int(state.result[0]["invalid_steps"]) / max(steps, 1),
            **{f"reward_{name}": amount for name, amount in state.reward_totals.items()},
        }

    def group(self, state: Position) -> str | None:
        """Return the density of a game if mine counts are drawn, to report results by density."""
        if self.mine_range[0] == self.mine_range[1]:
            return None
        return f"{100 * int(state.boards.games[0]['mines']) / self.cells:4.1f}% mines"  # fixed width, to sort

    def random_actions(self, view: View) -> list[int]:
        """Return the reveals; toggling flags at random makes no progress."""
        return [] if view.over else np.flatnonzero(view.visible < 0).tolist()

    def fixed_starts(self, path: Path) -> list[Position]:
        return [self.start(first, mines) for first, mines in read_boards(path, self.rows, self.cols, self.mine_range)]

    def start(self, first: int, mines: Sequence[int]) -> Position:
        """Return a game with given mines after its first reveal."""
        boards = self._empty_board()
        rules.start_game(boards, 0, len(mines), len(mines))
        rules.set_mines(boards, 0, np.array(mines, np.int64))
        rules.reveal(boards, 0, first)
        return Position(boards)

    def _empty_board(self) -> Boards:
        return rules.new_boards(1, self.rows, self.cols, self.safe_neighborhood)
