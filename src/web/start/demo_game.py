"""A board that plays itself."""

import asyncio

import numpy as np
from nicegui import ui

from ...core.play.agent import Agent
from ...envs.quoridor.game import Quoridor
from ..quoridor import board
from ..quoridor.match import QuoridorMatch
from ..services import Services

PAUSE = 4  # moves that a finished game stays
AGENTS = ("runner", "random")


class DemoGame:
    """Two quick agents that play Quoridor again and again."""

    def __init__(self, services: Services, board: ui.html) -> None:
        self._services, self._board, self._rng = services, board, np.random.default_rng()
        self._match: QuoridorMatch | None = None  # set up by the first move, which can be slow
        self._agents: list[Agent] = []
        self._paused = 0

    async def move(self) -> None:
        """Play a move, or begin again some moves after the end."""
        match = self._match
        if match is None:
            self._match = match = await asyncio.to_thread(self._set_up)
        elif not match.is_over:
            await asyncio.to_thread(self._play, match)
        elif self._paused < PAUSE:
            self._paused += 1
            return
        else:
            match.begin(lambda: match.game.initial(np.random.default_rng(0)), ())
            self._paused = 0
        last = match.names()[-1] if match.moves else None
        before = match.at(len(match.moves) - 1) if match.moves else None
        origin = before.pawns[match.game.to_move(before)] if before else None
        marks = board.Marks(last=last, origin=origin)
        self._board.set_content(board.draw(match.game.size, match.state, marks))

    def _set_up(self) -> QuoridorMatch:
        game = self._services.game("quoridor")
        assert isinstance(game, Quoridor)
        self._agents = [self._services.agent(name, game) for name in AGENTS]
        return QuoridorMatch(game, game.initial(self._rng))

    def _play(self, match: QuoridorMatch) -> None:
        action = self._agents[match.seat].decide(match.game, match.game.view(match.state), self._rng).action
        assert action is not None
        match.play(action)
