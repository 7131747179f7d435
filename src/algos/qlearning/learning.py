"""Tabular Q-learning for two-player games, over canonical positions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, RandomAgent, SelfPlay
from ...core.play.arena import evaluate
from ...core.play.curriculum import Curriculum
from ...core.play.exhaustive import walk_replies
from ...core.play.game import TabularGame, Trait, outcome_for_seat
from ...core.play.past_selves import require_no_past_selves
from ...core.ranges import AboveZero, Count, Fraction, Interval, check_fields
from ...core.runs.report import elo_metrics
from ...core.runs.run import Run
from ...core.seeding import draw
from .policy import QTableAgent, action_values
from .ranking import RankingStore

ELO_GAMES = 100  # per evaluation


class TableEnv(Protocol):
    """The part of an environment that is used; games are played directly on its rules."""

    game: TabularGame
    opponent: Agent
    reward: Callable[[int], float]  # of the outcome +1, 0 or -1 for the learner
    seats: Sequence[int]  # the learner's seat is drawn from these
    baselines: Mapping[str, Agent]


class Turn(NamedTuple):
    state: Any
    seat: int
    move: int


def update_q(store: RankingStore, game: TabularGame, state: Any, move: int, target: float, lr: float) -> float:
    """Move the value of `move` in `state`, neither canonical, towards `target`; return the TD error."""
    canonical = game.canonical(state)
    canonical_move = canonical.moves[move]
    value = store.get(canonical.key, canonical_move) or 0.0
    error = target - value
    store.set(canonical.key, canonical_move, value + lr * error)
    return error


@dataclass(frozen=True)
class QLearning:
    """Play against itself or the opponent of the environment, and update after each game, last move first."""

    episodes: Count
    lr: AboveZero
    gamma: Fraction
    epsilon: Fraction
    untried_first: bool
    shortcuts: bool
    eval_every: Interval

    needs: ClassVar[frozenset[Trait]] = QTableAgent.needs
    updates_network: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, env: TableEnv, curriculum: Curriculum) -> None:
        require(not curriculum.mixes, "algo=qlearning trains in one environment at a time: set curriculum=none")
        for stage in curriculum.all(env):
            require_zero_sum(stage)
            require_no_past_selves(stage.opponent, "qlearning")

    def fit(self, env: TableEnv, curriculum: Curriculum, run: Run) -> QTableAgent:
        store, episode, rng = RankingStore(env.game.table_format), 0, run.generator("training")
        if (saved := run.restore()) is not None:
            store, episode, curriculum.stage = _store_of(saved), saved["episode"], saved["stage"]
            rng.bit_generator.state = saved["rng"]

        def state() -> dict[str, Any]:
            return {
                "table": list(store),
                "format": store.table_format,
                "episode": episode,
                "stage": curriculum.stage,
                "rng": rng.bit_generator.state,
            }

        with run.progress("episodes", self.episodes, episode) as advance:
            while episode < self.episodes:
                stage_env = curriculum.env(env)
                turns, outcome = self.play_episode(stage_env, store, rng)
                error = self.learn_from(turns, outcome, stage_env, store)
                episode += 1
                advance(episode)
                if episode % self.eval_every == 0 or episode == self.episodes:
                    metrics = lost_lines(env.game, store)
                    train = {"td_error": error, "table_size": len(store), "stage": curriculum.stage}
                    metrics |= elo_against_baseline(env, QTableAgent(store, self.shortcuts), run.seed)
                    run.log(episode, metrics | {f"train/{name}": value for name, value in train.items()})
                    curriculum.record(metrics["eval/not_lost_share"])
                    run.save_best(metrics["eval/not_lost_share"], state())
                run.save_when_due(state)
        run.save(state())
        agent = run.load_best(self.load_agent)
        agent.store.export_json(run.directory / "qtable.json")
        return agent

    def load_agent(self, saved: dict[str, Any]) -> QTableAgent:
        return QTableAgent(_store_of(saved), self.shortcuts)

    def play_episode(self, env: TableEnv, store: RankingStore, rng: np.random.Generator) -> tuple[list[Turn], int]:
        """Play a game; return the learner's turns and the outcome for seat 0."""
        game, self_play = env.game, isinstance(env.opponent, SelfPlay)
        own_seat = draw(rng, env.seats)
        state = game.initial(rng)
        turns: list[Turn] = []
        while (outcome := game.outcome(state)) is None:
            seat = game.to_move(state)
            if self_play or seat == own_seat:
                move = self.explore(game, store, state, rng)
                turns.append(Turn(state, seat, move))
            else:
                decision = env.opponent.decide(game, state, rng)
                assert decision.action is not None, "an opponent in training must always choose an action"
                move = decision.action
            state = game.play(state, move)
        return turns, outcome

    def explore(self, game: TabularGame, store: RankingStore, state: Any, rng: np.random.Generator) -> int:
        legal = game.legal_actions(state)
        if self.untried_first:
            canonical = game.canonical(state)
            untried = [action for action in legal if store.get(canonical.key, canonical.moves[action]) is None]
            if untried:
                return draw(rng, untried)
        if rng.random() < self.epsilon:
            return draw(rng, legal)
        values = action_values(store, game, state)
        best = max(values.values())
        return draw(rng, [action for action in legal if values[action] == best])

    def learn_from(self, turns: list[Turn], outcome: int, env: TableEnv, store: RankingStore) -> float:
        """Update every turn, last one first, so that the outcome reaches the opening; return the mean |error|."""
        errors = []
        for number in reversed(range(len(turns))):
            turn = turns[number]
            if number + 1 < len(turns):
                following = turns[number + 1]
                best = max(action_values(store, env.game, following.state).values())
                target = self.gamma * (best if following.seat == turn.seat else -best)
            else:
                target = env.reward(outcome_for_seat(turn.seat, outcome))
            errors.append(abs(update_q(store, env.game, turn.state, turn.move, target, self.lr)))
        return float(np.mean(errors))


