"""A line protocol over standard input and output, so that other programs can play ours."""

import sys
from typing import Any, TextIO

import hydra
from omegaconf import DictConfig

from src.core.agent import Agent
from src.core.cli import launch, refuse_multirun
from src.core.errors import LabError
from src.core.game import TwoPlayerGame
from src.core.seeding import generator


class Engine:
    """One position and one agent. A command answers with text or raises `LabError` and has then changed nothing."""

    def __init__(self, game: TwoPlayerGame, agent: Agent, seed: int) -> None:
        self.game, self.agent, self.rng = game, agent, generator(seed, "engine")
        self.state: Any = game.initial(self.rng)
        self.commands = {
            "position": self.position,
            "legal": self.legal,
            "go": self.go,
            "perft": self.perft,
            "eval": self.eval,
            "show": self.show,
        }

    def answer(self, line: str) -> str:
        name, *arguments = line.split()
        try:
            if name not in self.commands:
                raise LabError(f"{name} is not a command; there are {' '.join(self.commands)} quit")
            return self.commands[name](arguments)
        except LabError as error:
            return "error " + " ".join(str(error).split())

    def position(self, arguments: list[str]) -> str:
        if arguments[:1] != ["startpos"] or arguments[1:2] not in ([], ["moves"]):
            raise LabError("expected: position startpos [moves m1 m2 ...]")
        state = self.game.initial(self.rng)
        for text in arguments[2:]:
            state = self.game.play(state, self.game.parse_move(state, text))
        self.state = state
        return "ok"

    def legal(self, arguments: list[str]) -> str:
        _expect_none("legal", arguments)
        return " ".join(["legal", *self._legal_names()])

    def go(self, arguments: list[str]) -> str:
        _expect_none("go", arguments)
        self._refuse_finished()
        action = self.agent.decide(self.game, self.game.view(self.state), self.rng).action
        if action is None:
            raise LabError("the agent has no move to offer here")
        return f"bestmove {self.game.move_name(self.state, action)}"

    def perft(self, arguments: list[str]) -> str:
        if len(arguments) != 1 or not (arguments[0].isascii() and arguments[0].isdigit() and len(arguments[0]) < 4):
            raise LabError("expected: perft N, with N a whole number from 0 to 999")
        return f"nodes {perft(self.game, self.state, int(arguments[0]))}"

    def eval(self, arguments: list[str]) -> str:
        _expect_none("eval", arguments)
        self._refuse_finished()
        why = self.agent.decide(self.game, self.game.view(self.state), self.rng).why
        if not why:
            raise LabError("this agent has nothing to say about a position")
        return " ".join(["eval", *(f"{name}={value}" for name, value in why.items())])

    def show(self, arguments: list[str]) -> str:
        _expect_none("show", arguments)
        return f"{self.game.render(self.state)}\nok"

    def _legal_names(self) -> list[str]:
        return sorted(
            self.game.move_name(self.state, action) for action in self.game.legal_actions(self.game.view(self.state))
        )

    def _refuse_finished(self) -> None:
        if self.game.outcome(self.state) is not None:
            raise LabError("the game is over")


def perft(game: TwoPlayerGame, state: Any, depth: int) -> int:
    """Positions reached by playing `depth` plies in every possible way."""
    if depth == 0:
        return 1
    actions = game.legal_actions(game.view(state))
    return len(actions) if depth == 1 else sum(perft(game, game.play(state, action), depth - 1) for action in actions)


def serve(engine: Engine, lines: TextIO, out: TextIO) -> None:
    for line in lines:
        if line.split() == ["quit"]:
            return
        if line.strip():
            print(engine.answer(line), file=out, flush=True)


def _expect_none(command: str, arguments: list[str]) -> None:
    if arguments:
        raise LabError(f"{command} takes no arguments, but got {' '.join(arguments)}")


@hydra.main(version_base="1.3", config_path="../conf", config_name="engine")
def main(cfg: DictConfig) -> None:
    from src import compose, schema

    cfg = compose.checked(cfg, schema.Engine)
    game = compose.build(cfg.env, "env").game
    if not isinstance(game, TwoPlayerGame):
        raise LabError(f"the line protocol is for two-player games, which env={cfg.composition.env} is not")
    agent = compose.build_agent("agent", cfg, game)
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text get an error line like any unknown command
    serve(Engine(game, agent, cfg.seed), sys.stdin, sys.stdout)


if __name__ == "__main__":
    launch(main, refuse_multirun)
