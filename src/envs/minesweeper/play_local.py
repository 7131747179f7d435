"""A game of Minesweeper in the terminal, step by step, for a person or any agent."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from src.core.errors import UserError
from src.core.play.agent import Agent
from src.envs.minesweeper import rules, viewer
from src.envs.minesweeper.game import Minesweeper, Position, View
from src.envs.minesweeper.solver import mine_probabilities

HELP = "r ROW COLUMN reveals, f ROW COLUMN sets or takes a flag, m shows the mine probabilities, q quits"
ENDINGS = {1: "You won.", 0: "The step limit is reached.", -1: "That was a mine."}


def play_local(
    game: Minesweeper,
    rng: np.random.Generator,
    agent: Agent | None = None,
    *,
    heatmap: Path | None = None,
    ask: Callable[[str], str] = input,
    tell: Callable[[str], None] = print,
) -> int | None:
    """Play one game and return its outcome, None if it was left; an agent plays where Enter alone is pressed.

    Mine probabilities are drawn to `heatmap` too, each time they are asked for.
    """
    state = game.initial(rng)
    tell(HELP + ("; Enter lets the agent move" if agent else ""))
    tell(game.render(state))
    while (outcome := game.outcome(state)) is None:
        try:
            line = ask("> ").strip().lower()
        except EOFError:
            return None
        if line == "q":
            return None
        try:
            if line == "m":
                show_probabilities(game.view(state), heatmap, tell)
                continue
            if line or agent is None:
                action: int | None = parse(game, game.view(state), line)
            else:
                action = consult(game, state, agent, rng, tell)
            if action is None:
                tell("The agent stops here.")
                return None
            state = game.play(state, action)
        except UserError as error:
            tell(f"{error}. {HELP}")
        else:
            if game.outcome(state) is None:
                tell(game.render(state))
    solution = (state.boards.number[0] == rules.MINE).reshape(game.rows, game.cols)
    view = game.view(state)
    tell(viewer.text_board(view.visible, view.mines, solution=solution))
    tell(ENDINGS[outcome])
    return outcome


def show_probabilities(view: View, heatmap: Path | None, tell: Callable[[str], None]) -> None:
    if (view.visible < 0).all():
        tell("The mines are laid by the first reveal, which is safe.")
        return
    probability = mine_probabilities(view.visible, view.mines)
    tell(viewer.text_board(view.visible, view.mines, mine_probability=probability))
    if heatmap is not None:
        viewer.save_heatmap(heatmap, view.visible, probability)
        tell(f"drawn to {heatmap}")


def parse(game: Minesweeper, view: View, line: str) -> int:
    """The action that a typed line names."""
    words = line.split()
    if (
        len(words) != 3
        or words[0] not in ("r", "f")
        or not all(word.isascii() and word.isdigit() for word in words[1:])
    ):
        raise UserError(f"{line!r} is not a move")
    row, col = int(words[1]), int(words[2])
    if row >= game.rows or col >= game.cols:
        raise UserError(f"row {row}, column {col} is off the board of {game.rows} rows and {game.cols} columns")
    if view.visible[row, col] >= 0:
        raise UserError(f"row {row}, column {col} is revealed already")
    if words[0] == "f" and not game.flag_actions:
        raise UserError("this game is played without flags")
    return row * game.cols + col + (game.cells if words[0] == "f" else 0)


def consult(
    game: Minesweeper, state: Position, agent: Agent, rng: np.random.Generator, tell: Callable[[str], None]
) -> int | None:
    """The agent's choice, told with what it knows about the position."""
    view = game.view(state)
    action, info, _ = agent.decide(game, view, rng)
    boards = {name: info[name] for name in ("action_probability", "mine_probability") if name in info}
    if boards:
        tell(viewer.text_board(view.visible, view.mines, **boards))
    told = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in info.items()}
    facts = ", ".join(f"{name}: {value}" for name, value in told.items() if name not in boards)
    if action is not None:
        kind, cell = divmod(action, game.cells)
        move = f"{('reveal', 'flag')[kind]} row {cell // game.cols}, column {cell % game.cols}"
        tell(f"{move} ({facts})" if facts else move)
    return action
