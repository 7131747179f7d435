"""Tab completion in bash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import ROOT

COMPLETE = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=($2)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_boardlab "${COMP_WORDS[0]}"
echo "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("python -m src.train env=tic", "env=tictactoe"),
        ("python -m src.train algo=ppo algo.losses.cl", "algo.losses.clip_range= algo.losses.clip_range_vf="),
        ("python -m pytest te", ""),
        ("python train.py env=tic", ""),
    ],
)
def test_a_word_is_completed(line: str, words: str, tmp_path: Path):
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": programs, "PYTHONPATH": str(ROOT)}
    script = ["bash", "-c", COMPLETE, "bash", str(ROOT / "docs/completion.bash"), line]
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == words
