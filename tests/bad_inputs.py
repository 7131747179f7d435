"""Try invalid commands quickly: one process imports everything once and forks a child for each command line.

`python -m tests.bad_inputs FOLDER` tries those of bad_inputs.txt, with `--few` one of each command, and then some
random ones; each is answered by a line, a JSON object.
"""

import gc
import json
import sys
from pathlib import Path
from typing import NamedTuple

from experiments.faults.command_lines import CommandLines, Line
from tests import parsed_configs
from tests.lab import ROOT

COMMANDS = Path(__file__).with_suffix(".txt")
RANDOM = 12


class BadInput(NamedTuple):
    line: Line
    named: str  # what its error has to contain; if empty, the key typed last or its value


def bad_inputs(few: bool) -> list[BadInput]:
    """Read the file: a command line in each line, and after `=>` what its error has to contain."""
    rows = (row.partition(" => ") for row in COMMANDS.read_text().replace("{root}", str(ROOT)).splitlines())
    found = [BadInput(Line(row.split()[0], tuple(row.split()[1:])), named) for row, _, named in rows]
    return list({one.line.command: one for one in found}.values()) if few else found


def main(folder: str, chosen: str = "") -> None:
    gc.disable()
    parsed_configs.keep()
    parsed_configs.parse_all()
    source = CommandLines(Path(folder), seed=0)
    gc.freeze()  # a collection in a child would copy all the memory that it shares
    random = [BadInput(source.line(number), "") for number in range(RANDOM)]
    for line, named in [*bad_inputs(few=chosen == "--few"), *random]:
        result = source.try_line(line)
        answer = {"line": line, "named": named, "result": result, "problem": result.problem()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
