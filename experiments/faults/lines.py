"""Fuzz the line protocol with valid commands, mutated ones and garbage, for every game.

A case is a block of lines to a new engine. What an engine accepts is checked against the rules of a second game of the
same kind, move by move; what it refuses must have changed nothing.
"""

import io
import os
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
import numpy as np

from experiments.faults.report import Row
from src.config import CONF
from src.config.build import build as build_node
from src.core.interrupt import MAX_LINE_LENGTH
from src.core.play.game import TwoPlayerGame
from src.core.play.game_record import ReplayedGame
from src.engine import MAX_ERROR_LENGTH, Engine, serve

BLOCK = 100  # lines of a case
COMMANDS = ("position", "write", "save", "load", "legal", "go", "perft", "eval", "analyze", "show")
PLAIN = ("write", "legal", "go", "eval", "show")  # without arguments

WORDS = [*COMMANDS, "startpos", "moves", "0", "4", "8", "9", "-1", "10", "200", "-", "1e9", "0x10", "NaN", "+1", "None"]
WORDS += ["${x}", "~", ".", "e1", "e9", "e2", "e8", "e3h", "e5v", "e1,e9", "e2h,e2v", "a1", "i9", "j9", "X........"]
WORDS += ["XO.XO...X", "seed", "7", "reveal:0,0", "flag:3,4", "reveal:99,0", "deploy:R1:10,13", "go:1,1", "shoot:K1"]
WORDS += ["wait", "pass", "99999999999999999999", "-0", "1.5", "٣", "0" * 50]
ODD = ["", "\0", "\x1b[2J", "\x7f", "\u2028", "\u202e", "\ud800", "é", "²", "\U0001f600", "9" * 5000, "x" * 9000]
ODD += ["\t", "\r", "\x0b", "\x85", "%s%n", "../..", "'", '"', "\\", ";", "|", "`id`", "$(id)"]
PATHS = ["game.txt", "another.txt", "a b  c", "sub/game.txt", "sub", "../up.txt", ".", "..", "/", "", "~/x", "-"]
PATHS += [
    "Ünïcode☃",
    "pipe",
    "loop",
    "away",
    "/dev/null",
    "/dev/full",
    "/dev/zero",
    "/dev/stdin",
    "a\0b",
    "sub/../b.txt",
]
PATHS += ["none/of/these/exists.txt", "*", "$HOME", "game.txt/x", "/proc/self/mem", "/proc/self/environ", "x" * 300]
PATHS += [".game.txt.partial"]

ENGINES: tuple[tuple[str, ...], ...] = (
    ("env=tictactoe", "agent=minimax"),
    ("env=tictactoe", "agent=alphabeta"),
    ("env=quoridor", "agent=alphabeta", "agent.difficulty=easy"),
    ("env=quoridor", "env.game.size=5", "env.game.walls=3", "agent=mcts", "agent.simulations=8"),
    ("env=quoridor", "env.game.size=3", "env.game.walls=1", "agent=runner"),
    ("env=minesweeper_8x8", "env.config.flag_actions=true", "agent=exact"),
    ("env=minesweeper_9x9", "agent=rules"),
    ("env=minesweeper_16x16", "agent=heuristic"),
    ("env=minesweeper_16x30", "env.config.first_click=agent", "agent=random"),
    ("env=deployment", "agent=greedy"),
    ("env=deployment_mirror", "agent=random"),
    ("env=deployment_siege", "agent=defensive"),
    ("env=deployment_alternated", "agent=tactical"),
)

SLOW = 4  # the last ones, whose blocks are fewer
SCHEDULE = (*(ENGINES[:-SLOW] * SLOW), *ENGINES[-SLOW:])

SHAPES = {
    "position": re.compile(r"ok"),
    "save": re.compile(r"ok"),
    "load": re.compile(r"ok"),
    "write": re.compile(r"position \S.*"),
    "legal": re.compile(r"legal( \S+)*"),
    "go": re.compile(r"bestmove \S+"),
    "perft": re.compile(r"nodes \d+"),
    "eval": re.compile(r"eval( [^\s=]+=\S*)+"),
    "analyze": re.compile(r"(\d+ \S+( \S+)+\n)*ok"),
    "show": re.compile(r"(.*\n)+ok"),
}


def hostile_line(rng: random.Random) -> str:
    """Return words of the protocol in random order, sometimes with invalid ones among them."""
    words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 9))]
    for _ in range(rng.choice([0, 0, 1, 2])):
        words.insert(rng.randrange(len(words) + 1), rng.choice(ODD))
    if rng.random() < 0.1:
        words[rng.randrange(len(words))] = str(rng.randrange(-(10**30), 10**30))
    if rng.random() < 0.1:
        words = ["".join(chr(rng.randrange(0x3000)) for _ in range(rng.randrange(1, 40)))]
    if rng.random() < 0.02:
        words = ["position", "startpos", "moves"] + ["e2", "e8", "e1", "e9"] * 500
    return " ".join(words)


