"""PPO: hand-computed updates, learning on a tiny game, bitwise resume."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from gymnasium import spaces

from src.algos.compute import Compute, native_bfloat16
from src.algos.network_agent import InferenceConfig
from src.algos.ppo import PPO, LossWeights, PPOTrainer, RolloutBatch, Rollouts, gae, normalized, ppo_losses
from src.algos.selection import selection_metrics
from src.algos.trainer import Optimizer, OptimizerConfig
from src.algos.weights import build_net, export_weights, load_network
from src.core.errors import UserError
from src.core.play.agent import Agent, SelfPlay
from src.core.play.curriculum import Curriculum
from src.core.play.past_selves import CURRENT, PastSelves
from src.core.runs import checkpoint
from src.core.runs.run import has_learner
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.net import CellCodes
from src.nets.auto import AutoNet
from src.nets.boards import CNN, Heads, Residual, ResidualBlock
from src.nets.flat import MLP
from tests.algos.echo import EchoBatch, EchoGame, echo
from tests.algos.making import (
    CPU,
    PLAIN_WEIGHTS,
    WEIGHTS,
    fit,
    minesweeper,
    no_curriculum,
    playing,
    ppo,
    read_column,
    rows_without_times,
    run_in,
    saved_learner,
    strategy,
    versus,
)
from tests.core.fixed import FirstMove
from tests.envs.minesweeper.making import make_config
from tests.marks import mostly_slow


def column(*values: Any) -> torch.Tensor:
    """Return the steps of one environment, (T, 1)."""
    return torch.tensor(values)[:, None]


@pytest.mark.parametrize(
    ("rewards", "values", "dones", "expected"),
    [
        # delta_2 = 3 + 0.5 * 8 - 4; delta_1 = 2 - 2, the end of a game; delta_0 = 1 + 0.5 * 2 - 1
        ((1.0, 2.0, 3.0), (1.0, 2.0, 4.0), (False, True, False), [1.0, 0.0, 3.0]),
        # A_1 = 3 + 0.5 * 8 - 2 = 5, A_0 = (1 + 0.5 * 2 - 1) + 0.25 * 5
        ((1.0, 3.0), (1.0, 2.0), (False, False), [2.25, 5.0]),
    ],
)
def test_advantages_by_hand(rewards: Any, values: Any, dones: Any, expected: list[float]):
    """gamma 0.5, lambda 0.5, and a value of 8 after the last step."""
    found = gae(column(*rewards), column(*values), column(*dones), torch.tensor([8.0]), gamma=0.5, lam=0.5)
    assert found.flatten().tolist() == expected


def test_a_rollout_in_which_nothing_is_legal_is_refused():
    class Blocked(EchoBatch):
        def _show(self) -> None:
            super()._show()
            self.masks[1] = False

        def step(self, actions: Any) -> Any:
            self.masks[:] = True
            return super().step(actions)

    def net(observations: torch.Tensor) -> Heads:
        return Heads(torch.zeros(2, 5), torch.zeros(2), torch.zeros(2, 0))

    with pytest.raises(UserError, match="no action is legal"):
        Rollouts(Blocked(2), 1, CPU, seed=0).collect(net, net, 1.0, 1.0, torch.Generator())  # type: ignore[arg-type]


def ten_steps(strategy: Any = None) -> Rollouts:
    """Return a rollout whose returns number its steps; the policy chose steps 2, 5 and 6."""
    rollouts = Rollouts(EchoBatch(1), 10, CPU, seed=0, strategy=strategy)
    rollouts.buffer["returns"][:] = column(*map(float, range(10)))
    rollouts.buffer["chosen"][:] = column(*(step in (2, 5, 6) for step in range(10)))
    return rollouts


def test_minibatches_are_a_partition():
    parts = list(ten_steps().minibatches(3, torch.Generator().manual_seed(0)))
    assert [len(part.returns) for part in parts] == [4, 3, 3]
    assert sorted(value for part in parts for value in part.returns.tolist()) == list(range(10))


def test_steps_with_a_choice_are_learned_from_first():
    rollouts, random, seen = ten_steps(strategy(rollout_fraction=0.5)), torch.Generator().manual_seed(0), set()
    for _ in range(20):
        parts = list(rollouts.minibatches(2, random))
        assert [len(part.returns) for part in parts] == [3, 2]
        rows = {value for part in parts for value in part.returns.tolist()}
        assert {2.0, 5.0, 6.0} < rows
        assert len(rows) == 5
        seen |= rows
    assert len(seen) == 10, "the others take turns"


def test_what_nobody_chose_does_not_move_the_policy():
    """Advantages of the chosen steps are normalized to -1 and 1 without the others, which are not in the loss."""
    batch = normalized(
        batch_of(
            3,
            actions=torch.tensor([0, 1, 1]),
            log_probs=torch.full((3,), 0.5).log(),
            advantages=torch.tensor([1.0, 5.0, 99.0]),
            chosen=torch.tensor([True, True, False]),
        )
    )
    assert batch.advantages[:2].tolist() == pytest.approx([-1.0, 1.0])
    logits = torch.tensor([[0.0, 0.0], [0.0, 0.0], [5.0, 0.0]], requires_grad=True)

    def net(_: torch.Tensor) -> Heads:
        return Heads(logits, torch.zeros(3), torch.zeros(3, 0))

    losses = ppo_losses(net, batch, WEIGHTS, CPU)
    assert losses["entropy"].item() == pytest.approx(float(np.log(2)))
    assert losses["approx_kl"].item() == pytest.approx(0.0)
    assert losses["clip_fraction"].item() == 0.0
    (losses["policy_loss"] - losses["entropy"]).backward()
    assert logits.grad is not None
    assert logits.grad[:2].abs().min() > 0
    assert logits.grad[2].abs().max() == 0


def test_sure_cells_are_revealed_in_one_step_that_is_no_choice():
    """A network that knows the mines opens all other cells in a single step, and wins."""
    envs: Any = minesweeper("torch", first_click="uniform").vectorize(8)

    def net(_: torch.Tensor) -> Heads:
        return Heads(torch.zeros(8, 16), torch.zeros(8), torch.where(envs.mine_mask(), 9.0, -9.0))

    rollouts = Rollouts(envs, 3, CPU, 0, strategy(train_below=0.01))
    ended = rollouts.collect(net, net, 1.0, 1.0, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
    assert not rollouts.buffer["chosen"].any()
    assert ended["games"].item() == ended["won"].item() == 24

    def unsure(_: torch.Tensor) -> Heads:
        return Heads(torch.zeros(8, 16), torch.zeros(8), torch.zeros(8, 4, 4))

    rollouts.collect(unsure, unsure, 1.0, 1.0, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
    assert rollouts.buffer["chosen"].all()


def test_only_hidden_cells_count_as_sure():
    """If the network is sure of revealed cells alone, the policy chooses; the agent plans no revealed cell either."""
    envs: Any = minesweeper(size=5, first_click="uniform").vectorize(8)
    envs.reset(seed=0)
    observations, *_, info = envs.step(envs.action_masks().argmax(axis=1))
    observations, masks = observations.copy(), torch.from_numpy(info["action_mask"])
    hidden = torch.from_numpy(observations < 0)
    assert not hidden.all()
    aux, actions = torch.where(hidden, 9.0, -9.0), masks.int().argmax(dim=1)
    chosen, (after, *_) = strategy(train_below=0.5).step(envs, actions, aux, masks)
    assert chosen.all()
    assert (after != observations).any(axis=(1, 2)).all()
    mask, risk = np.array([True, False, True, True]), np.array([[0.4, 0.0], [0.1, 0.9]])
    assert strategy(play_below=0.5).plan(mask, risk) == [2, 0]


def test_learning_with_sure_cells(tmp_path: Path):
    env = minesweeper("torch", first_click="uniform")
    algo = ppo(play=playing(train_below=0.6, rollout_fraction=0.5), total_steps=256)
    algo.check(env, no_curriculum())
    fit(algo, env, tmp_path)
    assert all(0 <= share < 1 for share in read_column(tmp_path, "train/chosen_share"))


def test_sure_cells_need_an_auxiliary_head_and_laid_mines():
    config = make_config(H=4, W=5, mine_count=2, flag_actions=False, first_click="uniform")
    planes, play = MinesweeperEnv(config, backend="torch"), playing(train_below=0.1)
    ppo(play=play).check(planes, no_curriculum())
    with pytest.raises(UserError, match="this network has no auxiliary head"):
        ppo(play=play, net=MLP([8]), losses=PLAIN_WEIGHTS).check(planes, no_curriculum())
    with pytest.raises(UserError, match="after the first click"):
        ppo(play=play).check(minesweeper("torch"), no_curriculum())


def batch_of(size: int, **fields: torch.Tensor) -> RolloutBatch:
    """Return steps with two actions in which everything is 0 and chosen, but the given fields."""
    zeros = dict.fromkeys(("log_probs", "values", "advantages", "returns"), torch.zeros(size))
    defaults = {
        "observations": torch.zeros(size, 1, 1, 2),
        "masks": torch.ones(size, 2, dtype=torch.bool),
        "actions": torch.zeros(size, dtype=torch.int64),
        "aux_targets": torch.zeros(size, 0),
        "chosen": torch.ones(size, dtype=torch.bool),
        "aux_logits": torch.zeros(size, 0),
    }
    return RolloutBatch(**(zeros | defaults | fields))


def losses_of(batch: RolloutBatch, weights: LossWeights, value: float = 0.0) -> dict[str, float]:
    """Return the losses of a network whose logits are 0, so that both actions have a probability of 1/2."""
    size = len(batch.values)
    heads = Heads(torch.zeros(size, 2), torch.full((size,), value), torch.zeros(size, 1, 2))
    return {name: loss.item() for name, loss in ppo_losses(lambda _: heads, batch, weights, CPU).items()}


@pytest.mark.parametrize(
    ("advantages", "expected"), [((1.0, -1.0), (-1.2 + 0.8) / 2), ((-1.0, 1.0), (1.5 - 0.5) / 2)], ids=str
)
def test_the_policy_loss_is_clipped_in_one_direction(advantages: tuple[float, float], expected: float):
    """Ratios 1.5 and 0.5 with advantages 1 and -1 are clipped to 1.2 and 0.8, with the opposite ones not."""
    before = (0.5 / torch.tensor([1.5, 0.5])).log()
    losses = losses_of(batch_of(2, log_probs=before, advantages=torch.tensor(advantages)), PLAIN_WEIGHTS)
    assert losses["policy_loss"] == pytest.approx(expected)
    assert losses["clip_fraction"] == 1
    assert losses["approx_kl"] == pytest.approx(-np.log(1.5 * 0.5) / 2), "k3: the mean of ratio - 1 - log ratio"


@pytest.mark.parametrize(("clip_range_vf", "expected"), [(None, 0.5), (0.25, 0.5 * 1.75**2)])
def test_the_value_loss_by_hand(clip_range_vf: float | None, expected: float):
    weights = replace(PLAIN_WEIGHTS, clip_range_vf=clip_range_vf)
    losses = losses_of(batch_of(1, returns=torch.tensor([2.0])), weights, value=1.0)
    assert losses["value_loss"] == pytest.approx(expected)


def test_the_loss_is_the_weighted_sum_of_its_parts():
    batch = batch_of(
        2,
        masks=torch.tensor([[True, True], [True, False]]),
        log_probs=torch.tensor([0.5, 1.0]).log(),
        advantages=torch.tensor([1.0, -1.0]),
        returns=torch.tensor([1.0, 0.0]),
        aux_targets=torch.tensor([[[1, 0]], [[-1, -1]]], dtype=torch.int8),
    )
    losses = losses_of(batch, WEIGHTS)
    log_2 = float(np.log(2))
    assert losses["policy_loss"] == pytest.approx(0.0)
    assert losses["value_loss"] == pytest.approx(0.25)
    assert losses["entropy"] == pytest.approx(log_2 / 2), "one of two rows has a choice"
    assert losses["aux_loss"] == pytest.approx(log_2)
    assert losses["loss"] == pytest.approx(0.5 * 0.25 - 0.01 * log_2 / 2 + 0.1 * log_2)
    assert losses["approx_kl"] == pytest.approx(0.0)


def optimizer_of(net: torch.nn.Module, **changes: Any) -> Optimizer:
    settings: dict[str, Any] = {"lr": 1e-3, "lr_warmup": 0, "weight_decay": 0.0, "max_grad_norm": 1.0}
    return Optimizer(net, OptimizerConfig(compute=CPU, **(settings | changes)))


def test_the_learning_rate_rises_and_falls_along_a_cosine():
    optimizer = optimizer_of(torch.nn.Linear(1, 1), lr=1.0, lr_warmup=1)
    assert optimizer.current_lr == 0.5
    optimizer.done = 1
    for progress, rate in [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]:
        optimizer.progress = progress
        assert optimizer.current_lr == pytest.approx(rate)


def test_gradients_are_clipped():
    net = torch.nn.Linear(1, 1, bias=False)
    norm = optimizer_of(net, max_grad_norm=0.5).step((100 * net(torch.ones(1, 1))).sum())
    assert norm.item() == pytest.approx(100)
    assert net.weight.grad is not None
    assert net.weight.grad.item() == pytest.approx(0.5)


def test_gradients_are_clipped_without_the_scale_of_half_precision():
    net = torch.nn.Linear(1, 1, bias=False)
    optimizer = optimizer_of(net, max_grad_norm=0.5)
    optimizer._scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    assert optimizer.step((100 * net(torch.ones(1, 1))).sum()).item() == pytest.approx(100)


def test_gradients_are_averaged_over_the_ranks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("src.core.ranks.world_size", lambda: 2)
    monkeypatch.setattr("src.core.ranks.mean", lambda own: (own + torch.tensor([4.0, 5.0, 6.0])) / 2)
    net = torch.nn.Linear(2, 1)
    optimizer_of(net, max_grad_norm=100.0).step(net(torch.tensor([[2.0, 3.0]])).sum())
    assert [weight.grad.tolist() for weight in net.parameters() if weight.grad is not None] == [[[3.0, 4.0]], [3.5]]


def test_moments_are_loaded_in_the_memory_format_of_their_weights(tmp_path: Path):
    """Checkpoints do not store the memory format, but fused kernels assume equal formats."""

    def learner() -> tuple[torch.nn.Module, Optimizer]:
        torch.manual_seed(0)
        net = CPU.prepare(CNN(16, value_pool="mean_max").build((4, 4), 16))
        return net, optimizer_of(net)

    def learn(net: torch.nn.Module, optimizer: Optimizer) -> None:
        optimizer.step(net(torch.zeros(2, 4, 4, dtype=torch.int8)).policy.square().mean())

    (net, optimizer), (resumed, loaded) = learner(), learner()
    learn(net, optimizer)
    checkpoint.save(tmp_path / "saved", {"net": net.state_dict(), "optimizer": optimizer.state()})
    saved = checkpoint.load(tmp_path / "saved")
    resumed.load_state_dict(saved["net"])
    loaded.load(saved["optimizer"])
    for weight, state in loaded._adamw.state.items():
        assert state["exp_avg"].stride() == state["exp_avg_sq"].stride() == weight.stride()
    learn(net, optimizer)
    learn(resumed, loaded)
    for one, other in zip(net.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("truncates", mostly_slow([True, False], fast=1))
def test_it_learns_to_name_what_it_is_shown_among_what_may_be_named(tmp_path: Path, truncates: bool):
    env = echo(lambda num_envs: EchoBatch(num_envs, rounds=2, truncates=truncates))
    sizes = {"total_steps": 6400, "num_envs": 16, "steps_per_env": 8, "eval_every": 6400, "eval_episodes": 200}
    algo = ppo(net=MLP([32]), lr=1e-2, gamma=0.5, **sizes)
    agent = fit(algo, env, tmp_path / "run")
    assert win_rate(env, algo.load_agent(untrained(algo, env))) < 0.7
    assert win_rate(env, agent) > 0.95


def win_rate(env: Any, agent: Agent) -> float:
    return selection_metrics(env, agent, 200, 0)["eval/win_rate"]


def untrained(algo: PPO, env: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    return export_weights(build_net(algo.net, env, None), env)


FOUR_UPDATES = ppo(total_steps=4 * 8 * 8, play=playing(frontier_updates=2))


@pytest.fixture(scope="module", params=["numpy", "torch"])
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return a backend and the directory of a run on it."""
    folder = tmp_path_factory.mktemp(f"whole-{request.param}")
    fit(FOUR_UPDATES, minesweeper(request.param), folder)
    return request.param, folder


