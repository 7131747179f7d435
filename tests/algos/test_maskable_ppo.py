import pickle
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from src.algos.maskable_ppo import MaskablePPO, MaskedVecEnv
from src.algos.maskable_ppo.adapter import DeviceRolloutBuffer
from src.algos.maskable_ppo.learning import PLAY
from src.algos.maskable_ppo.model import NetworkPolicy
from src.algos.network_agent import NetworkAgent
from src.core.errors import UserError
from src.core.play.agent import RandomAgent, SelfPlay
from src.core.play.arena import evaluate, wilson_interval
from src.core.play.curriculum import Curriculum
from src.core.runs.run import Run, has_learner
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.tictactoe.game import TicTacToe
from src.nets.boards import CNN, Residual
from src.nets.flat import MLP
from tests.algos.echo import DIGITS, EchoBatch, EchoGame, echo
from tests.algos.making import ONE_THREAD, no_curriculum, rows_without_times, saved_learner, versus
from tests.envs.minesweeper.making import make_config

SIZES = {"total_steps": 256, "num_envs": 8, "steps_per_env": 16, "batch_size": 64, "epochs": 2}
LOSSES = {"gamma": 0.99, "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.01, "vf_coef": 0.5}
LIMITS = {"seconds": None, "eval_every": 128, "eval_episodes": 20, "eval_opening_plies": 0}
OPTIMIZER = {"compute": ONE_THREAD, "lr": 0.001, "max_grad_norm": 0.5}
SETTINGS: dict[str, Any] = {"net": MLP([32])} | SIZES | LOSSES | LIMITS | OPTIMIZER
NO_CURRICULUM = no_curriculum()


def learner(**changes):
    return MaskablePPO(**(SETTINGS | changes))


def fit(directory, env, curriculum=None, seed=0, run_class=Run, checkpoint_seconds=1e9, **changes):
    config = {"seed": seed, "checkpoint_seconds": checkpoint_seconds, "composition": {}}
    algo, curriculum = learner(**changes), curriculum or NO_CURRICULUM
    algo.check(env, curriculum)
    with run_class(directory, config, None) as run:
        return algo.fit(env, curriculum, run)


def untrained(env):
    torch.manual_seed(0)
    return NetworkAgent(MLP([16]).build(env.observation_space.shape, env.game.num_actions), ONE_THREAD, PLAY)


# The adapter


@pytest.mark.parametrize("compact", [False, True])
def test_the_adapter_returns_the_results_of_the_batch(compact):
    config = make_config(rows=4, cols=4, mines=3, max_steps=4, compact=compact)
    adapter: Any = MaskedVecEnv(MinesweeperEnv(config).vectorize(6))
    batch: Any = MinesweeperEnv(config).vectorize(6, copy=True)
    adapter.seed(3)
    observations, (expected, _) = adapter.reset(), batch.reset(seed=3)
    rng, cut_off = np.random.default_rng(0), 0
    reached_limit = 0
    for _ in range(40):
        np.testing.assert_array_equal(observations, expected)
        masks = get_action_masks(adapter)
        np.testing.assert_array_equal(masks, batch.action_masks())
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        before, kept = observations, observations.copy()
        observations, rewards, dones, infos = adapter.step(actions)
        np.testing.assert_array_equal(before, kept, "what was handed out stays as it was")
        expected, expected_rewards, terminated, truncated, info = batch.step(actions)
        np.testing.assert_array_equal(rewards, expected_rewards.astype(np.float32))
        np.testing.assert_array_equal(dones, terminated | truncated)
        for i in range(6):
            assert ("terminal_observation" in infos[i]) == dones[i]
            if dones[i]:
                np.testing.assert_array_equal(infos[i]["terminal_observation"], info["final_obs"][i])
                assert infos[i]["TimeLimit.truncated"] == (truncated[i] and not terminated[i])
                cut_off += infos[i]["TimeLimit.truncated"]
                reached_limit += truncated[i]
    assert reached_limit > 0 == cut_off, "a game of Minesweeper that reaches its limit is lost, so no value follows it"
    assert 1 <= adapter.take_finished()["train/episode_length"] <= 4
    assert adapter.take_finished() == {"train/episodes": 0}


def test_games_that_are_cut_off_from_outside_are_reported_to_sb3():
    adapter: Any = MaskedVecEnv(EchoBatch(2, rounds=1, truncates=True))
    adapter.seed(0)
    observations = adapter.reset()
    _, _, dones, infos = adapter.step(observations.argmax(axis=1))
    assert dones.all()
    assert [info["TimeLimit.truncated"] for info in infos] == [True, True]


def test_the_adapter_answers_what_sb3_asks():
    adapter = MaskedVecEnv(EchoBatch(4))
    adapter.seed(0)
    adapter.reset()
    assert is_masking_supported(adapter)
    assert get_action_masks(adapter).shape == (4, DIGITS)
    assert adapter.env_method("action_masks", indices=[1, 2]).shape == (2, DIGITS)
    assert adapter.get_attr("rounds", indices=0) == [1]
    assert adapter.env_is_wrapped(gymnasium.Wrapper) == [False] * 4
    with pytest.raises(AttributeError, match="no_such_method"):
        adapter.env_method("no_such_method")


def test_returns_and_lengths_of_games_are_summed_up():
    adapter: Any = MaskedVecEnv(EchoBatch(2, rounds=3))
    adapter.seed(0)
    observations = adapter.reset()
    for _ in range(6):
        observations, *_ = adapter.step(observations.argmax(axis=1))
    resumed: Any = MaskedVecEnv(EchoBatch(2, rounds=3))
    resumed.load_state(adapter.state())
    finished = adapter.take_finished()
    assert resumed.take_finished() == finished
    low, high = finished.pop("train/win_rate_low"), finished.pop("train/win_rate_high")
    assert (low, high) == wilson_interval(4, 4)
    means = {"episodes": 4, "episode_return": 3, "episode_length": 3, "win_rate": 1, "truncated_share": 0}
    assert finished == {f"train/{name}": mean for name, mean in means.items()}


def test_games_without_a_legal_action_are_refused(tmp_path):
    class Stuck(EchoBatch):
        def _show(self):
            super()._show()
            self.masks[2:3] = False

    with pytest.raises(UserError, match="no action is legal in game 2 of the batch"):
        fit(tmp_path, echo(Stuck))


# Learning


def test_it_learns_what_is_shown_under_changing_masks(tmp_path):
    agent = fit(tmp_path, echo(), total_steps=4096, lr=0.005, eval_every=1024)
    assert evaluate(EchoGame(), agent, None, 200, seed=9).total.win_rate == 1.0
    assert 0.3 < evaluate(EchoGame(), RandomAgent(), None, 200, seed=9).total.win_rate < 0.7
    logged = rows_without_times(tmp_path)
    assert float(logged[-1]["train/episode_return"]) > float(logged[0]["train/episode_return"])
    assert float(logged[-1]["losses/entropy"]) < float(logged[0]["losses/entropy"])


@pytest.mark.slow
def test_self_play_beats_a_random_player_at_versus(tmp_path):
    settings = {"num_envs": 32, "steps_per_env": 32, "batch_size": 256, "net": MLP([64]), "lr": 0.006, "epochs": 4}
    env = versus(SelfPlay())
    agent = fit(tmp_path, env, total_steps=8000, eval_every=8000, eval_episodes=100, **settings)
    random = evaluate(env.game, RandomAgent(), RandomAgent(), 400, seed=1).total.win_rate
    assert evaluate(env.game, agent, RandomAgent(), 400, seed=1).total.win_rate > random + 0.2


def test_the_last_rollout_is_played_to_its_end(tmp_path):
    fit(tmp_path, echo(), total_steps=200, eval_every=1000)
    assert [(row["step"], row["eval/win_rate"] != "") for row in rows_without_times(tmp_path)] == [
        ("128", False),
        ("256", True),
    ]


def diverging(rewards=0.0, **changes):
    class Broken(EchoBatch):
        steps = 0

        def step(self, actions):
            self.steps += 1
            observations, paid, *rest = super().step(actions)
            return observations, paid + (rewards if self.steps > 20 else 0), *rest

    return echo(Broken), changes


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize(
    ("env", "changes", "message"),
    [
        (*diverging(np.nan), "diverged at step 256: a loss is NaN"),
        (*diverging(np.inf), "diverged at step 256: a loss is NaN or infinite"),
        (*diverging(lr=1e30), "diverged at step 128: the outputs of the network are not finite"),
    ],
)
def test_losses_that_are_no_numbers_end_the_run_with_the_step(tmp_path, env, changes, message):
    with pytest.raises(UserError, match=message):
        fit(tmp_path, env, total_steps=1000, **changes)
    assert not has_learner(tmp_path)


# Checkpoints


class KilledError(Exception):
    pass


class ShortRun(Run):
    """Fails right before it logs for the third time."""

    def log(self, step, metrics):
        if self._log.rows == 2:
            raise KilledError
        super().log(step, metrics)


def same_tree(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_tree(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_tree, one, other))
    if isinstance(one, np.ndarray | torch.Tensor):
        return np.array_equal(one, other)
    return one == other


@pytest.mark.parametrize("opponent", [pytest.param(RandomAgent, marks=pytest.mark.slow), SelfPlay])
def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path, opponent):
    settings = {"total_steps": 640, "checkpoint_seconds": 0}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    fit(whole, versus(opponent()), **settings)
    with pytest.raises(KilledError):
        fit(killed, versus(opponent()), run_class=ShortRun, **settings)
    assert saved_learner(killed)["step"] == 256
    fit(killed, versus(opponent()), **settings)
    assert rows_without_times(killed) == rows_without_times(whole)
    for name in ("last", "best"):
        trees = [saved_learner(run, name) for run in (whole, killed)]
        assert same_tree(*trees)


