"""The wargame with its tuned settings, as `python -m src.train env=deployment algo=ppo` composes it."""

from pathlib import Path

import numpy as np
import pytest

from src import schema
from src.compose import build, resolved, validate
from src.core.play.agent import OpponentPool, RandomAgent
from src.core.play.arena import evaluate, wilson_interval
from src.core.runs.run import Run
from src.envs.deployment.bots import Bot
from src.envs.deployment.vec_env import VecDeployment
from src.nets.flat import FlatNet
from src.nets.units import UnitsNet
from tests.test_compositions import composed

ENVS = [
    "deployment_mirror",
    *(pytest.param(f"deployment{name}", marks=pytest.mark.slow) for name in ("", "_siege", "_alternated")),
]
NETS = {"cpu": FlatNet, "cuda": UnitsNet}


def network(cfg):
    env = build(cfg.env, "env")
    return build(cfg.algo.net, "algo.net").build(env.observation_space.shape, env.game.num_actions)


@pytest.mark.parametrize("device", NETS)
@pytest.mark.parametrize("env", ENVS)
def test_ppo_is_tuned_for_every_scenario_and_device(env: str, device: str):
    first = composed("env=deployment", "algo=ppo", f"device={device}")
    cfg = validate(composed(f"env={env}", "algo=ppo", f"device={device}"), schema.Train)
    assert cfg.composition.tuned == f"{env}_ppo"
    assert cfg.algo.total_steps == first.algo.total_steps != 10_000_000
    assert cfg.algo.num_envs == first.algo.num_envs
    assert (cfg.algo.losses.aux_coef, cfg.algo.play.strategy) == (0, None)
    assert cfg.algo.num_envs % 4 == 0  # equal shares of the pool
    assert isinstance(network(cfg), NETS[device])


@pytest.mark.parametrize("device", NETS)
@pytest.mark.parametrize("env", ENVS)
def test_maskable_ppo_learns_with_the_network_and_rollouts_of_ppo(env: str, device: str):
    ours = composed(f"env={env}", "algo=ppo", f"device={device}")
    cfg = validate(composed(f"env={env}", "algo=maskable_ppo", f"device={device}"), schema.Train)
    assert cfg.composition.tuned == f"{env}_maskable_ppo"
    assert cfg.algo.net == ours.algo.net
    assert cfg.algo.compute == ours.algo.compute
    assert isinstance(network(cfg), NETS[device])
    assert cfg.algo.total_steps <= ours.algo.total_steps
    shared = ("num_envs", "steps_per_env", "epochs", "gamma", "gae_lambda", "lr", "max_grad_norm")
    for name in (*shared, "eval_every", "eval_episodes"):
        assert cfg.algo[name] == ours.algo[name], name
    assert cfg.algo.batch_size * ours.algo.mini_batches == cfg.algo.num_envs * cfg.algo.steps_per_env
    assert cfg.algo.ent_coef == ours.algo.losses.ent_coef
    assert cfg.algo.vf_coef == 0.5 * ours.algo.losses.vf_coef  # of a value loss that is twice as large
    if device == "cpu":
        build(cfg.algo, "algo").check(build(cfg.env, "env"), build(cfg.curriculum, "curriculum"))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.slow)])
def test_what_is_chosen_on_the_command_line_stays_chosen(device: str):
    plain = ("env=deployment", "algo=ppo", f"device={device}")
    assert isinstance(network(composed(*plain, "net@algo.net=mlp")), FlatNet)
    assert isinstance(network(composed(*plain, "net@algo.net=units")), UnitsNet)
    assert isinstance(build(composed(*plain, "agent@env.opponent=greedy").env, "env").opponent, Bot)
    assert composed(*plain, "reward=deployment_outcome").env.reward.survival == 0
    assert composed(*plain, "curriculum=random_first").curriculum.promote_at == 0.9
    assert composed(*plain, "algo.lr=0.5").algo.lr == 0.5
    assert composed(*plain, "tuned=none").algo.total_steps == 10_000_000


@pytest.mark.parametrize("algo", ["ppo", "maskable_ppo"])
def test_on_a_cpu_a_weaker_bot_selects_the_checkpoint(algo: str):
    """With so few steps the win rate against the strongest is next to nothing, and its highest a matter of luck."""
    plain = ("env=deployment", f"algo={algo}")
    for device, first in (("cuda", "tactical"), ("cpu", "greedy")):
        env = build(composed(*plain, f"device={device}").env, "env")
        assert next(iter(env.baselines)) == first
        assert sorted(env.baselines) == ["defensive", "greedy", "random", "tactical"]


def test_learners_train_against_every_bot_and_the_strongest_is_the_first_baseline():
    env = build(composed("env=deployment").env, "env")
    assert isinstance(env.opponent, OpponentPool)
    assert list(env.opponent.members) == ["tactical", "balanced", "defensive", "greedy"]
    assert next(iter(env.baselines)) == "tactical"
    assert [part.num_envs for part in env.vectorize(64).parts] == [16] * 4


@pytest.mark.slow  # a minute of one core
def test_it_beats_random_soon_and_no_game_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cut = []
    step = VecDeployment.step

    def watched(self: VecDeployment, actions: np.ndarray):
        result = step(self, actions)
        cut.append(bool(result[3].any()))
        return result

    monkeypatch.setattr(VecDeployment, "step", watched)
    budget = ("algo.total_steps=65536", "algo.eval_every=65536", "algo.eval_episodes=2")
    cfg = validate(composed("env=deployment", "algo=ppo", "device=cpu", *budget), schema.Train)
    env, learner, curriculum = build(cfg.env, "env"), build(cfg.algo, "algo"), build(cfg.curriculum, "curriculum")
    with Run(tmp_path, resolved(cfg), None) as run:
        agent = learner.fit(env, curriculum, run)
    won = evaluate(env.game, agent, RandomAgent(), 200, seed=1).total.wins
    assert wilson_interval(won, 200)[0] > 0.75  # 186 were won when it was written
    assert not any(cut)
    assert len(cut) >= 4 * 65536 // cfg.algo.num_envs
