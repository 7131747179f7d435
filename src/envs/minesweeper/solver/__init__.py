"""Solvers. Input is the player's view: `visible` (rows, cols) int8, 0..8 a number, -1 hidden, -2 flagged.

Flags may be wrong, so the solvers ignore them.
"""

from .bulk_play import SOLVERS, GameResults, no_guess_board, play_boards, random_boards
from .engine import InconsistentPosition
from .exact import Analysis, Choice, analyze, certain_moves, choose, exact_moves, mine_probabilities
from .proof import Proof, find_proof
from .single_point import forced_moves, heuristic_moves, rules_moves

__all__ = [
    "SOLVERS",
    "Analysis",
    "Choice",
    "GameResults",
    "InconsistentPosition",
    "Proof",
    "analyze",
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