@pytest.mark.parametrize("saves", mostly_slow([2, 3], fast=1))
def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path, uninterrupted: tuple[str, Path], saves: int):
    """It saves after each of four updates; masks are narrowed in the first two."""
    backend, whole = uninterrupted
    fit(FOUR_UPDATES, minesweeper(backend), tmp_path, saves=saves)
    fit(FOUR_UPDATES, minesweeper(backend), tmp_path)
    rows = rows_without_times(tmp_path)
    assert len(rows) >= 4
    assert rows == rows_without_times(whole)


def test_divergence_reports_its_step_and_keeps_the_checkpoint(tmp_path: Path):
    algo = ppo(lr=1e30, max_grad_norm=1e30, total_steps=10_000)
    with run_in(tmp_path / "run") as run:
        run._checkpoint_seconds = 0
        with pytest.raises(UserError, match="diverged at step"):
            algo.fit(minesweeper(), no_curriculum(), run)
    if has_learner(tmp_path / "run"):
        weights = saved_learner(tmp_path / "run")["weights"]
        assert all(torch.isfinite(weight).all() for weight in weights.values())


def test_the_value_of_where_a_game_was_cut_off_is_in_its_last_reward(tmp_path: Path):
    """Rewards of 1 and a value of 10 everywhere: the target of a truncated step is 1 + 0.5 * 10, of a final one 1, also
    if it was the last one allowed.
    """

    class EndsOnItsLastStep(EchoBatch):
        def step(self, actions: Any) -> Any:
            seen, rewards, terminated, truncated, info = super().step(actions)
            return seen, rewards, terminated | truncated, terminated | truncated, info

    def net(observations: torch.Tensor) -> Heads:
        size = len(observations)
        logits = torch.where(observations > 0, 100.0, 0.0)  # names what is shown
        return Heads(logits, torch.full((size,), 10.0), torch.zeros(size, 0))

    for envs, expected in (
        (EchoBatch(3, rounds=2, truncates=True), 6.0),
        (EchoBatch(3, rounds=2), 1.0),
        (EndsOnItsLastStep(3, rounds=2), 1.0),
    ):
        rollouts = Rollouts(envs, 2, CPU, seed=0)
        rollouts.collect(net, net, 0.5, 1.0, torch.Generator())  # type: ignore[arg-type]
        assert rollouts.buffer["rewards"].tolist() == [[1.0] * 3, [expected] * 3]
        assert rollouts.buffer["dones"].tolist() == [[False] * 3, [True] * 3]


