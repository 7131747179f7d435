"""A batch of games as Stable-Baselines3 wants to see it."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from src.core.errors import UserError, require
from src.core.play.capabilities import SupportsEpisodeStats


class MaskedVecEnv(VecEnv):
    """Hands a whole batch through, masks included, instead of N environments one by one.

    Observations are copied, because a batch may overwrite its buffers in the next step while Stable-Baselines3 still
    holds on to the last ones.
    """

    def __init__(self, batch: Any) -> None:
        """`batch` is what an environment of ours returns from `vectorize`."""
        mode = batch.metadata.get("autoreset_mode")
        require(mode == AutoresetMode.SAME_STEP, f"a batch has to restart games in the step that ends them, not {mode}")
        self.batch = batch
        self.returns = np.zeros(batch.num_envs)  # of the games in progress
        self.lengths = np.zeros(batch.num_envs, np.int64)
        self._finished: list[tuple[float, int]] = []  # return and length of each game since they were last taken
        self._actions = np.zeros(batch.num_envs, np.int64)
        super().__init__(batch.num_envs, batch.single_observation_space, batch.single_action_space)

    def reset(self) -> np.ndarray:
        observations, _ = self.batch.reset(seed=self._seeds[0])  # env i gets that and i, in a batch as in sb3
        kind = type(observations)
        require(
            kind is np.ndarray,
            f"Stable-Baselines3 works on numpy arrays, but this environment hands out {kind.__name__}s: "
            "choose another backend for it",
        )
        self._reset_seeds()
        self.returns[:], self.lengths[:] = 0, 0
        return np.array(observations)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, info = self.batch.step(self._actions)
        self.returns += rewards
        self.lengths += 1
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{}] * self.num_envs
        for i in np.flatnonzero(ended):
            cut_off = bool(truncated[i] and not terminated[i])
            infos[i] = {"terminal_observation": np.array(info["final_obs"][i]), "TimeLimit.truncated": cut_off}
            self._finished.append((float(self.returns[i]), int(self.lengths[i])))
        self.returns[ended], self.lengths[ended] = 0, 0
        return np.array(observations), np.array(rewards, np.float32), ended, infos

    def action_masks(self) -> np.ndarray:
        """(N, A) bool. Where nothing is allowed sb3-contrib would draw from what is forbidden, so that is refused."""
        masks: np.ndarray = self.batch.action_masks()
        refuse_empty(masks)
        return masks

    def take_finished(self) -> dict[str, float]:
        """Metrics of the games finished since the last call; none where there were none."""
        finished, self._finished = self._finished, []
        if not finished:
            return {}
        mean_return, mean_length = np.mean(finished, axis=0).tolist()
        return {"train/episode_return": mean_return, "train/episode_length": mean_length}

    def episode_metrics(self) -> dict[str, float]:
        """What the batch has to tell of its games beyond rewards, by the names of metrics."""
        return self.batch.episode_stats.episode_metrics() if isinstance(self.batch, SupportsEpisodeStats) else {}

    def diagnostics(self) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """What it has to tell once training is over, as `Run.diagnose` takes it."""
        return self.batch.episode_stats.diagnostics() if isinstance(self.batch, SupportsEpisodeStats) else ({}, {})

    def state(self) -> dict[str, Any]:
        finished = np.array(self._finished, np.float64).reshape(-1, 2)
        return {"batch": self.batch.state(), "returns": self.returns, "lengths": self.lengths, "finished": finished}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.batch.load_state(saved["batch"])
        self.returns[:], self.lengths[:] = saved["returns"], saved["lengths"]
        self._finished = [(float(total), int(length)) for total, length in saved["finished"]]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """sb3-contrib asks for `action_masks` this way, and gets all rows as one array."""
        if method_name != "action_masks":
            raise AttributeError(f"a batch of games has no method {method_name} for each of them")
        masks = self.action_masks()
        return masks if indices is None else masks[np.atleast_1d(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """What the batch has, every environment in it has."""
        return [getattr(self.batch, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"a batch of games is configured before it is built: set {attr_name} there")

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None) -> list[bool]:
        return [False] * self._count(indices)

    def close(self) -> None:
        self.batch.close()

    def _count(self, indices: int | Sequence[int] | None) -> int:
        return self.num_envs if indices is None else np.atleast_1d(indices).size


def refuse_empty(masks: np.ndarray) -> None:
    """Raise `UserError` where a row of `masks` (N, A) allows no action at all."""
    allowed = masks.any(axis=1)
    if not allowed.all():
        raise UserError(
            f"no action is legal in game {int(np.flatnonzero(~allowed)[0])} of the batch, though it is not over: "
            "its action_masks() has to allow at least one"
        )