@pytest.mark.slow
def test_the_curriculum_is_climbed_and_remembered(tmp_path):
    def ladder():
        return Curriculum({"first": versus(RandomAgent()), "second": versus(RandomAgent())}, 0.01)

    settings = {"total_steps": 640, "checkpoint_seconds": 0}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    fit(whole, versus(SelfPlay()), ladder(), **settings)
    assert [row["train/stage"] for row in rows_without_times(whole)] == ["0", "1", "2", "2", "2"]
    with pytest.raises(KilledError):
        fit(killed, versus(SelfPlay()), ladder(), run_class=ShortRun, **settings)
    fit(killed, versus(SelfPlay()), ladder(), **settings)
    assert rows_without_times(killed) == rows_without_times(whole)


# The policy and the rollout buffer


def policy(net, compute=ONE_THREAD, shape=(4, 5, 5)):
    torch.manual_seed(0)
    box = spaces.Box(0.0, 1.0, shape, np.float32)
    return NetworkPolicy(box, spaces.Discrete(25), lambda _: 0.001, architecture=net, compute=compute)


def test_the_policy_is_the_network_and_nothing_else():
    built = policy(net := Residual(8, 1, 1, value_pool="mean_max"))
    torch.manual_seed(0)
    alone = net.build((4, 5, 5), 25)
    assert {name.removeprefix("net.") for name in built.state_dict()} == set(alone.state_dict())
    trained = [weight for group in built.optimizer.param_groups for weight in group["params"]]
    assert list(map(id, trained)) == list(map(id, built.net.parameters()))
    seen, masks, actions = torch.rand(3, 4, 5, 5), torch.rand(3, 25) < 0.5, torch.tensor([1, 2, 3])
    masks[range(3), actions] = True
    values, log_probs, entropy = built.evaluate_actions(seen, actions, masks)
    heads = alone(seen)
    expected = heads.policy.masked_fill(~masks, -torch.inf).log_softmax(1)
    torch.testing.assert_close(log_probs, expected[range(3), actions])
    torch.testing.assert_close(entropy, -torch.where(masks, expected * expected.exp(), 0).sum(1))
    torch.testing.assert_close(values, heads.value[:, None])
    torch.testing.assert_close(built.predict_values(seen), values)
    drawn, _, their = built(seen, action_masks=masks.numpy())
    torch.testing.assert_close(their, expected[range(3), drawn])