@pytest.mark.slow
def test_resuming_against_oneself_is_exact_and_a_ladder_may_end_there(tmp_path: Path):
    def learn(folder: Path, saves: int | None = None) -> None:
        ladder = Curriculum({"random": versus()}, promote_at=0.01)
        algo = ppo(total_steps=384, eval_every=192, gamma=1.0, losses=PLAIN_WEIGHTS)
        fit(algo, versus(SelfPlay()), folder, ladder, saves)

    learn(tmp_path / "whole")
    learn(tmp_path / "killed", saves=4)
    saved = saved_learner(tmp_path / "killed")
    met = saved["opponent"]["weights"]
    assert any(not torch.equal(met[name], weight) for name, weight in saved["weights"].items()), "it is of before"
    learn(tmp_path / "killed")
    assert read_column(tmp_path / "whole", "train/stage")[-1] == 1
    for name in ("losses/loss", "eval/win_rate", "train/episode_return"):
        assert read_column(tmp_path / "killed", name) == read_column(tmp_path / "whole", name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mini_batches": 40}, "must be at most half of the"),
        ({"init_from": "nowhere"}, "nowhere is not a run directory"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_written(changes: dict[str, Any], message: str):
    with pytest.raises(UserError, match=message):
        ppo(**changes).check(minesweeper(), no_curriculum())


def test_play_that_only_minesweeper_allows_is_refused_elsewhere():
    with pytest.raises(UserError, match="this game is not symmetric"):
        ppo(play=InferenceConfig(symmetries=True)).check(versus(), no_curriculum())
    with pytest.raises(UserError, match=r"set algo\.play\.strategy=null"):
        ppo(play=playing(), losses=PLAIN_WEIGHTS).check(versus(), no_curriculum())
    with pytest.raises(UserError, match=r"this game has no auxiliary task: set algo\.losses\.aux_coef=0"):
        ppo().check(versus(), no_curriculum())
    ppo(losses=PLAIN_WEIGHTS).check(versus(), no_curriculum())


def test_unlabeled_cells_have_no_loss_by_default():
    batch = batch_of(1, aux_targets=torch.full((1, 1, 2), -1, dtype=torch.int8))
    assert losses_of(batch, WEIGHTS)["aux_loss"] == 0
    everywhere = losses_of(batch, replace(WEIGHTS, aux_cells="all"))
    assert everywhere["aux_loss"] == pytest.approx(float(np.log(2)))


def test_boards_are_climbed_by_their_score_and_then_mixed(tmp_path: Path):
    ladder = Curriculum({"easy": minesweeper(size=4, mines=1)}, promote_at=0.01, keep=0.25)
    fit(ppo(total_steps=640, eval_every=64, eval_episodes=20), minesweeper(size=5, mines=3), tmp_path, ladder)
    stages = read_column(tmp_path, "train/stage")
    assert stages[0] == 0
    assert stages[-1] == 1
    target = object()
    assert ladder.mixture(target) == [(target, 0.75), (ladder.warm_up["easy"], 0.25)]


def test_a_ladder_that_one_set_of_weights_cannot_climb_is_refused():
    other = MinesweeperEnv(make_config(H=4, W=4, mine_count=1, flag_actions=False, frontier=True))
    with pytest.raises(UserError, match="another kind of board"):
        ppo().check(minesweeper(), Curriculum({"other": other}, promote_at=0.5))


def test_it_starts_from_the_network_of_another_run(tmp_path: Path):
    first = fit(ppo(), minesweeper(), tmp_path / "first")
    algo = ppo(init_from=str(tmp_path / "first"), lr=1e-12, total_steps=64)
    second = fit(algo, minesweeper(size=6, mines=5), tmp_path / "second")
    for old, new in zip(first.net.parameters(), second.net.parameters(), strict=True):
        assert torch.allclose(old, new, atol=1e-3)
    other = ppo(init_from=str(tmp_path / "first"), net=Residual(8, 1, 0, encoder=CellCodes(), value_pool="mean_max"))
    with pytest.raises(UserError, match="has another network than"):
        fit(other, minesweeper(), tmp_path / "third")


@contextmanager
def started(algo: PPO, env: Any, folder: Path) -> Iterator[PPOTrainer]:
    with run_in(folder) as run:
        learning = PPOTrainer(algo, env, no_curriculum(), run)
        learning.start()
        yield learning


@pytest.mark.parametrize(("target_kl", "steps"), [(None, 12), (1e-6, 1)])
def test_an_update_ends_before_the_minibatch_that_moved_too_far(tmp_path: Path, target_kl: float | None, steps: int):
    """The policy is unchanged at the first minibatch, so its KL divergence is zero; at the second it is not."""
    algo = ppo(target_kl=target_kl, mini_batches=4, epochs=3)
    with started(algo, minesweeper(), tmp_path) as learning:
        learning.update()
    assert learning.optimizer.done == steps
    assert learning.sums["gradient_steps"] == steps


def test_masks_are_narrowed_in_the_configured_updates(tmp_path: Path):
    algo = ppo(play=playing(frontier_updates=1))
    with started(algo, minesweeper(size=7, first_click="uniform"), tmp_path) as learning:
        narrowed = []
        for learning.updates in range(2):
            learning.update()
            buffer = learning.groups[0].buffer
            hidden = (buffer["observations"] < 0).flatten(2)
            assert not (buffer["masks"] & ~hidden).any()
            narrowed.append(bool((buffer["masks"] != hidden).any()))
    assert narrowed == [True, False]


def spy_on_losses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RolloutBatch, float]]:
    """Return a list to which every batch of an update and its loss are added."""
    seen: list[tuple[RolloutBatch, float]] = []

    def spy(net: Any, batch: RolloutBatch, *rest: Any) -> dict[str, torch.Tensor]:
        losses = ppo_losses(net, batch, *rest)
        seen.append((batch, losses["loss"].item()))
        return losses

    monkeypatch.setattr("src.algos.ppo.ppo_losses", spy)
    return seen


