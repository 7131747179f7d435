"""Exhaustive search once few completions remain.

Let S be the set of completions that agree with the visible board. Revealing a cell splits S by the number shown; a mine
loses. As all completions are equally likely, the best player wins

    wins(S) = max over cells of the sum over numbers n of wins(completions in S that show n there),   wins({one}) = 1

of them. The revealed cells are the same in all of S, so S identifies the position, whatever the order of moves.
"""

from typing import NamedTuple

import numpy as np

from src.envs.minesweeper.rules import MINE as BANG
from src.envs.minesweeper.solver.constraints import MINE, UNKNOWN, Frontier, count_boxes, kernel, lean_kernel
from src.envs.minesweeper.solver.probability import Engine
from src.envs.splitmix import STRIDE, mix

MEMO = 1 << 16  # size of the memo table; at most half of it is used
DEPTH = 24  # times the number of completions: size of the stack of nested subsets
BEGIN, END, BEST, CHOICE, COUNT, PICK, BOUND, NUMBER = range(8)  # fields of a frame


class Endgame(NamedTuple):
    shown: np.ndarray  # (completions, undecided) int8: number revealed there, BANG for a mine
    label: np.ndarray  # (completions,) uint64: random; a subset is hashed as their xor
    subset: np.ndarray  # (DEPTH * completions,) int32: stack of nested subsets
    frame: np.ndarray  # (undecided + 2, 8) int64: stack frames, with the fields above
    order: np.ndarray  # (undecided + 2, undecided) int32: cells to try in each frame
    bangs: np.ndarray  # (undecided + 2, undecided) int32: mines on each cell, counted over the subset
    active: np.ndarray  # (undecided + 3, undecided) int32: cells that vary over the subset one level up
    actives: np.ndarray  # (undecided + 3,) int32: their number
    memo_key: np.ndarray  # (MEMO,) uint64
    memo_wins: np.ndarray  # (MEMO,) int32, 0 empty
    budget: np.ndarray  # (1,) int64: remaining positions to search


