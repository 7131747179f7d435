"""Gumbel search of many games at once, on trees in arrays; the network evaluates one leaf of every game together.

The method is that of Danihelka et al. 2022, "Policy improvement by planning with Gumbel":

    root:  sequential halving over the best actions by Gumbel noise + log prior + scaled Q
    below: the action whose share of visits is furthest below its probability under the improved policy

A search begins (`begin_some`), selects a leaf (`select_some`), adds it and its value (`back_up_some`), and so on, and
returns actions, policies and values (`finish_some`). These kernels work on the games `first` to `end` - 1.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np

from ...core.kernels import by_reference, jit
from ...core.parallel import run_in_spans
from ...core.play.search_interface import PositionBatch
from ...core.ranges import Bounds, NonNegative, Positive, check_fields

GAMES_PER_THREAD = 64  # with fewer, starting a thread costs more than it saves
MAX_SIMULATIONS = 30_000  # node numbers have 16 bits
LOWEST = -1e30

kernel = jit(nogil=True, _nrt=False)
inlined = jit(nogil=True, forceinline=True, _nrt=False)


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


@by_reference
class SearchTrees(NamedTuple):
    """N trees with M nodes and A actions. Values are for the player to move at their node."""

    priors: np.ndarray  # (N, M, A) float32: the policy of the network; 0 for illegal actions
    children: np.ndarray  # (N, M, A) int16: node after an action; 0 if it was not visited
    parents: np.ndarray  # (N, M) int16
    visits: np.ndarray  # (N, M) int32
    sums: np.ndarray  # (N, M) float32: of the values of all visits
    values: np.ndarray  # (N, M) float32: by the network, or exact
    seats: np.ndarray  # (N, M) int8
    exact: np.ndarray  # (N, M) bool: the value is exact, and there is nothing to search
    noisy: np.ndarray  # (N, A) float32: Gumbel noise + log prior at the root
    leaves: np.ndarray  # (N,) int64: node of the latest simulation
    leaf_parents: np.ndarray  # (N,) int64: node before it; -1 if it was visited before and has an exact value
    leaf_actions: np.ndarray  # (N,) int64: action that leads to it


@by_reference
class Settings(NamedTuple):
    visit_offset: float
    value_scale: float
    discount: float


def new_trees(count: int, nodes: int, actions: int) -> SearchTrees:
    shapes = {"priors": (nodes, actions), "children": (nodes, actions), "noisy": (actions,)}
    shapes |= dict.fromkeys(("leaves", "leaf_parents", "leaf_actions"), ())
    types: dict[str, Any] = {"children": np.int16, "parents": np.int16, "visits": np.int32, "seats": np.int8}
    types |= {"exact": np.bool_} | dict.fromkeys(("leaves", "leaf_parents", "leaf_actions"), np.int64)
    return SearchTrees(
        *(np.zeros((count, *shapes.get(n, (nodes,))), types.get(n, np.float32)) for n in SearchTrees._fields)
    )


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


def considered_visits(considered: int, simulations: int) -> list[int]:
    """Return the visits that an action must have to be chosen at the root, for each simulation (sequential halving).

    First all considered actions get visits in turn, then the better half of them, ...; the last two share the rest.
    """
    if considered <= 1:
        return list(range(simulations))
    rounds, visits = (considered - 1).bit_length(), 0  # halvings down to one action
    sequence: list[int] = []
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (rounds * considered))):
            sequence += [visits] * considered
            visits += 1
        considered = max(2, considered // 2)
    return sequence[:simulations]


@kernel
def begin_some(
    trees: SearchTrees,
    priors: np.ndarray,
    values: np.ndarray,
    seats: np.ndarray,
    noise: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Create the roots from their evaluation by the network: priors (N, A), values (N,)."""
    for i in range(first, end):
        trees.exact[i, 0] = False
        trees.seats[i, 0] = seats[i]
        _create(trees, i, 0, priors[i], values[i])
        _back_up(trees, i, 0, values[i], 1.0)
        for action in range(priors.shape[1]):
            trees.noisy[i, action] = noise[i, action] + np.log(priors[i, action]) if priors[i, action] > 0 else LOWEST


@kernel
def select_some(trees: SearchTrees, settings: Settings, targets: np.ndarray, first: int, end: int) -> None:
    """Descend to a new leaf or an exact value; `targets` (N,) are the visits of the action at the root."""
    for i in range(first, end):
        node, action = 0, root_action(trees, settings, i, targets[i])
        while True:
            child: Any = trees.children[i, node, action]
            if child == 0:
                trees.leaf_parents[i], trees.leaf_actions[i] = node, action
                break
            node = child
            if trees.exact[i, node]:
                trees.leaves[i], trees.leaf_parents[i] = node, -1
                break
            action = interior_action(trees, settings, i, node)


