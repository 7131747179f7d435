"""NNUE: play against itself by search, train the evaluation of the search on the positions, repeat."""

import hashlib
import logging
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ...core.errors import UserError, require
from ...core.files import open_regular
from ...core.play.arena import require_varied
from ...core.play.curriculum import Curriculum
from ...core.play.game import Game, Trait, TwoPlayerGame
from ...core.ranges import (
    BatchSize,
    Bounds,
    Count,
    Depth,
    Fraction,
    Interval,
    NonNegative,
    NonNegativeInt,
    Plies,
    Positive,
    check_fields,
)
from ...core.runs import checkpoint
from ...core.runs.algorithm import Environment
from ...core.runs.report import first_baseline
from ...core.runs.run import NETWORK, Run, checkpoint_path
from ..alphabeta import AlphaBetaAgent
from ..network import (
    Compute,
    load_weights,
    next_evaluation,
    require_finite,
    selection_error,
    selection_metrics,
    selection_score,
)
from ..optimizer import Optimizer
from .agent import EvaluationAgent, PlayConfig
from .games import GamePlan, PlayedGame, SelfPlayConfig, evaluation_of, play_games
from .network import Dataset, EvaluationNetwork, numpy_weights
from .targets import score_scale

log = logging.getLogger(__name__)

PLAYING = 0.5  # share of a time limit in which games are played


@dataclass(frozen=True)
class NNUE:
    compute: Compute
    play: PlayConfig
    self_play: SelfPlayConfig
    first_player: AlphaBetaAgent
    init_from: str | None  # run whose network to start from
    positions: Annotated[Sequence[str], Bounds(ge=1)] | None
    total_steps: Count
    seconds: Positive | None
    generations: Depth
    games: Interval
    window: Depth
    reset_weights: bool
    workers: Annotated[int, Bounds(ge=0, le=1024)]
    score_weight: Fraction
    holdout: Annotated[float, Bounds(gt=0, lt=1)]
    batch_size: BatchSize
    augment: bool
    lr: Positive
    lr_warmup: NonNegativeInt
    weight_decay: NonNegative
    max_grad_norm: Positive
    eval_every: Interval
    eval_episodes: Interval
    eval_nodes: Count
    eval_opening_plies: Plies

    needs: ClassVar[frozenset[Trait]] = EvaluationAgent.needs

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        require(len(curriculum.all(env)) == 1, "algo=nnue learns from itself alone: set curriculum=none")
        agent = self.load_agent({"weights": self.build_net(env.game).state_dict()})
        agent.check(env.game)
        self.first_player.check(env.game)
        require(
            self.first_player.seconds is None,
            "algo.first_player.seconds would make the games depend on the speed of the machine: set nodes or a level",
        )
        for records in self.load_positions(env.game):
            evaluation_of(env.game).features(records)  # refuses positions that cannot occur
        require_varied(env.game, agent, first_baseline(env), self.eval_opening_plies, self.eval_episodes)

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> EvaluationAgent:
        self.compute.report_idle_cores()
        log.info("the learner plays both sides of its games: env.opponent, env.seat and reward are not used")
        if self.positions is not None:
            log.info("positions are read from files: algo.generations, games, window, workers and self_play are unused")
        with self.compute.fixed_threads():
            return NNUETrainer(self, env, run).fit()

    def load_agent(self, saved: dict[str, Any]) -> EvaluationAgent:
        return EvaluationAgent(saved["weights"], self.play)

    def build_net(self, game: Game) -> EvaluationNetwork:
        """Build the network, with the best weights of the run `init_from` if given."""
        net = EvaluationNetwork(evaluation_of(game).layers)
        if self.init_from is not None:
            saved = checkpoint.load(checkpoint_path(Path(self.init_from), "best"))["learner"]
            load_weights(net, saved, f"algo.init_from={self.init_from} is not a run of algo=nnue with this game")
        return net

    def load_positions(self, game: Game) -> list[np.ndarray]:
        """Return the records of each file of `positions`."""
        files, left = [], max_positions_bytes()
        for name in self.positions or ():
            files.append(_read_records(Path(name), evaluation_of(game).record, left))
            left -= files[-1].nbytes
        return files

    def play_games(
        self, game: Game, net: nn.Module | None, seed: int, generation: int, numbers: Iterable[int]
    ) -> Generator[PlayedGame, None, None]:
        """Yield games of the search with a network, or of `first_player`."""
        assert isinstance(game, TwoPlayerGame)
        network = None if net is None else evaluation_of(game).quantised(numpy_weights(net))
        plan = GamePlan(game, self.first_player, network, self.self_play, seed, generation)
        return play_games(plan, numbers, self.workers)

    def first_net(self, game: Game) -> EvaluationNetwork | None:
        """Return the network that plays the first games, None if `first_player` does."""
        return None if self.init_from is None else self.build_net(game)


