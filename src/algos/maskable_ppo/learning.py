"""Train sb3-contrib's MaskablePPO: configuration, evaluation, curriculum and checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from stable_baselines3.common.utils import get_device

from ...core.errors import UserError, require
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
    Size,
    Threads,
    check_fields,
)
from ...core.runs.report import first_baseline
from ...core.runs.run import Run
from ..network import next_evaluation, require_known_device, selection_metrics, selection_score
from ..threads import torch_threads
from .adapter import MaskedVecEnv
from .model import Model
from .policy import MaskablePolicyAgent, Network, SampledPolicyAgent


@dataclass(frozen=True)
class MaskablePPO:
    """Masked PPO; a run resumes from the last saved rollout."""

    total_steps: Count
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
    channels: Sequence[Size]
    hidden: Sequence[Size]
    device: str
    threads: Threads
    eval_every: Interval
    eval_episodes: Interval
    eval_opening_plies: Plies

    needs: ClassVar[frozenset[Trait]] = frozenset()

    def __post_init__(self) -> None:
        check_fields(self)
        require_known_device("algo.device", self.device)
        rollout = self.num_envs * self.steps_per_env
        divides = rollout % self.batch_size == 0
        self._require("batch_size", divides, f"must divide a rollout of num_envs * steps_per_env = {rollout} steps")

    def _require(self, name: str, condition: bool, message: str) -> None:
        require(condition, f"algo.{name}={getattr(self, name)} {message}")

    def check(self, env: Any, curriculum: Curriculum) -> None:
        missing = self.device.startswith("cuda") and not torch.cuda.is_available()
        self._require("device", not missing, "is not available here: use algo.device=cpu")
        for stage in curriculum.all(env):
            require_no_past_selves(getattr(stage, "opponent", None), "maskable_ppo")
        if not isinstance(getattr(env, "opponent", None), SelfPlay):  # which has no agent yet
            games = MaskedVecEnv(env.vectorize(self.num_envs))
            games.seed(0)
            games.reset()  # raises if the environment is not supported
        require(not curriculum.mixes, "algo=maskable_ppo trains in one environment at a time: set curriculum=none")
        network = self._network(env)
        for name, stage in curriculum.warm_up.items():
            same = self._network(stage) == network
            require(
                same, f"curriculum.warm_up.{name} differs in observations or actions from env, but shares its network"
            )
        agent = MaskablePolicyAgent(network.build())
        require_varied(env.game, agent, first_baseline(env), self.eval_opening_plies, self.eval_episodes)

    def fit(self, env: Any, curriculum: Curriculum, run: Run) -> MaskablePolicyAgent:
        with torch_threads(self.threads):
            return self._fit(env, curriculum, run)

    def _fit(self, env: Any, curriculum: Curriculum, run: Run) -> MaskablePolicyAgent:
        saved = run.restore()
        curriculum.stage = 0 if saved is None else saved["stage"]
        model = self._model(env, curriculum, run)
        if saved is not None:
            model.load_state(saved)

        def state() -> dict[str, Any]:
            return model.agent_state() | model.learner_state() | {"stage": curriculum.stage}

        with run.progress("steps", self.total_steps, model.num_timesteps) as advance:
            while model.num_timesteps < self.total_steps:
                due = next_evaluation(model.num_timesteps, self.eval_every)
                metrics = _learn(model) | {"train/stage": curriculum.stage}
                step = model.num_timesteps
                if step >= min(due, self.total_steps):
                    agent = MaskablePolicyAgent(model.policy)
                    metrics |= selection_metrics(env, agent, self.eval_episodes, run.seed, self.eval_opening_plies)
                run.log(step, metrics)
                if "eval/win_rate" in metrics:
                    score = selection_score(metrics)
                    run.save_best(score, model.agent_state())
                    self._record_score(score, model, env, curriculum, run)
                run.save_when_due(state)
                advance(min(step, self.total_steps))
        run.save(state())
        run.diagnose(*model.env.diagnostics())
        return run.load_best(self.load_agent)

    def load_agent(self, saved: dict[str, Any]) -> MaskablePolicyAgent:
        policy = Network.from_dict(saved["network"]).build()
        policy.load_state_dict(saved["policy"])
        on_device = policy.to(get_device(self.device))  # falls back to the CPU
        return MaskablePolicyAgent(on_device, self.threads)

    def _network(self, env: Any) -> Network:
        return Network.of(env, self.channels, self.hidden)

    def _model(self, env: Any, curriculum: Curriculum, run: Run) -> Model:
        games = self._games(env, curriculum)
        model = Model(
            self._network(env),
            games,
            n_steps=self.steps_per_env,
            batch_size=self.batch_size,
            n_epochs=self.epochs,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            clip_range=self.clip_range,
            ent_coef=self.ent_coef,
            vf_coef=self.vf_coef,
            learning_rate=self.lr,
            max_grad_norm=self.max_grad_norm,
            device=self.device,
            seed=int(run.generator("training").integers(2**31)),
        )
        self._enter(model, games, env, curriculum, run)
        return model

    def _games(self, env: Any, curriculum: Curriculum) -> MaskedVecEnv:
        return MaskedVecEnv(curriculum.env(env).vectorize(self.num_envs))

    def _enter(self, model: Model, games: MaskedVecEnv, env: Any, curriculum: Curriculum, run: Run) -> None:
        """Start the games of the current stage; in self-play the opponent always has the latest policy."""
        opponent = getattr(curriculum.env(env), "opponent", None)
        if isinstance(opponent, SelfPlay):
            opponent.set_agent(SampledPolicyAgent(model.policy))
        seed = int(run.generator("stage", curriculum.stage).integers(2**31))
        model.enter(games, seed)

    def _record_score(self, score: float, model: Model, env: Any, curriculum: Curriculum, run: Run) -> None:
        before = curriculum.stage
        curriculum.record(score)
        if curriculum.stage != before:
            self._enter(model, self._games(env, curriculum), env, curriculum, run)


def _learn(model: Model) -> dict[str, float]:
    try:
        return model.learn_rollout()
    except FloatingPointError as error:
        raise UserError(
            f"training diverged at step {model.num_timesteps}: {error}; lower algo.lr, or check the rewards of the "
            "environment (earlier checkpoints are intact)"
        ) from error
