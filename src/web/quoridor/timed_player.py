"""The player that searches as deep as it can within a time, and shows how far it is."""

import asyncio
from collections.abc import Callable

from ...core.interrupt import CancellationToken, CancelledWorkError
from ...core.play.search_interface import DepthResult
from ...envs.quoridor.agents import MasterAgent
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.notation import Position
from ...envs.quoridor.search.deepening import TimedSearch
from ..players import AgentCache
from ..shell import Busy
from . import panels
from .match import DEEP, DEEP_SECONDS
from .thinking import Budget


class TimedPlayer:
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
            speed = f"{result.nodes / max(result.seconds, 0.001) / 1000:,.0f}k positions a second"
            leader = panels.leader(result.score, self._game.to_move(state))
            words = f"{words} · depth {result.depth} · {leader} · {line} · {speed}"
        self._show(words)