def test_every_minibatch_is_learned_from_with_normalized_advantages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = spy_on_losses(monkeypatch)
    with started(ppo(), minesweeper(), tmp_path) as learning:
        learning.update()
    assert len(seen) == 4
    for batch, _ in seen:
        assert batch.advantages.mean().item() == pytest.approx(0, abs=1e-5)
        assert batch.advantages.std(correction=0).item() == pytest.approx(1, abs=1e-3)


def test_advantages_can_be_left_as_they_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = spy_on_losses(monkeypatch)
    with started(ppo(losses=replace(WEIGHTS, normalize_advantages=False)), minesweeper(), tmp_path) as learning:
        learning.update()
    estimated = learning.groups[0].buffer["advantages"].flatten()
    for epoch in (seen[:2], seen[2:]):
        learned = torch.cat([batch.advantages for batch, _ in epoch])
        assert torch.equal(learned.sort().values, estimated.sort().values)


def test_labels_lie_on_the_board_they_belong_to(tmp_path: Path):
    """Every number equals its adjacent labeled mines, also after a game was followed by the next."""
    with started(ppo(), minesweeper(size=6, mines=5, first_click="uniform"), tmp_path) as learning:
        learning.update()
    buffer = learning.groups[0].buffer
    boards, labels = buffer["observations"].flatten(0, 1), buffer["aux_targets"].flatten(0, 1)
    around = torch.nn.functional.conv2d((labels == 1).float()[:, None], torch.ones(1, 1, 3, 3), padding=1)[:, 0]
    shown = boards >= 0
    assert (around[shown] == boards[shown]).all()
    assert ((labels < 0) == shown).all()


