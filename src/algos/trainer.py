"""The training loop of algorithms with networks: restore, update, evaluate, log, save, until the budget is used.

An algorithm is a `LearnerConfig` whose `trainer` returns its `Trainer`. That implements

    update   make one update and add to `steps`; `add` sums what is logged
    metrics  turn these sums into metrics
    agent    the agent to evaluate
    state    what a checkpoint holds besides the network, the optimizer and the counters; `load_state` restores it
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from ..core import ranks
from ..core.play.agent import Agent
from ..core.play.capabilities import SupportsAgentMetrics, add_up
from ..core.play.curriculum import Curriculum
from ..core.ranges import Count, Interval, Plies, Positive, check_fields
from ..core.runs.run import Environment, Run
from .network import build_net, export_weights, load_weights, require_finite
from .optimizer import Optimizer, OptimizerConfig
from .selection import Selection, selection_metrics

LOGGED_ROWS = 400  # approximate number per run


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(OptimizerConfig, ABC):
    """The settings that all algorithms with a `Trainer` have."""

    init_from: str | None  # run whose network to start from
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

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> Any:
        self.compute.report_idle_cores()
        with self.compute.fixed_threads():
            return self.trainer(env, curriculum, run).fit()


Config = TypeVar("Config", bound=LearnerConfig)


class Trainer(ABC, Generic[Config]):
    """The mutable state of one run. `net` is trained; `acting_net` is evaluated and saved, the same by default."""

    unit = "steps"  # of the progress bar

    def __init__(
        self,
        algo: Config,
        env: Environment,
        run: Run,
        *,
        steps_per_update: int | None = None,
        ema_decay: float | None = None,
    ) -> None:
        """With `steps_per_update` rows are logged between evaluations, too.

        With `ema_decay` the acting network is the exponential moving average of the weights.
        """
        self.algo, self.env, self.run = algo, env, run
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        self.saved = run.restore()
        self.net = algo.compute.prepare(self.build_net(algo.init_from if self.saved is None else None))
        self.ema_decay = ema_decay
        self.acting_net = self.net if ema_decay is None else copy.deepcopy(self.net).eval().requires_grad_(False)
        self.optimizer = Optimizer(self.net, algo)
        self.selection = Selection(env, run, algo.load_agent, algo.eval_episodes, algo.eval_opening_plies)
        self.steps = self.updates = 0
        self.total = algo.total_steps
        self.first_step = 0  # from which `eval_every` is counted
        self.log_every = 0  # updates; 0: only at evaluations
        if steps_per_update is not None:
            self.log_every = max(1, round(algo.total_steps / steps_per_update / LOGGED_ROWS))
        self.sums: dict[str, Any] = {}  # numbers and tensors on their device, since the last logged row

    def fit(self) -> Any:
        algo, run = self.algo, self.run
        if self.saved is None:
            self.start()
        else:
            self.load_state(self.saved)
            self.saved = None  # it may be large
        with run.progress(self.unit, self.total, self.work_done, algo.seconds) as advance:
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
        best = run.load_best(algo.load_agent)
        if isinstance(self.env, SupportsAgentMetrics):
            run.log(self.steps, self.env.agent_metrics(best, int(run.generator("calibration").integers(2**31))))
        return best

    def build_net(self, init_from: str | None) -> nn.Module:
        return build_net(self.algo.net, self.env, init_from)  # type: ignore[attr-defined]  # NNUE overrides it

    @abstractmethod
    def update(self) -> None: ...

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        return {}

    @abstractmethod
    def agent(self) -> Agent: ...

    def start(self) -> None:
        """Prepare a new run."""

    @property
    def work_done(self) -> int:
        """Progress in units of `total`."""
        return self.steps

    @property
    def is_finished(self) -> bool:
        return self.optimizer.progress >= 1

    def budget_used(self) -> float:
        """Return the used fraction of the budget: of the steps, or of the time limit if that is greater."""
        return budget_used(self.steps / self.total, self.algo.seconds, self.run)

    def _evaluations_due(self) -> int:
        return (self.steps - self.first_step) // self.algo.eval_every

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

    def measure(self, env: Environment) -> dict[str, float]:
        algo = self.algo
        return selection_metrics(env, self.agent(), algo.eval_episodes, self.run.seed, algo.eval_opening_plies)

    def evaluate(self, metrics: dict[str, float]) -> None:
        """Evaluate the network, log the result with `metrics`, and update the best checkpoint."""
        require_finite(self.net, self.steps)
        self.record(self.measure(self.env), metrics)

    def record(self, measured: dict[str, float], metrics: dict[str, float]) -> None:
        self.run.log(self.steps, metrics | measured)
        self.selection.save(measured, self.weights(torch.float16))

    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        """Return what `LearnerConfig.load_agent` needs."""
        return export_weights(self.acting_net, self.env, dtype)

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
        message = "the saved weights are of another network than algo.net describes"
        load_weights(self.acting_net, saved, message)
        if self.acting_net is not self.net:
            load_weights(self.net, {"weights": saved["net"]}, message)
        self.optimizer.load(saved["optimizer"])
        self.steps, self.updates, self.sums = saved["steps"], saved["updates"], dict(saved["sums"])


def budget_used(fraction: float, seconds: float | None, run: Run) -> float:
    """Return the used fraction of a budget of steps, or of seconds if that is greater."""
    return fraction if seconds is None else max(fraction, run.seconds / seconds)
