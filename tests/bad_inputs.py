"""Commands that no user should get away with, and a process that tries them quickly.

A command takes seconds to import what it needs, so one process imports it once and forks a child for each command line:
`python -m tests.bad_inputs FOLDER` answers each with a line, a JSON object.
"""

import importlib
import json
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

COMMANDS = Path(__file__).with_suffix(".txt")  # one a line


def bad_inputs() -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in COMMANDS.read_text().splitlines()]


def answers(folder: Path, commands: list[tuple[str, ...]]) -> Iterator[dict]:
    for command in commands:
        workplace = Path(tempfile.mkdtemp(dir=folder))
        output = folder / f"{workplace.name}.txt"
        child = os.fork()
        if child == 0:
            _run(workplace, output, command)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        left = sorted(str(path.relative_to(workplace)) for path in workplace.rglob("*"))
        yield {"command": command, "status": status, "output": output.read_text(), "left": left}


def _run(folder: Path, output: Path, command: tuple[str, ...]) -> None:
    """As `python -m src.<command>` would, and never return."""
    status = 0
    try:
        os.chdir(folder)
        written = os.open(output, os.O_WRONLY | os.O_CREAT, 0o666)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(written, 1)
        os.dup2(written, 2)
        name, *arguments = command
        if name == "train":  # a refusal is not the one that is looked for once the training has begun
            importlib.import_module("src.core.run").Run.__enter__ = _began
        sys.argv = [f"src/{name}.py", *arguments]
        runpy.run_module(f"src.{name}", run_name="__main__")
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        if isinstance(exit_.code, str):
            print(exit_.code, file=sys.stderr)
    except BaseException:
        status = 99
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _began(_: object) -> None:
    raise AssertionError("the training begins")


def main() -> None:
    for module in ("compose", "core.report", "core.run", "algos.ppo", "algos.maskable_ppo", "algos.imitation"):
        importlib.import_module(f"src.{module}")
    for answer in answers(Path(sys.argv[1]), bad_inputs()):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
