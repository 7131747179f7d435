"""Detection of decided races: the loser has no walls left and the pawns do not meet."""

from typing import Any

from .board import cell_set, has_cell, inlined, kernel
from .paths import distance, flood, neighbor, spread, way_back


@kernel
def plies_to_win(board: Any) -> int:
    """Return the plies until the winner of a decided race arrives, negative if the opponent wins; 0 if undecided."""
    me = board.ply & 1
    other = 1 - me
    if board.left[me] > 0 and board.left[other] > 0:
        return 0
    mine, theirs = distance(board, me), distance(board, other)
    if mine <= theirs:
        plies = 2 * mine - 1
        won = board.left[other] == 0 and _runs_free(board, me, 0)
    else:
        plies = 2 * theirs
        won = board.left[me] == 0 and _runs_free(board, other, 1)
        plies = -plies
    return plies if won and board.ply + abs(plies) <= board.ply_limit else 0


@inlined
def _runs_free(board: Any, runner: int, behind: int) -> bool:
    """Whether the runner can follow its shortest path without being adjacent to the other pawn when that is to move.

    `behind` is the number of moves of the other pawn before the runner's first. If they are never adjacent, the other
    pawn can neither block nor jump, and needs its own distance to arrive.
    """
    steps, cell = flood(board, runner)
    low, high = cell_set(board.pawn[1 - runner])
    for k in range(steps + behind + 1):
        board.chased[k, 0], board.chased[k, 1] = low, high
        low, high = spread(board, low, high)
    near = steps - 1 + behind  # moves of the other before the runner's last
    if has_cell(board.chased[near, 0], board.chased[near, 1], cell):
        return False
    while steps > 0:
        steps -= 1
        cell = neighbor(board, cell, way_back(board, runner, cell, steps))
        if has_cell(board.chased[steps + behind, 0], board.chased[steps + behind, 1], cell):
            return False
    return True
