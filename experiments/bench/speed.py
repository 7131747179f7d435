"""Measuring and printing speed, and the rows of the common table."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.variant import FirstClick


class Row(NamedTuple):
    """A row of the table of `python -m experiments.bench`."""

    name: str
    figure: float
    unit: str
    peer: str | None = None  # whom it is compared with
    peer_figure: float | None = None  # None where the peer is not installed

    @property
    def ratio(self) -> float | None:
        return None if self.peer_figure is None else self.figure / self.peer_figure


class Board(NamedTuple):
    rows: int
    cols: int
    mines: int

    def config(self, first_click: FirstClick, compact: bool) -> EnvConfig:
        return EnvConfig(
            H=self.rows,
            W=self.cols,
            mine_count=self.mines,
            first_click=first_click,
            max_steps=2 * self.rows * self.cols,
            flag_actions=True,
            compact=compact,
        )


class Speed(NamedTuple):
    """Env steps per second."""

    best: float  # of the repeats, step calls alone
    median: float
    sampled: float  # median with the sampling of actions counted in
    core: float  # best by the CPU time of all threads, which is least sensitive to other load


def measure(sample: Callable[[], None], step: Callable[[], object], envs: int, seconds: float, repeats: int) -> Speed:
    for _ in range(20):  # compiles, and takes the games out of their common beginning
        sample()
        step()
    alone, together, core = [], [], []
    for _ in range(repeats):
        calls, stepping, working, began = 0, 0.0, 0.0, time.perf_counter()
        while (elapsed := time.perf_counter() - began) < seconds:
            sample()
            before, worked = time.perf_counter(), time.process_time()
            step()
            stepping += time.perf_counter() - before
            working += time.process_time() - worked
            calls += 1
        alone.append(calls * envs / stepping)
        together.append(calls * envs / elapsed)
        core.append(calls * envs / working)
    return Speed(max(alone), statistics.median(alone), statistics.median(together), max(core))


def show(name: str, speed: Speed) -> None:
    print(
        f"{name:<34}{speed.best:>14,.0f}{speed.median:>14,.0f}{speed.sampled:>16,.0f}{speed.core:>16,.0f}", flush=True
    )


def show_header(title: str, repeats: int) -> None:
    print(f"\n{title}: env steps/s over {repeats} repeats")
    print(f"{'':<34}{'best':>14}{'median':>14}{'with sampling':>16}{'a core-second':>16}")
