"""PPO: collect a rollout with the current network, train on it for some epochs, repeat."""

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...core import ranks
from ...core.errors import require
from ...core.play.arena import require_varied
from ...core.play.capabilities import (
    EpisodeStats,
    SupportsActionRestriction,
    SupportsAgentMetrics,
    SupportsAuxTargets,
    SupportsMultiAction,
    add_up,
)
from ...core.play.curriculum import Curriculum
from ...core.play.game import Trait
from ...core.ranges import (
    AboveZero,
    BelowOne,
    Count,
    Fraction,
    Interval,
    NonNegative,
    NonNegativeInt,
    NumEnvs,
    Plies,
    Positive,
    check_fields,
)
from ...core.runs.algorithm import Environment
from ...core.runs.report import first_baseline, win_rate_band
from ...core.runs.run import Run
from ..network import (
    Architecture,
    Compute,
    InferenceConfig,
    NetworkAgent,
    budget_used,
    build_net,
    export_snapshot,
    export_weights,
    load_network,
    load_weights,
    next_evaluation,
    require_finite,
    selection_error,
    selection_metrics,
    selection_score,
)
from ..optimizer import Optimizer
from ..self_play import SelfPlayOpponents
from .buffer import Batch
from .rollout import Rollouts
from .update import LossWeights, normalised, ppo_update

log = logging.getLogger(__name__)

LONG_GAME = 1000  # steps without the end of any game before a warning
LOGGED_ROWS = 400  # approximate number per run