def lost_lines(game: TabularGame, store: RankingStore) -> dict[str, float]:
    """Count the lines lost over every reply of the opponent, by the table alone and with shortcuts."""
    walks = {
        f"eval/lost_lines_{name}_{seat_name}": walk_replies(game, QTableAgent(store, shortcuts), seat)
        for name, shortcuts in (("table", False), ("shortcuts", True))
        for seat, seat_name in enumerate(("first", "second"))
    }
    lost = {name: tally.losses for name, tally in walks.items()}
    lines = sum(tally.games for tally in walks.values())
    return {"eval/not_lost_share": 1 - sum(lost.values()) / lines, "eval/lost_lines": sum(lost.values()), **lost}


def elo_against_baseline(env: TableEnv, agent: Agent, seed: int) -> dict[str, float]:
    """Return the rating above the first baseline; two deterministic players have only two different games."""
    opponent = next(iter(env.baselines.values()), RandomAgent())
    games = 2 if agent.deterministic and opponent.deterministic else ELO_GAMES
    return elo_metrics(evaluate(env.game, agent, opponent, games, seed, stream="selection").total, "eval")


def require_zero_sum(env: TableEnv) -> None:
    """Raise `UserError` if rewards in self-play are not zero-sum: one table serves both players."""
    if isinstance(env.opponent, SelfPlay):
        win, draw_, loss = (env.reward(outcome) for outcome in (1, 0, -1))
        require(
            win == -loss and draw_ == 0,
            f"learning from self-play needs reward.win = -reward.loss and reward.draw = 0, not {win}, {loss}, {draw_}",
        )


def _store_of(saved: dict[str, Any]) -> RankingStore:
    for row in saved["table"]:
        state, move, value = row
        known = isinstance(state, str) and type(move) is int and type(value) in (int, float) and math.isfinite(value)
        if not known:
            raise ValueError(f"{str(row)[:100]} must be a state, a move and a finite value")
    return RankingStore.from_rows(saved["format"], saved["table"])
