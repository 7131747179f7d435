"""What the page of the wargame does with what a browser sends, and with agents that play. No browser is needed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from nicegui import Client, ui

from src.envs.deployment.game import DeploymentGame
from src.play import Laboratory
from src.web import shell
from src.web.deployment.match import Match, Player
from src.web.deployment.panels import NewGame
from src.web.deployment.setup import Setup
from src.web.deployment.table import Table
from src.web.drawing import LEFT, RIGHT, Pick
from tests.envs.deployment.making import bot, full_game

IN_ZONE = "hex-332"  # (7, 13), of player 1


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(shell, "tell", told.append)
    return told


def at_table(game: DeploymentGame, people: bool, do: Callable[[Table], Awaitable[None]]) -> None:
    """Do something at the table of two people, or of two agents."""

    async def visit() -> None:
        client = Client(ui.page("/table"), request=None)
        with client:
            first, second = (
                Player("somebody", None if people else bot(0.1), np.random.default_rng(seat)) for seat in (1, 2)
            )
            await do(Table(Match(game, (first, second), 4), NewGame(Laboratory([], 0), Setup())))
        client.delete()

    asyncio.run(visit())


def test_a_value_that_no_control_has_is_refused_and_changes_nothing(game: DeploymentGame, told: list[str]):
    async def send(table: Table) -> None:
        table.page.pace.value = None
        assert table.timer.interval == table.page.pace.value == 0.5
        assert told == ["'None' is not a choice here: choose one of those that are offered"]
        wrong: list[Any] = [None, {}, "1", -1, float("nan")]
        for value in wrong:
            table.page.slider.set_value(value)
            assert table.moment is None
            assert table.page.slider.value == 0
        assert len(told) == 1 + len(wrong)
        table.page.pace.value = 0.15
        assert table.timer.interval == 0.15
        assert len(told) == 1 + len(wrong)

    at_table(game, True, send)


def test_only_the_left_button_plays(game: DeploymentGame, told: list[str]):
    async def click(table: Table) -> None:
        table.pick(Pick(IN_ZONE, RIGHT))
        assert not table.match.steps
        table.pick(Pick(IN_ZONE, LEFT))
        assert len(table.match.steps) == 1
        assert not told

    at_table(game, True, click)


def test_rosters_close_when_all_is_placed_and_the_end_is_no_pause(game: DeploymentGame):
    async def watch(table: Table) -> None:
        table.page.pace.value = 0.03
        table.toggle()
        assert [roster.box.value for roster in table.page.rosters] == [True, True]
        while table.match.state.phase == "deployment":
            await table.tick()
        assert table.match.accounts[-1].phase != "deployment", "more than the deployment was done at once"
        assert [roster.box.value for roster in table.page.rosters] == [False, False]
        assert table.page.play.props["icon"] == "pause"
        while not table.match.is_over:
            await table.tick()
        assert table.page.play.props["icon"] == "play_arrow"

    at_table(game, False, watch)


def test_an_agent_that_breaks_is_not_asked_again(game: DeploymentGame, monkeypatch: pytest.MonkeyPatch):
    async def watch(table: Table) -> None:
        def broken() -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(table.match, "decide", broken)
        table.toggle()
        with pytest.raises(ZeroDivisionError):
            await table.tick()
        assert not table.playing
        await table.tick()

    at_table(game, False, watch)