@kernel
def best_ending(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, completions: int, budget: int
) -> tuple[int, float]:
    """Return the best cell and its win probability; (-1, 0) if the search takes more than `budget` positions.

    The boxes must be in order, from a call of `solve` for this position.
    """
    cells = list_undecided(visible, known, e.frontier)
    mined = list_completions(visible, known, mines, e, cells, completions)
    if mined.shape[0] != completions:
        return -1, 0.0
    shown = show(visible, known, e.near, cells, mined)
    subset = np.empty(DEPTH * completions, np.int32)
    for i in range(completions):
        subset[i] = i
    deepest = cells.size + 2
    active, actives = np.empty((deepest + 1, cells.size), np.int32), np.empty(deepest + 1, np.int32)
    for j in range(cells.size):
        active[0, j] = j
    actives[0] = cells.size
    game = Endgame(
        shown,
        random_labels(completions),
        subset,
        np.empty((deepest, 8), np.int64),
        np.empty((deepest, cells.size), np.int32),
        np.empty((deepest, cells.size), np.int32),
        active,
        actives,
        np.zeros(MEMO, np.uint64),
        np.zeros(MEMO, np.int32),
        np.array([min(budget, MEMO // 2)]),
    )
    wins, cell = most_wins(game)
    if wins < 0:
        return -1, 0.0
    return cells[cell], wins / completions


@kernel
def list_undecided(visible: np.ndarray, known: np.ndarray, f: Frontier) -> np.ndarray:
    """Return the undecided cells grouped by box, in box order; cells without witnesses are last."""
    boxes = count_boxes(f)
    place = np.empty(boxes + 1, np.int64)  # position of each box; the last entry is for unseen cells
    place[boxes] = boxes
    for position in range(boxes):
        place[f.order[position]] = position
    begin = np.zeros(boxes + 2, np.int64)  # first index of the cells of each position
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN:
            begin[place[f.box_of[cell]] + 1] += 1  # -1 (no box) indexes the last entry
    for position in range(boxes + 1):
        begin[position + 1] += begin[position]
    cells = np.empty(begin[boxes + 1], np.int32)
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN:
            position = place[f.box_of[cell]]
            cells[begin[position]] = cell
            begin[position] += 1
    return cells


@kernel
def list_completions(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, cells: np.ndarray, limit: int
) -> np.ndarray:
    """Return the mines of all completions, (completions, undecided) bool, by backtracking over the cells.

    Stops after `limit` completions; returns none if there are too many dead ends.
    """
    f, near = e.frontier, e.near
    for cell in range(visible.size):
        mines -= visible[cell] < 0 and known[cell] == MINE
    mined = np.zeros((limit, cells.size), np.bool_)
    current = np.full(cells.size, 2, np.int8)  # the next branch at each depth: 2 mine, 1 no mine, 0 none
    found, depth, patience = 0, 0, 200 * limit + 10_000
    while depth >= 0 and patience > 0:
        patience -= 1
        if depth == cells.size:
            if found < limit:
                for j in range(depth):
                    mined[found, j] = current[j] == 1
            found += 1
            depth -= 1
            continue
        if current[depth] < 2:  # take the last try back
            mines += current[depth]
            put(visible, near, f, cells[depth], current[depth], -1)
        current[depth] -= 1
        if current[depth] < 0:
            current[depth] = 2
            depth -= 1
            continue
        mines -= current[depth]
        put(visible, near, f, cells[depth], current[depth], 1)
        if 0 <= mines < cells.size - depth and holds(visible, near, f, cells[depth]):
            depth += 1
    return mined if patience > 0 and found == limit else mined[:0]


@lean_kernel
def put(visible: np.ndarray, near: np.ndarray, f: Frontier, cell: int, mine: int, sign: int) -> None:
    """Add a decided cell to the counts of its witnesses (sign 1), or remove it (-1)."""
    for n in near[cell]:
        if n < 0:
            break
        if visible[n] >= 0:
            f.need[n] -= sign * mine
            f.room[n] -= sign


@lean_kernel
def holds(visible: np.ndarray, near: np.ndarray, f: Frontier, cell: int) -> bool:
    for n in near[cell]:
        if n < 0:
            break
        if visible[n] >= 0 and not 0 <= f.need[n] <= f.room[n]:
            return False
    return True


@kernel
def show(visible: np.ndarray, known: np.ndarray, near: np.ndarray, cells: np.ndarray, mined: np.ndarray) -> np.ndarray:
    """Return what each cell shows in each completion, (completions, undecided) int8."""
    place = np.full(visible.size, -1, np.int32)
    for j in range(cells.size):
        place[cells[j]] = j
    shown = np.empty(mined.shape, np.int8)
    for i in range(mined.shape[0]):
        for j in range(cells.size):
            number = 0
            for n in near[cells[j]]:
                if n < 0:
                    break
                number += mined[i, place[n]] if place[n] >= 0 else visible[n] < 0 and known[n] == MINE
            shown[i, j] = BANG if mined[i, j] else number
    return shown


@kernel
def random_labels(count: int) -> np.ndarray:
    """Return 64 random bits each: among a million subsets two share an xor with a probability below 1e-7."""
    labels = np.empty(count, np.uint64)
    word = np.uint64(0)
    for i in range(count):
        word += STRIDE
        labels[i] = mix(word)
    return labels


@lean_kernel
def most_wins(game: Endgame) -> tuple[int, int]:
    """Return wins(S) for all completions, and the cell to reveal; -1 once the budget is used up.

    Depth-first search with an explicit stack, because Numba cannot cache recursive functions.
    """
    frame, depth = game.frame, 0
    enter(game, 0, 0, game.label.size)
    while True:
        begin, end, best = frame[depth, BEGIN], frame[depth, END], frame[depth, BEST]
        if frame[depth, BOUND] > best and frame[depth, NUMBER] < BANG:
            stop = split(game, begin, end, game.order[depth, frame[depth, PICK]], frame[depth, NUMBER])
            frame[depth, NUMBER] += 1
            if stop - end < 2:
                continue
            if stop - end == 2:
                frame[depth, BOUND] -= 2 - wins_of_two(game, depth + 1, end)
                continue
            _, place = look_up(game, end, stop)
            if game.memo_wins[place] > 0:
                frame[depth, BOUND] -= stop - end - game.memo_wins[place]
                continue
            game.budget[0] -= 1
            if game.budget[0] < 0 or 2 * stop - end > game.subset.size:
                return -1, -1
            depth += 1
            enter(game, depth, end, stop)
            continue
        if frame[depth, BOUND] > best:
            best = frame[depth, BOUND]
            frame[depth, BEST] = best
            frame[depth, CHOICE] = game.order[depth, frame[depth, PICK]]
        if turn_to(game, depth, frame[depth, PICK] + 1):
            continue
        key, place = look_up(game, begin, end)
        game.memo_key[place] = key
        game.memo_wins[place] = best
        if depth == 0:
            return best, frame[0, CHOICE]
        depth -= 1
        frame[depth, BOUND] -= end - begin - best


@lean_kernel
def enter(game: Endgame, depth: int, begin: int, end: int) -> None:
    """Start the search of subset[begin:end]."""
    game.frame[depth, BEGIN] = begin
    game.frame[depth, END] = end
    game.frame[depth, BEST] = 0
    game.frame[depth, CHOICE] = -1
    game.frame[depth, COUNT] = rank_cells(game, depth, begin, end)
    turn_to(game, depth, 0)


@lean_kernel
def turn_to(game: Endgame, depth: int, pick: int) -> bool:
    """Select the next cell; return False if none can beat the best."""
    frame = game.frame[depth]
    if pick == frame[COUNT]:
        return False
    frame[PICK] = pick
    frame[NUMBER] = 0
    frame[BOUND] = frame[END] - frame[BEGIN] - game.bangs[depth, game.order[depth, pick]]
    return frame[BOUND] > frame[BEST]


@lean_kernel
def look_up(game: Endgame, begin: int, end: int) -> tuple[np.uint64, np.int64]:
    """Return the key of a subset, and its slot in the memo table."""
    key = np.uint64(0)
    for i in range(begin, end):
        key ^= game.label[game.subset[i]]
    place = np.int64(key & np.uint64(MEMO - 1))
    while game.memo_wins[place] > 0 and game.memo_key[place] != key:
        place = (place + 1) & (MEMO - 1)
    return key, place


@lean_kernel
def split(game: Endgame, begin: int, end: int, j: int, number: int) -> int:
    """Append the completions that show `number` at cell `j` after the subset; return their end."""
    stop = end
    for i in range(begin, end):
        if game.shown[game.subset[i], j] == number:
            game.subset[stop] = game.subset[i]
            stop += 1
    return stop


@lean_kernel
def wins_of_two(game: Endgame, depth: int, begin: int) -> int:
    """Return 2 if a cell that is safe in both completions distinguishes them, else 1."""
    one, other = game.shown[game.subset[begin]], game.shown[game.subset[begin + 1]]
    for i in range(game.actives[depth]):
        j = game.active[depth, i]
        if one[j] != other[j] and one[j] != BANG and other[j] != BANG:
            return 2
    return 1


@lean_kernel
def survey(game: Endgame, j: int, begin: int, end: int) -> tuple[int, bool]:
    """Return how many completions of a subset have a mine at cell `j`, and whether the others show several numbers."""
    bangs, first, telling = 0, BANG, False
    for i in range(begin, end):
        number = game.shown[game.subset[i], j]
        if number == BANG:
            bangs += 1
        elif first == BANG:
            first = number
        elif number != first:
            telling = True
    return bangs, telling


@lean_kernel
def rank_cells(game: Endgame, depth: int, begin: int, end: int) -> int:
    """List the cells to try, safest first, and their mine counts in the subset; return their number.

    One safe cell that splits the subset is enough, as it costs nothing. A cell that shows the same number in all
    completions where it is safe gives no information, and is tried only if no other cell does.
    """
    bangs, order, active, size = game.bangs[depth], game.order[depth], game.active[depth + 1], end - begin
    alive, count = 0, 0
    any_telling = False
    for i in range(game.actives[depth]):
        j = game.active[depth, i]
        bangs[j], telling = survey(game, j, begin, end)
        if telling and bangs[j] == 0:
            order[0] = j
            rest = game.actives[depth] - i
            for k in range(rest):
                active[alive + k] = game.active[depth, i + k]
            game.actives[depth + 1] = alive + rest
            return 1
        if not telling and (bangs[j] == 0 or bangs[j] == size):
            continue
        active[alive] = j
        alive += 1
        if telling and not any_telling:
            any_telling, count = True, 0
        if telling or not any_telling:
            place = count
            while place > 0 and bangs[order[place - 1]] > bangs[j]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = j
            count += 1
    game.actives[depth + 1] = alive
    return count
