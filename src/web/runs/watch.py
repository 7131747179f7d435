"""Games of two checkpoints of a run side by side: before its training, and the latest or best one."""

import asyncio
from typing import Any

from nicegui import ui
from numpy.random import default_rng

from ...core.errors import UserError
from ...core.play import arena
from ...core.play.agent import Agent
from ...core.play.capabilities import SupportsSetup
from ...core.play.game import Game
from ...core.runs.index import files
from ...core.runs.index.files import RunPath, Stamp
from .. import shell
from ..event_loop import SEARCHES
from ..services import Services

PACE = 0.5  # seconds between moves
HELD = 4  # moves that the end of a game stays
MAX_FRAMES = 400  # of a game
COLORS = 64  # of a frame, which a browser gets for each move
SETUPS, FEW = 48, 8  # shown of each version of a checkpoint, where games begin with a setup; added with each game
SHOWN = 20  # latest results
SEED = 20_000  # of the games shown, which are not an evaluation
CHECKPOINTS = {"first": "Before training", "last": "Now", "best": "Best checkpoint"}
RESULTS = {1: "won", 0: "drawn", -1: "lost", None: "aborted"}


class Side:
    """The board of one checkpoint, its caption and the results of its games."""

    def __init__(self, name: str) -> None:
        self.name, self.frames, self.setup = name, list[str](), ""
        self._setups = list[tuple[Any, int]]()  # of the latest version, with the seats of the agent
        self._results: list[str] = []
        self._stamp: Stamp | None = None
        self._agent: Agent | None = None
        with ui.element("figure").classes(f"r-side r-{name}"):
            with ui.element("figcaption"):
                ui.label(CHECKPOINTS[name]).classes("r-caption")
                self._note = ui.label().classes("faint")
            self._image = ui.element("img").classes("lab-drawn")
            self._image.props["alt"] = f"a game of the checkpoint {name}"
            self._dots = ui.html(sanitize=False).classes("r-dots")
            with ui.element("div").classes("r-setup") as self._setup_box:
                ui.label("How it sets up").classes("faint")
                self._setup = ui.element("img").classes("lab-drawn")
                self._setup.props["alt"] = f"how often the checkpoint {name} uses each place when it sets up its pieces"
            self._setup_box.set_visibility(False)

    def play(self, services: Services, run: RunPath, game: Game, opponent: Agent | None, number: int) -> None:
        """Play a game with the checkpoint as it is now; slow."""
        version = files.stamp(run, f"checkpoints/{self.name}.safetensors")
        if self._agent is None or version != self._stamp:
            changes = {"run": str(run.path), "checkpoint_name": self.name}
            self._agent, self._stamp = services.agent("trained", game, changes), version
            self._setups.clear()
        played = len(self._setups)
        if isinstance(game, SupportsSetup) and played < SETUPS and not game.is_set_up(game.initial(default_rng(SEED))):
            numbers = range(played, played + FEW)
            self._setups += arena.play_setups(game, self._agent, opponent, numbers, SEED, game.is_set_up)
            self.setup = shell.data_address(shell.as_png(game.setup_image(self._setups), COLORS))
        frames: list[str] = []

        def add(state: Any) -> None:
            if len(frames) < MAX_FRAMES:
                frames.append(shell.data_address(shell.as_png(game.image(state), COLORS)))

        seat, outcome = arena.watch(game, self._agent, opponent, number, SEED, add)
        self.frames, self._result = frames, RESULTS[outcome]
        self._seat = ("moves first, ", "moves second, ")[seat] if game.players == 2 else ""

    def show(self, move: int) -> None:
        """Show the position after a number of moves, and at the end the result."""
        if not self.frames:
            return
        self._image.props["src"] = self.frames[min(move, len(self.frames) - 1)]
        self._image.update()
        if self.setup != self._setup.props.get("src", ""):
            self._setup.props["src"] = self.setup
            self._setup.update()
            self._setup_box.set_visibility(True)
        if move == len(self.frames) - 1:
            self._results.append(self._result)
            self._dots.set_content("".join(f'<i class="{one}" title="{one}"></i>' for one in self._results[-SHOWN:]))
        self._note.text = f"{self._seat}won {self._results.count('won')} of {len(self._results)}"


class Watch:
    """Plays the same games with both checkpoints as long as the page is open."""

    def __init__(self, services: Services, run: RunPath, names: list[str]) -> None:
        self._services, self._run = services, run
        self._number = self._move = 0
        with ui.element("div").classes("r-watch"):
            self._sides = [Side(name) for name in names]
        self._problem = ui.label("The first game is being played …").classes("faint").props("role=status")
        self._timer = ui.timer(PACE, self._step)

    async def _step(self) -> None:
        if self._move < max(len(side.frames) for side in self._sides) + HELD and self._number:
            for side in self._sides:
                side.show(self._move)
            self._move += 1
            return
        try:
            await asyncio.get_running_loop().run_in_executor(SEARCHES, self._play)
        except UserError as error:
            self._timer.active = False
            self._problem.text = f"These checkpoints cannot be watched: {error}"
            return
        self._number, self._move, self._problem.text = self._number + 1, 0, ""

    def _play(self) -> None:
        if not self._number:
            self._game = self._services.run_game(self._run.path)
            self._opponent = self._services.run_baseline(self._run.path)
        for side in self._sides:
            side.play(self._services, self._run, self._game, self._opponent, self._number)
