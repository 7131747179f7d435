"""A trained network with search as an agent, and the evaluation of positions by the network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ...core.errors import require
from ...core.play.agent import Decision, Line, require_traits
from ...core.play.game import Game, Trait, TwoPlayerGame
from ...core.play.search_interface import PositionBatch
from ...core.ranges import Bounds, check_fields
from ...nets.masked import MaskedCategorical
from ..compute import Compute
from ..network_agent import InferenceConfig, NetworkAgent
from .search import MAX_SIMULATIONS, Evaluated, SearchConfig, SearchResult, run_searches, search

SMALLEST_PRIOR = 1e-9  # of a legal action, so that 0 means illegal
POSITIONS_IN_STEP = 1 << 16  # in the trees of all games that an agent plays at once


@dataclass(frozen=True)
class PlayConfig:
    """Settings of the trained agent."""

    simulations: Annotated[int, Bounds(ge=0, le=MAX_SIMULATIONS)]  # 0: the move of the network, without search

    def __post_init__(self) -> None:
        check_fields(self)


class NetworkEvaluator:
    """Evaluate the positions of a batch; on a GPU it returns before the result is there.

    With `capture`, a GPU runs the network as a CUDA graph for each batch size: launching its kernels one by one takes
    longer than the kernels. The weights must then stay in the same memory.
    """

    def __init__(self, net: nn.Module, compute: Compute, capture: bool = False) -> None:
        self.net, self.compute = net, compute
        self._graphs: dict[int, _Graph] | None = {} if capture and compute.on_gpu else None

    @torch.inference_mode()
    def __call__(self, positions: PositionBatch) -> "NetworkEvaluation":
        inputs = torch.from_numpy(positions.observations), torch.from_numpy(positions.masks)
        if self._graphs is None:
            return NetworkEvaluation(*self._evaluate(*self._on_device(inputs)))
        if (graph := self._graphs.get(len(positions.masks))) is None:
            graph = self._graphs[len(positions.masks)] = self._captured(*self._on_device(inputs))
        for captured, new in zip(graph.inputs, inputs, strict=True):
            captured.copy_(new, non_blocking=True)
        graph.graph.replay()
        return NetworkEvaluation(*graph.outputs)

    def _on_device(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        return [one.to(self.compute.torch_device, non_blocking=True) for one in inputs]

    def _evaluate(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        with self.compute.autocast():
            heads = self.net(observations)
        priors = MaskedCategorical(heads.policy, masks).probs.clamp_min(SMALLEST_PRIOR) * masks
        return priors, heads.value.float().clamp(-1, 1)

    def _captured(self, *inputs: Tensor) -> "_Graph":
        device = inputs[0].device
        warm_up, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()  # type: ignore[no-untyped-call]
        warm_up.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(warm_up):  # compiles, and lets cuDNN choose its algorithms
            for _ in range(3):
                self._evaluate(*inputs)
        torch.cuda.current_stream(device).wait_stream(warm_up)
        with torch.cuda.device(device), torch.cuda.graph(graph):
            outputs = self._evaluate(*inputs)
        return _Graph(graph, inputs, outputs)


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


class NetworkEvaluation:
    """An evaluation in progress, with the copy of its result to the CPU."""

    def __init__(self, priors: Tensor, values: Tensor) -> None:
        self._tensors: tuple[Tensor, ...] = (priors, values)
        self._copied: Any = None
        if priors.is_cuda:
            self._tensors = tuple(torch.empty(one.shape, dtype=one.dtype, pin_memory=True) for one in (priors, values))
            for target, source in zip(self._tensors, (priors, values), strict=True):
                target.copy_(source, non_blocking=True)
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied.record(torch.cuda.current_stream(priors.device))  # not the stream of the default device

    def result(self) -> Evaluated:
        if self._copied is not None:
            self._copied.synchronize()
        found = Evaluated(*(one.numpy() for one in self._tensors))
        require(
            bool(np.isfinite(found.values).all()),
            "the network returns NaN or infinite values: its training diverged, or algo.compute.precision=float16 "
            "overflows; use a lower algo.lr, or precision=float32",
        )
        return found


class SearchAgent(NetworkAgent):
    """Search from the position with the network; `info` has the visits and the value of the search."""

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})
    choose_actions = None  # type: ignore[assignment]  # a search needs the positions

    def __init__(
        self, net: nn.Module, compute: Compute, play: PlayConfig, search: SearchConfig, discount: float
    ) -> None:
        super().__init__(net, compute, InferenceConfig(symmetries=False))
        self.simulations, self.discount = play.simulations, discount
        games = max(1, POSITIONS_IN_STEP // (play.simulations + 1))
        self.games_in_step = min(self.games_in_step, games)  # type: ignore[misc]  # by instance
        self.search = replace(search, simulations=max(1, play.simulations))

    def check(self, game: Game) -> None:
        require_traits(self.needs, game)
        require(isinstance(game, TwoPlayerGame), f"it searches: {type(game).__name__} must be a TwoPlayerGame")
        super().check(game)

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        if self.simulations == 0:
            return super().decide_batch(game, views, rngs)
        found = self._search(game, views)
        decisions = []
        for i, action in enumerate(found.actions.tolist()):
            visits = found.visits[i]
            info: dict[str, Any] = {"value": round(float(found.values[i]), 3), "visits": int(visits[action])}
            info |= {"simulations": int(visits.sum()), "action_probability": found.policies[i], "action_visits": visits}
            decisions.append(Decision(action, info))
        return decisions

    def analyze(self, game: Game, view: Any, count: int) -> list[Line]:
        """Return the most visited moves with their values, or the most probable ones without search."""
        if self.simulations == 0:
            chances = self.decide(game, view, np.random.default_rng(0)).info["action_probability"]
            ranked = np.argsort(-chances, kind="stable")[:count].tolist()
            return [Line(f"{chances[action]:.3f}", (action,)) for action in ranked if chances[action] > 0]
        found = self._search(game, [view])
        return [
            Line(f"{found.action_value(0, action):.3f}", found.line(0, action)) for action in found.ranked(0)[:count]
        ]

    def _search(self, game: Game, views: Sequence[Any]) -> SearchResult:
        assert isinstance(game, TwoPlayerGame)
        positions = game.positions(len(views), self.search.simulations + 1)
        positions.set_roots(range(len(views)), views)
        noise = np.zeros(positions.masks.shape, np.float32)
        searching = search(positions, self.search, self.discount, noise)
        with self.compute.fixed_threads():
            return run_searches([searching], [positions], NetworkEvaluator(self.net, self.compute))[0]
