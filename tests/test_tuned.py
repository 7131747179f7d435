"""Tuned settings: every pair has some, user choices win, and the default composition of each game learns."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

import src.config.resolvers
from src.algos.selection import selection_metrics
from src.config import CONF, schema
from src.config.build import build
from src.config.cli import train_arguments
from src.config.compose import compose_train, resolved, validate
from src.core.package import CONFIG_DIRS
from src.core.play.agent import OpponentPool, RandomAgent
from src.core.play.arena import evaluate, walk_replies, wilson_interval
from src.core.runs.run import Run
from src.core.runs.sweep_jobs import as_typed
from src.envs.deployment.bots import Bot
from src.envs.deployment.net import UnitsNet
from src.envs.deployment.vec_env import VecDeployment
from src.envs.quoridor.agents import RunnerAgent
from src.nets.flat import FlatNet
from tests.test_compositions import composed, options

PLAIN = ["env=minesweeper_16x16", "algo=ppo", "device=cpu"]
SCENARIOS = [
    "deployment_mirror",
    *(pytest.param(f"deployment{name}", marks=pytest.mark.slow) for name in ("", "_siege", "_alternated")),
]
NETS = {"cpu": FlatNet, "cuda": UnitsNet}  # of the wargame


def trained(directory: Path, *overrides: str):
    """Return the environment and the agent of `python -m src.train` with these overrides."""
    cfg = validate(composed(*overrides, "device=cpu", "logger=csv"), schema.Train)
    env, algo, curriculum = (build(cfg[name], name) for name in ("env", "algo", "curriculum"))
    algo.check(env, curriculum)
    with Run(directory, resolved(cfg), None) as run:
        return env, algo.fit(env, curriculum, run)


def network(cfg):
    env = build(cfg.env, "env")
    return build(cfg.algo.net, "algo.net").build(env.observation_space.shape, env.game.num_actions)


def test_every_pair_that_fits_is_tuned_or_has_a_reason():
    """A pair has a file in conf/tuned or a line in the README.md there."""
    page = (CONF / "tuned" / "README.md").read_text()
    needs = {name: get_object(composed(f"algo={name}").algo._target_).needs for name in options("algo")}
    games = {name: build(composed(f"env={name}").env, "env").game for name in options("env")}
    own = [name for name in options("tuned") if not name.startswith("other_")]
    pairs = {(env, algo) for env, game in games.items() for algo in needs if needs[algo] <= game.traits}
    missing = [
        f"{env}_{algo}"
        for env, algo in sorted(pairs)
        if src.config.resolvers.tuned(env, algo) not in own and f"`{env}_{algo}`" not in page
    ]
    assert not missing


@pytest.mark.parametrize(
    ("env", "algo", "expected"),
    [
        ("minesweeper_16x16", "ppo", "minesweeper_ppo"),
        ("deployment_classic_mirror", "imitation", "deployment_imitation"),
        ("quoridor", "ppo", "quoridor_ppo"),
        ("gomoku", "ppo", "other_ppo"),
        ("gomoku", "qlearning", "gomoku_qlearning"),
    ],
)
def test_variants_of_a_game_share_its_tuned_settings(env: str, algo: str, expected: str):
    assert src.config.resolvers.tuned(env, algo) == expected


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (["env=tictactoe", "tuned=other_ppo"], 200_000),
        (["env=minesweeper_8x8", "tuned=minesweeper_ppo"], 500_000),
        (["env=quoridor", "tuned=tictactoe_ppo"], 300_000),
        (["env=tictactoe", "tuned=none"], 10_000_000),
    ],
)
def test_tuned_settings_can_be_named(words: list[str], steps: int):
    """Those for each device or board refer to other options, which Hydra knows only later."""
    words = ["algo=ppo", "device=cpu", *words]
    cfg = compose_train(*words)
    assert (cfg.algo.total_steps, cfg.composition.tuned) == (steps, words[-1].removeprefix("tuned="))
    assert words[-1] in cfg.composition.overrides
    assert OmegaConf.select(composed(*train_arguments(words)), "algo.total_steps") == steps


def test_a_sweep_over_tuned_settings_shows_their_names():
    deferred = train_arguments(["-m", "tuned=other_ppo,tictactoe_ppo"])
    assert deferred == ["-m", "tuned=${option:other_ppo},${option:tictactoe_ppo}"]
    assert as_typed(r"tuned=$\{option\:other_ppo\}") == as_typed("tuned=${option:other_ppo}") == "tuned=other_ppo"


def test_an_extension_tunes_its_own_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned/gomoku_ppo.yaml").touch()
    monkeypatch.setenv(CONFIG_DIRS, str(tmp_path))
    assert src.config.resolvers.tuned("gomoku", "ppo") == "gomoku_ppo"


@pytest.mark.parametrize(
    ("overrides", "key", "expected"),
    [
        ([], "algo.total_steps", "tuned"),
        (["algo.total_steps=77"], "algo.total_steps", 77),
        (["tuned=none"], "algo.total_steps", 10_000_000),
        (["tuned=none"], "env.config.compact", False),
        (["device=cuda"], "net_defaults.channels", 128),
        (["experiment=minesweeper_spec"], "algo.num_envs", 256),
        (["experiment=minesweeper_spec"], "algo.net._target_", "src.nets.boards.CNN"),
        (["net@algo.net=cnn"], "algo.net.hidden", 32),
        (["net@algo.net=mlp"], "algo.net._target_", "src.nets.flat.MLP"),
    ],
)
def test_a_choice_on_the_command_line_wins(overrides: list[str], key: str, expected: object):
    tuned = composed(*PLAIN).algo.total_steps
    assert tuned != 10_000_000
    given = {override.split("=")[0] for override in overrides}
    own = [] if "experiment" in given else [kept for kept in PLAIN if kept.split("=")[0] not in given]
    cfg = composed(*own, *overrides)
    assert OmegaConf.select(cfg, key) == (tuned if expected == "tuned" else expected)


@pytest.mark.parametrize(
    "file", sorted((CONF / "tuned").glob("[!o]*/*.yaml")), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_every_file_of_a_device_is_used(file: Path):
    """Each value of the file is in the composition of an env and a device that it is for; other_ppo is for others."""
    game, algo = file.parent.name.split("_", 1)
    env, _, device = file.stem.rpartition("_")
    name = env or min((name for name in options("env") if name.startswith(game)), key=len)
    cfg = composed(f"env={name}", f"algo={algo}", f"device={'cuda' if device == 'gpu' else device}")
    values = OmegaConf.masked_copy(DictConfig(OmegaConf.load(file)), list(cfg))  # without its own defaults list
    assert OmegaConf.merge(cfg, values) == cfg


def test_tuned_settings_follow_the_device(monkeypatch: pytest.MonkeyPatch):
    for usable in (True, False):
        monkeypatch.setattr(src.config.resolvers, "gpu_usable", lambda usable=usable: usable)
        assert src.config.resolvers.accelerator("auto") == ("gpu" if usable else "cpu")
        assert src.config.resolvers.accelerator("cuda") == "gpu"
        assert src.config.resolvers.accelerator("cpu") == "cpu"


def test_a_gpu_that_torch_cannot_use_is_not_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("src.config.resolvers.Path.glob", lambda *_: iter(["/dev/nvidia0"]))
    monkeypatch.setattr("src.config.resolvers.version", lambda name: "2.13.0+cu130")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert src.config.resolvers.gpu_usable()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not src.config.resolvers.gpu_usable()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr("src.config.resolvers.version", lambda name: "2.13.0+cpu")
    assert not src.config.resolvers.gpu_usable()


@pytest.mark.slow
def test_tuned_minesweeper_learns_to_win_a_tiny_board(tmp_path: Path):
    board = ["env.config.H=5", "env.config.W=5", "env.config.mine_count=3", "env.config.max_steps=50"]
    env, agent = trained(tmp_path, "env=minesweeper_8x8", "algo=ppo", *board, "algo.total_steps=24576")
    wins, random = (selection_metrics(env, player, 300, 1)["eval/win_rate"] for player in (agent, RandomAgent()))
    assert wins > 0.6 > random + 0.3
    with (tmp_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["train/truncated_share"]]
    assert {float(row["train/truncated_share"]) for row in rows} == {0.0}
    assert all(float(row["train/episode_length"]) < 25 for row in rows)


@pytest.mark.slow
def test_tuned_quoridor_learns_to_beat_random_and_to_finish(tmp_path: Path):
    small = ("env.game.size=5", "env.game.walls=2", "algo.total_steps=20480", "algo.steps_per_env=32")
    quick = ("algo.mini_batches=4", "algo.eval_every=6144", "algo.eval_episodes=20")
    env, agent = trained(tmp_path, "env=quoridor", "algo=ppo", *small, *quick)
    score = evaluate(env.game, agent, env.baselines["random"], 60, seed=1, opening_plies=2).total
    assert score.wins >= 45
    assert score.draws <= 3, "a drawn game has reached the ply limit"


@pytest.mark.slow
def test_tuned_tictactoe_hardly_ever_loses(tmp_path: Path):
    env, agent = trained(tmp_path, "env=tictactoe", "algo=ppo", "algo.total_steps=40960", "algo.eval_every=20480")
    score = evaluate(env.game, agent, env.baselines["random"], 200, seed=1).total
    assert score.losses <= 30
    assert score.wins >= 150


def test_tuned_values_leave_what_a_user_chooses_alone():
    chosen = ("env=quoridor", "algo=ppo", "reward=outcome", "agent@env.opponent=runner", "net@algo.net=mlp")
    for device in ("cpu", "cuda"):
        cfg = composed(*chosen, f"device={device}", "algo.lr=0.25")
        assert cfg.reward._target_ == "src.envs.two_player_env.OutcomeReward"
        assert isinstance(build(cfg.env.opponent, "env.opponent"), RunnerAgent)
        assert cfg.env.opponent.explore == 0
        assert cfg.algo.net._target_ == "src.nets.flat.MLP"
        assert cfg.algo.lr == 0.25


@pytest.mark.parametrize("algo", ["ppo", "alphazero"])
def test_tuned_quoridor_is_larger_on_a_gpu(algo: str):
    cpu, gpu = (composed("env=quoridor", f"algo={algo}", f"device={device}") for device in ("cpu", "cuda"))
    for key in ("total_steps", "num_envs"):
        assert gpu.algo[key] > 4 * cpu.algo[key]
    assert gpu.net_defaults.channels > cpu.net_defaults.channels


@pytest.mark.slow
def test_tuned_dqn_hardly_loses_tictactoe(tmp_path: Path):
    """By self-play; of all lines against it, an untrained network loses about every third."""
    few = ("algo.total_steps=30000", "algo.eval_every=30000")
    env, agent = trained(tmp_path, "env=tictactoe", "algo=dqn", *few)
    lines = [walk_replies(env.game, agent, seat) for seat in (0, 1)]
    assert sum(tally.losses for tally in lines) <= 0.05 * sum(tally.games for tally in lines)


@pytest.mark.slow
def test_tuned_alphabeta_never_loses_tictactoe(tmp_path: Path):
    env, agent = trained(tmp_path, "env=tictactoe", "algo=alphabeta")
    assert [walk_replies(env.game, agent, seat).losses for seat in (0, 1)] == [0, 0]


@pytest.mark.slow
def test_tuned_alphazero_hardly_loses_tictactoe(tmp_path: Path):
    """By the network alone."""
    few = ("algo.total_steps=60000", "algo.past_selves_games=0", "algo.play.simulations=0")
    env, agent = trained(tmp_path, "env=tictactoe", "algo=alphazero", *few)
    lines = [walk_replies(env.game, agent, seat) for seat in (0, 1)]
    assert sum(tally.losses for tally in lines) <= 5
    assert evaluate(env.game, agent, env.baselines["random"], 200, seed=1).total.wins >= 170


@pytest.mark.slow
def test_tuned_alphazero_learns_quoridor_on_a_small_board(tmp_path: Path):
    """A short run: against the runner, which beats every untrained network, it wins some games."""
    few = ("algo.total_steps=40000", "algo.eval_every=40000", "algo.past_selves_games=0", "algo.play.simulations=16")
    env, agent = trained(tmp_path, "env=quoridor", "algo=alphazero", "env.game.size=5", *few)
    assert evaluate(env.game, agent, env.baselines["runner"], 60, seed=1, opening_plies=4).total.wins >= 18
    assert evaluate(env.game, agent, env.baselines["random"], 60, seed=1, opening_plies=4).total.wins >= 55


@pytest.mark.parametrize("algo", options("algo"))
def test_tuned_evaluations_of_quoridor_do_not_replay_two_games(algo: str):
    """The runner, its first baseline, is deterministic."""
    cfg = composed("env=quoridor", f"algo={algo}")
    if get_object(cfg.algo._target_).needs <= build(cfg.env, "env").game.traits:
        assert next(iter(cfg.env.baselines)) == "runner"
        assert cfg.evaluation.opening_plies > 0
        assert cfg.algo.get("eval_opening_plies", 1) > 0


@pytest.mark.parametrize("device", NETS)
@pytest.mark.parametrize("env", SCENARIOS)
def test_tuned_wargame_is_equal_for_every_scenario(env: str, device: str):
    first = composed("env=deployment", "algo=ppo", f"device={device}")
    cfg = validate(composed(f"env={env}", "algo=ppo", f"device={device}"), schema.Train)
    assert cfg.composition.tuned == "deployment_ppo"
    assert cfg.algo.total_steps == first.algo.total_steps != 10_000_000
    assert cfg.algo.num_envs == first.algo.num_envs
    assert (cfg.algo.losses.aux_coef, cfg.algo.play.strategy) == (0, None)
    assert cfg.algo.num_envs % 4 == 0  # equal shares of the pool
    assert isinstance(network(cfg), NETS[device])


@pytest.mark.parametrize("device", NETS)
@pytest.mark.parametrize("env", SCENARIOS)
def test_maskable_ppo_has_the_network_and_rollouts_of_ppo(env: str, device: str):
    ours = composed(f"env={env}", "algo=ppo", f"device={device}")
    cfg = validate(composed(f"env={env}", "algo=maskable_ppo", f"device={device}"), schema.Train)
    assert cfg.composition.tuned == "deployment_maskable_ppo"
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
def test_choices_for_the_wargame_stay_chosen(device: str):
    plain = ("env=deployment", "algo=ppo", f"device={device}")
    assert isinstance(network(composed(*plain, "net@algo.net=mlp")), FlatNet)
    assert isinstance(network(composed(*plain, "net@algo.net=units")), UnitsNet)
    assert isinstance(build(composed(*plain, "agent@env.opponent=greedy").env, "env").opponent, Bot)
    assert composed(*plain, "reward=deployment_outcome").env.reward.survival == 0
    assert composed(*plain, "curriculum=random_first").curriculum.promote_at == 0.9
    assert composed(*plain, "algo.lr=0.5").algo.lr == 0.5
    assert composed(*plain, "tuned=none").algo.total_steps == 10_000_000


def test_wargame_learners_train_against_every_bot():
    env = build(composed("env=deployment").env, "env")
    assert isinstance(env.opponent, OpponentPool)
    assert list(env.opponent.members) == ["tactical", "balanced", "defensive", "greedy"]
    assert next(iter(env.baselines)) == "tactical"
    assert [part.num_envs for part in env.vectorize(64).parts] == [16] * 4


@pytest.mark.slow  # a minute and a half of one core
def test_tuned_wargame_beats_random_and_cuts_no_game_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cut = []
    step = VecDeployment.step

    def watched(self: VecDeployment, actions: np.ndarray):
        result = step(self, actions)
        cut.append(bool(result[3].any()))
        return result

    monkeypatch.setattr(VecDeployment, "step", watched)
    budget = ("algo.total_steps=98304", "algo.eval_every=98304", "algo.eval_episodes=2", "algo.compute.threads=1")
    env, agent = trained(tmp_path, "env=deployment", "algo=ppo", *budget)
    won = evaluate(env.game, agent, RandomAgent(), 200, seed=1).total.wins
    assert wilson_interval(won, 200)[0] > 0.6  # of five seeds the worst won 154
    assert not any(cut)
    assert len(cut) > 100
