"""Measure the pages under load: two people, twenty tabs and a training on the same cores, and without them.

    python -m experiments.bench.page_load              # some minutes
    python -m experiments.bench.page_load --tabs 40

A real server and a real training run in a temporary folder. The tabs speak the protocol of the browser: they request a
page, connect and read what is sent. Two people play on: one plants flags in Minesweeper, one plays tic-tac-toe against
an engine. Seconds depend on the machine and on its other load; the last column is a ratio within the run.
"""

import argparse
import ast
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import socketio  # type: ignore[import-untyped]

from src.core.runs.training_jobs import Jobs

EXPERIMENTS = Path(__file__).parents[1]
TRAINING = ("env=minesweeper_8x8", "algo=ppo", "logger=csv", "device=cpu", "algo.total_steps=1000000000")
PAGES = (  # some of them busy on their own
    *("/", "/runs", "/training", "/deployment", "/minesweeper?odds=exact&board=16x30x99", "/minesweeper"),
    *("/tictactoe", "/tictactoe?x=minimax&o=minimax", "/quoridor", "/quoridor?first=hell&second=hell"),
)
SOCKET = "_nicegui_ws/socket.io"
PATIENCE = 120.0  # seconds until an answer is missed
FLAGS, GAMES = 30, 10  # moves of the two people in one measurement
BOARD = "/minesweeper?board=16x30x99"


@dataclass
class Tab:
    """An open page and what its server has sent."""

    address: str
    elements: dict[str, dict[str, Any]] = field(default_factory=dict)
    frame: float = 0.0  # seconds until the response
    built: float = 0.0  # seconds until the page is complete
    status: int = 0
    _messages: list[str] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, path: str) -> "Tab":
        start = time.perf_counter()
        async with aiohttp.ClientSession() as session, session.get(self.address + path) as response:
            text = await response.text()
        self.status, self.frame = response.status, time.perf_counter() - start
        if self.status != 200:
            return self
        await self._connect(text)
        await self.until(lambda: not self.having("lab-placeholder"))
        self.built = time.perf_counter() - start
        return self

    async def _connect(self, text: str) -> None:
        query = ast.literal_eval(_found(r"query: (\{.*?\}),\n", text))
        self.client = query["client_id"]
        packed = _found(r"parseElements\(String\.raw`(.*?)`\)", text)
        for escaped, sign in (("&#36;", "$"), ("&#96;", "`"), ("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&")):
            packed = packed.replace(escaped, sign)
        self.elements = json.loads(packed)
        self.socket = socketio.AsyncClient(reconnection=False)
        self.socket.on("*", self._receive)
        handshake = query | {"tab_id": self.client, "document_id": self.client, "old_tab_id": ""}
        await self.socket.connect(self.address, transports=["websocket"], socketio_path=SOCKET, wait_timeout=PATIENCE)
        await self.socket.emit("handshake", handshake)

    async def _receive(self, kind: str, message: dict[str, Any]) -> None:
        if kind == "update":
            for number, element in message.items():
                if element is None:
                    self.elements.pop(number, None)
                elif number != "_id":
                    self.elements[number] = element
        self._messages.append(json.dumps(message, ensure_ascii=False))
        self._news.set()

    def having(self, css_class: str) -> list[str]:
        """Return the numbers of the elements with a class."""
        return [number for number, element in self.elements.items() if css_class in element.get("class", ())]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def click(self, css_class: str, answer: str, *arguments: object) -> float:
        """Click on an element and return the seconds until a message matches the answer."""
        (number,) = self.having(css_class)
        (listener,) = (event for event in self.elements[number]["events"] if event["type"] == "click")
        self._messages.clear()
        start = time.perf_counter()
        event = {"id": int(number), "client_id": self.client, "listener_id": listener["listener_id"]}
        await self.socket.emit("event", event | {"args": [json.dumps(one) for one in arguments]})
        await self.until(lambda: any(re.search(answer, message) for message in self._messages))
        return time.perf_counter() - start

    async def close(self) -> None:
        if self.status == 200:
            await self.socket.disconnect()


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None, f"the page does not contain {pattern}"
    return found[1]


