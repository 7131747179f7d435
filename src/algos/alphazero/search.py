"""Gumbel search of many games at once. The network evaluates one leaf of every game together."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np

from ...core.parallel import run_in_spans
from ...core.play.search_interface import PositionBatch
from ...core.ranges import Bounds, NonNegative, Positive, check_fields
from .tree import (
    SearchTrees,
    Settings,
    back_up_some,
    begin_some,
    considered_visits,
    finish_some,
    new_trees,
    quality,
    select_some,
)

GAMES_PER_THREAD = 64  # with fewer, starting a thread costs more than it saves
MAX_SIMULATIONS = 30_000  # node numbers have 16 bits


@dataclass(frozen=True)
class SearchConfig:
    simulations: Annotated[int, Bounds(ge=1, le=MAX_SIMULATIONS)]  # positions evaluated for a move
    considered_actions: Annotated[int, Bounds(ge=1, le=65_536)]  # at the root
    # Values, 0 for a loss to 1 for a win, have the weight (visit_offset + most visits of an action) * value_scale
    # relative to the log probabilities of the network.
    visit_offset: NonNegative
    value_scale: Positive

    def __post_init__(self) -> None:
        check_fields(self)


class Evaluated(NamedTuple):
    """The answer of the network for N positions."""

    priors: np.ndarray  # (N, A) float32: positive for legal actions, 0 for others
    values: np.ndarray  # (N,) float32, for the player to move


class SearchResult(NamedTuple):
    actions: np.ndarray  # (N,) int64
    policies: np.ndarray  # (N, A) float32: improved policies, the targets of training
    values: np.ndarray  # (N,) float32: of these policies, for the player to move
    visits: np.ndarray  # (N, A) int32
    trees: SearchTrees
    settings: Settings

    def ranked(self, i: int) -> list[int]:
        """Return the visited actions of a game, the chosen one first, then those with the most visits."""
        visited = np.flatnonzero(self.visits[i])
        order = np.lexsort((visited, -self.policies[i, visited], -self.visits[i, visited], visited != self.actions[i]))
        return [int(action) for action in visited[order]]

    def action_value(self, i: int, action: int) -> float:
        """Return the Q value of a visited action at the root of a game."""
        return float(quality(self.trees, self.settings, i, 0, self.trees.children[i, 0, action]))

    def line(self, i: int, action: int) -> tuple[int, ...]:
        """Return an action and the most visited actions after it."""
        line, node = [action], self.trees.children[i, 0, action]
        while (children := self.trees.children[i, node]).any():
            visits = np.where(children > 0, self.trees.visits[i, children], 0)
            line.append(int(visits.argmax()))
            node = children[line[-1]]
        return tuple(line)


class Evaluating(Protocol):
    """An evaluation that may be in progress on a GPU."""

    def result(self) -> Evaluated: ...


Searching = Generator[None, Evaluated, SearchResult]


def search(
    positions: PositionBatch, config: SearchConfig, discount: float, noise: np.ndarray, trees: SearchTrees | None = None
) -> Searching:
    """Search the roots of `positions`, which it must describe; yield whenever its positions need an evaluation.

    `noise` (N, A) is Gumbel noise, or zero to choose without randomness. `trees` are used again if they are given.
    """
    count, actions = positions.masks.shape
    if trees is None:
        trees = new_trees(count, config.simulations + 1, actions)
    settings = Settings(float(config.visit_offset), float(config.value_scale), float(discount))
    considered = np.minimum(positions.masks.sum(axis=1), config.considered_actions)
    table = {int(m): considered_visits(int(m), config.simulations) for m in np.unique(considered)}
    targets = np.array([table[int(m)] for m in considered], np.int64)  # (N, S)

    def in_threads(kernel: Any, *arguments: Any) -> None:
        run_in_spans(partial(kernel, trees, *arguments), count, GAMES_PER_THREAD)

    seats = positions.seats.copy()
    priors, values = yield
    in_threads(begin_some, priors, values, seats, noise)
    for number in range(config.simulations):
        in_threads(select_some, settings, targets[:, number].copy())
        positions.expand(trees.leaf_parents, trees.leaf_actions, number + 1)
        priors, values = yield
        described = positions.seats, positions.ended, positions.outcomes, positions.solved
        in_threads(back_up_some, settings, number + 1, priors, values, *described)
    chosen, found = np.zeros(count, np.int64), np.zeros(count, np.float32)
    policies, visits = np.zeros((count, actions), np.float32), np.zeros((count, actions), np.int32)
    in_threads(finish_some, settings, chosen, policies, found, visits)
    return SearchResult(chosen, policies, found, visits, trees, settings)


def run_searches(
    searches: Sequence[Searching],
    batches: Sequence[PositionBatch],
    evaluate: Callable[[PositionBatch], Evaluating],
) -> list[SearchResult]:
    """Run searches in turn: while the GPU evaluates the positions of one, the CPU extends the trees of the others."""
    results: dict[int, SearchResult] = {}
    pending: dict[int, Evaluating] = {}
    for number, (one, batch) in enumerate(zip(searches, batches, strict=True)):
        next(one)
        pending[number] = evaluate(batch)
    while pending:
        for number in list(pending):
            try:
                searches[number].send(pending.pop(number).result())
            except StopIteration as finished:
                results[number] = finished.value
            else:
                pending[number] = evaluate(batches[number])
    return [results[number] for number in range(len(searches))]
