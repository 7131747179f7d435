"""The default composition of each game, on a small board and for a short time."""

from pathlib import Path

import pytest

from src import schema
from src.compose import build, resolved, validate
from src.core.play.arena import evaluate
from src.core.play.exhaustive import walk_replies
from src.core.runs.run import Run
from src.envs.quoridor.agents import RunnerAgent
from tests.test_compositions import composed


def trained(directory: Path, *overrides: str):
    """Return the environment and the agent of `python -m src.train` with these overrides."""
    cfg = validate(composed(*overrides, "device=cpu", "logger=csv"), schema.Train)
    env, algo, curriculum = (build(cfg[name], name) for name in ("env", "algo", "curriculum"))
    algo.check(env, curriculum)
    with Run(directory, resolved(cfg), None) as run:
        return env, algo.fit(env, curriculum, run)


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
        assert cfg.reward._target_ == "src.envs.versus.OutcomeReward"
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
def test_tuned_alphabeta_never_loses_tictactoe(tmp_path: Path):
    env, agent = trained(tmp_path, "env=tictactoe", "algo=alphabeta")
    assert [walk_replies(env.game, agent, seat).losses for seat in (0, 1)] == [0, 0]


@pytest.mark.slow
def test_tuned_alphazero_hardly_loses_tictactoe_after_a_third_of_its_budget(tmp_path: Path):
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


@pytest.mark.parametrize("algo", ["ppo", "maskable_ppo", "alphabeta", "alphazero", "nnue"])
def test_tuned_evaluations_of_quoridor_do_not_replay_two_games(algo: str):
    """The runner, its first baseline, is deterministic."""
    cfg = composed("env=quoridor", f"algo={algo}")
    assert next(iter(cfg.env.baselines)) == "runner"
    assert cfg.evaluation.opening_plies > 0
    assert algo == "alphabeta" or cfg.algo.eval_opening_plies > 0