def test_the_policy_computes_in_the_configured_precision(monkeypatch):
    monkeypatch.setattr("src.algos.compute.native_bfloat16", lambda _: True)
    seen, masks = torch.rand(3, 4, 5, 5), np.ones((3, 25), bool)
    dtypes = []
    for precision in ("float32", "bfloat16"):
        built = policy(Residual(8, 1, 1, value_pool="mean_max"), replace(ONE_THREAD, precision=precision))
        built.net.trunk.register_forward_hook(lambda *call: dtypes.append(call[-1].dtype))  # its output
        _, values, log_probs = built(seen, action_masks=masks)
        assert built.predict_values(seen).dtype == values.dtype == log_probs.dtype == torch.float32
        assert dtypes == [getattr(torch, precision)] * 2
        dtypes.clear()


def test_the_buffer_returns_what_that_of_sb3_does():
    sizes = (3, spaces.Box(-2, 8, (2, 2), np.int8), spaces.Discrete(4))
    buffers = [kind(*sizes, "cpu", 0.9, 0.95, n_envs=2) for kind in (MaskableRolloutBuffer, DeviceRolloutBuffer)]
    for _ in range(2):  # the second rollout replaces the first
        rng, batches = np.random.default_rng(1), []
        for buffer in buffers:
            buffer.reset()
        for _ in range(3):
            step = (
                *(rng.integers(-2, 9, (2, 2, 2)).astype(np.int8), rng.integers(4, size=(2, 1)), rng.random(2)),
                *(rng.random(2) < 0.5, torch.rand(2, 1), torch.rand(2)),
            )
            masks = rng.random((2, 4)) < 0.5
            for buffer in buffers:
                buffer.add(*step, action_masks=masks)
        last, dones = torch.rand(2, 1), rng.random(2) < 0.5
        for buffer in buffers:
            buffer.compute_returns_and_advantage(last, dones)
            parts = [[field.reshape(len(field), -1).double() for field in part] for part in buffer.get(4)]
            assert [len(part[0]) for part in parts] == [4, 2]
            batches.append(torch.cat([torch.cat(part, 1) for part in parts]))
        theirs, ours = (sorted(batch.tolist()) for batch in batches)
        assert theirs == ours, "the same steps, in another order"


