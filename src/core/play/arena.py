"""Seeded games between agents, and win rates with their intervals."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from src.core import ranks
from src.core.errors import UserError, require
from src.core.play.agent import Agent
from src.core.play.game import Game, Trait, outcome_for_seat
from src.core.seeding import draw, generator


def wilson_interval(wins: int, games: int) -> tuple[float, float]:
    """The 95% score interval of a win rate (Wilson 1927); unlike the normal one it stays inside [0, 1]."""
    if games == 0:
        return (0.0, 1.0)
    z = 1.959963984540054
    rate, denominator = wins / games, 1 + z * z / games
    centre = (rate + z * z / (2 * games)) / denominator
    half = z * math.sqrt(rate * (1 - rate) / games + z * z / (4 * games * games)) / denominator
    low = 0.0 if wins == 0 else centre - half
    high = 1.0 if wins == games else centre + half
    return (low, high)


@dataclass(frozen=True)
class Tally:
    wins: int
    draws: int
    losses: int

    @staticmethod
    def of(outcomes: Sequence[int]) -> "Tally":
        return Tally(outcomes.count(1), outcomes.count(0), outcomes.count(-1))

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def win_rate(self) -> float:
        return self.wins / self.games if self.games else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, where a rate over no games is null."""
        return {
            "episodes": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "win_rate": self.win_rate if self.games else None,
            "win_rate_ci95": list(wilson_interval(self.wins, self.games)),
        }


@dataclass(frozen=True)
class Score:
    """How an agent did over a set of games, told from its own side."""

    outcomes: list[int]  # +1, 0 or -1 a game, in order
    seats: list[int]  # the seat it held in each
    seconds: float
    figures: dict[str, float]  # means a game of the game's figures and the agent's counters
    groups: list[str | None] = field(default_factory=list)  # the kind of start of each game, see `Game.group`

    @property
    def total(self) -> Tally:
        return Tally.of(self.outcomes)

    def of_seat(self, seat: int) -> Tally:
        return Tally.of([outcome for outcome, held in zip(self.outcomes, self.seats, strict=True) if held == seat])

    def by_group(self) -> dict[str, Tally]:
        names = sorted({group for group in self.groups if group is not None})
        pairs = list(zip(self.outcomes, self.groups, strict=True))
        return {name: Tally.of([outcome for outcome, group in pairs if group == name]) for name in names}


@dataclass
class _Match:
    """One game in progress between `agents`, which sit in the order of their seats."""

    state: Any
    agents: list[Agent]
    rngs: list[np.random.Generator]
    seat: int  # of the agent that is being scored
    outcome: int | None = None  # for seat 0
    counters: Counter[str] = field(default_factory=Counter)


class _Ended(NamedTuple):
    """What is left to tell of a game."""

    outcome: int  # for the agent that is being scored
    seat: int
    figures: dict[str, float]
    group: str | None


