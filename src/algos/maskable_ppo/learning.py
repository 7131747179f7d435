"""Train sb3-contrib's MaskablePPO: configuration, curriculum and checkpoints."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch

from ...core.errors import require
from ...core.play.agent import SelfPlay
from ...core.play.curriculum import Curriculum
from ...core.play.game import Trait
from ...core.play.past_selves import require_no_past_selves
from ...core.ranges import Bounds, Fraction, Interval, NonNegative, NumEnvs, Positive
from ...core.runs.run import Environment, Run
from ..compute import CPU
from ..network_agent import InferenceConfig, NetworkAgent
from ..trainer import OTHER_NETWORK, LearnerConfig, Trainer
from ..weights import Architecture, export_weights, load_weights
from .adapter import MaskedVecEnv
from .model import Model

PLAY = InferenceConfig(symmetries=False)


@dataclass(frozen=True, kw_only=True)
class MaskablePPO(LearnerConfig):
    """Masked PPO; a run resumes from the last saved rollout."""

    net: Architecture
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

    needs: ClassVar[frozenset[Trait]] = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
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
        agent = NetworkAgent(net, CPU, PLAY)
        agent.check(env.game)
        self.check_evaluation(env, agent)

    def trainer(self, env: Environment, curriculum: Curriculum, run: Run) -> "MaskablePPOTrainer":
        return MaskablePPOTrainer(self, env, curriculum, run)

    def load_agent(self, saved: dict[str, Any]) -> NetworkAgent:
        return NetworkAgent.load(self.net, saved, self.compute, PLAY)


class MaskablePPOTrainer(Trainer[MaskablePPO]):
    def __init__(self, algo: MaskablePPO, env: Environment, curriculum: Curriculum, run: Run) -> None:
        super().__init__(algo, env, run)
        self.curriculum, self.log_every = curriculum, 1
        curriculum.stage = 0 if self.saved is None else self.saved["stage"]
        games = self._games()
        self.model = self.optimizer = Model(
            games,
            algo.net,
            algo.compute,
            lr=algo.lr,
            n_steps=algo.steps_per_env,
            batch_size=algo.batch_size,
            n_epochs=algo.epochs,
            gamma=algo.gamma,
            gae_lambda=algo.gae_lambda,
            clip_range=algo.clip_range,
            ent_coef=algo.ent_coef,
            vf_coef=algo.vf_coef,
            max_grad_norm=algo.max_grad_norm,
            seed=int(run.generator("training").integers(2**31)),
        )
        self.net = self.model.policy.net
        self._enter(games)
        self.latest: dict[str, float] = {}  # metrics of the latest rollout

    def _games(self) -> MaskedVecEnv:
        """Create the games of the current stage."""
        envs = self.curriculum.env(self.env).vectorize(self.algo.num_envs)
        return MaskedVecEnv(envs, pinned=self.algo.compute.on_gpu)

    def _enter(self, games: MaskedVecEnv) -> None:
        """Start the games of the current stage; in self-play the opponent always has the latest policy."""
        opponent = getattr(self.curriculum.env(self.env), "opponent", None)
        if isinstance(opponent, SelfPlay):
            opponent.set_agent(NetworkAgent(self.net, self.algo.compute, PLAY, greedy=False))
        seed = int(self.run.generator("stage", self.curriculum.stage).integers(2**31))
        self.model.enter(games, seed)

    def update(self) -> None:
        self.latest = self.model.learn_rollout() | {"train/stage": self.curriculum.stage}
        self.steps = self.model.num_timesteps

    def take_metrics(self) -> dict[str, float]:
        return self.latest

    def agent(self) -> NetworkAgent:
        return NetworkAgent(self.net, self.algo.compute, PLAY)

    def evaluate(self, metrics: dict[str, float]) -> None:
        """Also advance the curriculum."""
        measured, stage = self.measure(self.env), self.curriculum.stage
        correlations, counts = self.model.env.diagnostics()
        self.curriculum.record(self.record(measured, metrics | correlations, counts))
        self.run.histogram("train/action_probability", np.exp(self.model.rollout_buffer.log_probs))
        if self.curriculum.stage != stage:
            games = self._games()
            games.continue_counts(self.model.env)
            self._enter(games)

    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
        return export_weights(self.net, self.env, dtype)

    def state(self) -> dict[str, Any]:
        return self.weights() | self.model.state() | {"stage": self.curriculum.stage}

    def load_state(self, saved: dict[str, Any]) -> None:
        load_weights(self.net, saved, OTHER_NETWORK)
        self.model.load_state(saved)
        self.steps = self.model.num_timesteps
