"""Imitation: learn a teacher's actions, its probabilities for the auxiliary task and its win probabilities."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from ..core.errors import require
from ..core.parallel import CORES
from ..core.play.curriculum import Curriculum
from ..core.play.game import Game, Trait
from ..core.ranges import BatchSize, BelowOne, Interval, NonNegative
from ..core.runs.run import Environment, Run
from ..core.seeding import generator
from ..nets.boards import AuxCells, Heads, aux_loss
from ..nets.masked import MASKED_LOGIT, MaskedCategorical
from ..nets.symmetry import mirrored
from .compute import CPU
from .network_agent import InferenceConfig, NetworkAgent
from .trainer import NetworkLearnerConfig, NetworkTrainer
from .weights import Architecture, build_net

log = logging.getLogger(__name__)


@runtime_checkable
class Teacher(Protocol):
    def check(self, game: Game) -> None:
        """Raise `UserError` if the teacher does not support the game."""

    def labeled_batch(self, game: Game, seed: int, number: int, rows: int) -> Any:
        """Return labeled batch `number`, a named tuple of arrays that depends on the arguments only:

        observation (rows, ...), good_actions and legal_actions (rows, A) bool, aux_target (rows, H, W): probability
        that the auxiliary task is true of a cell, negative if unknown, or (rows, 0) in games without such a task,
        win_probability (rows,) of the player to move, negative if unknown.
        """


@dataclass(frozen=True, kw_only=True)
class Imitation(NetworkLearnerConfig):
    teacher: Teacher
    net: Architecture
    play: InferenceConfig
    batch_size: BatchSize
    chunk_size: BatchSize
    window: Interval
    repeats: Interval
    aux_coef: NonNegative
    aux_cells: AuxCells
    vf_coef: NonNegative
    augment: bool
    ema_decay: BelowOne

    needs: ClassVar[frozenset[Trait]] = frozenset({Trait.TEACHABLE})

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.batch_size <= self.total_steps,
            f"algo.batch_size={self.batch_size} must not be more than algo.total_steps={self.total_steps}",
        )
        require(
            self.batch_size <= self.chunk_size * self.repeats,
            f"algo.batch_size={self.batch_size} must not be more than algo.chunk_size={self.chunk_size} times "
            f"algo.repeats={self.repeats}",
        )

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        stages = curriculum.promote_at is not None
        require(not stages, "algo=imitation supports mixtures of environments, but no stages: set curriculum=none")
        agent = NetworkAgent(build_net(self.net, env, self.init_from), CPU, self.play)
        shape = env.observation_space.shape, env.game.num_actions
        for each in curriculum.all(env):
            self.teacher.check(each.game)
            agent.check(each.game)
            alike = (each.observation_space.shape, each.game.num_actions) == shape
            require(alike, "algo=imitation needs environments with the same observations and actions in a mixture")
        is_symmetric = env.game.mirrored or not self.augment
        require(is_symmetric, "algo.augment=true mirrors the boards, but this game is not symmetric: set it to false")
        if env.game.aux_task is not None:
            agent.require_aux_head(env, "")
        unreadable = env.game.has_coded_labels and getattr(agent.net, "encoder", self) is None
        require(not unreadable, "the boards of the teacher are codes: set net_defaults.encoder, as tuned settings do")

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "ImitationTrainer":
        return ImitationTrainer(self, env, [each.game for each in curriculum.all(env)], run)

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent.load(self.net, saved, self.compute, self.play)


class ImitationTrainer(NetworkTrainer[Imitation]):
    """Its `acting_net` is the moving average of the weights."""

    unit = "positions"

    def __init__(self, algo: Imitation, env: Environment, games: Sequence[Game], run: Run) -> None:
        log.info("compiling the teacher, which takes a minute or two the first time")
        for game in games:
            algo.teacher.labeled_batch(game, run.seed, 0, 1)  # compiles before time is measured
        super().__init__(algo, env, run, ema_decay=algo.ema_decay)
        self.games, self.total = games, algo.total_steps // algo.batch_size * algo.batch_size
        self.compiled = algo.compute.compiled(self.net)

    def fit(self) -> Any:
        algo = self.algo

        def make(number: int) -> Any:
            """Return a labeled batch, of each game in turn."""
            return algo.teacher.labeled_batch(
                self.games[number % len(self.games)], self.run.seed, number, algo.chunk_size
            )

        with LabeledBatchStream(
            make,
            self.run.seed,
            rows=algo.chunk_size,
            batch_size=algo.batch_size,
            window=algo.window,
            repeats=algo.repeats,
            device=algo.compute.torch_device,
        ) as self.stream:
            return super().fit()

    def update(self) -> None:
        self.sums = {}  # rows show the latest batch
        self.step(self._losses(self.stream.batch(self.updates), image=self.updates))
        self.sums["train/lr"] = self.optimizer.current_lr
        self.steps += self.algo.batch_size

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        return {"train/lr": sums["train/lr"]}

    def agent(self) -> NetworkAgent:
        return NetworkAgent(self.acting_net, self.algo.compute, self.algo.play)

    def _losses(self, rows: list[Tensor], image: int) -> dict[str, Tensor]:
        observation, good_actions, legal_actions, aux_target, win_probability = rows
        if self.algo.augment:
            both = torch.cat([good_actions, legal_actions], dim=1)
            observation, both, aux_target = mirrored(observation, both, aux_target, image)
            good_actions, legal_actions = both.chunk(2, dim=1)
        with self.algo.compute.autocast():
            heads: Heads = self.compiled(observation.contiguous())
        losses = {
            "policy_loss": cross_entropy(heads.policy, good_actions, legal_actions),
            "value_loss": value_loss(heads.value, win_probability),
        }
        if aux_target.shape[1] > 0:
            losses["aux_loss"] = aux_loss(heads.aux, aux_target, self.algo.aux_cells)
        weights = {"policy_loss": 1.0, "aux_loss": self.algo.aux_coef, "value_loss": self.algo.vf_coef}
        return {"loss": sum((weights[name] * loss for name, loss in losses.items()), torch.zeros(())), **losses}


class LabeledBatchStream:
    """Sample training batch b from `window` consecutive labeled batches, which threads generate ahead.

    After `repeats` times the rows of one labeled batch, a new one replaces the oldest. Batch b depends on the
    seed only, not on the number of threads or where the stream starts.
    """

    def __init__(
        self,
        make: Callable[[int], Any],
        seed: int,
        *,
        rows: int,
        batch_size: int,
        window: int,
        repeats: int,
        device: str,
    ) -> None:
        """`make(n)` returns labeled batch n."""
        self._make, self._seed = make, seed
        self._rows, self._batch_size, self._window, self._device = rows, batch_size, window, device
        self._draws_per_batch = rows * repeats // batch_size
        self._threads = ThreadPoolExecutor(CORES)
        self._pending: dict[int, Future[Any]] = {}
        self._fields: list[Tensor] = []  # one tensor per field, `window` batches long; batch n is in slot n % window
        self._newest = -1
        self._random = torch.Generator(device)

    def __enter__(self) -> "LabeledBatchStream":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def batch(self, number: int) -> list[Tensor]:
        """Return batch `number`; numbers must not decrease."""
        last = number // self._draws_per_batch + self._window - 1
        while self._newest < last:
            self._take(max(self._newest + 1, last - self._window + 1))
        self._random.manual_seed(int(generator(self._seed, "batch", number).integers(2**62)))
        size = (self._batch_size,)
        rows = torch.randint(self._window * self._rows, size, device=self._device, generator=self._random)
        return [field[rows] for field in self._fields]

    def _take(self, number: int) -> None:
        for ahead in range(number, number + self._window + 2 * CORES):
            if ahead not in self._pending:
                self._pending[ahead] = self._threads.submit(self._make, ahead)
        labeled = [torch.from_numpy(array) for array in self._pending.pop(number).result()]
        if not self._fields:
            shapes = [(self._window * self._rows, *field.shape[1:]) for field in labeled]
            self._fields = [
                torch.zeros(shape, dtype=field.dtype, device=self._device)
                for shape, field in zip(shapes, labeled, strict=True)
            ]
        first = number % self._window * self._rows
        for stored, field in zip(self._fields, labeled, strict=True):
            stored[first : first + self._rows] = field.to(self._device, non_blocking=True)
        self._newest = number


def cross_entropy(policy: Tensor, good_actions: Tensor, legal_actions: Tensor) -> Tensor:
    """Average two losses: the cross entropy with the uniform distribution over the good actions, and the negative log
    probability of choosing any of them; they are equal if one action is good.

    The first one raises every good action, the second lowers the others.
    """
    log_probs = MaskedCategorical(policy, legal_actions).log_probs
    each = -(torch.where(good_actions, log_probs, 0.0).sum(dim=1) / good_actions.sum(dim=1))
    any_good = -log_probs.masked_fill(~good_actions, MASKED_LOGIT).logsumexp(dim=1)
    return ((each + any_good) / 2).mean()


def value_loss(value: Tensor, win_probability: Tensor) -> Tensor:
    """Return the mean squared error of values in [-1, 1]; a negative win probability is unknown."""
    known = win_probability >= 0
    return (((value.float() - (2 * win_probability - 1)) ** 2) * known).sum() / known.sum().clamp_min(1)
