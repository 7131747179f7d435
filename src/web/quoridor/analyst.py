"""The agent that evaluates positions, gives hints and judges moves, all of which can be cancelled."""

from collections.abc import Sequence

import numpy as np

from ...core.interrupt import CancellationToken, CancelledWorkError
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.rules import Position
from ..players import AgentCache
from ..shell import Busy
from . import panels
from .review import Judgement, judge
from .thinking import SearchingAgent

LEVEL = "hell"  # the key of its player
HINTS = 5

Hint = tuple[str, Sequence[str]]  # the score of a move, and the names of its line


class Analyst:
    """Searches for one evaluation and one hint at a time."""

    def __init__(self, game: Quoridor, agents: AgentCache, busy: Busy, rng: np.random.Generator) -> None:
        self._game, self._agents, self._busy, self._rng = game, agents, busy, rng
        self._evaluating = CancellationToken()
        self._hinting: CancellationToken | None = None

    async def evaluate(self, position: Position) -> panels.Evaluation | None:
        """Return the evaluation of a position, or None if another one is asked for meanwhile."""
        self.cancel_evaluation()
        token = self._evaluating = CancellationToken()
        outcome = self._game.outcome(position)
        if outcome is not None:
            return panels.from_outcome(outcome)
        try:
            decision = await self._busy.do(token.run, self._agents.decide, LEVEL, position, self._rng)
        except CancelledWorkError:
            return None
        return panels.from_search(decision.info, self._game.to_move(position))

    def cancel_evaluation(self) -> None:
        self._evaluating.cancel()

    @property
    def is_hinting(self) -> bool:
        return self._hinting is not None

    async def hint(self, position: Position) -> list[Hint] | None:
        """Return the best moves, or None if the hint is cancelled meanwhile."""
        token = self._hinting = CancellationToken()
        try:
            agent = self._agents.agent(LEVEL)
            lines = await self._busy.do(token.run, agent.analyse, self._game, position, HINTS)
        except CancelledWorkError:
            return None
        finally:
            is_current = token is self._hinting
            if is_current:
                self._hinting = None
        return [(one.score, self._game.line_names(position, one.actions)) for one in lines] if is_current else None

    def cancel_hint(self) -> None:
        if self._hinting is not None:
            self._hinting.cancel()
            self._hinting = None

    def judge(self, state: Position, action: int) -> Judgement:
        """Compare a move with the best one; slow, so reviews call it in a thread."""
        agent = self._agents.agent(LEVEL)
        assert isinstance(agent, SearchingAgent)
        return judge(self._game, self._game.searcher(agent.evaluation), state, action)
