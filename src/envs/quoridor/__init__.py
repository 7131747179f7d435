"""Quoridor: two pawns race across the board; walls lengthen the way."""