@kernel
def back_up_some(
    trees: SearchTrees,
    settings: Settings,
    node: int,
    priors: np.ndarray,
    values: np.ndarray,
    seats: np.ndarray,
    ended: np.ndarray,
    outcomes: np.ndarray,
    solved: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Add the selected leaves as node number `node`, and their values to all nodes above.

    `priors` (N, A) and `values` (N,) are of the network, the others as in `PositionBatch`. Positions that are over or
    solved have exact values and no children.
    """
    for i in range(first, end):
        parent = trees.leaf_parents[i]
        if parent >= 0:
            value = values[i]
            if ended[i]:
                value = np.float64(outcomes[i]) if seats[i] == 0 else -np.float64(outcomes[i])
            elif solved[i] != 0:
                value = settings.discount ** abs(solved[i]) * (1.0 if solved[i] > 0 else -1.0)
            trees.children[i, parent, trees.leaf_actions[i]] = node
            trees.parents[i, node] = parent
            trees.seats[i, node], trees.exact[i, node] = seats[i], ended[i] or solved[i] != 0
            _create(trees, i, node, priors[i], value)
            trees.leaves[i] = node
        _back_up(trees, i, trees.leaves[i], trees.values[i, trees.leaves[i]], settings.discount)


@kernel
def finish_some(
    trees: SearchTrees,
    settings: Settings,
    actions: np.ndarray,
    policies: np.ndarray,
    values: np.ndarray,
    visits: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Write the chosen actions (N,), the improved policies (N, A), their values (N,) and the visits (N, A) of roots."""
    for i in range(first, end):
        mixed, _, most, scale, highest = completed_values(trees, settings, i, 0)
        actions[i] = root_action(trees, settings, i, most)
        total, value = 0.0, 0.0
        for action in range(policies.shape[1]):
            completed, visits[i, action] = mixed, 0
            child = trees.children[i, 0, action]
            if child > 0:
                completed, visits[i, action] = quality(trees, settings, i, 0, child), trees.visits[i, child]
            weight = trees.priors[i, 0, action] * np.exp(scale * (completed - highest))
            policies[i, action] = weight
            total += weight
            value += weight * completed
        values[i] = value / total
        for action in range(policies.shape[1]):
            policies[i, action] /= total


@inlined
def _create(trees: SearchTrees, i: int, node: int, priors: np.ndarray, value: float) -> None:
    trees.values[i, node], trees.sums[i, node], trees.visits[i, node] = value, 0.0, 0
    for action in range(priors.size):
        trees.priors[i, node, action] = priors[action]
        trees.children[i, node, action] = 0


@inlined
def _back_up(trees: SearchTrees, i: int, node: int, value: float, discount: float) -> None:
    while True:
        trees.visits[i, node] += 1
        trees.sums[i, node] += value
        if node == 0:
            break
        parent: Any = trees.parents[i, node]
        value *= discount if trees.seats[i, parent] == trees.seats[i, node] else -discount
        node = parent


@inlined
def quality(trees: SearchTrees, settings: Settings, i: int, node: int, child: int) -> Any:
    """Return the Q value of the action that leads to a visited child, for the player to move at `node`."""
    mean = settings.discount * np.float64(trees.sums[i, child]) / trees.visits[i, child]
    return mean if trees.seats[i, node] == trees.seats[i, child] else -mean


@kernel
def completed_values(trees: SearchTrees, settings: Settings, i: int, node: int) -> tuple[float, int, int, float, float]:
    """Complete the Q values of a node for its actions without visits, and scale them against the policy.

    Return the Q value assumed for actions without visits, the total visits of the children, the visits of the most
    visited child, the weight of a unit of Q relative to log priors, which grows with the visits, and the highest Q
    value. The assumed value mixes the value of the network with the Q values of the visited actions, weighted by prior.
    """
    total, most, weight, weighted = 0, 0, 0.0, 0.0
    highest = LOWEST
    for action in range(trees.children.shape[2]):
        child = trees.children[i, node, action]
        if child > 0:
            value, visits = quality(trees, settings, i, node, child), trees.visits[i, child]
            total += visits
            most = max(most, visits)
            weight += trees.priors[i, node, action]
            weighted += trees.priors[i, node, action] * value
            highest = max(highest, value)
    mixed: Any = np.float64(trees.values[i, node])
    if total > 0:
        mixed = (mixed + total * weighted / weight) / (1 + total)
    scale = (settings.visit_offset + most) * settings.value_scale / 2  # Q values are in [-1, 1]
    return mixed, total, most, scale, max(highest, mixed)


@kernel
def root_action(trees: SearchTrees, settings: Settings, i: int, target: int) -> int:
    """Return the legal action with `target` visits that has the highest noise + log prior + scaled Q."""
    mixed, _, _, scale, _ = completed_values(trees, settings, i, 0)
    best, highest = -1, 2 * LOWEST
    for action in range(trees.children.shape[2]):
        if trees.priors[i, 0, action] > 0:
            visits, completed = 0, mixed
            child = trees.children[i, 0, action]
            if child > 0:
                visits, completed = trees.visits[i, child], quality(trees, settings, i, 0, child)
            score = trees.noisy[i, action] + scale * completed
            if visits == target and score > highest:
                best, highest = action, score
    return best


@kernel
def interior_action(trees: SearchTrees, settings: Settings, i: int, node: int) -> int:
    """Return the action with the greatest improved probability minus share of visits."""
    mixed, total, _, scale, greatest = completed_values(trees, settings, i, node)
    weights, unvisited = 0.0, np.exp(scale * (mixed - greatest))
    for action in range(trees.children.shape[2]):
        child = trees.children[i, node, action]
        factor = unvisited
        if child > 0:
            factor = np.exp(scale * (quality(trees, settings, i, node, child) - greatest))
        weights += trees.priors[i, node, action] * factor
    best, highest = -1, 2 * LOWEST
    for action in range(trees.children.shape[2]):
        if trees.priors[i, node, action] > 0:
            child = trees.children[i, node, action]
            factor, visits = unvisited, 0
            if child > 0:
                factor = np.exp(scale * (quality(trees, settings, i, node, child) - greatest))
                visits = trees.visits[i, child]
            score = trees.priors[i, node, action] * factor / weights - visits / (1.0 + total)
            if score > highest:
                best, highest = action, score
    return best