def test_the_network_goes_back_to_training_after_an_evaluation(tmp_path: Path):
    with started(ppo(), minesweeper(), tmp_path) as learning:
        learning.update()
        learning.evaluate(learning.take_metrics())
        assert learning.net.training


def test_learning_where_mines_are_does_not_count_as_moving_the_policy(tmp_path: Path):
    """The policy uses the mine head, but ratios are computed with the mine logits of the rollout."""
    torch.manual_seed(0)
    algo = ppo(net=Residual(8, 1, 0, policy_from_aux=3.0, encoder=CellCodes(), value_pool="mean_max"))
    with started(algo, minesweeper(first_click="uniform"), tmp_path) as learning:
        learning.groups[0].collect(learning.net, learning.net, 1.0, 1.0, learning.random)
    batch = next(learning.groups[0].minibatches(1, learning.random))
    assert batch.aux_logits.shape[1:] == (4, 4)
    with torch.no_grad():
        learning.net.get_parameter("aux_head.weight").add_(1.0)
    losses = ppo_losses(learning.net, normalized(batch), WEIGHTS, CPU)
    assert losses["approx_kl"].item() == pytest.approx(0, abs=1e-6)
    moved = ppo_losses(learning.net, normalized(batch)._replace(aux_logits=torch.zeros(64, 0)), WEIGHTS, CPU)
    assert moved["approx_kl"].item() > 0.01


