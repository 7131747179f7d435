"""Compile the kernels of all games, or of those named, into the cache: python -m src.compile_kernels [GAME ...]

Kernels are compiled when they are first called, which takes seconds each. This calls them ahead of need, groups of
kernels in processes of their own. A game whose kernels were compiled before, from the same sources, is left out.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

import hydra
from llvmlite import binding

from .config.build import build
from .config.compose import own_hydra
from .core import kernels
from .core.package import ROOT, command
from .core.parallel import CORES

ENVS = Path(__file__).parent / "envs"
GAMES = sorted(path.parent.name for path in ENVS.glob("*/warm_up.py"))


def compile_missing(games: Sequence[str] = GAMES) -> bool:
    """Compile what is not known to be compiled; return whether that succeeded."""
    missing = [game for game in games if not _marker(game).exists()]
    groups = [f"{game}.{group.__name__}" for wave in _waves(missing) for game, group in wave]
    begin, failed, command = time.monotonic(), set(), [sys.executable, "-m", f"{ROOT}.compile_kernels", "--group"]
    with ThreadPoolExecutor(CORES) as pool:
        jobs = {pool.submit(subprocess.run, [*command, name]): name for name in groups}
        for number, job in enumerate(as_completed(jobs), 1):
            if job.result().returncode != 0:
                failed.add(jobs[job].split(".")[0])
            seconds = time.monotonic() - begin
            print(f"compiled kernels: {jobs[job]}, {number} of {len(jobs)}, {seconds:.0f} s", flush=True)
    for game in set(missing) - failed:
        for old in kernels.folder().glob(f"warm-{game}-*"):
            old.unlink(missing_ok=True)
        _marker(game).touch()
    return not failed


def _marker(game: str) -> Path:
    """Return the file that exists once the kernels of a game are compiled from these sources for this machine."""
    machine = binding.get_host_cpu_name(), kernels.stamp(ENVS / game / "warm_up.py")
    return kernels.folder() / f"warm-{game}-{hashlib.sha256(repr(machine).encode()).hexdigest()[:16]}"


def _module(game: str) -> Any:
    return import_module(f"{ROOT}.envs.{game}.warm_up")


def _waves(games: Sequence[str]) -> Iterator[list[tuple[str, Any]]]:
    """Yield the first group of each game, which its page needs, then the second of each, and so on."""
    for wave in zip_longest(*([(game, group) for group in _module(game).GROUPS] for game in games)):
        yield [group for group in wave if group is not None]


def compile_group(name: str) -> None:
    """Compile one group of kernels in this process, such as minesweeper.solver."""
    game, _, group = name.partition(".")
    known = [f"{game}.{one.__name__}" for game in GAMES for one in _module(game).GROUPS]
    if name not in known:
        sys.exit(f"error: --group={name} is unknown: choose one of {', '.join(known)}")
    with own_hydra():
        env = build(hydra.compose("engine", [f"env={_module(game).ENV}"]).env, "env")
    getattr(_module(game), group)(env)


def _end_with(parent: int) -> None:
    """Stop this process and its jobs once the process that started it has ended."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(os.getpgid(0), signal.SIGTERM)


def run() -> None:
    parser = argparse.ArgumentParser(prog=command("compile_kernels"), description=str(__doc__).splitlines()[0])
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"of {', '.join(GAMES)}; default: all")
    # `play` uses --background: low priority, until its parent ends.
    parser.add_argument("--background", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--group", help="one group of kernels in this process, such as minesweeper.solver")
    parser.error = lambda message: sys.exit(f"error: {message}: see --help")  # type: ignore[method-assign]
    chosen = parser.parse_args()
    unknown = [name for name in chosen.games if name not in GAMES]
    if unknown:
        sys.exit(f"error: {unknown[0]} has no kernels to compile: choose of {', '.join(GAMES)}")
    if chosen.background:
        os.nice(10)
        if os.getpgrp() != os.getpid():
            os.setsid()  # its jobs join its process group, which `_end_with` stops
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if chosen.group is not None:
        compile_group(chosen.group)
    else:
        sys.exit(not compile_missing(chosen.games or GAMES))


if __name__ == "__main__":
    run()
