"""Every invalid command is reported in one sentence, before anything is written."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bad_inputs import bad_inputs
from tests.lab import ROOT

MAX_LETTERS = 700


@pytest.mark.slow
def test_bad_inputs_are_answered_by_one_sentence_and_leave_nothing_behind(tmp_path: Path):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "HYDRA_FULL_ERROR": "",
        "COLUMNS": "120",
    }
    command = [sys.executable, "-m", "tests.bad_inputs", str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(bad_inputs()) >= 200
    wrong = [answer for answer in answers if not is_one_sentence(answer) or answer["left"]]
    assert not wrong, "\n".join(f"{answer['command']} {answer['left']}\n{answer['output']}" for answer in wrong)


def is_one_sentence(answer: dict) -> bool:
    """Whether the message is one sentence that names the key typed last, or its value."""
    text, word = answer["output"].strip(), answer["command"][-1].lstrip("+~-")
    path, _, value = word.partition("=")
    key = re.split(r"[@./]", path)[-1]
    named = key in text or key.rpartition("_")[2] in text or (len(value) > 1 and value in text)
    one_line = text.startswith("error: ") and "\n" not in text and len(text) <= MAX_LETTERS
    return answer["status"] == 1 and one_line and named
