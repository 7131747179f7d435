"""Solvers. Input is the player's view: `visible` (rows, cols) int8, 0..8 a number, -1 hidden, -2 flagged.

Flags may be wrong, so the solvers ignore them.
"""

from src.envs.minesweeper.solver.analysis import Analysis, analyse, mine_probabilities
from src.envs.minesweeper.solver.bulk_play import SOLVERS, GameResults, play_boards
from src.envs.minesweeper.solver.choice import Choice, choose
from src.envs.minesweeper.solver.exact import certain_moves, exact_moves
from src.envs.minesweeper.solver.local import forced_moves, heuristic_moves, rules_moves
from src.envs.minesweeper.solver.no_guess import no_guess_board, random_boards
from src.envs.minesweeper.solver.probability import InconsistentPosition
from src.envs.minesweeper.solver.proof import Proof, find_proof

__all__ = [
    "SOLVERS",
    "Analysis",
    "Choice",
    "GameResults",
    "InconsistentPosition",
    "Proof",
    "analyse",
    "certain_moves",
    "choose",
    "exact_moves",
    "find_proof",
    "forced_moves",
    "heuristic_moves",
    "mine_probabilities",
    "no_guess_board",
    "play_boards",
    "random_boards",
    "rules_moves",
]
