"""The course of a match on the page: moves of people and agents, variations, and time."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...core.errors import UserError, require
from ...envs.quoridor.game import Quoridor
from ..clickable import Pick, parse_id
from ..game_page import GamePage, Visit
from ..match_panel import Result, result_for
from ..players import AgentCache, Player
from . import PAGE
from .clock import ClockPanel, read_clock, write_clock
from .match import (
    DEEP,
    DEFAULTS,
    SEATS,
    QuoridorMatch,
    Variations,
    first_difference,
    read_variations,
    run_game,
    why_not,
)
from .panels import ThinkingRow
from .review import ReviewPanel
from .searches import TimedPlayer

LONG = 1.0  # seconds before an agent is said to think
REPLY = 0.35  # seconds before an agent replies to a person


class QuoridorMatchPage(GamePage[QuoridorMatch]):
    """Subclasses set the attributes below and implement `show`."""

    path, seats = PAGE.path, SEATS
    time: ClockPanel
    timed_player: TimedPlayer
    thinking: ThinkingRow
    review_panel: ReviewPanel
    watching_delay = 0.5  # seconds per move of two agents

    def __init__(self, visit: Visit, game: Quoridor, players: Mapping[str, Player]) -> None:
        super().__init__(visit, players, DEFAULTS)
        self.game, self.rng = game, self.services.rng()
        self.agents = AgentCache(self.services, game, players, partial(run_game, self.services, game))
        self.match = self.new_match()
        self.main: QuoridorMatch | None = None  # the game, while a variation of it is the match
        self.variations = Variations()
        self.ready = asyncio.Event()  # set once the compiled engine and the saved game are loaded
        self.paused = False

    def new_match(self) -> QuoridorMatch:
        return QuoridorMatch(self.game, self.game.initial(self.rng), self.human_seats)

    @property
    def watching(self) -> bool:
        return not self.human_seats

    # Moves

    @property
    def agent_to_move(self) -> bool:
        return super().agent_moves and self.time.loser is None

    @property
    def agent_moves(self) -> bool:
        return self.agent_to_move and not self.paused

    @property
    def human_to_move(self) -> bool:
        return super().human_to_move and (self.time.loser is None or self.main is not None)

    @property
    def can_play(self) -> bool:
        """Whether a move can be made in the position shown: in the game, or as a variation of it."""
        return self.human_to_move or (self.ply is not None and self.game.outcome(self.state) is None)

    @property
    def delay(self) -> float:
        return self.watching_delay if self.watching else REPLY

    def begin_turn(self) -> None:
        super().begin_turn()
        if self.main is None:
            self.variations.forget_played(self.match.moves)
        self.time.run(self._clock_seat)

    async def decide(self) -> tuple[int, Mapping[str, Any]]:
        token, row = self.token, self.thinking
        row.hide()
        note = asyncio.get_running_loop().call_later(LONG, row.show, f"{self.mover} thinks")
        try:
            if self.player_keys[self.match.seat] != DEEP:
                return await super().decide()
            note.cancel()  # it reports what it is doing
            return await self.timed_player.decide(self.busy, token, self.match.state), {}
        finally:
            note.cancel()
            if token is self.token:
                row.hide()

    async def cancel_move(self) -> None:
        """Stop the search of the agent to move, which waits until it is continued."""
        if self.agent_to_move:  # else it has moved before the click arrived
            self.paused = True
            await self.changed()

    async def pause(self) -> None:
        """Pause an agent, and stop its search, or let it continue."""
        require(self.watching or self.agent_to_move, "there is no agent to pause: it is your turn")
        self.paused = not self.paused
        await self.changed()

    async def step(self) -> None:
        """Pause, and play one ply of two agents."""
        await self.ready.wait()
        require(self.watching, "step needs two agents: choose an agent for both players")
        require(not self.match.is_over, "the game is over")
        self.paused = True
        self.cancel_decisions()
        token, (action, _) = self.token, await self.decide()
        if token is self.token:
            await self.play(action)

    def _require_time(self) -> None:
        require(self.time.loser is None or self.main is not None, "the time is over: start a new game")

    def require_human_turn(self) -> None:
        self._require_time()
        super().require_human_turn()

    def read_move(self, name: str) -> int:
        """Parse a move in the position shown; raise `UserError` if it is illegal or not a person's turn."""
        if self.ply is None:
            self.require_human_turn()
        if (reason := why_not(self.game, self.state, name)) is not None:
            raise UserError(reason)
        return self.game.parse_move(self.state, name)

    async def take_back(self) -> None:
        await self.ready.wait()
        self._require_time()
        moves = list(self.match.moves)
        self.match.take_back()
        if self.main is not None and self.match.moves == self.main.moves[: len(self.match.moves)]:
            self.variations.remove(moves)
            await self.leave_variation()
        else:
            await self._changed_by_user()

    async def load(self, text: str) -> None:
        await self.ready.wait()
        self.new_match().read(text)  # refuses a text that cannot be read before the present game is left
        self._forget()
        self.leave()
        self.match.read(text)
        await self._changed_by_user()

    async def new_game(self) -> None:
        await self.ready.wait()
        self._forget()
        await super().new_game()

    def _forget(self) -> None:
        """Forget what belongs to the present game."""
        self.match, self.main, self.variations = self.main or self.match, None, Variations()
        self.paused = self.paused and self.watching
        self.review_panel.reset()
        self.setup["clock"] = write_clock(self.setup["clock"], None, 0)
        self.time.begin(self.setup["clock"])

    async def _changed_by_user(self) -> None:
        """Show a change by the user; a match of two agents is paused."""
        self.paused = self.watching
        await self.changed()

    # Variations

    async def enter_variation(self, moves: list[int]) -> None:
        """Show a variation, which is a match of its own; the game waits."""
        self.main = self.main or self.match
        self.match = self.main.with_moves(moves)
        await self.changed(moved=True)

    def save(self) -> None:
        """Save the game with its variations, of which the match may be one."""
        self.setup["clock"] = self.time.write(self.setup["clock"])
        shown, main = self.match, self.main
        if main is None:
            super().save()
            return
        self.variations.add(shown.moves)
        self.match, self.main = main, None
        try:
            super().save()
        finally:
            self.match, self.main = shown, main

    def variations_as_json(self) -> list[Any]:
        return self.variations.as_json()

    def restore_variations(self, variations: Sequence[Any]) -> None:
        self.variations = read_variations(self.match, variations)

    async def pick_variation(self, pick: Pick) -> None:
        await self.enter_variation(list(self.variations[parse_id(pick.part, "variation", len(self.variations))]))

    async def leave_variation(self) -> None:
        """Return to the game, to the position from which the variation begins."""
        if self.main is None:
            return
        ply = first_difference(self.main.moves, self.match.moves)
        self.match, self.main = self.main, None
        self.begin_turn()
        self.save()
        if self.agent_moves:
            await self.changed()
        else:
            await self.look_at(ply)

    # Time

    def check_choice(self, name: str, value: str) -> None:
        if name == "clock":
            read_clock(value)
        else:
            super().check_choice(name, value)

    async def apply_choice(self, name: str) -> None:
        if name == "clock":
            self.time.begin(self.setup["clock"])
            await self.changed()
        else:
            self.match, self.main = self.main or self.match, None
            self.paused = self.paused and self.watching
            await super().apply_choice(name)

    @property
    def _clock_seat(self) -> int | None:
        """The seat whose time runs: from the first move on, but not while a person waits for the page."""
        game = self.main or self.match
        if not game.moves or game.is_over or self.time.loser is not None or self.paused:
            return None
        return None if self.busy.working and game.seat in game.human_seats else game.seat

    async def tick(self) -> None:
        """Run the clock; the player whose time is over loses."""
        game = self.main or self.match
        if self.ready.is_set() and self.time.tick(self._clock_seat, game.is_over):
            self.match, self.main = game, None
            await self.changed()

    @property
    def result(self) -> Result | None:
        if self.time.loser is None or self.main is not None:
            return super().result
        outcome = -1 if self.time.loser == 0 else 1
        return result_for(outcome, frozenset(self.match.human_seats), "on time")
