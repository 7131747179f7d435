"""What a trained network would do in a position, and how sure it is."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core.errors import UserError
from ...core.play.agent import Agent
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.rules.scenario import Hex
from ...envs.deployment.rules.state import Games, GameState
from ..lab import Lab
from . import setup

COUNT, LEAST = 3, 0.005  # choices that are listed: how many, and from which probability
EVEN = 0.25  # values up to this are called even
VERBS = {"shoot": "shoot at", "charge": "charge", "fight": "fight"}


class Advice(NamedTuple):
    """The output of a network for a position."""

    probability: np.ndarray  # (A,) of each action
    value: float | None  # of the position for the player to move: the expected reward; None if it has none


class Choice(NamedTuple):
    """An action with its probability."""

    probability: float
    words: str  # completes "It would"
    at: Hex | None  # the hex that it means; None: wait, pass


class Suggestion(NamedTuple):
    """Advice on a position as it is shown."""

    choices: tuple[Choice, ...] = ()  # best first
    heat: Mapping[Hex, float] = {}  # in deployment: the probability of each hex for the unit
    text: str = ""


class Adviser:
    """The networks that can advise in a scenario. All methods are slow: call them off the event loop."""

    def __init__(self, lab: Lab, game: DeploymentGame, scenario: str) -> None:
        self._lab, self._game, self._scenario = lab, game, scenario
        self._agents: dict[str, Agent] = {}

    def names(self) -> list[str]:
        """Return the runs trained on the scenario, newest first; raise `UserError` if there is none."""
        runs = setup.runs(self._lab)
        names = [run.name for run in runs if setup.is_trained_on(run, self._game, self._scenario)]
        if names:
            return names
        others = ", ".join(sorted({setup.SCENARIO_BY_ENV[run.env].replace("_", " ") for run in runs}))
        raise UserError(
            f"no trained network plays the scenario {self._scenario.replace('_', ' ')} yet. Train one: "
            f"python -m src.train env={setup.SCENARIOS[self._scenario]} algo=ppo"
            + (f". Scenarios with a network: {others}" if others else "")
        )

    def advise(self, name: str, state: GameState) -> Advice:
        if name not in self._agents:
            self._agents[name] = setup.trained_agent(self._lab, self._game, self._scenario, name)
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
    """Return the most probable actions in words; in deployment those of `unit`, by default the most probable unit."""
    legal = [(float(advice.probability[action]), action) for action in game.legal_actions(state)]
    by_unit = {} if state.phase != "deployment" else _placements(game, state, legal)
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


def _placements(
    game: DeploymentGame, state: GameState, legal: list[tuple[float, int]]
) -> dict[str, list[tuple[float, int]]]:
    """Return the placements by unit."""
    found: dict[str, list[tuple[float, int]]] = {}
    for chance, action in legal:
        if action != game.actions.pass_action:
            slot = game.actions.slots_of(action)[0]
            unit = state.unit_id(game.to_move(state) * state.slots + slot)
            found.setdefault(unit, []).append((chance, action))
    return found


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
    expects = "" if value is None else f"; it expects {expectation(value)}"
    return f"It would {best.words} ({best.probability:.0%}){expects}."


def expectation(value: float) -> str:
    """Return a value in words. It is no probability: the reward counts the result, +1 or -1, and the lead."""
    if abs(value) < EVEN:
        return "an even game"
    return "to win" if value > 0 else "to lose"
