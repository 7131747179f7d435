"""Solvers. Input is the player's view: `visible` (rows, cols) int8, 0..8 a number, -1 hidden, -2 flagged.

Flags may be wrong, so the solvers ignore them.
"""

from .analysis import Analysis, analyse, mine_probabilities
from .bulk_play import SOLVERS, GameResults, play_boards
from .choice import Choice, choose
from .exact import certain_moves, exact_moves
from .local import forced_moves, heuristic_moves, rules_moves
from .no_guess import no_guess_board, random_boards
from .probability import InconsistentPosition
from .proof import Proof, find_proof

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
