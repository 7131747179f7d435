"""Fuzz the line protocol of real processes: thousands of garbage lines, and Ctrl-C during long commands."""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.faults import forks
from experiments.faults.lines import ENGINES, hostile_line, is_harmless, physical_lines
from experiments.faults.report import Row

ROOT = Path(__file__).parents[2]
SECONDS = 120.0  # for any answer, on a busy machine
FOREVER = 10**9  # nodes, seconds or simulations
BLOCK = 200  # lines of a case
LONG = (  # an engine, and commands that would take it hours
    (("env=quoridor", "agent=alphabeta", f"agent.nodes={FOREVER}"), ("go", "analyze 3", "eval", "perft 20")),
    (("env=quoridor", "agent=alphabeta", f"agent.seconds={FOREVER}"), ("go", "analyze 1")),
    (("env=quoridor", "agent=mcts", f"agent.simulations={FOREVER}"), ("go", "analyze 2", "eval")),
)


def start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "src.engine", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | forks.WITHOUT_THREADS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell has it ignored in the background
    )


def harmless_lines(rng: random.Random) -> Iterator[bytes]:
    """Yield lines that do not quit the engine, save a file elsewhere or count for hours."""
    while True:
        raw = rng.choice((hostile_line(rng).encode(errors="surrogatepass"), rng.randbytes(rng.randrange(200))))
        lines = physical_lines(raw)
        if all(is_harmless(line) and line.split() != ["quit"] for line in lines):
            yield raw


class Conversation:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def answer(self) -> str:
        """Return the next line, or fail after a timeout."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        if not ready:
            raise TimeoutError(f"no answer after {SECONDS:.0f} s")
        return self.process.stdout.readline().decode(errors="replace").rstrip("\n")

    def ask(self, line: str) -> str:
        self.say(line)
        return self.answer()

    def wait_until_busy(self, seconds: float) -> None:
        """Wait until the process has used this much CPU time, so that a signal interrupts its work."""
        began, until = self.computed(), time.monotonic() + SECONDS
        while self.computed() - began < seconds and time.monotonic() < until:
            time.sleep(0.01)

    def computed(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Garbage:
    """Many lines to one process in each case."""

    folder: Path
    seed: int

    def target(self, number: int) -> str:
        return ENGINES[number % len(ENGINES)][0].removeprefix("env=")

    def case(self, number: int, row: Row) -> None:
        """Send lines, each followed by a marker that must be echoed."""
        arguments, rng = ENGINES[number % len(ENGINES)], random.Random(f"{self.seed} process {number}")
        source = harmless_lines(rng)
        sent = b"".join(next(source) + b"\nmark-%d\n" % place for place in range(BLOCK))
        process = start(arguments, self.folder)
        try:
            out, err = process.communicate(sent, timeout=SECONDS + BLOCK)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            row.fail(number, f"{' '.join(arguments)} does not answer {BLOCK} lines")
            return
        finally:
            row.tried += BLOCK
        answers = out.decode(errors="replace").splitlines()
        marks = [answer.split()[1] for answer in answers if answer.startswith("error mark-")]
        if marks != [f"mark-{place}" for place in range(BLOCK)]:
            row.fail(number, f"{' '.join(arguments)}: {len(marks)} of {BLOCK} marks came back: {err.decode()[-500:]}")
        elif err or process.returncode != 0:
            row.fail(number, f"{' '.join(arguments)} ended with {process.returncode}: {err.decode()[-500:]}")


@dataclass(frozen=True)
class Interrupts:
    """Ctrl-C during every long command of one engine in each case."""

    folder: Path
    seed: int

    def target(self, number: int) -> str:
        return LONG[number % len(LONG)][0][1].removeprefix("agent=")

    def case(self, number: int, row: Row) -> None:
        """Send SIGINT during every long command of an engine, which must answer `error stopped` and continue."""
        arguments, commands = LONG[number % len(LONG)]
        rng, process = random.Random(f"{self.seed} interrupt {number}"), start(arguments, self.folder)
        talk = Conversation(process)
        try:
            for command in commands:
                row.tried += 1
                before = talk.ask("write")
                talk.say(command)
                talk.wait_until_busy(rng.uniform(0.05, 1.0))
                process.send_signal(signal.SIGINT)
                answer, after = talk.answer(), talk.ask("write")
                if (answer, after) != ("error stopped", before):
                    row.fail(number, f"{' '.join(arguments)}: {command} was answered by {answer!r}, then {after!r}")
                    return
        except TimeoutError as error:
            row.fail(number, f"{' '.join(arguments)}: {error}")
        finally:
            process.kill()
            process.communicate()
