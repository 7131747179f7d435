"""Seeded games between agents, win rates with confidence intervals, and play against every possible reply."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import ranks
from ..errors import UserError, require
from ..seeding import draw, generator
from .agent import Agent, Decision
from .game import Game, Trait, outcome_for_seat

Z95 = 1.959963984540054  # standard errors of a 95% interval


def wilson_interval(wins: int, games: int) -> tuple[float, float]:
    """Return the 95% score interval of a win rate (Wilson 1927), which unlike the normal one stays in [0, 1]."""
    if games == 0:
        return (0.0, 1.0)
    rate, denominator = wins / games, 1 + Z95 * Z95 / games
    center = (rate + Z95 * Z95 / (2 * games)) / denominator
    half = Z95 * math.sqrt(rate * (1 - rate) / games + Z95 * Z95 / (4 * games * games)) / denominator
    low = 0.0 if wins == 0 else center - half
    high = 1.0 if wins == games else center + half
    return (low, high)


@dataclass(frozen=True)
class Tally:
    wins: int
    draws: int
    losses: int
    aborted: int = 0  # games without a result; they count as games, for nobody

    @staticmethod
    def from_outcomes(outcomes: Sequence[int | None]) -> "Tally":
        """Count outcomes of +1, 0 and -1, and None for an aborted game."""
        return Tally(outcomes.count(1), outcomes.count(0), outcomes.count(-1), outcomes.count(None))

    @staticmethod
    def sum(tallies: Iterable["Tally"]) -> "Tally":
        return Tally(*map(sum, zip(*map(astuple, tallies), strict=True)))

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses + self.aborted

    @property
    def win_rate(self) -> float:
        return self.wins / self.games if self.games else math.nan

    def swapped(self) -> "Tally":
        """Return the same games for the opponent."""
        return Tally(self.losses, self.draws, self.wins, self.aborted)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the win rate of no games is null."""
        return {
            "episodes": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "aborted": self.aborted,
            "win_rate": self.win_rate if self.games else None,
            "win_rate_ci95": list(wilson_interval(self.wins, self.games)),
        }


@dataclass(frozen=True)
class Score:
    """Results of an agent over a set of games, from its own perspective."""

    outcomes: list[int | None]  # +1, 0 or -1 per game, in order; None if it was aborted
    seats: list[int]  # the agent's seat in each game
    seconds: float
    # Means of `Game.episode_metrics` and of the agent's counters, over the games that have them.
    metrics: dict[str, float]
    groups: list[str | None] = field(default_factory=list)  # `Game.group` of each game

    @property
    def total(self) -> Tally:
        return Tally.from_outcomes(self.outcomes)

    def of_seat(self, seat: int) -> Tally:
        return Tally.from_outcomes(
            [outcome for outcome, held in zip(self.outcomes, self.seats, strict=True) if held == seat]
        )

    def by_group(self) -> dict[str, Tally]:
        names = sorted({group for group in self.groups if group is not None})
        pairs = list(zip(self.outcomes, self.groups, strict=True))
        return {name: Tally.from_outcomes([outcome for outcome, group in pairs if group == name]) for name in names}


@dataclass
class _GameInProgress:
    """A game being played; `agents` are in the order of their seats."""

    state: Any
    agents: list[Agent]
    rngs: list[np.random.Generator]
    seat: int  # of the evaluated agent
    outcome: int | None = None  # for seat 0
    counters: Counter[str] = field(default_factory=Counter)
    decisions: int = 0  # of the evaluated agent, each of one or several actions
    on_position: Callable[[Any], None] = lambda state: None  # called after every action

    def reach(self, state: Any) -> None:
        self.state = state
        self.on_position(state)

    def own_outcome(self, game: Game) -> int | None:
        """Return the outcome of a finished game for the evaluated agent; None if it was aborted."""
        assert self.outcome is not None
        return None if game.is_aborted(self.state) else outcome_for_seat(self.seat, self.outcome)


