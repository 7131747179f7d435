"""N games stepped by one compiled call: actions, cascades, rewards, restarts, observations and masks.

Observations and masks are updated incrementally: a step writes only the cells that it changed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from ...core.errors import UserError
from ...core.kernels import jit
from ..two_player_env import OutcomeReward
from . import rules
from .encoding import FLAGS, Layout
from .game import Minesweeper
from .planes import show_cell, show_options, spread_frontier
from .reward import Reward, weights
from .reward_kernel import RESULT, flags_worth, write_reward
from .rules import FLAGGED, PLAYING, WON, Boards, kernel

PARALLEL_FROM = 128  # envs; with fewer, threads cost more than they save


class Buffers(NamedTuple):
    planes: np.ndarray  # (N, C, HW) float32; C is 0 for the compact observation, which is `Boards.visible`
    mask: np.ndarray  # (N, A) bool: legal actions
    frontier: np.ndarray  # (N, HW) bool: unrevealed cells next to a revealed one, if `track_frontier`
    final_planes: np.ndarray  # (N, C, HW) float32: last observation of a game that ended in this step
    final_visible: np.ndarray  # (N, HW) int8
    results: np.ndarray  # (N,) RESULT


class Setup(NamedTuple):
    fewest: int  # mines
    most: int
    uniform_first: bool
    max_steps: int
    flag_actions: bool
    track_frontier: bool
    frontier_mask: bool
    restart: bool  # a game that ends is followed by a new one in the same step


class Batch:
    """The state of N games and the output buffers of their steps."""

    def __init__(
        self, game: Minesweeper, reward: Reward | OutcomeReward, count: int, *, frontier_mask: bool, restart: bool
    ) -> None:
        planes, cells = game.encoding.planes, game.cells
        self.boards = rules.new_boards(count, game.rows, game.cols, game.safe_neighborhood)
        self.buffers = Buffers(
            planes=np.zeros((count, planes, cells), np.float32),
            mask=np.ones((count, game.num_actions), np.bool_),
            frontier=np.zeros((count, cells), np.bool_),
            final_planes=np.zeros((count, planes, cells), np.float32),
            final_visible=np.zeros((count, cells), np.int8),
            results=np.zeros(count, RESULT),
        )
        self._setup = Setup(
            fewest=game.mine_range[0],
            most=game.mine_range[1],
            uniform_first=game.first_click == "uniform",
            max_steps=np.iinfo(np.int32).max if game.max_steps is None else game.max_steps,
            flag_actions=game.flag_actions,
            track_frontier=frontier_mask or game.encoding.frontier,
            frontier_mask=frontier_mask,
            restart=restart,
        )
        self._layout, self._weights = game.encoding.layout, weights(reward)
        self._parallel = count >= PARALLEL_FROM

    def restart(self, which: np.ndarray) -> None:
        """Start new games on the boards with these indices (M,)."""
        _restart_all(which, self.boards, self.buffers, self._setup, self._layout)

    def step(self, actions: np.ndarray) -> None:
        """Play one action (N,) int64 per board; the results are written to `buffers`."""
        step = _step_parallel if self._parallel else _step_serial
        step(actions, self.boards, self.buffers, self._setup, self._layout, self._weights)

    def reveal_all(self, cells: np.ndarray) -> None:
        """Reveal the hidden cells among `cells` (N, HW) bool in one step of each game."""
        reveal_all = _reveal_all_parallel if self._parallel else _reveal_all_serial
        reveal_all(cells, self.boards, self.buffers, self._setup, self._layout, self._weights)

    def set_frontier_mask(self, on: bool) -> None:
        self._setup = self._setup._replace(frontier_mask=on, track_frontier=on or self._layout.frontier >= 0)
        _show_all(self.boards, self.buffers, self._setup, self._layout)

    def state(self) -> dict[str, np.ndarray | bool]:
        """Return the games as plain arrays, for `load_state`; observations and masks are recomputed from them."""
        return {name: array.copy() for name, array in self._kept().items()} | {
            "frontier_mask": self._setup.frontier_mask
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        for name, array in self._kept().items():
            if saved[name].shape != array.shape:
                raise UserError(
                    f"{name} was saved with shape {saved[name].shape} and has {array.shape} here: load it with the "
                    "board and num_envs that it was saved with"
                )
            array[:] = saved[name]
        self.set_frontier_mask(bool(saved["frontier_mask"]))

    def _kept(self) -> dict[str, np.ndarray]:
        """Return the arrays of the state; records are viewed as bytes (N, bytes)."""
        records = {"games": self.boards.games, "results": self.buffers.results}
        return {"number": self.boards.number, "visible": self.boards.visible} | {
            name: array.view(np.uint8).reshape(len(array), -1) for name, array in records.items()
        }


@kernel
def _step_serial(
    actions: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout, weights: Any
) -> None:
    for i in range(actions.size):
        _step(i, actions[i], boards, buffers, setup, layout, weights)


@jit(parallel=True)
def _step_parallel(
    actions: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout, weights: Any
) -> None:
    for i in prange(actions.size):
        _step(i, actions[i], boards, buffers, setup, layout, weights)


@kernel
def _restart_all(which: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout) -> None:
    for i in which:
        _restart(i, boards, buffers, setup, layout)


@kernel
def _reveal_all_serial(
    cells: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout, weights: Any
) -> None:
    for i in range(cells.shape[0]):
        _reveal_all(i, cells[i], boards, buffers, setup, layout, weights)


@jit(parallel=True)
def _reveal_all_parallel(
    cells: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout, weights: Any
) -> None:
    for i in prange(cells.shape[0]):
        _reveal_all(i, cells[i], boards, buffers, setup, layout, weights)


@kernel
def _step(i: int, action: int, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout, weights: Any) -> None:
    cells = boards.visible.shape[1]
    cell = action if action < cells else action - cells
    valid = boards.visible[i, cell] < 0
    flags_before = flags_worth(boards.games[i], weights)
    opened = 0
    if valid and action < cells:
        opened = rules.reveal(boards, i, cell)
    elif valid:
        rules.toggle_flag(boards, i, cell)
    if buffers.planes.shape[1] > 0:
        buffers.planes[i, FLAGS, cell] = boards.visible[i, cell] == FLAGGED
    _show(i, opened, boards, buffers, setup, layout)
    _end_step(i, valid, opened, flags_before, boards, buffers, setup, layout, weights)


@kernel
def _reveal_all(
    i: int, cells: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout, weights: Any
) -> None:
    """Reveal the hidden cells among `cells` (HW,) bool in one step; if one is a mine, only that mine."""
    visible, number = boards.visible[i], boards.number[i]
    mine, opened = -1, 0
    for cell in range(cells.size):
        if cells[cell] and visible[cell] < 0 and number[cell] == rules.MINE:
            mine = cell
    if mine >= 0:
        rules.reveal(boards, i, mine)
    else:
        for cell in range(cells.size):
            if cells[cell] and visible[cell] < 0:
                count = rules.reveal(boards, i, cell)
                _show(i, count, boards, buffers, setup, layout)
                opened += count
    _end_step(i, True, opened, 0.0, boards, buffers, setup, layout, weights)


@kernel
def _end_step(
    i: int,
    valid: bool,
    opened: int,
    flags_before: float,
    boards: Boards,
    buffers: Buffers,
    setup: Setup,
    layout: Layout,
    weights: Any,
) -> None:
    """Count the step, compute its reward, and start the next game if this one ended."""
    game, result = boards.games[i], buffers.results[i]
    result.steps += 1
    result.invalid_steps += not valid
    result.terminated = game.status != PLAYING
    result.truncated = not result.terminated and result.steps >= setup.max_steps
    result.terminated = result.terminated or result.truncated  # a truncated game is lost
    write_reward(game, result, valid, opened, flags_before, weights)
    if setup.restart and result.terminated:
        _keep_final(i, boards, buffers)
        _restart(i, boards, buffers, setup, layout)


@kernel
def _show(i: int, opened: int, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout) -> None:
    """Write the cells opened by a reveal into observation and mask."""
    visible, mask, frontier, planes = boards.visible[i], buffers.mask[i], buffers.frontier[i], buffers.planes[i]
    game, has_planes = boards.games[i], planes.shape[0] > 0
    for k in range(opened):
        cell = boards.opened[i, k]
        mask[cell] = False
        if setup.flag_actions:
            mask[visible.size + cell] = False
        if setup.track_frontier:
            spread_frontier(frontier, visible, cell, boards.near, boards.degree)
        if has_planes:
            show_cell(planes, visible, cell)
    if setup.frontier_mask:
        _mask_to_frontier(mask, visible, frontier)
    if has_planes:
        show_options(planes, frontier, layout, game.mines, game.flags, game.safe_left)


@kernel
def _mask_to_frontier(mask: np.ndarray, visible: np.ndarray, frontier: np.ndarray) -> None:
    """Allow reveals on the frontier only, or on all hidden cells if it is empty."""
    everywhere = not frontier.any()
    for cell in range(visible.size):
        mask[cell] = visible[cell] < 0 and (everywhere or frontier[cell])


@kernel
def _keep_final(i: int, boards: Boards, buffers: Buffers) -> None:
    game, result, cells = boards.games[i], buffers.results[i], boards.visible.shape[1]
    result.final_safe_revealed = 1 - game.safe_left / (cells - game.mines)
    result.final_steps = result.steps
    result.final_invalid_steps = result.invalid_steps
    result.final_won = game.status == WON
    for cell in range(cells):
        buffers.final_visible[i, cell] = boards.visible[i, cell]
    for plane in range(buffers.planes.shape[1]):
        for cell in range(cells):
            buffers.final_planes[i, plane, cell] = buffers.planes[i, plane, cell]


@kernel
def _restart(i: int, boards: Boards, buffers: Buffers, setup: Setup, layout: Layout) -> None:
    game, result, opened = boards.games[i], buffers.results[i], 0
    if setup.uniform_first:
        game.status = WON
        while game.status != PLAYING:  # won by the first reveal: start another
            opened = rules.start_revealed(boards, i, setup.fewest, setup.most)
    else:
        rules.start_game(boards, i, setup.fewest, setup.most)
    result.steps = 0
    result.invalid_steps = 0
    _show_nothing(i, buffers)
    _show(i, opened, boards, buffers, setup, layout)


@kernel
def _show_all(boards: Boards, buffers: Buffers, setup: Setup, layout: Layout) -> None:
    """Recompute observations, masks and frontiers from the boards."""
    for i in range(boards.visible.shape[0]):
        opened = 0
        _show_nothing(i, buffers)
        for cell in range(boards.visible.shape[1]):
            if boards.visible[i, cell] >= 0:
                boards.opened[i, opened] = cell
                opened += 1
            elif boards.visible[i, cell] == FLAGGED and buffers.planes.shape[1] > 0:
                buffers.planes[i, FLAGS, cell] = 1
        _show(i, opened, boards, buffers, setup, layout)


@kernel
def _show_nothing(i: int, buffers: Buffers) -> None:
    buffers.planes[i] = 0
    buffers.mask[i] = True
    buffers.frontier[i] = False
