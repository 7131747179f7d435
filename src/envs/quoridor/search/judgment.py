"""What a move costs: a search compares it with the best one."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ....core.play.game import outcome_for_seat
from ....core.play.search_interface import DECIDED, WIN, Searcher, SearchResult, parent_score
from ..game import Quoridor
from ..rules import Position

REVIEW_DEPTH = 8  # plies
MISTAKE, BLUNDER = 0.10, 0.25  # lost share of the winning chances
SCALE = 40.0  # a lead of 40 points, four steps, is shown as a win share of about 3/4
UNLIMITED = 1 << 60


def win_share(score: int) -> float:
    """Return the winning chances that are shown for a score of a search."""
    if abs(score) > DECIDED:
        return 1.0 if score > 0 else 0.0
    return 1 / (1 + math.exp(-score / SCALE))


class Judgment(NamedTuple):
    """The value of one move."""

    share: float  # winning chances of player 1 before the move, with the best one
    best: str  # name of the best move
    loss: float  # winning chances that the move cost its player

    @property
    def sign(self) -> str:
        return "??" if self.loss >= BLUNDER else "?" if self.loss >= MISTAKE else ""


def judge(game: Quoridor, searcher: Searcher, state: Position, action: int) -> Judgment:
    """Compare a move with the best one. Both are searched equally deep, so the best move loses nothing."""
    *_, best = deepen(searcher, state, last=REVIEW_DEPTH)
    score = best.score
    if action != best.line[0]:
        after = game.play(state, action)
        outcome = game.outcome(after)
        if outcome is not None:
            reply_score = WIN * outcome_for_seat(game.to_move(after), outcome)
        else:
            *_, reply = deepen(searcher, after, last=REVIEW_DEPTH - 1)
            reply_score = reply.score
        score = min(score, parent_score(reply_score))
    share = win_share(best.score)
    name = game.move_name(state, best.line[0])
    return Judgment(share if game.to_move(state) == 0 else 1 - share, name, share - win_share(score))


def deepen(searcher: Searcher, state: Position, last: int) -> Iterator[SearchResult]:
    """Yield the result of every depth up to `last`, as long as a deeper search can change it."""
    first = None
    for depth in range(1, last + 1):
        found = searcher.search(state, depth, first, UNLIMITED)
        assert found is not None
        yield found
        if found.settled or abs(found.score) > DECIDED:
            return
        first = found.line[0]
