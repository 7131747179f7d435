"""The torch environment plays the same games as the compiled rules."""

from typing import Any

import numpy as np
import pytest
import torch

from src.core.errors import UserError
from src.core.runs import checkpoint
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.torch_env import TorchMinesweeper
from src.envs.minesweeper.vec_env import VecMinesweeper
from tests.envs.minesweeper.making import BACKENDS, VARIANTS, make_batch, make_config, random_actions, set_boards
from tests.envs.test_vector_envs import assert_same
from tests.lab import python
from tests.marks import mostly_slow


def give_boards(theirs: VecMinesweeper, ours: TorchMinesweeper, which: np.ndarray) -> None:
    """Copy newly taken games from one environment to the other."""
    mines, chosen = torch.from_numpy(theirs.mine_mask()), torch.from_numpy(which)
    counts = torch.from_numpy(theirs._batch.boards.games["mines"].copy())
    if theirs.game.first_click == "uniform":
        # Any zero in sight opens the same cells as the first reveal; without one, a single cell is in sight.
        visible = torch.from_numpy(theirs._batch.boards.visible)
        set_boards(ours, mines, ((visible == 0).int() * 2 + (visible > 0).int()).argmax(1), chosen)
    else:
        games = ours._games
        ours._games = games._replace(
            mines=torch.where(chosen, counts, games.mines),
            safe_left=torch.where(chosen, theirs.game.cells - counts, games.safe_left),
        )


def give_mines_where_games_began(theirs: VecMinesweeper, ours: TorchMinesweeper, actions: np.ndarray) -> None:
    """Lay what the others' step has laid; where it also won the game at once, what was left hidden are the mines."""
    begins = ~ours._games.laid & (torch.from_numpy(actions) < theirs.game.cells)
    ended = theirs._batch.buffers.results["terminated"] | theirs._batch.buffers.results["truncated"]
    hidden = (theirs._batch.buffers.final_visible < 0).reshape(theirs.mine_mask().shape)
    mines = np.where(ended[:, None, None], hidden, theirs.mine_mask())
    set_boards(ours, torch.from_numpy(mines), None, begins)


def assert_same_step(theirs: VecMinesweeper, ours: TorchMinesweeper, actions: np.ndarray) -> dict[str, Any]:
    """Play an action (N,) in each game, or reveal several cells (N, H, W)."""
    *results, info = theirs.step(actions) if actions.ndim == 1 else theirs.step_many(actions)
    if theirs.game.first_click == "agent":
        give_mines_where_games_began(theirs, ours, actions)
    tensor = torch.from_numpy(actions)
    *tensors, our_info = ours.step(tensor) if actions.ndim == 1 else ours.step_many(tensor)
    assert all(isinstance(tensor, torch.Tensor) for tensor in tensors)
    assert_same(results[1:], tensors[1:])
    assert_same(info["rewards"], our_info["rewards"])
    ended = results[2] | results[3]
    assert_same([ended] * 2, [our_info["_final_obs"], our_info["_final_info"]])
    if ended.any():
        assert_same(info["final_info"], our_info["final_info"])
    for i in np.flatnonzero(ended):
        assert_same(info["final_obs"][i], our_info["final_obs"][i])
    give_boards(theirs, ours, ended)
    assert_same(results[0], ours._encode(ours._games))
    np.testing.assert_array_equal(tensors[0].numpy()[~ended], results[0][~ended])
    assert_same(info["action_mask"], ours.action_masks())
    assert_same(theirs.mine_mask(), ours.mine_mask())
    return info | {"ended": ended, "truncated": results[3]}


@pytest.mark.parametrize("variant", mostly_slow(list(VARIANTS), fast=3))
def test_torch_equals_numpy(variant: str) -> None:
    config = make_config(**VARIANTS[variant], max_steps=25)
    theirs, ours = VecMinesweeper(32, config), TorchMinesweeper(32, config, "cpu")
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space", "metadata"):
        assert getattr(ours, name) == getattr(theirs, name)
    _, info = theirs.reset(seed=3)
    ours.reset(seed=3)
    give_boards(theirs, ours, np.ones(32, bool))
    assert_same(info["action_mask"], ours.action_masks())
    rng, seen = np.random.default_rng(0), {"ended": 0, "truncated": 0, "invalid": 0, "won": 0}
    for step in range(150):
        if step % 40 == 39:
            for env in (theirs, ours):
                env.set_frontier_mask(step % 80 == 39)
        actions = random_actions(rng, theirs.action_masks())
        if step % 3 == 2 and config.first_click == "uniform" and not config.flag_actions:
            hidden, mines = theirs.action_masks().reshape(-1, config.H, config.W), theirs.mine_mask()
            actions = hidden & (rng.random(mines.shape) < np.where(mines, 0.05, 0.3))
            actions[:] |= hidden & ~(actions.any((1, 2), keepdims=True))  # at least one
        info = assert_same_step(theirs, ours, actions)
        seen["ended"] += int(info["ended"].sum())
        seen["truncated"] += int(info["truncated"].sum())
        seen["invalid"] += int((info["rewards"]["invalid"] < 0).sum())
        seen["won"] += int(np.sum(info.get("final_info", {}).get("won", 0)))
    assert min(seen["ended"], seen["invalid"]) > 50
    assert seen["won"] > 0
    assert seen["truncated"] > 0 or not config.flag_actions


