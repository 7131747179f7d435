"""Agents that play Quoridor only: the runner, and the master with the timed search."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, Decision, Line
from ...core.play.game import Game, outcome_for_seat
from ...core.play.search_interface import WIN, DepthResult, parent_score, score_text
from ...core.ranges import Bounds, Count, Fraction, Positive, checked
from ...core.seeding import draw
from .game import Quoridor
from .rules import Position
from .search.clock import Budget, move_budget
from .search.deepening import SearchFeatures, SearchOptions, TimedSearch
from .search.nnue import MAX_WALLS, SIZE, find_network, load_network

OTHER_NODES, OTHER_BITS = 2000, 14  # budget and table of the searches of other moves in an analysis
MAX_THREADS = 256


class RunnerAgent(Agent):
    """Follows a shortest path to its goal; a fraction `explore` of its moves is drawn from all legal ones instead.

    With `explore_most` the fraction is drawn between both: for each game in the compiled batch (`VecQuoridor`), and
    otherwise for each move, because an agent does not know which moves belong to one game.
    """

    @checked
    def __init__(self, explore: Fraction = 0.0, explore_most: Fraction | None = None) -> None:
        most = explore if explore_most is None else explore_most
        require(explore <= most, f"explore={explore} must not be greater than explore_most={explore_most}")
        self.explore, self.explore_most = float(explore), float(most)
        self.deterministic = most == 0

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Quoridor), "it plays Quoridor only")

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        if self.explore_most > 0 and rng.random() < rng.uniform(self.explore, self.explore_most):
            return Decision(draw(rng, game.legal_actions(view)))
        return Decision(game.shortest_step(view))


class MasterAgent(Agent):
    """The strongest player: searches for a time, or for a number of nodes, with the learned evaluation.

    The transposition table and the positions of the game are kept between moves, so a decision depends on those before
    it in the game, but not on other games. Each thread has memory for one game: of several games in lockstep, every
    move begins with an empty table and without the repetitions of its game. Evaluations play its games one by one
    (`games_in_step`), unless the other agent, evaluated against it, plays in batches.
    """

    @checked
    def __init__(
        self,
        network: str | None,
        seconds: Positive | None,
        nodes: Count | None,
        threads: Annotated[int, Bounds(ge=1, le=MAX_THREADS)],
        search: SearchOptions,
        features: SearchFeatures,
    ) -> None:
        require((seconds is None) != (nodes is None), "set one of agent.seconds and agent.nodes, and the other to null")
        require(
            nodes is None or threads == 1,
            f"agent.nodes={nodes} limits a search of one thread: set agent.threads=1, or agent.seconds instead of "
            "agent.nodes",
        )
        self.network = load_network(find_network(network))
        self.seconds, self.nodes, self.threads, self.options, self.features = seconds, nodes, threads, search, features
        self.is_timed = seconds is not None
        self._own = threading.local()  # a search per thread
        self._running: list[tuple[TimedSearch, threading.Event]] = []  # analyses, and whether they were stopped

    def check(self, game: Game) -> None:
        super().check(game)
        known = f"it plays Quoridor on {SIZE}x{SIZE} with at most {MAX_WALLS} walls per player"
        require(isinstance(game, Quoridor), f"{known} only")
        assert isinstance(game, Quoridor)
        require(
            game.size == SIZE and game.walls <= MAX_WALLS,
            f"{known}, not on {game.size}x{game.size} with {game.walls}: set env.game.size={SIZE} and env.game.walls "
            f"to at most {MAX_WALLS}; alphabeta plays every size, alphazero and ppo learn it",
        )

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        return self._decide(game, view, Budget(None, self.seconds), self.nodes)

    def decide_by_clock(self, game: Game, view: Position, left: float, increment: float) -> Decision:
        assert isinstance(game, Quoridor)
        return self._decide(game, view, move_budget(left, increment, view.ply), None)

    def _decide(self, game: Quoridor, view: Position, budget: Budget, nodes: int | None) -> Decision:
        if nodes is None and len(game.legal_actions(view)) == 1:
            budget = Budget(0.0, 0.0)
        search = self.search_of_thread(game)
        *_, result = search.deepen(view, budget.limit, nodes, aim=budget.aim)
        action = result.line[0]
        search.remember(game.play(view, action))
        info = {
            "score": score_text(result.score),
            "depth": result.depth,
            "nodes": result.nodes,
            "nodes_per_second": round(result.nodes / result.seconds) if result.seconds > 0 else 0,
            "line": ",".join(game.line_names(view, result.line)),
        }
        return Decision(action, info)

    def analyze(
        self, game: Game, view: Position, count: int, report: Callable[[DepthResult], None] = lambda result: None
    ) -> list[Line]:
        """Return the chosen move, searched with the whole budget, and the best others, searched with few nodes each.

        `report` is called after every depth of the first search. After a stop there are no others.
        """
        assert isinstance(game, Quoridor)
        search, stopped = self.search_of_thread(game), threading.Event()
        self._running.append((search, stopped))
        try:
            for best in search.deepen(view, self.seconds, self.nodes):
                report(best)
            others = self._others(game, view, best.line[0], stopped) if count > 1 else []
        finally:
            self._running.remove((search, stopped))
        return [Line(score_text(score), line) for score, line in [(best.score, best.line), *others][:count]]

    def stop(self) -> None:
        for search, stopped in list(self._running):
            stopped.set()
            search.stop()

    def _others(
        self, game: Quoridor, view: Position, best: int, stopped: threading.Event
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Return score and line of the other moves, best first."""
        search = TimedSearch(self.network, game.ply_limit, replace(self.options, table_bits=OTHER_BITS), self.features)
        others = []
        for action in game.candidates(view, False):
            if stopped.is_set():
                return []
            if action == best:
                continue
            after = game.play(view, action)
            outcome = game.outcome(after)
            if outcome is None:
                *_, result = search.deepen(after, nodes=OTHER_NODES)
                score, line = result.score, result.line
            else:
                score, line = WIN * outcome_for_seat(game.to_move(after), outcome), ()
            others.append((parent_score(score), (action, *line)))
        return sorted(others, key=lambda scored: -scored[0])

    def reset(self) -> None:
        if (search := getattr(self._own, "search", None)) is not None:
            search.start_game()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the settings and the network, for other processes."""
        return vars(self) | {"_own": None, "_running": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_own": threading.local()})

    def search_of_thread(self, game: Quoridor) -> TimedSearch:
        """Return the search of this thread."""
        found: TimedSearch | None = getattr(self._own, "search", None)
        if found is None or found.ply_limit != game.ply_limit:
            found = self._own.search = self.new_search(game)
        return found

    def new_search(self, game: Quoridor) -> TimedSearch:
        return TimedSearch(self.network, game.ply_limit, self.options, self.features, self.threads)