@pytest.mark.parametrize(
    ("net", "compact"),
    [(CNN(8, value_pool="mean_max"), False), (Residual(8, 1, 1, value_pool="mean_max"), True), (MLP([8]), False)],
)
def test_every_network_learns(tmp_path, net, compact):
    env = MinesweeperEnv(make_config(rows=4, cols=4, mines=3, max_steps=20, compact=compact))
    agent = fit(tmp_path, env, net=net)
    assert len(agent.exported_network(env.game)(torch.from_numpy(env.reset(seed=0)[0][None]))) == 2
    best, last = (saved_learner(tmp_path, name)["weights"] for name in ("best", "last"))
    for name, weight in last.items():
        assert best[name].shape == weight.shape
        assert "aux_head" not in name, "sb3-contrib has no loss for it"


def test_the_learning_rate_follows_a_cosine_over_the_whole_run(tmp_path):
    fit(tmp_path, echo(), total_steps=512, eval_every=1000)
    rates = [float(row["train/lr"]) / SETTINGS["lr"] for row in rows_without_times(tmp_path)]
    assert rates == pytest.approx([1, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2])


def test_a_limit_of_seconds_ends_the_run_with_an_evaluation(tmp_path):
    fit(tmp_path, echo(), total_steps=10**9, seconds=1e-3, eval_every=10**9)
    logged = rows_without_times(tmp_path)
    assert logged[-1]["step"] == "128"
    assert logged[-1]["eval/win_rate"]


@pytest.mark.parametrize("change", [{"batch_size": 60}, {"batch_size": 1}, {"gamma": 1.5}, {"seconds": 0}], ids=str)
def test_impossible_settings_are_refused_by_name(change):
    with pytest.raises(UserError, match=next(iter(change))):
        learner(**change)


def test_what_cannot_be_learned_is_refused_before_anything_is_written():
    class Tensors(EchoBatch):
        def reset(self, **options):
            seen, info = super().reset(**options)
            return torch.from_numpy(seen), info

    env = versus()
    with pytest.raises(UserError, match=r"warm_up\.other differs in observations or actions"):
        learner().check(env, Curriculum({"other": echo()}, 0.5))
    with pytest.raises(UserError, match="works on numpy arrays"):
        learner().check(echo(Tensors), NO_CURRICULUM)
    env.baselines = {"alike": untrained(env)}
    with pytest.raises(UserError, match="both players are deterministic"):
        learner().check(env, NO_CURRICULUM)
    learner(eval_opening_plies=1).check(env, NO_CURRICULUM)
    with pytest.raises(UserError, match=r"algo\.compute\.precision=float16 needs a scaled loss"):
        learner(compute=replace(ONE_THREAD, precision="float16"))


def test_the_same_seed_gives_the_same_run(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        (tmp_path / name).mkdir()
        fit(tmp_path / name, versus(), seed=seed)
    assert (
        rows_without_times(tmp_path / "a") == rows_without_times(tmp_path / "b") != rows_without_times(tmp_path / "c")
    )


def test_a_checkpoint_is_read_without_pickle_and_without_the_environment(tmp_path, monkeypatch):
    trained = fit(tmp_path, versus())

    def refuse(*_, **__):
        raise AssertionError("nothing is unpickled")

    for owner, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(owner, name, refuse)
    game = TicTacToe(symmetric=True)
    for name in ("last", "best"):
        agent = learner().load_agent(saved_learner(tmp_path, name))
        agent.check(game)
    views = ["." * 9, "X...O...."]
    pairs = zip(
        *(player.decide_batch(game, views, [np.random.default_rng(0)] * 2) for player in (agent, trained)), strict=True
    )
    for one, other in pairs:
        assert one.action == other.action
        np.testing.assert_array_equal(one.info["action_probability"], other.info["action_probability"])
