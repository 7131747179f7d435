"""The policy network: size-preserving convolutions, then separate layers for policy and value."""

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from ...core.errors import require
from ...core.play.agent import Agent, Decision
from ...core.play.game import Game
from ..threads import torch_threads
from .adapter import require_legal


@dataclass(frozen=True)
class Network:
    """What is needed to rebuild a network without its environment."""

    shape: tuple[int, ...]  # of an observation
    dtype: str
    low: float
    high: float
    actions: int
    channels: tuple[int, ...]
    hidden: tuple[int, ...]

    @staticmethod
    def of(env: Any, channels: Sequence[int], hidden: Sequence[int]) -> "Network":
        box, actions = env.observation_space, env.action_space
        require(isinstance(box, spaces.Box), f"the observation space must be a Box, not {box}")
        require(isinstance(actions, spaces.Discrete), f"the action space must be Discrete, not {actions}")
        low, high = float(box.low.min()), float(box.high.max())
        return Network(box.shape, str(box.dtype), low, high, int(actions.n), tuple(channels), tuple(hidden))

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the policy, without its spaces."""
        return {
            "features_extractor_class": BoardFeatures,
            "features_extractor_kwargs": {"channels": self.channels},
            "net_arch": list(self.hidden),
            "activation_fn": nn.ReLU,
            "normalize_images": False,
        }

    def build(self) -> "BoardPolicy":
        """Build a policy with random weights."""
        box = spaces.Box(self.low, self.high, self.shape, np.dtype(self.dtype).type)
        return BoardPolicy(box, spaces.Discrete(self.actions), lambda _: 0.0, ortho_init=False, **self.arguments())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(saved: dict[str, Any]) -> "Network":
        lists = {name: tuple(saved[name]) for name in ("shape", "channels", "hidden")}
        return Network(**(saved | lists))


class BoardFeatures(BaseFeaturesExtractor):
    """Apply size-preserving 3x3 convolutions to planes (C, H, W).

    A board of integers (H, W) is one-hot encoded first; other observations are only flattened.
    """

    def __init__(self, observation_space: spaces.Box, channels: Sequence[int]) -> None:
        shape = observation_space.shape
        board = len(shape) == 2 and np.issubdtype(observation_space.dtype, np.integer)
        low, high = int(observation_space.low.min()) if board else 0, int(observation_space.high.max()) if board else 0
        kinds = high - low + 1 if board else 0
        planes = (kinds, *shape) if board else shape
        convolve = len(planes) == 3 and len(channels) > 0
        super().__init__(observation_space, int(np.prod((channels[-1], *planes[1:]) if convolve else planes)))
        self.low, self.kinds = low, kinds
        layers: list[nn.Module] = []
        for inputs, outputs in zip((planes[0], *channels), channels, strict=False) if convolve else ():
            layers += [nn.Conv2d(inputs, outputs, kernel_size=3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Flatten())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        if self.kinds:
            kinds = torch.arange(self.low, self.low + self.kinds, device=observations.device)
            observations = (observations.unsqueeze(1) == kinds.view(1, -1, 1, 1)).float()
        features: torch.Tensor = self.layers(observations)
        return features


class CellActions(nn.Module):
    """A 1x1 convolution from features (B, C * H * W) to logits (B, A): each cell has the same kinds of action."""

    def __init__(self, features: int, shape: tuple[int, ...], actions: int) -> None:
        super().__init__()
        cells = int(np.prod(shape))
        self.unflattened, self.out_features = (features // cells, *shape), actions
        self.layer = nn.Conv2d(features // cells, actions // cells, kernel_size=1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        planes: torch.Tensor = self.layer(features.view(-1, *self.unflattened))
        return planes.flatten(1)


class BoardPolicy(MaskableActorCriticPolicy):
    """A policy that raises `FloatingPointError` if its outputs are not finite.

    Without hidden layers the weights are shared by all cells, see `CellActions`.
    """

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        shape = self.observation_space.shape or ()
        actions = int(self.action_space.n)  # type: ignore[attr-defined]
        convolved = any(isinstance(layer, nn.Conv2d) for layer in self.features_extractor.modules())
        if convolved and not self.net_arch and actions % int(np.prod(shape[-2:])) == 0:
            self.action_net = CellActions(self.features_dim, shape[-2:], actions)
            arguments = {"lr": lr_schedule(1), **self.optimizer_kwargs}
            self.optimizer = self.optimizer_class(self.parameters(), **arguments)

    def outputs(self, observations: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the masked action probabilities (N, A) and the values (N,)."""
        with torch.no_grad():
            features = self.extract_features(torch.as_tensor(observations, device=self.device))
            for_policy, for_value = self.mlp_extractor(features)
            logits = self.action_net(for_policy)
            allowed = torch.as_tensor(masks, device=self.device)
            probabilities = torch.where(allowed, logits, -torch.inf).softmax(dim=1)
            return probabilities.cpu().numpy(), self.value_net(for_value).flatten().cpu().numpy()

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> MaskableDistribution:
        logits = self.action_net(latent_pi)
        if not torch.isfinite(logits).all():
            raise FloatingPointError("the outputs of the network are not finite")
        return self.action_dist.proba_distribution(action_logits=logits)


