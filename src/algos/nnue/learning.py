"""NNUE: play against itself by search, train the evaluation of the search on the positions, repeat."""

import hashlib
import logging
import os
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...core.errors import UserError, require
from ...core.files import open_regular
from ...core.parallel import ordered_results
from ...core.play.capabilities import LearnedEvaluation
from ...core.play.curriculum import Curriculum
from ...core.play.game import Game, Trait, TwoPlayerGame
from ...core.ranges import BatchSize, Bounds, Count, Depth, Fraction, Interval
from ...core.runs import checkpoint
from ...core.runs.run import NETWORK, Environment, Run, checkpoint_path
from ...core.runs.zoo import find_run
from ..alphabeta import AlphaBetaAgent
from ..trainer import NetworkLearnerConfig, NetworkTrainer, Optimizer
from ..weights import load_weights
from .agent import EvaluationAgent, EvaluationNetwork, PlayConfig, numpy_weights
from .games import PROVEN, GamePlan, PlayedGame, SelfPlayConfig, evaluation_of

log = logging.getLogger(__name__)

PLAYING = 0.5  # share of a time limit in which games are played
MAX_BATCH = 65_536  # positions per forward pass of a validation
SCALES = np.geomspace(3, 1000, 100)  # candidates for `score_scale`
DEFAULT_SCALE = 100.0  # if no outcome is known


@dataclass(frozen=True, kw_only=True)
class NNUE(NetworkLearnerConfig):
    play: PlayConfig
    self_play: SelfPlayConfig
    first_player: AlphaBetaAgent
    positions: Annotated[Sequence[str], Bounds(ge=1)] | None
    generations: Depth
    games: Interval
    window: Depth
    reset_weights: bool
    workers: Annotated[int, Bounds(ge=0, le=1024)]
    score_weight: Fraction
    holdout: Annotated[float, Bounds(gt=0, lt=1)]
    batch_size: BatchSize
    augment: bool
    eval_nodes: Count

    needs: ClassVar[frozenset[Trait]] = EvaluationAgent.needs

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
        self.check_evaluation(env, agent)

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "NNUETrainer":
        log.info("the learner plays both sides of its games: env.opponent, env.seat and reward are not used")
        if self.positions is not None:
            log.info("positions are read from files: algo.generations, games, window, workers and self_play are unused")
        return NNUETrainer(self, env, run)

    def load_agent(self, saved: dict[str, Any]) -> EvaluationAgent:
        return EvaluationAgent(saved["weights"], self.play)

    def build_net(self, game: Game) -> EvaluationNetwork:
        """Build the network, with the weights of the file `init_from`, or the best ones of that run, if given."""
        net = EvaluationNetwork(evaluation_of(game).layers)
        if self.init_from is not None and (path := Path(self.init_from)).is_file():
            weights = evaluation_of(game).load(path)
            net.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
        elif self.init_from is not None:
            saved = checkpoint.load(checkpoint_path(find_run(self.init_from), "best"))["learner"]
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
        network = None if net is None else evaluation_of(game).quantized(numpy_weights(net))
        plan = GamePlan(game, self.first_player, network, self.self_play, seed, generation)
        return ordered_results(plan.play, numbers, self.workers)

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
    fits = fits and bool((np.abs(records["result"].astype(int)) <= PROVEN).all())
    require(fits, f"algo.positions: {path} does not hold positions of this game: write it by python -m src.generate")
    return records


def unpacked(bits: Tensor) -> Tensor:
    """Convert (N, F / 8) uint8 to features (N, F) float32."""
    shifts = torch.arange(8, dtype=torch.uint8, device=bits.device)
    return (bits[:, :, None] >> shifts & 1).flatten(1).float()


def score_scale(records: np.ndarray) -> float:
    """Return the points per unit of log odds that fit the outcomes best (maximum likelihood)."""
    known = (np.abs(records["score"]) < PROVEN) & (np.abs(records["result"]) == PROVEN)
    if not known.any():
        return DEFAULT_SCALE
    scores, won = records["score"][known].astype(float), records["result"][known] > 0
    losses = [np.logaddexp(0, np.where(won, -scores, scores) / scale).mean() for scale in SCALES]
    return float(SCALES[int(np.argmin(losses))])


def win_probabilities(records: np.ndarray, scale: float, score_weight: float) -> np.ndarray:
    """Return targets (N,) float32: a mean of score and result as winning probabilities.

    `score_weight` is the weight of the score. A proven score is its own target.
    """

    def probability(scores: np.ndarray) -> np.ndarray:
        return np.where(np.abs(scores) == PROVEN, scores > 0, 0.5 + 0.5 * np.tanh(scores / scale / 2))

    score, result = (records[name].astype(np.float32) for name in ("score", "result"))
    mixed = score_weight * probability(score) + (1 - score_weight) * probability(result)
    return np.where(np.abs(score) == PROVEN, score > 0, mixed).astype(np.float32)


