"""Alpha-beta in Python, for games without a compiled search and as the reference that those are tested against."""

from typing import Any

from ..core.play.game import TwoPlayerGame, outcome_for_seat
from ..core.play.search_interface import QUIET_PLIES, WIN, SearcherConfig, SearchResult, noise_at, parent_score

LOWER, EXACT, UPPER = -1, 0, 1
INFINITY = 2 * WIN
EMPTY: tuple[int, ...] = ()


class _OutOfNodesError(Exception):
    pass


class PlainSearch:
    """A `Searcher` over the game's own interface."""

    def __init__(self, game: TwoPlayerGame, evaluation: SearcherConfig) -> None:
        self.game, self.evaluation = game, evaluation
        self.quiet_plies = QUIET_PLIES if evaluation.selective else 0
        self.nodes, self.node_limit, self.settled = 0, 0, True
        self._table: dict[tuple[Any, int], tuple[int, int, tuple[int, ...]]] = {}  # score, bound, line

    def search(self, state: Any, depth: int, first: int | None, node_limit: int) -> SearchResult | None:
        self.nodes, self.node_limit, self.settled = 0, node_limit, True
        self._table.clear()
        try:
            score, line = self._best(state, depth, -INFINITY, INFINITY, first)
        except _OutOfNodesError:
            return None
        return SearchResult(score, line, self.nodes, self.settled)

    def _value(self, state: Any, depth: int, alpha: int, beta: int) -> tuple[int, tuple[int, ...]]:
        """Return the value for the player to move if it is between alpha and beta, else a bound, and the best line."""
        game = self.game
        outcome = game.outcome(state)
        if outcome is not None:
            self.nodes += 1
            return WIN * outcome_for_seat(game.to_move(state), outcome), ()
        plies = game.solved(state) if self.evaluation.selective else None
        if plies is not None:
            self.nodes += 1
            return WIN - plies if plies > 0 else -WIN - plies, ()
        score, bound, line = self._table.get((state, depth), (0, None, ()))
        if bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha):
            return score, line
        score, line = self._best(state, depth, alpha, beta, None)
        bound = LOWER if score >= beta else (UPPER if score <= alpha else EXACT)
        self._table[state, depth] = score, bound, line
        return score, line

    def _best(self, state: Any, depth: int, alpha: int, beta: int, first: int | None) -> tuple[int, tuple[int, ...]]:
        self.nodes += 1
        best, best_line = -INFINITY, EMPTY
        if depth <= 0:
            best = self._static(state)  # stand pat: following a threat is optional
            if best >= beta or depth == -self.quiet_plies:
                return best, ()
        if self.nodes > self.node_limit:
            raise _OutOfNodesError
        game, rules = self.game, self.evaluation
        actions = game.candidates(state, rules.selective, rules.waiting_plies) if depth > 0 else game.threats(state)
        for action in sorted(actions, key=lambda action: action != first):
            below, line = self._value(game.play(state, action), depth - 1, *_window(max(alpha, best), beta))
            score = parent_score(below)
            if score > best:
                best, best_line = score, (action, *line)
            if best >= beta:
                break
        return best, best_line

    def _static(self, state: Any) -> int:
        self.settled = False
        weights, noise = self.evaluation.weights, self.evaluation.noise
        score = sum(weights[name] * value for name, value in self.game.factors(state).items())
        return score + (noise_at(self.game.position_key(state), noise, self.evaluation.seed) if noise else 0)


def _window(alpha: int, beta: int) -> tuple[int, int]:
    """Return the window after a move, widened by 1 because wins lose a point with every ply."""
    return -beta - 1, -alpha + 1
