"""A line protocol over standard input and output, through which other programs play against agents."""

import copy
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from omegaconf import DictConfig

from .config.cli import hydra_command, use_env_of_run
from .core.errors import UserError
from .core.files import MAX_DATA_BYTES, read_regular, write_atomic
from .core.interrupt import MAX_LINE_LENGTH, CommandReader
from .core.play.agent import Agent, ClockAgent, StoppableAgent
from .core.play.game import Game, TwoPlayerGame
from .core.play.game_record import ReplayedGame, read_game, write_game
from .core.play.search_interface import DepthResult, score_text
from .core.seeding import generator

MAX_ERROR_LENGTH = 300  # characters
MAX_SECONDS = 1_000_000  # of a clock


class Engine:
    """One position and one agent. A command returns its answer, or raises `UserError` and changes nothing."""

    def __init__(self, game: Game, agent: Agent, seed: int) -> None:
        self.agent_game, self.agent, self.rng = game, agent, generator(seed, "engine")
        self.game = game if isinstance(game, TwoPlayerGame) else ReplayedGame(game)  # with positions as text
        self.start: Any = self.game.initial(self.rng)
        self.actions: list[int] = []  # from the start to the position
        self.state: Any = self.start
        self.send: Callable[[str], None] = lambda line: None  # a line before the answer
        self.is_stopped: Callable[[], bool] = lambda: False  # whether `stop` was sent after the current command
        self.commands = {
            "position": self.position,
            "write": self.write,
            "save": self.save,
            "load": self.load,
            "legal": self.legal,
            "go": self.go,
            "perft": self.perft,
            "eval": self.eval,
            "analyze": self.analyze,
            "show": self.show,
        }

    def answer(self, line: str) -> str:
        name, *arguments = line.split()
        before = self.start, self.actions, self.state, self.rng.bit_generator.state
        try:
            if name not in self.commands:
                raise UserError(f"{name} is not a command; there are {' '.join(self.commands)} stop quit")
            return self.commands[name](arguments)
        except BaseException as error:  # also Ctrl-C
            self.start, self.actions, self.state, self.rng.bit_generator.state = before
            if isinstance(error, UserError):
                return _error(str(error))
            raise

    def position(self, arguments: list[str]) -> str:
        setup, names = arguments, []
        if "moves" in arguments:
            cut = arguments.index("moves")
            setup, names = arguments[:cut], arguments[cut + 1 :]
        if not setup:
            raise UserError(
                "expected: position startpos [moves m1 m2 ...], or a position from write instead of startpos"
            )
        start = self.game.initial(self.rng) if setup == ["startpos"] else self.game.read_position(" ".join(setup))
        state, actions = start, []
        for name in names:
            actions.append(self.game.parse_move(state, name))
            state = self.game.play(state, actions[-1])
        self.start, self.actions, self.state = start, actions, state
        return "ok"

    def write(self, arguments: list[str]) -> str:
        _expect_none("write", arguments)
        return f"position {self.game.write_position(self.state)}"

    def save(self, arguments: list[str]) -> str:
        path = _file_of("save", arguments)
        try:
            write_atomic(path, write_game(self.game, self.start, self.actions))
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be written: {error}") from error
        return "ok"

    def load(self, arguments: list[str]) -> str:
        path = _file_of("load", arguments)
        try:
            start, actions = read_game(self.game, read_regular(path, MAX_DATA_BYTES).decode())
        except UnicodeDecodeError as error:
            raise UserError(f"{path} cannot be read: {error}") from error
        state = start
        for action in actions:
            state = self.game.play(state, action)
        self.start, self.actions, self.state = start, actions, state
        return "ok"

    def legal(self, arguments: list[str]) -> str:
        _expect_none("legal", arguments)
        actions = self.game.legal_actions(self.game.view(self.state))
        return " ".join(["legal", *sorted(self.game.move_name(self.state, action) for action in actions)])

    def go(self, arguments: list[str]) -> str:
        times = _times(arguments)
        self._refuse_finished()
        view = self.game.view(self.state)
        if not times:
            action = self.agent.decide(self.agent_game, view, self.rng).action
        elif isinstance(self.agent, ClockAgent):
            action = self.agent.decide_by_clock(self.agent_game, view, *times).action
        else:
            raise UserError("this agent plays without a clock: type go alone, or choose agent=master")
        if action is None:
            raise UserError("the agent chose no move in this position")
        return f"bestmove {self.game.move_name(self.state, action)}"

    def perft(self, arguments: list[str]) -> str:
        depth = _number("perft", arguments)
        try:
            return f"nodes {self.game.perft(self.state, depth)}"
        except RecursionError:
            raise UserError(f"perft {depth} is too deep here: choose a smaller number") from None

    def eval(self, arguments: list[str]) -> str:
        _expect_none("eval", arguments)
        self._refuse_finished()
        rng = copy.deepcopy(self.rng)  # an evaluation must not change the next move
        info = self.agent.decide(self.agent_game, self.game.view(self.state), rng).info
        info = {name: value for name, value in info.items() if np.ndim(value) == 0}  # arrays do not fit on a line
        if not info:
            raise UserError("this agent does not evaluate positions")
        return " ".join(["eval", *(f"{name}={'_'.join(str(value).split())}" for name, value in info.items())])

    def analyze(self, arguments: list[str]) -> str:
        """Return the best moves, one per line: rank, score, and the principal variation."""
        count = _number("analyze", arguments)
        self._refuse_finished()
        view = self.game.view(self.state)
        if isinstance(self.agent, StoppableAgent):
            found = self.agent.analyze(self.agent_game, view, count, self._report)
        else:
            found = self.agent.analyze(self.agent_game, view, count)
        lines = [
            " ".join([str(rank), line.score, *self.game.line_names(self.state, line.actions)])
            for rank, line in enumerate(found, start=1)
        ]
        return "\n".join([*lines, "ok"])

    def stop(self) -> None:
        """End an analysis that is running; one that begins is ended by its first report."""
        if isinstance(self.agent, StoppableAgent):
            self.agent.stop()

    def _report(self, result: DepthResult) -> None:
        speed = round(result.nodes / result.seconds) if result.seconds > 0 else 0
        names = " ".join(self.game.line_names(self.state, result.line))
        score = score_text(result.score)
        self.send(f"info depth {result.depth} score {score} nodes {result.nodes} nps {speed} pv {names}")
        if self.is_stopped():
            self.stop()

    def show(self, arguments: list[str]) -> str:
        _expect_none("show", arguments)
        return f"{self.game.render(self.state)}\nok"

    def _refuse_finished(self) -> None:
        if self.game.outcome(self.state) is not None:
            raise UserError("the game is over")


