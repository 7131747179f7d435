"""The training loop of algorithms with networks: restore, update, evaluate, log, save, until the budget is used.

An algorithm is a `LearnerConfig` whose `trainer` returns its `Trainer`. That implements

    update        make one update, which adds to `steps`
    take_metrics  the metrics of the updates since the last logged row
    agent         the agent to evaluate
    weights       what `LearnerConfig.load_agent` needs
    state         what a checkpoint holds; `load_state` restores it

Most are a `NetworkTrainer`, which has a network and its optimizer: they implement `update`, which calls `step` with the
losses, and `metrics`.
"""

import copy
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..core import ranks
from ..core.parallel import CORES
from ..core.play.agent import Agent
from ..core.play.arena import require_varied
from ..core.play.capabilities import SupportsAgentMetrics, add_up
from ..core.play.curriculum import Curriculum
from ..core.ranges import Count, Interval, NonNegative, NonNegativeInt, Plies, Positive, check_fields
from ..core.runs.console import Advance
from ..core.runs.run import Environment, Run
from .compute import Compute
from .selection import selection_error, selection_metrics, selection_score
from .weights import build_net, export_weights, load_weights, require_finite

log = logging.getLogger(__name__)

LOGGED_ROWS = 400  # approximate number per run
OTHER_NETWORK = "the saved weights are of another network than algo.net describes"


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(ABC):
    """The settings that all algorithms with a `Trainer` have."""

    compute: Compute
    total_steps: Count
    seconds: Positive | None
    eval_every: Interval
    eval_episodes: Interval
    eval_opening_plies: Plies = 0

    def __post_init__(self) -> None:
        check_fields(self)

    @abstractmethod
    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "Trainer[Any]": ...

    @abstractmethod
    def load_agent(self, saved: dict[str, Any]) -> Agent: ...

    def check_evaluation(self, env: Environment, agent: Agent) -> None:
        """Raise `UserError` if all games of an evaluation would be the same two."""
        for opponent in env.baselines.values() if env.game.players == 2 else ():
            keys = "algo.eval_opening_plies", "algo.eval_episodes"
            require_varied(env.game, agent, opponent, self.eval_opening_plies, self.eval_episodes, keys)

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> Any:
        threads = self.compute.threads
        if threads is not None and threads < CORES and not self.compute.on_gpu:
            log.info(
                "the network uses %d threads on %d cores: algo.compute.threads=%d is faster if they are idle, with "
                "different rounding",
                *(threads, CORES, CORES),
            )
        with self.compute.fixed_threads():
            return self.trainer(env, curriculum, run).fit()


Config = TypeVar("Config", bound=LearnerConfig)