class _GameResult(NamedTuple):
    outcome: int | None  # for the evaluated agent; None if the game was aborted
    seat: int
    metrics: dict[str, float]
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
    on_position: Callable[[Any], None] | None = None,
) -> Score:
    """Play `episodes` games; call `on_position` with each state of the first one, as `watch` does.

    In two-player games the agent alternates seats, and each pair of games has the same start: one of `starts`, or a
    position after `opening_plies` random moves.

    Game i depends on the seed and i alone, not on the number or batching of games, so distributed ranks each play a
    part of them. Evaluations that select a checkpoint need a `stream` of their own: otherwise the final evaluation
    would replay the games that the checkpoint was selected on.
    """
    began = time.perf_counter()
    plies = opening_plies if starts is None else 0
    finished: list[_GameInProgress] = []
    assigned = range(ranks.rank(), episodes, ranks.world_size())
    for first in range(0, len(assigned), agent.games_in_step):
        numbers = assigned[first : first + agent.games_in_step]
        matches = [_start_game(game, agent, opponent, number, seed, stream, plies) for number in numbers]
        if starts is not None:
            for number, match in zip(numbers, matches, strict=True):
                match.state = starts[number // game.players]
        if on_position is not None and numbers[0] == 0:
            matches[0].on_position = on_position
            on_position(matches[0].state)

        def report(ended: int, before: int = len(finished)) -> None:
            on_progress(min((before + ended) * ranks.world_size(), episodes))

        _play_out(game, matches, on_step=report)
        finished += matches
    by_rank = ranks.gather([_game_result(game, agent, match) for match in finished])
    results = [by_rank[number % len(by_rank)][number // len(by_rank)] for number in range(episodes)]
    return Score(
        outcomes=[result.outcome for result in results],
        seats=[result.seat for result in results],
        seconds=time.perf_counter() - began,
        metrics={
            key: float(np.mean([result.metrics[key] for result in results if key in result.metrics]))
            for key in dict.fromkeys(key for result in results for key in result.metrics)
        },
        groups=[result.group for result in results],
    )


def watch(
    game: Game,
    agent: Agent,
    opponent: Agent | None,
    number: int,
    seed: int,
    on_position: Callable[[Any], None],
    opening_plies: int = 0,
) -> tuple[int, int | None]:
    """Play one game as `evaluate` with the same seed does, and call `on_position` with each of its states.

    A game may modify its state in place, so it is valid only during the call. Return the seat and the outcome of the
    agent, which is None if the game was aborted.
    """
    match = _start_game(game, agent, opponent, number, seed, "evaluation", opening_plies)
    match.on_position = on_position
    on_position(match.state)
    _play_out(game, [match])
    return match.seat, match.own_outcome(game)


class _SamplingAgent(Agent):
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        decisions = self._agent.decide_batch(game, views, rngs)
        for number, (decision, rng) in enumerate(zip(decisions, rngs, strict=True)):
            if "action_probability" in decision.info:
                chances = np.asarray(decision.info["action_probability"], float)
                decisions[number] = Decision(int(rng.choice(len(chances), p=chances / chances.sum())))
        return decisions


def play_setups(
    game: Game,
    agent: Agent,
    opponent: Agent | None,
    numbers: Iterable[int],
    seed: int,
    is_set_up: Callable[[Any], bool],
) -> list[tuple[Any, int]]:
    """Play the games of these numbers until all pieces are set up; return these states with the seat of the agent.

    An agent that reports probabilities of its actions draws from them: the most probable ones are always the same.
    """
    agent = _SamplingAgent(agent)
    matches = [_start_game(game, agent, opponent, number, seed, "setup", 0) for number in numbers]
    _play_out(game, matches, is_set_up)
    return [(match.state, match.seat) for match in matches]


def require_openings(game: Game, opening_plies: int) -> None:
    """Raise `UserError` if `opening_plies` is longer than a game."""
    if opening_plies > 0:
        require(game.players == 2, f"opening_plies={opening_plies} is for two-player games: set it to 0")
        random_opening(game, opening_plies, generator(0, "opening"))


def require_varied(
    game: Game,
    agent: Agent,
    opponent: Agent | None,
    opening_plies: int,
    episodes: int,
    keys: tuple[str, str] = ("opening_plies", "episodes"),
) -> None:
    """Raise `UserError` if all games would repeat the same two, which is no sample.

    `keys` are the settings that `opening_plies` and `episodes` come from.
    """
    require_openings(game, opening_plies)
    require(
        not (repeats_games(game, agent, opponent, opening_plies) and episodes > 2),
        "both players are deterministic, so there are only two different games, one for each seat: "
        f"set {keys[0]} to begin with random moves, or {keys[1]}=2",
    )


def repeats_games(game: Game, agent: Agent, opponent: Agent | None, opening_plies: int) -> bool:
    """Return whether there are only two different games, one for each seat, because nothing in them is random."""
    fixed_players = opponent is not None and agent.deterministic and opponent.deterministic
    return fixed_players and Trait.DETERMINISTIC in game.traits and opening_plies == 0


def random_opening(game: Game, plies: int, rng: np.random.Generator) -> Any:
    """Return an unfinished position after `plies` random moves."""
    for _ in range(1000):
        state = game.initial(rng)
        for _ in range(plies):
            if game.outcome(state) is None:
                state = game.play(state, draw(rng, game.random_actions(game.view(state))))
        if game.outcome(state) is None:
            return state
    raise UserError(f"opening_plies={plies} is too many: all of 1,000 random games ended before, choose fewer")


def _start_game(
    game: Game, agent: Agent, opponent: Agent | None, number: int, seed: int, stream: str, opening_plies: int
) -> _GameInProgress:
    rng = generator(seed, stream, number)
    seat = number % game.players
    agents = [agent] if opponent is None else [opponent, opponent]
    agents[seat] = agent
    match = _GameInProgress(game.initial(rng), agents, rng.spawn(game.players), seat)
    if opening_plies:
        opening = generator(seed, stream, "opening", number // game.players)
        match.state = random_opening(game, opening_plies, opening)
    return match


def _play_out(
    game: Game,
    matches: list[_GameInProgress],
    is_done: Callable[[Any], bool] = lambda state: False,
    on_step: Callable[[int], None] = lambda ended: None,
) -> None:
    """Play games to their end, or until they are done, in lockstep, so that each agent decides in batches."""
    live = matches
    while live:
        for match in live:
            if match.outcome is None:
                match.outcome = game.outcome(match.state)
        live = [match for match in live if match.outcome is None and not is_done(match.state)]
        turns: dict[int, list[_GameInProgress]] = {}
        for match in live:
            turns.setdefault(id(match.agents[game.to_move(match.state)]), []).append(match)
        for group in turns.values():
            _move(game, group)
        on_step(len(matches) - len(live))


def _move(game: Game, group: list[_GameInProgress]) -> None:
    """Play one decision in each of these games, in all of which the same agent is to move."""
    seats = [game.to_move(match.state) for match in group]
    agent = group[0].agents[seats[0]]
    views = [game.view(match.state) for match in group]
    decisions = agent.decide_batch(game, views, [match.rngs[seat] for match, seat in zip(group, seats, strict=True)])
    moves = [(match, one.action) for match, one in zip(group, decisions, strict=True) if one.action is not None]
    states = iter(game.play_batch([match.state for match, _ in moves], [action for _, action in moves]))
    for match, seat, decision in zip(group, seats, decisions, strict=True):
        if seat == match.seat:
            for key in agent.counters:
                match.counters[key] += decision.info[key]
        if decision.action is None:
            match.outcome = outcome_for_seat(seat, -1)
            continue
        match.decisions += seat == match.seat
        match.reach(next(states))
        assert not decision.plan or game.players == 1, "with two players the other one moves in between"
        for action in decision.plan:
            if game.outcome(match.state) is not None:
                break
            if game.is_open(match.state, action):  # earlier actions may have made it unnecessary
                match.reach(game.play(match.state, action))


def _game_result(game: Game, agent: Agent, match: _GameInProgress) -> _GameResult:
    """Each counter x gives two metrics: its value, and whether the game was won while it stayed 0.

    In one-player games a decision may plan several actions, so decisions are counted beside the steps of the game.
    """
    metrics, outcome = dict(game.episode_metrics(match.state)), match.own_outcome(game)
    if game.players == 1:
        metrics["decisions"] = match.decisions
    for key in agent.counters:
        metrics[key] = match.counters[key]
        metrics[f"won_without_{key}"] = outcome == 1 and match.counters[key] == 0
    return _GameResult(outcome, match.seat, metrics, game.group(match.state))


def walk_replies(game: Game, agent: Agent, seat: int) -> Tally:
    """Count the lines won, drawn and lost by the agent in `seat` over all moves of its opponent."""
    rng = np.random.default_rng(0)  # required by the interface; a deterministic agent does not use it
    choices: dict[Any, int | None] = {}
    lines: Counter[int] = Counter()
    open_states = [game.initial(rng)]
    while open_states:
        state = open_states.pop()
        outcome = game.outcome(state)
        if outcome is not None:
            lines[outcome_for_seat(seat, outcome)] += 1
        elif game.to_move(state) != seat:
            open_states += [game.play(state, action) for action in game.legal_actions(game.view(state))]
        else:
            if state not in choices:
                choices[state] = agent.decide(game, game.view(state), rng).action
            action = choices[state]
            if action is None:
                lines[-1] += 1
            else:
                open_states.append(game.play(state, action))
    return Tally(lines[1], lines[0], lines[-1])
