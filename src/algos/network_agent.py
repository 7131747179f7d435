"""A network as an agent."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..core.errors import UserError, require
from ..core.play.agent import Agent, Decision
from ..core.play.capabilities import AuxTask, Strategy
from ..core.play.game import Game
from ..core.ranges import check_fields
from ..core.runs.run import Environment
from ..nets.boards import Heads
from ..nets.masked import MaskedCategorical
from ..nets.symmetry import ExportedNetwork, averaged
from .compute import Compute
from .weights import Architecture, load_network

MAX_BATCH = 4096  # positions per forward pass


@dataclass(frozen=True)
class InferenceConfig:
    """Settings of a trained network as an agent."""

    symmetries: bool  # average over the symmetries of the board
    strategy: Strategy | None = None  # of a game that may play several actions at once; PPO also trains with it

    def __post_init__(self) -> None:
        check_fields(self)


class NetworkAgent(Agent):
    """Play the most probable action; `info` has the probabilities of actions and auxiliary task, and the value."""

    games_in_step = 512

    def __init__(self, net: nn.Module, compute: Compute, play: InferenceConfig, *, greedy: bool = True) -> None:
        """If not `greedy`, sample actions from the policy."""
        self.net, self.compute, self.play, self.greedy = net.eval(), compute, play, greedy
        self.deterministic = greedy

    @staticmethod
    def load(
        architecture: Architecture,
        saved: dict[str, Any],
        compute: Compute,
        play: InferenceConfig,
        greedy: bool = True,
    ) -> "NetworkAgent":
        """Return the agent of weights that `export_weights` saved."""
        return NetworkAgent(load_network(architecture, saved, compute), compute, play, greedy=greedy)

    def check(self, game: Game) -> None:
        require(
            game.mirrored or not self.play.symmetries,
            "play.symmetries=true averages over mirror images, but this game is not symmetric: set it to false",
        )
        if self.play.strategy is not None:
            self.play.strategy.check(game)
        game.check_trained(self.trained_in)
        view = game.view(game.initial(np.random.default_rng(0)))
        observation = game.observe(view)
        try:
            known = self.heads(observation[None]).policy.shape[1]
        except RuntimeError as error:
            raise UserError(f"this network was trained for another kind of board: {error}") from error
        # A network may know only the first kinds of action of a game with several kinds per cell.
        cells = int(np.prod(observation.shape[-2:]))
        fewer_kinds = observation.ndim >= 2 and known < game.num_actions and known % cells == 0
        require(
            known == game.num_actions or fewer_kinds,
            f"this network has {known} actions here, but the game has {game.num_actions}: "
            "use the environment settings of its training",
        )

    def require_aux_head(self, env: Environment, advice: str) -> None:
        """Raise `UserError` with `advice` if the network does not predict the auxiliary task for every cell."""
        space = env.observation_space
        aux = self.heads(np.zeros((1, *space.shape), space.dtype)).aux
        has_head = tuple(aux.shape[1:]) == tuple(space.shape[-2:])
        require(has_head, f"this network has no auxiliary head: choose net@algo.net=cnn or residual{advice}")

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        observations = np.stack([game.observe(view) for view in views])
        with self.compute.fixed_threads():
            heads = self.heads(observations)
            masks = np.stack([game.sensible_mask(view)[: heads.policy.shape[1]] for view in views])
            probability = MaskedCategorical(heads.policy, torch.from_numpy(masks).to(heads.policy.device)).probs
            parts = (probability, heads.aux.sigmoid(), heads.value)
        rows = zip(rngs, masks, *(part.float().cpu().numpy() for part in parts), strict=True)
        return [self._decision(game.aux_task, *row) for row in rows]

    def choose_actions(
        self, observations: np.ndarray, masks: np.ndarray, rngs: Sequence[np.random.Generator]
    ) -> np.ndarray:
        """Return the actions that `decide` chooses without a plan, (N,)."""
        with self.compute.fixed_threads():
            heads = self.heads(observations)
            legal = torch.from_numpy(masks[:, : heads.policy.shape[1]]).to(heads.policy.device)
            probability = MaskedCategorical(heads.policy, legal).probs
            chosen = probability.argmax(dim=1) if self.greedy else sampled(probability, rngs)
        actions: np.ndarray = chosen.cpu().numpy()
        return actions

    def _decision(
        self,
        task: AuxTask | None,
        rng: np.random.Generator,
        mask: np.ndarray,
        probability: np.ndarray,
        aux: np.ndarray,
        value: float,
    ) -> Decision:
        info = {"action_probability": probability, "value": float(value)}
        if task is not None and aux.size:
            info[f"{task.name}_probability"] = aux
            plan = [] if self.play.strategy is None else self.play.strategy.plan(mask, aux)
            if plan:
                return Decision(plan[0], info, plan[1:])
        if self.greedy:
            return Decision(int(probability.argmax()), info)
        return Decision(int(sampled(torch.from_numpy(probability[None]), [rng])), info)

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return the value of each position, (B,)."""
        parts = np.array_split(observations, -(-len(observations) // MAX_BATCH))
        return np.concatenate([self.heads(part).value.float().cpu().numpy() for part in parts])

    @torch.inference_mode()
    def heads(self, observations: np.ndarray) -> Heads:
        batch = torch.from_numpy(observations).to(self.compute.torch_device)
        # No cuDNN benchmarking: games end one by one, so nearly every batch has a new size.
        no_benchmark = torch.backends.cudnn.flags(enabled=True, benchmark=False)
        with self.compute.fixed_threads(), self.compute.autocast(), no_benchmark:
            return averaged(self.net, batch) if self.play.symmetries else self.net(batch)

    def exported_network(self, game: Game) -> nn.Module:
        """Return a copy of the network on the CPU, averaged over symmetries if this agent does that."""
        has_aux = game.aux_task is not None and getattr(self.net, "aux_head", None) is not None
        return ExportedNetwork(copy.deepcopy(self.net).cpu(), symmetries=self.play.symmetries, aux=has_aux)


def sampled(probability: Tensor, rngs: Sequence[np.random.Generator]) -> Tensor:
    """Return a random action (N,) for each row of probabilities (N, A), by one number of its generator."""
    cumulative = probability.double().cumsum(dim=1)
    numbers = torch.tensor([rng.random() for rng in rngs], dtype=torch.float64, device=probability.device)
    # The quotient is 1 from the last possible action on, so that rounding never leads beyond it.
    return (cumulative / cumulative[:, -1:] <= numbers[:, None]).sum(dim=1)