@dataclass
class Talk:
    """One engine, and a second game as a model to compare with."""

    engine: Engine
    model: TwoPlayerGame
    rng: random.Random

    def next_line(self) -> bytes:
        kind = self.rng.random()
        if kind < 0.45:
            return self.valid().encode()
        if kind < 0.75:
            return self.mutated(self.valid()).encode(errors="surrogatepass")
        if kind < 0.97:
            return hostile_line(self.rng).encode(errors="surrogatepass")
        if kind < 0.9995:
            return bytes(self.rng.randrange(256) for _ in range(self.rng.randrange(200)))
        return self.rng.choice((b"x", b"moves ", b"\xff", b"\0")) * (MAX_LINE_LENGTH + self.rng.randrange(-2, 3))

    def valid(self) -> str:
        command = self.rng.choice((*COMMANDS, "position", "position", "position"))
        if command in PLAIN:
            return command
        if command == "position":
            return self.position()
        if command in ("perft", "analyze"):
            return f"{command} {self.rng.randrange(3)}"
        return f"{command} {self.rng.choice(PATHS)}"

    def position(self) -> str:
        """Return a start and some legal moves, or sometimes the position that they reach in text form."""
        rng = np.random.default_rng(self.rng.randrange(2**32))
        state = self.model.initial(rng)
        start = f"seed {state.seed}" if isinstance(self.model, ReplayedGame) else "startpos"
        names = []
        for _ in range(self.rng.choice((0, 1, 2, 3, 5, 8, 20))):
            legal = self.model.legal_actions(self.model.view(state))
            if not legal:
                break
            action = self.rng.choice(legal)
            names.append(self.model.move_name(state, action))
            state = self.model.play(state, action)
        if self.rng.random() < 0.2:
            return f"position {self.model.write_position(state)}"
        return " ".join(["position", start, *(["moves", *names] if names else [])])

    def mutated(self, line: str) -> str:
        words, rng = line.split(" "), self.rng
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            place = rng.randrange(len(words))
            change = rng.randrange(7)
            if change == 0:
                words.insert(place, rng.choice(WORDS))
            elif change == 1:
                words[place] = rng.choice((*WORDS, *ODD))
            elif change == 2:
                words.insert(place, words[rng.randrange(len(words))])
            elif change == 3 and len(words) > 1:
                del words[place]
            elif change == 4 and words[place]:
                letter = rng.randrange(len(words[place]))
                words[place] = words[place][:letter] + chr(rng.randrange(1, 300)) + words[place][letter + 1 :]
            elif change == 5:
                words[place] = re.sub(r"\d+", lambda _: str(rng.randrange(-3, 40)), words[place])
            else:
                words[place] = words[place].swapcase()
        return " ".join(words)

    def say(self, line: str) -> str | None:
        """Send a line and return what is wrong with the answer."""
        before, files = self.snapshot(), _listing()
        out = io.StringIO()
        try:
            serve(self.engine, io.StringIO(f"{line}\n", newline="\n"), out)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        answer, words = out.getvalue(), line.split()
        if not words or words == ["quit"]:
            return None if answer == "" else f"answered by {answer!r}"
        if not answer.endswith("\n"):
            return "no answer"
        answer = answer[:-1]
        if answer.startswith("error "):
            return self.check_refusal(answer, before, files)
        shape = SHAPES.get(words[0])
        if shape is None or len(line) >= MAX_LINE_LENGTH - 1 or shape.fullmatch(answer) is None:
            return f"answered by {answer[:200]!r}"
        return self.check_answer(words, answer, before)

    def snapshot(self) -> tuple[Any, ...]:
        engine = self.engine
        written = engine.game.write_position(engine.state)
        return engine.start, tuple(engine.actions), engine.state, written, repr(engine.rng.bit_generator.state)

    def check_refusal(self, answer: str, before: tuple[Any, ...], files: object) -> str | None:
        if "\n" in answer or not answer.isprintable() or len(answer) > MAX_ERROR_LENGTH + 20:
            return f"refused by {answer[:400]!r}"
        if self.snapshot() != before:
            return f"refused, but something has changed: {answer}"
        return None if _listing() == files else f"refused, but files have changed: {answer}"

    def check_answer(self, words: list[str], answer: str, before: tuple[Any, ...]) -> str | None:
        if words[0] in ("position", "load"):
            return self.check_moves(words)
        if self.snapshot()[:4] != before[:4]:
            return "the position has changed"
        names = sorted(self.names(self.engine.state))
        if words[0] == "legal" and answer.split()[1:] != names:
            return f"{answer[:200]} but legal are {names[:20]}"
        if words[0] == "go" and answer.split()[1] not in names:
            return f"{answer} is not legal"
        if words[0] == "analyze":
            first = [line.split()[2] for line in answer.splitlines()[:-1]]
            if not set(first) <= set(names):
                return f"weighs {first}, but legal are {names[:20]}"
        return None

    def check_moves(self, words: list[str]) -> str | None:
        """Replay accepted moves in the model."""
        state: Any = self.engine.start
        played: list[str] = []
        for action in self.engine.actions:
            if action not in self.model.legal_actions(self.model.view(state)):
                return f"action {action} was accepted, which is not legal after {played}"
            played.append(self.model.move_name(state, action))
            state = self.model.play(state, action)
        if state != self.engine.state:
            return "the position is not the one that its moves lead to"
        if words[0] == "position" and "moves" in words and words[words.index("moves") + 1 :] != played:
            return f"the moves became {played}"
        again = self.model.read_position(self.model.write_position(state))
        if self.model.write_position(again) != self.model.write_position(state):
            return "the position cannot be written and read"
        return None

    def names(self, state: Any) -> list[str]:
        return [self.model.move_name(state, action) for action in self.model.legal_actions(self.model.view(state))]


