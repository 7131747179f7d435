"""Collect rollouts: play many games at once with the current network."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ...core.play.capabilities import (
    EpisodeStats,
    SupportsActionRestriction,
    SupportsAuxTargets,
    SupportsEpisodeStats,
    SupportsMultiAction,
)
from ...nets.masked import MaskedCategorical
from ..network import Compute, as_device
from .buffer import RolloutBuffer

SAVED = ("_observations", "_masks", "_returns", "_lengths")  # attributes in a checkpoint, besides envs and buffer


class BatchedEnv(Protocol):
    """A Gymnasium VectorEnv that returns NumPy arrays or tensors on a device."""

    num_envs: int

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]: ...

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]: ...

    def action_masks(self) -> Any: ...

    def state(self) -> dict[str, Any]: ...

    def load_state(self, saved: dict[str, Any]) -> None: ...


class Rollouts:
    """A vector environment with its games in progress, and the rollout buffer."""

    def __init__(
        self,
        envs: BatchedEnv,
        steps: int,
        compute: Compute,
        seed: int,
        multi_action_below: float,
        policy_reads_aux: bool = False,
    ) -> None:
        """Actions with a risk below `multi_action_below` are all played in one step, without the policy."""
        self.envs, self.steps = envs, steps
        self.device, self.multi_action_below = compute.torch_device, multi_action_below
        self._compute = compute
        self._on_device = getattr(envs, "device", None) is not None  # works on tensors
        self.episode_means: tuple[str, ...] = getattr(envs, "episode_means", ())
        self._target_source = envs.aux_targets if isinstance(envs, SupportsAuxTargets) else None
        observations, info = envs.reset(seed=seed)
        self._store_observations(observations, info["action_mask"])
        targets = self._aux_targets()
        self._no_aux_logits = torch.zeros((envs.num_envs, 0), device=self.device)
        self._policy_reads_aux = policy_reads_aux
        aux_logits = targets.float() if policy_reads_aux else self._no_aux_logits
        self.buffer = RolloutBuffer(steps, self._observations, self._masks, targets, aux_logits)
        self._returns = torch.zeros(envs.num_envs, device=self.device)
        self._lengths = torch.zeros(envs.num_envs, device=self.device)
        self._ended = self._no_games()
        self._final_value: Callable[[Tensor], Tensor] = torch.zeros_like  # set by `collect`
        self._cut: list[tuple[int, Tensor, Tensor]] = []  # steps whose truncated games lack their final values

    def _no_games(self) -> dict[str, Tensor]:
        """Return zero sums for the games that end in a rollout."""
        names = ("games", "return", "length", "won", "truncated", *self.episode_means)
        return {name: torch.zeros((), device=self.device) for name in names}

    def state(self) -> dict[str, Any]:
        self._bootstrap_truncated()
        saved = {name: getattr(self, name) for name in SAVED}
        return {"envs": self.envs.state(), "buffer": self.buffer.state(), "ended": self._ended, **saved}

    def load_state(self, saved: dict[str, Any]) -> None:
        self.envs.load_state(saved["envs"])
        self.buffer.load_state(saved["buffer"])
        self._ended = {name: value.to(self.device) for name, value in saved["ended"].items()}
        for name in SAVED:
            setattr(self, name, saved[name].to(self.device))

    @property
    def episode_stats(self) -> EpisodeStats | None:
        return self.envs.episode_stats if isinstance(self.envs, SupportsEpisodeStats) else None

    def restrict_actions(self, on: bool) -> None:
        """Restrict the masks to actions worth exploring or restore them, if the environment supports it."""
        if isinstance(self.envs, SupportsActionRestriction):
            self.envs.restrict_actions(on)
            self._masks = torch.as_tensor(self.envs.action_masks()).to(self.device, copy=True)

    @torch.no_grad()
    def collect(
        self,
        net: Any,
        plain: nn.Module,
        gamma: float,
        lam: float,
        generator: torch.Generator,
        after_step: Callable[[], None] = lambda: None,
    ) -> dict[str, Tensor]:
        """Fill the buffer; return sums over the games that ended: their number, returns, lengths, wins and so on.

        `plain` is `net` without compilation, for batches of any size. A partial rollout from a checkpoint is continued.
        """
        self._final_value = partial(self._bootstrap_value, plain, gamma)
        if self.buffer.filled == self.steps:
            self.buffer.clear()
        while True:
            self._play_step(net, generator)
            if self.buffer.filled == self.steps:
                break
            after_step()
        self._bootstrap_truncated()
        self.buffer.compute_gae(self._heads(net, self._observations).value.float(), gamma, lam)
        ended, self._ended = self._ended, self._no_games()
        return ended

    def _play_step(self, net: Any, generator: torch.Generator) -> None:
        """Step every environment and store the result in the buffer."""
        heads = self._heads(net, self._observations)
        policy = MaskedCategorical(heads.policy, self._masks)
        actions = policy.sample(generator)
        seen = {"observations": self._observations, "masks": self._masks, "aux_targets": self._aux_targets()}
        chosen, (observations, rewards, terminated, truncated, info) = self._step(actions, heads.aux)
        rewards = as_device(rewards, self.device).float()
        dones = as_device(terminated, self.device) | as_device(truncated, self.device)
        cut_off = truncated & ~terminated  # terminated games are not bootstrapped
        self.buffer.add(
            **seen,
            actions=actions,
            log_probs=policy.log_prob(actions),
            values=heads.value.float(),
            rewards=rewards,
            dones=dones,
            chosen=chosen,
            aux_logits=heads.aux.float() if self._policy_reads_aux else self._no_aux_logits,
        )
        self._count(rewards, dones, as_device(truncated, self.device), info)
        if self._on_device:
            if getattr(self.envs, "can_truncate", True):
                self._cut.append((self.buffer.filled - 1, cut_off, info["final_obs"]))
        elif cut_off.any():
            self._add_final_values(self.buffer.filled - 1, cut_off, info["final_obs"])
        self._store_observations(observations, info["action_mask"])

    def _bootstrap_truncated(self) -> None:
        """Add the final values of all steps at once, to synchronise with the GPU only once."""
        if self._cut:
            truncated = torch.stack([each for _, each, _ in self._cut]).cpu().numpy()
            for (step, _, final), rows in zip(self._cut, truncated, strict=True):
                self._add_final_values(step, rows, final)
            self._cut = []

    def _step(self, actions: Tensor, aux: Tensor) -> tuple[Tensor | bool, tuple[Any, ...]]:
        """Play all safe actions, or the sampled one if there are none; return where that was so, and the step."""
        if self.multi_action_below == 0:
            return True, self.envs.step(self._to_env(actions))
        assert isinstance(self.envs, SupportsMultiAction)  # checked by PPO.check
        safe = (aux.float().sigmoid() < self.multi_action_below) & self._masks.view_as(aux)
        chosen = ~safe.flatten(1).any(1)
        sampled = torch.zeros_like(self._masks).scatter_(1, actions[:, None], True).view_as(aux)
        cells = torch.where(chosen.view(-1, 1, 1), sampled, safe)
        return chosen, self.envs.step_many(self._to_env(cells))

    def _heads(self, net: Any, observations: Tensor) -> Any:
        with self._compute.autocast():
            return net(observations)

    def _to_env(self, actions: Tensor) -> Any:
        return actions if self._on_device else actions.cpu().numpy()

    def _store_observations(self, observations: Any, masks: Any) -> None:
        """Copy observations and masks: environments may overwrite their buffers in the next step."""
        self._observations = torch.as_tensor(observations).to(self.device, copy=True)
        self._masks = torch.as_tensor(masks).to(self.device, copy=True)

    def _aux_targets(self) -> Tensor:
        if self._target_source is None:
            return torch.zeros((self.envs.num_envs, 0), dtype=torch.int8, device=self.device)
        return as_device(self._target_source(), self.device)

    def _add_final_values(self, step: int, truncated: np.ndarray, final: Any) -> None:
        """Add the value of the last position to the reward of every truncated game."""
        rows = np.flatnonzero(truncated)
        if rows.size:
            last = final[rows] if isinstance(final, Tensor) else torch.from_numpy(np.stack(final[rows]))
            self.buffer.rewards[step, rows] += self._final_value(last.to(self.device))

    def _bootstrap_value(self, net: Any, gamma: float, observations: Tensor) -> Tensor:
        value: Tensor = self._heads(net, observations).value
        return gamma * value.float()

    def _count(self, rewards: Tensor, dones: Tensor, truncated: Tensor, info: dict[str, Any]) -> None:
        ended = self._ended
        self._returns += rewards
        self._lengths += 1
        ended["games"] += dones.sum()
        ended["return"] += (self._returns * dones).sum()
        ended["length"] += (self._lengths * dones).sum()
        ended["truncated"] += truncated.sum()
        if "final_info" in info:
            for name in ("won", *self.episode_means):
                ended[name] += (as_device(info["final_info"][name], self.device) * dones).sum()
        self._returns *= ~dones
        self._lengths *= ~dones
