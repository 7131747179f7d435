"""The vector environment equals N single environments."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from src.core.errors import UserError
from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.observation import encode
from src.envs.minesweeper.rules import WON, reveal
from src.envs.minesweeper.variant import FLAGGED, MINE
from src.envs.minesweeper.vec_env import PARALLEL_FROM, VecMinesweeper
from tests.envs.minesweeper.making import (
    BACKENDS,
    VARIANTS,
    make_batch,
    make_config,
    make_env,
    random_actions,
    to_backend,
)
from tests.envs.test_vector_envs import assert_same

NUMPY_VARIANTS = ["the agent begins", "everything on", "compact, reveals only", "the agent begins, compact"]


@pytest.mark.parametrize("count", [3, pytest.param(PARALLEL_FROM + 1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("variant", NUMPY_VARIANTS)
def test_batched_equals_single(variant: str, count: int) -> None:
    """Compared with Gymnasium's own vector environment of single ones."""
    config = VARIANTS[variant] | {"max_steps": 12}
    batch = VecMinesweeper(count, make_config(**config))
    singles: Any = SyncVectorEnv([lambda: make_env(**config)] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    assert batch.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(batch, name) == getattr(singles, name)
    (observations, info), (expected, expected_info) = batch.reset(seed=7), singles.reset(seed=7)
    assert_same([observations, info["action_mask"]], [expected, expected_info["action_mask"]])
    rng, seen = np.random.default_rng(0), np.zeros(3)
    for _ in range(20 if count > 3 else 400):
        actions = random_actions(rng, info["action_mask"])
        *results, info = batch.step(actions)
        *expected, expected_info = singles.step(actions)
        assert_same(results, expected)
        assert_same(info["action_mask"], [env.action_masks() for env in singles.envs])
        assert_same(batch.mine_mask(), [env.mine_mask() for env in singles.envs])
        ended = results[2] | results[3]
        rewards = expected_info["rewards"] if not ended.any() else expected_info["final_info"]["rewards"]
        for name, values in info["rewards"].items():
            parts = np.where(ended, rewards[name], expected_info.get("rewards", rewards)[name])
            np.testing.assert_array_equal(values, parts)
        if ended.any():
            assert_same([info["_final_obs"], info["_final_info"]], [ended, ended])
            for i in np.flatnonzero(ended):
                np.testing.assert_array_equal(info["final_obs"][i], expected_info["final_obs"][i])
            for name, values in info["final_info"].items():
                np.testing.assert_array_equal(values, np.where(ended, expected_info["final_info"][name], 0))
        seen += results[2].sum(), results[3].sum(), (info["rewards"]["invalid"] < 0).sum()
    assert min(seen[0], seen[2]) > 20
    assert seen[1] > 0 or not batch.game.flag_actions


@pytest.mark.parametrize("variant", NUMPY_VARIANTS)
def test_observations_kept_up_to_date_equal_those_made_anew(variant: str) -> None:
    batch = VecMinesweeper(4, make_config(**VARIANTS[variant], max_steps=40))
    rng = np.random.default_rng(1)
    observations, info = batch.reset(seed=0)
    for _ in range(400):
        observations, _, _, _, info = batch.step(random_actions(rng, info["action_mask"]))
        for i in range(4):
            visible = batch._batch.boards.visible[i].reshape(batch.game.rows, batch.game.cols)
            mines = int(batch._batch.boards.games["mines"][i])
            np.testing.assert_allclose(observations[i], expected_observation(batch.config, visible, mines), rtol=1e-6)
            np.testing.assert_array_equal(observations[i], encode(batch.game.encoding, visible, mines))


def expected_observation(config: EnvConfig, visible: np.ndarray, mines: int) -> np.ndarray:
    """Return the observation by its definition, in plain NumPy."""
    if config.compact:
        return visible
    planes = [visible >= 0, visible == FLAGGED, *(visible == number for number in range(9))]
    padded = np.pad(visible, 1, constant_values=-1)
    shifts = [padded[r : r + visible.shape[0], c : c + visible.shape[1]] for r in range(3) for c in range(3)]
    unflagged, flags = np.sum(visible == -1), np.sum(visible == FLAGGED)
    if config.frontier:
        planes.append((visible < 0) & np.any([shift >= 0 for shift in shifts], axis=0))
    if config.remaining_mines_ratio:
        planes.append(np.full(visible.shape, max(mines - flags, 0) / max(unflagged, 1)))
    if config.progress:
        planes.append(np.full(visible.shape, np.sum(visible >= 0) / (visible.size - mines)))
    return np.stack(planes).astype(np.float32)


@pytest.mark.parametrize("copy", [False, True])
def test_buffers_are_reused_unless_copies_are_asked_for(copy: bool) -> None:
    batch = make_env(rows=5, cols=5, mines=3).vectorize(2, copy=copy)
    first, info = batch.reset(seed=0)
    second, *_, later = batch.step(np.array([0, 24]))
    assert np.shares_memory(first, second) != copy
    assert np.shares_memory(info["action_mask"], later["action_mask"]) != copy
    assert first.any() != copy


@pytest.mark.parametrize("backend", BACKENDS)
def test_actions_that_do_not_exist_are_refused(backend: str) -> None:
    batch = make_batch(backend, 2, rows=5, cols=5, mines=4)
    with pytest.raises(UserError, match="call reset"):
        batch.step(to_backend(backend, np.array([0, 0])))
    batch.reset(seed=0)
    for actions, message in (
        ([0, 50], r"action 50 of env 1 does not exist: they are 0\.\.49"),
        ([0, 1, 2], r"shape \(3,\)"),
        ([1.9, 0.0], "must be integers|torch.float64"),
    ):
        with pytest.raises(UserError, match=message):
            batch.step(to_backend(backend, np.array(actions)))
    with pytest.raises(UserError, match="num_envs=0"):
        make_batch(backend, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_render(backend: str) -> None:
    batch = make_batch(backend, 2, rows=5, cols=5, mines=4, render_mode="ansi")
    batch.reset(seed=0)
    assert ["4 mines" in frame for frame in batch.render()] == [True, True]


REVEAL_ONLY: dict[str, Any] = {"rows": 6, "cols": 7, "mines": 7, "flag_actions": False, "first_click": "uniform"}


@pytest.mark.parametrize("changes", [{}, {"compact": True}, {"frontier_mask": True, "progress": True}], ids=str)
@pytest.mark.parametrize(("backend", "count"), [("numpy", 3), ("numpy", PARALLEL_FROM + 1), ("torch", 64)])
def test_revealing_one_cell_by_either_way_is_the_same_step(backend: str, count: int, changes: dict[str, Any]) -> None:
    ours, same = (make_batch(backend, count, **REVEAL_ONLY, **changes) for _ in range(2))
    _, info = ours.reset(seed=3)
    same.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(40):
        mask = np.asarray(info["action_mask"])
        actions = (rng.random(mask.shape) * mask).argmax(axis=1)
        cells = (np.arange(42) == actions[:, None]).reshape(-1, 6, 7)
        step = ours.step(to_backend(backend, actions))
        assert_same(step, same.step_many(to_backend(backend, cells)))
        info = step[4]


@pytest.mark.parametrize("count", [3, PARALLEL_FROM + 1])
def test_revealing_cells_together_is_revealing_them_one_by_one(count: int) -> None:
    """Compared with the rules called cell by cell on a copy of the boards; with a mine nothing is opened."""
    env, rng = make_batch("numpy", count, **REVEAL_ONLY, compact=True), np.random.default_rng(0)
    env.reset(seed=5)
    ended = lost = 0
    for _ in range(60):
        boards = env._batch.boards
        copy = boards._replace(**{name: getattr(boards, name).copy() for name in ("number", "visible", "games")})
        hidden, mines = copy.visible < 0, copy.number == MINE
        cells = hidden & (rng.random(hidden.shape) < np.where(mines, 0.01, 0.2))
        cells[np.arange(count), (hidden & ~mines).argmax(axis=1)] = True
        expected, opened = copy.visible.copy(), np.zeros(count)
        for i in range(count):
            if not (cells[i] & mines[i]).any():
                for cell in np.flatnonzero(cells[i]):
                    opened[i] += reveal(copy, i, cell) if copy.visible[i, cell] < 0 else 0
                expected[i] = copy.visible[i]
        observations, rewards, terminated, truncated, info = env.step_many(cells.reshape(-1, 6, 7))
        struck = (cells & mines).any(axis=1)
        won = copy.games["status"] == WON
        assert terminated.tolist() == (struck | won).tolist()
        assert not truncated.any()
        for i in range(count):
            shown = info["final_obs"][i] if terminated[i] else observations[i]
            assert shown.ravel().tolist() == expected[i].tolist()
        outcome = np.where(struck, -1.0, np.where(won, 1.0, -1e-4))
        np.testing.assert_allclose(rewards, 0.01 * opened + outcome)
        ended, lost = ended + int(terminated.sum()), lost + int(struck.sum())
    assert 0 < lost < ended


@pytest.mark.parametrize("backend", BACKENDS)
def test_cells_are_revealed_together_without_flags_only(backend: str) -> None:
    cells = to_backend(backend, np.ones((1, 6, 7), bool))
    with pytest.raises(UserError, match="call reset"):
        make_batch(backend, 1, **REVEAL_ONLY).step_many(cells)
    for changes in ({"flag_actions": True}, {"first_click": "agent"}):
        env = make_batch(backend, 1, **REVEAL_ONLY | changes)
        env.reset(seed=0)
        with pytest.raises(UserError, match="after the first click"):
            env.step_many(cells)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("frontier_mask", [False, True])
@pytest.mark.parametrize("first_click", ["agent", "uniform"])
def test_labels_are_the_mines_under_every_hidden_cell(first_click: str, frontier_mask: bool, backend: str) -> None:
    """With any mask a number is the count of labeled mines around it, and revealed cells have no label."""
    settings = {"compact": True, "first_click": first_click, "frontier_mask": frontier_mask}
    env, rng = make_batch(backend, 4, rows=5, cols=7, mines=6, **settings), np.random.default_rng(0)
    _, info = env.reset(seed=1)
    if first_click == "agent":
        assert (env.aux_targets() == -1).all(), "no mine is laid yet"
    checked = 0
    for _ in range(30):
        mask = np.asarray(info["action_mask"])
        observations, *_, info = env.step(to_backend(backend, (rng.random(mask.shape) * mask).argmax(axis=1)))
        for board, label in zip(np.asarray(observations), np.asarray(env.aux_targets()), strict=True):
            if (label >= 0).any():
                assert ((label == -1) == (board >= 0)).all()
                assert (label == 1).sum() == 6
                around = np.pad(label == 1, 1)
                for row, col in zip(*np.nonzero(board >= 0), strict=True):
                    assert around[row : row + 3, col : col + 3].sum() == board[row, col]
                    checked += 1
    assert checked > 100


def test_policy_masking_no_invalid_actions() -> None:
    """Actions sampled from the mask are never invalid."""
    batch = VecMinesweeper(32, make_config(rows=6, cols=6, mines=6, max_steps=60))
    batch.reset(seed=1)
    rng, invalid, ended = np.random.default_rng(0), 0, 0
    for _ in range(300):
        chances = rng.random((32, batch.game.num_actions))
        *_, info = batch.step(np.argmax(np.where(batch.action_masks(), chances, -1.0), axis=1))
        assert not np.any(info["rewards"]["invalid"])
        if "final_info" in info:
            invalid += int(info["final_info"]["invalid_steps"].sum())
            ended += int(info["_final_info"].sum())
    assert ended > 100
    assert invalid == 0
