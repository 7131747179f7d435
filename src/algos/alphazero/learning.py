"""AlphaZero: play against itself with search, train the network on what the searches found, repeat."""

import copy
import logging
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...core.errors import require
from ...core.play.arena import random_opening, require_varied
from ...core.play.curriculum import Curriculum
from ...core.play.game import Trait, TwoPlayerGame
from ...core.ranges import (
    BatchSize,
    BelowOne,
    Bounds,
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
from ...core.runs import checkpoint
from ...core.runs.algorithm import Environment
from ...core.runs.report import first_baseline
from ...core.runs.run import Run
from ...nets.boards import Heads
from ...nets.masked import MaskedCategorical
from ..network import (
    Architecture,
    Compute,
    InferenceConfig,
    NetworkAgent,
    average_into,
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
from .agent import NetworkEvaluator, PlayConfig, SearchAgent
from .games import Finished, SelfPlayGames, gumbel_noise, pinned_zeros
from .past_selves import RatedPastSelves
from .replay import Batch, ReplayBuffer, Symmetries, position_bytes
from .search import SearchConfig, run_searches

log = logging.getLogger(__name__)

LOGGED_ROWS = 400  # approximate number per run
NETWORK_ALONE = InferenceConfig(multi_action_below=0.0, symmetries=False)


@dataclass(frozen=True)
class AlphaZero:
    net: Architecture
    compute: Compute
    play: PlayConfig
    search: SearchConfig
    init_from: str | None  # run whose network to start from
    total_steps: Count
    seconds: Positive | None
    num_envs: NumEnvs
    steps_per_env: Interval
    opening_plies: Plies
    buffer_size: BatchSize
    batch_size: BatchSize
    repeats: Positive
    augment: bool
    gamma: Fraction
    td_lambda: Fraction
    vf_coef: NonNegative
    lr: Positive
    lr_warmup: NonNegativeInt
    weight_decay: NonNegative
    max_grad_norm: Positive
    ema_decay: BelowOne
    eval_every: Interval
    eval_episodes: Interval
    eval_opening_plies: Plies
    past_selves: Annotated[int, Bounds(ge=2, le=1000)]
    past_selves_games: Annotated[int, Bounds(ge=0, le=10**6)]

    needs: ClassVar[frozenset[Trait]] = SearchAgent.needs

    def __post_init__(self) -> None:
        check_fields(self)
        require(
            self.buffer_size >= self.num_envs,
            f"algo.buffer_size={self.buffer_size} must be at least algo.num_envs={self.num_envs}: it holds the latest "
            "positions of every game",
        )

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        require(len(curriculum.all(env)) == 1, "algo=alphazero learns from itself alone: set curriculum=none")
        net, compute = build_net(self.net, env, self.init_from), Compute("cpu", "float32", False)
        agent = SearchAgent(net, compute, PlayConfig(simulations=0), self.search, self.gamma)
        agent.check(env.game)
        self._check_buffer(env)
        random_opening(env.game, self.opening_plies, np.random.default_rng(0))  # which refuses too many plies
        require_varied(env.game, agent, first_baseline(env), self.eval_opening_plies, self.eval_episodes)

    def _check_buffer(self, env: Environment) -> None:
        """Refuse a replay buffer that no checkpoint can hold: the run would fail at its first save."""
        observation = np.zeros(env.observation_space.shape, env.observation_space.dtype)
        each = position_bytes(observation, env.game.num_actions, self.compute.on_gpu)
        limit = checkpoint.size_limit() * 9 // 10  # the rest is for the weights, the optimizer and past selves
        require(
            self.buffer_size * each <= limit,
            f"algo.buffer_size={self.buffer_size} takes {self.buffer_size * each:,} bytes of a checkpoint, in which "
            f"it may have {limit:,} here: choose at most {limit // each}",
        )

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> SearchAgent:
        self.compute.report_idle_cores()
        log.info("the learner plays both sides of its games: env.opponent, env.seat and reward are not used")
        with self.compute.fixed_threads():
            return AlphaZeroTrainer(self, env, run).fit()

    def load_agent(self, saved: dict[str, Any]) -> SearchAgent:
        net = load_network(self.net, saved, self.compute)
        return SearchAgent(net, self.compute, self.play, self.search, self.gamma)


class AlphaZeroTrainer:
    """The mutable state of one run. `average`, the moving average of the weights, plays; `net` is trained."""

    def __init__(self, algo: AlphaZero, env: Environment, run: Run) -> None:
        self.algo, self.env, self.run = algo, env, run
        assert isinstance(env.game, TwoPlayerGame)
        self.game: TwoPlayerGame = env.game
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        self.saved = run.restore()
        self.net = algo.compute.prepare(build_net(algo.net, env, algo.init_from if self.saved is None else None))
        self.average = copy.deepcopy(self.net).eval().requires_grad_(False)
        self.compiled = algo.compute.compiled(self.net)
        self.evaluator = NetworkEvaluator(algo.compute.compiled(self.average), algo.compute)
        self.optimizer = Optimizer(
            self.net,
            algo.compute,
            lr=algo.lr,
            weight_decay=algo.weight_decay,
            max_grad_norm=algo.max_grad_norm,
            lr_warmup=algo.lr_warmup,
        )
        self.noise = torch.Generator(algo.compute.torch_device)
        self.noise.manual_seed(int(run.generator("noise").integers(2**62)))
        self.sampling = run.generator("sampling")
        symmetries = self.game.symmetries() if algo.augment else self.game.symmetries()[:1]
        self.symmetries = Symmetries(symmetries, algo.compute.torch_device)
        self.groups = self._make_groups()
        self.past_selves = RatedPastSelves(algo.past_selves, algo.past_selves_games, self._load_past_self)
        self.steps = self.updates = 0
        self.unused = 0.0  # positions to train on that do not fill a batch yet
        self.next_evaluation = algo.eval_every  # step
        self.sums: dict[str, Any] = {}  # numbers and tensors, since the last logged row
        self.log_every = max(1, round(algo.total_steps / (algo.num_envs * algo.steps_per_env) / LOGGED_ROWS))

    def fit(self) -> SearchAgent:
        algo, run = self.algo, self.run
        self._begin()
        with run.progress("positions", algo.total_steps, self.steps, algo.seconds) as advance:
            while self.steps < algo.total_steps and self.optimizer.progress < 1:
                self._play()
                self._learn()
                self.optimizer.progress = budget_used(self.steps / algo.total_steps, algo.seconds, run)
                finished = self.steps >= algo.total_steps or self.optimizer.progress >= 1
                if finished or self.steps >= self.next_evaluation:
                    self._evaluate(self._take_metrics())
                elif self.updates % self.log_every == 0:
                    run.log(self.steps, self._take_metrics())
                advance(min(self.steps, algo.total_steps))
                run.save_when_due(self._state)
        run.save(self._state())
        return run.load_best(algo.load_agent)

    def _make_groups(self) -> list[SelfPlayGames]:
        """Create the games; with a GPU two groups of them, of which one is evaluated while the other is searched."""
        algo, number = self.algo, 2 if self.algo.compute.on_gpu and self.algo.num_envs > 1 else 1
        sizes = [len(part) for part in np.array_split(np.arange(algo.num_envs), number)]
        shape, dtype = self.env.observation_space.shape, self.env.observation_space.dtype
        groups = []
        for index, size in enumerate(sizes):
            buffer = ReplayBuffer(
                max(1, algo.buffer_size // algo.num_envs),
                np.zeros((size, *shape), dtype),
                self.game.num_actions,
                algo.compute.torch_device,
                algo.gamma,
                algo.td_lambda,
            )
            rng = self.run.generator("games", index)
            zeros = pinned_zeros if algo.compute.on_gpu else np.zeros
            groups.append(SelfPlayGames(self.game, size, algo.search, buffer, algo.opening_plies, rng, zeros))
        return groups

    def _play(self) -> None:
        """Play `steps_per_env` moves in every game."""
        for _ in range(self.algo.steps_per_env):
            actions = self.game.num_actions
            noises = [gumbel_noise(len(group.lengths), actions, self.noise) for group in self.groups]
            searches = [group.searching(noise) for group, noise in zip(self.groups, noises, strict=True)]
            found = run_searches(searches, [group.positions for group in self.groups], self.evaluator)
            for group, result in zip(self.groups, found, strict=True):
                self._count(group.play(result))
        self.steps += self.algo.num_envs * self.algo.steps_per_env
        self.updates += 1

    def _count(self, finished: Finished) -> None:
        outcomes = finished.outcomes
        self.unused += finished.positions * self.algo.repeats
        self._add({"games": len(outcomes), "length": finished.lengths.sum()})
        self._add({"first": (outcomes == 1).sum(), "drawn": (outcomes == 0).sum()})

    def _learn(self) -> None:
        """Train on as many positions as became ready, `repeats` times each on average."""
        algo = self.algo
        ready = [group.buffer.size for group in self.groups]
        while self.unused >= algo.batch_size and sum(ready) > 0:
            self.unused -= algo.batch_size
            losses = self._losses(self._sample(ready))
            losses["grad_norm"] = self.optimizer.step(losses["loss"])
            average_into(self.average, self.net, min(algo.ema_decay, self.optimizer.done / (self.optimizer.done + 9)))
            self._add({f"losses/{name}": value for name, value in losses.items()} | {"gradient_steps": 1})
        require_finite(self.net, self.steps)

    def _sample(self, ready: list[int]) -> Batch:
        """Draw a batch from the games of all groups, in proportion to their positions."""
        counts = self.sampling.multinomial(self.algo.batch_size, np.array(ready) / sum(ready))
        parts = [
            group.buffer.sample(int(count), self.symmetries, self.sampling)
            for group, count in zip(self.groups, counts, strict=True)
            if count > 0
        ]
        return Batch(*(torch.cat(fields) for fields in zip(*parts, strict=True)))

    def _losses(self, batch: Batch) -> dict[str, Tensor]:
        with self.algo.compute.autocast():
            heads: Heads = self.compiled(batch.observations)
        policy = MaskedCategorical(heads.policy, batch.masks)
        policy_loss = -(batch.policies * policy.log_probs).sum(dim=1).mean()
        value_loss = ((heads.value.float() - batch.values) ** 2).mean()
        loss = policy_loss + self.algo.vf_coef * value_loss
        entropy = policy.entropy().mean()
        return {"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}

    def _add(self, values: dict[str, Any]) -> None:
        """Add to the sums of the next logged row; tensors stay on their device."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + (value.detach() if isinstance(value, Tensor) else float(value))

    def _take_metrics(self) -> dict[str, float]:
        """Return and reset the metrics since the last logged row."""
        sums, self.sums = {name: float(value) for name, value in self.sums.items()}, {}
        gradient_steps, games = sums.get("gradient_steps", 0), sums.get("games", 0)
        metrics = {name: value / gradient_steps for name, value in sums.items() if name.startswith("losses/")}
        metrics |= {"train/episodes": games, "train/lr": self.optimizer.current_lr}
        metrics["train/replay_size"] = sum(group.buffer.size for group in self.groups)
        if games > 0:
            metrics |= {"train/episode_length": sums["length"] / games, "train/draw_rate": sums["drawn"] / games}
            metrics["train/first_player_win_rate"] = sums["first"] / games
        return metrics

    def _evaluate(self, metrics: dict[str, float]) -> None:
        """Evaluate the network without search, update the best checkpoint and the past selves."""
        algo, run = self.algo, self.run
        agent = NetworkAgent(self.average, algo.compute, NETWORK_ALONE)
        measured = selection_metrics(self.env, agent, algo.eval_episodes, run.seed, algo.eval_opening_plies)
        learner = NetworkAgent(self.average, algo.compute, NETWORK_ALONE, greedy=False)
        rated = self.past_selves.measure(self.game, learner, run.seed)
        self.past_selves.add(self._snapshot)
        run.log(self.steps, {**metrics, **measured, **rated})
        run.save_best(selection_score(measured), self._weights(torch.float16), selection_error(measured))
        self.next_evaluation = next_evaluation(self.steps, algo.eval_every)

    def _load_past_self(self, weights: dict[str, Any]) -> NetworkAgent:
        net = load_network(self.algo.net, weights, self.algo.compute)
        return NetworkAgent(net, self.algo.compute, NETWORK_ALONE, greedy=False)

    def _weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        return export_weights(self.average, self.env, dtype)

    def _snapshot(self) -> dict[str, Any]:
        return export_snapshot(self.average, self.env)

    def _state(self) -> dict[str, Any]:
        require_finite(self.net, self.steps)
        return {
            **self._weights(),
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state(),
            "noise": self.noise.get_state(),
            "sampling": self.sampling.bit_generator.state,
            "groups": [group.state() for group in self.groups],
            "past_selves": self.past_selves.state(),
            "steps": self.steps,
            "updates": self.updates,
            "unused": self.unused,
            "next_evaluation": self.next_evaluation,
            "sums": {name: float(value) for name, value in self.sums.items()},
        }

    def _begin(self) -> None:
        """Restore the saved state, or add the initial weights to the past selves."""
        saved, self.saved = self.saved, None  # large with its replay buffer: it is needed once
        if saved is None:
            self.past_selves.add(self._snapshot)
            return
        message = "the saved weights are of another network than algo.net describes"
        load_weights(self.average, saved, message)
        load_weights(self.net, {"weights": saved["net"]}, message)
        self.optimizer.load(saved["optimizer"])
        self.noise.set_state(saved["noise"])
        self.sampling.bit_generator.state = saved["sampling"]
        for group, state in zip(self.groups, saved["groups"], strict=True):
            group.load_state(state)
        self.past_selves.load_state(saved["past_selves"])
        self.steps, self.updates, self.unused = saved["steps"], saved["updates"], saved["unused"]
        self.next_evaluation, self.sums = saved["next_evaluation"], dict(saved["sums"])
