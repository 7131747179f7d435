"""The base class of game pages: choices in the URL, seats, agent moves, history, keys."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from nicegui import events, ui

from ..core.errors import UserError, require
from ..core.play.agent import NOTHING
from . import shell
from .drawing import Pick, numbered
from .lab import Lab
from .match import Match
from .players import YOU, AgentCache, Player, chosen

AnyMatch = TypeVar("AnyMatch", bound=Match[Any, Any, Any])


class GamePage(Generic[AnyMatch]):
    """One browser tab with one match. Subclasses set the attributes below and implement `show`."""

    seats: tuple[str, ...] = ()  # the choices that name the players, by seat
    match: AnyMatch
    agents: AgentCache
    rng: np.random.Generator  # for new games and agents
    busy: shell.Busy

    def __init__(
        self,
        lab: Lab,
        players: Mapping[str, Player] = NOTHING,
        defaults: Mapping[str, str] = NOTHING,
        query: Mapping[str, str] = NOTHING,
    ) -> None:
        """`defaults` are the choices of the page by name; `query` overrides them from the URL."""
        self.lab, self.players, self.setup = lab, players, dict(defaults)
        self.ply: int | None = None  # the ply shown; None: the latest
        self.turn = object()  # replaced when the match changes, to drop decisions in progress
        self.shortcuts: dict[str, Callable[[], Awaitable[None] | None]] = {}  # by key
        self._read_address(query)
        ui.context.client.on_delete(self.drop_decisions)

    async def show(self, moved: bool = False) -> None:
        """Show the match; `moved`: animate the latest move."""
        raise NotImplementedError

    def new_match(self) -> AnyMatch:
        raise NotImplementedError

    # Choices

    def check_choice(self, name: str, value: str) -> None:
        """Raise `UserError` if a value from the URL or the page is not an option."""
        chosen(self.players, value)

    async def apply_choice(self, name: str) -> None:
        """Apply a changed choice; by default it is a player, and the match continues."""
        self.match.human_seats = self.human_seats
        await self.changed()

    def _read_address(self, query: Mapping[str, str]) -> None:
        """Apply valid choices; report invalid ones and keep their defaults."""
        for name in self.setup:
            with shell.show_errors():
                if value := query.get(name):
                    self.check_choice(name, value)
                    self.setup[name] = value

    async def choose(self, name: str, value: object) -> None:
        """Apply a choice and save it in the URL."""
        with shell.show_errors():
            self.check_choice(name, str(value))
            self.setup[name] = str(value)
            shell.set_address(self.setup)
            await self.apply_choice(name)

    def dropdown(self, name: str, options: Mapping[str, str], label: str) -> ui.select:
        select = shell.dropdown(options, self.setup[name], label, lambda event: self.choose(name, event.value))
        return select.classes(f"choose-{name}")

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the players by key."""
        return {key: player.title for key, player in self.players.items()}

    # Seats

    @property
    def player_keys(self) -> list[str]:
        """The keys of the players, by seat."""
        return [self.setup[name] for name in self.seats]

    @property
    def human_seats(self) -> frozenset[int]:
        return frozenset(seat for seat, key in enumerate(self.player_keys) if key == YOU)

    @property
    def human_to_move(self) -> bool:
        return self.ply is None and self.match.waits_for_human

    @property
    def agent_moves(self) -> bool:
        return not self.match.is_over and not self.match.waits_for_human

    def require_human_turn(self) -> None:
        """Raise `UserError` unless it is the turn of a human player."""
        require(self.ply is None, "this is an earlier position: return to the latest one to move")
        require(not self.match.is_over, "the game is over: start a new one, or take a move back")
        require(self.match.waits_for_human, f"it is the turn of {self.mover}")

    @property
    def mover(self) -> str:
        """The title of the player whose turn it is."""
        return self.players[self.player_keys[self.match.seat]].title

    def headline(self) -> str:
        """Return whose turn it is, or the result."""
        if self.match.is_aborted:
            return "The game was aborted: nobody wins"
        if self.match.outcome is not None:
            return {1: "Player 1 wins", 0: "A draw", -1: "Player 2 wins"}[self.match.outcome]
        if not self.match.waits_for_human:
            return f"{self.mover} to move"
        return "Your move" if len(self.human_seats) == 1 else f"Player {self.match.seat + 1} to move"

    # History

    @property
    def state(self) -> Any:
        """The state shown."""
        return self.match.at(self.now)

    @property
    def now(self) -> int:
        """The number of moves before the state shown."""
        return len(self.match.moves) if self.ply is None else self.ply

    async def look_at(self, ply: int) -> None:
        last = len(self.match.moves)
        ply = min(max(ply, 0), last)
        self.ply = None if ply == last else ply
        await self.show()

    async def pick_ply(self, pick: Pick) -> None:
        """Show the position after a move of the list."""
        await self.look_at(numbered(pick.part, "ply", len(self.match.moves) + 1))

    async def look_by(self, plies: int) -> None:
        await self.look_at(self.now + plies)

    # Moves

    @property
    def delay(self) -> float:
        """Seconds between the decision of an agent and its move."""
        return 0.0

    def drop_decisions(self) -> None:
        """Ignore the decisions in progress."""
        self.turn = object()

    def begin_turn(self) -> None:
        """Reset what belongs to the previous position."""
        self.drop_decisions()
        self.ply = None

    async def changed(self, moved: bool = False) -> None:
        """Show the match after a change, then let agents move."""
        self.begin_turn()
        turn = self.turn
        await self.show(moved)
        if turn is self.turn:
            await self.play_agents()

    async def play_agents(self) -> None:
        """Let agents move until it is a person's turn, the match is over, or it was changed."""
        turn = self.turn
        while turn is self.turn and self.agent_moves:
            action, note = await self.decide()
            await asyncio.sleep(self.delay)
            if turn is not self.turn:
                return
            self.match.play(action, note)
            self.begin_turn()
            turn = self.turn
            await self.show(moved=True)

    async def decide(self) -> tuple[int, Mapping[str, Any]]:
        """Return the action of the agent to move, and its info."""
        mover, key, view = self.mover, self.player_keys[self.match.seat], self.match.game.view(self.match.state)
        decision = await self.busy.do(self.agents.decide, key, view, self.rng)
        if decision.action is None:
            raise UserError(f"{mover} chose no move in this position")
        return decision.action, decision.info

    async def play(self, action: int) -> None:
        self.match.play(action)
        await self.changed(moved=True)

    async def new_game(self) -> None:
        self.match = self.new_match()
        await self.changed()

    async def take_back(self) -> None:
        self.match.take_back()
        await self.changed()

    # Keys

    async def key(self, event: events.KeyEventArguments) -> None:
        name = shell.pressed(event)
        if name is not None:
            with shell.show_errors():
                await self.press(name, event.action.repeat)

    async def press(self, name: str, repeated: bool = False) -> None:
        """Handle a key; `repeated`: it is held down."""
        if name in self.shortcuts and not repeated:
            await shell.finish(self.shortcuts[name]())
