"""The page of tic-tac-toe."""

import asyncio
from functools import partial
from html import escape

from nicegui import events, ui
from starlette.requests import Request

from src.core.agent import Decision
from src.core.errors import LabError
from src.envs.tictactoe.rules import STONES, TicTacToe
from src.web import shell
from src.web.drawing import LEFT, Drawing, Pick, numbered
from src.web.lab import Lab, RunPlace, finished_runs
from src.web.players import PERSON, YOU, Bench, Player, chosen, trained_players
from src.web.tictactoe import picture
from src.web.tictactoe.match import Match, Opinion, opinion
from src.web.tictactoe.words import remark_of

LEVELS = ("easy", "normal", "hard", "hell")
WATCHING = 0.7  # seconds between moves where only agents play
NONE, RANDOM = "none", "random"
USUAL = "qtable:experiments/tictactoe_qlearning"  # who plays O unless somebody else is asked for


def players(runs: list[RunPlace]) -> dict[str, Player]:
    searches = {
        f"alphabeta-{level}": Player(f"Alpha-beta, {level}", "alphabeta", {"difficulty": level}) for level in LEVELS
    }
    tables = {
        f"qtable:{run.name}": Player(f"Q-table {run.name}", "qtable", {"path": str(run.path / "qtable.json")})
        for run in runs
        if (run.path / "qtable.json").is_file()
    }
    fixed = {YOU: PERSON, "minimax": Player("Minimax, plays perfectly", "minimax"), **searches}
    others = trained_players([run for run in runs if f"qtable:{run.name}" not in tables])
    return {**fixed, **tables, **others, RANDOM: Player("Random", "random")}


def judges(people: dict[str, Player]) -> dict[str, Player]:
    """Who can be asked what cells are worth."""
    return {NONE: Player("nobody", None)} | {key: people[key] for key in people if key not in (YOU, RANDOM)}


def check_choice(people: dict[str, Player], name: str, key: str) -> None:
    """Raise `LabError` where a choice is none, whether it comes from an address or from the page."""
    chosen(judges(people) if name == "values" else people, key)


async def build(lab: Lab, request: Request) -> None:
    await View.build(lab, {name: request.query_params.get(name, "") for name in ("x", "o", "values")})


