"""Proximal policy optimization over the legal actions (Schulman et al. 2017; Huang & Ontanon 2022 for the masks).

`PPO` has the settings. `PPOTrainer.update` collects a rollout (`Rollouts.collect`) and trains on it (`ppo_losses`);
`Trainer` repeats that, evaluates, logs and saves.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..core import ranks
from ..core.errors import require
from ..core.play.capabilities import EpisodeStats, Strategy, SupportsAuxTargets, SupportsEpisodeStats, add_up
from ..core.play.curriculum import Curriculum
from ..core.play.game import Trait
from ..core.play.past_selves import SelfPlayOpponents
from ..core.ranges import Fraction, Interval, NonNegative, NumEnvs, Positive
from ..core.runs.report import win_rate_band
from ..core.runs.run import Environment, Run
from ..nets.boards import AuxCells, aux_loss
from ..nets.masked import MaskedCategorical, require_legal
from .compute import CPU, Compute
from .network_agent import InferenceConfig, NetworkAgent
from .selection import selection_score
from .trainer import NetworkLearnerConfig, NetworkTrainer
from .update_progress import UpdateProgress, seconds_per_row
from .weights import Architecture, build_net, require_finite

log = logging.getLogger(__name__)

LONG_GAME = 1000  # steps of a game in progress, if no game ends, before a warning


@dataclass(frozen=True)
class LossWeights:
    clip_range: Positive  # of the probability ratio
    clip_range_vf: Positive | None  # of the values; None for no clipping
    vf_coef: NonNegative
    ent_coef: NonNegative
    aux_coef: NonNegative  # weight of the auxiliary task of the game
    aux_cells: AuxCells  # the cells of its loss
    normalize_advantages: bool  # in each minibatch
    ent_coef_end: NonNegative | None = None  # final value of a linear schedule of `ent_coef`; None: constant

    def at(self, progress: float) -> "LossWeights":
        """Return the weights at a fraction `progress` of the training."""
        if self.ent_coef_end is None:
            return self
        return replace(self, ent_coef=self.ent_coef + (self.ent_coef_end - self.ent_coef) * min(progress, 1.0))


@dataclass(frozen=True, kw_only=True)
class PPO(NetworkLearnerConfig):
    net: Architecture
    play: InferenceConfig
    losses: LossWeights
    num_envs: NumEnvs
    steps_per_env: Interval
    mini_batches: Interval
    epochs: Interval
    gamma: Fraction
    gae_lambda: Fraction
    target_kl: Positive | None

    needs: ClassVar[frozenset[Trait]] = frozenset()
    many_ranks: ClassVar[bool] = True  # supports torchrun

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        """Check that one network fits all environments of the curriculum, and the sizes of batches."""
        strategy, size = self.play.strategy, ranks.world_size()
        require(self.num_envs % size == 0, f"algo.num_envs={self.num_envs} must be a multiple of the {size} ranks")
        agent = NetworkAgent(build_net(self.net, env, self.init_from), CPU, self.play)
        for stage in curriculum.all(env):
            agent.check(stage.game)
            if self.losses.aux_coef > 0:
                has_task = stage.game.aux_task is not None and isinstance(stage.vectorize(1), SupportsAuxTargets)
                require(has_task, "this game has no auxiliary task: set algo.losses.aux_coef=0")
                agent.require_aux_head(stage, ", or set algo.losses.aux_coef=0")
            if strategy is not None:
                strategy.check_training(stage.vectorize(1))
                if strategy.overrides_policy():
                    agent.require_aux_head(stage, ", or set algo.play.strategy=null")
        self.check_evaluation(env, agent)
        steps = max(1, round(self.num_envs // size * curriculum.smallest_share)) * self.steps_per_env
        steps = steps if strategy is None else strategy.training_steps(steps)
        require(
            steps >= 2 * self.mini_batches,
            f"algo.mini_batches={self.mini_batches} must be at most half of the {steps} steps of a rollout that are "
            "trained on (algo.num_envs, steps_per_env, play.strategy)",
        )

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "PPOTrainer":
        return PPOTrainer(self, env, curriculum, run)

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent.load(self.net, saved, self.compute, self.play)


class PPOTrainer(NetworkTrainer[PPO]):
    def __init__(self, algo: PPO, env: Environment, curriculum: Curriculum, run: Run) -> None:
        super().__init__(algo, env, run, steps_per_update=algo.num_envs * algo.steps_per_env)
        self.curriculum, self.compiled = curriculum, algo.compute.compiled(self.net)
        self.random = torch.Generator(algo.compute.torch_device)
        self.random.manual_seed(int(run.generator("sampling", *ranks.stream()).integers(2**62)))
        load = partial(NetworkAgent.load, algo.net, compute=algo.compute, play=algo.play, greedy=False)
        self.opponents = SelfPlayOpponents(env, curriculum, load)
        self.groups: list[Rollouts] = []  # one for each environment of the current mixture
        self.stalling = False

    def start(self) -> None:
        self.opponents.update(self.weights(), self.snapshot)
        self.groups = self._make_groups()
        if self.algo.init_from is not None:
            self.evaluate({})  # so that the best checkpoint is never worse than the initial weights

    def _make_groups(self) -> "list[Rollouts]":
        """Create a vector environment for each environment of the current mixture; ranks split them evenly."""
        algo, groups = self.algo, []
        reads_aux = getattr(self.net, "policy_reads_aux", False)
        for number, (env, share) in enumerate(self.curriculum.mixture(self.env)):
            envs = env.vectorize(max(1, round(algo.num_envs // ranks.world_size() * share)), algo.compute.torch_device)
            stream = ("envs", self.curriculum.stage, number, *ranks.stream())
            seed = int(self.run.generator(*stream).integers(2**31))
            groups.append(Rollouts(envs, algo.steps_per_env, algo.compute, seed, algo.play.strategy, reads_aux))
        batches = algo.epochs * algo.mini_batches
        self.progress = UpdateProgress(len(groups) * algo.steps_per_env, len(groups) * batches)
        return groups

    def warm_up_losses(self) -> Iterator[Tensor]:
        algo, random = self.algo, torch.Generator(self.algo.compute.torch_device)
        for group in self.groups:
            with torch.no_grad():
                group.heads(self.compiled, group.observations)
            by_size = {len(batch.actions): batch for batch in group.minibatches(algo.mini_batches, random)}
            for batch in by_size.values():
                yield ppo_losses(self.compiled, batch, algo.losses, algo.compute)["loss"]

    def warm_up(self) -> None:
        """Also estimate how long training on a rollout takes, where it may be minutes: on the CPU."""
        super().warm_up()
        algo = self.algo
        if ranks.world_size() == 1 and not algo.compute.on_gpu:
            with self.run.stopped_clock():
                seconds = [group.training_seconds(self.net, algo.losses, algo.mini_batches) for group in self.groups]
            self.net.zero_grad(set_to_none=True)
            self.progress.training_seconds = algo.epochs * sum(seconds)

    def update(self) -> None:
        """Collect a rollout of every group of environments, and train on it."""
        algo, progress = self.algo, self.progress
        progress.start(self.advance, self.steps, algo.num_envs * algo.steps_per_env)
        for group in self.groups:
            collected = group.collect(
                self.compiled, self.net, algo.gamma, algo.gae_lambda, self.random, self.updates, progress.end_step
            )
            self.add(collected)
            self.steps += group.envs.num_envs * group.steps * ranks.world_size()
        weights = algo.losses.at(self.optimizer.progress)
        groups = self.groups * algo.epochs
        for batch in (one for group in groups for one in group.minibatches(algo.mini_batches, self.random)):
            batch = normalized(batch) if weights.normalize_advantages else batch
            losses = ppo_losses(self.compiled, batch, weights, algo.compute)
            if algo.target_kl is not None and float(ranks.mean(losses["approx_kl"])) > algo.target_kl:
                break
            self.step(losses)
            progress.end_batch()
        require_finite(self.net, self.steps)

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        games, truncated = sums["games"], sums["truncated"]
        metrics = {"train/episodes": games}
        if games > 0:
            means = {"episode_return": "return", "episode_length": "length", "win_rate": "won"}
            means |= {"truncated_share": "truncated"} | {name: name for name in self.groups[0].episode_means}
            metrics |= {f"train/{name}": sums[key] / games for name, key in means.items()}
            metrics |= win_rate_band(sums["won"], games)
        metrics["losses/explained_variance"] = sums["explained_variance"] / sums["rollouts"]
        if "chosen" in sums:
            metrics["train/chosen_share"] = sums["chosen"] / sums["steps"]
        if stats := self._stats():
            metrics |= stats[0].episode_metrics(add_up(ranks.gather(add_up([one.recent() for one in stats]))))
        before, longest = self.stalling, max(int(one.episode_lengths.max()) for one in self.groups)
        endless = games == 0 and longest >= LONG_GAME
        self.stalling = endless or truncated > games / 2
        if self.stalling and not before:
            log.warning(
                "%s in the latest updates (step %d): the policy may be stalling; mask actions that change nothing, "
                "lower the step limit, or raise the cost of a step in the reward",
                "no game ended" if endless else f"{truncated / games:.0%} of the games reached the step limit",
                self.steps,
            )
        return metrics

    def _stats(self) -> list[EpisodeStats]:
        return [group.envs.episode_stats for group in self.groups if isinstance(group.envs, SupportsEpisodeStats)]

    def agent(self) -> NetworkAgent:
        return NetworkAgent(self.net, self.algo.compute, replace(self.algo.play, symmetries=False))

    def evaluate(self, metrics: dict[str, float]) -> None:
        """Also measure the stage of the curriculum and advance it, and update the opponents of self-play."""
        measured, stage = self.measure(self.env), self.curriculum.stage
        env, stats = self.curriculum.env(self.env), self._stats()
        stage_score = selection_score(measured if env is self.env else self.measure(env))
        self.net.train()
        metrics |= {"eval/stage_score": stage_score, "train/stage": stage, **self.opponents.metrics()}
        counts: Mapping[str, np.ndarray] = {}
        if stats:
            records = add_up(ranks.gather(add_up([one.records() for one in stats])))
            correlations, counts = stats[0].with_records(records).diagnostics()
            metrics |= correlations
        self.record(measured, metrics, counts)
        buffers = [group.buffer for group in self.groups]
        chosen = [torch.exp(one["log_probs"][one["chosen"]]).cpu().numpy() for one in buffers]
        self.run.histogram("train/action_probability", np.concatenate(chosen))
        self.curriculum.record(stage_score)
        self.opponents.update(self.weights(), self.snapshot)
        if self.curriculum.stage != stage:
            self.groups = self._make_groups()
            self.warm_up()  # environments of another size
            if stats and self._stats():
                self._stats()[0].add_earlier(add_up([one.run_counts() for one in stats]))

    def state(self) -> dict[str, Any]:
        shared, groups = super().state(), [group.state() for group in self.groups]
        of_rank = {"random": self.random.get_state(), "groups": groups, "sums": shared["sums"]}
        first, *others = ranks.gather(of_rank)
        own = {"other_ranks": others, "stage": self.curriculum.stage, "stalling": self.stalling}
        return shared | first | own | self.opponents.state()

    def load_state(self, saved: dict[str, Any]) -> None:
        size = len(saved["other_ranks"]) + 1
        known = size == ranks.world_size()
        require(known, f"this run has {size} ranks: resume it with torchrun --nproc-per-node={size}")
        if ranks.rank() > 0:
            saved = saved | saved["other_ranks"][ranks.rank() - 1]
        super().load_state(saved)
        self.random.set_state(saved["random"])
        self.curriculum.stage, self.stalling = saved["stage"], saved["stalling"]
        self.opponents.load_state(saved, self.weights())
        self.groups = self._make_groups()
        for group, state in zip(self.groups, saved["groups"], strict=True):
            group.load_state(state)


class RolloutBatch(NamedTuple):
    """Steps of rollouts, (B, ...)."""

    observations: Tensor
    masks: Tensor  # (B, A) bool
    actions: Tensor  # (B,) int64
    log_probs: Tensor  # (B,) at the time of the rollout
    values: Tensor  # (B,) at the time of the rollout
    advantages: Tensor  # (B,)
    returns: Tensor  # (B,)
    aux_targets: Tensor  # (B, H, W) int8, see `SupportsAuxTargets`; (B, 0) in games without an auxiliary task
    chosen: Tensor  # (B,) bool: the policy chose the action, and not the strategy of the game
    aux_logits: Tensor  # (B, H, W) at the time of the rollout if the policy reads them, else (B, 0)


class Rollouts:
    """N games in progress, and the latest T steps of each as tensors (T, N, ...) by name in `buffer`."""

    STATE = ("observations", "masks", "episode_returns", "episode_lengths")  # in a checkpoint, besides the environments

    def __init__(
        self,
        envs: Any,
        steps: int,
        compute: Compute,
        seed: int,
        strategy: Strategy | None = None,
        policy_reads_aux: bool = False,
    ) -> None:
        """`envs` is a vector environment from `Environment.vectorize`."""
        self.envs, self.steps, self.strategy, self.compute = envs, steps, strategy, compute
        self.device, self.policy_reads_aux = compute.torch_device, policy_reads_aux
        self.works_on_device = getattr(envs, "device", None) is not None  # steps take and return tensors
        self.overrides_policy = strategy is not None and strategy.overrides_policy()
        self.episode_means: tuple[str, ...] = getattr(envs, "episode_means", ())
        zeros = torch.zeros(2, envs.num_envs, device=self.device)
        self.episode_returns, self.episode_lengths = zeros  # of the games in progress
        observations, info = envs.reset(seed=seed)
        self._keep(observations, info["action_mask"])
        targets, number = self._aux_targets(), self.episode_returns
        examples = dict.fromkeys(("log_probs", "values", "rewards", "advantages", "returns"), number)
        examples |= {"observations": self.observations, "masks": self.masks, "aux_targets": targets}
        examples |= {"actions": number.long(), "dones": number.bool(), "chosen": number.bool()}
        examples["aux_logits"] = targets.float() if policy_reads_aux else number.new_zeros(envs.num_envs, 0)
        self.buffer = {name: one.new_zeros((steps, *one.shape)) for name, one in examples.items()}

    @torch.no_grad()
    def collect(
        self,
        net: Any,
        plain: nn.Module,
        gamma: float,
        lam: float,
        generator: torch.Generator,
        update: int = 0,
        on_step: Callable[[], None] = lambda: None,
    ) -> dict[str, Tensor]:
        """Fill the buffer; return sums over the games that ended: their number, returns, lengths, wins and so on.

        `plain` is `net` without compilation, for batches of any size; `update` is the number of the update. `on_step`
        is called after each step.
        """
        if self.strategy is not None:
            self.strategy.begin_update(self.envs, update)
            self.masks = torch.as_tensor(self.envs.action_masks()).to(self.device, copy=True)
        names = ("games", "return", "length", "won", "truncated", *self.episode_means)
        sums = {name: torch.zeros((), device=self.device) for name in names}
        cut: list[tuple[int, Tensor, Tensor]] = []  # truncated games, and their final observations
        for step in range(self.steps):
            heads = self.heads(net, self.observations)
            policy = MaskedCategorical(heads.policy, self.masks)
            actions = policy.sample(generator)
            stored = {"observations": self.observations, "masks": self.masks, "aux_targets": self._aux_targets()}
            stored |= {"actions": actions, "log_probs": policy.log_prob(actions), "values": heads.value.float()}
            if self.policy_reads_aux:
                stored["aux_logits"] = heads.aux.float()
            chosen, (observations, rewards, terminated, truncated, info) = self._step(actions, heads.aux)
            rewards, ended_early = as_device(rewards, self.device).float(), as_device(truncated, self.device)
            dones = as_device(terminated, self.device) | ended_early
            for name, value in (stored | {"rewards": rewards, "dones": dones, "chosen": chosen}).items():
                self.buffer[name][step] = value

            self.episode_returns += rewards
            self.episode_lengths += 1
            ended = {"games": dones, "return": self.episode_returns * dones, "length": self.episode_lengths * dones}
            if "final_info" in info:
                final = info["final_info"]
                ended |= {name: as_device(final[name], self.device) * dones for name in ("won", *self.episode_means)}
            for name, value in (ended | {"truncated": ended_early}).items():
                sums[name] += value.sum()
            self.episode_returns *= ~dones
            self.episode_lengths *= ~dones

            unfinished = truncated & ~terminated
            if not self.works_on_device:
                self._bootstrap(plain, gamma, step, unfinished, info.get("final_obs"))
            elif getattr(self.envs, "can_truncate", True):
                cut.append((step, unfinished, info["final_obs"]))  # read after the rollout, to wait for the GPU once
            self._keep(observations, info["action_mask"])
            on_step()
        if cut:
            for (step, _, last), rows in zip(cut, torch.stack([one for _, one, _ in cut]).cpu().numpy(), strict=True):
                self._bootstrap(plain, gamma, step, rows, last)
        require_legal(self.buffer["masks"], "rollout")
        rewards, values, dones = (self.buffer[name] for name in ("rewards", "values", "dones"))
        last_values = self.heads(net, self.observations).value.float()
        self.buffer["advantages"][:] = gae(rewards, values, dones, last_values, gamma, lam)
        self.buffer["returns"][:] = self.buffer["advantages"] + values
        spread = self.buffer["returns"].var()  # the advantages are the errors of the values
        explained = torch.where(spread > 0, 1 - self.buffer["advantages"].var() / spread, 0.0)
        sums |= {"explained_variance": explained, "rollouts": torch.ones(())}
        if self.overrides_policy:
            sums |= {"chosen": self.buffer["chosen"].sum(), "steps": torch.tensor(self.buffer["chosen"].numel())}
        return sums

    def _step(self, actions: Tensor, aux: Tensor) -> tuple[Tensor | bool, tuple[Any, ...]]:
        """Step the environments; return where the policy chose the action, and the results."""
        if self.strategy is not None and self.overrides_policy:
            return self.strategy.step(self.envs, actions, aux, self.masks)
        return True, self.envs.step(actions if self.works_on_device else actions.cpu().numpy())

    def _bootstrap(self, net: nn.Module, gamma: float, step: int, truncated: np.ndarray, final: Any) -> None:
        """Add the value of the last position to the reward of every truncated game, which has no next step."""
        rows = np.flatnonzero(truncated)
        if rows.size:
            last = final[rows] if isinstance(final, Tensor) else torch.from_numpy(np.stack(final[rows]))
            self.buffer["rewards"][step, rows] += gamma * self.heads(net, last.to(self.device)).value.float()

    def heads(self, net: Any, observations: Tensor) -> Any:
        with self.compute.autocast():
            return net(observations)

    def _keep(self, observations: Any, masks: Any) -> None:
        """Copy observations and masks: environments may overwrite their buffers in the next step."""
        self.observations = torch.as_tensor(observations).to(self.device, copy=True)
        self.masks = torch.as_tensor(masks).to(self.device, copy=True)

    def _aux_targets(self) -> Tensor:
        if isinstance(self.envs, SupportsAuxTargets):
            return as_device(self.envs.aux_targets(), self.device)
        return torch.zeros((self.envs.num_envs, 0), dtype=torch.int8, device=self.device)

    def minibatches(self, count: int, generator: torch.Generator) -> Iterator[RolloutBatch]:
        """Yield the steps to train on, all unless the strategy asks for fewer, in random order and `count` parts.

        Steps in which the policy chose the action have priority; the rest is a new random sample of the others.
        """
        fields = [self.buffer[name].flatten(0, 1) for name in RolloutBatch._fields]
        steps, device = len(fields[0]), fields[0].device
        order = torch.randperm(steps, generator=generator, device=device)
        wanted = steps if self.strategy is None else self.strategy.training_steps(steps)
        if wanted < steps:
            chosen = self.buffer["chosen"].flatten()[order]
            kept = torch.cat([order[chosen], order[~chosen]])[:wanted]
            order = kept[torch.randperm(wanted, generator=generator, device=device)]
        for rows in order.tensor_split(count):
            yield RolloutBatch(*(field[rows] for field in fields))

    def training_seconds(self, net: nn.Module, weights: LossWeights, minibatches: int) -> float:
        """Estimate how long an epoch takes, by the loss of some rows and its gradients."""
        fields = {name: self.buffer[name].flatten(0, 1) for name in RolloutBatch._fields}
        steps = len(fields["actions"])
        steps = steps if self.strategy is None else self.strategy.training_steps(steps)

        def loss(rows: int) -> Tensor:
            batch = RolloutBatch(**{name: field[:rows] for name, field in fields.items()})
            batch = batch._replace(masks=torch.ones_like(batch.masks))  # there may be no rollout yet
            return ppo_losses(net, batch, weights, self.compute)["loss"]

        return steps * seconds_per_row(loss, -(-steps // minibatches))

    def state(self) -> dict[str, Any]:
        return {"envs": self.envs.state(), **{name: getattr(self, name) for name in self.STATE}}

    def load_state(self, saved: dict[str, Any]) -> None:
        self.envs.load_state(saved["envs"])
        for name in self.STATE:
            setattr(self, name, saved[name].to(self.device))


def gae(rewards: Tensor, values: Tensor, dones: Tensor, last_values: Tensor, gamma: float, lam: float) -> Tensor:
    """Return generalized advantage estimates (T, N), Schulman et al. 2016; `last_values` (N,) follow the last step.

    For truncated games the reward already includes the bootstrapped value of the last position.
    """
    advantages, advantage, following = torch.zeros_like(rewards), torch.zeros_like(last_values), last_values
    for step in reversed(range(len(rewards))):
        not_done = (~dones[step]).float()
        delta = rewards[step] + gamma * following * not_done - values[step]
        advantage = delta + gamma * lam * not_done * advantage
        advantages[step], following = advantage, values[step]
    return advantages


def ppo_losses(net: Any, batch: RolloutBatch, weights: LossWeights, compute: Compute) -> dict[str, Tensor]:
    """Return the loss of a batch, its parts, and the KL divergence from the policy of the rollout."""
    with compute.autocast():
        heads = net(batch.observations, batch.aux_logits) if batch.aux_logits.shape[1] > 0 else net(batch.observations)
    policy = MaskedCategorical(heads.policy, batch.masks)
    log_ratio = policy.log_prob(batch.actions) - batch.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - weights.clip_range, 1 + weights.clip_range)
    count = count_chosen(batch.chosen)
    policy_loss = mean_chosen(batch, -torch.minimum(ratio * batch.advantages, clipped * batch.advantages), count)
    entropy = mean_chosen(batch, policy.entropy(), count)

    value = heads.value.float()
    error = (value - batch.returns) ** 2
    if weights.clip_range_vf is not None:
        near = batch.values + (value - batch.values).clamp(-weights.clip_range_vf, weights.clip_range_vf)
        error = torch.maximum(error, (near - batch.returns) ** 2)
    losses = {"policy_loss": policy_loss, "value_loss": 0.5 * error.mean(), "entropy": entropy}
    loss = policy_loss + weights.vf_coef * losses["value_loss"] - weights.ent_coef * entropy

    if weights.aux_coef > 0 and batch.aux_targets.shape[1] > 0:
        losses["aux_loss"] = aux_loss(heads.aux, batch.aux_targets, weights.aux_cells)
        loss = loss + weights.aux_coef * losses["aux_loss"]
    with torch.no_grad():
        approx_kl = ratio - 1 - log_ratio  # Schulman's k3 estimator: non-negative, low variance
        is_clipped = (ratio - 1).abs() > weights.clip_range
        losses["approx_kl"] = mean_chosen(batch, approx_kl, count)
        losses["clip_fraction"] = mean_chosen(batch, is_clipped, count)
    return {"loss": loss, **losses}


def normalized(batch: RolloutBatch) -> RolloutBatch:
    """Normalize advantages by mean and standard deviation over the chosen steps of all ranks."""
    count = count_chosen(batch.chosen)
    centered = batch.advantages - ranks.mean(mean_chosen(batch, batch.advantages, count))
    variance = ranks.mean(mean_chosen(batch, centered.square(), count))
    return batch._replace(advantages=centered / (variance.sqrt() + 1e-8))


def count_chosen(chosen: Tensor) -> Tensor:
    """Return the mean number of chosen steps per rank, at least one over all ranks."""
    count: Tensor = ranks.mean(chosen.sum())
    return count.clamp_min(1 / ranks.world_size())


def mean_chosen(batch: RolloutBatch, values: Tensor, count: Tensor) -> Tensor:
    """Return this rank's part of the mean of `values` (B,) over the chosen steps of all ranks."""
    return torch.where(batch.chosen, values, 0.0).sum() / count


def as_device(array: np.ndarray | Tensor, device: str) -> Tensor:
    return torch.as_tensor(array).to(device, non_blocking=True)
