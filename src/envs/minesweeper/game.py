"""Minesweeper as a `Game`, as used by agents, the arena and the web page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...core.errors import UserError
from ...core.play.capabilities import AuxTask
from ...core.play.game import Game, Trait
from ..two_player_env import OutcomeReward
from . import planes, rules, viewer
from .encoding import Encoding
from .fixed_boards import read_boards
from .planes import frontier_or_hidden
from .reward import COMPONENTS, Reward, weights
from .reward_kernel import RESULT, components_of, flags_worth, write_reward
from .variant import FirstClick, Variant


@dataclass(frozen=True)
class View:
    """The information available to the player."""

    visible: np.ndarray  # (H, W) int8: -1 hidden, -2 flagged, 0..8 the number revealed
    mines: int  # on the whole board
    over: bool = False  # the game has ended; the board alone does not show a loss


@dataclass
class Position:
    boards: rules.Boards  # of one board
    steps: int = 0
    invalid_steps: int = 0
    exploded: int | None = None  # the cell of the mine that ended the game
    result: np.ndarray = field(default_factory=lambda: np.zeros(1, RESULT))  # of the latest step
    reward_totals: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COMPONENTS, 0.0))


class Minesweeper(Game[Position, View]):
    """Actions 0..HW-1 reveal a cell; HW..2HW-1 toggle a flag, if there are flag actions.

    An action on a revealed cell changes nothing: it is counted as invalid and rewarded with the invalid penalty.
    """

    traits: ClassVar[frozenset[Trait]] = frozenset({Trait.ONE_PLAYER, Trait.TEACHABLE})
    aux_task = AuxTask("mine")
    mirrored: ClassVar[bool] = True
    has_coded_labels: ClassVar[bool] = True

    def __init__(
        self,
        rows: int,
        cols: int,
        mines: int,
        *,
        safe_neighborhood: bool = True,
        first_click: FirstClick = "agent",
        mine_density: Sequence[float] | None = None,
        max_steps: int | None = None,
        flag_actions: bool = True,
        frontier_mask: bool = False,
        encoding: Encoding | None = None,
        reward: Reward | OutcomeReward | None = None,
    ) -> None:
        """`mine_density=[low, high]` draws the mine count of each game from this fraction of the cells, instead of
        `mines`.

        With `first_click="uniform"` the game plays the first reveal on a random cell. Without `max_steps` the length of
        a game is not limited.
        """
        self.variant = Variant(
            rows=rows,
            cols=cols,
            mines=mines,
            safe_neighborhood=safe_neighborhood,
            first_click=first_click,
            mine_density=mine_density,
            max_steps=max_steps,
            flag_actions=flag_actions,
        )
        self.rows, self.cols, self.mines = rows, cols, mines
        self.cells, self.num_actions = self.variant.cells, self.variant.num_actions
        self.safe_neighborhood = safe_neighborhood
        self.first_click = first_click
        self.max_steps = max_steps
        self.flag_actions, self.frontier_mask = flag_actions, frontier_mask
        self.mine_range = self.variant.mine_range
        self.encoding = encoding or Encoding()
        self.has_coded_cells = self.encoding.compact
        self._weights = weights(reward or Reward())

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
        kind, cell = divmod(action, self.cells)
        game, valid, opened = state.boards.games[0], bool(state.boards.visible[0, cell] < 0), 0
        flags_before = flags_worth(game, self._weights)
        if valid and kind == 0:
            opened = rules.reveal(state.boards, 0, cell)
        elif valid:
            rules.toggle_flag(state.boards, 0, cell)
        state.steps += 1
        state.invalid_steps += not valid
        state.exploded = cell if int(game["status"]) == rules.LOST else None
        playing = int(game["status"]) == rules.PLAYING
        state.result[0]["truncated"] = playing and self.max_steps is not None and state.steps >= self.max_steps
        write_reward(game, state.result[0], valid, opened, flags_before, self._weights)
        for name, amount in components_of(state.result[0]).items():
            state.reward_totals[name] += amount
        return state

    def move_name(self, state: Position, action: int) -> str:
        """Return `reveal:ROW,COLUMN` or `flag:ROW,COLUMN`, which toggles a flag; both count from 0."""
        kind, cell = divmod(action, self.cells)
        return f"{'flag' if kind else 'reveal'}:{cell // self.cols},{cell % self.cols}"

    def sensible_mask(self, view: View) -> np.ndarray:
        """Return the mask of the environments: hidden cells, or the frontier if that is configured."""
        hidden = view.visible.ravel() < 0
        reveals = frontier_or_hidden(view.visible) if self.frontier_mask else hidden
        if not self.flag_actions:
            return reveals.copy()
        # Without a step limit a deterministic player could toggle a flag forever.
        return np.concatenate([reveals, hidden & (self.max_steps is not None)])

    def is_open(self, state: Position, action: int) -> bool:
        return bool(state.boards.visible[0, action % self.cells] < 0)

    def outcome(self, state: Position) -> int | None:
        status = int(state.boards.games[0]["status"])
        if status != rules.PLAYING:
            return status
        return 0 if self.max_steps is not None and state.steps >= self.max_steps else None

    def view(self, state: Position) -> View:
        visible = state.boards.visible[0].reshape(self.rows, self.cols).copy()
        return View(visible, int(state.boards.games[0]["mines"]), over=self.outcome(state) is not None)

    def observe(self, view: View) -> np.ndarray:
        return planes.encode(self.encoding, view.visible, view.mines)

    def render(self, state: Position) -> str:
        view = self.view(state)
        return viewer.text_board(view.visible, view.mines)

    def image(self, state: Position) -> np.ndarray:
        """Draw the board as the player sees it; with all mines once the game is over."""
        from . import image  # Pillow, needed for pictures only

        view, outcome, ending = self.view(state), self.outcome(state), None
        if outcome is not None:
            mines = (state.boards.number[0] == rules.MINE).reshape(self.rows, self.cols)
            ending = image.Ending(outcome, mines, state.exploded)
        return image.draw(view.visible, view.mines, ending)

    def episode_metrics(self, state: Position) -> dict[str, float]:
        safe = self.cells - int(state.boards.games[0]["mines"])
        return {
            "safe_revealed": 1 - int(state.boards.games[0]["safe_left"]) / safe,
            "steps": float(state.steps),
            "invalid_rate": state.invalid_steps / max(state.steps, 1),
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

    def _empty_board(self) -> rules.Boards:
        return rules.new_boards(1, self.rows, self.cols, self.safe_neighborhood)
