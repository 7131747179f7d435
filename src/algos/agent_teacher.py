"""Positions of games labeled by an agent, as training data for networks: its policy, and the value of the position.

Labeled batch n of a seed does not depend on where or in which order batches are made.
"""

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import UserError, require
from ..core.play.agent import Agent, Decision, OpponentPool, SelfPlay
from ..core.play.arena import random_opening
from ..core.play.game import Game, TwoPlayerGame
from ..core.play.search_interface import DECIDED, parse_score
from ..core.ranges import Fraction, Plies, Positive, check_fields
from ..core.seeding import draw, generator
from .nnue.games import random_move

UNKNOWN_VALUE = -1.0
POLICIES = ("action_probability", "action_visits")  # keys of `Decision.info`, the best first
ROWS_PER_GAME = 256  # of a labeled batch: more games at once would leave more of them unfinished
MAX_RESIGNED = 1000  # games besides one per row
OTHER_TEACHER = "choose another, such as agent@algo.teacher=mcts"


class LabeledBatch(NamedTuple):
    observation: np.ndarray  # (rows, ...), float16 if the game has floats
    policy: np.ndarray  # (rows, A) float16: weights of the actions, of any sum
    legal_actions: np.ndarray  # (rows, A) bool
    aux_target: np.ndarray  # (rows, 0) float32: an agent labels no auxiliary task
    win_probability: np.ndarray  # (rows,) float32 of the player to move, or UNKNOWN_VALUE


@dataclass(frozen=True)
class LabelConfig:
    opening_plies: Plies
    explore: Fraction
    dagger: Fraction
    score_weight: Fraction
    score_scale: Positive

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass
class _GameInProgress:
    state: Any
    rng: np.random.Generator
    learner_plays: list[bool]  # by seat
    rows: list[int] = field(default_factory=list)  # labeled positions whose result is not known yet


