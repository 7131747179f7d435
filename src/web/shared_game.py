"""A game that is open in several tabs, which follow each other."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from nicegui import Client, background_tasks

from . import shell
from .saved_games import SavedGame


class Tab(Protocol):
    """A `GamePage`."""

    client: Client

    async def follow(self, game: SavedGame) -> None: ...
    async def take_over(self) -> None: ...
    def give_way(self) -> None: ...


class SharedGame:
    """The tab that changed the game last leads: it lets agents move. If it is closed, another one does."""

    def __init__(self) -> None:
        self._tabs: list[Tab] = []  # by the time of their latest change
        self.leader: Tab | None = None
        self._latest: SavedGame | None = None  # as a tab has saved it

    def join(self, tab: Tab) -> None:
        self._tabs.insert(0, tab)
        self.leader = self.leader or tab
        self.elect()
        if self.leader is not tab:
            tab.give_way()
        if self._latest is not None:  # it may be newer than what the tab has loaded
            _run_in(tab, partial(tab.follow, self._latest))

    def leave(self, tab: Tab) -> None:
        self._tabs = [one for one in self._tabs if one is not tab]
        self.elect()

    def lead(self, tab: Tab) -> None:
        """Make a tab the leader."""
        before, self.leader = self.leader, tab
        if before is not tab:
            self._tabs.remove(tab)
            self._tabs.append(tab)
            if before in self._tabs:
                before.give_way()

    def elect(self) -> None:
        """Replace a leader that is closed or has lost its connection, if there is another tab."""
        connected = [tab for tab in self._tabs if tab.client.has_socket_connection]
        if self._tabs and self.leader not in connected and (connected or self.leader not in self._tabs):
            chosen = (connected or self._tabs)[-1]
            self.lead(chosen)
            _run_in(chosen, chosen.take_over)

    def announce(self, game: SavedGame, by: Tab) -> None:
        """Show the other tabs what one has saved."""
        self._latest = game
        for tab in self._tabs:
            if tab is not by:
                _run_in(tab, partial(tab.follow, game))


def _run_in(tab: Tab, work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        with tab.client, shell.show_errors():
            await work()

    background_tasks.create(run(), name="follow a game")