def played(env: TorchMinesweeper | VecMinesweeper, steps: int, seed: int) -> list[Any]:
    """Return the results of random play, step by step."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        actions: Any = random_actions(rng, np.asarray(env.action_masks()))
        if isinstance(env, TorchMinesweeper):
            actions = torch.from_numpy(actions)
        seen.append((*env.step(actions), env.mine_mask()))
    return seen


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("variant", mostly_slow(list(VARIANTS), fast=2))
def test_a_saved_environment_resumes_exactly(variant: str, backend: str, tmp_path: Any) -> None:
    env, fresh = (make_batch(backend, 6, **VARIANTS[variant], max_steps=25) for _ in range(2))
    with pytest.raises(UserError, match="call reset"):
        env.state()
    env.reset(seed=11)
    played(env, 43, seed=0)
    env.set_frontier_mask(True)
    checkpoint.save(tmp_path / "env", env.state())
    expected = played(env, 30, seed=1)
    for other in (env, fresh):
        other.load_state(checkpoint.load(tmp_path / "env"))
        assert_same(played(other, 30, seed=1), expected)
    assert_same(env.reset(), fresh.reset())


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_saved_elsewhere_is_refused(backend: str) -> None:
    small, large = (make_batch(backend, 2, rows=rows, cols=5, mines=3) for rows in (4, 5))
    small.reset(seed=0)
    with pytest.raises(UserError, match=r"was saved with shape .* here"):
        large.load_state(small.state())


@pytest.mark.parametrize("variant", ["shipped", "the agent begins"])
def test_one_seed_one_course_of_games(variant: str) -> None:
    first, second = (TorchMinesweeper(5, make_config(**VARIANTS[variant], max_steps=30), "cpu") for _ in range(2))
    assert_same(first.reset(seed=2), second.reset(seed=2))
    assert_same(played(first, 80, seed=0), played(second, 80, seed=0))
    assert_same(first.reset(seed=2), TorchMinesweeper(5, first.config, "cpu").reset(seed=2))
    assert not torch.equal(first.reset()[0], first.reset(seed=3)[0]) or variant != "shipped"


def test_no_board_is_taken_twice() -> None:
    """Even if every game ends at once, and over many rounds of the pool."""
    config = make_config(H=16, W=16, mine_count=40, first_click="uniform", max_steps=1, compact=True)
    env, seen, taken = TorchMinesweeper(7, config, "cpu", pool=3), set(), 0
    env.reset(seed=0)
    for _ in range(40):
        seen |= {board.numpy().tobytes() for board in env.mine_mask()}
        taken += 7
        *_, info = env.step(torch.full((7,), 256, dtype=torch.int64))
        assert info["_final_obs"].all()
    assert len(seen) == taken


def test_games_are_taken_in_the_order_they_were_drawn() -> None:
    """Which boards come does not depend on when the pool is refilled."""
    config = make_config(H=9, W=9, mine_count=12, first_click="uniform", max_steps=40)
    boards = []
    for pool in (2, 5):
        env = TorchMinesweeper(4, config, "cpu", pool=pool)
        env.reset(seed=5)
        boards.append([step[-1] for step in played(env, 60, seed=0)])
    assert_same(*boards)


def excess(counts: np.ndarray, expected: np.ndarray | float) -> float:
    """Return the chi-square statistic over its degrees of freedom: about 1 if the counts are as expected."""
    return float((((counts - expected) ** 2) / expected).sum() / (counts.size - 1))


def test_every_set_of_allowed_cells_is_as_likely() -> None:
    count, allowed = 30_000, [2, 3, 6, 7, 10, 11]
    pool = TorchMinesweeper(1, make_config(rows=3, cols=4, mines=2), "cpu")._pool
    pool.generator.manual_seed(0)
    mines = pool.draw_mines(torch.full((count,), 4), torch.full((count,), 2)).flatten(1).double()
    assert mines[:, allowed].sum() == mines.sum() == 2 * count, "the first reveal and its neighbors are free"
    pairs = (mines.T @ mines).numpy()[np.ix_(allowed, allowed)]
    assert excess(pairs[np.triu_indices(6, 1)], count / 15) < 2
    amounts = torch.arange(count) % 3
    assert torch.equal(pool.draw_mines(torch.zeros_like(amounts), amounts).sum((1, 2)), amounts)


@pytest.mark.parametrize("safe_neighborhood", [True, False])
def test_boards_are_drawn_as_by_the_compiled_rules(safe_neighborhood: bool) -> None:
    """Mines a cell, mines a board and cells opened by the first reveal are as frequent."""
    config = make_config(
        rows=4, cols=5, mine_density=[0.15, 0.4], first_click="uniform", safe_neighborhood=safe_neighborhood
    )
    cells, mines, opened = (np.zeros((2, size)) for size in (20, 9, 20))
    envs: tuple[Any, Any] = TorchMinesweeper(2000, config, "cpu"), VecMinesweeper(2000, config)
    for which, env in enumerate(envs):
        env.reset(seed=1)
        for _ in range(10):
            observation = np.asarray(env.reset()[0])
            boards = np.asarray(env.mine_mask()).reshape(2000, 20)
            cells[which] += boards.sum(0)
            mines[which] += np.bincount(boards.sum(1), minlength=9)
            opened[which] += np.bincount(observation[:, 0].sum((1, 2)).astype(int), minlength=20)
    for ours, theirs in (cells, mines, opened):
        seen = ours + theirs > 0
        assert excess(ours[seen], (ours + theirs)[seen] / 2) < 1  # of about a half, as their mean leans to both


def test_the_first_reveal_is_safe_and_so_are_its_neighbors() -> None:
    env = TorchMinesweeper(210, make_config(rows=6, cols=7, mines=30), "cpu")
    env.reset(seed=0)
    assert not env.mine_mask().any()
    actions = torch.arange(210) % 42
    *_, info = env.step(actions)
    assert not info["_final_obs"].any()
    assert (env.mine_mask().sum((1, 2)) == 30).all()
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            row, col = (actions // 7 + down).clamp(0, 5), (actions % 7 + right).clamp(0, 6)
            assert not env.mine_mask()[torch.arange(210), row, col].any()
            assert (env._games.visible[torch.arange(210), row, col] >= 0).all()


def test_what_was_handed_out_stays_as_it_is() -> None:
    env = TorchMinesweeper(4, make_config(**VARIANTS["compact, reveals only"]), "cpu")
    observation, info = env.reset(seed=0)
    before = observation.clone(), info["action_mask"].clone()
    played(env, 20, seed=0)
    assert_same(before, (observation, info["action_mask"]))


@pytest.mark.slow
def test_a_step_can_be_compiled_whole() -> None:
    """Neither its course nor its shapes depend on the data."""
    env = TorchMinesweeper(4, make_config(**VARIANTS["everything on"]), "cpu")
    env.reset(seed=0)
    actions = torch.zeros(4, dtype=torch.int64)
    compiled = torch.compile(env.play, fullgraph=True, backend="eager")
    assert_same(compiled(env._games, env._taken, actions), env.play(env._games, env._taken, actions))


def test_actions_that_do_not_exist_are_refused_on_a_gpu_too() -> None:
    env = TorchMinesweeper(2, make_config(rows=5, cols=5, mines=4), "cpu")
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="out of bounds"):
        env.play(env._games, env._taken, torch.tensor([0, 50]))


def test_settings_that_make_no_sense_are_refused() -> None:
    config = make_config(rows=5, cols=5, mines=4)
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="no CUDA device"):
            TorchMinesweeper(2, config, "cuda")
    with pytest.raises(UserError, match="pool=1"):
        TorchMinesweeper(2, config, "cpu", pool=1)
    with pytest.raises(UserError, match="one whole number"):
        TorchMinesweeper(2, config, "cpu").reset(seed=[1, 2])
    with pytest.raises(UserError, match="do not fit"):
        TorchMinesweeper(2, make_config(rows=5, cols=5, mines=20), "cpu")
    with pytest.raises(UserError, match="backend=jax must be one of auto, numpy, torch"):
        MinesweeperEnv(config, backend="jax")  # type: ignore[arg-type]


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.reward import Reward
from src.envs.minesweeper.torch_env import TorchMinesweeper
board = {"H": 8, "W": 8, "mine_count": 10, "first_click": "uniform", "max_steps": 1000, "flag_actions": True}
env = TorchMinesweeper(3, EnvConfig(**board, reward=Reward(use_flag_shaping=True)), "cpu")
_, info = env.reset(seed=0)
print(tuple(env.step(info["action_mask"].int().argmax(1))[0].shape))
"""


@pytest.mark.slow
def test_it_runs_where_there_is_no_numba() -> None:
    assert python("-c", WITHOUT_NUMBA).stdout == "(3, 11, 8, 8)\n"
