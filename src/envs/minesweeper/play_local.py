"""Play Minesweeper in the terminal, as a person or with an agent."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...core.errors import UserError
from ...core.play.agent import Agent
from .game import Minesweeper, Position, View
from .notation import text_board
from .solver import mine_probabilities
from .variant import MINE

HELP = "r ROW COLUMN reveals, f ROW COLUMN sets or takes a flag, m shows the mine probabilities, q quits"
ENDINGS = {1: "You won.", 0: "The step limit is reached.", -1: "That was a mine."}


def play_local(
    game: Minesweeper,
    rng: np.random.Generator,
    agent: Agent | None = None,
    *,
    heatmap: Path | None = None,
    ask: Callable[[str], str] = input,
    output: Callable[[str], None] = print,
) -> int | None:
    """Play one game and return its outcome, or None if it was aborted; an empty line lets the agent move.

    Mine probabilities are also drawn to the file `heatmap` whenever they are shown.
    """
    state = game.initial(rng)
    output(HELP + ("; Enter lets the agent move" if agent else ""))
    output(game.render(state))
    while (outcome := game.outcome(state)) is None:
        try:
            line = ask("> ").strip().lower()
        except EOFError:
            return None
        if line == "q":
            return None
        try:
            if line == "m":
                show_probabilities(game.view(state), heatmap, output)
                continue
            if line or agent is None:
                action: int | None = parse(game, game.view(state), line)
            else:
                action = consult(game, state, agent, rng, output)
            if action is None:
                output("The agent stops here.")
                return None
            state = game.play(state, action)
        except UserError as error:
            output(f"{error}. {HELP}")
        else:
            if game.outcome(state) is None:
                output(game.render(state))
    solution = (state.boards.number[0] == MINE).reshape(game.rows, game.cols)
    view = game.view(state)
    output(text_board(view.visible, view.mines, solution=solution))
    output(ENDINGS[outcome])
    return outcome


def show_probabilities(view: View, heatmap: Path | None, output: Callable[[str], None]) -> None:
    if (view.visible < 0).all():
        output("The mines are laid by the first reveal, which is safe.")
        return
    probability = mine_probabilities(view.visible, view.mines)
    output(text_board(view.visible, view.mines, mine_probability=probability))
    if heatmap is not None:
        from .image import save_heatmap  # Pillow, needed for pictures only

        save_heatmap(heatmap, view.visible, probability)
        output(f"drawn to {heatmap}")


def parse(game: Minesweeper, view: View, line: str) -> int:
    """Parse a typed line to an action."""
    words = line.split()
    if (
        len(words) != 3
        or words[0] not in ("r", "f")
        or not all(word.isascii() and word.isdigit() for word in words[1:])
    ):
        raise UserError(f"{line!r} is not a move")
    row, col = int(words[1]), int(words[2])
    if row >= game.rows or col >= game.cols:
        rows, columns = f"rows 0..{game.rows - 1}", f"columns 0..{game.cols - 1}"
        raise UserError(f"row {row}, column {col} is off the board: {rows}, {columns}")
    if view.visible[row, col] >= 0:
        raise UserError(f"row {row}, column {col} is revealed already")
    if words[0] == "f" and not game.flag_actions:
        raise UserError("this game is played without flags")
    return row * game.cols + col + (game.cells if words[0] == "f" else 0)


def consult(
    game: Minesweeper, state: Position, agent: Agent, rng: np.random.Generator, output: Callable[[str], None]
) -> int | None:
    """Return the action that an agent chooses, and print its info about the position."""
    view = game.view(state)
    action, info, _ = agent.decide(game, view, rng)
    boards = {name: info[name] for name in ("action_probability", "mine_probability") if name in info}
    if boards:
        output(text_board(view.visible, view.mines, **boards))
    shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in info.items()}
    facts = ", ".join(f"{name}: {value}" for name, value in shown.items() if name not in boards)
    if action is not None:
        kind, cell = divmod(action, game.cells)
        move = f"{('reveal', 'flag')[kind]} row {cell // game.cols}, column {cell % game.cols}"
        output(f"{move} ({facts})" if facts else move)
    return action