class OutputClosedError(Exception):
    """The program that reads the answers has ended."""


def serve(engine: Engine, lines: TextIO, out: TextIO) -> None:
    """Answer line by line until `quit` or the end of either stream. Ctrl-C stops the current command."""

    def send(text: str) -> None:
        try:
            print(text, file=out, flush=True)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # buffered output would raise again at exit
            raise OutputClosedError from None

    reader = CommandReader(lines, engine.stop)
    engine.send, engine.is_stopped = send, reader.is_stopped
    try:
        for line in reader:
            if len(line) == MAX_LINE_LENGTH:
                send(_error(f"a line must be shorter than {MAX_LINE_LENGTH} characters"))
            elif line.strip():
                send(_answer(engine, line))
    except OutputClosedError:
        return


def _answer(engine: Engine, line: str) -> str:
    try:
        return engine.answer(line)
    except KeyboardInterrupt:
        return _error("stopped")


def _error(message: str) -> str:
    """Return a printable error of one line."""
    line = " ".join(message.split())
    shown = "".join(char if char.isprintable() else "?" for char in line[:MAX_ERROR_LENGTH])
    return f"error {shown}{'...' if len(line) > MAX_ERROR_LENGTH else ''}"


def _expect_none(command: str, arguments: list[str]) -> None:
    if arguments:
        raise UserError(f"{command} takes no arguments, but got {' '.join(arguments)}")


def _number(command: str, arguments: list[str]) -> int:
    if len(arguments) != 1 or not (arguments[0].isascii() and arguments[0].isdigit() and len(arguments[0]) < 4):
        raise UserError(f"expected: {command} N, with N a whole number from 0 to 999")
    return int(arguments[0])


def _times(arguments: list[str]) -> tuple[float, ...]:
    """Return the seconds left and the increment, or nothing if no clock is given."""
    if not arguments:
        return ()
    names, values = arguments[::2], arguments[1::2]
    if (names == ["time"] or names == ["time", "increment"]) and len(names) == len(values):
        try:
            left, increment = float(values[0]), float(values[1]) if len(values) == 2 else 0.0
        except ValueError:
            left = increment = -1.0
        if 0 <= left <= MAX_SECONDS and 0 <= increment <= MAX_SECONDS:
            return left, increment
    raise UserError("expected: go, or go time SECONDS [increment SECONDS], with numbers from 0 to 1000000")


def _file_of(command: str, arguments: list[str]) -> Path:
    if not arguments:
        raise UserError(f"expected: {command} FILE")
    return Path(" ".join(arguments))


@hydra_command("engine", use_env_of_run)
def run(cfg: DictConfig) -> None:
    from .config import compose, schema

    cfg = compose.validate(cfg, schema.Engine)
    game = compose.build_env(cfg).game
    agent = compose.build_agent("agent", cfg, game)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # invalid UTF-8 gets an error line
    # Not sys.stdin: a reader that waits for a line holds its lock, which the interpreter needs at exit.
    lines = open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    serve(Engine(game, agent, cfg.seed), lines, sys.stdout)


if __name__ == "__main__":
    run()
