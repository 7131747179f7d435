"""Playing on with the current network, many games at once."""

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from src.algos.network import Compute, as_device
from src.algos.ppo.buffer import RolloutBuffer
from src.nets.masked import MaskedCategorical


class BatchedEnv(Protocol):
    """A Gymnasium VectorEnv of ours; it may hand out NumPy arrays or tensors on a device."""

    num_envs: int

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]: ...

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]: ...

    def action_masks(self) -> Any: ...

    def state(self) -> dict[str, Any]: ...

    def load_state(self, saved: dict[str, Any]) -> None: ...


class Rollouts:
    """One batch of environments amid its games, and the buffer it is played into."""

    def __init__(self, envs: BatchedEnv, steps: int, compute: Compute, seed: int, sure_below: float) -> None:
        """Cells of a mine probability below `sure_below` are revealed all at once, a step that nobody chose."""
        self.envs, self.steps, self.device, self.sure_below = envs, steps, compute.where, sure_below
        self._compute = compute
        self._on_device = getattr(envs, "device", None) is not None  # takes and gives tensors
        observations, info = envs.reset(seed=seed)
        self._see(observations, info["action_mask"])
        self.buffer = RolloutBuffer(steps, self._observations, self._masks, self._mines())
        self._returns = torch.zeros(envs.num_envs, device=self.device)
        self._lengths = torch.zeros(envs.num_envs, device=self.device)

    def state(self) -> dict[str, Any]:
        names = ("_observations", "_masks", "_returns", "_lengths")
        return {"envs": self.envs.state(), **{name: getattr(self, name) for name in names}}

    def load_state(self, saved: dict[str, Any]) -> None:
        self.envs.load_state(saved["envs"])
        for name in ("_observations", "_masks", "_returns", "_lengths"):
            setattr(self, name, saved[name].to(self.device))

    @property
    def journal(self) -> Any | None:
        """What the environments have written down of their games beyond rewards, if they do."""
        return getattr(self.envs, "journal", None)

    def frontier_mask(self, on: bool) -> None:
        """Narrow the masks to the frontier of each board or widen them again, where boards have one.

        What the environment itself is configured to is never widened.
        """
        if not hasattr(self.envs, "set_frontier_mask") or self.envs.config.frontier_mask:  # type: ignore[attr-defined]
            return
        self.envs.set_frontier_mask(on)
        self._masks = torch.as_tensor(self.envs.action_masks()).to(self.device, copy=True)

    @torch.no_grad()
    def collect(
        self, net: Any, plain: nn.Module, gamma: float, lam: float, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Fill the buffer; returns sums over the games that ended: their number, returns, lengths and wins.

        `plain` is `net` itself, not compiled, for batches of any size.
        """
        ended = {name: torch.zeros((), device=self.device) for name in ("games", "return", "length", "won")}
        for _ in range(self.steps):
            heads = self._heads(net, self._observations)
            policy = MaskedCategorical(heads.policy, self._masks)
            actions = policy.sample(generator)
            seen = (self._observations, self._masks, self._mines())
            chosen, (observations, paid, terminated, truncated, info) = self._step(actions, heads.mine)
            rewards, dones = self._paid(plain, paid, terminated, truncated, info, gamma)
            values = heads.value.float()
            self.buffer.add(*seen, actions, policy.log_prob(actions), values, rewards, dones, chosen)
            self._count(ended, as_device(paid, self.device), dones, info)
            self._see(observations, info["action_mask"])
        self.buffer.compute_gae(self._heads(net, self._observations).value.float(), gamma, lam)
        return ended

    def _step(self, actions: Tensor, mine: Tensor) -> tuple[Tensor | bool, tuple[Any, ...]]:
        """Where nothing is sure the chosen action, else all that is; returns where it was chosen, and the step."""
        if self.sure_below == 0:
            return True, self.envs.step(self._hand_over(actions))
        sure = (mine.float().sigmoid() < self.sure_below) & self._masks.view_as(mine)
        chosen = ~sure.flatten(1).any(1)
        alone = torch.zeros_like(self._masks).scatter_(1, actions[:, None], True).view_as(mine)
        return chosen, self.envs.reveal_all(torch.where(chosen.view(-1, 1, 1), alone, sure))  # type: ignore[attr-defined]

    def _heads(self, net: Any, observations: Tensor) -> Any:
        with self._compute.autocast():
            return net(observations)

    def _hand_over(self, actions: Tensor) -> Any:
        return actions if self._on_device else actions.cpu().numpy()

    def _see(self, observations: Any, masks: Any) -> None:
        """Environments may hand out buffers that their next step overwrites, so what is seen is copied."""
        self._observations = torch.as_tensor(observations).to(self.device, copy=True)
        self._masks = torch.as_tensor(masks).to(self.device, copy=True)

    def _mines(self) -> Tensor:
        labels = getattr(self.envs, "mine_mask", None)
        if labels is None:
            return torch.zeros((self.envs.num_envs, 0), device=self.device)
        return as_device(labels(), self.device)

    def _paid(
        self, net: Any, paid: Any, terminated: Any, truncated: Any, info: dict[str, Any], gamma: float
    ) -> tuple[Tensor, Tensor]:
        """Rewards, to which a game that was cut off adds the value of its last position, and which games ended."""
        rewards = as_device(paid, self.device).float()
        cut = as_device(truncated, self.device)
        if bool(cut.any()):
            final = info["final_obs"]
            last = final[cut] if isinstance(final, Tensor) else torch.from_numpy(np.stack(final[truncated]))
            rewards = rewards.clone()
            rewards[cut] += gamma * self._heads(net, last.to(self.device)).value.float()
        return rewards, as_device(terminated, self.device) | cut

    def _count(self, ended: dict[str, Tensor], paid: Tensor, dones: Tensor, info: dict[str, Any]) -> None:
        self._returns += paid
        self._lengths += 1
        ended["games"] += dones.sum()
        ended["return"] += (self._returns * dones).sum()
        ended["length"] += (self._lengths * dones).sum()
        if "final_info" in info:
            ended["won"] += (as_device(info["final_info"]["won"], self.device) & dones).sum()
        self._returns *= ~dones
        self._lengths *= ~dones
