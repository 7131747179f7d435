"""Golden files: games, names of metrics and short training runs as regression tests. `make golden` regenerates them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from src.algos.minimax import MinimaxAgent
from src.core.play.agent import Agent, RandomAgent
from src.core.play.game import TwoPlayerGame
from src.envs.connect_four.game import ConnectFour
from src.envs.game_2048.game import Game2048
from src.envs.othello.game import Othello
from src.envs.quoridor.game import Quoridor
from src.envs.tictactoe.game import TicTacToe
from tests.algos.test_alphabeta import make_agent
from tests.golden import deployment, metrics, minesweeper, training

FOLDER = Path(__file__).parent
LEVELS = {
    "hard": make_agent(depth=2, noise=3, selective=True, waiting_plies=60),
    "hell": make_agent(depth=6, selective=True, waiting_plies=60),
}


def transcript(game: TwoPlayerGame | Game2048, agents: list[Agent], seed: int) -> str:
    rng = np.random.default_rng(seed)
    state = game.initial(rng)
    lines = [game.render(state)]
    while (outcome := game.outcome(state)) is None:
        seat = game.to_move(state)
        legal = " ".join(game.move_name(state, action) for action in game.legal_actions(state))
        action = agents[seat].decide(game, game.view(state), rng).action
        assert action is not None
        lines += ["", f"seat {seat}, legal: {legal}", f"plays {game.move_name(state, action)}"]
        state = game.play(state, action)
        lines.append(game.render(state))
    return "\n".join([*lines, "", f"outcome for seat 0: {outcome:+d}", ""])


# File name to what plays the game and returns its text.
PLAYTHROUGHS: dict[str, Callable[[], str]] = {
    "tictactoe_random.txt": lambda: transcript(TicTacToe(symmetric=True), [RandomAgent(), RandomAgent()], seed=1),
    "tictactoe_minimax.txt": lambda: transcript(TicTacToe(symmetric=True), [RandomAgent(), MinimaxAgent()], seed=2),
    "minesweeper.txt": minesweeper.transcript,
    "quoridor_random.txt": lambda: transcript(Quoridor(5, 3, 60, False), [RandomAgent(), RandomAgent()], seed=1),
    "quoridor_levels.txt": lambda: transcript(Quoridor(9, 4, 200, False), [LEVELS["hard"], LEVELS["hell"]], seed=0),
    "connect_four.txt": lambda: transcript(ConnectFour(6, 7, 4), [RandomAgent(), RandomAgent()], seed=1),
    "othello.txt": lambda: transcript(Othello(4), [RandomAgent(), RandomAgent()], seed=0),
    "game_2048.txt": lambda: transcript(Game2048(size=3, goal=32), [RandomAgent()], seed=0),
    "deployment.txt": deployment.transcript,
}


if __name__ == "__main__":
    for name, play in PLAYTHROUGHS.items():
        (FOLDER / name).write_text(play())
    metrics.FILE.write_text(metrics.regenerate())
    training.FILE.write_text(training.regenerate())
