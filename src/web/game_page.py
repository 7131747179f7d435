"""The base class of game pages: choices and address, players, layout, history, moves of agents, keys."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import numpy as np
from nicegui import events, ui
from starlette.requests import Request

from ..core.errors import UserError, require
from ..core.interrupt import CancellationToken, CancelledWorkError
from ..core.play.agent import NOTHING
from ..core.play.person_rating import read_ladder
from . import shell
from .clickable import Pick, parse_id
from .event_loop import Busy
from .match import Match
from .match_panel import HistoryBar, Result, StatusBox, Work, result_for
from .players import YOU, AgentCache, Player, chosen
from .rating_line import RatingLine
from .saved_games import DAMAGED, GameStore, SavedGame
from .services import Services
from .shared_game import SharedGame

log = logging.getLogger(__name__)

FORKED = "Another tab moved at the same time. Your move began a game of its own, which this tab shows."
FILM_WIDTH, FILM_FRAMES, FILM_SECONDS = 480, 150, 0.6  # in pixels; at most about twice as many; per frame
POINTS = {"won": 1.0, "even": 0.5, "lost": 0.0}
AnyMatch = TypeVar("AnyMatch", bound=Match[Any, Any, Any])


class Visit(NamedTuple):
    """What a game page is built for: the choices in the URL, or the saved game that it names."""

    services: Services
    query: Mapping[str, str] = NOTHING
    saved: SavedGame | None = None


def read_visit(services: Services, path: str, request: Request) -> Visit:
    """Return the visit of the page at a path; can read a file, so call it off the event loop."""
    key = request.path_params.get("key")
    if key is None:
        return Visit(services, request.query_params)
    if services.games is None:
        raise UserError("Games are not kept on this server.")
    return Visit(services, request.query_params, services.games.load(path, key))


class MatchFile:
    """The file of a match, for the writes that are still waiting."""

    def __init__(self, key: str | None = None) -> None:
        self.key, self.writes = key, 0


class GamePage(Generic[AnyMatch]):
    """One browser tab with one match. Subclasses set the attributes below and implement `show`.

    A match with moves is kept on disk, and its address is in the browser. The tabs of one address follow each other.
    """

    path = ""  # of the page
    seats: tuple[str, ...] = ()  # the choices that name the players, by seat
    reply_delay, watching_delay = 0.0, 0.7  # seconds before an agent moves: after a person, and after another agent
    match: AnyMatch
    agents: AgentCache
    rng: np.random.Generator  # for new games and agents, see `agent_rng`
    busy: Busy

    def __init__(self, visit: Visit, players: Mapping[str, Player], defaults: Mapping[str, str]) -> None:
        """`defaults` are the choices of the page by name; the URL or a saved game overrides them."""
        services, query, saved = visit
        self.services, self.players, self.setup = services, players, dict(defaults)
        self.saved = saved  # the game to open first
        self.saved_key = saved.key if saved else None  # of the match on disk; None: it is not kept
        self._file = MatchFile(self.saved_key)
        self._revision = saved.revision if saved else 0
        self._saved_content: tuple[Any, ...] = ()  # what was saved last
        self._can_save = services.games is not None
        self.rating: RatingLine | None = None  # in games with levels of known strength
        self.is_rated = True  # whether the match counts once it ends: not after help, and once
        self.ply: int | None = None  # the ply shown; None: the latest
        self.token = CancellationToken()  # of the decisions in progress; replaced when the match changes
        self.shortcuts: dict[str, Work] = {"[": lambda: self.look_by(-1), "]": lambda: self.look_by(1)}
        self._dropdowns: dict[str, ui.select] = {}
        self._read_choices(saved.setup if saved else query)
        self.client = ui.context.client
        self.shared = SharedGame()  # with the other tabs of the match, once it is on disk
        self.shared.join(self)
        self.client.on_disconnect(lambda: self.shared.elect())
        self.client.on_delete(self._close)

    async def show(self, moved: bool = False) -> None:
        """Show the match; `moved`: animate the latest move."""
        raise NotImplementedError

    def new_match(self) -> AnyMatch:
        raise NotImplementedError

    # Choices

    def check_choice(self, name: str, value: str) -> None:
        """Raise `UserError` if a value from the URL or the page is not an option."""
        chosen(self.players, value)

    def _read_choices(self, given: Mapping[str, str]) -> None:
        for name in self.setup:
            with shell.show_errors():  # an invalid choice is reported and changes nothing
                if value := given.get(name):
                    self.check_choice(name, value)
                    self.setup[name] = value
                    if name in self._dropdowns:
                        self._dropdowns[name].value = value

    async def apply_choice(self, name: str) -> None:
        """Apply a changed choice; by default it is a player, and the match continues. Keep the match unless it ends."""
        self.match.human_seats = self.human_seats
        self.is_rated = self.is_rated and not self.match.moves
        await self.changed()

    async def choose(self, name: str, value: object) -> None:
        """Apply a choice and save it, in the URL or with the match."""
        if str(value) == self.setup[name]:
            return  # the dropdown shows what another tab has chosen
        self.check_choice(name, str(value))
        self.setup[name] = str(value)
        self.shared.lead(self)
        if self.saved_key is None:
            shell.set_address(self.address)
        await self.apply_choice(name)

    def dropdown(self, name: str, options: Mapping[str, str], label: str) -> ui.select:
        select = shell.dropdown(options, self.setup[name], label, lambda event: self.choose(name, event.value))
        self._dropdowns[name] = select
        return select.classes(f"choose-{name}")

    @property
    def titles(self) -> dict[str, str]:
        return {key: player.title for key, player in self.players.items()}

    # Address

    @property
    def address(self) -> str:
        """The address of a kept match, or of a new one with these choices."""
        return f"{self.path}?{urlencode(self.setup)}" if self.saved_key is None else f"{self.path}/{self.saved_key}"

    @property
    def seconds(self) -> float:
        """The clock of the match."""
        return 0.0

    def begin_saved(self, saved: SavedGame) -> None:
        """Play the moves of a saved game, which can be slow; raise `UserError` if they cannot be played."""
        before = dict(vars(self.match))
        try:
            self.match.restore(saved.start, saved.moves)
            self.restore_variations(saved.variations)
        except Exception as error:
            vars(self.match).update(before)  # a new match, which must not be saved in place of the other one
            self.saved_key, self._file, self._revision = None, MatchFile(), 0
            if isinstance(error, UserError):
                raise
            log.warning("the game %s cannot be replayed", saved.key, exc_info=True)
            raise UserError(f"{DAMAGED}.") from error
        # What happened before, such as a hint, is not known: a game that was left counts only if it had not begun.
        self._saved_content, self.is_rated = self._content(), not self.match.moves

    def restore_variations(self, variations: Sequence[Any]) -> None:
        """Load the variations of a saved game, on pages that have some; raise if they cannot be played."""

    def variations_as_json(self) -> list[Any]:
        return []

    @property
    def match_setup(self) -> dict[str, str]:
        """The choices of the match, to be saved with it."""
        return dict(self.setup)

    def _content(self) -> tuple[dict[str, str], Any, list[Any], list[Any]]:
        return self.match_setup, self.match.start, self.match.moves_as_json(), self.variations_as_json()

    def save(self) -> None:
        """Save the match after a change in another thread, as the disk may be slow, then show its address."""
        content = self._content()
        is_empty = not self.match.moves and self._revision == 0
        if not self._can_save or content == self._saved_content or is_empty or self.saved is not None:  # not loaded yet
            return
        games, file = self.services.games, self._file
        assert games is not None
        if content[1:3] != self._saved_content[1:3]:  # variations can be tried while another tab leads
            self.shared.lead(self)
        result, revision = self.result.words if self.result else "", self._revision + 1
        setup, start, moves, variations = content
        game = SavedGame(self.path, setup, start, moves, result, self.seconds, revision, variations=variations)

        def write() -> None:
            file.key = games.save(game, file.key)

        self._saved_content, self._revision, file.writes = content, revision, file.writes + 1
        written = asyncio.get_running_loop().run_in_executor(games.writer, write)
        written.add_done_callback(partial(self._after_save, games, file, game))

    def _after_save(self, games: GameStore, file: MatchFile, game: SavedGame, written: asyncio.Future[None]) -> None:
        """Show the address of the match after a write, unless the match was left meanwhile."""
        file.writes -= 1
        error = written.exception()
        if error is not None and not isinstance(error, OSError | UserError):
            raise error
        if file is not self._file:
            return
        with self.client:
            if error is not None:
                self._can_save = False
                shell.notify(f"This game is not kept from now on: {error}")
                return
            assert file.key is not None
            if file.key != self.saved_key:
                if self.saved_key is not None:
                    shell.notify(FORKED, shell.Link("Show the other game", self.address))
                self.saved_key = file.key
                self._share(games.shared.setdefault(file.key, SharedGame()))
                shell.set_address(self.address)
            self.shared.announce(game._replace(key=file.key), self)

    # Other tabs with the same game

    def _share(self, shared: SharedGame) -> None:
        """Follow the tabs of a match, and be followed by them, instead of the tabs of the previous match."""
        self.shared.leave(self)
        self.shared = shared
        shared.join(self)

    def _close(self) -> None:
        self.cancel_decisions()
        self.shared.leave(self)
        self._file = MatchFile()  # nothing is shown after a write that is still waiting

    @property
    def leads(self) -> bool:
        """Whether this tab lets agents move."""
        return self.shared.leader is self

    def give_way(self) -> None:
        """Stop the agents, because another tab lets them move."""
        self.cancel_decisions()

    async def take_over(self) -> None:
        """Let agents move, which another tab has done so far."""
        self.cancel_decisions()
        await self.play_agents()

    async def follow(self, game: SavedGame) -> None:
        """Show what another tab has made of the match, unless a move made here is being saved: it begins a fork."""
        if game.key != self.saved_key or self._file.writes or game.revision <= self._revision:
            return
        before, ply = len(self.match.moves), self.ply
        self.begin_turn()
        self.adopt(game)
        self._revision, self._saved_content = game.revision, self._content()
        last = len(self.match.moves)
        self.is_rated = False  # the other tab may have had a hint
        self.ply = ply if ply is not None and ply < last else None  # an earlier position stays
        await self.show(moved=self.ply is None and last == before + 1)
        if self.leads:
            await self.play_agents()

    def adopt(self, game: SavedGame) -> None:
        """Load the choices, moves and variations of another tab."""
        self._read_choices(game.setup)
        self.match.follow(game.start, game.moves)
        if self.seats:
            self.match.human_seats = self.human_seats
        self.restore_variations(game.variations)

    def leave(self) -> None:
        """Leave the match for a new one: the browser goes back to its address, if it has one."""
        self._can_save = self.services.games is not None
        self._saved_content, self._file, self._revision, self.is_rated = (), MatchFile(), 0, True
        self._share(SharedGame())
        if self.saved_key is not None:
            old, self.saved_key = self.address, None
            shell.set_address(self.address, push=True)
            if not self.match.is_over:
                shell.notify("A new game.", shell.Link("Return to the other one", old))

    # Seats

    @property
    def player_keys(self) -> list[str]:
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
        return self.players[self.player_keys[self.match.seat]].title

    @property
    def result(self) -> Result | None:
        if self.match.is_aborted:
            return Result("Nobody wins", "even", "The game was aborted.")
        if self.match.outcome is None:
            return None
        return result_for(self.match.outcome, frozenset(self.match.human_seats), self.result_detail())

    def result_detail(self) -> str:
        moves = len(self.match.moves)
        return "after one move" if moves == 1 else f"after {moves} moves"

    def headline(self) -> str:
        """Return whose turn it is, the result, or which earlier position is shown."""
        if self.ply is not None:
            return f"Position after move {self.ply} of {len(self.match.moves)}"
        if self.result is not None:
            return self.result.words
        if not self.match.waits_for_human:
            return f"{self.mover} to move"
        return "Your move" if len(self.human_seats) == 1 else f"Player {self.match.seat + 1} to move"

    # Layout

    def add_layout(self) -> None:
        """Add the places of the page: the board fits the window, status and actions stay in view, details scroll."""
        with ui.element("div").classes("bench") as self.bench:
            self.status = StatusBox()
            with ui.element("div").classes("stage"):
                self.stage = ui.element("div").classes("board")
            self.actions, self.details = (ui.element("div").classes(f"panel {name}") for name in ("actions", "details"))
        self.busy = self.status.busy

    def show_match_panel(self, note: str = "", shows_end: bool = True) -> None:
        self.status.show(self.headline(), note, self.result if self.ply is None and shows_end else None)
        self.history.show(self.now, len(self.match.moves), self.match.is_over)
        if self.result is not None and self.ply is None and shows_end:
            self._count(self.result)

    def _count(self, result: Result) -> None:
        """Count the match for the rating of its person, if it was played alone against a level of the ladder."""
        is_rated, self.is_rated = self.is_rated and self.leads and not self.match.is_aborted, False
        if is_rated and self.rating is not None and len(self.human_seats) == 1:
            (opponent,) = (key for key in self.player_keys if key != YOU)
            if opponent in self.rating.ladder:
                self.rating.add(opponent, POINTS[result.tone])

    def add_match_actions(self) -> None:
        """Add the buttons for a new game, for taking a move back, and for steps through the moves."""
        self.shortcuts |= {"u": self.take_back, "n": self.new_game}
        with self.actions:
            with ui.row().classes("gap-2 items-center"):
                ui.button("New game", icon="replay", on_click=self.new_game).classes("new-game")
                ui.button("Take back", icon="undo", on_click=self.take_back).props("outline").classes("undo")
                self.add_share_button()
            self.history = HistoryBar(self.look_at, self.look_by, self.review)
            ladder = {level: elo for level, elo in read_ladder(self.match.game).items() if level in self.players}
            if ladder and len(self.seats) == 2:
                self.rating = RatingLine(self.path, ladder, self._address_against)

    def _address_against(self, level: str) -> str:
        return f"{self.path}?{urlencode(dict(zip(self.seats, (YOU, level), strict=True)))}"

    # To take elsewhere

    def add_share_button(self) -> None:
        with ui.button(icon="share").props('flat round aria-label="share"').classes("share"), ui.menu():
            ui.menu_item("Copy the link").on("click", js_handler="() => copyText(location.href)")
            ui.menu_item("Save the position as a picture", lambda: self._download("png", self._picture))
            ui.menu_item("Save the game as a film", lambda: self._download("gif", self._film))

    async def _download(self, kind: str, draw: Callable[[], bytes]) -> None:
        ui.download.content(await self.busy.do(draw), f"{self.path[1:].replace('/', '-')}.{kind}")

    def _picture(self) -> bytes:
        """Return the position shown as a PNG file; slow, as is `_film`."""
        return shell.as_png(self.match.game.image(next(islice(self.match.states(), self.now, None))))

    def _film(self) -> bytes:
        """Return the game as a GIF file, of a long game only every few positions."""
        from ..core.play.canvas import Animation

        film, last = Animation(FILM_WIDTH), len(self.match.moves)
        for number, state in enumerate(self.match.states()):
            if number % (last // FILM_FRAMES + 1) == 0 or number == last:
                film.add(self.match.game.image(state), FILM_SECONDS)
        film.hold(5 * FILM_SECONDS)
        return film.encode()

    # History

    @property
    def state(self) -> Any:
        return self.match.at(self.now)

    @property
    def now(self) -> int:
        """The number of moves before the state shown."""
        return len(self.match.moves) if self.ply is None else self.ply

    async def review(self) -> None:
        """Show the start of the match, to step through it."""
        await self.look_at(0)

    async def look_at(self, ply: int) -> None:
        last = len(self.match.moves)
        ply = min(max(ply, 0), last)
        self.ply = None if ply == last else ply
        await self.show()

    async def pick_ply(self, pick: Pick) -> None:
        """Show the position after a move of the list."""
        await self.look_at(parse_id(pick.part, "ply", len(self.match.moves) + 1))

    async def look_by(self, plies: int) -> None:
        await self.look_at(self.now + plies)

    # Moves

    def cancel_decisions(self) -> None:
        """Cancel the decisions in progress; one that cannot be stopped is ignored."""
        self.token.cancel()
        self.token = CancellationToken()

    def begin_turn(self) -> None:
        """Reset what belongs to the previous position."""
        self.cancel_decisions()
        self.ply = None
        self.status.message.clear_refusal()

    async def changed(self, moved: bool = False) -> None:
        """Show the match after a change, then let agents move."""
        self.begin_turn()
        self.save()
        token = self.token
        await self.show(moved)
        if token is self.token:
            await self.play_agents()

    async def play_agents(self) -> None:
        """Let agents move until it is a person's turn, the match is over, or it was changed."""
        token = self.token
        while token is self.token and self.agent_moves and self.leads:
            try:
                action, note = await self.decide()
            except asyncio.CancelledError:
                if token is self.token:
                    raise
                return  # it is not needed any more
            await asyncio.sleep(self.reply_delay if self.human_seats else self.watching_delay)
            if token is not self.token:
                return
            self.match.play(action, note)
            self.begin_turn()
            self.save()
            shell.sound("move")
            token = self.token
            await self.show(moved=True)

    async def decide(self) -> tuple[int, Mapping[str, Any]]:
        """Return the action of the agent to move, and its info; raise `CancelledError` if it is not needed any more."""
        mover, key, view = self.mover, self.player_keys[self.match.seat], self.match.game.view(self.match.state)
        token = self.token
        try:
            needed = lambda: token is self.token  # noqa: E731
            decision = await self.busy.search(needed, token.run, self.agents.decide, key, view, self.agent_rng())
        except CancelledWorkError:
            raise asyncio.CancelledError from None
        if decision.action is None:
            raise UserError(f"{mover} chose no move in this position")
        return decision.action, decision.info

    def agent_rng(self) -> np.random.Generator:
        return self.rng

    async def play(self, action: int) -> None:
        self.match.play(action)
        await self.changed(moved=True)

    async def open(self) -> None:
        """Show the saved game, or a new one, and let agents move."""
        await self.load_saved()
        await self.changed()

    async def load_saved(self) -> None:
        """Load the saved game, if the page has one that is not loaded yet."""
        saved = self.saved
        if saved is not None:
            try:
                await self.busy.do(self.begin_saved, saved)
            finally:
                self.saved = None
            if self.services.games is not None:
                self._share(self.services.games.shared.setdefault(saved.key, SharedGame()))

    async def new_game(self) -> None:
        self.leave()
        self.match = self.new_match()
        await self.changed()

    async def take_back(self) -> None:
        self.match.take_back()
        self.is_rated = False
        await self.changed()

    # Keys

    async def key(self, event: events.KeyEventArguments) -> None:
        if (name := shell.key_name(event)) is not None:
            await self.press(name, event.action.repeat)

    async def press(self, name: str, repeated: bool = False) -> None:
        """Handle a key; `repeated`: it is held down."""
        if name in self.shortcuts and not repeated:
            await shell.maybe_await(self.shortcuts[name]())
