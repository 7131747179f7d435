"""Try invalid commands quickly: one process imports everything once and forks a child for each command line.

`python -m tests.bad_inputs FOLDER` tries those of bad_inputs.txt, with a number as many random ones; each is answered
by a line, a JSON object.
"""

import gc
import json
import sys
from pathlib import Path

from experiments.faults.command_lines import CommandLines, Line
from tests import parsed_configs

COMMANDS = Path(__file__).with_suffix(".txt")  # one a line


def bad_inputs() -> list[Line]:
    rows = (line.split() for line in COMMANDS.read_text().splitlines())
    return [Line(command, tuple(arguments)) for command, *arguments in rows]


def main(folder: str, count: str = "") -> None:
    gc.disable()
    parsed_configs.keep()
    parsed_configs.parse_all()
    source = CommandLines(Path(folder), seed=0)
    gc.freeze()  # a collection in a child would copy all the memory that it shares
    for line in [source.line(number) for number in range(int(count))] if count else bad_inputs():
        result = source.try_line(line)
        print(json.dumps({"line": line, "result": result, "problem": result.problem()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
