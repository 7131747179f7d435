"""The review of a game: what each move gained or lost, the graph of the evaluation, and its mistakes."""

from collections.abc import Mapping
from typing import NamedTuple

from ...core.play.game import outcome_for_seat
from ...core.play.search_interface import WIN, Searcher, parent_score
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.notation import Position
from .panels import win_share
from .thinking import deepen

DEPTH = 8  # plies
MISTAKE, BLUNDER = 0.10, 0.25  # lost share of the winning chances
LEGEND = f"? loses {MISTAKE:.0%} of the winning chances or more, ?? {BLUNDER:.0%} or more; searched {DEPTH} plies deep"
WIDTH, HEIGHT = 320.0, 84.0


class Judgement(NamedTuple):
    """The value of one move."""

    share: float  # winning chances of player 1 before the move, with the best one
    best: str  # name of the best move
    loss: float  # winning chances that the move cost its player

    @property
    def sign(self) -> str:
        return "??" if self.loss >= BLUNDER else "?" if self.loss >= MISTAKE else ""


def judge(game: Quoridor, searcher: Searcher, state: Position, action: int) -> Judgement:
    """Compare a move with the best one. Both are searched equally deep, so the best move loses nothing."""
    *_, best = deepen(searcher, state, last=DEPTH)
    score = best.score
    if action != best.line[0]:
        score = min(score, _score_after(game, searcher, game.play(state, action)))
    share = win_share(best.score)
    first = game.to_move(state) == 0
    name = game.move_name(state, best.line[0])
    return Judgement(share if first else 1 - share, name, share - win_share(score))


def _score_after(game: Quoridor, searcher: Searcher, state: Position) -> int:
    """Return the score of a move that led to a state, for the player who made it."""
    outcome = game.outcome(state)
    if outcome is not None:
        return parent_score(WIN * outcome_for_seat(game.to_move(state), outcome))
    *_, reply = deepen(searcher, state, last=DEPTH - 1)
    return parent_score(reply.score)


def comment(name: str, judgement: Judgement) -> str:
    """Return a sentence about a move."""
    if judgement.sign:
        kind = "blunder" if judgement.sign == "??" else "mistake"
        return f"{name} was a {kind}: it cost {judgement.loss:.0%} of the winning chances, {judgement.best} was better."
    if name == judgement.best:
        return f"{name} was the best move."
    return f"{name} was good" + (f"; {judgement.best} was a little better." if judgement.loss >= 0.01 else ".")


def summary(judgements: Mapping[int, Judgement], first_ply: int) -> str:
    """Return the number of mistakes of each player; judgements are by the number of the move, from 0."""
    words = []
    for seat in (0, 1):
        signs = [one.sign for number, one in judgements.items() if (first_ply + number) % 2 == seat]
        counts = [(signs.count("?"), "mistake"), (signs.count("??"), "blunder")]
        found = ", ".join(f"{count} {kind}{'s' * (count > 1)}" for count, kind in counts if count)
        words.append(f"Player {seat + 1}: {found or 'no mistakes'}")
    return " · ".join(words)


def graph(judgements: Mapping[int, Judgement], count: int, end: float | None, shown: int) -> str:
    """Draw the winning chances of player 1 over `count` moves as SVG; a click shows the position after a move.

    `end`: the chances after the last move, if the game is over; `shown`: the position on the board.
    """
    shares = {number: one.share for number, one in judgements.items()}
    if end is not None:
        shares[count] = end
    points = [(_x(number, count), (1 - share) * HEIGHT) for number, share in sorted(shares.items())]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<rect class="qr-half" y="{HEIGHT / 2:g}" width="{WIDTH:g}" height="{HEIGHT / 2:g}"/>']
    if points:
        parts.append(f'<polyline class="qr-curve" points="{line}"/>')
    parts += [_mark(number, one, shares, count) for number, one in sorted(judgements.items()) if one.sign]
    parts.append(f'<path class="qr-cursor" d="M{_x(shown, count):.1f} 0V{HEIGHT:g}"/>')
    step = WIDTH / max(count, 1)
    parts += [
        f'<rect class="qr-at" data-id="ply-{number}" x="{_x(number, count) - step / 2:.1f}" width="{step:.1f}" '
        f'height="{HEIGHT:g}"/>'
        for number in range(count + 1)
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="winning chances of player 1 over the moves">'
        f"{''.join(parts)}</svg>"
    )


def _x(number: int, count: int) -> float:
    return WIDTH * number / max(count, 1)


def _mark(number: int, judgement: Judgement, shares: Mapping[int, float], count: int) -> str:
    """Draw a mistake at the position after the move."""
    after = shares.get(number + 1, judgement.share)
    kind = "qr-blunder" if judgement.sign == "??" else "qr-mistake"
    return f'<circle class="{kind}" cx="{_x(number + 1, count):.1f}" cy="{(1 - after) * HEIGHT:.1f}" r="4.5"/>'