def test_the_weight_of_the_entropy_falls_in_a_straight_line():
    weights = replace(PLAIN_WEIGHTS, ent_coef=0.1, ent_coef_end=0.02)
    assert [weights.at(progress).ent_coef for progress in (0.0, 0.5, 1.0, 1.5)] == pytest.approx(
        [0.1, 0.06, 0.02, 0.02]
    )
    assert WEIGHTS.at(0.7) == WEIGHTS


def test_rows_are_logged_at_every_update_and_average_over_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = spy_on_losses(monkeypatch)
    fit(ppo(eval_every=256), minesweeper(), tmp_path / "run")
    losses = [loss for _, loss in seen[-32:]]  # after those from which the time is estimated
    means = [np.mean(losses[first : first + 4]) for first in range(0, len(losses), 4)]
    assert read_column(tmp_path / "run", "losses/loss") == pytest.approx(means), "8 updates of 4 gradient steps"
    assert len(read_column(tmp_path / "run", "train/safe_revealed")) == 8
    assert read_column(tmp_path / "run", "train/truncated_share") == [0.0] * 8


def test_stalling_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    env = echo(lambda num_envs: EchoBatch(num_envs, rounds=2, truncates=True))
    fit(ppo(net=MLP([8]), losses=PLAIN_WEIGHTS), env, tmp_path / "run")
    assert [record.levelname for record in caplog.records if "may be stalling" in record.message] == ["WARNING"]
    caplog.clear()
    fit(ppo(), minesweeper(), tmp_path / "other")
    assert "may be stalling" not in caplog.text