def physical_lines(raw: bytes) -> list[str]:
    """Split like standard input: UTF-8, invalid bytes replaced, any kind of line end."""
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", errors="replace").read().split("\n")


def build(overrides: Sequence[str]) -> tuple[Any, Any]:
    with hydra.initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = hydra.compose("engine", list(overrides))
        game, agent = build_node(cfg.env, "env").game, build_node(cfg.agent, "agent")
    agent.check(game)
    return game, agent


def play_out(overrides: Sequence[str], moves: int) -> None:
    """Let an agent play, so that the kernels of the game are loaded."""
    game, agent = build(overrides)
    rng = np.random.default_rng(0)
    state = game.initial(rng)
    for _ in range(moves):
        if game.outcome(state) is None:
            game.observe(game.view(state))
            state = game.play(state, agent.decide(game, game.view(state), rng).action)


class Talks:
    """The cases of one seed; games are built once."""

    def __init__(self, _: Path, seed: int, make: Callable[..., Engine] = Engine) -> None:
        self.seed, self.make = seed, make
        self.built: dict[tuple[str, ...], tuple[Any, Any, Any]] = {}

    def target(self, number: int) -> str:
        return SCHEDULE[number % len(SCHEDULE)][0].removeprefix("env=")

    def case(self, number: int, row: Row) -> None:
        overrides = SCHEDULE[number % len(SCHEDULE)]
        if overrides not in self.built:
            model = build(overrides)[0]
            self.built[overrides] = (*build(overrides), model)
        game, agent, model = self.built[overrides]
        model = model if isinstance(model, TwoPlayerGame) else ReplayedGame(model)
        with tempfile.TemporaryDirectory() as folder, chdir(_sandbox(Path(folder))):
            talk = Talk(self.make(game, agent, number), model, random.Random(f"{self.seed} lines {number}"))
            for place in range(BLOCK):
                row.tried += 1
                for line in physical_lines(talk.next_line()):
                    reason = talk.say(line) if is_harmless(line) else None
                    if reason is not None:
                        row.fail(number, f"line {place} of {' '.join(overrides)}, {line[:200]!r}: {reason}")
                        return


def is_harmless(line: str) -> bool:
    """Whether a line can be tried here: it saves only below the current folder, and counts nothing for hours."""
    words = line.split()
    if words[:1] == ["save"] and len(words) > 1:
        path = " ".join(words[1:])
        return "/" not in path or path in PATHS
    return words[:1] != ["perft"] or words[1:] in (["0"], ["1"], ["2"]) or not "".join(words[1:2]).isdigit()


def _sandbox(folder: Path) -> Path:
    inner = folder / "outer" / "inner"
    (inner / "sub").mkdir(parents=True)
    os.mkfifo(inner / "pipe")
    (inner / "loop").symlink_to("loop")
    (inner / "away").symlink_to(folder / "nowhere")
    return inner


def _listing() -> list[tuple[str, int, int]]:
    found = []
    for folder in (".", "..", "sub"):
        for entry in os.scandir(folder):
            status = entry.stat(follow_symlinks=False)
            found.append(
                (entry.path, status.st_size, status.st_mtime_ns if entry.is_file(follow_symlinks=False) else 0)
            )
    return sorted(found)
