"""Console output of a training, with a terminal and without."""

import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from src.config.cli import launch
from src.core.errors import UserError
from src.core.runs.console import Meter, PrintableFormatter, approximate_duration, printable, progress_bar
from tests.lab import ROOT
from tests.waiting import stopped_clock

TRAINING = """
import logging, sys, time
from pathlib import Path
from src.core import ranks
from src.core.runs import console
from src.core.runs.run import Run

logging.basicConfig(level=logging.INFO, format="%(message)s")
console.LINE_SECONDS, console.MEASURED_SECONDS, ranks._joined = 0.2, 0.1, len(sys.argv) > 2
with Run(Path(sys.argv[1]), {"seed": 0, "checkpoint_seconds": 60}, None) as run:
    with run.progress("steps", 1000, 0) as advance:
        for step in range(10, 1001, 10):
            if step in (300, 600):
                run.log(step, {"eval/win_rate": 0.5 if step == 300 else 0.25})
                run.save_best(0.5 if step == 300 else 0.25, {})
            time.sleep(0.01)
            advance(step)
"""
EXPECTED = r"about \d+ s expected; watch with: python -m src\.play \(page Runs\)"
STATE = r"\d+/1,000 steps, [\d,]+ steps/s, ETA \d+:\d\d, win rate {}, highest score 50\.0%"


def training(folder: Path, *arguments: str, stderr: int = subprocess.PIPE, **environment: str) -> subprocess.Popen:
    command = [sys.executable, "-c", TRAINING, str(folder), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "TERM": "xterm", **environment}
    return subprocess.Popen(command, stderr=stderr, env=environment, text=True)


def test_without_a_terminal_there_are_lines(tmp_path: Path):
    process = training(tmp_path)
    lines = process.communicate()[1].splitlines()
    assert process.returncode == 0, lines
    first, *between, last = lines
    assert first == "  0% 0/1,000 steps"
    assert re.fullmatch(
        r"100% 1,000/1,000 steps, [\d,]+ steps/s, took \d+:\d\d, win rate 25.0%, highest score 50.0%", last
    )
    assert len([line for line in between if re.fullmatch(EXPECTED, line)]) == 1
    shown = [line for line in between if re.fullmatch(r" *\d+% " + STATE.format(r"(50|25)\.0%"), line)]
    assert 1 <= len(shown) < 50, "one now and then, not one for each step"


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # as one ends on Linux
        return b""


def test_on_a_terminal_there_is_a_bar(tmp_path: Path):
    here, there = pty.openpty()
    process = training(tmp_path, stderr=there)
    os.close(there)
    shown = b"".join(iter(lambda: read(here), b"")).decode()
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", shown)
    for rate in (r"50\.0%", r"25\.0%"):
        assert re.search(r"━ +\d+% " + STATE.format(rate), text)
    assert len(re.findall(EXPECTED, text)) == 1
    assert "\r" in text, "it is drawn in place"


HOSTILE, SHOWN = "[/x] \x1b[31m\r\u202e\udc80", r"[/x] \x1b[31m\r\u202e\udc80"


def test_control_characters_are_shown_escaped(capsys: pytest.CaptureFixture[str]):
    assert printable(f"a ±\n\t{HOSTILE}") == f"a ±\n\t{SHOWN}"
    assert printable(SHOWN) == SHOWN
    record = logging.LogRecord("name", logging.INFO, "", 0, "value: %s", (HOSTILE,), None)
    assert PrintableFormatter("%(message)s").format(record) == f"value: {SHOWN}"
    with progress_bar(f"games, {HOSTILE}", 1):
        pass
    assert capsys.readouterr().err.count(SHOWN) == 2


def test_a_bar_shows_brackets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar("games, [/x]", 1):
        pass
    assert "games, [/x]" in capsys.readouterr().err


def test_a_command_reports_errors_without_control_characters(monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise UserError("\x1b[31m")

    monkeypatch.setattr(sys, "argv", ["train"])
    monkeypatch.setenv("HYDRA_FULL_ERROR", "")
    with pytest.raises(SystemExit, match=r"error: \\x1b\[31m"):
        launch(fail)


def test_other_ranks_print_nothing(tmp_path: Path):
    process = training(tmp_path, "joined", RANK="1", WORLD_SIZE="1")
    assert process.communicate()[1] == ""
    assert process.returncode == 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return stopped_clock(monkeypatch, "src.core.runs.console.monotonic")


def test_time_before_the_first_step_does_not_count_as_speed(clock: list[float]):
    meter = Meter("steps", 1000, 0)
    clock[0] += 100
    meter.advance(100)
    assert (meter.speed, meter.expected) == (0, None)
    clock[0] += 10
    meter.advance(200)
    assert (meter.speed, meter.seconds_left, meter.expected) == (10, 80, 190)
    assert meter.text() == "200/1,000 steps, 10 steps/s, ETA 1:20"


def test_a_first_update_that_takes_long_is_estimated(clock: list[float]):
    meter = Meter("steps", 10_000, 0)
    clock[0] += 100  # to compile
    meter.advance_within(5.0, "rollout 1/4", 50.0)
    assert (meter.expected, meter.seconds_left) == (None, pytest.approx(199.9))
    clock[0] += 6
    meter.advance_within(500.0, "rollout 2/4", 20.0)
    assert meter.expected == 106 + 475
    assert meter.text() == "500/10,000 steps, 20 steps/s, ETA 7:55, rollout 2/4"
    meter.advance(1000)
    assert (meter.speed, meter.text()) == (20, "1,000/10,000 steps, 20 steps/s, ETA 7:30"), "until two are measured"
    clock[0] += 100
    meter.advance(2000)
    clock[0] += 10
    meter.advance_within(2100.0, "rollout 1/4", 1.0)
    assert meter.speed == 10


def test_speed_is_that_of_the_last_minute(clock: list[float]):
    meter = Meter("steps", 100_000, 0)
    for second in range(200):
        clock[0] += 1
        meter.advance(10 * second if second < 100 else 1000 + 50 * (second - 100))
    assert meter.speed == pytest.approx(50, rel=0.02)


def test_a_limit_of_time_counts_where_it_comes_first(clock: list[float]):
    began = clock[0]
    meter = Meter("steps", 1_000_000, 0, seconds=100, clock=lambda: clock[0] - began)
    meter.advance(0)
    clock[0] += 25
    meter.advance(250)
    assert (meter.seconds_left, meter.fraction, meter.expected) == (75, 0.25, 100)


def test_a_run_that_was_resumed_is_as_fast_as_it_is_now(clock: list[float]):
    meter = Meter("steps", 1000, 900)
    meter.advance(900)
    clock[0] += 10
    meter.advance(910)
    assert (meter.speed, meter.fraction) == (1, 0.91)


def test_durations_in_words():
    assert [approximate_duration(seconds) for seconds in (0.2, 40, 720, 9000)] == [
        "about 1 s", "about 40 s", "about 12 min", "about 2.5 h",
    ]  # fmt: skip
