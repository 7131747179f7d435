"""AlphaZero: play against itself with search, train the network on what the searches found, repeat."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...core.errors import require
from ...core.play.agent import Agent
from ...core.play.arena import evaluate, random_opening
from ...core.play.curriculum import Curriculum
from ...core.play.game import Game, Trait, TwoPlayerGame
from ...core.play.past_selves import Load, PastSelves, Weights
from ...core.play.rating import Points, points_of, ratings
from ...core.ranges import BatchSize, BelowOne, Bounds, Fraction, Interval, NonNegative, NumEnvs, Plies, Positive
from ...core.runs import checkpoint
from ...core.runs.run import Environment, Run
from ...nets.boards import Heads
from ...nets.masked import MaskedCategorical
from ..compute import CPU
from ..network_agent import InferenceConfig, NetworkAgent
from ..trainer import NetworkLearnerConfig, NetworkTrainer
from ..weights import Architecture, build_net, load_network, require_finite
from .agent import NetworkEvaluator, PlayConfig, SearchAgent
from .search import SearchConfig, run_searches
from .self_play import (
    ReplayBuffer,
    SelfPlayGames,
    Symmetries,
    TrainingBatch,
    gumbel_noise,
    pinned_zeros,
    position_bytes,
)

log = logging.getLogger(__name__)

NETWORK_ALONE = InferenceConfig(symmetries=False)


@dataclass(frozen=True, kw_only=True)
class AlphaZero(NetworkLearnerConfig):
    net: Architecture
    play: PlayConfig
    search: SearchConfig
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
    ema_decay: BelowOne
    past_selves: Annotated[int, Bounds(ge=2, le=1000)]
    past_selves_games: Annotated[int, Bounds(ge=0, le=10**6)]

    needs: ClassVar[frozenset[Trait]] = SearchAgent.needs

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.buffer_size >= self.num_envs,
            f"algo.buffer_size={self.buffer_size} must be at least algo.num_envs={self.num_envs}: it holds the latest "
            "positions of every game",
        )

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        require(len(curriculum.all(env)) == 1, "algo=alphazero learns from itself alone: set curriculum=none")
        net = build_net(self.net, env, self.init_from)
        agent = SearchAgent(net, CPU, PlayConfig(simulations=0), self.search, self.gamma)
        agent.check(env.game)
        observation = np.zeros(env.observation_space.shape, env.observation_space.dtype)
        each = position_bytes(observation, env.game.num_actions, self.compute.on_gpu)
        limit = checkpoint.size_limit() * 9 // 10  # the rest is for the weights, the optimizer and past selves
        require(  # otherwise the run would fail at its first save
            self.buffer_size * each <= limit,
            f"algo.buffer_size={self.buffer_size} takes {self.buffer_size * each:,} bytes of a checkpoint, in which "
            f"it may have {limit:,} here: choose at most {limit // each}",
        )
        random_opening(env.game, self.opening_plies, np.random.default_rng(0))  # which refuses too many plies
        self.check_evaluation(env, agent)

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "AlphaZeroTrainer":
        log.info("the learner plays both sides of its games: env.opponent, env.seat and reward are not used")
        return AlphaZeroTrainer(self, env, run)

    def load_agent(self, saved: dict[str, Any]) -> SearchAgent:
        net = load_network(self.net, saved, self.compute)
        return SearchAgent(net, self.compute, self.play, self.search, self.gamma)


class AlphaZeroTrainer(NetworkTrainer[AlphaZero]):
    """Its `acting_net` is the moving average of the weights; it plays the games, too."""

    unit = "positions"

    def __init__(self, algo: AlphaZero, env: Environment, run: Run) -> None:
        steps_per_update = algo.num_envs * algo.steps_per_env
        super().__init__(algo, env, run, steps_per_update=steps_per_update, ema_decay=algo.ema_decay)
        assert isinstance(env.game, TwoPlayerGame)
        self.game: TwoPlayerGame = env.game
        self.compiled = algo.compute.compiled(self.net)
        self.evaluator = NetworkEvaluator(algo.compute.compiled(self.acting_net), algo.compute, capture=True)
        self.noise = torch.Generator(algo.compute.torch_device)
        self.noise.manual_seed(int(run.generator("noise").integers(2**62)))
        self.sampling = run.generator("sampling")
        symmetries = self.game.symmetries() if algo.augment else self.game.symmetries()[:1]
        self.symmetries = Symmetries(symmetries, algo.compute.torch_device)
        self.groups: list[SelfPlayGames] = []  # with a GPU two, of which one is evaluated while the other is searched
        count = 2 if algo.compute.on_gpu and algo.num_envs > 1 else 1
        for index, part in enumerate(np.array_split(np.arange(algo.num_envs), count)):
            buffer = ReplayBuffer(
                max(1, algo.buffer_size // algo.num_envs),
                np.zeros((len(part), *env.observation_space.shape), env.observation_space.dtype),
                self.game.num_actions,
                algo.compute.torch_device,
                algo.gamma,
                algo.td_lambda,
            )
            rng, zeros = run.generator("games", index), pinned_zeros if algo.compute.on_gpu else np.zeros
            games = SelfPlayGames(self.game, len(part), algo.search, buffer, algo.opening_plies, rng, zeros)
            self.groups.append(games)
        load = partial(NetworkAgent.load, algo.net, compute=algo.compute, play=NETWORK_ALONE, greedy=False)
        self.past_selves = RatedPastSelves(algo.past_selves, algo.past_selves_games, load)
        self.unused = 0.0  # positions to train on that do not fill a batch yet

    def start(self) -> None:
        self.past_selves.add(self.snapshot)

    def warm_up_losses(self) -> Iterator[Tensor]:
        for group in self.groups:
            self.evaluator(group.positions).result()
        yield self._losses(self.groups[0].buffer.blank(self.algo.batch_size))["loss"]

    def update(self) -> None:
        """Play `steps_per_env` moves in every game, then train on what became ready, `repeats` times on average."""
        algo = self.algo
        for _ in range(algo.steps_per_env):
            noises = [gumbel_noise(len(group.lengths), self.game.num_actions, self.noise) for group in self.groups]
            searches = [group.searching(noise) for group, noise in zip(self.groups, noises, strict=True)]
            found = run_searches(searches, [group.positions for group in self.groups], self.evaluator)
            for group, result in zip(self.groups, found, strict=True):
                outcomes, lengths, positions = group.play(result)
                self.unused += positions * algo.repeats
                self.add({"games": len(outcomes), "length": lengths.sum()})
                self.add({"first": (outcomes == 1).sum(), "drawn": (outcomes == 0).sum()})
        self.steps += algo.num_envs * algo.steps_per_env

        ready = np.array([group.buffer.size for group in self.groups])
        while self.unused >= algo.batch_size and ready.sum() > 0:
            self.unused -= algo.batch_size
            counts = self.sampling.multinomial(algo.batch_size, ready / ready.sum()).tolist()
            parts = [
                group.buffer.sample(count, self.symmetries, self.sampling)
                for group, count in zip(self.groups, counts, strict=True)
                if count > 0
            ]
            self.step(self._losses(TrainingBatch(*(torch.cat(fields) for fields in zip(*parts, strict=True)))))
        require_finite(self.net, self.steps)

    def _losses(self, batch: TrainingBatch) -> dict[str, Tensor]:
        with self.algo.compute.autocast():
            heads: Heads = self.compiled(batch.observations)
        policy = MaskedCategorical(heads.policy, batch.masks)
        policy_loss = -(batch.policies * policy.log_probs).sum(dim=1).mean()
        value_loss = ((heads.value.float() - batch.values) ** 2).mean()
        loss = policy_loss + self.algo.vf_coef * value_loss
        return {"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss, "entropy": policy.entropy().mean()}

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        games = sums["games"]
        metrics = {"train/episodes": games, "train/replay_size": sum(group.buffer.size for group in self.groups)}
        if games > 0:
            metrics |= {"train/episode_length": sums["length"] / games, "train/draw_rate": sums["drawn"] / games}
            metrics["train/first_player_win_rate"] = sums["first"] / games
        return metrics

    def agent(self) -> NetworkAgent:
        """Return the network without search."""
        return NetworkAgent(self.acting_net, self.algo.compute, NETWORK_ALONE)

    def evaluate(self, metrics: dict[str, float]) -> None:
        """Also play against the past selves, and add to them."""
        learner = NetworkAgent(self.acting_net, self.algo.compute, NETWORK_ALONE, greedy=False)
        rated = self.past_selves.measure(self.game, learner, self.run.seed)
        self.past_selves.add(self.snapshot)
        super().evaluate(metrics | rated)

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "noise": self.noise.get_state(),
            "sampling": self.sampling.bit_generator.state,
            "groups": [group.state() for group in self.groups],
            "past_selves": self.past_selves.state(),
            "unused": self.unused,
        }

    def load_state(self, saved: dict[str, Any]) -> None:
        super().load_state(saved)
        self.noise.set_state(saved["noise"])
        self.sampling.bit_generator.state = saved["sampling"]
        for group, state in zip(self.groups, saved["groups"], strict=True):
            group.load_state(state)
        self.past_selves.load_state(saved["past_selves"])
        self.unused = saved["unused"]


class RatedPastSelves:
    """Snapshots of the learner, one for each evaluation, of which at most `size` are kept as opponents.

    Ratings are by maximum likelihood over all matches so far; the first snapshot, the initial weights, is rated 0.
    """

    def __init__(self, size: int, games: int, load: Load) -> None:
        """`games` are played in an evaluation, against all snapshots together."""
        self.games, self._load = games, load
        self._pool = PastSelves(size, snapshot_every=1, current_share=0, priority=0, memory=0)
        self._results: dict[tuple[str, str], Points] = {}

    def measure(self, game: Game, learner: Agent, seed: int) -> dict[str, float]:
        """Play against the snapshots; return the rating of the learner with its 95% interval."""
        snapshots, name = self._pool.snapshots, str(self._pool.evaluations)  # its number as a snapshot
        if not snapshots or self.games == 0:
            return {}
        episodes = 2 * max(1, self.games // (2 * len(snapshots)))  # both seats equally often
        for one in snapshots:
            score = evaluate(game, learner, one.agent, episodes, seed, stream=f"past_selves/{name}/{one.number}")
            self._results[name, str(one.number)] = points_of(score.total)
        rating = ratings(self._results, str(snapshots[0].number))[name]
        metrics = {"eval/past_selves_elo": rating.elo, "eval/past_selves_elo_low": rating.low}
        return metrics | {"eval/past_selves_elo_high": rating.high, "train/past_selves": len(snapshots)}

    def add(self, weights: Callable[[], Weights]) -> None:
        """Add the learner as it was measured."""
        if self.games > 0:
            self._pool.add_snapshot(weights, self._load)

    def state(self) -> dict[str, Any]:
        results = [[*pair, *points] for pair, points in self._results.items()]
        return {"pool": self._pool.state(), "results": results}

    def load_state(self, saved: dict[str, Any]) -> None:
        self._pool.load_state(saved["pool"], self._load)
        self._results = {(one, other): Points(scored, games) for one, other, scored, games in saved["results"]}