class Dataset:
    """Features and targets of positions on a device; the last ones of each part are held out."""

    def __init__(
        self,
        evaluation: LearnedEvaluation,
        parts: Sequence[np.ndarray],
        score_weight: float,
        holdout: float,
        device: str,
    ) -> None:
        """`parts` are records."""
        bits = [torch.from_numpy(evaluation.features(part)) for part in parts]
        targets = [torch.from_numpy(win_probabilities(part, score_scale(part), score_weight)) for part in parts]
        held_out = [max(1, round(len(part) * holdout)) for part in parts]
        both = list(zip(bits, targets, held_out, strict=True))
        self.bits = torch.cat([bits[:-count] for bits, _, count in both]).to(device)
        self.targets = torch.cat([targets[:-count] for _, targets, count in both]).to(device)
        require(len(self.targets) > 0, "there are no positions to train on: set algo.games to more games")
        self.held_out_bits = torch.cat([bits[-count:] for bits, _, count in both]).to(device)
        self.held_out_targets = torch.cat([targets[-count:] for _, targets, count in both]).to(device)

    def loss(self, net: nn.Module, rows: Tensor, mirror: Tensor | None) -> Tensor:
        """Return the cross entropy of some positions, on the mirrored board if `mirror` (F,) is given."""
        features = unpacked(self.bits[rows])
        if mirror is not None:
            features = features[:, mirror]
        return functional.binary_cross_entropy_with_logits(net(features).float(), self.targets[rows])

    @torch.no_grad()
    def validation_loss(self, net: nn.Module) -> float:
        """Return the cross entropy of the held-out positions less the entropy of their targets."""
        total = 0.0
        for first in range(0, len(self.held_out_targets), MAX_BATCH):
            bits, goal = (each[first : first + MAX_BATCH] for each in (self.held_out_bits, self.held_out_targets))
            loss = functional.binary_cross_entropy_with_logits(net(unpacked(bits)).float(), goal, reduction="sum")
            total += float(loss + (torch.xlogy(goal, goal) + torch.xlogy(1 - goal, 1 - goal)).sum())
        return total / len(self.held_out_targets)