async def plant_flags(tab: Tab) -> list[float]:
    """Plant and remove flags; the answer is the cell drawn again."""
    cells = [number // 2 for number in range(FLAGS)]
    return [await tab.click("drawing", rf"cell-{cell}\b", f"cell-{cell}", "right") for cell in cells]


async def play_games(tab: Tab) -> list[float]:
    """Play the center of the board; the answer is the move of the engine."""
    seconds = []
    for _ in range(GAMES):
        seconds.append(await tab.click("drawing", r"cell \d, O", "cell-4", "left"))
        seconds.append(await tab.click("new-game", "cell 4, free"))
    return seconds


async def measure(address: str, pages: Sequence[str], at_once: bool) -> dict[str, list[float]]:
    """Open pages, one by one or at once while two people play, and let the two play on while they are open."""
    people = [await Tab(address).open(path) for path in (BOARD, "/tictactoe?x=you&o=minimax")]
    assert all(tab.status == 200 for tab in people), "the pages of the players did not open"
    flags, moves = list[float](), list[float]()

    async def play() -> None:
        seconds = await asyncio.gather(plant_flags(people[0]), play_games(people[1]))
        flags.extend(seconds[0])
        moves.extend(seconds[1])

    if at_once:
        playing = asyncio.create_task(play())
        tabs = await asyncio.gather(*(Tab(address).open(path) for path in pages))
        await playing
    else:
        tabs = [await Tab(address).open(path) for path in pages]
    await play()
    for tab in (*people, *tabs):
        await tab.close()
    good = [tab for tab in tabs if tab.status == 200]
    return {
        "errors": [float(tab.status) for tab in tabs if tab.status != 200],
        "frame of a page": [tab.frame for tab in good],
        "whole page": [tab.built for tab in good],
        "a flag": flags,
        "a move and its reply": moves,
    }


@contextmanager
def serving(folder: Path, *runs: str) -> Iterator[str]:
    """Yield the address of a new server with these folders of runs."""
    arguments = ["port=0", "open_browser=false", "seed=0", f"runs=[{','.join(runs)}]"]
    process = subprocess.Popen(
        [sys.executable, "-m", "src.play", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(EXPERIMENTS.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield _found(r"(http://\S+)", process.stdout.readline())
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def training(home: Path) -> Iterator[None]:
    """Train as the Train page does, from the first metrics on."""
    jobs = Jobs(home)
    job = jobs.start(TRAINING, jobs.new_directory("minesweeper_8x8", "ppo"))
    try:
        while not (job.directory / "metrics.csv").exists():
            assert job.is_running(), f"the training has ended: {job.output()}"
            time.sleep(0.5)
        yield
        assert job.is_running(), "the training ended before the measurement"
    finally:
        os.killpg(job.pid or 0, signal.SIGKILL)
        while job.is_running():
            time.sleep(0.1)


async def warm(address: str) -> None:
    """Open every page once, after the engines are loaded."""
    while True:
        tab = await Tab(address).open("/")
        await tab.close()
        if not tab.having("lab-progress"):
            break
        await asyncio.sleep(1)
    for page in PAGES:
        await (await Tab(address).open(page)).close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tabs", type=int, default=20, help="opened at once")
    tabs = parser.parse_args(arguments).tabs
    pages = [PAGES[number % len(PAGES)] for number in range(tabs)]
    with TemporaryDirectory() as name, serving(Path(name), "outputs", str(EXPERIMENTS)) as address:
        asyncio.run(warm(address))
        alone = asyncio.run(measure(address, PAGES, at_once=False))
        with training(Path(name) / "outputs"):
            loaded = asyncio.run(measure(address, pages, at_once=True))
    print(
        f"{tabs} tabs at once, two players and a training; pages that answered with an error: {len(loaded['errors'])}"
    )
    print(f"{'':24}{'alone':>22}{'under load':>22}{'ratio of':>12}")
    print(f"{'':24}{'median':>11}{'longest':>11}{'median':>11}{'longest':>11}{'medians':>12}   s")
    for what in [name for name in alone if name != "errors"]:
        before, after = median(alone[what]), median(loaded[what])
        longest = f"{max(alone[what]):11.3f}{after:11.3f}{max(loaded[what]):11.3f}"
        print(f"{what:24}{before:11.3f}{longest}{after / before:12.1f}")


if __name__ == "__main__":
    main()
