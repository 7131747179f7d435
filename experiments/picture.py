"""Render the output of a command as an SVG for the documentation.

python -m experiments.picture experiments/tictactoe_qlearning/run.svg python -m src.train
"""

import io
import os
import subprocess
import sys

from rich.console import Console

COLUMNS = 84


def main() -> None:
    target, *command = sys.argv[1:]
    shown = " ".join(command)
    if command[0] == "python":
        command[0] = sys.executable
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"},
    )
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(f"[bold green]$[/] {shown}\n{done.stdout.rstrip()}")
    console.save_svg(target, title=shown)


if __name__ == "__main__":
    main()
