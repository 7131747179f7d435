"""The strongest player of Quoridor: the timed search with the learned evaluation."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, Decision, Line
from ...core.play.game import Game, outcome_for_seat
from ...core.play.search import DECIDED, WIN, parent_score
from ...core.ranges import Count, Positive, checked
from .features import MAX_WALLS, SIZE
from .nnue import SHIPPED, load_network
from .notation import Position
from .rules import Quoridor
from .thinker import SearchOptions, Thinker

OTHER_NODES, OTHER_BITS = 2000, 14  # of the searches of the other moves in an analysis


class MasterAgent(Agent):
    """Thinks for a time, or for a number of nodes.

    The transposition table and the positions of the game are kept between moves, so a decision depends on those before
    it in the game, but not on other games. Of several games at once it remembers the last one only.
    """

    @checked
    def __init__(
        self, network: str | None, seconds: Positive | None, nodes: Count | None, search: SearchOptions
    ) -> None:
        require((seconds is None) != (nodes is None), "set one of agent.seconds and agent.nodes, and the other to null")
        self.network = load_network(SHIPPED if network is None else Path(network))
        self.seconds, self.nodes, self.options = seconds, nodes, search
        self._own = threading.local()  # a search per thread

    def check(self, game: Game) -> None:
        super().check(game)
        fits = isinstance(game, Quoridor) and game.size == SIZE and game.walls <= MAX_WALLS
        require(fits, f"it plays Quoridor on {SIZE}x{SIZE} with at most {MAX_WALLS} walls per player only")

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        thinker = self.thinker(game)
        *_, thought = thinker.think(view, self.seconds, self.nodes)
        action = thought.line[0]
        thinker.remember(game.play(view, action))
        info = {
            "score": score_text(thought.score),
            "depth": thought.depth,
            "nodes": thought.nodes,
            "nodes_per_second": round(thought.nodes / thought.seconds) if thought.seconds > 0 else 0,
            "line": ",".join(game.line_names(view, thought.line)),
        }
        return Decision(action, info)

    def analyse(self, game: Game, view: Position, count: int) -> list[Line]:
        """Return the chosen move, searched with the whole budget, and the best others, searched with few nodes each."""
        assert isinstance(game, Quoridor)
        *_, best = self.thinker(game).think(view, self.seconds, self.nodes)
        thinker = Thinker(self.network, game.ply_limit, replace(self.options, table_bits=OTHER_BITS))
        others = []
        for action in game.candidates(view, False):
            if action != best.line[0]:
                score, line = _value_of(game, thinker, game.play(view, action))
                others.append((parent_score(score), (action, *line)))
        others.sort(key=lambda scored: -scored[0])
        return [Line(score_text(score), line) for score, line in [(best.score, best.line), *others][:count]]

    def thinker(self, game: Quoridor) -> Thinker:
        """Return the search of this thread."""
        found: Thinker | None = getattr(self._own, "thinker", None)
        if found is None or found.board["ply_limit"] != game.ply_limit:
            found = self._own.thinker = self.new_thinker(game)
        return found

    def new_thinker(self, game: Quoridor) -> Thinker:
        return Thinker(self.network, game.ply_limit, self.options)


def _value_of(game: Quoridor, thinker: Thinker, state: Position) -> tuple[int, tuple[int, ...]]:
    """Return score and line of a position, which may be finished."""
    outcome = game.outcome(state)
    if outcome is not None:
        return WIN * outcome_for_seat(game.to_move(state), outcome), ()
    *_, thought = thinker.think(state, nodes=OTHER_NODES)
    return thought.score, thought.line


def score_text(score: int) -> str:
    """Return a score in hundredths of log odds, or the plies to a proven result."""
    if abs(score) <= DECIDED:
        return str(score)
    return f"win-in-{WIN - score}" if score > 0 else f"loss-in-{WIN + score}"
