"""Alpha-beta search for two-player games with perfect information and without chance."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core.errors import require
from ..core.play.agent import Agent, Decision, Line
from ..core.play.arena import require_openings
from ..core.play.curriculum import Curriculum
from ..core.play.game import Game, Trait, TwoPlayerGame, outcome_for_seat
from ..core.play.search_interface import (
    DECIDED,
    QUIET_PLIES,
    UNLIMITED_PLIES,
    WIN,
    Searcher,
    SearcherConfig,
    SearchResult,
    noise_at,
    parent_score,
    score_text,
)
from ..core.ranges import Bounds, Count, Interval, NonNegativeInt, Plies, Positive, check_fields, checked
from ..core.runs.run import Run
from .selection import selection_metrics, selection_score

MAX_DEPTH = 64
UNLIMITED = 1 << 60
FIRST_NODES = 1000  # of a search with a time limit, before its speed is known
LOWER, EXACT, UPPER = -1, 0, 1  # bounds of scores in the table of `PlainSearch`
INFINITY = 2 * WIN
INT_MAX, INT_MIN = 2**31 - 1, -(2**31)
# What a search without `fastest_win` reports: a won position, one whose opponent has no path left, and their opposites.
INT_SCORES = {WIN: INT_MAX, WIN - 1: INT_MAX - 1, 1 - WIN: INT_MIN + 1, -WIN: INT_MIN}


@dataclass(frozen=True)
class DifficultyConfig:
    depth: Annotated[int, Bounds(ge=1, le=MAX_DEPTH)]  # plies
    noise: NonNegativeInt  # largest random error of the evaluation
    selective: bool  # search only moves that gain something, and extend lines by threats
    waiting_plies: NonNegativeInt | None  # from this ply on, a selective search does not wait; None: no limit
    fastest_win: bool  # the nearest win is the best; False: all are equal, and the first search is the deepest

    def __post_init__(self) -> None:
        check_fields(self)
        require(
            self.selective or self.waiting_plies is None,
            f"waiting_plies={self.waiting_plies} has no effect without selective=true: set waiting_plies=null",
        )
        require(
            self.fastest_win or not self.selective,
            "selective=true counts the plies of a race: set fastest_win=true, or selective=false",
        )


class AlphaBetaAgent(Agent):
    """Iterative deepening with the compiled search of the game, or `PlainSearch` if it has none.

    Each decision draws the noise of its level anew, so games differ, but one search sees one value per position.
    `info` has the score, depth, nodes and line of the search, and the weighted factors that sum to `static`.
    """

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})

    @checked
    def __init__(
        self,
        difficulty: str,
        levels: Mapping[str, DifficultyConfig],
        weights: Mapping[str, Annotated[int, Bounds(ge=-DECIDED, le=DECIDED)]],
        nodes: Count | None,
        seconds: Positive | None,
    ) -> None:
        require(difficulty in levels, f"agent.difficulty={difficulty} is unknown: choose one of {', '.join(levels)}")
        self.level, self.nodes, self.seconds = levels[difficulty], nodes, seconds
        self.is_timed = seconds is not None
        require(nodes is None or seconds is None, "agent.nodes and agent.seconds exclude each other: set one to null")
        level, waiting = self.level, self.level.waiting_plies
        waiting = UNLIMITED_PLIES if waiting is None else waiting
        self.evaluation = SearcherConfig(dict(weights), level.noise, 0, level.selective, waiting, level.fastest_win)
        self.has_budget = nodes is not None or seconds is not None
        require(
            level.fastest_win or not self.has_budget,
            "agent.nodes and agent.seconds limit a search that becomes deeper, which a level with fastest_win=false "
            "does not: set both to null, or fastest_win=true",
        )
        self.deterministic = level.noise == 0 and seconds is None

    def check(self, game: Game) -> None:
        super().check(game)
        assert isinstance(game, TwoPlayerGame)
        factors = game.factors(game.initial(np.random.default_rng(0)))
        missing = [name for name in factors if name not in self.evaluation.weights]
        require(not missing, f"it has no weight for {', '.join(missing)}")

    def decide(self, game: TwoPlayerGame, view: Any, rng: np.random.Generator) -> Decision:  # type: ignore[override]
        budget = SearchBudget(self.nodes, self.seconds)
        found, depth = self._deepen(self._noisy_searcher(game, rng), view, budget)
        parts = {name: value * self.evaluation.weights[name] for name, value in game.factors(view).items()}
        line = ",".join(game.line_names(view, found.line))
        info = {"score": self._score_text(found.score), "depth": depth, "nodes": budget.nodes, "line": line}
        return Decision(found.line[0], info | {"static": sum(parts.values())} | parts)

    def search(self, game: TwoPlayerGame, state: Any, rng: np.random.Generator) -> SearchResult:
        """Return score and line of the search that decides."""
        return self._deepen(self._noisy_searcher(game, rng), state, SearchBudget(self.nodes, self.seconds))[0]

    def analyze(self, game: TwoPlayerGame, view: Any, count: int) -> list[Line]:  # type: ignore[override]
        """Return the best moves, without the noise of the level, with their scores and principal variations.

        They share one budget, of which the best move comes first; moves beyond the budget are searched one ply deep.
        """
        searcher = _new_searcher(game, replace(self.evaluation, noise=0))
        budget = SearchBudget(self.nodes, self.seconds)
        best, reached = self._deepen(searcher, view, budget)
        depth = reached if self.has_budget else self.level.depth  # not reduced by an early win of the first move
        lines = []
        for action in game.candidates(view, self.level.selective, self.evaluation.waiting_plies):
            if action != best.line[0]:
                after = game.play(view, action)
                found = self._value_of(game, searcher, after, depth - 1, budget)
                score = parent_score(found.score, self.evaluation.ply_cost)
                own = game.to_move(after) == game.to_move(view)  # another turn
                lines.append((-score if own else score, (action, *found.line)))
        lines.sort(key=lambda scored: -scored[0])
        lines.insert(0, (best.score, best.line))
        return [Line(self._score_text(score), actions) for score, actions in lines[:count]]

    def _score_text(self, score: int) -> str:
        return score_text(score) if self.level.fastest_win else str(INT_SCORES.get(score, score))

    def _noisy_searcher(self, game: TwoPlayerGame, rng: np.random.Generator) -> Searcher:
        seed = int(rng.integers(1 << 63)) if self.level.noise > 0 else 0
        return _new_searcher(game, replace(self.evaluation, seed=seed))

    def _deepen(self, searcher: Searcher, state: Any, budget: "SearchBudget") -> tuple[SearchResult, int]:
        """Search with increasing depth until the depth limit or the budget; return the result and its depth."""
        last = MAX_DEPTH if self.has_budget else self.level.depth
        depth = 1 if self.level.fastest_win else last
        found = searcher.search(state, depth, None, UNLIMITED)
        assert found is not None
        budget.nodes += found.nodes
        while depth < last and found.score <= DECIDED and not (self.has_budget and found.settled):
            limit = budget.nodes_left()
            if limit <= 0:
                break
            deeper = searcher.search(state, depth + 1, found.line[0], limit)
            budget.nodes += limit if deeper is None else deeper.nodes
            if deeper is not None:
                found, depth = deeper, depth + 1
            elif budget.is_up():
                break
        return found, depth

    def _value_of(
        self, game: TwoPlayerGame, searcher: Searcher, state: Any, depth: int, budget: "SearchBudget"
    ) -> SearchResult:
        """Search a position below the root, which may be finished or solved."""
        exact = exact_score(game, state, self.evaluation.selective)
        if exact is not None:
            return SearchResult(exact, (), 1, True)
        limit = budget.nodes_left()
        found = searcher.search(state, depth, None, limit) if limit > 0 else None
        budget.nodes += limit if found is None else found.nodes
        found = found or searcher.search(state, min(depth, 1), None, UNLIMITED)
        assert found is not None
        return found


def _new_searcher(game: TwoPlayerGame, config: SearcherConfig) -> Searcher:
    """Return a new searcher for each decision, so that results do not depend on earlier searches."""
    return game.searcher(config) or PlainSearch(game, config)


class SearchBudget:
    """A budget of nodes or seconds, or neither."""

    def __init__(self, nodes: int | None, seconds: float | None) -> None:
        self.max_nodes, self.seconds = nodes, seconds
        self.nodes, self.began = 0, time.perf_counter()

    def nodes_left(self) -> int:
        """Return the nodes left; with a time limit an estimate from the speed so far."""
        if self.seconds is None:
            return UNLIMITED if self.max_nodes is None else self.max_nodes - self.nodes
        elapsed = time.perf_counter() - self.began
        speed = self.nodes / elapsed
        return 0 if elapsed >= self.seconds else max(FIRST_NODES, int(speed * (self.seconds - elapsed)))

    def is_up(self) -> bool:
        """Return whether the budget is used; if the estimated speed was too low, there is time to continue."""
        return self.seconds is None or time.perf_counter() - self.began > 0.9 * self.seconds


def exact_score(game: TwoPlayerGame, state: Any, use_solved: bool) -> int | None:
    """Return the score of a position that is over, or solved by the game if `use_solved`; otherwise None."""
    outcome = game.outcome(state)
    if outcome is not None:
        return WIN * outcome_for_seat(game.to_move(state), outcome)
    plies = game.solved(state) if use_solved else None
    return None if plies is None else WIN - plies if plies > 0 else -WIN - plies


class _OutOfNodesError(Exception):
    pass


class PlainSearch:
    """A `Searcher` in Python, for games without a compiled search and as the reference in tests of those."""

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
        exact = exact_score(self.game, state, self.evaluation.selective)
        if exact is not None:
            self.nodes += 1
            return exact, ()
        score, bound, line = self._table.get((state, depth), (0, None, ()))
        if bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha):
            return score, line
        score, line = self._best(state, depth, alpha, beta, None)
        bound = LOWER if score >= beta else (UPPER if score <= alpha else EXACT)
        self._table[state, depth] = score, bound, line
        return score, line

    def _best(self, state: Any, depth: int, alpha: int, beta: int, first: int | None) -> tuple[int, tuple[int, ...]]:
        game, rules = self.game, self.evaluation
        self.nodes += 1
        best: int = -INFINITY
        best_line: tuple[int, ...] = ()
        if depth <= 0:
            self.settled = False
            factors, noise = game.factors(state), rules.noise
            best = sum(rules.weights[name] * value for name, value in factors.items())
            best += noise_at(game.position_key(state), noise, rules.seed) if noise else 0
            # Stand pat: following a threat is optional.
            if best >= beta or depth == -self.quiet_plies:
                return best, ()
        if self.nodes > self.node_limit:
            raise _OutOfNodesError
        seat = game.to_move(state)
        actions = game.candidates(state, rules.selective, rules.waiting_plies) if depth > 0 else game.threats(state)
        for action in sorted(actions, key=lambda action: action != first):
            after = game.play(state, action)
            own = game.to_move(after) == seat  # another turn of the same player
            low, high = max(alpha, best) - 1, beta + 1  # widened by 1, because wins lose a point with every ply
            below, line = self._value(after, depth - 1, *((low, high) if own else (-high, -low)))
            score = -parent_score(below, rules.ply_cost) if own else parent_score(below, rules.ply_cost)
            if score > best:
                best, best_line = score, (action, *line)
            if best >= beta:
                break
        return best, best_line


class AlphaBeta:
    """The search as an algorithm without training: a run evaluates the player and saves its settings."""

    needs: ClassVar[frozenset[Trait]] = AlphaBetaAgent.needs
    updates_network: ClassVar[bool] = False

    @checked
    def __init__(self, player: AlphaBetaAgent, eval_episodes: Interval = 20, eval_opening_plies: Plies = 0) -> None:
        self.player, self.eval_episodes, self.eval_opening_plies = player, eval_episodes, eval_opening_plies

    def check(self, env: Any, curriculum: Curriculum) -> None:
        self.player.check(env.game)
        require_openings(env.game, self.eval_opening_plies)
        require(len(curriculum.all(env)) == 1, "algo=alphabeta does not learn and needs no curriculum: curriculum=none")

    def fit(self, env: Any, curriculum: Curriculum, run: Run) -> AlphaBetaAgent:
        if run.restore() is None:
            settings = self.eval_episodes, run.seed, self.eval_opening_plies
            with run.recorded_game(env.game, step=0, progress=1.0) as on_position:
                metrics = selection_metrics(env, self.player, *settings, on_position)
            run.log(0, metrics)
            run.save_best(selection_score(metrics), {})
            run.save({})
        return self.player

    def load_agent(self, saved: dict[str, Any]) -> AlphaBetaAgent:
        return self.player