def test_a_game_that_does_not_end_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    env = echo(lambda num_envs: EchoBatch(num_envs, rounds=5000))
    sizes = {"num_envs": 1, "steps_per_env": 1000, "total_steps": 2000, "eval_every": 2000, "epochs": 1}
    fit(ppo(net=MLP([8]), losses=PLAIN_WEIGHTS, **sizes), env, tmp_path / "run")
    found = [record.message for record in caplog.records if "may be stalling" in record.message]
    assert len(found) == 1
    assert found[0].startswith("no game ended in the latest updates (step 1000)")


def test_a_checkpoint_is_not_chosen_by_the_same_two_games(tmp_path: Path):
    env = versus()
    env.baselines = {"first": FirstMove()}
    settings: dict[str, Any] = {"losses": PLAIN_WEIGHTS}
    advice = "both players are deterministic.* set algo.eval_opening_plies .* or algo.eval_episodes=2"
    with pytest.raises(UserError, match=advice):
        ppo(**settings).check(env, no_curriculum())
    ppo(**settings, eval_opening_plies=2).check(env, no_curriculum())


def test_bfloat16_is_used_where_the_hardware_multiplies_it(monkeypatch: pytest.MonkeyPatch):
    for native, expected in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr("src.algos.compute.native_bfloat16", lambda on_gpu, native=native: native)
        assert Compute("cpu", "auto", compile=False).dtype == expected
        assert Compute("cpu", "float32", compile=False).dtype == torch.float32


def test_a_processor_multiplies_bfloat16_if_it_says_so(monkeypatch: pytest.MonkeyPatch):
    for flags, expected in (
        ("flags : sse amx_bf16 x", True),
        ("flags : sse avx512_bf16", True),
        ("flags : sse", False),
    ):
        monkeypatch.setattr(Path, "read_text", lambda _, flags=flags: flags)
        assert native_bfloat16.__wrapped__(False) is expected
    monkeypatch.setattr(Path, "read_text", Mock(side_effect=FileNotFoundError))
    assert native_bfloat16.__wrapped__(False) is False, "a system without /proc"


def test_the_blocks_of_a_tower_are_compiled_on_a_gpu(monkeypatch: pytest.MonkeyPatch):
    compiled: list[tuple[type, dict[str, Any]]] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module, **options: compiled.append((type(module), options)))
    net = Residual(8, 2, 1, value_pool="mean").build((4, 4), 16, aux=True)
    Compute("cpu", "float32", compile=True).compiled(net)
    assert compiled == []
    monkeypatch.setattr(Compute, "on_gpu", True)
    assert Compute("cpu", "float32", compile=True).compiled(net) is not net
    assert compiled == [(ResidualBlock, {"dynamic": False})] * 2


def test_networks_of_earlier_versions_are_loaded_by_their_names():
    env = minesweeper()
    net = CNN(8, value_pool="mean_max").build(env.observation_space.shape or (), env.game.num_actions, aux=True)
    saved = export_weights(net, env)
    old = {**saved, "weights": {name.replace("aux_", "mine_"): weight for name, weight in saved["weights"].items()}}
    assert "mine_head.weight" in old["weights"]
    loaded = load_network(CNN(8, value_pool="mean_max"), old, CPU)
    assert torch.equal(loaded.get_parameter("aux_head.weight"), net.get_parameter("aux_head.weight"))


