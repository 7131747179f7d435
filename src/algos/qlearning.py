"""Tabular Q-learning for two-player games, over canonical positions: the table, the agent that plays it, training."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..core.errors import UserError, require
from ..core.files import MAX_DATA_BYTES, read_regular, write_atomic
from ..core.play.agent import Agent, Decision, Line, SelfPlay
from ..core.play.arena import walk_replies
from ..core.play.curriculum import Curriculum
from ..core.play.game import Game, TabularGame, Trait, outcome_for_seat
from ..core.play.past_selves import require_no_past_selves
from ..core.ranges import AboveZero, Count, Fraction, Interval, check_fields
from ..core.runs.run import Run
from ..core.seeding import draw
from .selection import selection_metrics

FORMAT_VERSION = 1


class RankingStore:
    """Values of (state key, move) pairs. Keys and moves are canonical; the caller translates them."""

    def __init__(self, table_format: str) -> None:
        self.table_format = table_format
        self._values: dict[str, dict[int, float]] = {}

    def get(self, state_key: str, move: int) -> float | None:
        """Return None if the move was never tried."""
        return self._values.get(state_key, {}).get(move)

    def set(self, state_key: str, move: int, value: float) -> None:
        self._values.setdefault(state_key, {})[move] = value

    def __len__(self) -> int:
        return sum(map(len, self._values.values()))

    def __iter__(self) -> Iterator[tuple[str, int, float]]:
        for state_key in sorted(self._values):
            for move in sorted(self._values[state_key]):
                yield state_key, move, self._values[state_key][move]

    @staticmethod
    def from_rows(table_format: str, rows: Iterable[tuple[str, int, float]]) -> "RankingStore":
        store = RankingStore(table_format)
        for state_key, move, value in rows:
            store.set(state_key, move, value)
        return store

    def export_json(self, path: Path) -> None:
        rankings = [{"state": state_key, "move": move, "value": value} for state_key, move, value in self]
        document = {"version": FORMAT_VERSION, "format": self.table_format, "rankings": rankings}
        write_atomic(path, json.dumps(document, indent=0) + "\n")

    @staticmethod
    def import_json(path: Path, game: TabularGame) -> "RankingStore":
        """Read a table of the game: canonical positions, legal moves, each once; otherwise raise `UserError`."""
        require(path.is_file(), f"there is no table at {path}")
        try:
            document = json.loads(read_regular(path, MAX_DATA_BYTES))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is not a table in JSON: {error}") from error
        match document:
            case {"version": int(version), "format": str(table_format), "rankings": list(rankings)}:
                require(version == FORMAT_VERSION, f"{path} is a table of version {version}, not {FORMAT_VERSION}")
                store = RankingStore(table_format)
                store.require_format(game)
                for number, row in enumerate(rankings):
                    try:
                        store.add(row, game)
                    except UserError as error:
                        raise UserError(
                            f"{path}: rankings[{number}] is {str(row)[:100]}: {str(error)[:200]}"
                        ) from error
                return store
        raise UserError(f'{path} is not a table: it needs a "version", a "format" and a list of "rankings"')

    def require_format(self, game: TabularGame) -> None:
        theirs, own = self.table_format, game.table_format
        require(theirs == own, f"its table is of another game: {theirs[:100]}, not {own}")

    def add(self, row: Any, game: TabularGame) -> None:
        """Add a row of a JSON table; raise `UserError` if it is not of this game, or a duplicate."""
        match row:
            case {"state": str(key), "move": int(move), "value": int() | float() as value}:
                require(not isinstance(move, bool) and not isinstance(value, bool), "true and false are not numbers")
                require(-sys.float_info.max <= value <= sys.float_info.max, "the value must be finite")
                state = game.read_position(key)
                canonical = game.canonical(state).key
                require(key == canonical, f"the state must be canonical, {canonical}")
                legal = game.legal_actions(state)
                require(bool(legal), "the game is over in this state")
                require(move in legal, f"the move must be legal, one of {legal}")
                require(self.get(key, move) is None, "the state and the move are in the table already")
                self.set(key, move, float(value))
            case _:
                raise UserError("a row needs a state, a move and a value")


class QTableAgent(Agent):
    """Deterministic: ties go to the lowest move of the actual position, not the canonical one."""

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC, Trait.ENUMERABLE})
    deterministic = True

    def __init__(self, store: RankingStore, shortcuts: bool) -> None:
        self.store, self.shortcuts = store, shortcuts

    def check(self, game: Game) -> None:
        super().check(game)
        assert isinstance(game, TabularGame)
        self.table(game).require_format(game)

    def table(self, game: TabularGame) -> RankingStore:
        return self.store

    def decide(self, game: TabularGame, view: Any, rng: np.random.Generator) -> Decision:  # type: ignore[override]
        """`info` has the rule that chose the move, the symmetry of the table lookup, and the best value."""
        values = action_values(self.table(game), game, view)
        best = max(values.values())
        rule, move = "greedy", min(action for action, value in values.items() if value == best)
        if self.shortcuts:
            if (win := winning_move(game, view)) is not None:
                rule, move = "win_in_1", win
            elif (block := blocking_move(game, view)) is not None:
                rule, move = "block_in_1", block
        return Decision(move, {"rule": rule, "transform": game.canonical(view).transform, "move": move, "best_q": best})

    def analyze(self, game: TabularGame, view: Any, count: int) -> list[Line]:  # type: ignore[override]
        """Rank moves by the table only; `decide` may prefer a shortcut."""
        values = action_values(self.table(game), game, view)
        ranked = sorted(values, key=lambda action: -values[action])[:count]
        return [Line(f"{values[action]:.2f}", (action,)) for action in ranked]


class QTableFile(QTableAgent):
    """The table of a file. It is read for the first game played: every row must be a position and a move of it."""

    def __init__(self, path: str, shortcuts: bool) -> None:
        self.path, self.shortcuts = Path(path), shortcuts
        require(self.path.is_file(), f"there is no table at {path}")

    def table(self, game: TabularGame) -> RankingStore:
        if not hasattr(self, "store"):
            self.store = RankingStore.import_json(self.path, game)
        return self.store


def action_values(store: RankingStore, game: TabularGame, state: Any) -> dict[int, float]:
    """Return the value of each legal move, 0 if never tried."""
    canonical = game.canonical(state)
    values = {action: store.get(canonical.key, canonical.moves[action]) for action in game.legal_actions(state)}
    return {action: 0.0 if value is None else value for action, value in values.items()}


def winning_move(game: TabularGame, state: Any) -> int | None:
    """Return the lowest move that wins at once."""
    winner = outcome_for_seat(game.to_move(state), 1)
    wins = (action for action in game.legal_actions(state) if game.outcome(game.play(state, action)) == winner)
    return next(wins, None)


def blocking_move(game: TabularGame, state: Any) -> int | None:
    """Return the lowest move that prevents a win of the opponent in one; None if there is no threat or no such move."""
    replies = {action: game.play(state, action) for action in game.legal_actions(state)}
    safe = [action for action, after in replies.items() if winning_move(game, after) is None]
    return safe[0] if 0 < len(safe) < len(replies) else None


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
    """Move the value of `move` in `state`, neither canonical, toward `target`; return the TD error."""
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
    eval_episodes: Interval = 200

    needs: ClassVar[frozenset[Trait]] = QTableAgent.needs
    updates_network: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, env: TableEnv, curriculum: Curriculum) -> None:
        require(not curriculum.mixes, "algo=qlearning trains in one environment at a time: set curriculum=none")
        for stage in curriculum.all(env):
            require_no_past_selves(stage.opponent, "qlearning")
            win, draw_, loss = (stage.reward(outcome) for outcome in (1, 0, -1))
            require(  # one table serves both players
                not isinstance(stage.opponent, SelfPlay) or (win == -loss and draw_ == 0),
                f"learning from self-play needs reward.win = -reward.loss and reward.draw = 0, not {win}, {loss}, "
                f"{draw_}",
            )

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

        if episode == 0:
            run.save_first(state())
        with run.progress("episodes", self.episodes, episode) as advance:
            while episode < self.episodes:
                stage_env = curriculum.env(env)
                turns, outcome = self.play_episode(stage_env, store, rng)
                error = self.learn_from(turns, outcome, stage_env, store)
                episode += 1
                advance(episode)
                if episode % self.eval_every == 0 or episode == self.episodes:
                    agent = QTableAgent(store, self.shortcuts)
                    with run.recorded_game(env.game, episode, episode / self.episodes) as on_position:
                        metrics = selection_metrics(env, agent, self.eval_episodes, run.seed, on_position=on_position)
                    metrics |= lost_lines(env.game, store)
                    train = {"td_error": error, "table_size": len(store), "stage": curriculum.stage}
                    run.log(episode, metrics | {f"train/{name}": value for name, value in train.items()})
                    curriculum.record(metrics["eval/not_lost_share"])
                    win_rate = metrics.get("eval/all/win_rate", metrics["eval/win_rate"])
                    run.save_best(metrics["eval/not_lost_share"], state(), win_rate=win_rate)
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


def _store_of(saved: dict[str, Any]) -> RankingStore:
    for row in saved["table"]:
        state, move, value = row
        known = isinstance(state, str) and type(move) is int and type(value) in (int, float) and math.isfinite(value)
        if not known:
            raise ValueError(f"{str(row)[:100]} must be a state, a move and a finite value")
    return RankingStore.from_rows(saved["format"], saved["table"])
