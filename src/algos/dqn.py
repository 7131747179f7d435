"""Deep Q-learning over the legal actions: Rainbow (Hessel et al. 2018) without noise and distributions.

That is double Q-learning (van Hasselt et al. 2016), a dueling head (Wang et al. 2016), n-step returns and prioritized
replay. In games for two the learner plays both sides, and the value of a position is that of the player to move.

`DQN` has the settings. `DQNTrainer.update` plays some moves in all games and adds them to the replay buffer; then it
takes gradient steps on samples (`td_errors`). `Trainer` repeats that, evaluates, logs and saves.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (the name everybody knows)
from torch import Tensor, nn

from ..core.errors import require
from ..core.play.agent import Decision, Line
from ..core.play.curriculum import Curriculum
from ..core.play.game import Game, Trait, TwoPlayerGame, outcome_for_seat
from ..core.play.search_interface import board_symmetries, identity
from ..core.ranges import AboveZero, BatchSize, BelowOne, Bounds, Count, Fraction, Interval, NumEnvs, Positive
from ..core.runs import checkpoint
from ..core.runs.report import win_rate_band
from ..core.runs.run import Environment, Run
from ..nets.boards import Heads
from ..nets.masked import MASKED_LOGIT
from .alphazero.self_play import Symmetries
from .compute import CPU
from .network_agent import InferenceConfig, NetworkAgent
from .prioritized_replay import ReplayBuffer, Transitions, stored_dtype
from .trainer import NetworkLearnerConfig, NetworkTrainer
from .weights import Architecture, build_net, load_network, require_finite

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DQN(NetworkLearnerConfig):
    net: Architecture
    play: InferenceConfig
    num_envs: NumEnvs
    steps_per_env: Interval
    buffer_size: BatchSize
    learning_starts: Count
    batch_size: BatchSize
    repeats: Positive
    n_step: Annotated[int, Bounds(ge=1, le=1000)]
    gamma: Fraction
    epsilon: Fraction
    epsilon_end: Fraction
    exploration: AboveZero
    priority: Fraction
    importance: Fraction
    augment: bool
    ema_decay: BelowOne

    needs: ClassVar[frozenset[Trait]] = frozenset()

    @property
    def buffer_steps(self) -> int:
        """Moves of each game in the replay buffer."""
        return self.buffer_size // self.num_envs

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.buffer_steps > self.n_step,
            f"algo.buffer_size={self.buffer_size} must be at least algo.num_envs={self.num_envs} times "
            f"{self.n_step + 1}: a position is trained on when algo.n_step={self.n_step} more moves have followed it",
        )
        most = (self.buffer_steps - self.n_step) * self.num_envs
        require(
            self.learning_starts <= most,
            f"algo.learning_starts={self.learning_starts} must be at most {most}, the positions of algo.buffer_size="
            f"{self.buffer_size} that can be trained on",
        )

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        require(len(curriculum.all(env)) == 1, "algo=dqn learns in one environment: set curriculum=none")
        require(
            self.play.strategy is None, "algo.play.strategy needs the auxiliary task, which DQN does not learn: null"
        )
        agent = QAgent(build_net(self.net, env, self.init_from, aux=False), CPU, self.play)
        agent.check(env.game)
        space = env.observation_space
        each = np.dtype(stored_dtype(space.dtype)).itemsize * int(np.prod(space.shape)) + env.game.num_actions + 40
        limit = checkpoint.size_limit() * 9 // 10  # the rest is for the weights and the optimizer
        require(  # otherwise the run would fail at its first save
            self.buffer_size * each <= limit,
            f"algo.buffer_size={self.buffer_size} takes {self.buffer_size * each:,} bytes of a checkpoint, in which "
            f"it may have {limit:,} here: choose at most {limit // each}",
        )
        self.check_evaluation(env, agent)

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "DQNTrainer":
        if env.game.players == 2:
            log.info("the learner plays both sides of its games: env.opponent, env.seat and reward are not used")
        return DQNTrainer(self, env, run)

    def load_agent(self, saved: dict[str, Any]) -> "QAgent":
        return QAgent(load_network(self.net, saved, self.compute), self.compute, self.play)


def q_values(heads: Heads, masks: Tensor) -> Tensor:
    """Add the value and the advantages less their mean over the legal actions; return (B, A), low for illegal ones."""
    advantages = heads.policy.float()
    mean = (advantages * masks).sum(dim=1, keepdim=True) / masks.sum(dim=1, keepdim=True).clamp_min(1)
    return (heads.value.float()[:, None] + advantages - mean).masked_fill(~masks, MASKED_LOGIT)


class QAgent(NetworkAgent):
    """Play the action with the highest value; `info` has that value, which is also the value of the position."""

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        values = self._action_values(game, views)
        return [Decision(int(row.argmax()), {"value": float(row.max())}) for row in values]

    def analyze(self, game: Game, view: Any, count: int) -> list[Line]:
        (values,) = self._action_values(game, [view])
        best = sorted(game.legal_actions(view), key=lambda action: -values[action])[:count]
        return [Line(f"{values[action]:.3f}", (action,)) for action in best]

    def _action_values(self, game: Game, views: Sequence[Any]) -> np.ndarray:
        """Return the values of all actions, (N, A), low for those that make no sense."""
        heads = self.heads(np.stack([game.observe(view) for view in views]))
        masks = np.stack([game.sensible_mask(view)[: heads.policy.shape[1]] for view in views])
        values: np.ndarray = q_values(heads, torch.from_numpy(masks).to(heads.policy.device)).cpu().numpy()
        return values


class Played(NamedTuple):
    """The results of one move in each of N games."""

    rewards: np.ndarray  # (N,) float32, for the player who moved
    ended: np.ndarray  # (N,) bool
    cut: np.ndarray  # (N,) bool: the game was truncated, so its last position has a value
    sums: dict[str, Any]  # numbers, over the games that ended or were cut


class SoloGames:
    """Games of one player, in a vector environment on the CPU. A game that ends is followed by a new one."""

    STATE = ("observations", "masks", "totals")  # in a checkpoint, besides the environments

    def __init__(self, envs: Any, seed: int) -> None:
        self.envs = envs
        observations, info = envs.reset(seed=seed)
        self.observations, self.masks = np.array(observations), np.array(info["action_mask"])  # (N, ...), (N, A)
        self.seats = np.zeros(envs.num_envs, np.int8)  # (N,) the player to move
        self.totals = np.zeros((2, envs.num_envs))  # return and length of the games in progress

    def step(self, actions: np.ndarray) -> Played:
        observations, rewards, terminated, truncated, info = self.envs.step(actions)
        self.observations, self.masks = np.array(observations), np.array(info["action_mask"])
        over, cut = terminated | truncated, truncated & ~terminated
        won = info["final_info"]["won"].sum() if over.any() else 0
        self.totals += np.stack([rewards, np.ones(len(rewards))])
        returned, length = self.totals[:, over].sum(axis=1)
        self.totals[:, over] = 0
        sums = {"games": over.sum(), "return": returned, "length": length, "truncated": truncated.sum(), "won": won}
        return Played(np.array(rewards, np.float32), np.array(terminated), cut, sums)

    def state(self) -> dict[str, Any]:
        return {"envs": self.envs.state(), **{name: getattr(self, name) for name in self.STATE}}

    def load_state(self, saved: dict[str, Any]) -> None:
        self.envs.load_state(saved["envs"])
        for name in self.STATE:
            getattr(self, name)[...] = np.asarray(saved[name])


class SelfPlayGames:
    """Games of two players, in which the learner plays both sides; a move that ends one is rewarded by the outcome."""

    def __init__(self, game: Game, rngs: Sequence[np.random.Generator]) -> None:
        self.game, self.rngs = game, rngs
        self._states: list[Any] = [None] * len(rngs)
        self._records: list[dict[str, Any]] = [{} for _ in rngs]  # what each game begins with, and its moves
        for i in range(len(rngs)):
            self._start(i)
        self._observe()

    def _start(self, i: int) -> None:
        self._records[i] = {"rng": dict(self.rngs[i].bit_generator.state), "actions": []}
        self._states[i] = self.game.initial(self.rngs[i])

    def _play(self, i: int, action: int) -> None:
        self._states[i] = self.game.play(self._states[i], action)
        self._records[i]["actions"].append(action)

    def _observe(self) -> None:
        views = [self.game.view(state) for state in self._states]
        self.observations = np.stack([self.game.observe(view) for view in views])
        self.masks = np.zeros((len(views), self.game.num_actions), bool)
        for mask, view in zip(self.masks, views, strict=True):
            mask[self.game.legal_actions(view)] = True
        self.seats = np.array([self.game.to_move(state) for state in self._states], np.int8)

    def step(self, actions: np.ndarray) -> Played:
        rewards, ended = np.zeros(len(actions), np.float32), np.zeros(len(actions), bool)
        lengths, outcomes = [], []
        for i, action in enumerate(actions.tolist()):
            self._play(i, action)
            if (outcome := self.game.outcome(self._states[i])) is not None:
                rewards[i], ended[i] = outcome_for_seat(int(self.seats[i]), outcome), True
                lengths.append(len(self._records[i]["actions"]))
                outcomes.append(outcome)
                self._start(i)
        self._observe()
        sums = {"games": len(outcomes), "length": sum(lengths), "first": outcomes.count(1), "drawn": outcomes.count(0)}
        return Played(rewards, ended, np.zeros(len(actions), bool), sums)

    def state(self) -> dict[str, Any]:
        return {"games": self._records}

    def load_state(self, saved: dict[str, Any]) -> None:
        for i, record in enumerate(saved["games"]):
            self.rngs[i].bit_generator.state = record["rng"]
            self._start(i)
            for action in record["actions"]:
                self._play(i, action)
        self._observe()


def td_errors(net: Any, target_net: Any, batch: Transitions) -> tuple[Tensor, Tensor]:
    """Return the TD errors (B,) and the values of the actions (B,).

    The target is the n-step return, and the value that the target network gives the action that the network prefers.
    """
    with torch.no_grad():
        best = q_values(net(batch.next_observations), batch.next_masks).argmax(dim=1, keepdim=True)
        following = q_values(target_net(batch.next_observations), batch.next_masks).gather(1, best).squeeze(1)
        targets = batch.returns + batch.discounts * following
    values = q_values(net(batch.observations), batch.masks).gather(1, batch.actions[:, None]).squeeze(1)
    return values - targets, values


class DQNTrainer(NetworkTrainer[DQN]):
    """Its `acting_net`, the moving average of the weights, is the target network, and is evaluated."""

    def __init__(self, algo: DQN, env: Environment, run: Run) -> None:
        steps_per_update = algo.num_envs * algo.steps_per_env
        super().__init__(algo, env, run, steps_per_update=steps_per_update, ema_decay=algo.ema_decay)
        game, space = env.game, env.observation_space
        self.games = (
            SoloGames(env.vectorize(algo.num_envs, "cpu"), int(run.generator("envs").integers(2**31)))
            if game.players == 1
            else SelfPlayGames(game, [run.generator("games", i) for i in range(algo.num_envs)])
        )
        self.buffer = ReplayBuffer(
            algo.buffer_steps, self.games.observations, game.num_actions, algo.n_step, algo.gamma, algo.priority
        )
        self.exploring, self.sampling = run.generator("exploration"), run.generator("sampling")
        images = [identity(int(np.prod(space.shape)), game.num_actions)]
        if algo.augment and isinstance(game, TwoPlayerGame):
            images = game.symmetries()
        elif algo.augment and game.mirrored:
            images = board_symmetries(space.shape, game.num_actions)
        self.symmetries = Symmetries(images, algo.compute.torch_device)
        self.compiled = algo.compute.compiled(self.net)
        self.target_net = algo.compute.compiled(self.acting_net)
        self.unused = 0.0  # positions to train on that do not fill a batch yet

    def build_net(self, init_from: str | None) -> nn.Module:
        return build_net(self.algo.net, self.env, init_from, aux=False)

    @property
    def epsilon(self) -> float:
        """The share of random moves, which falls linearly over the fraction `exploration` of the budget."""
        algo, done = self.algo, min(1.0, self.optimizer.progress / self.algo.exploration)
        return float(algo.epsilon + (algo.epsilon_end - algo.epsilon) * done)

    def update(self) -> None:
        """Play `steps_per_env` moves in every game, then train `repeats` times on as many positions."""
        algo, games = self.algo, self.games
        for _ in range(algo.steps_per_env):
            position = games.observations, games.masks, games.seats
            actions = self._choose_actions()
            played = games.step(actions)
            self.buffer.add(*position, actions, played.rewards, played.ended, played.cut)
            self.add(played.sums)
        moves = algo.num_envs * algo.steps_per_env
        self.steps += moves
        if self.buffer.size >= algo.learning_starts:
            self.unused += moves * algo.repeats
        while self.unused >= algo.batch_size:
            self.unused -= algo.batch_size
            self._learn()
        require_finite(self.net, self.steps)

    @torch.no_grad()
    def _choose_actions(self) -> np.ndarray:
        """Return an action for every game, (N,): the best one, or a share of `epsilon` at random."""
        games, device = self.games, self.algo.compute.torch_device
        with self.algo.compute.autocast():
            heads: Heads = self.compiled(torch.from_numpy(games.observations).to(device))
        best = heads.policy.float().masked_fill(~torch.from_numpy(games.masks).to(device), MASKED_LOGIT).argmax(dim=1)
        random = (games.masks * (self.exploring.random(games.masks.shape) + 1e-9)).argmax(axis=1)
        explores = self.exploring.random(len(random)) < self.epsilon
        return np.where(explores, random, best.cpu().numpy())

    def _learn(self) -> None:
        algo, device = self.algo, self.algo.compute.torch_device
        importance = algo.importance + (1 - algo.importance) * min(1.0, self.optimizer.progress)
        chosen, batch = self.buffer.sample(algo.batch_size, importance, self.sampling, device)
        batch = self._transformed(batch)
        with algo.compute.autocast():
            errors, values = td_errors(self.compiled, self.target_net, batch)
        each = F.huber_loss(errors, torch.zeros_like(errors), reduction="none")
        losses = {"loss": (batch.weights * each).mean(), "td_error": errors.abs().mean(), "q_value": values.mean()}
        self.step(losses)
        self.buffer.update(chosen, errors.detach().cpu().numpy())

    def _transformed(self, batch: Transitions) -> Transitions:
        """Return the transitions, each under a random symmetry of the game."""
        if self.symmetries.count == 1:
            return batch
        images = torch.from_numpy(self.sampling.integers(self.symmetries.count, size=len(batch.actions)))
        images = images.to(batch.actions.device)
        played = F.one_hot(batch.actions, batch.masks.shape[1])
        seen, masks, played = self.symmetries.transformed((batch.observations, batch.masks, played), images)
        after = (batch.next_observations, batch.next_masks, batch.next_masks)
        next_seen, next_masks, _ = self.symmetries.transformed(after, images)
        return Transitions(seen, masks, played.argmax(dim=1), *batch[3:5], next_seen, next_masks, batch.weights)

    def metrics(self, sums: dict[str, float]) -> dict[str, float]:
        games = sums["games"]
        metrics = {"train/episodes": games, "train/replay_size": self.buffer.size, "train/epsilon": self.epsilon}
        names = {"return": "episode_return", "length": "episode_length", "won": "win_rate"}
        names |= {"truncated": "truncated_share", "first": "first_player_win_rate", "drawn": "draw_rate"}
        if games > 0:
            metrics |= {f"train/{name}": sums[key] / games for key, name in names.items() if key in sums}
            metrics |= win_rate_band(sums["won"], games) if "won" in sums else {}
        return metrics

    def agent(self) -> QAgent:
        return QAgent(self.acting_net, self.algo.compute, self.algo.play)

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "games": self.games.state(),
            "buffer": self.buffer.state(),
            "exploring": self.exploring.bit_generator.state,
            "sampling": self.sampling.bit_generator.state,
            "unused": self.unused,
        }

    def load_state(self, saved: dict[str, Any]) -> None:
        super().load_state(saved)
        self.games.load_state(saved["games"])
        self.buffer.load_state(saved["buffer"])
        self.exploring.bit_generator.state = saved["exploring"]
        self.sampling.bit_generator.state = saved["sampling"]
        self.unused = saved["unused"]
