"""Our batches for Stable-Baselines3: a VectorEnv of Gymnasium as its VecEnv, and a rollout buffer on the device."""

from collections.abc import Generator, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ...core.errors import UserError, require
from ...core.play.capabilities import SupportsEpisodeStats
from ...core.runs.report import win_rate_band


class MaskedVecEnv(VecEnv):
    """Pass whole batches and their action masks to Stable-Baselines3.

    Observations are copied because a vector environment may reuse its buffers in the next step while Stable-Baselines3
    still uses the previous ones. The copies are overwritten in turn: each is valid until the second step after its own.
    """

    def __init__(self, batch: Any, *, pinned: bool = False) -> None:
        """`batch` is a vector environment from `Environment.vectorize`; `pinned` copies are faster to move to a GPU."""
        mode = batch.metadata.get("autoreset_mode")
        require(mode == AutoresetMode.SAME_STEP, f"autoreset_mode={mode} of the environment must be SAME_STEP")
        self.batch = batch
        self.returns = np.zeros(batch.num_envs)  # of the games in progress
        self.lengths = np.zeros(batch.num_envs, np.int64)
        self._finished: list[tuple[float, int, bool, bool]] = []  # of each game: return, length, if won, if truncated
        self._actions = np.zeros(batch.num_envs, np.int64)
        space = batch.single_observation_space
        shape, dtype = (batch.num_envs, *space.shape), tensor_dtype(space)
        self._copies = [torch.zeros(shape, dtype=dtype, pin_memory=pinned).numpy() for _ in range(2)]
        super().__init__(batch.num_envs, space, batch.single_action_space)

    def reset(self) -> np.ndarray:
        observations, _ = self.batch.reset(seed=self._seeds[0])  # env i gets seed + i, as in sb3
        kind = type(observations)
        require(
            kind is np.ndarray,
            f"Stable-Baselines3 works on numpy arrays, but this environment returns {kind.__name__}s: "
            "choose another env.backend",
        )
        self._reset_seeds()
        self.returns[:], self.lengths[:] = 0, 0
        return self._copy(observations)

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
            won = bool(info["final_info"]["won"][i])
            self._finished.append((float(self.returns[i]), int(self.lengths[i]), won, bool(truncated[i])))
        self.returns[ended], self.lengths[ended] = 0, 0
        return self._copy(observations), np.array(rewards, np.float32), ended, infos

    def action_masks(self) -> np.ndarray:
        """Return the masks (N, A) bool; sb3-contrib would sample illegal actions if a row had no legal one."""
        masks: np.ndarray = self.batch.action_masks()
        allowed = masks.any(axis=1)
        if not allowed.all():
            raise UserError(
                f"no action is legal in game {int(np.flatnonzero(~allowed)[0])} of the batch, but it is not over: "
                "action_masks() must allow at least one"
            )
        return masks

    def take_finished(self) -> dict[str, float]:
        """Return metrics of the games finished since the last call."""
        finished, self._finished = self._finished, []
        metrics = {"train/episodes": float(len(finished))}
        if finished:
            names = ("episode_return", "episode_length", "win_rate", "truncated_share")
            metrics |= {
                f"train/{name}": float(mean) for name, mean in zip(names, np.mean(finished, axis=0), strict=True)
            }
            metrics |= win_rate_band(sum(won for _, _, won, _ in finished), len(finished))
        return metrics

    def episode_metrics(self) -> dict[str, float]:
        """Return the metrics of `EpisodeStats`, if the environment has them."""
        return self.batch.episode_stats.episode_metrics() if isinstance(self.batch, SupportsEpisodeStats) else {}

    def diagnostics(self) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Return metrics to log and counts for `Run.diagnose`."""
        return self.batch.episode_stats.diagnostics() if isinstance(self.batch, SupportsEpisodeStats) else ({}, {})

    def continue_counts(self, earlier: "MaskedVecEnv") -> None:
        """Count on from the games of an earlier stage: some counts are of the whole run."""
        if isinstance(self.batch, SupportsEpisodeStats) and isinstance(earlier.batch, SupportsEpisodeStats):
            self.batch.episode_stats.add_earlier(earlier.batch.episode_stats.run_counts())

    def state(self) -> dict[str, Any]:
        finished = np.array(self._finished, np.float64).reshape(-1, 4)
        return {"batch": self.batch.state(), "returns": self.returns, "lengths": self.lengths, "finished": finished}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Restore a `state`."""
        self.batch.load_state(saved["batch"])
        self.returns[:], self.lengths[:] = saved["returns"], saved["lengths"]
        self._finished = [
            (float(total), int(length), bool(won), bool(cut)) for total, length, won, cut in saved["finished"]
        ]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Return all action masks as one array; sb3-contrib calls `action_masks` this way."""
        if method_name != "action_masks":
            raise AttributeError(f"only action_masks can be called for each environment, not {method_name}")
        masks = self.action_masks()
        return masks if indices is None else masks[np.atleast_1d(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the attribute of the batch for every environment."""
        return [getattr(self.batch, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set: the environment is configured when it is built")

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None) -> list[bool]:
        return [False] * self._count(indices)

    def close(self) -> None:
        self.batch.close()

    def _copy(self, observations: np.ndarray) -> np.ndarray:
        self._copies.reverse()
        self._copies[0][:] = observations
        return self._copies[0]

    def _count(self, indices: int | Sequence[int] | None) -> int:
        return self.num_envs if indices is None else np.atleast_1d(indices).size


def tensor_dtype(space: gymnasium.Space[Any]) -> torch.dtype:
    return torch.from_numpy(np.zeros(0, space.dtype)).dtype


class DeviceRolloutBuffer(MaskableRolloutBuffer):
    """Store observations and masks as tensors on the device, once.

    sb3-contrib stores them as NumPy arrays, masks in float32, and copies them again: all to another order, then each
    minibatch of each epoch, then that to the device.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        steps = (self.buffer_size, self.n_envs)
        dtype = tensor_dtype(self.observation_space)
        self.stored_observations = torch.zeros((*steps, *self.obs_shape), dtype=dtype, device=self.device)
        actions = int(self.action_space.n)  # type: ignore[attr-defined]
        self.stored_masks = torch.zeros((*steps, actions), dtype=torch.bool, device=self.device)

    def reset(self) -> None:
        RolloutBuffer.reset(self)  # not of the masks
        self.observations = np.zeros((self.buffer_size, self.n_envs, 0))

    def add(self, *args: Any, action_masks: np.ndarray | None = None, **kwargs: Any) -> None:
        observations, *others = args
        assert action_masks is not None
        self.stored_observations[self.pos] = torch.from_numpy(observations).to(self.device)
        self.stored_masks[self.pos] = torch.from_numpy(action_masks).to(self.device)
        RolloutBuffer.add(self, np.zeros((self.n_envs, 0)), *others, **kwargs)

    def get(self, batch_size: int | None = None) -> Generator[MaskableRolloutBufferSamples, None, None]:  # type: ignore[override]
        numbers = (self.actions, self.values, self.log_probs, self.advantages, self.returns)
        on_device = [torch.from_numpy(each.reshape(-1)).to(self.device) for each in numbers]
        fields: list[Tensor] = [self.stored_observations.flatten(0, 1), *on_device, self.stored_masks.flatten(0, 1)]
        count = self.buffer_size * self.n_envs
        order = torch.from_numpy(np.random.permutation(count)).to(self.device)  # noqa: NPY002 (the generator of sb3)
        for rows in torch.split(order, batch_size or count):
            yield MaskableRolloutBufferSamples(*(field[rows] for field in fields))
