"""2048: slide tiles so that equal ones merge, and reach a large one before the board is full."""
