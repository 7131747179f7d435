"""The button for advice, the choice of the network, and its advice as text."""

import asyncio
from collections.abc import Callable, Sequence
from html import escape

from nicegui import background_tasks, ui

from ...core.errors import UserError
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.rules.state import GameState
from ...envs.deployment.step_report import Command
from .. import shell
from .advice import Advice, Adviser, Choice, Suggestion, snapshot, suggest

NOTHING = Suggestion()
ESTIMATE = "What it expects is its own estimate, against players like those of its training."
FAILED = "The network could not be asked: the log of the server says why."
Question = tuple[str, tuple[Command, ...]]  # the network and the steps before the position


class AdvicePanel:
    """Ask a network about the position shown, off the event loop; the answer is dropped if the position has changed."""

    def __init__(self, game: DeploymentGame, adviser: Adviser, redraw: Callable[[], None]) -> None:
        self._game, self._adviser, self._redraw = game, adviser, redraw
        self._problem = ""  # why there is no advice
        self._asked: Question | None = None  # what is being asked
        self._known: tuple[Question, Advice] | None = None  # the latest answer
        self.client = ui.context.client
        self.is_on = False

    def add_switch(self) -> None:
        self._switch = ui.button("Advice", icon="lightbulb_outline", on_click=self.toggle)
        self._switch.props('dense no-caps outline data-part="advise" aria-pressed=false')

    def add_panel(self) -> None:
        self._panel = ui.element("div").classes("dp-card dp-advice")
        with self._panel:
            self._busy = shell.Busy()
            self.network = ui.select([], label="Network", on_change=self._ask_again).classes("w-full")
            self.network.props('outlined dense options-dense data-part="network"')
            self.network.set_visibility(False)
            self._text = ui.html(sanitize=False).props('role=status data-part="advice"')
        self._panel.set_visibility(False)

    def toggle(self) -> None:
        self.is_on = not self.is_on
        self._panel.set_visibility(self.is_on)
        self._switch.props(f"aria-pressed={str(self.is_on).lower()}")
        self._switch.props(remove="outline") if self.is_on else self._switch.props("outline")
        self._ask_again()

    def _ask_again(self) -> None:
        self._problem, self._asked = "", None
        self._redraw()

    def show(self, steps: Sequence[Command], state: GameState, unit: str | None, wait: str = "") -> Suggestion:
        """Show the advice on a position and return it, if it is known; else ask for it. `wait`: why not to ask now."""
        if not self.is_on:
            self._asked = None
            return self._say("")
        idle = wait or self._problem or ("" if self._game.legal_actions(state) else "There is nothing to choose now.")
        if idle:
            self._asked = None
            return self._say(_paragraph(idle))
        question = str(self.network.value or ""), tuple(steps)  # no network is chosen before they are known
        if self._known is not None and self._known[0] == question:
            suggestion = suggest(self._game, state, self._known[1], unit)
            self._say(as_html(suggestion))
            return suggestion
        if self._asked != question:
            self._asked = question
            background_tasks.create(self._ask(question, snapshot(self._game, state)), name="advice")
        return self._say(_paragraph("The network is asked …"))

    async def _ask(self, question: Question, state: GameState) -> None:
        name = question[0]

        def is_needed() -> bool:
            return question == self._asked

        with self.client:
            try:
                if not name:
                    names = await self._busy.do(self._adviser.names)
                    self.network.set_visibility(len(names) > 1)
                    self.network.set_options(names, value=names[0])  # which asks it
                    return
                advice = await self._busy.search(is_needed, self._adviser.advise, name, state)
                if is_needed():
                    self._known = question, advice
                    self._redraw()
            except UserError as error:
                if is_needed():
                    self._problem = shell.sentence(str(error))
                    self._redraw()
            except asyncio.CancelledError:
                return  # another position is shown, or the page was closed
            except Exception:
                if is_needed():
                    self._problem = FAILED
                    self._redraw()
                raise  # into the log

    @property
    def words(self) -> str:
        """What is said now, as HTML."""
        return self._text.content

    def _say(self, html: str) -> Suggestion:
        self._text.set_content(html)
        return NOTHING


def as_html(suggestion: Suggestion) -> str:
    """Return the sentence and the list of the most probable choices."""
    items = "".join(_item(rank, choice) for rank, choice in enumerate(suggestion.choices, 1))
    legend = "Darker hexes are more probable; the ringed one is the best. " if suggestion.heat else ""
    return f'{_paragraph(suggestion.text)}<ol class="dp-choices">{items}</ol><p class="faint">{legend}{ESTIMATE}</p>'


def _item(rank: int, choice: Choice) -> str:
    words = choice.words[0].upper() + choice.words[1:]
    return (
        f'<li><i aria-hidden="true">{rank}</i><span>{escape(words)}</span><b>{choice.probability:.0%}</b>'
        f'<div class="bar" style="width:{max(choice.probability, 0.01):.0%}"></div></li>'
    )


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"