class View:
    """One tab: one match, and who looks at it."""

    def __init__(self, lab: Lab, people: dict[str, Player], setup: dict[str, str]) -> None:
        self.lab, self.people, self.setup = lab, people, setup
        self.game = TicTacToe(symmetric=True)
        self.bench = Bench(lab, self.game)
        self.match = self._new_match()
        self.turn = 0  # counts what was asked for, so that an answer to something older is dropped
        self._layout()

    @classmethod
    async def build(cls, lab: Lab, wanted: dict[str, str]) -> None:
        runs = await asyncio.to_thread(lambda: [run for run in finished_runs(lab.folders) if run.env == "tictactoe"])
        people = players(runs)
        setup = {"x": YOU, "o": USUAL if USUAL in people else "minimax", "values": NONE}
        for name, key in wanted.items():
            with shell.refusals_told():
                if key:
                    check_choice(people, name, key)
                    setup[name] = key
        view = cls(lab, people, setup)
        ui.timer(0.05, view.go_on, once=True)

    def _new_match(self) -> Match:
        persons = frozenset(seat for seat, name in enumerate("xo") if self.setup[name] == YOU)
        return Match(self.game, self.lab.rng(), persons)

    def _layout(self) -> None:
        ui.add_css(picture.STYLE)
        with ui.element("div").classes("bench"):
            with ui.element("div").classes("board"):
                self.drawing = Drawing(picture.board(self.match.state), self._picked)
            with ui.element("div").classes("panel"):
                with ui.row().classes("items-center w-full no-wrap"):
                    self.headline = ui.label().classes("headline grow")
                    self.busy = shell.Busy()
                self._choices()
                with ui.row():
                    ui.button("New game", icon="replay", on_click=self.restart).classes("new-game")
                    ui.button("Undo", icon="undo", on_click=self.undo).props("outline").classes("undo")
                self.account = ui.html(sanitize=False).classes("account w-full")
                ui.label("Keys: 0 to 8 play a cell, U takes back, N starts anew.").classes("faint")
        ui.keyboard(self._key)

    def _choices(self) -> None:
        for name, label, options in (
            ("x", "X, moves first", self.people),
            ("o", "O", self.people),
            ("values", "What the cells are worth, as seen by", judges(self.people)),
        ):
            titles = {key: player.title for key, player in options.items()}
            shell.dropdown(titles, self.setup[name], label, partial(self._choose, name)).classes(f"choose-{name}")

    async def _choose(self, name: str, event: events.ValueChangeEventArguments) -> None:
        with shell.refusals_told():
            check_choice(self.people, name, str(event.value))
            self.setup[name] = event.value
            shell.remember(self.setup)
            await (self.show() if name == "values" else self.restart())

    async def restart(self) -> None:
        self.match = self._new_match()
        await self.go_on()

    async def undo(self) -> None:
        with shell.refusals_told():
            self.match.undo()
            await self.go_on()

    async def _picked(self, pick: Pick) -> None:
        if pick.button == LEFT:
            self.match.play_person(numbered(pick.part, "cell", 9))
            await self.go_on()

    async def _key(self, event: events.KeyEventArguments) -> None:
        key = shell.pressed(event)
        if key is None or event.action.repeat:
            return
        if event.key.number is not None:
            with shell.refusals_told():
                self.match.play_person(event.key.number)
                await self.go_on()
        elif key == "u":
            await self.undo()
        elif key == "n":
            await self.restart()

    async def go_on(self) -> None:
        """Show the position, and let agents move until a person has to or something else was asked for."""
        self.turn += 1
        turn, match = self.turn, self.match
        await self.show()
        with shell.refusals_told():
            while turn == self.turn and not match.over and not match.waits_for_person:
                decision = await self._agent_s_decision(match)
                await asyncio.sleep(0 if match.persons else WATCHING)
                if turn != self.turn:
                    return
                if decision.action is None:
                    raise LabError("the agent has no move to offer here")
                match.play(decision.action, remark_of(decision.why))
                await self.show()

    async def _agent_s_decision(self, match: Match) -> Decision:
        key = self.setup["xo"[match.game.to_move(match.state)]]
        agent = await self.busy.do(self.bench.agent, key, self.people[key])
        return await self.busy.do(agent.decide, self.game, match.state, match.rng)

    async def show(self) -> None:
        match, state, key = self.match, self.match.state, self.setup["values"]
        judged = None
        with shell.refusals_told():
            if key != NONE and not match.over:
                judge = await self.busy.do(self.bench.agent, key, self.people[key])
                judged = await self.busy.do(opinion, self.game, judge, state)
        if (match, state, key) == (self.match, self.match.state, self.setup["values"]):
            self.headline.text = match.headline()
            last = match.moves[-1] if match.moves else None
            self.drawing.draw(picture.board(state, last, judged.worth if judged else None))
            self.account.set_content(account(match, judged))


def account(match: Match, judged: Opinion | None) -> str:
    """The moves so far with what was said of them, and the opinion on the position, as HTML."""
    parts = []
    if judged is not None and judged.move is not None:
        words = f'<b>It would play {judged.move}</b><div class="faint">{escape(judged.remark)}</div>'
        if judged.filed_as is not None:
            words += '<div class="faint">On the left is the position that it looked up.</div>'
            parts.append(picture.small(judged.filed_as.key))
        parts = [f'<div class="opinion">{"".join(parts)}<div>{words}</div></div>']
    for ply, (move, remark) in enumerate(zip(match.moves, match.remarks, strict=True)):
        said = f' <span class="faint">{escape(remark)}</span>' if remark else ""
        parts.append(f"<li><b>{STONES[ply % 2]} {move}</b>{said}</li>")
    return f'<ol class="moves">{"".join(parts)}</ol>'