class ExportedPolicy(nn.Module):
    """Map observations (B, ...) to policy logits (B, A) and values (B,), without the distribution of sb3."""

    def __init__(self, policy: BoardPolicy) -> None:
        super().__init__()
        parts = (policy.features_extractor, policy.mlp_extractor, policy.action_net, policy.value_net)
        self.features, self.mlp, self.policy_head, self.value_head = (copy.deepcopy(part).cpu() for part in parts)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for_policy, for_value = self.mlp(self.features(observations))
        return self.policy_head(for_policy), self.value_head(for_value).squeeze(1)


class MaskablePolicyAgent(Agent):
    """Play the most probable legal action; ties go to the lowest."""

    deterministic = True
    games_in_step = 256

    def __init__(self, policy: BoardPolicy, threads: int | None = None) -> None:
        """`threads` is the number of CPU threads, see `torch_threads`."""
        self.policy, self.threads = policy, threads

    def check(self, game: Game) -> None:
        super().check(game)
        seen = game.observe(game.view(game.initial(np.random.default_rng(0)))).shape
        shape, actions = self.policy.observation_space.shape, self.policy.action_net.out_features
        require(
            seen == shape and game.num_actions == actions,
            f"its network takes observations of {shape} and has {actions} actions, "
            f"but this game has {seen} and {game.num_actions}",
        )

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        """`info` has the probability of each action, and the value."""
        masks = np.stack([game.sensible_mask(view) for view in views])
        require_legal(masks)
        observations = np.stack([game.observe(view) for view in views])
        with torch_threads(self.threads):
            probabilities, values = self.policy.outputs(observations, masks)
        actions = self.choose(probabilities, rngs)
        return [
            Decision(action, {"action_probability": row, "value": value})
            for action, row, value in zip(actions, probabilities, values.tolist(), strict=True)
        ]

    def choose(self, probabilities: np.ndarray, rngs: Sequence[np.random.Generator]) -> list[int]:
        return list(map(int, probabilities.argmax(axis=1)))

    def exported_network(self, game: Game) -> nn.Module:
        """Return a copy of the network on the CPU."""
        return ExportedPolicy(self.policy)


class SampledPolicyAgent(MaskablePolicyAgent):
    """Sample actions, as the learner does in training: its opponent in self-play."""

    deterministic = False

    def choose(self, probabilities: np.ndarray, rngs: Sequence[np.random.Generator]) -> list[int]:
        cumulative = probabilities.cumsum(axis=1, dtype=np.float64)
        drawn = np.array([1.0 - rng.random() for rng in rngs])  # in (0, 1], so that probability 0 is never drawn
        return list(map(int, (cumulative >= (drawn * cumulative[:, -1])[:, None]).argmax(axis=1)))
