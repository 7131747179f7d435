"""What the page searches for: evaluations, hints, judgments, and moves within a time. All can be cancelled."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ...core.interrupt import CancellationToken, CancelledWorkError
from ...core.play.game import outcome_for_seat
from ...core.play.search_interface import DECIDED, WIN, DepthResult, SearcherConfig
from ...envs.quoridor.agents import MasterAgent
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.rules import Position
from ...envs.quoridor.search.deepening import TimedSearch
from ...envs.quoridor.search.evaluation import FACTORS
from ...envs.quoridor.search.judgment import Judgment, judge, win_share
from ..event_loop import Busy
from ..players import AgentCache
from .match import DEEP, DEEP_SECONDS

LEVEL = "hell"  # the key of the player that analyzes
HINTS = 5

Hint = tuple[str, Sequence[str]]  # the score of a move, and the names of its line


class Evaluation(NamedTuple):
    """The evaluation of a position for player 1."""

    share: float  # 0: player 2 wins, 1: player 1 wins
    text: str
    parts: Mapping[str, int]  # weighted factors


def leader(score: int, mover: int) -> str:
    """Put a score of the player to move into words."""
    winner = mover if score > 0 else 1 - mover
    if abs(score) > DECIDED:
        return f"Player {winner + 1} wins within {WIN - abs(score)} moves"
    return f"Player {winner + 1} is ahead ({abs(score)} after search)" if score else "Even"


def from_search(info: Mapping[str, Any], mover: int) -> Evaluation:
    """Convert the info of a search, which is for the player to move; its score is -13, win-in-3 or loss-in-4."""
    parts = {name: outcome_for_seat(mover, int(info[name])) for name in FACTORS}
    decided, _, plies = str(info["score"]).partition("-in-")
    score = int(decided) if not plies else WIN - int(plies) if decided == "win" else int(plies) - WIN
    share = win_share(score)
    return Evaluation(share if mover == 0 else 1 - share, leader(score, mover), parts)


@runtime_checkable
class SearchingAgent(Protocol):
    evaluation: SearcherConfig


class Analyst:
    """Searches for one evaluation at a time, for hints and for judgments."""

    def __init__(self, game: Quoridor, agents: AgentCache, busy: Busy, rng: np.random.Generator) -> None:
        self._game, self._agents, self._busy, self._rng = game, agents, busy, rng
        self._evaluating = CancellationToken()

    async def evaluate(self, position: Position) -> Evaluation | None:
        """Return the evaluation of a position, or None if another one is asked for meanwhile."""
        self.cancel_evaluation()
        token = self._evaluating = CancellationToken()
        outcome = self._game.outcome(position)
        if outcome is not None:
            text = {1: "Player 1 wins", 0: "A draw", -1: "Player 2 wins"}[outcome]
            return Evaluation((1 + outcome) / 2, text, dict.fromkeys(FACTORS, 0))
        try:
            decision = await self._busy.do(token.run, self._agents.decide, LEVEL, position, self._rng)
        except CancelledWorkError:
            return None
        return from_search(decision.info, self._game.to_move(position))

    def cancel_evaluation(self) -> None:
        self._evaluating.cancel()

    async def hint(self, position: Position, token: CancellationToken) -> list[Hint]:
        agent = self._agents.agent(LEVEL)
        lines = await self._busy.do(token.run, agent.analyze, self._game, position, HINTS)
        return [(one.score, self._game.line_names(position, one.actions)) for one in lines]

    def judge(self, state: Position, action: int) -> Judgment:
        """Compare a move with the best one; slow, so reviews call it in a thread."""
        agent = self._agents.agent(LEVEL)
        assert isinstance(agent, SearchingAgent)
        return judge(self._game, self._game.searcher(agent.evaluation), state, action)


class Budget:
    """The time of a search, which another thread may end early."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    @property
    def left(self) -> float:
        """Seconds left."""
        return 0.0 if self._stopped else max(0.0, self._end - time.perf_counter())


class TimedPlayer:
    """The player that searches as deep as it can within a time, and shows how far it is."""

    def __init__(self, game: Quoridor, agents: AgentCache, show: Callable[[str], None]) -> None:
        """`show` is called with the progress of a search."""
        self._game, self._agents, self._show = game, agents, show
        self._budget: Budget | None = None  # of the running search
        self._search: TimedSearch | None = None  # remembers the game

    async def decide(self, busy: Busy, token: CancellationToken, state: Position) -> int:
        """Return the best action; raise `CancelledError` once the token is cancelled."""
        budget = self._budget = Budget(DEEP_SECONDS)
        self._report(budget, None, None)
        loop = asyncio.get_running_loop()
        try:
            return await busy.do(token.run, self._decide, state, budget, loop)
        except CancelledWorkError:
            raise asyncio.CancelledError from None
        finally:
            if budget is self._budget:  # else the next search has begun
                self._budget = None

    def move_now(self) -> None:
        """End the running search, which plays the best move that it has found."""
        if self._budget is not None:
            self._budget.stop()
        if self._search is not None:
            self._search.stop()

    def _decide(self, state: Position, budget: Budget, loop: asyncio.AbstractEventLoop) -> int:
        if self._search is None:
            agent = self._agents.agent(DEEP)
            assert isinstance(agent, MasterAgent)
            self._search = agent.new_search(self._game)
        result = None
        for result in self._search.deepen(state, budget.left):
            loop.call_soon_threadsafe(self._report, budget, state, result)
            if not budget.left:
                break
        assert result is not None
        self._search.remember(self._game.play(state, result.line[0]))
        return result.line[0]

    def _report(self, budget: Budget, state: Position | None, result: DepthResult | None) -> None:
        if budget is not self._budget:
            return
        words = f"thinks for {DEEP_SECONDS:g} seconds"
        if state is not None and result is not None:
            line = " ".join(self._game.line_names(state, result.line)[:6])
            speed = f"{result.nodes / max(result.seconds, 0.001) / 1000:,.0f}k positions per second"
            lead = leader(result.score, self._game.to_move(state))
            words = f"{words} · depth {result.depth} · {lead} · {line} · {speed}"
        self._show(words)