class Trainer(ABC, Generic[Config]):
    """The mutable state of one run."""

    unit = "steps"  # of the progress bar
    optimizer: Any  # has `progress`, the used fraction of the budget, on which its learning rate depends

    def __init__(self, algo: Config, env: Environment, run: Run) -> None:
        self.algo, self.env, self.run = algo, env, run
        self.saved = run.restore()
        self.steps = self.updates = 0
        self.total = algo.total_steps
        self.first_step = 0  # from which `eval_every` is counted
        self.log_every = 0  # updates; 0: only at evaluations
        self.advance: Advance = lambda done, phase="", speed=0.0: None  # sets the progress, also within an update

    def fit(self) -> Any:
        algo, run = self.algo, self.run
        if self.saved is None:
            self.start()
            run.save_first(self.weights(torch.float16))
        else:
            self.load_state(self.saved)
            self.saved = None  # it may be large
        self.warm_up()
        with run.progress(self.unit, self.total, self.work_done, algo.seconds) as advance:
            self.advance = advance
            while not self.is_finished:
                evaluated = self._evaluations_due()
                self.update()
                self.updates += 1
                self.optimizer.progress = ranks.broadcast(self.budget_used())
                if self._evaluations_due() > evaluated or self.optimizer.progress >= 1:
                    self.evaluate(self.take_metrics())
                elif self.log_every > 0 and self.updates % self.log_every == 0:
                    run.log(self.steps, self.take_metrics())
                advance(min(self.work_done, self.total))
                run.save_when_due(self.state)
        run.save(self.state())
        return run.load_best(algo.load_agent)

    def start(self) -> None:
        """Prepare a new run."""

    def warm_up(self) -> None:
        """Compile what updates run, outside of the measured time; change no weights and no generators."""

    @abstractmethod
    def update(self) -> None: ...

    @abstractmethod
    def take_metrics(self) -> dict[str, float]: ...

    @abstractmethod
    def agent(self) -> Agent: ...

    @abstractmethod
    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]: ...

    @abstractmethod
    def state(self) -> dict[str, Any]: ...

    @abstractmethod
    def load_state(self, saved: dict[str, Any]) -> None: ...

    @property
    def work_done(self) -> int:
        """Progress in units of `total`."""
        return self.steps

    @property
    def is_finished(self) -> bool:
        return bool(self.optimizer.progress >= 1)

    def budget_used(self) -> float:
        """Return the used fraction of the budget: of the steps, or of the time limit if that is greater."""
        steps, seconds = self.steps / self.total, self.algo.seconds
        return steps if seconds is None else max(steps, self.run.seconds / seconds)

    def _evaluations_due(self) -> int:
        return (self.steps - self.first_step) // self.algo.eval_every

    def measure(self, env: Environment) -> dict[str, float]:
        algo = self.algo
        settings = algo.eval_episodes, self.run.seed, algo.eval_opening_plies

        def show(finished: int, games: int) -> None:
            self.advance(min(self.work_done, self.total), f"evaluation {finished}/{games}")

        if env is not self.env:  # a stage of the curriculum
            return selection_metrics(env, self.agent(), *settings, on_progress=show)
        with self.run.recorded_game(env.game, self.steps, self.optimizer.progress) as on_position:
            return selection_metrics(env, self.agent(), *settings, on_position, show)

    def evaluate(self, metrics: dict[str, float]) -> None:
        """Evaluate the network, log the result with `metrics`, and update the best checkpoint."""
        self.record(self.measure(self.env), metrics)

    def record(
        self, measured: dict[str, float], metrics: dict[str, float], counts: Mapping[str, np.ndarray] | None = None
    ) -> float:
        """Log an evaluation and update the best checkpoint; return its score. `counts` are for `Run.diagnose`."""
        self.run.log(self.steps, metrics | measured)
        self.run.diagnose(counts or {})  # before the checkpoint, after which a search may stop the run
        score, weights = selection_score(measured), self.weights(torch.float16)
        win_rate = measured.get("eval/all/win_rate", measured["eval/win_rate"])
        self.run.save_best(score, weights, selection_error(measured), win_rate)
        return score


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    compute: Compute
    lr: Positive
    lr_warmup: NonNegativeInt
    weight_decay: NonNegative
    max_grad_norm: Positive


@dataclass(frozen=True, kw_only=True)
class NetworkLearnerConfig(OptimizerConfig, LearnerConfig):
    """The settings that all algorithms with a `NetworkTrainer` have."""

    init_from: str | None  # run whose network to start from


class Optimizer:
    """AdamW with mixed precision and gradient clipping; the learning rate rises over `lr_warmup` gradient
    steps and falls along a cosine to 0 at `progress` 1.
    """

    def __init__(self, net: nn.Module, config: OptimizerConfig) -> None:
        self.net, self.config, self.done, self.progress = net, config, 0, 0.0
        self._adamw = torch.optim.AdamW(
            net.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=config.compute.on_gpu
        )
        self._scaler = config.compute.scaler()

    @property
    def current_lr(self) -> float:
        rise = min(1.0, (self.done + 1) / (self.config.lr_warmup + 1))
        return self.config.lr * rise * cosine_decay(self.progress)

    def step(self, loss: Tensor) -> Tensor:
        """Take a gradient step; return the gradient norm before clipping."""
        for group in self._adamw.param_groups:
            group["lr"] = self.current_lr
        self._adamw.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._average_gradients()  # before unscaling, so that all ranks detect the same overflow
        self._scaler.unscale_(self._adamw)
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.config.max_grad_norm)
        self._scaler.step(self._adamw)
        self._scaler.update()
        self.done += 1
        return norm

    def _average_gradients(self) -> None:
        """Average the gradients over the ranks, in one all-reduce."""
        if ranks.world_size() == 1:
            return
        gradients = [weight.grad for weight in self.net.parameters() if weight.grad is not None]
        averaged = ranks.mean(torch.cat([gradient.flatten() for gradient in gradients]))
        parts = averaged.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def state(self) -> dict[str, Any]:
        return {
            "adamw": self._adamw.state_dict(),
            "scaler": self._scaler.state_dict(),
            "done": self.done,
            "progress": self.progress,
        }

    def load(self, saved: dict[str, Any]) -> None:
        self._adamw.load_state_dict(saved["adamw"])
        for weight, state in self._adamw.state.items():
            for name in ("exp_avg", "exp_avg_sq"):
                # The fused kernel needs the memory format of the weight, which a checkpoint does not store.
                state[name] = torch.empty_like(weight).copy_(state[name])
        self._scaler.load_state_dict(saved["scaler"])
        self.done, self.progress = saved["done"], saved["progress"]


def cosine_decay(progress: float) -> float:
    """Return the factor of the learning rate after a fraction of the budget: 1 at first, 0 at the end."""
    return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


