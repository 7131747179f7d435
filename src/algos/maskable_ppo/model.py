"""sb3-contrib's MaskablePPO, trained one rollout at a time, with a state for checkpoints."""

from typing import Any

import numpy as np
import sb3_contrib
import torch
from stable_baselines3.common.logger import Logger

from ..network import Architecture, Compute
from ..optimizer import cosine_decay
from .adapter import MaskedVecEnv
from .buffer import DeviceRolloutBuffer
from .policy import NetworkPolicy

REPORTED = {  # our metric: the metric of sb3-contrib and its sign
    "losses/policy_loss": ("train/policy_gradient_loss", 1),
    "losses/value_loss": ("train/value_loss", 1),
    "losses/entropy": ("train/entropy_loss", -1),
    "losses/approx_kl": ("train/approx_kl", 1),
    "losses/clip_fraction": ("train/clip_fraction", 1),
    "train/lr": ("train/learning_rate", 1),
}


class Model(sb3_contrib.MaskablePPO):
    env: MaskedVecEnv
    policy: NetworkPolicy

    def __init__(
        self, env: MaskedVecEnv, architecture: Architecture, compute: Compute, *, lr: float, **settings: Any
    ) -> None:
        """The learning rate falls along a cosine to 0 at `progress` 1."""
        super().__init__(
            NetworkPolicy,
            env,
            learning_rate=lambda remaining: lr * cosine_decay(1 - remaining),
            policy_kwargs={"architecture": architecture, "compute": compute},
            rollout_buffer_class=DeviceRolloutBuffer,
            device=compute.torch_device,
            **settings,
        )
        self.progress = 0.0  # fraction of the budget
        self.set_logger(Logger(folder=None, output_formats=[]))
        self.policy.optimizer.register_step_pre_hook(_require_finite_gradient)

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """Use the progress of the run: `learn` is called for one rollout at a time."""
        self._current_progress_remaining = 1 - self.progress

    def enter(self, env: MaskedVecEnv, seed: int) -> None:
        """Start new games in `env`."""
        self.set_env(env)
        env.seed(seed)
        self._last_obs, self._last_episode_starts = env.reset(), np.ones(env.num_envs, bool)

    def learn_rollout(self) -> dict[str, float]:
        """Collect one rollout and train on it; raise `FloatingPointError` before NaN or infinity reach the weights."""
        self.learn(self.n_steps * self.n_envs, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
        reported = self.logger.name_to_value
        metrics = {name: sign * float(reported[theirs]) for name, (theirs, sign) in REPORTED.items()}
        return metrics | self.env.take_finished() | self.env.episode_metrics()

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


def _require_finite_gradient(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Raise `FloatingPointError` before a gradient with NaN or infinity is applied."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    norm = torch.nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
    if not torch.isfinite(norm):
        raise FloatingPointError("a loss is NaN or infinite")
