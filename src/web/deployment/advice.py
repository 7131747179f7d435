"""What a trained network would do in a position, how sure it is, and the panel that shows it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from nicegui import background_tasks, ui

from ...core.errors import UserError
from ...core.play.agent import Agent
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.rules.scenario import Hex
from ...envs.deployment.rules.state import GameState
from ...envs.deployment.rules.world import Games
from ...envs.deployment.step_report import Command
from .. import shell
from ..event_loop import Busy
from ..services import Services
from . import match_setup

COUNT, LEAST = 3, 0.005  # choices that are listed: how many, and from which probability
EVEN = 0.25  # values up to this are called even
ESTIMATE = "What it expects is its own estimate, against players like the ones it was trained with."
FAILED = "The network could not be asked: the log of the server says why."
Question = tuple[str, tuple[Command, ...]]  # the network and the steps before the position
VERBS = {"shoot": "shoot at", "charge": "charge", "fight": "fight"}


class Advice(NamedTuple):
    """The output of a network for a position."""

    probability: np.ndarray  # (A,) of each action
    value: float | None  # of the position for the player to move: the expected reward; None if it has none


class Choice(NamedTuple):
    probability: float
    words: str  # completes "It would"
    at: Hex | None  # the hex that it means; None: wait, pass


class Suggestion(NamedTuple):
    """Advice on a position as it is shown."""

    choices: tuple[Choice, ...] = ()  # best first
    heat: Mapping[Hex, float] = {}  # in deployment: the probability of each hex for the unit
    text: str = ""


class Advisor:
    """The networks that can advise in a scenario. All methods are slow: call them off the event loop."""

    def __init__(self, services: Services, game: DeploymentGame, scenario: str) -> None:
        self._services, self._game, self._scenario = services, game, scenario
        self._agents: dict[str, Agent] = {}

    def names(self) -> list[str]:
        """Return the runs trained on the scenario, newest first; raise `UserError` if there is none."""
        runs = match_setup.runs(self._services)
        names = [run.name for run in runs if match_setup.is_trained_on(run, self._game, self._scenario)]
        if names:
            return names
        others = ", ".join(sorted({match_setup.SCENARIO_BY_ENV[run.env].replace("_", " ") for run in runs}))
        raise UserError(
            f"no trained network plays the scenario {self._scenario.replace('_', ' ')} yet. Train one: "
            f"python -m src.train env={match_setup.SCENARIOS[self._scenario]} algo=ppo"
            + (f". Scenarios with a network: {others}" if others else "")
        )

    def advise(self, name: str, state: GameState) -> Advice:
        if name not in self._agents:
            self._agents[name] = match_setup.trained_agent(self._services, self._game, self._scenario, name)
        return ask(self._agents[name], self._game, state)


def ask(agent: Agent, game: DeploymentGame, state: GameState) -> Advice:
    """Return the probabilities and the estimate of an agent that has them."""
    info = agent.decide(game, game.view(state), np.random.default_rng(0)).info
    if "action_probability" not in info:
        raise UserError("this agent does not give its actions probabilities: choose a trained network")
    return Advice(np.asarray(info["action_probability"]), info.get("value"))


def snapshot(game: DeploymentGame, state: GameState) -> GameState:
    """Return a copy of a state, because states are changed in place."""
    return game.state(Games(*(part[state.i : state.i + 1].copy() for part in state.games)), 0)


def suggest(game: DeploymentGame, state: GameState, advice: Advice, unit: str | None) -> Suggestion:
    """Return the most probable actions in words; in deployment of `unit`, by default of the most probable one."""
    legal = [(float(advice.probability[action]), action) for action in game.legal_actions(state)]
    by_unit: dict[str, list[tuple[float, int]]] = {}  # placements
    for chance, action in legal if state.phase == "deployment" else ():
        if action != game.actions.pass_action:
            slot = game.actions.slots_of(action)[0]
            by_unit.setdefault(state.unit_id(game.to_move(state) * state.slots + slot), []).append((chance, action))
    if not by_unit:
        choices = tuple(Choice(chance, *_action(game, state, action)) for chance, action in _best(legal))
        return Suggestion(choices, {}, _sentence(choices[0], advice.value))
    first = max(by_unit, key=lambda one: sum(chance for chance, _ in by_unit[one]))
    chosen = unit if unit in by_unit else first
    total = sum(chance for chance, _ in by_unit[chosen])
    # The network chooses unit and hex together: the person has chosen the unit, so only the hex is left.
    placements = [(chance / total if total else 1 / len(by_unit[chosen]), action) for chance, action in by_unit[chosen]]
    choices = tuple(Choice(chance, *_action(game, state, action)) for chance, action in _best(placements))
    heat = {at: chance for chance, action in placements if (at := game.actions.target_hex(state, action)) is not None}
    begins = "" if first == chosen else f" It would begin with {first}."
    return Suggestion(choices, heat, _sentence(choices[0], advice.value) + begins)


def _best(actions: list[tuple[float, int]]) -> list[tuple[float, int]]:
    best, *others = sorted(actions, key=lambda one: -one[0])[:COUNT]
    return [best, *(one for one in others if one[0] >= LEAST)]


def _action(game: DeploymentGame, state: GameState, action: int) -> tuple[str, Hex | None]:
    """Return an action in words, and its hex."""
    kind, *rest = game.move_name(state, action).split(":")
    at, unit = game.actions.target_hex(state, action), state.active_unit_id
    where = "" if at is None else f"{at[0]}, {at[1]}"
    match kind:
        case "deploy":
            return f"place {rest[0]} on {where}", at
        case "unit":
            return f"choose {rest[0]}", at
        case "go":
            return f"move {unit} to {where}", at
        case "wait":
            return f"let {unit} wait", None
        case "pass":
            return "pass", None
    return f"{VERBS.get(kind, kind)} {rest[0]} with {unit}", at


def _sentence(best: Choice, value: float | None) -> str:
    """A value is no probability: the reward counts the result, +1 or -1, and the lead."""
    expects = ""
    if value is not None:
        expects = "; it expects " + ("an even game" if abs(value) < EVEN else "to win" if value > 0 else "to lose")
    return f"It would {best.words} ({best.probability:.0%}){expects}."


class AdvicePanel:
    """Ask a network about the position shown, off the event loop; the answer is dropped if the position has changed."""

    def __init__(self, game: DeploymentGame, advisor: Advisor, redraw: Callable[[], None]) -> None:
        self._game, self._advisor, self._redraw = game, advisor, redraw
        self._problem = ""  # why there is no advice
        self._asked: Question | None = None  # what is being asked
        self._known: tuple[Question, Advice] | None = None  # the latest answer
        self.client = ui.context.client
        self.is_on = False

    def add_switch(self) -> None:
        self._switch = ui.button("Advice", icon="lightbulb_outline", on_click=self.toggle)
        self._switch.props('outline data-part="advise" aria-pressed=false')

    def add_panel(self) -> None:
        self._panel = ui.element("div").classes("dp-advice")
        with self._panel:
            self._busy = Busy()
            self.network = ui.select([], label="Network", on_change=self._ask_again).classes("w-full")
            self.network.props('outlined dense options-dense data-part="network"')
            self.network.set_visibility(False)
            self.text = ui.html(sanitize=False).props('role=status data-part="advice"')
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
                    names = await self._busy.do(self._advisor.names)
                    self.network.set_visibility(len(names) > 1)
                    self.network.set_options(names, value=names[0])  # which asks it
                    return
                advice = await self._busy.search(is_needed, self._advisor.advise, name, state)
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

    def _say(self, html: str) -> Suggestion:
        self.text.set_content(html)
        return Suggestion()


def as_html(suggestion: Suggestion) -> str:
    items = "".join(
        f'<li><i aria-hidden="true">{rank}</i><span>{escape(choice.words[0].upper() + choice.words[1:])}</span>'
        f'<b>{choice.probability:.0%}</b><div class="bar" style="width:{max(choice.probability, 0.01):.0%}"></div></li>'
        for rank, choice in enumerate(suggestion.choices, 1)
    )
    legend = "Darker hexes are more probable; the ringed one is the best. " if suggestion.heat else ""
    return f'{_paragraph(suggestion.text)}<ol class="dp-choices">{items}</ol><p class="faint">{legend}{ESTIMATE}</p>'


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"
