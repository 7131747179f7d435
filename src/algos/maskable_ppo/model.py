"""sb3-contrib's MaskablePPO with the networks of `src/nets`, trained one rollout at a time, with a state to save."""

import math
from typing import Any

import numpy as np
import sb3_contrib
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import (
    MaskableCategorical,
    MaskableCategoricalDistribution,
    MaskableDistribution,
)
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.logger import Logger
from torch import Tensor

from ...core.errors import UserError
from ..compute import Compute
from ..trainer import cosine_decay
from ..weights import Architecture
from .adapter import DeviceRolloutBuffer, MaskedVecEnv

REPORTED = {  # our metric: the metric of sb3-contrib and its sign
    "losses/policy_loss": ("train/policy_gradient_loss", 1),
    "losses/value_loss": ("train/value_loss", 1),
    "losses/entropy": ("train/entropy_loss", -1),
    "losses/approx_kl": ("train/approx_kl", 1),
    "losses/clip_fraction": ("train/clip_fraction", 1),
    "losses/explained_variance": ("train/explained_variance", 1),
    "train/lr": ("train/learning_rate", 1),
}


class NetworkPolicy(MaskableActorCriticPolicy):
    """A policy that raises `FloatingPointError` if its outputs are not finite; sb3-contrib masks and samples."""

    action_dist: MaskableCategoricalDistribution

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Any,
        *,
        architecture: Architecture,
        compute: Compute,
    ) -> None:
        super().__init__(observation_space, action_space, lr_schedule)
        self.compute = compute
        self.net = compute.prepare(architecture.build(observation_space.shape, int(action_space.n)))
        self._compiled = (compute.compiled(self.net),)  # in a tuple, so that its weights are not listed twice
        arguments = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.net.parameters(), **arguments)

    def _build(self, lr_schedule: Any) -> None:
        """Build none of the layers of sb3."""

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        distribution, values = self._evaluate(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(self, obs: Tensor, actions: Tensor, action_masks: Any = None) -> tuple[Tensor, Tensor, Any]:
        distribution, values = self._evaluate(obs, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        return self._evaluate(obs, action_masks)[0]

    def predict_values(self, obs: Any) -> Tensor:
        with self.compute.autocast():  # not compiled: sb3 asks for the final values of truncated games one by one
            value: Tensor = self.net(obs).value
        return value.float().unsqueeze(1)

    def _evaluate(self, obs: Tensor, action_masks: Any) -> tuple[MaskableDistribution, Tensor]:
        """Return the distribution over the legal actions, and the values (B, 1)."""
        with self.compute.autocast():
            heads = self._compiled[0](obs)
        if not torch.isfinite(heads.policy).all():
            raise FloatingPointError("the outputs of the network are not finite")
        # This takes two thirds of the time of `proba_distribution`, which validates, and `apply_masking`.
        logits = heads.policy.float()
        self.action_dist.distribution = MaskableCategorical(logits=logits, masks=action_masks, validate_args=False)
        return self.action_dist, heads.value.float().unsqueeze(1)


class Model(sb3_contrib.MaskablePPO):
    env: MaskedVecEnv
    policy: NetworkPolicy

    def __init__(
        self,
        env: MaskedVecEnv,
        architecture: Architecture,
        compute: Compute,
        *,
        lr: float,
        max_grad_norm: float,
        **settings: Any,
    ) -> None:
        """The learning rate falls along a cosine to 0 at `progress` 1. Clip gradients here, to log their norm."""
        super().__init__(
            NetworkPolicy,
            env,
            learning_rate=lambda remaining: lr * cosine_decay(1 - remaining),
            policy_kwargs={"architecture": architecture, "compute": compute},
            rollout_buffer_class=DeviceRolloutBuffer,
            device=compute.torch_device,
            max_grad_norm=math.inf,
            **settings,
        )
        self.progress = 0.0  # fraction of the budget
        self.set_logger(Logger(folder=None, output_formats=[]))
        self._largest_norm, self._norms = max_grad_norm, list[Tensor]()  # of the gradient steps of the latest rollout
        self.policy.optimizer.register_step_pre_hook(self._clip_gradient)

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """Use the progress of the run: `learn` is called for one rollout at a time."""
        self._current_progress_remaining = 1 - self.progress

    def enter(self, env: MaskedVecEnv, seed: int) -> None:
        """Start new games in `env`."""
        self.set_env(env)
        env.seed(seed)
        self._last_obs, self._last_episode_starts = env.reset(), np.ones(env.num_envs, bool)

    def learn_rollout(self) -> dict[str, float]:
        """Collect one rollout and train on it; raise `UserError` before NaN or infinity reach the weights."""
        self._norms.clear()
        try:
            self.learn(self.n_steps * self.n_envs, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
        except FloatingPointError as error:
            raise UserError(
                f"training diverged at step {self.num_timesteps}: {error}; lower algo.lr, or check the rewards of the "
                "environment (earlier checkpoints are intact)"
            ) from error
        reported = self.logger.name_to_value
        metrics = {name: sign * float(reported[theirs]) for name, (theirs, sign) in REPORTED.items()}
        value_loss, entropy = self.vf_coef * metrics["losses/value_loss"], self.ent_coef * metrics["losses/entropy"]
        metrics["losses/loss"] = metrics["losses/policy_loss"] + value_loss - entropy
        if not math.isfinite(metrics["losses/explained_variance"]):  # all returns are equal
            metrics["losses/explained_variance"] = 0.0
        metrics["losses/grad_norm"] = float(torch.stack(self._norms).mean())
        return metrics | self.env.take_finished() | self.env.episode_metrics()

    def _clip_gradient(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Clip the gradient; raise `FloatingPointError` before one with NaN or infinity is applied."""
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        norm = torch.nn.utils.clip_grad_norm_(weights, self._largest_norm)
        if not torch.isfinite(norm):
            raise FloatingPointError("a loss is NaN or infinite")
        self._norms.append(norm)

    def state(self) -> dict[str, Any]:
        """Return what training needs besides the weights; sb3 uses the global generators of numpy and torch."""
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        numpy = np.random.get_state(legacy=False)  # noqa: NPY002
        return {
            "step": self.num_timesteps,
            "progress": self.progress,
            "updates": self._n_updates,
            "optimizer": self.policy.optimizer.state_dict(),
            "generators": {"numpy": numpy, "torch": torch.get_rng_state(), "cuda": cuda},
            "env": self.env.state(),
            "observations": self._last_obs,
            "episode_starts": self._last_episode_starts,
        }

    def load_state(self, saved: dict[str, Any]) -> None:
        self.policy.optimizer.load_state_dict(saved["optimizer"])
        self.num_timesteps, self.progress, self._n_updates = saved["step"], saved["progress"], saved["updates"]
        self._last_obs, self._last_episode_starts = saved["observations"], saved["episode_starts"]
        self.env.load_state(saved["env"])
        np.random.set_state(saved["generators"]["numpy"])  # noqa: NPY002
        torch.set_rng_state(saved["generators"]["torch"])
        if torch.cuda.is_available() and saved["generators"]["cuda"]:
            torch.cuda.set_rng_state_all(saved["generators"]["cuda"])
