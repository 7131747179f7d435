"""One visitor's board: what is clicked or typed becomes a move of the engine, and what the engine says is shown."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui import events, ui
from starlette.requests import Request

from src.core.errors import LabError, require
from src.envs.quoridor.notation import Position
from src.envs.quoridor.rules import Quoridor
from src.web import shell
from src.web.drawing import RIGHT, Pick, numbered
from src.web.lab import Lab, finished_runs
from src.web.players import YOU, Player, chosen
from src.web.quoridor import panels
from src.web.quoridor.layout import Layout
from src.web.quoridor.match import DEFAULT, SEATS, Company, Match, players, toward
from src.web.quoridor.picture import Marks, Mode, draw
from src.web.quoridor.style import CSS

ANALYST = "hell"  # who judges positions and gives hints
HINTS = 5
REPLY = 0.35  # seconds before an agent answers a person, so that the eye can follow
ARROWS = {"ArrowUp": (0, 1), "ArrowDown": (0, -1), "ArrowRight": (1, 0), "ArrowLeft": (-1, 0)}


async def build(lab: Lab, request: Request) -> None:
    ui.add_css(CSS)
    game, people = await asyncio.to_thread(_set_up, lab)
    seated = list(DEFAULT)
    for seat, name in enumerate(SEATS):
        with shell.refusals_told():
            if key := request.query_params.get(name):
                chosen(people, key)
                seated[seat] = key
    Screen(lab, game, people, seated)


def _set_up(lab: Lab) -> tuple[Quoridor, dict[str, Player]]:
    game = lab.game("quoridor")
    assert isinstance(game, Quoridor)
    return game, players([run for run in finished_runs(lab.folders) if run.env == "quoridor"])


class Screen:
    """`seated` are keys of `people`, by seat."""

    def __init__(self, lab: Lab, game: Quoridor, people: Mapping[str, Player], seated: Sequence[str]) -> None:
        self.game, self.people, self.seated, self.rng = game, people, list(seated), lab.rng()
        self.company = Company(lab, game, people)
        self.match = Match(game, game.initial(self.rng))
        self.awake = asyncio.Event()  # the compiled engine is loaded
        self.turn = object()  # replaced whenever the game changes; a thought that began before is then dropped
        self.shown: int | None = None  # the ply looked back at
        self.mode, self.flipped, self.paused = Mode.BOTH, False, False
        self.armed: str | None = None  # a wall that one more click places
        self.hints: tuple[str, ...] = ()
        self.verdict = panels.Verdict(0.5, "", {})
        self.page = Layout(self)
        self.redraw()
        ui.context.client.on_delete(self.leave)
        ui.timer(0, self.wake, once=True)

    def leave(self) -> None:
        """The tab is gone: whatever is being thought about is not wanted any more."""
        self.turn = object()

    async def wake(self) -> None:
        """Load the engine off the event loop: its first move may have to be compiled, which takes a minute."""
        with shell.refusals_told():
            await self.page.busy.do(self._warm_up)
            self.awake.set()
            await self.changed()

    def _warm_up(self) -> None:
        state = self.match.states[0]
        self.game.play(state, self.game.legal_actions(state)[0])
        self.game.shortest_path(state, 0)
        self.company.agent(ANALYST).analyse(self.game, state, 1)

    # What is looked at

    @property
    def position(self) -> Position:
        """The position on the screen, which may be an earlier one."""
        return self.match.state if self.shown is None else self.match.states[self.shown]

    @property
    def turned(self) -> bool:
        """A person has its own side below."""
        return (self.seated[0] != YOU and self.seated[1] == YOU) != self.flipped

    @property
    def watching(self) -> bool:
        return YOU not in self.seated

    def may_move(self) -> bool:
        over = self.match.outcome is not None
        return self.shown is None and not over and self.seated[self.match.mover] == YOU

    def marks(self, moved: bool) -> Marks:
        """What goes with the position; of the rules it takes what the engine tells."""
        if not self.awake.is_set():
            return Marks(turned=self.turned)
        ply = len(self.match.actions) if self.shown is None else self.shown
        before = self.match.states[ply - 1] if ply else None
        legal = self.game.legal_actions(self.position) if self.may_move() else []
        paths = self.game.shortest_path(self.position, 0), self.game.shortest_path(self.position, 1)
        return Marks(
            turned=self.turned,
            mode=self.mode,
            open=self.may_move(),
            legal=frozenset(self.game.move_name(self.position, action) for action in legal),
            armed=self.armed,
            hints=self.hints,
            paths=paths if self.page.with_paths.value else None,
            last=self.game.move_name(before, self.match.actions[ply - 1]) if before else None,
            origin=before.pawns[self.game.to_move(before)] if before and moved else None,
        )

    def redraw(self, moved: bool = False) -> None:
        self.page.board.draw(draw(self.game.size, self.position, self.marks(moved)))
        self.page.show(self)

    # What happens

    async def changed(self, moved: bool = False) -> None:
        """The game is another than before: show it, judge it, and let agents move who have to."""
        self._show_change(moved)
        await self.judge()
        await self.drive()

    def _show_change(self, moved: bool) -> None:
        self.turn, self.hints, self.armed, self.shown = object(), (), None, None
        self.redraw(moved)

    async def judge(self) -> None:
        position, outcome = self.position, self.game.outcome(self.position)
        if outcome is not None:
            verdict = panels.ended(outcome)
        else:
            why = (await self.page.busy.do(lambda: self.company.decide(ANALYST, position, self.rng))).why
            verdict = panels.judged(why, self.game.to_move(position))
        if position == self.position:
            self.verdict = verdict
            self.page.show(self)

    async def drive(self) -> None:
        """Let agents move until a person has to, the game is over, or something else has changed it."""
        turn = self.turn
        while turn is self.turn and self.agent_moves() and not (self.watching and self.paused):
            action = await self.decision()
            await asyncio.sleep(self.page.delay if self.watching else REPLY)
            if turn is not self.turn:
                return
            self.match.play(action)
            self._show_change(moved=True)
            turn = self.turn
            await self.judge()

    def agent_moves(self) -> bool:
        return self.match.outcome is None and self.seated[self.match.mover] != YOU

    async def decision(self) -> int:
        player, state = self.seated[self.match.mover], self.match.state
        decision = await self.page.busy.do(lambda: self.company.decide(player, state, self.rng))
        if decision.action is None:
            raise LabError(f"{self.people[player].title} has no move to offer here")
        return decision.action

    async def play(self, action: int) -> None:
        self.match.play(action)
        await self.changed(moved=True)

    def read_move(self, name: str) -> int:
        """A move of a person; the engine says whether it is one."""
        require(self.shown is None, "this is an earlier position: go back to the game to move")
        require(self.match.outcome is None, "the game is over: begin a new one, or take a move back")
        require(self.may_move(), f"it is the turn of {self.people[self.seated[self.match.mover]].title}")
        return self.game.parse_move(self.match.state, name)

    async def play_named(self, name: str) -> None:
        await self.awake.wait()
        action, self.mode = self.read_move(name), Mode.BOTH
        await self.play(action)

    # What a visitor does

    async def pick(self, pick: Pick) -> None:
        """A wall that is placed by the switch is shown first and placed by a second click."""
        await self.awake.wait()
        if pick.button == RIGHT:
            self.switch_to(Mode.VERTICAL if self.mode == Mode.HORIZONTAL else Mode.HORIZONTAL)
        elif self.mode != Mode.BOTH and pick.part != self.armed:
            self.read_move(pick.part)
            self.armed = pick.part
            self.redraw()
        else:
            await self.play_named(pick.part)

    async def pick_hint(self, pick: Pick) -> None:
        await self.play_named(pick.part)

    async def pick_ply(self, pick: Pick) -> None:
        await self.look_at(numbered(pick.part, "ply", len(self.match.states)))

    def switch_to(self, mode: Mode) -> None:
        self.mode, self.armed = mode, None
        self.redraw()

    async def look_at(self, ply: int) -> None:
        """An earlier position, which cannot be played on; two agents wait meanwhile."""
        last = len(self.match.states) - 1
        ply = min(max(ply, 0), last)
        self.shown, self.hints = None if ply == last else ply, ()
        if self.watching and self.shown is not None:
            self.paused, self.turn = True, object()
        self.redraw()
        await self.judge()

    async def step_back(self, plies: int) -> None:
        shown = len(self.match.actions) if self.shown is None else self.shown
        await self.look_at(shown - plies)

    async def new_game(self) -> None:
        self.match.begin(self.game.initial(self.rng), ())
        await self.changed()

    async def undo(self) -> None:
        await self.awake.wait()
        self.match.take_back(self.seated)
        self.paused = self.paused or self.watching
        await self.changed()

    async def hint(self) -> None:
        await self.awake.wait()
        require(self.game.outcome(self.position) is None, "the game is over")
        turn, position = self.turn, self.position
        lines = await self.page.busy.do(lambda: self.company.agent(ANALYST).analyse(self.game, position, HINTS))
        if turn is self.turn and position == self.position:
            named = [(line.score, self.game.line_names(position, line.actions)) for line in lines]
            self.hints = tuple(names[0] for _, names in named)
            self.redraw()
            self.page.hints.draw(panels.hint_list(named))

    async def load(self, text: str) -> None:
        await self.awake.wait()
        self.match.read(text)
        self.paused = self.paused or self.watching
        await self.changed()

    async def seat(self, seat: int, player: str) -> None:
        """Somebody else sits down; the game goes on."""
        chosen(self.people, player)
        self.seated[seat] = player
        shell.remember(dict(zip(SEATS, self.seated, strict=True)))
        await self.changed()

    def flip(self) -> None:
        self.flipped = not self.flipped
        self.redraw()

    async def pause(self) -> None:
        require(self.watching, "only two agents can be paused: choose one on both sides")
        self.paused = not self.paused
        await self.changed()

    async def step(self) -> None:
        """One ply of two agents who are paused."""
        await self.awake.wait()
        require(self.watching, "a step is for two agents: choose one on both sides")
        require(self.match.outcome is None, "the game is over")
        self.paused, self.turn = True, object()
        turn, action = self.turn, await self.decision()
        if turn is self.turn:
            await self.play(action)

    async def key(self, event: events.KeyEventArguments) -> None:
        key = shell.pressed(event)
        if key is not None:
            with shell.refusals_told():
                await self._press(key)

    async def _press(self, key: str) -> None:
        if key in ARROWS:
            await self._walk(*ARROWS[key])
        elif key in (Mode.HORIZONTAL, Mode.VERTICAL):
            self.switch_to(Mode.BOTH if self.mode == key else Mode(key))
        elif key == "Escape":
            self.mode = Mode.BOTH
            await self.look_at(len(self.match.actions))
        elif key in self.keys:
            done = self.keys[key]()
            if done is not None:
                await done

    @property
    def keys(self) -> dict[str, Callable[[], Awaitable[None] | None]]:
        return {
            "u": self.undo,
            "?": self.hint,
            "n": self.new_game,
            "f": self.flip,
            "p": self.pause,
            "s": self.step,
            "[": lambda: self.step_back(1),
            "]": lambda: self.step_back(-1),
        }

    async def _walk(self, right: int, up: int) -> None:
        await self.awake.wait()
        require(self.may_move(), "it is not your turn here")
        side = -1 if self.turned else 1
        action = toward(self.game, self.match.state, side * right, side * up)
        if action is None:
            raise LabError("no pawn move goes that way, or more than one: click the cell")
        await self.play(action)
