"""Train sb3-contrib's MaskablePPO: configuration, evaluation, curriculum and checkpoints."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch

from ...core.errors import require
from ...core.play.agent import SelfPlay
from ...core.play.arena import require_varied
from ...core.play.curriculum import Curriculum
from ...core.play.game import Trait
from ...core.play.past_selves import require_no_past_selves
from ...core.ranges import (
    Bounds,
    Count,
    Fraction,
    Interval,
    NonNegative,
    NumEnvs,
    Plies,
    Positive,
    check_fields,
)
from ...core.runs.report import first_baseline
from ...core.runs.run import Environment, Run
from ..network import Architecture, Compute, InferenceConfig, NetworkAgent, export_weights, load_network, load_weights
from ..selection import Selection, selection_metrics
from ..trainer import budget_used
from .adapter import MaskedVecEnv
from .model import Model

PLAY = InferenceConfig(symmetries=False)


@dataclass(frozen=True)
class MaskablePPO:
    """Masked PPO; a run resumes from the last saved rollout."""

    net: Architecture
    compute: Compute
    total_steps: Count
    seconds: Positive | None
    num_envs: NumEnvs
    steps_per_env: Interval
    batch_size: Annotated[int, Bounds(ge=2)]
    epochs: Interval
    gamma: Fraction
    gae_lambda: Fraction
    clip_range: Positive
    ent_coef: NonNegative
    vf_coef: NonNegative
    lr: Positive
    max_grad_norm: Positive
    eval_every: Interval
    eval_episodes: Interval
    eval_opening_plies: Plies

    needs: ClassVar[frozenset[Trait]] = frozenset()

    def __post_init__(self) -> None:
        check_fields(self)
        rollout = self.num_envs * self.steps_per_env
        require(
            rollout % self.batch_size == 0,
            f"algo.batch_size={self.batch_size} must divide a rollout of num_envs * steps_per_env = {rollout} steps",
        )
        require(
            self.compute.precision != "float16",
            "algo.compute.precision=float16 needs a scaled loss, which sb3-contrib does not support: use bfloat16",
        )

    def check(self, env: Environment, curriculum: Curriculum) -> None:
        for stage in curriculum.all(env):
            require_no_past_selves(getattr(stage, "opponent", None), "maskable_ppo")
        if not isinstance(getattr(env, "opponent", None), SelfPlay):  # which has no agent yet
            games = MaskedVecEnv(env.vectorize(self.num_envs))
            games.seed(0)
            games.reset()  # raises if the environment is not supported
        require(not curriculum.mixes, "algo=maskable_ppo trains in one environment at a time: set curriculum=none")
        for name, stage in curriculum.warm_up.items():
            same = stage.observation_space == env.observation_space and stage.game.num_actions == env.game.num_actions
            require(
                same,
                f"curriculum.warm_up.{name} differs in observations or actions from env, but shares its network",
            )
        net = self.net.build(env.observation_space.shape, env.game.num_actions)
        agent = NetworkAgent(net, Compute("cpu", "float32", False), PLAY)
        agent.check(env.game)
        require_varied(env.game, agent, first_baseline(env), self.eval_opening_plies, self.eval_episodes)

    def fit(self, env: Environment, curriculum: Curriculum, run: Run) -> NetworkAgent:
        self.compute.report_idle_cores()
        with self.compute.fixed_threads():
            return self._fit(env, curriculum, run)

    def _fit(self, env: Environment, curriculum: Curriculum, run: Run) -> NetworkAgent:
        saved = run.restore()
        curriculum.stage = 0 if saved is None else saved["stage"]
        games = self._games(env, curriculum)
        model = Model(
            games,
            self.net,
            self.compute,
            lr=self.lr,
            n_steps=self.steps_per_env,
            batch_size=self.batch_size,
            n_epochs=self.epochs,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            clip_range=self.clip_range,
            ent_coef=self.ent_coef,
            vf_coef=self.vf_coef,
            max_grad_norm=self.max_grad_norm,
            seed=int(run.generator("training").integers(2**31)),
        )
        self._enter(model, games, env, curriculum, run)
        net, agent = model.policy.net, NetworkAgent(model.policy.net, self.compute, PLAY)
        if saved is not None:
            load_weights(net, saved, "the saved weights are of another network than algo.net describes")
            model.load_state(saved)
        selection = Selection(env, run, self.load_agent, self.eval_episodes, self.eval_opening_plies)

        def state() -> dict[str, Any]:
            return export_weights(net, env) | model.state() | {"stage": curriculum.stage}

        with run.progress("steps", self.total_steps, model.num_timesteps, self.seconds) as advance:
            while model.progress < 1:
                evaluations = model.num_timesteps // self.eval_every
                metrics = model.learn_rollout() | {"train/stage": curriculum.stage}
                step = model.num_timesteps
                model.progress = budget_used(step / self.total_steps, self.seconds, run)
                if step // self.eval_every > evaluations or model.progress >= 1:
                    metrics |= selection_metrics(env, agent, self.eval_episodes, run.seed, self.eval_opening_plies)
                    correlations, counts = model.env.diagnostics()
                    run.log(step, metrics | correlations)
                    run.diagnose(counts)
                    score, stage = selection.save(metrics, export_weights(net, env, torch.float16)), curriculum.stage
                    curriculum.record(score)
                    if curriculum.stage != stage:
                        games = self._games(env, curriculum)
                        games.continue_counts(model.env)
                        self._enter(model, games, env, curriculum, run)
                else:
                    run.log(step, metrics)
                run.save_when_due(state)
                advance(min(step, self.total_steps))
        run.save(state())
        return run.load_best(self.load_agent)

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent(load_network(self.net, saved, self.compute), self.compute, PLAY)

    def _games(self, env: Environment, curriculum: Curriculum) -> MaskedVecEnv:
        return MaskedVecEnv(curriculum.env(env).vectorize(self.num_envs), pinned=self.compute.on_gpu)

    def _enter(self, model: Model, games: MaskedVecEnv, env: Environment, curriculum: Curriculum, run: Run) -> None:
        """Start the games of the current stage; in self-play the opponent always has the latest policy."""
        opponent = getattr(curriculum.env(env), "opponent", None)
        if isinstance(opponent, SelfPlay):
            opponent.set_agent(NetworkAgent(model.policy.net, self.compute, PLAY, greedy=False))
        seed = int(run.generator("stage", curriculum.stage).integers(2**31))
        model.enter(games, seed)
