"""Seeded games between agents, and win rates with their intervals."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from src.core.agent import Agent
from src.core.game import Game
from src.core.seeding import generator


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
    figures: dict[str, float]  # means a game of the game's figures and the agent's tallies

    @property
    def total(self) -> Tally:
        return Tally.of(self.outcomes)

    def of_seat(self, seat: int) -> Tally:
        return Tally.of([outcome for outcome, held in zip(self.outcomes, self.seats, strict=True) if held == seat])


@dataclass
class _Match:
    """One game in progress between `agents`, which sit in the order of their seats."""

    state: Any
    agents: list[Agent]
    rngs: list[np.random.Generator]
    seat: int  # of the agent that is being scored
    outcome: int | None = None  # for seat 0
    tallies: Counter = field(default_factory=Counter)


def evaluate(
    game: Game,
    agent: Agent,
    opponent: Agent | None,
    episodes: int,
    seed: int,
    starts: Sequence[Any] | None = None,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> Score:
    """Play `episodes` games; in two-player games the agent holds the first seat in every other one.

    Game i depends on the seed and i alone, never on how many games are played or how many in step.
    """
    began = time.perf_counter()
    finished: list[_Match] = []
    for first in range(0, episodes, agent.games_in_step):
        numbers = range(first, min(first + agent.games_in_step, episodes))
        matches = [_new_match(game, agent, opponent, number, seed, starts) for number in numbers]
        _play_out(game, matches)
        finished += matches
        on_progress(len(finished))
    return Score(
        outcomes=[_own_outcome(match) for match in finished],
        seats=[match.seat for match in finished],
        seconds=time.perf_counter() - began,
        figures=_mean_figures(game, agent, finished),
    )


def _new_match(
    game: Game, agent: Agent, opponent: Agent | None, number: int, seed: int, starts: Sequence[Any] | None
) -> _Match:
    rng = generator(seed, "evaluation", number)
    seat = number % game.players
    agents = [agent] if opponent is None else [opponent, opponent]
    agents[seat] = agent
    state = game.initial(rng) if starts is None else starts[number]
    return _Match(state, agents, rng.spawn(game.players), seat)


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
            for key in agent.tallies:
                match.tallies[key] += decision.why[key]
        if decision.action is None:
            match.outcome = -1 if seat == 0 else 1
        else:
            match.state = game.play(match.state, decision.action)


def _own_outcome(match: _Match) -> int:
    assert match.outcome is not None
    return match.outcome if match.seat == 0 else -match.outcome


def _mean_figures(game: Game, agent: Agent, matches: list[_Match]) -> dict[str, float]:
    rows = [game.figures(match.state) | {key: match.tallies[key] for key in agent.tallies} for match in matches]
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]} if rows else {}