def evaluate(
    game: Game,
    agent: Agent,
    opponent: Agent | None,
    episodes: int,
    seed: int,
    starts: Sequence[Any] | None = None,
    opening_plies: int = 0,
    stream: str = "evaluation",
    on_progress: Callable[[int], None] = lambda finished: None,
) -> Score:
    """Play `episodes` games. In two-player games the agent changes seats after each, and two games in a row share
    their start: one of `starts`, or `opening_plies` random moves.

    Game i depends on the seed and i alone, never on how many games are played or how many in step, so ranks that learn
    together play a share of them each. A learner that selects by its evaluations draws them from a `stream` of its own,
    or the final figure would be of games it was selected for.
    """
    began = time.perf_counter()
    finished: list[_Match] = []
    own = range(ranks.rank(), episodes, ranks.world_size())
    for first in range(0, len(own), agent.games_in_step):
        numbers = own[first : first + agent.games_in_step]
        matches = [_new_match(game, agent, opponent, number, seed, stream) for number in numbers]
        for number, match in zip(numbers, matches, strict=True):
            pair = number // game.players
            if starts is not None:
                match.state = starts[pair]
            elif opening_plies:
                match.state = random_opening(game, opening_plies, generator(seed, stream, "opening", pair))
        _play_out(game, matches)
        finished += matches
        on_progress(min(len(finished) * ranks.world_size(), episodes))
    shares = ranks.gather([_ended(game, agent, match) for match in finished])
    games = [shares[number % len(shares)][number // len(shares)] for number in range(episodes)]
    return Score(
        outcomes=[ended.outcome for ended in games],
        seats=[ended.seat for ended in games],
        seconds=time.perf_counter() - began,
        figures={key: float(np.mean([ended.figures[key] for ended in games])) for key in games[0].figures},
        groups=[ended.group for ended in games],
    )


def require_openings(game: Game, opening_plies: int) -> None:
    """Refuse more random moves at the beginning than a game lasts, before anything is trained or played."""
    if opening_plies > 0:
        require(game.players == 2, f"opening_plies={opening_plies} is for two-player games: set it to 0")
        random_opening(game, opening_plies, generator(0, "opening"))


def require_varied(game: Game, agent: Agent, opponent: Agent | None, opening_plies: int, episodes: int) -> None:
    """Refuse to play the same two games again and again and call the repetitions a sample."""
    require_openings(game, opening_plies)
    settled = opponent is not None and agent.deterministic and opponent.deterministic
    alike = settled and Trait.DETERMINISTIC in game.traits and opening_plies == 0
    require(
        not (alike and episodes > 2),
        "both players always decide alike, so there are only two different games, one for each seat: "
        "set opening_plies to begin with random moves, or episodes=2",
    )


def random_opening(game: Game, plies: int, rng: np.random.Generator) -> Any:
    """A position after random moves in which the game still goes on."""
    for _ in range(1000):
        state = game.initial(rng)
        for _ in range(plies):
            if game.outcome(state) is None:
                state = game.play(state, draw(rng, game.random_actions(game.view(state))))
        if game.outcome(state) is None:
            return state
    raise UserError(f"opening_plies={plies}: no game was still going on after that many random moves in 1,000 tries")


def _new_match(game: Game, agent: Agent, opponent: Agent | None, number: int, seed: int, stream: str) -> _Match:
    rng = generator(seed, stream, number)
    seat = number % game.players
    agents = [agent] if opponent is None else [opponent, opponent]
    agents[seat] = agent
    return _Match(game.initial(rng), agents, rng.spawn(game.players), seat)


def _play_out(game: Game, matches: list[_Match]) -> None:
    """Play matches to their end in step, so that an agent sees all positions it has to decide at once."""
    live = [match for match in matches if not _settle(game, match)]
    while live:
        turns: dict[int, list[_Match]] = {}
        for match in live:
            turns.setdefault(id(match.agents[game.to_move(match.state)]), []).append(match)
        for group in turns.values():
            _move(game, group)
        live = [match for match in live if match.outcome is None and not _settle(game, match)]


def _settle(game: Game, match: _Match) -> bool:
    match.outcome = game.outcome(match.state)
    return match.outcome is not None


def _move(game: Game, group: list[_Match]) -> None:
    seats = [game.to_move(match.state) for match in group]
    agent = group[0].agents[seats[0]]
    views = [game.view(match.state) for match in group]
    decisions = agent.decide_batch(game, views, [match.rngs[seat] for match, seat in zip(group, seats, strict=True)])
    for match, seat, decision in zip(group, seats, decisions, strict=True):
        if seat == match.seat:
            for key in agent.counters:
                match.counters[key] += decision.info[key]
        if decision.action is None:
            match.outcome = outcome_for_seat(seat, -1)
        else:
            match.state = game.play(match.state, decision.action)
            _play_on(game, match, decision.plan)


def _play_on(game: Game, match: _Match, actions: Sequence[int]) -> None:
    """Actions decided ahead, as far as what was played before them has not settled them."""
    assert not actions or game.players == 1, "with two players the other one moves in between"
    for action in actions:
        if game.outcome(match.state) is not None:
            return
        if game.is_open(match.state, action):
            match.state = game.play(match.state, action)


def _own_outcome(match: _Match) -> int:
    assert match.outcome is not None
    return outcome_for_seat(match.seat, match.outcome)


def _ended(game: Game, agent: Agent, match: _Match) -> _Ended:
    """A tally x gives two figures: how often it happened, and whether the game was won without its ever happening."""
    figures, outcome = dict(game.episode_metrics(match.state)), _own_outcome(match)
    for key in agent.counters:
        figures[key] = match.counters[key]
        figures[f"won_without_{key}"] = outcome == 1 and match.counters[key] == 0
    return _Ended(outcome, match.seat, figures, game.group(match.state))
