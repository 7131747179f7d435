"""Vector environment of Minesweeper: N games stepped by one compiled call.

Observations and masks are updated incrementally: a step writes only the cells that it changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from ...core.errors import UserError
from ...core.kernels import jit
from ..masked_env import MaskedVectorEnv, Step
from ..splitmix import seed_word
from . import rules
from .config import EPISODE_MEANS, VECTOR_METADATA, EnvConfig
from .game import RESULT, Minesweeper, finish_step, play_action
from .notation import text_board
from .observation import show_cell, show_options, spread_frontier
from .reward import COMPONENTS
from .rules import PLAYING, WON, Boards, kernel
from .variant import FLAGGED, FLAGS, MINE

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
    frontier: int  # from here the fields of `Layout`, as parallel loops take no nested tuples
    remaining_mines_ratio: int
    progress: int


class Batch:
    """The state of N games and the output buffers of their steps."""

    def __init__(self, game: Minesweeper, count: int, *, restart: bool) -> None:
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
        self.setup = Setup(
            *game.mine_range,
            uniform_first=game.first_click == "uniform",
            max_steps=game.step_limit,
            flag_actions=game.flag_actions,
            track_frontier=game.frontier_mask or game.encoding.frontier,
            frontier_mask=game.frontier_mask,
            restart=restart,
            **game.encoding.layout._asdict(),
        )
        self._weights, self._parallel = game.weights, count >= PARALLEL_FROM

    def restart(self) -> None:
        """Start new games on all boards."""
        _restart_all(self.boards, self.buffers, self.setup)

    def step(self, actions: np.ndarray) -> None:
        """Play one action (N,) int64 per board; the results are written to `buffers`."""
        step = _step_parallel if self._parallel else _step_serial
        step(actions, self.boards, self.buffers, self.setup, self._weights)

    def reveal_all(self, cells: np.ndarray) -> None:
        """Reveal the hidden cells among `cells` (N, HW) bool in one step of each game."""
        reveal_all = _reveal_all_parallel if self._parallel else _reveal_all_serial
        reveal_all(cells, self.boards, self.buffers, self.setup, self._weights)

    def set_frontier_mask(self, on: bool) -> None:
        self.setup = self.setup._replace(frontier_mask=on, track_frontier=on or self.setup.frontier >= 0)
        _show_all(self.boards, self.buffers, self.setup)


class VecMinesweeper(MaskedVectorEnv[np.ndarray]):
    """Env i plays exactly like a `MinesweeperEnv` seeded with `seed + i`.

    `info["final_info"]` has the steps of a game, its invalid steps, the fraction of safe cells revealed and whether it
    was won. Observations, masks and final observations are buffers that the next step overwrites; with `copy=True` each
    step returns new arrays, which is several times slower.
    """

    metadata = VECTOR_METADATA
    episode_means = EPISODE_MEANS

    def __init__(self, num_envs: int, config: EnvConfig, *, copy: bool = False) -> None:
        self.config, self.copy, self.game, self.render_mode = config, copy, config.game(), config.render_mode
        super().__init__(num_envs, self.game.encoding.space(self.game.rows, self.game.cols), self.game.num_actions)
        self._batch = Batch(self.game, num_envs, restart=True)
        boards, buffers = self._batch.boards, self._batch.buffers
        shape = self.observation_space.shape
        self._observations = (boards.visible if config.compact else buffers.planes).reshape(shape)
        self._final_observations = (buffers.final_visible if config.compact else buffers.final_planes).reshape(shape)

    def _start(self, seeds: Sequence[int]) -> None:
        if seeds:
            self._batch.boards.games["random"] = [seed_word(seed) for seed in seeds]
        self._batch.restart()

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one action per env (N,). `info["rewards"]` has the components of the rewards of this step."""
        self._batch.step(self._checked(actions, None))  # masked actions are steps that change nothing
        return self._step_result()

    def step_many(self, cells: np.ndarray) -> Step[np.ndarray]:
        """Reveal all `cells` (N, H, W) bool of every env in one step; at least one per env must be hidden.

        If one is a mine, the game is lost and nothing is opened.
        """
        self._require_started()
        self.config.require_multi_action()
        self._batch.reveal_all(np.ascontiguousarray(cells).reshape(self.num_envs, -1))
        return self._step_result()

    def _step_result(self) -> Step[np.ndarray]:
        results = self._batch.buffers.results
        terminated, truncated = results["terminated"].copy(), results["truncated"].copy()
        info: dict[str, Any] = {
            "action_mask": self.action_masks(),
            "rewards": {name: results["components"][:, k].copy() for k, name in enumerate(COMPONENTS)},
        }
        ended = terminated | truncated
        if ended.any():
            final, names = results[ended], ("steps", "invalid_steps", "safe_revealed", "won")
            rate = final["final_invalid_steps"] / np.maximum(final["final_steps"], 1)
            info |= self._final(ended, {name: final[f"final_{name}"] for name in names} | {"invalid_rate": rate})
        return self.observe(), results["reward"].copy(), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        return self._hand_out(self._batch.buffers.mask)

    def set_frontier_mask(self, on: bool) -> None:
        """Restrict the masks to the frontier, or undo that; also during episodes."""
        self._batch.set_frontier_mask(on)

    def state(self) -> dict[str, np.ndarray | bool]:
        """Return everything that later steps depend on, for `load_state`."""
        if not self._seeded:
            raise UserError("there are no episodes to save: call reset() first")
        saved = {name: array.copy() for name, array in self._saved_arrays().items()}
        return saved | {"frontier_mask": self._batch.setup.frontier_mask}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Restore a saved state, so that the environment continues exactly as the saved one."""
        for name, array in self._saved_arrays().items():
            if saved[name].shape != array.shape:
                raise UserError(
                    f"{name} was saved with shape {saved[name].shape} and has {array.shape} here: load it with the "
                    "board and num_envs that it was saved with"
                )
            array[:] = saved[name]
        self.set_frontier_mask(bool(saved["frontier_mask"]))  # recomputes observations and masks, too
        self._seeded = True

    def _saved_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the state; records are viewed as bytes (N, bytes)."""
        boards, results = self._batch.boards, self._batch.buffers.results
        records = {"games": boards.games, "results": results}
        return {"number": boards.number, "visible": boards.visible} | {
            name: array.view(np.uint8).reshape(len(array), -1) for name, array in records.items()
        }

    def mine_mask(self) -> np.ndarray:
        """Return the mines, (N, H, W) bool; none before the first reveal."""
        return (self._batch.boards.number == MINE).reshape(self.num_envs, self.game.rows, self.game.cols)

    def aux_targets(self) -> np.ndarray:
        """Return 1 for mines, 0 for safe cells, -1 for cells that are revealed or not laid yet, (N, H, W) int8."""
        boards = self._batch.boards
        unknown = (boards.visible < 0) & boards.games["laid"][:, None]
        labels = np.where(unknown, boards.number == MINE, np.int8(-1)).astype(np.int8)
        return labels.reshape(self.num_envs, self.game.rows, self.game.cols)

    def render(self) -> tuple[str, ...] | None:
        if self.render_mode is None:
            return None
        boards, shape = self._batch.boards, (self.game.rows, self.game.cols)
        pairs = zip(boards.visible, boards.games["mines"], strict=True)
        return tuple(text_board(visible.reshape(shape), int(mines)) for visible, mines in pairs)

    def observe(self) -> np.ndarray:
        return self._hand_out(self._observations)

    def _final_observation(self, i: int) -> np.ndarray:
        return self._hand_out(self._final_observations[i])

    def _hand_out(self, buffer: np.ndarray) -> np.ndarray:
        return buffer.copy() if self.copy else buffer