def past_selves(**changes: Any) -> PastSelves:
    settings: dict[str, Any] = {"size": 3, "snapshot_every": 1, "current_share": 0.3, "priority": 1.0, "memory": 0.5}
    return PastSelves(**(settings | changes))


@pytest.mark.slow
def test_resuming_against_past_selves_is_exact(tmp_path: Path):
    """Killed between two evaluations, when games are in progress and results have been counted."""

    def learn(folder: Path, saves: int | None = None) -> PastSelves:
        opponent = past_selves()
        fit(ppo(total_steps=640, eval_every=128, losses=PLAIN_WEIGHTS), versus(opponent), folder, saves=saves)
        return opponent

    whole = learn(tmp_path / "whole")
    assert len(whole.snapshots) == 3, "no more than its size, of six"
    learn(tmp_path / "killed", saves=5)
    saved = saved_learner(tmp_path / "killed")
    kept = saved["past_selves"]["0"]
    assert len(kept["snapshots"]) > 1
    assert kept["recent"][0], "games that are not in the statistics yet"
    first, second = (one["weights"]["weights"] for one in kept["snapshots"][:2])
    assert any(not torch.equal(first[name], second[name]) for name in first), "the learner has changed in between"
    resumed = learn(tmp_path / "killed")
    for name in ("losses/loss", "eval/win_rate", "eval/elo", "train/episode_return", "train/past_selves_score"):
        column = read_column(tmp_path / "whole", name)
        assert read_column(tmp_path / "killed", name) == column
        assert len(column) > 2
    for one, other in zip(whole.snapshots, resumed.snapshots, strict=True):
        assert (one.number, one.points, one.games) == (other.number, other.points, other.games)
        assert all(torch.equal(one.weights["weights"][name], other.weights["weights"][name]) for name in first)


def test_a_snapshot_plays_as_the_learner_did(tmp_path: Path):
    with started(ppo(losses=PLAIN_WEIGHTS), versus(opponent := past_selves()), tmp_path) as trainer:
        before = {name: weight.clone() for name, weight in trainer.net.state_dict().items()}
        for weight in trainer.net.parameters():
            weight.data += 1
        trainer.opponents.update(trainer.weights(), trainer.snapshot)
    snapshots = [snapshot.agent.net.state_dict() for snapshot in opponent.snapshots]  # type: ignore[attr-defined]
    for name, weight in before.items():
        assert torch.allclose(snapshots[0][name], weight, atol=1e-3)
        assert torch.allclose(snapshots[1][name], weight + 1, atol=1e-3)
        assert torch.equal(opponent.player(CURRENT).net.state_dict()[name], trainer.net.state_dict()[name])  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_stage_against_past_selves_begins_with_its_first_snapshot(tmp_path: Path):
    opponent = past_selves()
    ladder = Curriculum({"random": versus()}, promote_at=0.01)
    fit(ppo(total_steps=384, eval_every=128, losses=PLAIN_WEIGHTS), versus(opponent), tmp_path, ladder)
    assert ladder.stage == 1
    assert [snapshot.number for snapshot in opponent.snapshots] == [0, 1, 2]


def test_loading_a_network_leaves_the_global_generator_alone():
    """Runs of sb3-contrib sample from it, and a resumed run may load a network at another time."""
    env = minesweeper()
    architecture = CNN(8, encoder=CellCodes(), value_pool="mean_max")
    saved, before = export_weights(build_net(architecture, env, None), env), torch.get_rng_state()
    load_network(architecture, saved, CPU)
    assert torch.equal(torch.get_rng_state(), before)


def test_codes_of_cells_are_not_read_as_quantities():
    env = MinesweeperEnv(make_config(compact=True))
    with pytest.raises(UserError, match=r"net_defaults\.encoder.*env\.config\.compact=false"):
        build_net(CNN(8, value_pool="mean_max"), env, None)
    assert build_net(CNN(8, encoder=CellCodes(), value_pool="mean_max"), env, None)


def test_quantities_on_a_board_are_read_as_such():
    """A game that declares no codes has one plane of its values, whether they are integers or fractions."""

    class Heights(EchoGame):
        num_actions = 16

    for dtype, values in ((np.float32, (0.25, 0.75)), (np.int8, (10, 11))):
        space = spaces.Box(0, 99, (4, 4), dtype)
        env: Any = SimpleNamespace(game=Heights(), observation_space=space)
        net = build_net(AutoNet(CNN(8, value_pool="mean_max"), MLP([8])), env, None)
        low, high = (net(torch.from_numpy(np.full((1, 4, 4), value, dtype))).policy for value in values)
        assert not torch.equal(low, high)