@dataclass(frozen=True)
class AgentTeacher:
    """Labels the positions of games that the agent plays, or the learner, with some random moves.

    In a fraction `dagger` of the seats the learner plays, so that the data has positions that it reaches (DAgger, Ross,
    Gordon & Bagnell 2011); they are labeled by the agent as well.
    """

    agent: Agent
    config: LabelConfig
    load_learner: Callable[[Any], Agent]

    def check(self, game: Game) -> None:
        fixed = not isinstance(self.agent, SelfPlay | OpponentPool)
        require(fixed, f"algo.teacher must be a fixed agent, no pool and no learner: {OTHER_TEACHER}")
        try:
            self.agent.check(game)
        except UserError as error:
            raise UserError(f"algo.teacher cannot play this game: {error}; {OTHER_TEACHER}") from error
        require(
            not self.agent.is_timed,
            "algo.teacher has a time limit, so the labels would depend on the speed of the machine: set "
            "algo.teacher.seconds=null, and a number of nodes such as algo.teacher.nodes=1000 if the agent has none",
        )
        random_opening(game, self.config.opening_plies, np.random.default_rng(0))  # which refuses too many plies

    def check_workers(self, games: Sequence[Game]) -> None:
        try:
            pickle.dumps((self.agent, games))
        except Exception as error:  # whatever an object raises that cannot be pickled
            raise UserError(f"algo.teacher cannot be sent to other processes ({error}): set algo.workers=0") from error

    def labeled_batch(self, game: Game, seed: int, number: int, rows: int, learner: Any = None) -> LabeledBatch:
        """Return batch `number` of a seed; `learner` are the saved weights of the learner, None if it does not play.

        The result of a position is the outcome of the game, or, if a move follows that the agent would not play, its
        value of the position before that move: the outcome would say more about the move than about the position.
        """
        agent, learning = self.agent, None if learner is None else self.load_learner(learner)
        at_once = max(agent.games_in_step, 1 if learning is None else learning.games_in_step)
        random = generator(seed, "labels", number)
        games = [self._start(game, random, learning) for _ in range(min(at_once, -(-rows // ROWS_PER_GAME)))]
        example = game.observe(game.view(games[0].state))
        dtype = np.dtype(np.float16) if np.issubdtype(example.dtype, np.floating) else example.dtype
        batch = LabeledBatch(
            np.empty((rows, *example.shape), dtype),
            np.zeros((rows, game.num_actions), np.float16),
            np.zeros((rows, game.num_actions), np.bool_),
            np.zeros((rows, 0), np.float32),
            np.empty(rows, np.float32),
        )
        values, results = np.full((2, rows), math.nan)  # for the player to move
        seats = np.zeros(rows, np.int8)

        def set_results(one: _GameInProgress, seat: int, result: float) -> None:
            """Set the result, for `seat`, of the positions of a game that have none."""
            results[one.rows] = np.where(seats[one.rows] == seat, result, -result)
            one.rows.clear()

        used = resigned = 0
        while used < rows:
            views, rngs = [game.view(one.state) for one in games], [one.rng for one in games]
            decisions = agent.decide_batch(game, views, rngs)
            moves = [decision.action for decision in decisions]
            own = [i for i, one in enumerate(games) if one.learner_plays[game.to_move(one.state)]]
            if learning is not None and own:
                replies = learning.decide_batch(game, [views[i] for i in own], [rngs[i] for i in own])
                for i, reply in zip(own, replies, strict=True):
                    moves[i] = reply.action
            for i, (one, decision) in enumerate(zip(games[: rows - used], decisions, strict=False)):
                seat, action, outcome = game.to_move(one.state), moves[i], None
                if decision.action is None:
                    set_results(one, seat, -1.0)
                    games[i], resigned = self._start(game, random, learning), resigned + 1
                    require(
                        resigned < rows + MAX_RESIGNED, f"algo.teacher resigns too often to learn from: {OTHER_TEACHER}"
                    )
                    continue
                policy = policy_weights(decision, game.num_actions)
                batch.observation[used], batch.policy[used] = game.observe(views[i]), policy
                batch.legal_actions[used, game.legal_actions(views[i])] = True
                seats[used], values[used] = seat, position_value(decision.info, self.config.score_scale)
                one.rows.append(used)
                used += 1
                if action is None or one.rng.random() < self.config.explore:
                    action = _random_action(game, one.state, one.rng)
                if action != decision.action and policy[action] < policy.max():
                    set_results(one, seat, values[used - 1])
                one.state = game.play(one.state, action)
                if (outcome := game.outcome(one.state)) is not None:
                    if not game.is_aborted(one.state):
                        set_results(one, 0, outcome)
                    games[i] = self._start(game, random, learning)
        weight = self.config.score_weight
        mixed = weight * values + (1 - weight) * results
        mixed = np.where(np.isnan(values), results, np.where(np.isnan(results), values, mixed))
        batch.win_probability[:] = np.where(np.isnan(mixed), UNKNOWN_VALUE, (1 + mixed) / 2)
        return batch

    def _start(self, game: Game, random: np.random.Generator, learning: Agent | None) -> _GameInProgress:
        self.agent.reset()
        (rng,) = random.spawn(1)
        state = random_opening(game, int(rng.integers(self.config.opening_plies + 1)), rng)
        seats = [learning is not None and bool(rng.random() < self.config.dagger) for _ in range(game.players)]
        return _GameInProgress(state, rng, seats)


def policy_weights(decision: Decision, num_actions: int) -> np.ndarray:
    """Return weights of the actions, (A,) float16: of the policy of a decision, or 1 for its action if it has none."""
    weights = np.zeros(num_actions, np.float16)
    known = next((decision.info[name] for name in POLICIES if name in decision.info), None)
    if known is None:
        weights[decision.action] = 1
    else:  # a network may know only the first kinds of actions; counts are scaled to the range of float16
        weights[: len(known)] = np.asarray(known, np.float32) / np.max(known)
    return weights


def position_value(info: Mapping[str, Any], score_scale: float) -> float:
    """Return the value of a decision in [-1, 1] for the player to move, NaN if it has none."""
    if "score" in info:
        score = parse_score(info["score"])
        return math.copysign(1.0, score) if abs(score) > DECIDED else math.tanh(score / score_scale / 2)
    value = info.get("value", 2 * info.get("win_rate", math.nan) - 1)
    return float(np.clip(value, -1, 1))  # NaN stays NaN


def _random_action(game: Game, state: Any, rng: np.random.Generator) -> int:
    if isinstance(game, TwoPlayerGame):
        return random_move(game, state, rng)
    return draw(rng, game.random_actions(game.view(state)))