@kernel
def _step_serial(actions: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, weights: Any) -> None:
    for i in range(actions.size):
        _step(i, actions[i], boards, buffers, setup, weights)


@jit(parallel=True)
def _step_parallel(actions: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, weights: Any) -> None:
    for i in prange(actions.size):
        _step(i, actions[i], boards, buffers, setup, weights)


@kernel
def _step(i: int, action: int, boards: Boards, buffers: Buffers, setup: Setup, weights: Any) -> None:
    cells = boards.visible.shape[1]
    cell = action if action < cells else action - cells
    opened = play_action(boards, i, action, buffers.results[i], setup.max_steps, weights)
    if buffers.planes.shape[1] > 0:
        buffers.planes[i, FLAGS, cell] = boards.visible[i, cell] == FLAGGED
    _show(i, opened, boards, buffers, setup)
    _restart_if_ended(i, boards, buffers, setup)


@kernel
def _reveal_all_serial(cells: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, weights: Any) -> None:
    for i in range(cells.shape[0]):
        _reveal_all(i, cells[i], boards, buffers, setup, weights)


@jit(parallel=True)
def _reveal_all_parallel(cells: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, weights: Any) -> None:
    for i in prange(cells.shape[0]):
        _reveal_all(i, cells[i], boards, buffers, setup, weights)


