"""Choice of a guess when no cell is safe and there are too many completions to search.

A guess is evaluated by one-step lookahead over the numbers it may show: the safety of the next reveal, the number of
cells it makes safe, and the coin tosses it avoids. A coin toss that cannot be avoided costs nothing extra if it is made
now, so its cells are rated as if the toss were free.

A coin toss: two hidden cells with the same adjacent numbers can be distinguished only by a number adjacent to one but
not the other. If all such cells are mines, the pair is a coin toss when it holds exactly one mine:

    * * |
    2 a |      Both 2s see both a and b. Only the two cells above see a without b, and they are mines.
    2 b |
    ----+

The weights were tuned by playing the same ten thousand boards with each setting.
"""

import numpy as np

from .counting import count_boxes
from .engine import CONSISTENT, SHORTLIST, Engine, lean_kernel
from .probability import solve
from .single_point import propagate_from

NEAR_BEST = 0.9  # a guess must be at least this share as safe as the safest cell to be considered
SECOND_BEST = 0.3  # weight of the second safest reveal that follows; the safest has the rest
FREED = 0.04  # worth of each e-fold of safe cells
NEGLIGIBLE = 0.01  # probability of a coin toss that is ignored


@lean_kernel
def best_guess(visible: np.ndarray, mines: int, e: Engine, log_completions: float) -> int:
    count, shortlist = list_guesses(visible, e), e.guess.shortlist
    best, choice = -1.0, shortlist[0]
    for i in range(count):
        cell = shortlist[i]
        value = guess_value(visible, mines, e, log_completions, cell, best)
        if value > best:
            best, choice = value, cell
    return choice


@lean_kernel
def list_guesses(visible: np.ndarray, e: Engine) -> int:
    """Write the most promising cells to `e.guess.shortlist`, best first; return their number.

    Cells without adjacent numbers come last, the least surrounded first.
    """
    risk, safety, cost, shortlist = e.guess.risk, e.guess.safety, e.guess.cost, e.guess.shortlist
    probability = e.probability
    coin_tosses(visible, e, probability)
    safest = 0.0
    for cell in range(visible.size):
        safety[cell] = cost[cell] = 0.0
        if visible[cell] < 0:
            safety[cell] = 1.0 - probability[cell]
            safest = max(safest, safety[cell])
            if e.frontier.box_of[cell] >= 0:
                safety[cell] /= 1.0 - risk[e.frontier.box_of[cell]]
    count = 0
    for cell in range(visible.size):
        if safety[cell] == 0.0 or safety[cell] < NEAR_BEST * safest:
            continue
        cost[cell] = 0.02 * (e.frontier.box_of[cell] < 0) - safety[cell]
        for n in e.near[cell]:
            cost[cell] += 0.0003 * (n >= 0 and safety[n] > 0.0)
        place = count
        while place > 0 and cost[shortlist[place - 1]] > cost[cell]:
            shortlist[place] = shortlist[place - 1]
            place -= 1
        shortlist[place] = cell
        count = min(count + 1, SHORTLIST)
    return count


@lean_kernel
def guess_value(visible: np.ndarray, mines: int, e: Engine, log_completions: float, cell: int, target: float) -> float:
    """Return the value of revealing `cell`; any value up to `target` once it is clear that it cannot be higher."""
    probability, before, lowest, highest = e.probability, visible[cell], 0, 0
    for n in e.near[cell]:
        if n >= 0 and visible[n] < 0:
            lowest += probability[n] == 1.0
            highest += probability[n] > 0.0
    after, chances = e.guess.after, e.guess.chance
    most = 1.0 + FREED * np.log(1.0 + visible.size)
    value, unspent = 0.0, 1.0 - probability[cell]
    for number in range(lowest, highest + 1):
        if value + unspent * most <= target:
            break
        visible[cell] = number
        for i in range(after.size):
            after[i] = e.known[i]
        if propagate_from(visible, after, e, cell):
            status, log_after = solve(visible, after, mines, e, chances)
            if status == CONSISTENT:
                chance = np.exp(log_after - log_completions)
                value += chance * heuristic_value(visible, e, chances)
                unspent -= chance
    visible[cell] = before
    return value


@lean_kernel
def heuristic_value(visible: np.ndarray, e: Engine, probability: np.ndarray) -> float:
    """Return the heuristic value of a position: the safety of the next reveals, and the coin tosses ahead."""
    best, second, safe, hopeful = 0.0, 0.0, 0, 0
    for cell in range(visible.size):
        if visible[cell] < 0 and probability[cell] < 1.0:
            hopeful += 1
            safe += probability[cell] == 0.0
            safety = 1.0 - probability[cell]
            if safety > best:
                best, second = safety, best
            else:
                second = max(second, safety)
    if hopeful == 0:
        return 1.0
    if hopeful == 1:
        second = best
    worth = (1.0 - SECOND_BEST) * best + SECOND_BEST * second + FREED * np.log(1.0 + safe)
    return worth * coin_tosses(visible, e, probability)


@lean_kernel
def coin_tosses(visible: np.ndarray, e: Engine, probability: np.ndarray) -> float:
    """Write the probability of losing by a coin toss in each box to `e.guess.risk`; return the one to survive them all.

    An estimate: cells are treated as independent, and only the worst pair of a box counts.
    """
    f, risk = e.frontier, e.guess.risk
    boxes = count_boxes(f)
    risk[:boxes] = 0.0
    for cell in range(visible.size):
        box = f.box_of[cell]
        if box < 0 or f.box_size[box] < 2 or not 0.0 < probability[cell] < 1.0:
            continue
        for other in e.near[f.box_witness[box, 0]]:
            if other > cell and f.box_of[other] == box:
                toss = e.differ[box] / 2.0
                toss *= all_mines(visible, e.near, probability, cell, other)
                toss *= all_mines(visible, e.near, probability, other, cell)
                risk[box] = max(risk[box], toss)
    survival = 1.0
    for box in range(boxes):
        survival *= 1.0 - risk[box]
    return survival


@lean_kernel
def all_mines(visible: np.ndarray, near: np.ndarray, probability: np.ndarray, cell: int, other: int) -> float:
    """Return the probability that all hidden neighbors of `cell` that are not neighbors of `other` are mines."""
    chance = 1.0
    for n in near[cell]:
        if n < 0 or chance < NEGLIGIBLE:
            break
        shared = n == other
        for around in near[other]:
            shared |= around == n
        if visible[n] < 0 and not shared:
            chance *= probability[n]
    return chance if chance >= NEGLIGIBLE else 0.0
