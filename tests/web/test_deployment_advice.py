"""What a network would do: probabilities, words, drawings, and answers that come too late."""

import asyncio
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from src.config.compose import own_hydra
from src.core.errors import UserError
from src.core.play.agent import Agent, Decision, RandomAgent
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.step_report import Command
from src.play import ConfigLab
from src.web.deployment import board, match_setup
from src.web.deployment.advice import Advice, AdvicePanel, Advisor, as_html, ask, snapshot, suggest
from src.web.deployment.board import Marks
from src.web.deployment.match import DeploymentMatch, Seat
from tests.envs.deployment.making import bot, full_game
from tests.lab import ROOT
from tests.waiting import PATIENCE
from tests.web.inner import in_tab

HUMAN = Seat("human", None, np.random.default_rng(0))


class Liking(Agent):
    """Prefers actions by a fixed weight of each, as a network would."""

    def __init__(self, weights: np.ndarray, value: float = 0.16) -> None:
        self.weights, self.value = weights, value

    def decide(self, game: DeploymentGame, view: GameState, rng: np.random.Generator) -> Decision:  # type: ignore[override]
        mask = game.sensible_mask(view)
        chances = self.weights * mask / (self.weights * mask).sum()
        return Decision(int(chances.argmax()), {"action_probability": chances, "value": self.value})


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game()


@pytest.fixture
def match(game: DeploymentGame) -> DeploymentMatch:
    return DeploymentMatch(game, (HUMAN, HUMAN), 4)


@pytest.fixture
def weights(game: DeploymentGame) -> np.ndarray:
    return np.ones(game.num_actions)


def fight(match: DeploymentMatch, phase: str) -> GameState:
    """Play until a unit acts in a phase, with several actions to choose from."""
    rng = np.random.default_rng(1)
    while match.state.phase != phase or len(match.game.legal_actions(match.state)) < 3:
        match.play(Command("play", (bot(0.1).decide(match.game, match.state, rng).action,)))
    return match.state


def test_the_heat_map_has_the_probabilities_of_the_chosen_unit(
    game: DeploymentGame, match: DeploymentMatch, weights: np.ndarray
):
    state, (first, second) = match.state, list(match.state.units)[:2]
    best = match.candidates(second)[5]
    number = state.number(second)
    assert number is not None
    weights[game.actions.deploy(number, state.cell_of(best))] = 2.0 * len(match.candidates(second))
    found = suggest(game, state, ask(Liking(weights), game, state), second)
    assert set(found.heat) == set(match.candidates(second))
    assert sum(found.heat.values()) == pytest.approx(1)
    assert max(found.heat, key=lambda one: found.heat[one]) == best
    chance = found.heat[best]
    assert found.text == f"It would place {second} on {best[0]}, {best[1]} ({chance:.0%}); it expects an even game."
    assert suggest(game, state, ask(Liking(weights), game, state), first).text.endswith(
        f"It would begin with {second}."
    )
    drawn = board.pieces(state, Marks(match.candidates(second), second, heat=found.heat))
    assert drawn.count('class="heat"') == len(found.heat)
    assert f'class="best" data-hex="{best[0]} {best[1]}"' in drawn
    assert f">{chance:.0%}</text>" in drawn, "not by color alone"
    assert f"<b>{chance:.0%}</b>" in as_html(found)


@pytest.mark.parametrize("phase", ["move", "shoot"])
def test_three_actions_are_listed_and_drawn_in_battle(
    game: DeploymentGame, match: DeploymentMatch, weights: np.ndarray, phase: str
):
    state = fight(match, phase)
    legal = game.legal_actions(state)
    assert game.actions.wait_action in legal
    weights[[game.actions.wait_action, legal[1], legal[0]]] = 400, 300, 200
    found = suggest(game, state, ask(Liking(weights), game, state), None)
    assert not found.heat
    assert [choice.at for choice in found.choices] == [
        None,
        *(game.actions.target_hex(state, action) for action in legal[1::-1]),
    ]
    unit = state.active_unit_id
    assert found.text.startswith(f"It would let {unit} wait (")
    expected = f"move {unit} to " if phase == "move" else "shoot at "
    assert all(choice.words.startswith(expected) for choice in found.choices[1:])
    drawn = board.pieces(state, Marks((), unit, choices=found.choices))
    assert re.findall(r'data-choice="(\d)"', drawn) == ["3", "2", "1"], "the best one is on top"
    for choice in found.choices:
        assert f">{choice.probability:.0%}</text>" in drawn
    assert as_html(found).count("<li>") == 3


def test_a_position_without_a_choice_and_a_negligible_one(
    game: DeploymentGame, match: DeploymentMatch, weights: np.ndarray
):
    state = match.state
    weights[game.legal_actions(state)[0]] = 1e9
    assert len(suggest(game, state, ask(Liking(weights), game, state), None).choices) == 1
    nothing = Advice(np.zeros(game.num_actions), None)
    assert sum(suggest(game, state, nothing, None).heat.values()) == pytest.approx(1)
    assert "expects" not in suggest(game, state, nothing, None).text
    with pytest.raises(UserError, match="does not give its actions probabilities: choose a trained network"):
        ask(RandomAgent(), game, state)


