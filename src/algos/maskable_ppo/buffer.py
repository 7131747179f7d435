"""A rollout buffer of sb3-contrib on the device of the network."""

from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from stable_baselines3.common.buffers import RolloutBuffer
from torch import Tensor

from .adapter import tensor_dtype


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
