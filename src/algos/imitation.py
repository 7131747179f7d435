"""Imitation: learn a teacher's actions, its probabilities for the auxiliary task and its win probabilities."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from ..core.errors import require
from ..core.parallel import TaskPool
from ..core.play.agent import Agent
from ..core.play.curriculum import Curriculum
from ..core.play.game import Game, Trait, TwoPlayerGame
from ..core.ranges import BatchSize, BelowOne, Bounds, Interval, NonNegative
from ..core.runs.run import Environment, Run
from ..core.seeding import generator
from ..nets.boards import AuxCells, Heads, aux_loss
from ..nets.masked import MASKED_LOGIT, MaskedCategorical
from ..nets.symmetry import mirrored
from .agent_teacher import OTHER_TEACHER, AgentTeacher, LabelConfig
from .alphazero.self_play import Symmetries
from .compute import CPU, Compute
from .network_agent import InferenceConfig, NetworkAgent
from .trainer import NetworkLearnerConfig, NetworkTrainer
from .weights import Architecture, build_net

log = logging.getLogger(__name__)


LEARNER = Compute("cpu", "float32", compile=False, threads=1)  # while it plays games: the same in every process


@runtime_checkable
class Teacher(Protocol):
    def check(self, game: Game) -> None:
        """Raise `UserError` if the teacher does not support the game."""

    def labeled_batch(self, game: Game, seed: int, number: int, rows: int) -> Any:
        """Return labeled batch `number`, a named tuple of arrays that depends on the arguments only:

        observation (rows, ...), policy (rows, A): weights of the actions, such as bool for equally good ones,
        legal_actions (rows, A) bool, aux_target (rows, H, W): probability that the auxiliary task is true of a cell,
        negative if unknown, or (rows, 0) without labels of such a task, win_probability (rows,) of the player to move,
        negative if unknown.
        """


@dataclass(frozen=True, kw_only=True)
class Imitation(NetworkLearnerConfig):
    teacher: Teacher | Agent | None  # None: of a saved run, whose network alone is needed
    labels: LabelConfig | None = None  # of an agent as the teacher; runs of earlier versions have none
    workers: Annotated[int, Bounds(ge=0, le=1024)] = 0
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

    needs: ClassVar[frozenset[Trait]] = frozenset()
    not_for_play: ClassVar[tuple[str, ...]] = ("teacher",)  # its run may have been deleted

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

    @property
    def labeler(self) -> Any:
        """The teacher as a `Teacher`."""
        if isinstance(self.teacher, Agent) and self.labels is not None:
            return AgentTeacher(self.teacher, self.labels, partial(load_learner, self.net))
        return self.teacher

    @property
    def dagger(self) -> bool:
        """Whether the learner plays some of the games."""
        return isinstance(self.labeler, AgentTeacher) and self.labeler.config.dagger > 0

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        stages = curriculum.promote_at is not None
        require(not stages, "algo=imitation supports mixtures of environments, but no stages: set curriculum=none")
        agent = NetworkAgent(build_net(self.net, env, self.init_from), CPU, self.play)
        shape, labeler = (env.observation_space.shape, env.game.num_actions), self.labeler
        require(labeler is not None, f"algo.teacher is missing: {OTHER_TEACHER}")
        for each in curriculum.all(env):
            labeler.check(each.game)
            agent.check(each.game)
            alike = (each.observation_space.shape, each.game.num_actions) == shape
            require(alike, "algo=imitation needs environments with the same observations and actions in a mixture")
        is_symmetric = env.game.mirrored or isinstance(env.game, TwoPlayerGame) or not self.augment
        require(is_symmetric, "algo.augment=true mirrors the boards, but this game is not symmetric: set it to false")
        if isinstance(labeler, AgentTeacher):
            if self.workers > 0:
                labeler.check_workers([each.game for each in curriculum.all(env)])
            require(
                self.play.strategy is None,
                "algo.play.strategy needs the auxiliary task, which an agent does not label: set it to null",
            )
        else:
            if env.game.aux_task is not None:
                agent.require_aux_head(env, "")
            unreadable = env.game.has_coded_labels and getattr(agent.net, "encoder", self) is None
            turned = self.augment and isinstance(env.game, TwoPlayerGame) and len(env.game.symmetries()) > 1
            require(
                env.game.aux_task is None or not turned,
                "algo.augment=true does not turn the labels of an auxiliary task of a two-player game: set it to false",
            )
            require(
                not unreadable, "the boards of the teacher are codes: set net_defaults.encoder, as tuned settings do"
            )
        self.check_evaluation(env, agent)

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "ImitationTrainer":
        return ImitationTrainer(self, env, [each.game for each in curriculum.all(env)], run)

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent.load(self.net, saved, self.compute, self.play)


def load_learner(net: Architecture, saved: dict[str, Any]) -> NetworkAgent:
    """Return the learner as a player of games, which samples its moves; the weights are arrays."""
    weights = {name: torch.from_numpy(weight) for name, weight in saved["weights"].items()}
    return NetworkAgent.load(net, {**saved, "weights": weights}, LEARNER, InferenceConfig(symmetries=False), False)


@dataclass(frozen=True)
class LabelingTask:
    """Makes labeled batches, of each game in turn."""

    labeler: Any
    games: Sequence[Game]
    seed: int
    rows: int

    def __call__(self, item: tuple[int, Any]) -> Any:
        number, learner = item
        game = self.games[number % len(self.games)]
        options = {} if learner is None else {"learner": learner}
        return self.labeler.labeled_batch(game, self.seed, number, self.rows, **options)


class ImitationTrainer(NetworkTrainer[Imitation]):
    """Its `acting_net` is the moving average of the weights.

    A round is `window` labeled batches. Those of round r are made while round r - 1 replaces round r - 2 in the window.
    If the learner plays in them, it has the weights from the beginning of that time; in the first two rounds it does
    not play.
    """

    unit = "positions"

    def __init__(self, algo: Imitation, env: Environment, games: Sequence[Game], run: Run) -> None:
        log.info("compiling the teacher, which takes a minute or two the first time, if it has kernels")
        self.task = LabelingTask(algo.labeler, games, run.seed, algo.chunk_size)
        for game in games:
            self.example = algo.labeler.labeled_batch(game, run.seed, 0, 1)  # compiles before time is measured
        super().__init__(algo, env, run, ema_decay=algo.ema_decay)
        self.total = algo.total_steps // algo.batch_size * algo.batch_size
        self.compiled = algo.compute.compiled(self.net)
        self.players: dict[int, dict[str, Any]] = {}  # weights of the learner by the round that it plays
        symmetries = env.game.symmetries() if isinstance(env.game, TwoPlayerGame) else []
        self.symmetries = Symmetries(symmetries, algo.compute.torch_device) if len(symmetries) > 1 else None

    def fit(self) -> Any:
        algo, is_agent = self.algo, isinstance(self.task.labeler, AgentTeacher)
        with TaskPool(self.task, algo.workers if is_agent else None) as pool:
            self.stream = LabeledBatchStream(
                pool,
                self._item,
                self.run.seed,
                rows=algo.chunk_size,
                batch_size=algo.batch_size,
                window=algo.window,
                repeats=algo.repeats,
                device=algo.compute.torch_device,
            )
            return super().fit()

    def _item(self, number: int) -> tuple[int, Any] | None:
        """Return what labeled batch `number` depends on, None if the weights of its player are not known yet."""
        made_for = number // self.algo.window
        if not self.algo.dagger or made_for < 2:
            return number, None
        if (saved := self.players.get(made_for)) is None:
            return None
        return number, {**saved, "weights": {name: weight.numpy() for name, weight in saved["weights"].items()}}

    def update(self) -> None:
        current, first = divmod(self.updates, self.stream.updates_per_window)
        if self.algo.dagger and first == 0:
            self.players = {number: saved for number, saved in self.players.items() if number >= current}
            self.players[current + 2] = self.snapshot()
        self.sums = {}  # rows show the latest batch
        self.step(self._losses(self.stream.batch(self.updates), image=self.updates))
        self.sums["train/lr"] = self.optimizer.current_lr
        self.steps += self.algo.batch_size

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        return {"train/lr": sums["train/lr"]}

    def agent(self) -> NetworkAgent:
        return NetworkAgent(self.acting_net, self.algo.compute, self.algo.play)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "players": {str(number): saved for number, saved in self.players.items()}}

    def load_state(self, saved: dict[str, Any]) -> None:
        super().load_state(saved)
        self.players = {int(number): player for number, player in saved.get("players", {}).items()}

    def warm_up_losses(self) -> Iterator[Tensor]:
        size, device = self.algo.batch_size, self.algo.compute.torch_device
        rows = [torch.from_numpy(field).to(device).expand(size, *field.shape[1:]) for field in self.example]
        yield self._losses(rows, 0)["loss"]

    def _losses(self, rows: list[Tensor], image: int) -> dict[str, Tensor]:
        observation, policy, legal_actions, aux_target, win_probability = rows
        if self.algo.augment and self.symmetries is not None:
            images = torch.full((len(policy),), image % self.symmetries.count, device=policy.device)
            fields = (observation, legal_actions, policy)
            observation, legal_actions, policy = self.symmetries.transformed(fields, images)
        elif self.algo.augment and self.env.game.mirrored:
            both = torch.cat([policy, legal_actions], dim=1)
            observation, both, aux_target = mirrored(observation, both, aux_target, image)
            policy, legal_actions = both.chunk(2, dim=1)
        if observation.dtype == torch.float16:
            observation = observation.float()
        with self.algo.compute.autocast():
            heads: Heads = self.compiled(observation.contiguous())
        losses = {
            "policy_loss": cross_entropy(heads.policy, policy, legal_actions.bool()),
            "value_loss": value_loss(heads.value, win_probability),
        }
        if aux_target.shape[1] > 0:
            losses["aux_loss"] = aux_loss(heads.aux, aux_target, self.algo.aux_cells)
        weights = {"policy_loss": 1.0, "aux_loss": self.algo.aux_coef, "value_loss": self.algo.vf_coef}
        return {"loss": sum((weights[name] * loss for name, loss in losses.items()), torch.zeros(())), **losses}


class LabeledBatchStream:
    """Sample training batch b from `window` consecutive labeled batches, which a pool generates ahead.

    After `repeats` times the rows of one labeled batch, a new one replaces the oldest. Batch b depends on the
    seed only, not on the size of the pool or where the stream starts.
    """

    def __init__(
        self,
        pool: TaskPool[Any, Any],
        item: Callable[[int], Any],
        seed: int,
        *,
        rows: int,
        batch_size: int,
        window: int,
        repeats: int,
        device: str,
    ) -> None:
        """The pool makes labeled batch n from `item(n)`, which may be None until batch n is needed."""
        self._pool, self._item, self._seed = pool, item, seed
        self._rows, self._batch_size, self._window, self._device = rows, batch_size, window, device
        self._draws_per_batch = rows * repeats // batch_size
        self.updates_per_window = self._draws_per_batch * window
        self._ahead = window + 2 * pool.size if pool.size > 0 else 1
        self._pending: dict[int, Callable[[], Any]] = {}
        self._fields: list[Tensor] = []  # one tensor per field, `window` batches long; batch n is in slot n % window
        self._newest = -1
        self._random = torch.Generator(device)

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
        for ahead in range(number, number + self._ahead):
            if ahead not in self._pending and (item := self._item(ahead)) is not None:
                self._pending[ahead] = self._pool.submit(item)
        labeled = [torch.from_numpy(array) for array in self._pending.pop(number)()]
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


def cross_entropy(policy: Tensor, weights: Tensor, legal_actions: Tensor) -> Tensor:
    """Average two losses: the cross entropy with the distribution that the weights of the actions describe, and the
    negative log probability of choosing any action with a weight; they are equal if there is one.

    The first one raises every such action, the second lowers the others.
    """
    log_probs, good = MaskedCategorical(policy, legal_actions).log_probs, weights > 0
    shares = weights.float() / weights.sum(dim=1, keepdim=True, dtype=torch.float32)
    each = -torch.where(good, shares * log_probs, 0.0).sum(dim=1)
    any_good = -log_probs.masked_fill(~good, MASKED_LOGIT).logsumexp(dim=1)
    return ((each + any_good) / 2).mean()


def value_loss(value: Tensor, win_probability: Tensor) -> Tensor:
    """Return the mean squared error of values in [-1, 1]; a negative win probability is unknown."""
    known = win_probability >= 0
    return (((value.float() - (2 * win_probability - 1)) ** 2) * known).sum() / known.sum().clamp_min(1)
