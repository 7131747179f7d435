from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src.algos.imitation import Imitation, LabeledBatchStream, cross_entropy, value_loss
from src.algos.network_agent import InferenceConfig, NetworkAgent
from src.core.errors import UserError
from src.core.parallel import TaskPool
from src.core.play.curriculum import Curriculum, Mixture
from src.core.play.game import Game
from src.envs.deployment.bots.teacher import BotTeacher
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.net import CellCodes
from src.envs.minesweeper.teachers import ExactTeacher
from src.nets.boards import Residual, aux_loss
from src.nets.flat import MLP
from tests.algos.making import CPU, fit, no_curriculum, playing, read_column
from tests.envs.deployment.making import bot, make_env, small_game
from tests.envs.minesweeper.making import make_config


def imitation(**changes: Any) -> Imitation:
    net = {
        "net": Residual(8, 2, 2, encoder=CellCodes(), value_pool="mean_max"),
        "play": InferenceConfig(symmetries=False),
        "init_from": None,
    }
    sizes = {"total_steps": 640, "batch_size": 32, "chunk_size": 64, "window": 2, "repeats": 2, "augment": True}
    limits = {"seconds": None, "eval_every": 320, "eval_episodes": 20}
    optimizer = {
        "compute": CPU,
        "lr": 3e-3,
        "lr_warmup": 5,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "ema_decay": 0.9,
    }
    settings: dict[str, Any] = {"teacher": ExactTeacher(), "aux_coef": 1.0, "aux_cells": "labeled", "vf_coef": 0.1}
    return Imitation(**(settings | net | sizes | limits | optimizer | changes))


def minesweeper(size: int = 5, mines: int = 3, **settings: Any) -> MinesweeperEnv:
    options = {"first_click": "uniform", "flag_actions": False, "compact": True, **settings}
    return MinesweeperEnv(make_config(H=size, W=size, mine_count=mines, **options))


def test_the_losses_by_hand():
    policy = torch.log(torch.tensor([[1.0, 2.0, 1.0]]))
    right, hidden = torch.tensor([[True, True, False]]), torch.ones(1, 3, dtype=torch.bool)
    each, any_of_them = -(np.log(0.25) + np.log(0.5)) / 2, -np.log(0.25 + 0.5)
    assert cross_entropy(policy, right, hidden).item() == pytest.approx((each + any_of_them) / 2)
    logits, targets = torch.tensor([[[0.0, 9.0, 9.0]]]), torch.tensor([[[0.25, -1.0, -1.0]]])
    assert aux_loss(logits, targets, "labeled").item() == pytest.approx(np.log(2)), "revealed cells do not count"
    everywhere = (np.log(2) + 2 * np.log1p(np.exp(9))) / 3
    assert aux_loss(logits, targets, "all").item() == pytest.approx(everywhere), "they are safe"
    value, chance = torch.tensor([0.5, 0.0]), torch.tensor([1.0, -1.0])
    assert value_loss(value, chance).item() == pytest.approx(0.25), "what is not known does not count"


def test_the_mines_can_be_learned_on_revealed_cells_too(tmp_path: Path):
    hidden, everywhere = (
        read_column(tmp_path / cells, "losses/aux_loss")
        for cells in ("labeled", "all")
        if fit(imitation(aux_cells=cells, lr=1e-12), minesweeper(), tmp_path / cells)
    )
    assert everywhere != pytest.approx(hidden, rel=0.01)


def test_the_loss_is_the_weighted_sum_of_its_parts(tmp_path: Path):
    settings = {"total_steps": 32, "eval_every": 32, "eval_episodes": 1}
    fit(imitation(aux_coef=0.5, vf_coef=0.25, **settings), minesweeper(), tmp_path / "run")
    names = ("loss", "policy_loss", "aux_loss", "value_loss")
    total, policy, aux, value = (read_column(tmp_path / "run", f"losses/{name}")[0] for name in names)
    assert min(policy, aux, value) > 0
    assert total == pytest.approx(policy + 0.5 * aux + 0.25 * value)


