"""Every invalid command is reported in one sentence, before anything is written."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from experiments.faults.command_lines import Line, Result
from tests.bad_inputs import RANDOM, bad_inputs
from tests.lab import python

REFUSAL = Result(1, "error: seed=-1 must be a whole number\n", [])


class Answer(NamedTuple):
    line: Line
    named: str
    result: Result
    problem: str | None


def answers(folder: Path, *chosen: str) -> list[Answer]:
    done = python("-m", "tests.bad_inputs", str(folder), *chosen, OMP_NUM_THREADS="1")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Answer(Line(one["line"][0], tuple(one["line"][1])), one["named"], Result(*one["result"]), one["problem"])
        for one in found
    ]


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_bad_input_is_refused_in_one_line_before_any_write(tmp_path: Path, few: bool):
    """Random command lines may be accepted as well."""
    found, known = answers(tmp_path, *(["--few"] if few else [])), bad_inputs(few)
    assert [(one.line, one.named) for one in found[: len(known)]] == known
    assert len(found) == len(known) + RANDOM
    wrong = [one for one in found if one.problem or (one in found[: len(known)] and not is_refused(one))]
    assert not wrong, "\n".join(f"{one.line} {one.problem or one.result}" for one in wrong)


def is_refused(answer: Answer) -> bool:
    """Whether a command line is refused by an error that names what it has to."""
    line, named, result, _ = answer
    if named:
        return result.code == 1 and named in result.error
    path, _, value = (line.arguments or (line.command,))[-1].lstrip("+~-").partition("=")
    key = re.split(r"[@./]", path)[-1]
    is_named = (
        key in result.error or key.rpartition("_")[2] in result.error or (len(value) > 1 and value in result.error)
    )
    return result.code == 1 and is_named


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