@dataclass(frozen=True)
class PPO:
    net: Architecture
    compute: Compute
    play: InferenceConfig
    losses: LossWeights
    init_from: str | None  # run whose network to start from
    total_steps: Count
    seconds: Positive | None
    num_envs: NumEnvs
    steps_per_env: Interval
    train_multi_action_below: BelowOne
    rollout_fraction: AboveZero
    mini_batches: Interval
    epochs: Interval
    gamma: Fraction
    gae_lambda: Fraction
    lr: Positive
    lr_warmup: NonNegativeInt
    weight_decay: NonNegative
    max_grad_norm: Positive
    target_kl: Positive | None
    restrict_actions_until_updates: NonNegativeInt
    eval_every: Interval
    eval_episodes: Interval
    eval_opening_plies: Plies = 0

    needs: ClassVar[frozenset[Trait]] = frozenset()
    many_ranks: ClassVar[bool] = True  # supports torchrun

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        """Check that one network fits all environments of the curriculum, and the sizes of batches."""
        agent = NetworkAgent(build_net(self.net, env, self.init_from), Compute("cpu", "float32", False), self.play)
        share = max(1, round(self.num_envs // ranks.world_size() * curriculum.smallest_share))
        for stage in curriculum.all(env):
            agent.check(stage.game)
            self._check_capabilities(stage, share, agent)
        require_varied(env.game, agent, first_baseline(env), self.eval_opening_plies, self.eval_episodes)
        require(
            self.num_envs % ranks.world_size() == 0,
            f"algo.num_envs={self.num_envs} must be a multiple of the {ranks.world_size()} ranks",
        )
        smallest = round(share * self.steps_per_env * self.rollout_fraction)
        require(
            smallest >= 2 * self.mini_batches,
            f"algo.mini_batches={self.mini_batches} must be at most half of the {smallest} steps of a rollout that are "
            "trained on (algo.num_envs, steps_per_env, rollout_fraction)",
        )

    def _check_capabilities(self, env: Environment, num_envs: int, agent: NetworkAgent) -> None:
        """Raise `UserError` if a setting needs a capability that the game or the network does not have."""
        predicting = {
            "algo.losses.aux_coef": self.losses.aux_coef,
            "algo.train_multi_action_below": self.train_multi_action_below,
        }
        enabled = [name for name, value in predicting.items() if value > 0]
        if not enabled and self.restrict_actions_until_updates == 0:
            return
        envs = env.vectorize(num_envs)
        if self.restrict_actions_until_updates > 0:
            supported = isinstance(envs, SupportsActionRestriction)
            require(supported, "this game cannot restrict actions: set algo.restrict_actions_until_updates=0")
        if enabled:
            self._check_prediction(env, envs, agent, " and ".join(f"{name}=0" for name in enabled))

    def _check_prediction(self, env: Environment, envs: Any, agent: NetworkAgent, advice: str) -> None:
        has_task = env.game.aux_task is not None and isinstance(envs, SupportsAuxTargets)
        require(has_task, f"this game has no auxiliary task: set {advice}")
        observations, info = envs.reset(seed=0)
        aux = agent.heads(np.asarray(observations[:1])).aux  # one board, as this runs on the CPU
        has_head = aux.shape[1:] == observations.shape[-2:]
        require(has_head, f"this network has no auxiliary head: choose net@algo.net=cnn or residual, or set {advice}")
        if self.train_multi_action_below > 0:
            supported = isinstance(envs, SupportsMultiAction)
            require(supported, "this game plays one action per step: set algo.train_multi_action_below=0")
            envs.step_many(info["action_mask"].reshape(observations.shape[0], *observations.shape[-2:]))

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> NetworkAgent:
        self.compute.report_idle_cores()
        with self.compute.fixed_threads():
            return PPOTrainer(self, env, curriculum, run).fit()

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent(load_network(self.net, saved, self.compute), self.compute, self.play)


class PPOTrainer:
    """The mutable state of one PPO run."""

    def __init__(self, algo: PPO, env: Environment, curriculum: Curriculum, run: Run) -> None:
        self.algo, self.env, self.curriculum, self.run = algo, env, curriculum, run
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        self.saved = run.restore()
        self.net = algo.compute.prepare(build_net(algo.net, env, algo.init_from if self.saved is None else None))
        self.compiled = algo.compute.compiled(self.net)
        self.optimizer = Optimizer(
            self.net,
            algo.compute,
            lr=algo.lr,
            weight_decay=algo.weight_decay,
            max_grad_norm=algo.max_grad_norm,
            lr_warmup=algo.lr_warmup,
        )
        self.random = torch.Generator(algo.compute.torch_device)
        self.random.manual_seed(int(run.generator("sampling", *ranks.stream()).integers(2**62)))
        self.steps = self.updates = 0
        self.next_evaluation = algo.eval_every  # step
        self.groups: list[Rollouts] = []
        self.opponents = SelfPlayOpponents(env, curriculum, self._load_opponent)
        self.sums: dict[str, float] = {}  # since the last logged row
        rollout = algo.num_envs * algo.steps_per_env
        self.log_every = max(1, round(algo.total_steps / rollout / LOGGED_ROWS))  # updates
        self.stalling, self.steps_without_end, self.last_logged = False, 0, 0
        self.update_began = 0.0  # time.monotonic()
        self.minibatches = 0  # done in the current update
        self.losses: dict[str, Tensor] = {}  # summed over these minibatches
        self.epoch_random_state = self.random.get_state()  # before the current epoch was shuffled

    def fit(self) -> NetworkAgent:
        algo, run = self.algo, self.run
        self._begin()
        if self.saved is None and algo.init_from is not None:
            self._evaluate({})  # so that the best checkpoint is never worse than the initial weights
        with run.progress("steps", algo.total_steps, self.steps, algo.seconds) as advance:
            while self._is_within_update() or (self.steps < algo.total_steps and self.optimizer.progress < 1):
                self._update()
                self.optimizer.progress = ranks.broadcast(budget_used(self.steps / algo.total_steps, algo.seconds, run))
                finished = self.steps >= algo.total_steps or self.optimizer.progress >= 1
                if finished or self.steps >= self.next_evaluation:
                    self._evaluate(self._take_metrics())
                elif self.updates % self.log_every == 0:
                    run.log(self.steps, self._take_metrics())
                advance(min(self.steps, algo.total_steps))
                run.save_when_due(self._state)
        run.save(self._state())
        best = run.load_best(algo.load_agent)
        if isinstance(self.env, SupportsAgentMetrics):
            run.log(self.steps, self.env.agent_metrics(best, int(run.generator("calibration").integers(2**31))))
        return best

    def _is_within_update(self) -> bool:
        """Return whether the run was saved within an update; it must be completed even if all steps are counted."""
        return any(group.buffer.filled > 0 for group in self.groups)

    def _update(self) -> None:
        """Collect a rollout of every group of environments, and train on it."""
        algo, self.update_began = self.algo, time.monotonic()
        for group in self.groups:
            if group.buffer.filled == group.steps:
                continue  # the run was saved after this rollout
            if algo.restrict_actions_until_updates > 0:
                group.restrict_actions(self.updates < algo.restrict_actions_until_updates)
            ended = group.collect(
                self.compiled, self.net, algo.gamma, algo.gae_lambda, self.random, self._save_within_update
            )
            self._add(ended)
            if algo.train_multi_action_below > 0:
                self._add({"chosen": group.buffer.chosen.sum(), "steps": torch.tensor(group.buffer.chosen.numel())})
            self.steps += group.envs.num_envs * group.steps * ranks.world_size()
        self._learn()
        for group in self.groups:
            group.buffer.clear()
        self.updates += 1
        require_finite(self.net, self.steps)

    def _save_within_update(self) -> None:
        """Save within an update that takes longer than the interval; the checkpoint then includes its rollout.

        Not with several ranks, which would have to synchronise at every step.
        """
        if ranks.world_size() == 1:
            self.run.save_when_due(self._state, self.update_began)

    def _add(self, values: Mapping[str, Tensor]) -> None:
        """Add to the sums of the next logged row, with one device transfer."""
        numbers = torch.stack([value.detach().to(self.random.device, torch.float64) for value in values.values()])
        for name, number in zip(values, numbers.tolist(), strict=True):
            self.sums[name] = self.sums.get(name, 0.0) + number

    def _learn(self) -> None:
        """Train on the rollouts for some epochs; stop early if the KL divergence exceeds `target_kl`."""
        for number, batch in enumerate(self._minibatches()):
            if number < self.minibatches:
                continue  # done before the run was saved
            weights = self.algo.losses.at(self.optimizer.progress)
            losses = ppo_update(
                self.compiled, self.optimizer, normalised(batch), weights, self.algo.compute, self.algo.target_kl
            )
            if losses is None:
                break
            losses["gradient_steps"] = torch.ones(())
            self.losses = {name: self.losses.get(name, 0.0) + value.detach() for name, value in losses.items()}
            self.minibatches += 1
            self._save_within_update()
        if self.losses:
            self._add({f"losses/{name}": value for name, value in self.losses.items()})
        self.losses, self.minibatches = {}, 0

    def _minibatches(self) -> Iterator[Batch]:
        """Yield the minibatches of all epochs and groups. A run resumed within an epoch repeats its order."""
        algo, first = self.algo, 0
        for _ in range(algo.epochs):
            for group in self.groups:
                if first + algo.mini_batches <= self.minibatches:  # done before the run was saved
                    yield from [None] * algo.mini_batches  # type: ignore[misc]
                else:
                    self.epoch_random_state = self.random.get_state()
                    yield from group.buffer.minibatches(algo.mini_batches, algo.rollout_fraction, self.random)
                first += algo.mini_batches

    def _take_metrics(self) -> dict[str, float]:
        """Return and reset the metrics since the last logged row, over all ranks."""
        sums, self.sums = add_up(ranks.gather(self.sums)), {}
        steps = sums.pop("losses/gradient_steps", 1)
        metrics = {name: value / steps for name, value in sums.items() if name.startswith("losses/")}
        games = sums["games"]
        metrics |= {"train/episodes": games, "train/lr": self.optimizer.current_lr}
        if games > 0:
            means = {"episode_return": "return", "episode_length": "length", "win_rate": "won"}
            means |= {"truncated_share": "truncated"} | {name: name for name in self.groups[0].episode_means}
            metrics |= {f"train/{name}": sums[key] / games for name, key in means.items()}
            metrics |= win_rate_band(sums["won"], games)
        if "chosen" in sums:
            metrics["train/chosen_share"] = sums["chosen"] / sums["steps"]
        if stats := self._stats():
            metrics |= stats[0].episode_metrics(add_up(ranks.gather(add_up([one.recent() for one in stats]))))
        self._warn_of_stalling(games, sums["truncated"])
        return metrics

    def _warn_of_stalling(self, games: float, truncated: float) -> None:
        """Warn once if games begin to reach the step limit, because the policy then hardly learns."""
        since = (self.updates - self.last_logged) * self.algo.steps_per_env
        self.steps_without_end = 0 if games > 0 else self.steps_without_end + since
        self.last_logged = self.updates
        stalling = self.steps_without_end >= LONG_GAME or truncated > games / 2
        if stalling and not self.stalling:
            what = f"{truncated / games:.0%} of the games reached the step limit" if games > 0 else "no game ended"
            log.warning(
                "%s in the latest updates (step %d): the policy may be stalling; mask actions that change nothing, "
                "lower the step limit, or raise the cost of a step in the reward",
                what,
                self.steps,
            )
        self.stalling = stalling

    def _stats(self) -> list[EpisodeStats]:
        return [group.episode_stats for group in self.groups if group.episode_stats is not None]

    def _diagnostics(self) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the diagnostics of all groups and ranks: metrics, and arrays to plot."""
        stats = self._stats()
        if not stats:
            return {}, {}
        records = add_up(ranks.gather(add_up([one.records() for one in stats])))
        return stats[0].with_records(records).diagnostics()

    def _evaluate(self, metrics: dict[str, float]) -> None:
        """Evaluate the current weights, update the best checkpoint and advance the curriculum."""
        algo, run = self.algo, self.run
        agent = NetworkAgent(self.net, algo.compute, replace(algo.play, symmetries=False))
        measured = self._measure(self.env, agent)
        score = selection_score(measured)
        stage_env = self.curriculum.env(self.env)
        stage_score = score if stage_env is self.env else selection_score(self._measure(stage_env, agent))
        self.net.train()
        extra = {**measured, "eval/stage_score": stage_score, "train/stage": self.curriculum.stage}
        extra |= self.opponents.metrics()
        correlations, counts = self._diagnostics()
        run.log(self.steps, {**metrics, **extra, **correlations})
        run.diagnose(counts)
        run.save_best(score, self._weights(torch.float16), selection_error(measured))
        self.next_evaluation = next_evaluation(self.steps, algo.eval_every)
        before = self.curriculum.stage
        self.curriculum.record(stage_score)
        self.opponents.update(self._weights(), self._snapshot)
        if self.curriculum.stage != before:
            earlier, self.groups = self._stats(), self._make_groups()
            if earlier and self._stats():
                self._stats()[0].add_earlier(add_up([one.run_counts() for one in earlier]))

    def _measure(self, env: Environment, agent: NetworkAgent) -> dict[str, float]:
        return selection_metrics(env, agent, self.algo.eval_episodes, self.run.seed, self.algo.eval_opening_plies)

    def _make_groups(self) -> list[Rollouts]:
        """Create a vector environment for each environment of the current mixture; ranks split them evenly."""
        algo, groups = self.algo, []
        for number, (env, share) in enumerate(self.curriculum.mixture(self.env)):
            envs = env.vectorize(max(1, round(algo.num_envs // ranks.world_size() * share)), algo.compute.torch_device)
            name = ("envs", self.curriculum.stage, number, *ranks.stream())
            seed = int(self.run.generator(*name).integers(2**31))
            reads_aux = getattr(self.net, "aux_weight", None) is not None
            groups.append(
                Rollouts(envs, algo.steps_per_env, algo.compute, seed, algo.train_multi_action_below, reads_aux)
            )
        return groups

    def _load_opponent(self, weights: dict[str, Any]) -> NetworkAgent:
        net = load_network(self.algo.net, weights, self.algo.compute)
        return NetworkAgent(net, self.algo.compute, self.algo.play, greedy=False)

    def _weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        return export_weights(self.net, self.env, dtype)

    def _snapshot(self) -> dict[str, Any]:
        return export_snapshot(self.net, self.env)

    def _state(self) -> dict[str, Any]:
        require_finite(self.net, self.steps)
        within_epoch = self.minibatches % self.algo.mini_batches > 0
        of_rank = {
            "random": self.epoch_random_state if within_epoch else self.random.get_state(),
            "groups": [group.state() for group in self.groups],
            "sums": dict(self.sums),
        }
        first, *others = ranks.gather(of_rank)
        return {
            **self._weights(),
            "optimizer": self.optimizer.state(),
            **first,
            "other_ranks": others,
            "steps": self.steps,
            "updates": self.updates,
            "next_evaluation": self.next_evaluation,
            "stage": self.curriculum.stage,
            **self.opponents.state(),
            "stalling": [self.stalling, self.steps_without_end, self.last_logged],
            "minibatches": self.minibatches,
            "losses": self.losses,
        }

    def _begin(self) -> None:
        """Start new games, or restore the saved state."""
        saved = self.saved
        if saved is not None:
            saved = _of_this_rank(saved)
            load_weights(self.net, saved, "the saved weights are of another network than algo.net describes")
            self.optimizer.load(saved["optimizer"])
            self.random.set_state(saved["random"])
            self.steps, self.updates, self.curriculum.stage = saved["steps"], saved["updates"], saved["stage"]
            self.sums, self.next_evaluation = dict(saved["sums"]), saved["next_evaluation"]
            self.stalling, self.steps_without_end, self.last_logged = saved["stalling"]
            self.minibatches, self.losses = saved["minibatches"], dict(saved["losses"])
            self.opponents.load_state(saved, self._weights())
        else:
            self.opponents.update(self._weights(), self._snapshot)
        self.groups = self._make_groups()
        for group, state in zip(self.groups, [] if saved is None else saved["groups"], strict=saved is not None):
            group.load_state(state)


def _of_this_rank(saved: dict[str, Any]) -> dict[str, Any]:
    """Return the saved state with the part of this rank; the top level has that of rank 0."""
    others = saved.get("other_ranks", [])
    size = len(others) + 1
    require(size == ranks.world_size(), f"this run has {size} ranks: resume it with torchrun --nproc-per-node={size}")
    return {**saved, **others[ranks.rank() - 1]} if ranks.rank() > 0 else saved