NetworkConfig = TypeVar("NetworkConfig", bound=NetworkLearnerConfig)


class NetworkTrainer(Trainer[NetworkConfig]):
    """`net` is trained; `acting_net` is evaluated and saved, the same by default."""

    def __init__(
        self,
        algo: NetworkConfig,
        env: Environment,
        run: Run,
        *,
        steps_per_update: int | None = None,
        ema_decay: float | None = None,
    ) -> None:
        """With `steps_per_update` rows are logged between evaluations, too.

        With `ema_decay` the acting network is the exponential moving average of the weights.
        """
        super().__init__(algo, env, run)
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        self.net = algo.compute.prepare(self.build_net(algo.init_from if self.saved is None else None))
        self.ema_decay = ema_decay
        self.acting_net = self.net if ema_decay is None else copy.deepcopy(self.net).eval().requires_grad_(False)
        self.optimizer = Optimizer(self.net, algo)
        if steps_per_update is not None:
            self.log_every = max(1, round(algo.total_steps / steps_per_update / LOGGED_ROWS))
        self.sums: dict[str, Any] = {}  # numbers and tensors on their device, since the last logged row

    def fit(self) -> Any:
        best = super().fit()
        if isinstance(self.env, SupportsAgentMetrics):
            seed = int(self.run.generator("calibration").integers(2**31))
            self.run.log(self.steps, self.env.agent_metrics(best, seed))
        return best

    def build_net(self, init_from: str | None) -> nn.Module:
        return build_net(self.algo.net, self.env, init_from)  # type: ignore[attr-defined]  # NNUE overrides it

    def warm_up(self) -> None:
        if not self.algo.compute.compile:
            return
        if self.algo.compute.on_gpu:
            log.info("compiling the network, which may take a minute and is not part of algo.seconds")
        with self.run.stopped_clock():
            for loss in self.warm_up_losses():
                loss.backward()  # type: ignore[no-untyped-call]
            self.net.zero_grad(set_to_none=True)

    def warm_up_losses(self) -> Iterable[Tensor]:
        """Run the compiled networks on batches of the shapes of an update; yield losses where it trains."""
        return ()

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        """Turn what `add` has summed into metrics."""
        return {}

    def add(self, values: Mapping[str, Any]) -> None:
        """Add numbers or tensors to the sums of the next logged row, without waiting for a GPU."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + (value.detach() if isinstance(value, Tensor) else float(value))

    def step(self, losses: dict[str, Tensor]) -> None:
        """Take a gradient step on `losses["loss"]`, and log the mean of all losses over these steps."""
        losses["grad_norm"] = self.optimizer.step(losses["loss"])
        if self.ema_decay is not None:
            decay = min(self.ema_decay, self.optimizer.done / (self.optimizer.done + 9))  # a mean over the first steps
            with torch.no_grad():
                for mean, new in zip(self.acting_net.parameters(), self.net.parameters(), strict=True):
                    mean.lerp_(new, 1 - decay)
        self.add({"gradient_steps": 1} | {f"losses/{name}": value for name, value in losses.items()})

    def take_metrics(self) -> dict[str, float]:
        """Return and reset the metrics since the last logged row, over all ranks."""
        sums = add_up(ranks.gather({name: float(value) for name, value in self.sums.items()}))
        self.sums = {}
        steps = sums.pop("gradient_steps", 0.0)
        losses = {name: value / steps for name, value in sums.items() if name.startswith("losses/")}
        return losses | {"train/lr": self.optimizer.current_lr} | self.metrics(sums)

    def evaluate(self, metrics: dict[str, float]) -> None:
        require_finite(self.net, self.steps)
        super().evaluate(metrics)

    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        return export_weights(self.acting_net, self.env, dtype)

    def snapshot(self) -> dict[str, Any]:
        """Return the weights for a past self: small and on the CPU."""
        saved = self.weights(torch.float16)
        return {**saved, "weights": {name: weight.cpu() for name, weight in saved["weights"].items()}}

    def state(self) -> dict[str, Any]:
        require_finite(self.net, self.steps)
        return {
            **self.weights(),
            **({} if self.acting_net is self.net else {"net": self.net.state_dict()}),
            "optimizer": self.optimizer.state(),
            "steps": self.steps,
            "updates": self.updates,
            "sums": {name: float(value) for name, value in self.sums.items()},
        }

    def load_state(self, saved: dict[str, Any]) -> None:
        load_weights(self.acting_net, saved, OTHER_NETWORK)
        if self.acting_net is not self.net:
            load_weights(self.net, {"weights": saved["net"]}, OTHER_NETWORK)
        self.optimizer.load(saved["optimizer"])
        self.steps, self.updates, self.sums = saved["steps"], saved["updates"], dict(saved["sums"])
