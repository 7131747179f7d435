"""PPO: play with the current network, learn from what happened while it is still likely, repeat."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from src.algos.calibration import mine_calibration
from src.algos.network import (
    Architecture,
    Compute,
    NetworkAgent,
    Play,
    build_net,
    load_network,
    require_sound,
    selection_score,
    spent,
    weights_of,
)
from src.algos.optimizer import Optimizer
from src.algos.ppo.rollout import Rollouts
from src.algos.ppo.update import LossWeights, normalised, ppo_update
from src.core import ranks
from src.core.agent import SelfPlay
from src.core.algorithm import Environment
from src.core.curriculum import Curriculum
from src.core.errors import require
from src.core.game import Trait
from src.core.run import Run


class PPO:
    needs: frozenset[Trait] = frozenset()
    many_ranks = True  # torchrun may start it

    def __init__(
        self,
        net: Architecture,
        compute: Compute,
        play: Play,
        losses: LossWeights,
        init_from: str | None,
        total_steps: int,
        seconds: float | None,
        num_envs: int,
        steps_per_env: int,
        sure_below: float,
        learned_share: float,
        mini_batches: int,
        ppo_epochs: int,
        gamma: float,
        gae_lambda: float,
        lr: float,
        warm_up: int,
        weight_decay: float,
        max_grad_norm: float,
        target_kl: float | None,
        frontier_mask_until_updates: int,
        eval_every: int,
        eval_episodes: int,
        eval_opening_plies: int = 0,
    ) -> None:
        require(0 <= gamma <= 1, f"algo.gamma={gamma} is outside [0, 1]")
        require(0 <= gae_lambda <= 1, f"algo.gae_lambda={gae_lambda} is outside [0, 1]")
        require(0 <= sure_below < 1, f"algo.sure_below={sure_below} is outside [0, 1)")
        require(0 < learned_share <= 1, f"algo.learned_share={learned_share} is outside (0, 1]")
        sizes = (total_steps, num_envs, steps_per_env, mini_batches, ppo_epochs, eval_every, eval_episodes)
        require(min(sizes) >= 1, "algo: budgets, sizes and intervals are at least 1")
        self.net, self.compute, self.play, self.losses, self.init_from = net, compute, play, losses, init_from
        self.total_steps, self.seconds = total_steps, seconds
        self.num_envs, self.steps_per_env = num_envs, steps_per_env
        self.sure_below, self.learned_share = sure_below, learned_share
        self.mini_batches, self.ppo_epochs = mini_batches, ppo_epochs
        self.gamma, self.gae_lambda = gamma, gae_lambda
        self.lr, self.warm_up, self.weight_decay, self.max_grad_norm = lr, warm_up, weight_decay, max_grad_norm
        self.target_kl, self.frontier_mask_until_updates = target_kl, frontier_mask_until_updates
        self.eval_every, self.eval_episodes, self.eval_opening_plies = eval_every, eval_episodes, eval_opening_plies

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        """One set of weights has to fit every board of the ladder, and every minibatch to hold two steps."""
        agent = NetworkAgent(self._build(env, self.init_from), Compute("cpu", "float32", False), self.play)
        for stage in curriculum.all(env):
            agent.check(stage.game)
            if self.sure_below > 0:
                _check_reveal_all(stage, agent)
        require(
            self.num_envs % ranks.world() == 0,
            f"algo.num_envs={self.num_envs} cannot be shared evenly by {ranks.world()} ranks",
        )
        rollout = max(1, round(self.num_envs // ranks.world() * curriculum.smallest_share)) * self.steps_per_env
        fewest = round(rollout * self.learned_share)
        require(
            fewest >= 2 * self.mini_batches,
            f"algo.mini_batches={self.mini_batches} leaves less than two steps each of the {fewest} that are learned "
            "from in a rollout (algo.num_envs, steps_per_env, learned_share)",
        )

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> NetworkAgent:
        return Learning(self, env, curriculum, run).fit()

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent(load_network(self.net, saved, self.compute), self.compute, self.play)

    def _build(self, env: Environment, init_from: str | None = None) -> nn.Module:
        return build_net(self.net, env.observation_space.shape, env.game.num_actions, init_from)


class Learning:
    """One run of PPO: everything that changes while it learns."""

    def __init__(self, algo: PPO, env: Environment, curriculum: Curriculum, run: Run) -> None:
        self.algo, self.env, self.curriculum, self.run = algo, env, curriculum, run
        torch.manual_seed(int(run.generator("weights").integers(2**62)))
        self.saved = run.restore()
        self.net = algo.compute.prepare(algo._build(env, algo.init_from if self.saved is None else None))
        self.fast = algo.compute.fast(self.net)
        self.optimizer = Optimizer(
            self.net,
            algo.compute,
            lr=algo.lr,
            weight_decay=algo.weight_decay,
            max_grad_norm=algo.max_grad_norm,
            warm_up=algo.warm_up,
        )
        self.random = torch.Generator(algo.compute.where)
        self.random.manual_seed(int(run.generator("sampling", *ranks.stream()).integers(2**62)))
        self.steps = self.updates = 0
        self.groups: list[Rollouts] = []
        self.opponent: dict[str, Any] | None = None  # the weights of the learner as its own opponent

    def fit(self) -> NetworkAgent:
        algo, run = self.algo, self.run
        self._begin()
        if self.saved is None and algo.init_from is not None:
            self._evaluate({})  # so that the best is never worse than what it started from
        with run.progress("steps", algo.total_steps, self.steps) as advance:
            while self.steps < algo.total_steps and self.optimizer.progress < 1:
                figures = self._update()
                self.optimizer.progress = ranks.from_first(spent(self.steps / algo.total_steps, algo.seconds, run))
                finished = self.steps >= algo.total_steps or self.optimizer.progress >= 1
                if self.updates % algo.eval_every == 0 or finished:
                    self._evaluate(figures)
                advance(min(self.steps, algo.total_steps))
                run.save_when_due(self._state)
        run.save(self._state())
        self._diagnose()
        best = algo.load_agent(run.best())
        run.log(self.steps, mine_calibration(self.env, best, int(run.generator("calibration").integers(2**31))))
        return best

    def _update(self) -> dict[str, float]:
        """One rollout of every group of environments, and some epochs of learning from it."""
        algo = self.algo
        totals = dict.fromkeys(("games", "return", "length", "won"), 0.0)
        for group in self.groups:
            if algo.frontier_mask_until_updates > 0:
                group.frontier_mask(self.updates < algo.frontier_mask_until_updates)
            ended = group.collect(self.fast, self.net, algo.gamma, algo.gae_lambda, self.random)
            totals = {name: totals[name] + float(ended[name]) for name in totals}
            self.steps += group.envs.num_envs * group.steps * ranks.world()
        losses = self._learn()
        self.updates += 1
        figures = _mean_of(ranks.gather({f"losses/{name}": float(value.detach()) for name, value in losses.items()}))
        require_sound(self.net, self.steps)
        totals = _sum_of(ranks.gather(totals))
        if journals := self._journals():
            figures |= journals[0].figures(_sum_of(ranks.gather(_sum_of([one.recent() for one in journals]))))
        games = max(totals["games"], 1)
        means = {f"train/episode_{name}": totals[name] / games for name in ("return", "length")}
        if algo.sure_below > 0:
            chosen = [{"train/chosen_share": float(group.buffer.chosen.float().mean())} for group in self.groups]
            means |= _mean_of(ranks.gather(_mean_of(chosen)))
        return {**figures, **means, "train/win_rate": totals["won"] / games, "train/episodes": totals["games"]}

    def _journals(self) -> list[Any]:
        return [group.journal for group in self.groups if group.journal is not None]

    def _diagnose(self) -> None:
        """What the games of all groups and ranks have to tell once training is over."""
        if journals := self._journals():
            records = _sum_of(ranks.gather(_sum_of([one.records() for one in journals])))
            self.run.diagnose(*journals[0].of(records).diagnostics())

    def _learn(self) -> dict[str, torch.Tensor]:
        algo, losses = self.algo, {}
        for _ in range(algo.ppo_epochs):
            for group in self.groups:
                for batch in group.buffer.minibatches(algo.mini_batches, algo.learned_share, self.random):
                    losses = ppo_update(self.fast, self.optimizer, normalised(batch), algo.losses, algo.compute)
            if algo.target_kl is not None and float(ranks.mean(losses["approx_kl"])) > algo.target_kl:
                break
        return losses

    def _evaluate(self, figures: dict[str, float]) -> None:
        """Score the frozen weights on games of their own, and let that decide about the best and the next board."""
        algo, run = self.algo, self.run
        agent = NetworkAgent(self.net, algo.compute, algo.play)
        games = (algo.eval_episodes, run.seed, algo.eval_opening_plies)
        score = selection_score(self.env, agent, *games)
        now = self.curriculum.env(self.env)
        rung = score if now is self.env else selection_score(now, agent, *games)
        self.net.train()
        extra = {"eval/score": score, "eval/stage_score": rung, "train/stage": self.curriculum.stage}
        run.log(self.steps, {**figures, **extra, "train/lr": self.optimizer.current_lr})
        run.save_best(score, self._weights(torch.float16))
        before = self.curriculum.stage
        self.curriculum.record(rung)
        self._meet_self(self._weights())
        if self.curriculum.stage != before:
            self.groups = self._deal_groups()

    def _deal_groups(self) -> list[Rollouts]:
        """A group of environments for each board of the current mixture, of which each rank has its share."""
        algo, groups = self.algo, []
        for number, (env, share) in enumerate(self.curriculum.mixture(self.env)):
            envs = env.vectorize(max(1, round(algo.num_envs // ranks.world() * share)), algo.compute.where)
            name = ("envs", self.curriculum.stage, number, *ranks.stream())
            seed = int(self.run.generator(*name).integers(2**31))
            groups.append(Rollouts(envs, algo.steps_per_env, algo.compute, seed, algo.sure_below))
        return groups

    def _meet_self(self, weights: dict[str, Any]) -> None:
        """Where the opponent is the learner itself, it is the learner with these weights, until the next evaluation."""
        opponents = [getattr(env, "opponent", None) for env, _ in self.curriculum.mixture(self.env)]
        for opponent in opponents:
            if isinstance(opponent, SelfPlay):
                self.opponent = weights
                frozen = load_network(self.algo.net, weights, self.algo.compute)
                opponent.become(NetworkAgent(frozen, self.algo.compute, self.algo.play, greedy=False))

    def _weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        return weights_of(self.net, self.env.observation_space.shape, self.env.game.num_actions, dtype)

    def _state(self) -> dict[str, Any]:
        own = {"random": self.random.get_state(), "groups": [group.state() for group in self.groups]}
        first, *others = ranks.gather(own)
        return {
            **self._weights(),
            "optimizer": self.optimizer.state(),
            **first,
            "other_ranks": others,
            "steps": self.steps,
            "updates": self.updates,
            "stage": self.curriculum.stage,
            "opponent": self.opponent,
        }

    def _begin(self) -> None:
        """Deal the games, or go on with those that were saved."""
        saved = self.saved
        if saved is not None:
            saved = _of_this_rank(saved)
            self.net.load_state_dict(saved["weights"])
            self.optimizer.load(saved["optimizer"])
            self.random.set_state(saved["random"])
            self.steps, self.updates, self.curriculum.stage = saved["steps"], saved["updates"], saved["stage"]
        self._meet_self(saved["opponent"] if saved is not None and saved["opponent"] else self._weights())
        self.groups = self._deal_groups()
        for group, state in zip(self.groups, [] if saved is None else saved["groups"], strict=saved is not None):
            group.load_state(state)


def _check_reveal_all(env: Environment, agent: NetworkAgent) -> None:
    """Refuse environments that cannot reveal many cells in one step, and networks that cannot tell which are sure."""
    envs = env.vectorize(1)
    require(
        hasattr(envs, "reveal_all"),
        "algo.sure_below reveals many cells in a step, which only Minesweeper with env.backend=torch can: set it to 0",
    )
    observations, info = envs.reset(seed=0)
    mine = agent.heads(observations.numpy()).mine
    require(
        mine.shape[1:] == observations.shape[-2:],
        "algo.sure_below asks the network where mines are: choose net@algo.net=cnn or residual, or set it to 0",
    )
    envs.reveal_all(info["action_mask"].view_as(mine))


def _of_this_rank(saved: dict[str, Any]) -> dict[str, Any]:
    """What was saved, with the games of this rank; those of the first stand where a single process has its own."""
    others = saved.get("other_ranks", [])
    require(
        len(others) + 1 == ranks.world(),
        f"this run was learned by {len(others) + 1} ranks, and now there are {ranks.world()}: resume it with as many",
    )
    return {**saved, **others[ranks.rank() - 1]} if ranks.rank() > 0 else saved


def _mean_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: total / len(rows) for name, total in _sum_of(rows).items()}


def _sum_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: sum(row[name] for row in rows) for name in rows[0]}
