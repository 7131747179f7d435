"""How the page of the wargame handles browser messages and agents, without a browser."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from src.core.play.agent import Agent
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.step_report import Command
from src.play import ConfigLab
from src.web.clickable import LEFT, RIGHT, Pick
from src.web.deployment.match import DeploymentMatch, Seat
from src.web.deployment.match_setup import MatchSetup
from src.web.deployment.page import DeploymentPage
from src.web.deployment.panels import NewGame
from src.web.game_page import Visit
from tests.envs.deployment.making import bot, full_game
from tests.waiting import PATIENCE
from tests.web.inner import in_tab

IN_ZONE = "hex-332"  # (7, 13), of player 1


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game()


def on_page(
    game: DeploymentGame,
    people: bool,
    do: Callable[[DeploymentPage], Awaitable[None]],
    agents: tuple[Agent | None, Agent | None] | None = None,
) -> None:
    """Call a function on the page of two humans, of two agents, or of these."""
    both = None if people else bot(0.1)

    async def open_and_do() -> None:
        players = enumerate(agents or (both, both), 1)
        first, second = (Seat("somebody", agent, np.random.default_rng(seat)) for seat, agent in players)
        lab = ConfigLab([], 0)
        await do(DeploymentPage(Visit(lab), DeploymentMatch(game, (first, second), 4), NewGame(lab, MatchSetup())))

    in_tab(open_and_do)


def test_a_value_that_no_control_has_is_refused_and_changes_nothing(game: DeploymentGame, notifications: list[str]):
    async def send(page: DeploymentPage) -> None:
        page.pace.value = None
        assert page.timer.interval == page.pace.value == 0.5
        assert notifications == ["'None' is not an option: choose one of the list"]
        wrong: list[Any] = [None, {}, "1", -1, float("nan")]
        for value in wrong:
            page.slider.set_value(value)
            assert page.ply is None
            assert page.slider.value == 0
        assert len(notifications) == 1 + len(wrong)
        page.pace.value = 0.15
        assert page.timer.interval == 0.15
        assert len(notifications) == 1 + len(wrong)

    on_page(game, True, send)


def test_only_the_left_button_plays(game: DeploymentGame, notifications: list[str]):
    async def click(page: DeploymentPage) -> None:
        page.pick(Pick(IN_ZONE, RIGHT))
        assert not page.match.moves
        page.pick(Pick(IN_ZONE, LEFT))
        assert len(page.match.moves) == 1
        assert not notifications

    on_page(game, True, click)


def test_rosters_close_when_all_is_placed_and_the_end_is_no_pause(game: DeploymentGame):
    async def watch(page: DeploymentPage) -> None:
        page.pace.value = 0.03
        page.toggle()
        assert [roster.box.value for roster in page.rosters] == [True, True]
        while page.match.state.phase == "deployment":
            await page.tick()
        assert page.match.reports[-1].phase != "deployment", "more than the deployment was done at once"
        assert [roster.box.value for roster in page.rosters] == [False, False]
        assert page.play_button.props["icon"] == "pause"
        while not page.match.is_over:
            await page.tick()
        assert page.play_button.props["icon"] == "play_arrow"

    on_page(game, False, watch)


def test_an_agent_that_breaks_is_not_asked_again(game: DeploymentGame, monkeypatch: pytest.MonkeyPatch):
    async def watch(page: DeploymentPage) -> None:
        def broken(state: GameState) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(page.match, "decide", broken)
        page.toggle()
        with pytest.raises(ZeroDivisionError):
            await page.tick()
        assert not page.playing
        await page.tick()

    on_page(game, False, watch)


def test_a_decision_is_dropped_if_the_step_before_is_taken_back(
    game: DeploymentGame, notifications: list[str], monkeypatch: pytest.MonkeyPatch
):
    alternating = full_game(deployment_order_mode="alternated_p1_start", confirming_players=[1])
    decide, may_decide = DeploymentMatch.decide, threading.Event()

    def slow(match: DeploymentMatch, state: GameState) -> Command:
        may_decide.wait(2 * PATIENCE)  # the test does not wait as long for anything
        return decide(match, state)

    async def take_back(page: DeploymentPage) -> None:
        page.pick(Pick(IN_ZONE, LEFT))
        monkeypatch.setattr(DeploymentMatch, "decide", slow)
        deciding = asyncio.create_task(page.step())
        await asyncio.sleep(0)
        page.undo()
        assert not page.match.moves
        may_decide.set()
        await deciding
        assert not page.match.moves
        assert not notifications
        page.undo()
        assert notifications == ["there is nothing to take back yet"]

    on_page(alternating, True, take_back, agents=(None, bot(0.1)))


def test_steps_of_a_battle_are_taken_back_and_leave_the_log(game: DeploymentGame, notifications: list[str]):
    async def battle(page: DeploymentPage) -> None:
        while page.match.state.phase == "deployment":
            page.place_rest()
        while len(page.match.moves) < 21:
            page.wait()
        assert len(page.log.pieces) == 2
        page.undo()
        assert len(page.match.moves) == 20
        assert len(page.log.pieces) == 1
        assert 'data-moment="20"' in page.log.pieces[0].content
        assert 'data-moment="21"' not in page.log.pieces[0].content
        page.wait()
        assert 'data-moment="21"' in page.log.pieces[1].content
        assert not notifications

    on_page(game, True, battle)


def test_the_odds_of_a_person_are_shown_on_the_board_and_beside_it(game: DeploymentGame):
    async def aim(page: DeploymentPage) -> None:
        while page.match.state.phase == "deployment":
            page.place_rest()
        while not page.odds.content:
            page.wait()
        shown = page.odds.content.count("<tr>") - 1
        assert page.pieces.content.count('class="odds"') == shown > 0

    on_page(game, True, aim)
