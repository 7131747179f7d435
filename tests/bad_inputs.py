"""Invalid commands, and a process that tries them quickly.

A command takes seconds to import what it needs, so one process imports it once and forks a child for each command line:
`python -m tests.bad_inputs FOLDER` answers each with a line, a JSON object.
"""

import importlib
import json
import math
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from experiments.faults import forks

COMMANDS = Path(__file__).with_suffix(".txt")  # one a line


def bad_inputs() -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in COMMANDS.read_text().splitlines()]


def answers(folder: Path, commands: list[tuple[str, ...]]) -> Iterator[dict]:
    for command in commands:
        workplace = Path(tempfile.mkdtemp(dir=folder))
        child = forks.start(partial(_run, workplace, command), folder / f"{workplace.name}.txt")
        child.wait(math.inf)
        left = sorted(str(path.relative_to(workplace)) for path in workplace.rglob("*"))
        yield {"command": command, "status": child.code, "output": child.text, "left": left}


def _run(folder: Path, command: tuple[str, ...]) -> None:
    """Run a command like `python -m src.<command>`."""
    os.chdir(folder)
    name, *arguments = command
    if name == "train":  # a refusal is not the one that is looked for once the training has begun
        importlib.import_module("src.core.runs.run").Run.__enter__ = _began
    sys.argv = [f"src/{name}.py", *arguments]
    runpy.run_module(f"src.{name}", run_name="__main__")


def _began(_: object) -> None:
    raise AssertionError("the training begins")


def main() -> None:
    for module in (
        "compose",
        "core.runs.report",
        "core.runs.run",
        "algos.ppo",
        "algos.maskable_ppo",
        "algos.imitation",
    ):
        importlib.import_module(f"src.{module}")
    for answer in answers(Path(sys.argv[1]), bad_inputs()):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
