"""Vector environment of Minesweeper: N games stepped together."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from ...core.errors import UserError
from ..masked_env import MaskedVectorEnv, Step
from ..splitmix import seed_word
from . import rules, viewer
from .batch import Batch
from .config import EPISODE_MEANS, RENDER_MODES, EnvConfig
from .reward import COMPONENTS


class VecMinesweeper(MaskedVectorEnv[np.ndarray]):
    """Env i plays exactly like a `MinesweeperEnv` seeded with `seed + i`.

    `info["final_info"]` has the steps of a game, its invalid steps, the fraction of safe cells revealed and whether it
    was won. Observations, masks and final observations are buffers that the next step overwrites; with `copy=True` each
    step returns new arrays, which is several times slower.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4, "autoreset_mode": AutoresetMode.SAME_STEP}
    episode_means = EPISODE_MEANS

    def __init__(self, num_envs: int, config: EnvConfig, *, copy: bool = False) -> None:
        self.config, self.copy, self.game, self.render_mode = config, copy, config.game(), config.render_mode
        super().__init__(num_envs, self.game.encoding.space(self.game.rows, self.game.cols), self.game.num_actions)
        self._batch = Batch(self.game, config.reward, num_envs, frontier_mask=config.frontier_mask, restart=True)
        boards, buffers = self._batch.boards, self._batch.buffers
        shape = self.observation_space.shape
        self._observations = (boards.visible if config.compact else buffers.planes).reshape(shape)
        final = (buffers.final_visible if config.compact else buffers.final_planes).reshape(shape)
        self._final_rows = np.empty(num_envs, object)  # Gymnasium expects an object array of final observations
        self._final_rows[:] = list(final)

    def _start(self, seeds: Sequence[int]) -> None:
        if seeds:
            self._batch.boards.games["random"] = [seed_word(seed) for seed in seeds]
        self._batch.restart(np.arange(self.num_envs))

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
            info |= self._final(ended, self._final_info(ended))
        return self._observe(), results["reward"].copy(), terminated, truncated, info

    def _final_info(self, ended: np.ndarray) -> dict[str, np.ndarray]:
        results = self._batch.buffers.results[ended]
        rate = results["final_invalid_steps"] / np.maximum(results["final_steps"], 1)
        names = ("steps", "invalid_steps", "safe_revealed", "won")
        return {name: results[f"final_{name}"] for name in names} | {"invalid_rate": rate}

    def action_masks(self) -> np.ndarray:
        return self._hand_out(self._batch.buffers.mask)

    def set_frontier_mask(self, on: bool) -> None:
        """Restrict the masks to the frontier, or undo that; also during episodes."""
        self._batch.set_frontier_mask(on)

    def state(self) -> dict[str, np.ndarray | bool]:
        """Return everything that later steps depend on, for `load_state`."""
        if not self._seeded:
            raise UserError("there are no episodes to save: call reset() first")
        return self._batch.state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Restore a saved state, so that the environment continues exactly as the saved one."""
        self._batch.load_state(saved)
        self._seeded = True

    def mine_mask(self) -> np.ndarray:
        """Return the mines, (N, H, W) bool; none before the first reveal."""
        return (self._batch.boards.number == rules.MINE).reshape(self.num_envs, self.game.rows, self.game.cols)

    def aux_targets(self) -> np.ndarray:
        """Return 1 for mines, 0 for safe cells, -1 for cells that are revealed or not laid yet, (N, H, W) int8."""
        boards = self._batch.boards
        unknown = (boards.visible < 0) & boards.games["laid"][:, None]
        labels = np.where(unknown, boards.number == rules.MINE, np.int8(-1)).astype(np.int8)
        return labels.reshape(self.num_envs, self.game.rows, self.game.cols)

    def render(self) -> tuple[str, ...] | None:
        if self.render_mode is None:
            return None
        boards, shape = self._batch.boards, (self.game.rows, self.game.cols)
        pairs = zip(boards.visible, boards.games["mines"], strict=True)
        return tuple(viewer.text_board(visible.reshape(shape), int(mines)) for visible, mines in pairs)

    def _observe(self) -> np.ndarray:
        return self._hand_out(self._observations)

    def _final_observation(self, i: int) -> np.ndarray:
        return self._hand_out(self._final_rows[i])

    def _hand_out(self, buffer: np.ndarray) -> np.ndarray:
        return buffer.copy() if self.copy else buffer
