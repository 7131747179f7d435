"""One visitor's game: what is picked or typed becomes a step of the engine, and what the engine says is shown."""

import asyncio
from collections.abc import Callable

from nicegui import ui

from src.core.errors import LabError, require
from src.envs.deployment.account import Step
from src.envs.deployment.bots import Bot
from src.envs.deployment.deployment import why_not_confirm, why_not_pass
from src.envs.deployment.placement import FrontLine
from src.envs.deployment.scenario import Hex
from src.envs.deployment.state import GameState
from src.web import shell
from src.web.deployment import board, words
from src.web.deployment.board import Look
from src.web.deployment.layout import SPEEDS, Layout
from src.web.deployment.match import Match
from src.web.deployment.panels import NewGame
from src.web.drawing import LEFT, Pick, numbered

PIECE = 20  # lines of the log that are sent together
BLITZ, AT_ONCE = 0.05, 8  # below this pace several steps are taken before the board is drawn again


class Table:
    def __init__(self, match: Match, new_game: NewGame) -> None:
        self.match = match
        self.moment: int | None = None  # the step looked back at; None: the present
        self.unit: str | None = None  # chosen in the roster
        self.cursor: Hex | None = None
        self.playing = any(player.agent is None for player in match.players)
        self._deciding, self._was_deploying = False, match.state.phase == "deployment"
        self.page = Layout(match, self, new_game)
        self.timer = ui.timer(self.page.pace.value, self.tick)
        self.changed()

    # What is looked at

    @property
    def state(self) -> GameState:
        return self.match.state if self.moment is None else self.match.at(self.moment)

    @property
    def now(self) -> int:
        """How many steps lead to what is looked at."""
        return len(self.match.steps) if self.moment is None else self.moment

    @property
    def acting(self) -> str | None:
        """The unit that the next action is for."""
        return self.unit if self.state.phase == "deployment" else self.state.active_unit_id

    @property
    def candidates(self) -> list[Hex]:
        by_hand = self.moment is None and not self.match.is_over and self.match.agent is None
        return self.match.candidates(self.acting) if by_hand else []

    @property
    def units_to_place(self) -> list[str]:
        """Of the person who deploys now."""
        by_hand = self.match.agent is None
        return self.match.state.deployment_state.deployable_units_by_player[self.match.to_move] if by_hand else []

    def changed(self, is_new: bool = False) -> None:
        """The game is another than before: choose a unit to go on with, and show everything."""
        match = self.match
        if self.unit not in self.units_to_place:
            self.unit = next(iter(self.units_to_place), None)
        self.cursor = None
        deploying = match.state.phase == "deployment"
        if self._was_deploying and not deploying:
            for roster in self.page.rosters:  # nothing is left to place: make room for the tables
                roster.box.close()
        self._was_deploying = deploying
        self.timer.active = self.playing and match.agent is not None
        self.show(is_new)

    def show(self, is_new: bool = False) -> None:
        state, page, match, now = self.state, self.page, self.match, self.now
        last = match.accounts[now - 1] if now else None
        look = Look(self.candidates, self.acting, self.cursor, last, is_new)
        page.pieces.set_content(board.pieces(state, look))
        page.status.set_content(words.status(match, state))
        page.headline.set_text(words.headline(match, state, self.acting))
        page.headline.classes(**{"add" if match.game.outcome(state) is not None else "remove": "dp-over-now"})
        page.last.set_content(words.entry(now, last) if last else "")
        for player, (roster, table) in enumerate(zip(page.rosters, page.tables, strict=True), 1):
            roster.show(state, self.unit, self.moment is None and match.agent is None)
            table.set_content(words.unit_table(state, player))
        self._show_log()
        self._show_replay(now)
        self._show_buttons()

    def _show_log(self) -> None:
        """New lines come on top, some of them to a piece; pieces that are full never travel again."""
        pieces, accounts = self.page.log_pieces, self.match.accounts
        first = max(len(pieces) - 1, 0)
        for number in range(first, -(-len(accounts) // PIECE)):
            if number == len(pieces):
                pieces.append(self.page.add_log_piece())
            lines = enumerate(accounts[number * PIECE : (number + 1) * PIECE], number * PIECE + 1)
            pieces[number].set_content("".join(reversed([words.entry(k, account) for k, account in lines])))

    def _show_replay(self, now: int) -> None:
        slider, most = self.page.slider, len(self.match.steps)
        slider.props(f"max={most}")
        slider.value = now
        self.page.moment.set_text(f"{now} / {most}" + ("" if self.moment is None else " · looking back"))

    def _show_buttons(self) -> None:
        page, match, state = self.page, self.match, self.match.state
        deploying, by_hand = state.phase == "deployment" and not match.is_over, match.agent is None
        for button in (page.confirm, page.undo, page.rest, page.passing):
            button.set_visibility(deploying)
            button.set_enabled(bool(self._people()))
        page.wait.set_visibility(not deploying)
        page.wait.set_enabled(by_hand and not match.is_over)
        page.rest.set_enabled(by_hand)
        confirmable = deploying and any(why_not_confirm(state, player) is None for player in self._people())
        page.confirm.props(remove="outline") if confirmable else page.confirm.props("outline")
        passable = deploying and why_not_pass(state) is None
        page.passing.props(remove="outline") if passable else page.passing.props("outline")
        page.again.props(remove="outline") if match.is_over else page.again.props("outline")
        page.play.props(f"icon={'pause' if self.playing and not match.is_over else 'play_arrow'}")
        page.play.set_enabled(not match.is_over)

    def _people(self) -> list[int]:
        return [player for player in (1, 2) if self.match.players[player - 1].agent is None]

    # What people do

    def act(self, step: Callable[[], Step]) -> None:
        """A step of the person whose turn it is. What the engine refuses is shown in its own words."""
        with shell.refusals_told():
            self._require_present()
            self.match.require_person()
            self.match.do(step())
            self.changed(is_new=True)

    def _require_present(self) -> None:
        require(self.moment is None, "this is an earlier moment, to look at only: go forward to the present first")

    def pick(self, pick: Pick) -> None:
        if pick.button != LEFT:
            return
        columns = self.match.game.scenario.board.cols
        cell = numbered(pick.part, "hex", columns * self.match.game.scenario.board.rows)
        self.act_at((cell % columns, cell // columns))

    def act_at(self, at: Hex) -> None:
        self.act(lambda: self.match.step_at(at, self.unit))

    def point_at(self, at: Hex) -> None:
        self.cursor = at
        self.show()

    def choose(self, unit: str) -> None:
        """Any unit can be chosen; whether it can be placed is for the engine to say."""
        if self.state.phase == "deployment":
            self.unit, self.cursor = unit, None
            self.show()

    def take_back(self, unit: str) -> None:
        self.act(lambda: Step("undeploy_unit", (unit,)))
        if unit in self.units_to_place:
            self.choose(unit)

    def undo(self) -> None:
        """The latest placement of who deploys now, wherever the engine allows it."""
        units, player = self.match.state.games.units[self.match.state.i], self.match.to_move
        own = [
            u for u in self.match.state.numbers if u // self.match.state.slots == player - 1 and units["deployed"][u]
        ]
        if not own:
            shell.tell(f"player {player} has placed no unit that could be taken back")
            return
        self.take_back(self.match.state.unit_id(max(own, key=lambda u: units["order"][u])))

    def wait(self) -> None:
        self.act(lambda: Step("play", (self.match.game.actions.waiting,)))

    def pass_(self) -> None:
        self.act(lambda: Step("pass_deployment", ()))

    def confirm(self) -> None:
        """Confirming is for a person who is done, while the other one may still be placing."""
        with shell.refusals_told():
            self._require_present()
            people = self._people()
            require(bool(people), "agents deploy without confirming: let them play")
            done = [player for player in people if why_not_confirm(self.match.state, player) is None]
            self.match.do(Step("confirm_deployment", (done[0] if done else people[0],)))
            self.changed(is_new=True)

    def place_rest(self) -> None:
        """Place what is left in front, as long as it is this player's turn."""
        helper, player = Bot(FrontLine(), 0, 0, 0, 0, 0, 0), self.match.to_move
        with shell.refusals_told():
            self._require_present()
            self.match.require_person()
            while self.match.state.phase == "deployment" and self.match.to_move == player and not self.match.is_over:
                rng = self.match.players[player - 1].rng
                decision = helper.decide(self.match.game, self.match.state, rng)
                self.match.do(Step("play", (decision.action,)))
        self.changed(is_new=True)

    def look_at(self, moment: object) -> None:
        """An earlier moment, to look at; the last one is the present."""
        before, most = self.now, len(self.match.steps)
        with shell.refusals_told():
            chosen = int(shell.between(moment, 0, most))
            self.moment = None if chosen == most else chosen
        if self.now != before or self.page.slider.value != self.now:  # a refused value leaves the slider too
            self.show()

    def look_by(self, steps: int) -> None:
        self.look_at(min(max(self.now + steps, 0), len(self.match.steps)))

    # What agents do

    def toggle(self) -> None:
        self.playing = not self.playing
        self.changed()

    def set_pace(self, seconds: object) -> None:
        with shell.refusals_told():
            self.timer.interval = shell.checked(seconds, SPEEDS)
        self.page.pace.value = self.timer.interval  # a refused value leaves the toggle too

    async def tick(self) -> None:
        if self.playing and self.moment is None:
            await self._advance(AT_ONCE if self.timer.interval < BLITZ else 1)

    async def step(self) -> None:
        if self.moment is not None:
            self.look_at(self.moment + 1)
        elif self.match.agent is None:
            shell.tell(
                "the game is over: start a new one" if self.match.is_over else "it is a person's turn, not an agent's"
            )
        else:
            await self._advance(1)

    async def _advance(self, count: int) -> None:
        """Let agents act, that many times at most. Their thinking is done off the event loop."""
        if self._deciding or self.match.agent is None or self.match.unconfirmed is not None:
            return
        self._deciding = True
        try:
            while count and self.match.agent is not None and self.match.unconfirmed is None:
                count -= 1
                step = await asyncio.to_thread(self.match.decide)
                if self.page.board.is_deleted:  # the tab was closed meanwhile
                    return
                self.match.do(step)
        except LabError as error:
            self.playing = False
            shell.tell(str(error))
        except Exception:
            self.playing = False  # or it would break again at every tick
            self._show_buttons()
            raise
        finally:
            self._deciding = False
        self.changed(is_new=True)
