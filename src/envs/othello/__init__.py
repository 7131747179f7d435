"""Othello, also called Reversi: discs between two of the opponent's change sides."""
