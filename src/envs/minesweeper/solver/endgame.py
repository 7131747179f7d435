"""Exhaustive search once few completions remain.

Let S be the set of completions that agree with the visible board. Revealing a cell splits S by the number shown; a mine
loses. As all completions are equally likely, the best player wins

    wins(S) = max over cells of the sum over numbers n of wins(completions in S that show n there),   wins({one}) = 1

of them. The revealed cells are the same in all of S, so S identifies the position, whatever the order of moves.
"""

import numpy as np

from ..variant import MINE as SHOWS_MINE
from . import engine
from .counting import count_boxes
from .engine import BUDGET, MEMO, MINE, SIZE, STOP, UNDECIDED, UNKNOWN, Endgame, Engine, Frontier, lean_kernel

BEGIN, END, BEST, CHOICE, COUNT, PICK, BOUND, NUMBER, ACTIVE = range(9)  # fields of a frame


@lean_kernel
def search_endgame(
    visible: np.ndarray, mines: int, e: Engine, log_completions: float, budget: int
) -> tuple[int, float]:
    """Return the cell that wins the most completions and its win probability.

    (-1, 0) if there are too many completions or the search takes more than `budget` positions. The boxes must be in
    order, from a call of `solve` for this position.
    """
    if log_completions >= np.log(engine.COMPLETIONS + 0.5):
        return -1, 0.0
    game, completions = e.endgame, int(np.round(np.exp(log_completions)))
    undecided = list_undecided(visible, e)
    game.total[UNDECIDED], game.total[SIZE], game.total[BUDGET] = undecided, completions, min(budget, MEMO // 2)
    if not list_completions(visible, mines, e, undecided, completions):
        return -1, 0.0
    fill_shown(visible, e)
    for i in range(completions):
        game.subset[i] = i
    for j in range(undecided):
        game.active[j] = j
    game.frame[0, ACTIVE] = undecided
    for place in range(MEMO):
        game.memo_wins[place] = 0
    wins, cell = most_wins(game)
    if wins < 0:
        return -1, 0.0
    return game.cells[cell], wins / completions


@lean_kernel
def list_undecided(visible: np.ndarray, e: Engine) -> int:
    """List the undecided cells box by box, in order, and the unseen cells last; return their number."""
    known, f, game = e.known, e.frontier, e.endgame
    boxes, place, begin = count_boxes(f), game.place, game.begin
    place[boxes] = boxes  # the unseen cells
    for position in range(boxes):
        place[f.order[position]] = position
    for position in range(boxes + 2):
        begin[position] = 0
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN:
            begin[place[boxes if f.box_of[cell] < 0 else f.box_of[cell]] + 1] += 1
    for position in range(boxes + 1):
        begin[position + 1] += begin[position]
    undecided = begin[boxes + 1]
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN:
            position = place[boxes if f.box_of[cell] < 0 else f.box_of[cell]]
            game.cells[begin[position]] = cell
            begin[position] += 1
    return undecided


@lean_kernel
def list_completions(visible: np.ndarray, mines: int, e: Engine, undecided: int, expected: int) -> bool:
    """Write the completions to `shown`, 1 for a mine, found by trying cell after cell.

    Return False if there are not as many as expected, or once the search met too many dead ends to go on.
    """
    f, near, game = e.frontier, e.near, e.endgame
    cells, tried = game.cells, game.tried
    for cell in range(visible.size):
        mines -= visible[cell] < 0 and e.known[cell] == MINE
    for j in range(undecided):
        tried[j] = 2
    found, depth, patience = 0, 0, 200 * expected + 10_000
    while depth >= 0 and patience > 0:
        patience -= 1
        if depth == undecided:
            if found < expected:
                for j in range(depth):
                    game.shown[found * undecided + j] = tried[j] == 1
            found += 1
            depth -= 1
            continue
        if tried[depth] < 2:  # take the last try back
            mines += tried[depth]
            place_mine(visible, near, f, cells[depth], tried[depth], -1)
        tried[depth] -= 1
        if tried[depth] < 0:
            tried[depth] = 2
            depth -= 1
            continue
        mines -= tried[depth]
        place_mine(visible, near, f, cells[depth], tried[depth], 1)
        possible = 0 <= mines < undecided - depth
        for n in near[cells[depth]]:
            possible &= n < 0 or visible[n] < 0 or 0 <= f.need[n] <= f.room[n]
        depth += possible
    return patience > 0 and found == expected


@lean_kernel
def place_mine(visible: np.ndarray, near: np.ndarray, f: Frontier, cell: int, mine: int, sign: int) -> None:
    """Add a decided cell to the counts of its witnesses (sign 1), or remove it (-1)."""
    for n in near[cell]:
        if n < 0:
            break
        if visible[n] >= 0:
            f.need[n] -= sign * mine
            f.room[n] -= sign


@lean_kernel
def fill_shown(visible: np.ndarray, e: Engine) -> None:
    """Replace the mines in `shown` by what each cell would show in each completion."""
    known, near, game = e.known, e.near, e.endgame
    place, undecided = game.place, game.total[UNDECIDED]
    for cell in range(visible.size):
        place[cell] = -1
    for j in range(undecided):
        place[game.cells[j]] = j
    for i in range(game.total[SIZE]):
        for j in range(undecided):
            game.mined[j] = game.shown[i * undecided + j] == 1
        for j in range(undecided):
            number = 0
            for n in near[game.cells[j]]:
                if n < 0:
                    break
                number += game.mined[place[n]] if place[n] >= 0 else visible[n] < 0 and known[n] == MINE
            game.shown[i * undecided + j] = SHOWS_MINE if game.mined[j] else number


@lean_kernel
def most_wins(game: Endgame) -> tuple[int, int]:
    """Return wins(S) for the set of all completions, and the cell to reveal; -1 once the budget is spent or on a stop.

    Depth-first search with an explicit stack, because Numba cannot cache recursive functions.
    """
    frame, undecided, depth = game.frame, game.total[UNDECIDED], 0
    capacity = engine.DEPTH * game.total[SIZE]
    begin_subset(game, 0, 0, game.total[SIZE])
    while True:
        begin, end, best = frame[depth, BEGIN], frame[depth, END], frame[depth, BEST]
        if frame[depth, BOUND] > best and frame[depth, NUMBER] < SHOWS_MINE:
            cell = game.order[depth * undecided + frame[depth, PICK]]
            stop = end  # copy the completions that show the number there behind the subset
            for i in range(begin, end):
                if game.shown[game.subset[i] * undecided + cell] == frame[depth, NUMBER]:
                    game.subset[stop] = game.subset[i]
                    stop += 1
            frame[depth, NUMBER] += 1
            if stop - end < 2:
                continue
            if stop - end == 2:
                frame[depth, BOUND] -= 2 - wins_of_two(game, depth + 1, end)
                continue
            _, place = find_memo(game, end, stop)
            if game.memo_wins[place] > 0:
                frame[depth, BOUND] -= stop - end - game.memo_wins[place]
                continue
            game.total[BUDGET] -= 1
            if game.total[BUDGET] < 0 or 2 * stop - end > capacity or game.total[STOP]:
                return -1, -1
            depth += 1
            begin_subset(game, depth, end, stop)
            continue
        if frame[depth, BOUND] > best:
            best = frame[depth, BOUND]
            frame[depth, BEST] = best
            frame[depth, CHOICE] = game.order[depth * undecided + frame[depth, PICK]]
        if select_cell(game, depth, frame[depth, PICK] + 1):
            continue
        key, place = find_memo(game, begin, end)
        game.memo_key[place] = key
        game.memo_wins[place] = best
        if depth == 0:
            return best, frame[0, CHOICE]
        depth -= 1
        frame[depth, BOUND] -= end - begin - best


@lean_kernel
def begin_subset(game: Endgame, depth: int, begin: int, end: int) -> None:
    """Begin the search of subset[begin:end]."""
    game.frame[depth, BEGIN] = begin
    game.frame[depth, END] = end
    game.frame[depth, BEST] = 0
    game.frame[depth, CHOICE] = -1
    game.frame[depth, COUNT] = rank_cells(game, depth, begin, end)
    select_cell(game, depth, 0)


@lean_kernel
def select_cell(game: Endgame, depth: int, pick: int) -> bool:
    """Consider the next cell; return False if there is none that could beat the best."""
    frame, row = game.frame, depth * game.total[UNDECIDED]
    if pick == frame[depth, COUNT]:
        return False
    frame[depth, PICK] = pick
    frame[depth, NUMBER] = 0
    frame[depth, BOUND] = frame[depth, END] - frame[depth, BEGIN] - game.mine_count[row + game.order[row + pick]]
    return frame[depth, BOUND] > frame[depth, BEST]


@lean_kernel
def find_memo(game: Endgame, begin: int, end: int) -> tuple[np.uint64, np.int64]:
    """Return the key of a subset, and its place in the memo table, or the one where it belongs."""
    key = np.uint64(0)
    for i in range(begin, end):
        key ^= game.label[game.subset[i]]
    place = np.int64(key & np.uint64(MEMO - 1))
    while game.memo_wins[place] > 0 and game.memo_key[place] != key:
        place = (place + 1) & (MEMO - 1)
    return key, place


@lean_kernel
def wins_of_two(game: Endgame, depth: int, begin: int) -> int:
    """Return 2 if a cell that is safe in both completions distinguishes them, else 1."""
    undecided = game.total[UNDECIDED]
    for i in range(game.frame[depth, ACTIVE]):
        j = game.active[depth * undecided + i]
        one = game.shown[game.subset[begin] * undecided + j]
        other = game.shown[game.subset[begin + 1] * undecided + j]
        if one != other and one != SHOWS_MINE and other != SHOWS_MINE:
            return 2
    return 1


@lean_kernel
def rank_cells(game: Endgame, depth: int, begin: int, end: int) -> int:
    """Write the cells worth revealing, safest first, and the mines of each in the subset; return their number.

    One safe cell that splits the subset is enough, as it costs nothing. A cell that shows the same number in all
    completions where it is safe gives no information, and is tried only if no other cell does.
    """
    mine_count, order, active, size = game.mine_count, game.order, game.active, end - begin
    row = depth * game.total[UNDECIDED]
    below = row + game.total[UNDECIDED]  # the row of the next level
    remaining, count = 0, 0
    any_informative = False
    for i in range(game.frame[depth, ACTIVE]):
        j = active[row + i]
        mines, first, informative = 0, SHOWS_MINE, False  # is it a mine, and does it show different numbers?
        for k in range(begin, end):
            number = game.shown[game.subset[k] * game.total[UNDECIDED] + j]
            if number == SHOWS_MINE:
                mines += 1
            elif first == SHOWS_MINE:
                first = number
            elif number != first:
                informative = True
        mine_count[row + j] = mines
        if informative and mines == 0:
            order[row] = j
            rest = game.frame[depth, ACTIVE] - i
            for k in range(rest):
                active[below + remaining + k] = active[row + i + k]
            game.frame[depth + 1, ACTIVE] = remaining + rest
            return 1
        if not informative and (mines == 0 or mines == size):
            continue
        active[below + remaining] = j
        remaining += 1
        if informative and not any_informative:
            any_informative, count = True, 0
        if informative or not any_informative:
            place = count
            while place > 0 and mine_count[row + order[row + place - 1]] > mines:
                order[row + place] = order[row + place - 1]
                place -= 1
            order[row + place] = j
            count += 1
    game.frame[depth + 1, ACTIVE] = remaining
    return count
