"""`experiment=minesweeper_spec`, which has the values of the source document, and the document's names of settings."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import DictConfig, OmegaConf

from src.algos.imitation import Imitation
from src.algos.network_agent import NetworkAgent
from src.config import CONF
from src.config.build import build
from src.config.errors import DOCUMENT_KEYS
from src.envs.minesweeper.strategy import RevealSafeCells
from src.envs.minesweeper.teachers import RulesTeacher
from src.nets.boards import CNN
from tests.algos.making import fit, no_curriculum
from tests.lab import Lab
from tests.test_compositions import composed

SPEC = "experiment=minesweeper_spec"
DOCUMENT = {  # its example configs/small_8x8_10.yaml, and the values that only its text has
    "H": 8,
    "W": 8,
    "mine_count": 10,
    "guarantee_safe_neighborhood": True,
    "progress_reward": 0.01,
    "win_reward": 1.0,
    "loss_reward": -1.0,
    "step_penalty": 0.0001,
    "invalid_penalty": 0.001,
    "flag_correct_reward": 0.002,
    "flag_incorrect_reward": -0.002,
    "use_flag_shaping": False,
    "hidden": 64,
    "num_envs": 256,
    "steps_per_env": 128,
    "mini_batches": 8,
    "ppo_epochs": 3,
    "gamma": 0.995,
    "gae_lambda": 0.95,
    "lam": 0.95,
    "clip_eps": 0.2,
    "clip_eps_v": 0.2,
    "vf_coef": 0.5,
    "ent_coef": 0.003,
    "lr": 0.0003,
    "max_grad_norm": 0.5,
    "aux_mine_weight": 0.1,
    "frontier_mask_until_updates": 200,
}


def value(cfg: DictConfig, key: str) -> Any:
    assert OmegaConf.select(cfg, key, default=cfg) is not cfg, key
    return OmegaConf.select(cfg, key)


def test_ppo_has_the_values_of_the_document():
    cfg = composed(SPEC)
    assert {name: value(cfg, DOCUMENT_KEYS[name]) for name in DOCUMENT} == DOCUMENT
    assert value(cfg, "algo._target_") == "src.algos.ppo.PPO"
    assert set(DOCUMENT_KEYS) - set(DOCUMENT) == {"ppo"}
    assert (cfg.algo.losses.aux_cells, cfg.algo.losses.normalize_advantages) == ("all", False)


@pytest.mark.parametrize(("board", "size"), [("16x16", (16, 16, 40)), ("16x30", (16, 30, 99))])
def test_the_other_boards_have_its_values_too(board: str, size: tuple[int, int, int]):
    cfg = composed(SPEC, f"env=minesweeper_{board}")
    expected = DOCUMENT | dict(zip(("H", "W", "mine_count"), size, strict=True))
    assert {name: value(cfg, DOCUMENT_KEYS[name]) for name in expected} == expected
    assert build(cfg.env, "env").game.num_actions == 2 * size[0] * size[1]


def test_there_is_a_reveal_and_a_flag_for_every_cell_and_the_eleven_channels():
    env = build(composed(SPEC).env, "env")
    assert env.action_space.n == env.vectorize(1).single_action_space.n == 2 * 8 * 8
    assert env.observation_space.shape == (11, 8, 8)
    mask = env.reset(seed=0)[1]["action_mask"]
    assert (mask[:64] == mask[64:]).all()


def test_imitation_learns_forced_moves_and_mines_but_no_values():
    algo = build(composed(SPEC, "algo=imitation").algo, "algo")
    assert isinstance(algo, Imitation)
    assert isinstance(algo.teacher, RulesTeacher)
    assert algo.teacher.flags_only
    assert (algo.aux_coef, algo.aux_cells, algo.vf_coef, algo.lr, algo.weight_decay) == (0.1, "all", 0.0, 0.0003, 0.01)
    assert (algo.total_steps, algo.repeats) == (1_000_000, 1)
    assert (algo.augment, algo.ema_decay, algo.lr_warmup) == (False, 0.0, 0)
    assert algo.max_grad_norm > 1e6, "gradients are not clipped"


@pytest.mark.parametrize("algo", ["ppo", "imitation"])
def test_both_phases_have_the_network_of_the_document_and_one_action_per_step(algo: str):
    config = build(composed(SPEC, f"algo={algo}").algo, "algo")
    assert isinstance(config.net, CNN)
    assert isinstance(config.play.strategy, RevealSafeCells)
    assert (config.play.strategy.play_below, config.play.strategy.train_below) == (0.0, 0.0)
    net: Any = config.net.build((11, 8, 8), 128, aux=True)
    layers = [(type(layer).__name__, *getattr(layer, "weight", torch.zeros(0)).shape) for layer in net.trunk]
    assert layers == [
        ("Conv2d", 32, 11, 3, 3),
        ("ReLU", 0),
        ("GroupNorm", 32),
        ("Conv2d", 64, 32, 3, 3),
        ("ReLU", 0),
        ("GroupNorm", 64),
        ("Conv2d", 64, 64, 3, 3),
        ("ReLU", 0),
    ]
    assert [layer.num_groups for layer in net.trunk if isinstance(layer, torch.nn.GroupNorm)] == [4, 8]
    assert [tuple(one.shape) for one in net.value_head.parameters()] == [(64, 64), (64,), (1, 64), (1,)]
    features = torch.rand(2, 64, 8, 8)
    net.trunk = torch.nn.Identity()
    value = net.value_head(features.mean((2, 3))).squeeze(1)
    assert torch.allclose(net(features).value, value), "the value is of the mean of each channel"
    net = config.net.build((11, 8, 8), 128, aux=True)
    assert {name: tuple(one.shape[1:]) for name, one in net(torch.zeros(2, 11, 8, 8))._asdict().items()} == {
        "policy": (128,),
        "value": (),
        "aux": (8, 8),
    }


def test_the_ladder_starts_on_a_band_of_densities_and_advances_at_the_win_rate_of_the_document():
    cfg = composed(SPEC, "env=minesweeper_16x16", "curriculum=minesweeper_ladder")
    ladder, env = build(cfg.curriculum, "curriculum"), build(cfg.env, "env")
    assert (ladder.promote_at, ladder.keep) == (0.3, 0.25)
    (first,) = ladder.warm_up.values()
    assert (first.config.H, first.config.W, list(first.config.mine_density)) == (8, 8, [0.12, 0.2])
    assert first.game.num_actions == 2 * 64
    assert first.config.reward == env.config.reward
    build(cfg.algo, "algo").check(env, ladder)


def test_the_compute_of_the_document_can_be_chosen():
    algo = build(composed(SPEC, "algo.compute.precision=float16").algo, "algo")
    assert (algo.compute.precision, algo.compute.compile) == ("float16", True)


def test_an_evaluation_plays_a_thousand_games_from_seed_0():
    cfg = composed("env=minesweeper_8x8", config="evaluate")
    assert (cfg.episodes, cfg.seed) == (1000, 0)


def test_the_second_phase_starts_from_the_first(tmp_path: Path):
    def trained(name: str, *overrides: str) -> NetworkAgent:
        sizes = ("device=cpu", "algo.total_steps=64", "algo.eval_every=64", "algo.eval_episodes=2")
        cfg = composed(SPEC, *sizes, *overrides)
        env, algo = build(cfg.env, "env"), build(cfg.algo, "algo")
        algo.check(env, no_curriculum())
        agent: NetworkAgent = fit(algo, env, tmp_path / name)
        return agent

    first = trained("a", "algo=imitation", "algo.batch_size=64", "algo.chunk_size=64", "algo.window=1")
    rollouts = ("algo.num_envs=4", "algo.steps_per_env=16", "algo.mini_batches=2", "algo.lr=1e-12")
    second = trained("b", f"algo.init_from={tmp_path / 'a'}", *rollouts)
    for old, new in zip(first.net.parameters(), second.net.parameters(), strict=True):
        assert torch.allclose(old, new, atol=1e-3)
    assert not torch.equal(*(next(agent.net.parameters()) for agent in (first, trained("c", *rollouts))))


@pytest.mark.parametrize(
    ("algo", "sentence"),
    [
        ("maskable_ppo", f"{SPEC} has no settings for algo=maskable_ppo: choose algo=imitation or algo=ppo"),
        ("qlearning", f"{SPEC} sets net@algo.net, which is missing here: choose another algo"),
    ],
)
def test_other_algorithms_are_refused(lab: Lab, algo: str, sentence: str):
    assert sentence in lab.refuse("train", SPEC, f"algo={algo}").stderr


def test_the_page_has_the_names_of_the_document():
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|$", (CONF / "README.md").read_text(), re.MULTILINE)
    assert dict(rows) == DOCUMENT_KEYS
    assert len(rows) == len(DOCUMENT_KEYS)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("algo.clip_eps=0.1", "algo.clip_eps is not a setting: type algo.losses.clip_range"),
        ("ppo.clip_eps=0.1", "ppo is not a setting: type algo"),
        ("env.progress_reward=0.1", "env.progress_reward is not a setting: type reward.progress_reward"),
        ("env.H=9", "env.H is not a setting: type env.config.H"),
        ("algo.hidden=9", "algo.hidden is not a setting: choose one of"),  # net=auto has no such setting
    ],
)
def test_a_name_of_the_document_is_answered_with_ours(lab: Lab, override: str, sentence: str):
    assert sentence in lab.refuse("train", "env=minesweeper_8x8", "algo=ppo", override).stderr
