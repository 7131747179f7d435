"""Tic-tac-toe, the game small enough to check everything by walking it."""