@pytest.mark.parametrize(
    ("value", "words"),
    [(-1.7, "to lose"), (-0.25, "to lose"), (-0.2, "an even game"), (0.2, "an even game"), (0.25, "to win")],
)
def test_a_value_is_put_into_words(
    game: DeploymentGame, match: DeploymentMatch, weights: np.ndarray, value: float, words: str
):
    assert f"; it expects {words}." in suggest(game, match.state, Advice(weights, value), None).text


@pytest.mark.parametrize(("scenario", "known"), [("siege", True), ("mirror", True), ("classic", False)])
def test_a_network_advises_in_every_scenario_of_its_curriculum(scenario: str, known: bool):
    lab = ConfigLab([ROOT / "experiments"], 0)
    with own_hydra():
        game = match_setup.game_of(lab, scenario, "player_by_player", "by_id", match_setup.OWN)
    (run,) = [run for run in match_setup.runs(lab) if run.path.name == "scenarios"]
    assert match_setup.is_trained_on(run, game, scenario) == known
    assert (run.name in Advisor(lab, game, scenario).names()) == known


def test_a_snapshot_does_not_change_with_the_game(game: DeploymentGame, match: DeploymentMatch):
    units, legal = match.state.units, game.legal_actions(match.state)
    copy = snapshot(game, match.state)
    match.play(Command("play", (legal[0],)))
    assert (copy.units, game.legal_actions(copy)) == (units, legal)
    assert match.state.units != units


def test_without_a_network_it_is_said_what_to_do(game: DeploymentGame):
    with pytest.raises(UserError, match=r"the scenario classic mirror yet.*src\.train env=deployment_classic_mirror"):
        Advisor(ConfigLab([], 0), game, "classic_mirror").names()


class SlowAdvisor(Advisor):
    """Answers when it is let, and records what it was asked."""

    def __init__(self, game: DeploymentGame) -> None:
        self._game, self.asked = game, list[int]()
        self.may_answer, self.state_changed = threading.Event(), False

    def names(self) -> list[str]:
        return ["one", "two"]

    def advise(self, name: str, state: GameState) -> Advice:
        placed = len(state.deployment_state.deployed_units)
        self.asked.append(placed)
        self.may_answer.wait(2 * PATIENCE)  # the test does not wait as long for anything
        self.state_changed |= len(state.deployment_state.deployed_units) != placed
        return ask(Liking(np.ones(self._game.num_actions)), self._game, state)


def add_panel(game: DeploymentGame, advisor: Advisor) -> tuple[AdvicePanel, list[Any]]:
    """Return a panel and the redraws that it asks for."""
    redrawn: list[Any] = []
    panel = AdvicePanel(game, advisor, lambda: redrawn.append(None))
    panel.add_switch()
    panel.add_panel()
    return panel, redrawn


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        await asyncio.sleep(0.01)


@in_tab
async def test_an_answer_for_a_position_that_has_changed_is_dropped(game: DeploymentGame, match: DeploymentMatch):
    advisor = SlowAdvisor(game)
    panel, redrawn = add_panel(game, advisor)
    show = lambda: panel.show(match.moves, match.state, None)  # noqa: E731
    assert not show().choices, "it is switched off"
    panel.toggle()
    show()
    await until(lambda: panel.network.value == "one", "the names of the networks")
    show()
    await until(lambda: advisor.asked == [0], "the first question")
    match.play(Command("play", (game.legal_actions(match.state)[0],)))
    redraws = len(redrawn)
    assert not show().choices
    await until(lambda: advisor.asked == [0, 1], "the second question")
    advisor.may_answer.set()
    await until(lambda: len(redrawn) > redraws, "a redraw")
    assert len(show().heat) == len(match.candidates(match.state.unit_id(1)))
    assert len(redrawn) == redraws + 1, "the first answer was dropped"
    assert not advisor.state_changed, "a search has a state of its own"
    show()
    assert advisor.asked == [0, 1], "an answer is kept as long as the position is shown"
    panel.toggle()
    assert not show().choices


@in_tab
async def test_the_panel_says_in_place_why_there_is_no_advice(game: DeploymentGame, match: DeploymentMatch):
    panel, redrawn = add_panel(game, Advisor(ConfigLab([], 0), game, "skirmish"))
    panel.toggle()
    panel.show(match.moves, match.state, None)
    redraws = len(redrawn)
    await until(lambda: len(redrawn) > redraws, "a redraw")
    assert not panel.show(match.moves, match.state, None).choices
    assert "No trained network plays the scenario skirmish yet. Train one: python -m src.train" in panel.text.content
    panel.show(match.moves, match.state, None, wait="Not now.")
    assert panel.text.content == "<p>Not now.</p>"


class BrokenAdvisor(SlowAdvisor):
    def advise(self, name: str, state: GameState) -> Advice:
        raise ValueError("a bug")


@in_tab
async def test_a_failure_is_told_in_place_and_logged(
    game: DeploymentGame, match: DeploymentMatch, caplog: pytest.LogCaptureFixture
):
    panel, redrawn = add_panel(game, BrokenAdvisor(game))
    show = lambda: panel.show(match.moves, match.state, None)  # noqa: E731
    panel.toggle()
    show()
    await until(lambda: panel.network.value == "one", "the names of the networks")
    redraws = len(redrawn)
    show()
    await until(lambda: len(redrawn) > redraws, "a redraw")
    show()
    assert panel.text.content == "<p>The network could not be asked: the log of the server says why.</p>"
    await until(lambda: "ValueError: a bug" in caplog.text, "the error in the log")