def max_positions_bytes() -> int:
    """Return the most bytes of `positions` that are read: their features take several times as much memory."""
    return checkpoint.size_limit() // 8


def _read_records(path: Path, record: np.dtype, max_bytes: int) -> np.ndarray:
    """Read a file of `src.generate`, whose header and size are checked before memory is allocated for it."""
    try:
        with open_regular(path, max_bytes) as file:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            size = os.fstat(file.fileno()).st_size - file.tell()
            fits = dtype == record and len(shape) == 1 and size == shape[0] * record.itemsize > record.itemsize
            records = np.fromfile(file, record) if fits else np.empty(0, record)
    except UserError as error:
        raise UserError(f"algo.positions: {error}") from error
    except (SyntaxError, TokenError, RecursionError) as error:  # numpy parses the header as Python
        raise UserError(f"algo.positions: {path} cannot be read: {error}") from error
    fits = fits and bool(np.isin(records["outcome"], (-1, 0, 1)).all())
    require(fits, f"algo.positions: {path} does not hold positions of this game: write it by python -m src.generate")
    return records


class NNUETrainer:
    """The mutable state of one run.

    A generation plays its games, then trains on them and those of the generations before in the window.
    """

    def __init__(self, algo: NNUE, env: Environment, run: Run) -> None:
        self.algo, self.env, self.run = algo, env, run
        self.evaluation, self.device = evaluation_of(env.game), algo.compute.torch_device
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        saved = run.restore()
        self.net = algo.compute.prepare(algo.build_net(env.game))
        self.optimizer = self._new_optimizer()
        self.files = algo.load_positions(env.game)
        self.digest = _digest(self.files)
        self.generations = 1 if self.files else algo.generations
        self.batches_per_generation = max(1, algo.total_steps // self.generations // algo.batch_size)
        self.has_learned = algo.init_from is not None  # otherwise `first_player` plays
        self.generation = self.batches = self.steps = 0  # batches of this generation
        self.played: list[np.ndarray] = []  # games of this generation
        self.parts: list[np.ndarray] = self.files  # records of the latest generations
        self.sums: dict[str, Any] = {}  # numbers and tensors, since the last logged row
        mirror = self.evaluation.mirrored if algo.augment else None
        self.mirror = None if mirror is None else torch.from_numpy(mirror.astype(np.int64)).to(self.device)
        if saved is not None:
            self._load_state(saved)

    def fit(self) -> EvaluationAgent:
        algo, run = self.algo, self.run
        total = self.generations * (self._games + self.batches_per_generation)
        with run.progress("games and batches", total, self._work_done(), algo.seconds) as advance:
            while self.generation < self.generations:
                self._play(advance)
                self._train(advance)
                self.generation, self.batches, self.has_learned = self.generation + 1, 0, True
                self.optimizer = self._new_optimizer()
        run.save(self._state())
        best = run.load_best(algo.load_agent)
        weights = {name: weight.numpy() for name, weight in best.weights.items()}
        self.evaluation.save(self.evaluation.quantised(weights), run.directory / NETWORK)
        return best

    @property
    def _games(self) -> int:
        """Games per generation."""
        return 0 if self.files else self.algo.games

    def _work_done(self) -> int:
        games = self._games if self.batches > 0 else len(self.played)
        return self.generation * (self._games + self.batches_per_generation) + games + self.batches

    def _new_optimizer(self) -> Optimizer:
        algo = self.algo
        return Optimizer(
            self.net,
            algo.compute,
            lr=algo.lr,
            weight_decay=algo.weight_decay,
            max_grad_norm=algo.max_grad_norm,
            lr_warmup=algo.lr_warmup,
        )

    def _time_used(self) -> float:
        """Return the used fraction of the time of this generation, 0 without a limit."""
        if self.algo.seconds is None:
            return 0.0
        return self.run.seconds / self.algo.seconds * self.generations - self.generation

    def _play(self, advance: Callable[[int], None]) -> None:
        """Play the games of this generation and add their positions to the window."""
        if self.batches > 0 or self.files:  # resumed after the games, or there are none
            return
        net = self.net if self.has_learned else None
        numbers = range(len(self.played), self._games)
        with closing(self.algo.play_games(self.env.game, net, self.run.seed, self.generation, numbers)) as games:
            for game in games:
                self.played.append(game.records)
                self._add({"games": 1, "length": game.plies, "drawn": game.outcome == 0, "first": game.outcome == 1})
                advance(self._work_done())
                self.run.save_when_due(self._state)
                if self._time_used() >= PLAYING and len(game.records) > 1:
                    break
        self.parts, self.played = [*self.parts, np.concatenate(self.played)][-self.algo.window :], []

    def _train(self, advance: Callable[[int], None]) -> None:
        """Fit the network to the positions of the window, with a learning rate that falls to 0."""
        algo, run = self.algo, self.run
        if self.batches == 0 and self.generation > 0 and algo.reset_weights:
            self._reset_weights()
        scales = [score_scale(part) for part in self.parts]
        data = Dataset(self.evaluation, self.parts, scales, algo.score_weight, algo.holdout, self.device)
        measured = {"train/score_scale": scales[-1], "train/replay_size": len(data.targets)}
        first = 0.0 if self.files else PLAYING
        while self.batches < self.batches_per_generation and self.optimizer.progress < 1:
            rng = run.generator("batch", self.generation, self.batches)
            rows = torch.from_numpy(rng.integers(len(data.targets), size=algo.batch_size)).to(self.device)
            with algo.compute.autocast():
                loss = data.loss(self.net, rows, self.mirror if self.batches % 2 else None)
            norm = self.optimizer.step(loss)
            self._add({"losses/loss": loss, "losses/grad_norm": norm, "batches": 1})
            due = next_evaluation(self.batches * algo.batch_size, algo.eval_every)
            self.batches, self.steps = self.batches + 1, self.steps + algo.batch_size
            time_used = (self._time_used() - first) / (1 - first)
            self.optimizer.progress = max(self.batches / self.batches_per_generation, time_used)
            if self.batches * algo.batch_size >= due or self.optimizer.progress >= 1:
                self._evaluate(data, measured)
            advance(self._work_done())
            run.save_when_due(self._state)

    def _reset_weights(self) -> None:
        torch.manual_seed(int(self.run.generator("weights", self.generation).integers(2**62)))
        self.net.load_state_dict(EvaluationNetwork(self.evaluation.layers).state_dict())

    def _evaluate(self, data: Dataset, measured: dict[str, float]) -> None:
        """Evaluate the network in a short search, and update the best checkpoint."""
        algo, run = self.algo, self.run
        require_finite(self.net, self.steps)
        metrics = self._take_metrics() | measured | {"losses/validation_loss": data.validation_loss(self.net)}
        agent = EvaluationAgent(self._weights(), PlayConfig(seconds=None, nodes=algo.eval_nodes, threads=1))
        won = selection_metrics(self.env, agent, algo.eval_episodes, run.seed, algo.eval_opening_plies)
        run.log(self.steps, metrics | won)
        run.save_best(selection_score(won), {"weights": self._weights()}, selection_error(won))

    def _add(self, values: dict[str, Any]) -> None:
        """Add to the sums of the next logged row; tensors stay on their device."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + (value.detach() if isinstance(value, Tensor) else float(value))

    def _take_metrics(self) -> dict[str, float]:
        """Return and reset the metrics since the last logged row."""
        sums, self.sums = {name: float(value) for name, value in self.sums.items()}, {}
        metrics = {name: value / sums["batches"] for name, value in sums.items() if name.startswith("losses/")}
        metrics |= {"train/lr": self.optimizer.current_lr, "train/generation": self.generation}
        games = sums.get("games", 0)
        if games > 0:
            metrics |= {"train/episode_length": sums["length"] / games, "train/draw_rate": sums["drawn"] / games}
            metrics |= {"train/first_player_win_rate": sums["first"] / games, "train/episodes": games}
        return metrics

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().cpu().clone() for name, weight in self.net.state_dict().items()}

    def _state(self) -> dict[str, Any]:
        require_finite(self.net, self.steps)
        return {
            "weights": self._weights(),
            "optimizer": self.optimizer.state(),
            "files": self.digest,
            "parts": [] if self.files else [_as_bytes(part) for part in self.parts],
            "played": [_as_bytes(game) for game in self.played],
            "has_learned": self.has_learned,
            "generation": self.generation,
            "batches": self.batches,
            "steps": self.steps,
            "sums": {name: float(value) for name, value in self.sums.items()},
        }

    def _load_state(self, saved: dict[str, Any]) -> None:
        same = saved["files"] == self.digest
        require(same, "the files of algo.positions have changed since the checkpoint: restore them, or begin a new run")
        load_weights(self.net, saved, "the saved weights are of another network")
        self.optimizer.load(saved["optimizer"])
        record = self.evaluation.record
        self.parts = self.files or [part.view(record) for part in saved["parts"]]
        self.played = [game.view(record) for game in saved["played"]]
        self.has_learned, self.generation = saved["has_learned"], saved["generation"]
        self.batches, self.steps, self.sums = saved["batches"], saved["steps"], dict(saved["sums"])


def _as_bytes(records: np.ndarray) -> np.ndarray:
    """Return records as an array that a checkpoint can hold."""
    return np.ascontiguousarray(records).view(np.uint8)


def _digest(files: Sequence[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for records in files:
        digest.update(records.tobytes())
    return digest.hexdigest()
