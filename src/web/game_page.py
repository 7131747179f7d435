"""What the page of every game does: choices in the address, seats, agents that move, looking back, keys."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from nicegui import events, ui

from src.core.errors import UserError, require
from src.core.play.agent import NOTHING
from src.web import shell
from src.web.drawing import Pick, numbered
from src.web.lab import Lab
from src.web.match import Match
from src.web.players import YOU, AgentCache, Player, chosen

AnyMatch = TypeVar("AnyMatch", bound=Match[Any, Any, Any])


class GamePage(Generic[AnyMatch]):
    """One tab with one match. The page of a game sets the attributes below and says how the match is shown."""

    seats: tuple[str, ...] = ()  # the choices that name the players, by seat
    match: AnyMatch
    agents: AgentCache
    rng: np.random.Generator  # of new games and of the agents
    busy: shell.Busy

    def __init__(
        self,
        lab: Lab,
        players: Mapping[str, Player] = NOTHING,
        defaults: Mapping[str, str] = NOTHING,
        query: Mapping[str, str] = NOTHING,
    ) -> None:
        """`defaults` are the choices of the page by name, and `query` is what the address asks for instead."""
        self.lab, self.players, self.setup = lab, players, dict(defaults)
        self.ply: int | None = None  # the ply looked back at; None: the present
        self.turn = object()  # replaced when the match changes: a decision that began before is dropped
        self.shortcuts: dict[str, Callable[[], Awaitable[None] | None]] = {}  # by key
        self._read_address(query)
        ui.context.client.on_delete(self.drop_decisions)

    async def show(self, moved: bool = False) -> None:
        """Show the match; `moved`: a move was just made."""
        raise NotImplementedError

    def new_match(self) -> AnyMatch:
        raise NotImplementedError

    # Choices

    def check_choice(self, name: str, value: str) -> None:
        """Raise `UserError` where a value is not offered, whether it comes from the address or from the page."""
        chosen(self.players, value)

    async def apply_choice(self, name: str) -> None:
        """Act on another choice: by default it is a player, and the match goes on."""
        self.match.persons = self.persons
        await self.changed()

    def _read_address(self, query: Mapping[str, str]) -> None:
        """Take over what is offered; what is not is shown, and its default kept."""
        for name in self.setup:
            with shell.show_errors():
                if value := query.get(name):
                    self.check_choice(name, value)
                    self.setup[name] = value

    async def choose(self, name: str, value: object) -> None:
        """Take over a choice and keep it in the address."""
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
        """What players are called in a dropdown."""
        return {key: player.title for key, player in self.players.items()}

    # Seats

    @property
    def player_keys(self) -> list[str]:
        """The keys of the players, by seat."""
        return [self.setup[name] for name in self.seats]

    @property
    def persons(self) -> frozenset[int]:
        return frozenset(seat for seat, key in enumerate(self.player_keys) if key == YOU)

    @property
    def person_moves(self) -> bool:
        return self.ply is None and self.match.waits_for_person

    @property
    def agent_moves(self) -> bool:
        return not self.match.is_over and not self.match.waits_for_person

    def require_person(self) -> None:
        """Raise `UserError` where a person may not move now."""
        require(self.ply is None, "this is an earlier position: go back to the game to move")
        require(not self.match.is_over, "the game is over: begin a new one, or take a move back")
        require(self.match.waits_for_person, f"it is the turn of {self.mover}")

    @property
    def mover(self) -> str:
        """The title of the player whose turn it is."""
        return self.players[self.player_keys[self.match.seat]].title

    def headline(self) -> str:
        """Whose move it is, or how the match ended."""
        if self.match.outcome is not None:
            return {1: "Player 1 has won", 0: "Drawn", -1: "Player 2 has won"}[self.match.outcome]
        if not self.match.waits_for_person:
            return f"{self.mover} to move"
        return "Your move" if len(self.persons) == 1 else f"Player {self.match.seat + 1} to move"

    # Looking back

    @property
    def state(self) -> Any:
        """What is looked at."""
        return self.match.at(self.now)

    @property
    def now(self) -> int:
        """How many moves lead to what is looked at."""
        return len(self.match.moves) if self.ply is None else self.ply

    async def look_at(self, ply: int) -> None:
        last = len(self.match.moves)
        ply = min(max(ply, 0), last)
        self.ply = None if ply == last else ply
        await self.show()

    async def pick_ply(self, pick: Pick) -> None:
        """Look at the position after a move of the list."""
        await self.look_at(numbered(pick.part, "ply", len(self.match.moves) + 1))

    async def look_by(self, plies: int) -> None:
        await self.look_at(self.now + plies)

    # Moves

    @property
    def delay(self) -> float:
        """Seconds between the decision of an agent and its move."""
        return 0.0

    def drop_decisions(self) -> None:
        """Ignore the decisions that agents are making now."""
        self.turn = object()

    def begin_turn(self) -> None:
        """Reset what belongs to the match as it was before a change."""
        self.drop_decisions()
        self.ply = None

    async def changed(self, moved: bool = False) -> None:
        """Show the match after a change, and let agents move."""
        self.begin_turn()
        turn = self.turn
        await self.show(moved)
        if turn is self.turn:
            await self.play_agents()

    async def play_agents(self) -> None:
        """Let agents move until a person has to, the match is over, or something else has changed it."""
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
        """What the agent to move would do, and what it tells about it."""
        mover, key, view = self.mover, self.player_keys[self.match.seat], self.match.game.view(self.match.state)
        decision = await self.busy.do(self.agents.decide, key, view, self.rng)
        if decision.action is None:
            raise UserError(f"{mover} has no move to offer here")
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
        """Act on a key; `repeated`: it is held down."""
        if name in self.shortcuts and not repeated:
            await shell.finish(self.shortcuts[name]())
