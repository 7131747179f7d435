"""Round robins: every player meets every other one, from the same openings and in both seats."""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import combinations

from ..errors import UserError, require
from .agent import Agent
from .arena import Tally, evaluate, require_varied
from .game import Game
from .rating import Rating, points_of, ratings

Pair = tuple[str, str]


@dataclass(frozen=True)
class Standings:
    """The results of matches, and ratings from them relative to `anchor`."""

    matches: Mapping[Pair, Tally]  # for the first of the pair
    anchor: str

    @cached_property
    def ratings(self) -> dict[str, Rating]:
        """Return the ratings by player, the best first."""
        rated = ratings({pair: points_of(tally) for pair, tally in self.matches.items()}, self.anchor)
        return dict(sorted(rated.items(), key=lambda item: -item[1].elo))

    def against(self, player: str, opponent: str) -> Tally | None:
        """Return the results of a player against another; None if they did not meet."""
        if (player, opponent) in self.matches:
            return self.matches[player, opponent]
        swapped = self.matches.get((opponent, player))
        return None if swapped is None else swapped.swapped()

    def total(self, player: str) -> Tally:
        """Return the results of a player against all others."""
        met = [tally for other in self.ratings if (tally := self.against(player, other)) is not None]
        return Tally(*(sum(column) for column in zip(*(astuple(one) for one in met), strict=True)))


def require_playable(game: Game, players: Mapping[str, Agent], games: int, opening_plies: int) -> None:
    """Raise `UserError` if a round robin of these players is not possible or not a sample."""
    require(games % 2 == 0, f"games={games} must be even: each opening is played twice, with seats swapped")
    for name, agent in players.items():
        try:
            agent.check(game)
        except UserError as error:
            raise UserError(f"agents: {name} cannot play this game: {error}") from error
    for one, other in combinations(players, 2):
        try:
            require_varied(game, players[one], players[other], opening_plies, games, "games")
        except UserError as error:
            raise UserError(f"{one} against {other}: {error}") from error


def round_robin(
    game: Game,
    players: Mapping[str, Agent],
    games: int,
    seed: int,
    opening_plies: int = 0,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> dict[Pair, Tally]:
    """Play `games` games between each two players, half of them in each seat.

    The openings depend on the seed alone, so they are the same in every match.
    """
    matches: dict[Pair, Tally] = {}
    for number, (one, other) in enumerate(combinations(players, 2)):
        # The first agent of an evaluation decides the size of its batches, from which networks gain.
        first, second = (one, other) if players[one].games_in_step >= players[other].games_in_step else (other, one)

        def advance(finished: int, before: int = number * games) -> None:
            on_progress(before + finished)

        score = evaluate(
            game, players[first], players[second], games, seed, opening_plies=opening_plies, on_progress=advance
        )
        matches[one, other] = score.total if first == one else score.total.swapped()
    return matches
