"""Minesweeper for learners at scale: N games stepped together."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from src.core.errors import UserError
from src.envs.minesweeper import rules, viewer
from src.envs.minesweeper.batch import Batch
from src.envs.minesweeper.config import EPISODE_MEANS, RENDER_MODES, EnvConfig
from src.envs.minesweeper.reward import COMPONENTS
from src.envs.splitmix import seed_word


class VecMinesweeper(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Env i of the batch plays exactly what a `MinesweeperEnv` seeded with `seed + i` plays.

    A game that ends is followed by the next in the same step: the observation is already the new game's, the last one
    of the old is `info["final_obs"][i]`, and `info["final_info"]` holds its steps, invalid steps, share of safe cells
    revealed and whether it was won, zeros where no game ended. Observations, masks and final observations live in
    buffers that the next step overwrites; with `copy=True` each step hands out arrays of its own instead, at a multiple
    of the cost.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4, "autoreset_mode": AutoresetMode.SAME_STEP}
    episode_means = EPISODE_MEANS

    def __init__(self, num_envs: int, config: EnvConfig, *, copy: bool = False) -> None:
        if num_envs < 1:
            raise UserError(f"num_envs={num_envs}: a batch holds at least one env")
        self.num_envs, self.config, self.copy = num_envs, config, copy
        self.game = config.game()
        self.render_mode = config.render_mode
        self.single_observation_space = self.game.encoding.space(self.game.rows, self.game.cols)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._batch = Batch(self.game, config.reward, num_envs, frontier_mask=config.frontier_mask, restart=True)
        boards, buffers = self._batch.boards, self._batch.buffers
        shape = self.observation_space.shape
        self._observations = (boards.visible if config.compact else buffers.planes).reshape(shape)
        final = (buffers.final_visible if config.compact else buffers.final_planes).reshape(shape)
        self._final_rows = np.empty(num_envs, object)  # Gymnasium hands out final observations one by one
        self._final_rows[:] = list(final)
        self._seeded = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games for all; an int seeds env i with `seed + i`, None lets the generators go on."""
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            seed = range(int(seed), int(seed) + self.num_envs)
        if seed is not None:
            if len(seed) != self.num_envs:
                raise UserError(f"{len(seed)} seeds for {self.num_envs} envs: give one each, or a single number")
            self._batch.boards.games["random"] = [seed_word(one) for one in seed]
        elif not self._seeded:
            self._batch.boards.games["random"] = self.np_random.integers(2**64, size=self.num_envs, dtype=np.uint64)
        self._batch.restart(np.arange(self.num_envs))
        self._seeded = True
        return self._hand_out(self._observations), {"action_mask": self.action_masks()}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one action (N,) an env. `info["rewards"]` splits the rewards of this step into their components."""
        self._batch.step(self._checked(actions))
        return self._step_result()

    def step_many(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step every env by revealing all of its `cells` (N, H, W) bool, at least one of them hidden, at once.

        With a mine among them the game is lost and nothing is opened.
        """
        if not self._seeded:
            raise UserError("there are no episodes to step: call reset() first")
        self.config.require_multi_action()
        self._batch.reveal_all(np.ascontiguousarray(cells).reshape(self.num_envs, -1))
        return self._step_result()

    def _step_result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        results = self._batch.buffers.results
        terminated, truncated = results["terminated"].copy(), results["truncated"].copy()
        info: dict[str, Any] = {
            "action_mask": self.action_masks(),
            "rewards": {name: results[name].copy() for name in COMPONENTS},
        }
        ended = terminated | truncated
        if ended.any():
            info |= self._final(ended)
        return self._hand_out(self._observations), results["reward"].copy(), terminated, truncated, info

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        if not self._seeded:
            raise UserError("there are no episodes to step: call reset() first")
        if not np.issubdtype(np.asarray(actions).dtype, np.integer):
            raise UserError(f"actions are whole numbers, not {np.asarray(actions).dtype}")
        actions = np.asarray(actions, np.int64)
        if actions.shape != (self.num_envs,):
            raise UserError(f"actions of shape {actions.shape} for {self.num_envs} envs: expected ({self.num_envs},)")
        if actions.min() < 0 or actions.max() >= self.game.num_actions:
            wrong = int(np.flatnonzero((actions < 0) | (actions >= self.game.num_actions))[0])
            raise UserError(
                f"action {actions[wrong]} of env {wrong} does not exist: they are 0..{self.game.num_actions - 1}"
            )
        return actions

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        results = self._batch.buffers.results
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            observations[i] = self._hand_out(self._final_rows[i])
        return {
            "final_obs": observations,
            "_final_obs": ended,
            "final_info": {
                name: np.where(ended, results[f"final_{name}"], 0).astype(results[f"final_{name}"].dtype)
                for name in ("steps", "invalid_steps", "safe_revealed", "won")
            }
            | {
                "invalid_rate": np.where(
                    ended, results["final_invalid_steps"] / np.maximum(results["final_steps"], 1), 0.0
                )
            },
            "_final_info": ended,
        }

    def action_masks(self) -> np.ndarray:
        """(N, A) bool: the legal actions of every env."""
        return self._hand_out(self._batch.buffers.mask)

    def restrict_actions(self, on: bool) -> None:
        """Narrow the masks to the frontier, or widen them to what is configured."""
        self.set_frontier_mask(on or self.config.frontier_mask)

    def set_frontier_mask(self, on: bool) -> None:
        """Narrow the masks to the frontier or widen them again, also amid episodes."""
        self._batch.set_frontier_mask(on)

    def state(self) -> dict[str, np.ndarray | bool]:
        """All that follows depends on, for `load_state`."""
        if not self._seeded:
            raise UserError("there are no episodes to save: call reset() first")
        return self._batch.state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on exactly as the environment that was saved."""
        self._batch.load_state(saved)
        self._seeded = True

    def mine_mask(self) -> np.ndarray:
        """(N, H, W) bool: where the mines are; none before the first reveal lays them."""
        return (self._batch.boards.number == rules.MINE).reshape(self.num_envs, self.game.rows, self.game.cols)

    def aux_targets(self) -> np.ndarray:
        """(N, H, W) int8: 1 a mine, 0 none, -1 not to be predicted, because revealed or not laid yet."""
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

    def _hand_out(self, buffer: np.ndarray) -> np.ndarray:
        return buffer.copy() if self.copy else buffer
