"""Quoridor: two pawns race across the board, walls make the way longer."""
