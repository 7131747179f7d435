"""Monte Carlo tree search with random playouts."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.play.agent import Agent, Decision, Line
from ..core.play.game import Trait, TwoPlayerGame, outcome_for_seat
from ..core.ranges import Interval, NonNegative, checked


class Node:
    """A position in the tree; `won` counts wins of the player who moved here, a draw as half."""

    __slots__ = ("children", "state", "untried", "visits", "won")

    def __init__(self, game: TwoPlayerGame, state: Any) -> None:
        self.state = state
        over = game.outcome(state) is not None
        self.untried = [] if over else game.candidates(state, selective=False)[::-1]  # most promising last, for pop
        self.children: dict[int, Node] = {}
        self.visits, self.won = 0, 0.0


class MctsAgent(Agent):
    """Upper confidence bounds applied to trees (UCT, Kocsis & Szepesvari 2006), with `TwoPlayerGame.playout`."""

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})

    @checked
    def __init__(self, simulations: Interval, exploration: NonNegative) -> None:
        self.simulations, self.exploration = simulations, exploration

    def decide(self, game: TwoPlayerGame, view: Any, rng: np.random.Generator) -> Decision:  # type: ignore[override]
        root = self._search(game, view, rng)
        action, child = max(root.children.items(), key=lambda item: item[1].visits)
        visits = np.zeros(game.num_actions, np.int32)
        visits[list(root.children)] = [one.visits for one in root.children.values()]
        info = {"win_rate": round(child.won / child.visits, 3), "visits": child.visits, "action_visits": visits}
        return Decision(action, info)

    def analyze(self, game: TwoPlayerGame, view: Any, count: int) -> list[Line]:  # type: ignore[override]
        root = self._search(game, view, np.random.default_rng(0))
        ranked = sorted(root.children.items(), key=lambda item: -item[1].visits)[:count]
        return [Line(f"{child.won / child.visits:.3f}", (action, *_line(child))) for action, child in ranked]

    def _search(self, game: TwoPlayerGame, state: Any, rng: np.random.Generator) -> Node:
        root = Node(game, state)
        for _ in range(self.simulations):
            path = self._descend(game, root)
            leaf = path[-1].state
            outcome = game.outcome(leaf)
            if outcome is None:
                outcome = game.playout(leaf, rng)
            for before, node in pairwise(path):
                node.visits += 1
                node.won += (1 + outcome_for_seat(game.to_move(before.state), outcome)) / 2
            root.visits += 1
        return root

    def _descend(self, game: TwoPlayerGame, node: Node) -> list[Node]:
        """Return the path from the root to a new or terminal node."""
        path = [node]
        while not node.untried and node.children:
            node = self._most_promising(node)
            path.append(node)
        if node.untried:
            action = node.untried.pop()
            node.children[action] = Node(game, game.play(node.state, action))
            path.append(node.children[action])
        return path

    def _most_promising(self, node: Node) -> Node:
        log_visits = math.log(node.visits)
        return max(
            node.children.values(),
            key=lambda child: child.won / child.visits + self.exploration * math.sqrt(log_visits / child.visits),
        )


def _line(node: Node) -> tuple[int, ...]:
    """Return the most visited line from a node."""
    if not node.children:
        return ()
    action, child = max(node.children.items(), key=lambda item: item[1].visits)
    return (action, *_line(child))
