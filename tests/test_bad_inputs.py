"""Every invalid command is reported in one sentence, before anything is written."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.faults.command_lines import Line, Result
from tests.bad_inputs import bad_inputs
from tests.lab import ROOT

REFUSAL = Result(1, "error: seed=-1 must be a whole number\n", [])


def answers(folder: Path, *count: str) -> list[tuple[Line, Result, str | None]]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    command = [sys.executable, "-m", "tests.bad_inputs", str(folder), *count]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [(Line(*answer["line"]), Result(*answer["result"]), answer["problem"]) for answer in found]


@pytest.mark.slow
def test_bad_inputs_are_answered_by_one_sentence_and_leave_nothing_behind(tmp_path: Path):
    found = answers(tmp_path)
    assert [line for line, _, _ in found] == [(line.command, [*line.arguments]) for line in bad_inputs()]
    wrong = [f"{line} {problem or result}" for line, result, problem in found if problem or not names_it(line, result)]
    assert not wrong, "\n".join(wrong)


def names_it(line: Line, result: Result) -> bool:
    """Whether a refusal names the key typed last, or its value."""
    path, _, value = (line.arguments or (line.command,))[-1].lstrip("+~-").partition("=")
    key = re.split(r"[@./]", path)[-1]
    named = key in result.error or key.rpartition("_")[2] in result.error or (len(value) > 1 and value in result.error)
    return result.code == 1 and named


def test_random_command_lines_are_accepted_or_refused(tmp_path: Path):
    found = answers(tmp_path, "12")
    assert len(found) == 12
    assert not [f"{line} {problem}" for line, _, problem in found if problem]


def test_a_refusal_of_one_line_is_no_problem():
    assert REFUSAL.problem() is None
    assert Result(0, "a warning\n", ["outputs"]).problem() is None


@pytest.mark.parametrize(
    "result",
    [
        REFUSAL._replace(changes=["outputs"]),
        REFUSAL._replace(error="a warning\nerror: seed=-1 must be a whole number\n"),
        REFUSAL._replace(error="seed=-1 must be a whole number\n"),
        REFUSAL._replace(error="Traceback (most recent call last):\nValueError: -1\n"),
        REFUSAL._replace(code=-9),
        REFUSAL._replace(code=2),
        Result(0, "Traceback (most recent call last):\nValueError: -1\n", []),
    ],
)
def test_any_other_answer_is_a_problem(result: Result):
    assert result.problem() is not None