@kernel
def _reveal_all(i: int, cells: np.ndarray, boards: Boards, buffers: Buffers, setup: Setup, weights: Any) -> None:
    """Reveal the hidden cells among `cells` (HW,) bool in one step; if one is a mine, only that mine."""
    visible, number = boards.visible[i], boards.number[i]
    mine, opened = -1, 0
    for cell in range(cells.size):
        if cells[cell] and visible[cell] < 0 and number[cell] == MINE:
            mine = cell
    if mine >= 0:
        rules.reveal(boards, i, mine)
    else:
        for cell in range(cells.size):
            if cells[cell] and visible[cell] < 0:
                count = rules.reveal(boards, i, cell)
                _show(i, count, boards, buffers, setup)
                opened += count
    finish_step(boards.games[i], buffers.results[i], True, opened, 0.0, setup.max_steps, weights)
    _restart_if_ended(i, boards, buffers, setup)


@kernel
def _restart_if_ended(i: int, boards: Boards, buffers: Buffers, setup: Setup) -> None:
    """If the game ended in this step, save its last observation and statistics, and start the next one."""
    game, result, cells = boards.games[i], buffers.results[i], boards.visible.shape[1]
    if not (setup.restart and result.terminated):
        return
    result.final_safe_revealed = 1 - game.safe_left / (cells - game.mines)
    result.final_steps = result.steps
    result.final_invalid_steps = result.invalid_steps
    result.final_won = game.status == WON
    for cell in range(cells):
        buffers.final_visible[i, cell] = boards.visible[i, cell]
    for plane in range(buffers.planes.shape[1]):
        for cell in range(cells):
            buffers.final_planes[i, plane, cell] = buffers.planes[i, plane, cell]
    _restart(i, boards, buffers, setup)


@kernel
def _restart_all(boards: Boards, buffers: Buffers, setup: Setup) -> None:
    for i in range(boards.visible.shape[0]):
        _restart(i, boards, buffers, setup)


@kernel
def _restart(i: int, boards: Boards, buffers: Buffers, setup: Setup) -> None:
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
    _show(i, opened, boards, buffers, setup)


@kernel
def _show_all(boards: Boards, buffers: Buffers, setup: Setup) -> None:
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
        _show(i, opened, boards, buffers, setup)


@kernel
def _show_nothing(i: int, buffers: Buffers) -> None:
    buffers.planes[i] = 0
    buffers.mask[i] = True
    buffers.frontier[i] = False


@kernel
def _show(i: int, opened: int, boards: Boards, buffers: Buffers, setup: Setup) -> None:
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
    if setup.frontier_mask:  # reveals on the frontier only, or on all hidden cells if it is empty
        everywhere = not frontier.any()
        for cell in range(visible.size):
            mask[cell] = visible[cell] < 0 and (everywhere or frontier[cell])
    if has_planes:
        show_options(planes, frontier, setup, game.mines, game.flags, game.safe_left)
