"""Tic-tac-toe: small enough to test everything exhaustively."""
