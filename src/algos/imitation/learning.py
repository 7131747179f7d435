"""Imitation: learn a teacher's actions, its probabilities for the auxiliary task and its win probabilities."""

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...core.errors import require
from ...core.play.capabilities import SupportsAgentMetrics
from ...core.play.curriculum import Curriculum
from ...core.play.game import Game, Trait
from ...core.ranges import BatchSize, BelowOne, Count, Interval, NonNegative, NonNegativeInt, Positive, check_fields
from ...core.runs.algorithm import Environment
from ...core.runs.run import Run
from ...nets.boards import Heads
from ...nets.losses import aux_loss
from ...nets.masked import MASKED_LOGIT, MaskedCategorical
from ...nets.symmetry import mirrored
from ..network import (
    Architecture,
    Compute,
    InferenceConfig,
    NetworkAgent,
    average_into,
    budget_used,
    build_net,
    export_weights,
    load_network,
    next_evaluation,
    require_finite,
    selection_error,
    selection_metrics,
    selection_score,
)
from ..optimizer import Optimizer
from .stream import LabeledBatchStream, Teacher

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Imitation:
    teacher: Teacher
    net: Architecture
    compute: Compute
    play: InferenceConfig
    init_from: str | None  # run whose network to start from
    total_steps: Count
    seconds: Positive | None
    batch_size: BatchSize
    chunk_size: BatchSize
    window: Interval
    repeats: Interval
    lr: Positive
    lr_warmup: NonNegativeInt
    weight_decay: NonNegative
    max_grad_norm: Positive
    aux_coef: NonNegative
    vf_coef: NonNegative
    augment: bool
    ema_decay: BelowOne
    eval_every: Interval
    eval_episodes: Interval

    needs: ClassVar[frozenset[Trait]] = frozenset({Trait.TEACHABLE})

    def __post_init__(self) -> None:
        check_fields(self)
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
        agent = NetworkAgent(
            build_net(self.net, env, self.init_from),
            Compute("cpu", "float32", False),
            self.play,
        )
        shape = env.observation_space.shape, env.game.num_actions
        for each in curriculum.all(env):
            self.teacher.check(each.game)
            agent.check(each.game)
            alike = (each.observation_space.shape, each.game.num_actions) == shape
            require(alike, "algo=imitation needs environments with the same observations and actions in a mixture")
        is_symmetric = env.game.mirrored or not self.augment
        require(is_symmetric, "algo.augment=true mirrors the boards, but this game is not symmetric: set it to false")
        if env.game.aux_task is not None:
            aux = agent.heads(env.observation_space.sample()[None]).aux
            has_head = aux.shape[1:] == env.observation_space.shape[-2:]
            require(has_head, "imitation needs a network with an auxiliary head: choose net@algo.net=cnn or residual")

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> NetworkAgent:
        self.compute.report_idle_cores()
        with self.compute.fixed_threads():
            return self._fit(env, [each.game for each in curriculum.all(env)], run)

    def _fit(self, env: Environment, games: Sequence[Game], run: Run) -> NetworkAgent:
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        log.info("compiling the teacher, which takes a minute or two the first time")
        for game in games:
            self.teacher.labeled_batch(game, run.seed, 0, 1)  # compiles before time is measured
        saved = run.restore()
        net = self.compute.prepare(build_net(self.net, env, self.init_from if saved is None else None))
        average = copy.deepcopy(net).eval()
        batches, done = max(self.total_steps // self.batch_size, 1), 0
        optimizer = self._optimizer(net)
        if saved is not None:
            net.load_state_dict(saved["net"])
            average.load_state_dict(saved["weights"])
            optimizer.load(saved["optimizer"])
            done = saved["batches"]

        def state() -> dict[str, Any]:
            require_finite(net, done * self.batch_size)
            learner = {"net": net.state_dict(), "optimizer": optimizer.state(), "batches": done}
            return {**export_weights(average, env), **learner}

        compiled, agent = self.compute.compiled(net), NetworkAgent(average, self.compute, self.play)
        total, first = batches * self.batch_size, done * self.batch_size
        with self._stream(games, run) as stream, run.progress("positions", total, first, self.seconds) as advance:
            while done < batches and optimizer.progress < 1:
                optimizer.progress = budget_used(done / batches, self.seconds, run)
                losses = self._losses(compiled, stream.batch(done), image=done)
                losses["grad_norm"] = optimizer.step(losses["loss"])
                average_into(average, net, min(self.ema_decay, (done + 1) / (done + 10)))
                due = next_evaluation(done * self.batch_size, self.eval_every)
                done += 1
                if done * self.batch_size >= due or done == batches or optimizer.progress >= 1:
                    metrics = {f"losses/{name}": float(value.detach()) for name, value in losses.items()}
                    require_finite(net, done * self.batch_size)
                    metrics |= selection_metrics(env, agent, self.eval_episodes, run.seed)
                    run.log(done * self.batch_size, metrics | {"train/lr": optimizer.current_lr})
                    weights = export_weights(average, env, torch.float16)
                    run.save_best(selection_score(metrics), weights, selection_error(metrics))
                advance(done * self.batch_size)
                run.save_when_due(state)
        run.save(state())
        best = run.load_best(self.load_agent)
        if isinstance(env, SupportsAgentMetrics):
            seed = int(run.generator("calibration").integers(2**31))
            run.log(done * self.batch_size, env.agent_metrics(best, seed))
        return best

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent(load_network(self.net, saved, self.compute), self.compute, self.play)

    def _optimizer(self, net: nn.Module) -> Optimizer:
        return Optimizer(
            net,
            self.compute,
            lr=self.lr,
            weight_decay=self.weight_decay,
            max_grad_norm=self.max_grad_norm,
            lr_warmup=self.lr_warmup,
        )

    def _stream(self, games: Sequence[Game], run: Run) -> LabeledBatchStream:
        """Return the labeled batches, of each game in turn."""

        def make(number: int) -> Any:
            return self.teacher.labeled_batch(games[number % len(games)], run.seed, number, self.chunk_size)

        return LabeledBatchStream(
            make,
            run.seed,
            rows=self.chunk_size,
            batch_size=self.batch_size,
            window=self.window,
            repeats=self.repeats,
            device=self.compute.torch_device,
        )

    def _losses(self, net: nn.Module, rows: list[Tensor], image: int) -> dict[str, Tensor]:
        observation, good_actions, legal_actions, aux_target, win_probability = rows
        if self.augment:
            both = torch.cat([good_actions, legal_actions], dim=1)
            observation, both, aux_target = mirrored(observation, both, aux_target, image)
            good_actions, legal_actions = both.chunk(2, dim=1)
        with self.compute.autocast():
            heads: Heads = net(observation.contiguous())
        losses = {
            "policy_loss": cross_entropy(heads.policy, good_actions, legal_actions),
            "value_loss": value_loss(heads.value, win_probability),
        }
        if aux_target.shape[1] > 0:
            losses["aux_loss"] = aux_loss(heads.aux, aux_target.float(), (aux_target >= 0).flatten(1))
        weights = {"policy_loss": 1.0, "aux_loss": self.aux_coef, "value_loss": self.vf_coef}
        return {"loss": sum((weights[name] * loss for name, loss in losses.items()), torch.zeros(())), **losses}


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