def test_the_stream_is_the_same_wherever_it_is_entered():
    def make(number: int) -> list[np.ndarray]:
        return [np.full(4, number), np.arange(4) + 10 * number]

    settings: dict[str, Any] = {"rows": 4, "batch_size": 2, "window": 3, "repeats": 1, "device": "cpu"}
    with TaskPool(make, None) as pool:
        stream = LabeledBatchStream(pool, lambda number: number, 0, **settings)
        whole = [stream.batch(number) for number in range(8)]
        late = LabeledBatchStream(pool, lambda number: number, 0, **settings).batch(5)
    assert all(torch.equal(a, b) for a, b in zip(whole[5], late, strict=True))
    for number, (batch, row) in enumerate(whole):
        assert torch.equal(row // 10, batch), "fields stay together"
        assert batch.min() >= number // 2
        assert batch.max() < number // 2 + 3
    assert len({tuple(row.tolist()) for _, row in whole}) > 4, "batches differ"


@pytest.mark.slow
def test_it_comes_to_know_the_mines_and_plays_by_them(tmp_path: Path):
    env = minesweeper()
    fit(imitation(total_steps=9600, eval_every=9600, eval_episodes=300), env, tmp_path / "run")
    assert read_column(tmp_path / "run", "eval/win_rate")[-1] > 0.5, "random play wins about one game in ten"


def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path):
    whole = fit(imitation(), minesweeper(), tmp_path / "whole")
    fit(imitation(), minesweeper(), tmp_path / "killed", saves=7)
    resumed = fit(imitation(), minesweeper(), tmp_path / "killed")
    for a, b in zip(whole.net.parameters(), resumed.net.parameters(), strict=True):
        assert torch.equal(a, b)


def test_what_the_teacher_cannot_show_is_refused():
    with pytest.raises(UserError, match="no extra planes"):
        imitation().check(minesweeper(compact=False, frontier=True), no_curriculum())
    with pytest.raises(UserError, match=r"choose net@algo\.net=cnn or residual"):
        imitation(net=MLP([8])).check(minesweeper(), no_curriculum())
    with pytest.raises(UserError, match=r"must not be more than algo\.chunk_size=64"):
        imitation(batch_size=200)
    with pytest.raises(UserError, match="mixtures of environments, but no stages"):
        imitation().check(minesweeper(), Curriculum({"easy": minesweeper()}, 0.5))


def test_the_agent_reveals_in_one_go_what_it_is_sure_of(tmp_path: Path):
    env = minesweeper()
    agent = fit(imitation(play=playing(play_below=0.9)), env, tmp_path / "run")
    view = env.game.view(env.game.initial(np.random.default_rng(0)))
    decision = agent.decide(env.game, view, np.random.default_rng(0))
    mine = decision.info["mine_probability"].ravel()
    order = [decision.action, *decision.plan]
    hidden = np.flatnonzero(view.visible.ravel() < 0)
    assert set(order) == {int(cell) for cell in hidden if mine[cell] < 0.9}
    assert list(mine[order]) == sorted(mine[order]), "the surest first"
    without_aux = NetworkAgent(MLP([8]).build(view.visible.shape, env.game.num_actions), CPU, agent.play)
    decision = without_aux.decide(env.game, view, np.random.default_rng(0))
    assert decision.info.keys() == {"action_probability", "value"}
    assert not decision.plan


def test_a_network_that_only_reveals_plays_where_flags_are_allowed(tmp_path: Path):
    agent = fit(imitation(), minesweeper(), tmp_path / "run")
    flags = minesweeper(flag_actions=True, compact=False)
    agent.check(flags.game)
    view = flags.game.view(flags.game.initial(np.random.default_rng(1)))
    assert agent.decide(flags.game, view, np.random.default_rng(0)).action in range(25)
    with pytest.raises(UserError, match="another kind of board"):
        agent.check(minesweeper(compact=False, progress=True).game)


def test_a_game_without_an_auxiliary_task_learns_from_a_mixture(tmp_path: Path):
    """Labeled batches come from each environment in turn, and the policy moves toward the actions of the bot."""
    played = []

    class Recording(BotTeacher):
        def labeled_batch(self, game: Game, seed: int, number: int, rows: int) -> Any:
            played.append((number, game))
            return super().labeled_batch(game, seed, number, rows)

    env, other = make_env(), make_env(small_game(deployment_order_mode="alternated_p1_start"))
    algo = imitation(
        teacher=Recording(bot(), {"itself": bot()}, 0.05),
        net=MLP([32]),
        augment=False,
        total_steps=3200,
        eval_episodes=2,
    )
    algo.check(env, Mixture({"other": other}))
    fit(algo, env, tmp_path / "run", Mixture({"other": other}))
    assert all(game is (other.game if number % 2 else env.game) for number, game in played[2:])
    losses = read_column(tmp_path / "run", "losses/policy_loss")
    assert losses[-1] < 0.9 * losses[0]


def test_boards_of_different_sizes_are_refused_in_a_mixture():
    with pytest.raises(UserError, match="the same observations and actions in a mixture"):
        imitation().check(minesweeper(), Mixture({"larger": minesweeper(6)}))


def test_mirroring_a_game_that_is_not_symmetric_is_refused():
    algo = imitation(teacher=BotTeacher(bot(), {"itself": bot()}, 0.0), net=MLP([8]))
    with pytest.raises(UserError, match=r"algo\.augment=true mirrors the boards"):
        algo.check(make_env(), no_curriculum())