class NNUETrainer(NetworkTrainer[NNUE]):
    """A generation plays its games, then trains on them and on the games of earlier generations in the window.

    An update is one game or one batch.
    """

    unit = "games and batches"

    def __init__(self, algo: NNUE, env: Environment, run: Run) -> None:
        self.evaluation, self.device = evaluation_of(env.game), algo.compute.torch_device
        super().__init__(algo, env, run)
        self.files = algo.load_positions(env.game)
        digest = hashlib.sha256()
        for records in self.files:
            digest.update(records.tobytes())
        self.digest = digest.hexdigest()
        self.generations, self.games = (1, 0) if self.files else (algo.generations, algo.games)
        self.batches_per_generation = max(1, algo.total_steps // self.generations // algo.batch_size)
        self.total = self.generations * (self.games + self.batches_per_generation)
        self.has_learned = algo.init_from is not None  # otherwise `first_player` plays
        self.generation = self.batches = 0  # batches of this generation
        self.playing: Generator[PlayedGame, None, None] | None = None
        self.played: list[np.ndarray] = []  # games of this generation
        self.parts: list[np.ndarray] = self.files  # records of the latest generations
        self.data: Dataset | None = None  # of these, once the games of this generation are over
        mirror = self.evaluation.mirrored if algo.augment else None
        self.mirror = None if mirror is None else torch.from_numpy(mirror.astype(np.int64)).to(self.device)

    def build_net(self, init_from: str | None) -> nn.Module:
        return self.algo.build_net(self.env.game)

    def fit(self) -> EvaluationAgent:
        try:
            best: EvaluationAgent = super().fit()
        finally:
            self._end_games()
        best.check(self.env.game)  # a resumed run may have another best checkpoint
        weights = {name: weight.numpy() for name, weight in best.weights.items()}
        self.evaluation.save(self.evaluation.quantized(weights), self.run.directory / NETWORK)
        return best

    @property
    def work_done(self) -> int:
        games = self.games if self.batches > 0 else len(self.played)
        return self.generation * (self.games + self.batches_per_generation) + games + self.batches

    @property
    def is_finished(self) -> bool:
        return self.optimizer.progress >= 1 and self.generation + 1 == self.generations

    def _time_used(self) -> float:
        """Return the used fraction of the time of this generation, 0 without a limit."""
        if self.algo.seconds is None:
            return 0.0
        return self.run.seconds / self.algo.seconds * self.generations - self.generation

    def budget_used(self) -> float:
        """Return the fraction of the training of this generation, after its games."""
        if self.batches == 0:
            return 0.0
        first = 0.0 if self.files else PLAYING
        return max(self.batches / self.batches_per_generation, (self._time_used() - first) / (1 - first))

    def update(self) -> None:
        if self.optimizer.progress >= 1:  # the generation is trained
            self.generation, self.batches, self.has_learned, self.data = self.generation + 1, 0, True, None
            self.first_step, self.optimizer = self.steps, Optimizer(self.net, self.algo)
        if self.data is None:
            out_of_time = self._time_used() >= PLAYING and bool(self.played) and len(self.played[-1]) > 1
            if self.batches == 0 and len(self.played) < self.games and not out_of_time:
                self._play_game()
                return
            self.data = self._load_data()
        self._train_batch(self.data)

    def _play_game(self) -> None:
        if self.playing is None:
            net, numbers = self.net if self.has_learned else None, range(len(self.played), self.games)
            self.playing = self.algo.play_games(self.env.game, net, self.run.seed, self.generation, numbers)
        game = next(self.playing)
        self.played.append(game.records)
        self.add({"games": 1, "length": game.plies, "drawn": game.outcome == 0, "first": game.outcome == 1})

    def _end_games(self) -> None:
        if self.playing is not None:
            self.playing.close()
            self.playing = None

    def _load_data(self) -> Dataset:
        """Add the games of this generation to the window, and return the positions to train on."""
        self._end_games()
        if self.played:
            self.parts, self.played = [*self.parts, np.concatenate(self.played)][-self.algo.window :], []
        if self.batches == 0 and self.generation > 0 and self.algo.reset_weights:
            torch.manual_seed(int(self.run.generator("weights", self.generation).integers(2**62)))
            self.net.load_state_dict(EvaluationNetwork(self.evaluation.layers).state_dict())
        return Dataset(self.evaluation, self.parts, self.algo.score_weight, self.algo.holdout, self.device)

    def _train_batch(self, data: Dataset) -> None:
        algo = self.algo
        rng = self.run.generator("batch", self.generation, self.batches)
        rows = torch.from_numpy(rng.integers(len(data.targets), size=algo.batch_size)).to(self.device)
        with algo.compute.autocast():
            loss = data.loss(self.net, rows, self.mirror if self.batches % 2 else None)
        self.step({"loss": loss})
        self.batches, self.steps = self.batches + 1, self.steps + algo.batch_size

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        assert self.data is not None  # rows are logged with evaluations
        metrics = {"train/generation": self.generation, "train/score_scale": score_scale(self.parts[-1])}
        metrics["train/replay_size"] = len(self.data.targets)
        metrics["losses/validation_loss"] = self.data.validation_loss(self.net)
        games = sums.get("games", 0)
        if games > 0:
            metrics |= {"train/episode_length": sums["length"] / games, "train/draw_rate": sums["drawn"] / games}
            metrics |= {"train/first_player_win_rate": sums["first"] / games, "train/episodes": games}
        return metrics

    def agent(self) -> EvaluationAgent:
        return EvaluationAgent(
            self.weights()["weights"], PlayConfig(seconds=None, nodes=self.algo.eval_nodes, threads=1)
        )

    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        """Return the weights in float32: the search rounds them to integers itself."""
        return {"weights": {name: weight.detach().cpu().clone() for name, weight in self.net.state_dict().items()}}

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "files": self.digest,
            "parts": [] if self.files else [_as_bytes(part) for part in self.parts],
            "played": [_as_bytes(game) for game in self.played],
            "has_learned": self.has_learned,
            "generation": self.generation,
            "batches": self.batches,
        }

    def load_state(self, saved: dict[str, Any]) -> None:
        same = saved["files"] == self.digest
        require(same, "the files of algo.positions have changed since the checkpoint: restore them, or begin a new run")
        super().load_state(saved)
        record = self.evaluation.record
        self.parts = self.files or [part.view(record) for part in saved["parts"]]
        self.played = [game.view(record) for game in saved["played"]]
        self.has_learned, self.generation, self.batches = saved["has_learned"], saved["generation"], saved["batches"]
        self.first_step = self.steps - self.batches * self.algo.batch_size


def _as_bytes(records: np.ndarray) -> np.ndarray:
    """Return records as an array that a checkpoint can hold."""
    return np.ascontiguousarray(records).view(np.uint8)
