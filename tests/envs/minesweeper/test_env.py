"""The single environment: details of rules and rewards, and the shipped configurations."""

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from src.config.build import build
from src.core.errors import UserError
from src.envs.minesweeper import rules
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.reward import Reward
from src.envs.minesweeper.torch_env import TorchMinesweeper
from src.envs.minesweeper.variant import HIDDEN
from src.envs.minesweeper.vec_env import VecMinesweeper
from tests.envs.minesweeper.making import BACKENDS, make_batch, make_env, to_backend
from tests.test_compositions import composed

STEP, CELL = -1e-4, 0.01


def make(text: str, **settings: Any) -> MinesweeperEnv:
    """Return an env in the middle of a game on a drawn board: `*` mine, `.` safe."""
    lines = text.split()
    cells = "".join(lines)
    env = make_env(rows=len(lines), cols=len(lines[0]), mines=cells.count("*"), safe_neighborhood=False, **settings)
    env.reset(seed=0)
    mines = np.array([i for i, sign in enumerate(cells) if sign == "*"], np.int64)
    rules.set_mines(env._batch.boards, 0, mines)
    return env


def board(env: MinesweeperEnv) -> np.ndarray:
    return env._batch.boards.visible[0].copy()


@pytest.mark.parametrize("safe_neighborhood", [False, True])
def test_env_initial_click_safe(safe_neighborhood: bool) -> None:
    mines = 25 - 9 if safe_neighborhood else 24
    env = make_env(rows=5, cols=5, mines=mines, safe_neighborhood=safe_neighborhood)
    for action in range(25):
        for seed in range(5):
            env.reset(seed=seed)
            assert not env.mine_mask().any()
            _, reward, _, _, info = env.step(action)
            assert reward > 0
            assert info["rewards"]["outcome"] >= 0
            row, col = divmod(action, 5)
            near = env.mine_mask()[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2]
            assert near.sum() == 0 if safe_neighborhood else not env.mine_mask()[row, col]
            assert env.mine_mask().sum() == mines


def test_flood_fill_counts_new_cells() -> None:
    #  . . 1 0 0    a reveal in the right columns opens nine cells, one of which may be open before
    #  . * 1 0 0
    #  . . 1 0 0
    env = make("..... .*... .....")
    _, reward, *_, info = env.step(4)
    assert np.flatnonzero(board(env) >= 0).tolist() == [2, 3, 4, 7, 8, 9, 12, 13, 14]
    assert reward == pytest.approx(9 * CELL + STEP)
    assert info["rewards"]["progress"] == pytest.approx(9 * CELL)
    env = make("..... .*... .....")
    assert env.step(7)[1] == pytest.approx(CELL + STEP)
    _, reward, *_, info = env.step(4)
    assert reward == pytest.approx(8 * CELL + STEP), "a cell that is open already pays no second time"
    assert info["safe_revealed"] == pytest.approx(9 / 14)


def test_win_loss_detection() -> None:
    """The last step has the last progress and the outcome, and no penalty."""
    env = make("*..")
    _, reward, terminated, truncated, info = env.step(2)
    assert (terminated, truncated, info["won"]) == (True, False, True)
    assert info["rewards"] == {"progress": pytest.approx(2 * CELL), "outcome": 1, "step": 0, "invalid": 0, "flag": 0}
    assert reward == pytest.approx(1 + 2 * CELL)
    env = make("*..")
    _, reward, terminated, truncated, info = env.step(0)
    assert (terminated, truncated, info["won"], reward) == (True, False, False, -1)
    assert board(env)[0] == HIDDEN


def test_action_mask_consistency() -> None:
    """The mask is what is hidden, for both kinds of action; an action is invalid exactly where it is false.

    The reward is the sum of its components.
    """
    env = make_env(rows=6, cols=7, mines=6, max_steps=200, reward=Reward(use_flag_shaping=True))
    rng = np.random.default_rng(0)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        ended = False
        while not ended:
            mask = env.action_masks()
            np.testing.assert_array_equal(mask, info["action_mask"])
            np.testing.assert_array_equal(mask, np.tile(board(env) < 0, 2))
            action = int(rng.integers(env.game.num_actions))
            _, reward, ended, _, info = env.step(action)
            assert (info["rewards"]["invalid"] == 0) == mask[action]
            assert reward == pytest.approx(sum(info["rewards"].values()))


def test_endless_flag_toggling_is_truncated_and_rewarded_like_a_loss() -> None:
    """Or toggling flags until the limit would cost less than risking a loss."""
    env = make("*.. ...", max_steps=3)
    steps = [env.step(6)[1:4] for _ in range(3)]
    assert [reward for reward, *_ in steps] == pytest.approx([STEP, STEP, STEP - 1])
    assert [ends for _, *ends in steps] == [[False, False]] * 2 + [[True, True]]
    with pytest.raises(UserError, match="call reset"):
        env.step(6)
    assert make("*..", max_steps=1).step(2)[2:4] == (True, False), "won at the limit"


def test_flags_before_the_first_reveal_are_settled_by_it() -> None:
    env = make_env(rows=3, cols=3, mines=7, safe_neighborhood=False, reward=Reward(use_flag_shaping=True))
    env.reset(seed=0)
    assert env.step(9 + 8)[4]["rewards"]["flag"] == 0
    _, _, _, _, info = env.step(0)
    sign = 1 if env.mine_mask()[2, 2] else -1
    assert info["rewards"]["flag"] == pytest.approx(sign * 0.002)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_channels_are_named_in_their_order(backend: str) -> None:
    """The planes of a board with a number revealed and a flag, found by their names; all others are empty."""
    numbers = [f"adjacent_counts_{number}" for number in range(9)]
    assert make_env().game.encoding.channels == ("revealed", "flags", *numbers)
    assert make_env(compact=True).game.encoding.channels == ()
    settings = {"rows": 1, "cols": 3, "mines": 1, "safe_neighborhood": False}
    batch = make_batch(backend, 1, **settings, frontier=True, remaining_mines_ratio=True, progress=True)
    channels = batch.config.encoding().channels
    assert channels[11:] == ("frontier", "remaining_mines_ratio", "progress")
    batch.reset(seed=0)
    batch.step(to_backend(backend, np.array([1])))  # the middle cell, beside the only mine
    observation = batch.step(to_backend(backend, np.array([3])))[0]  # a flag on the left one
    planes = dict(zip(channels, np.asarray(observation)[0, :, 0].tolist(), strict=True))
    expected: dict[str, list[float]]
    expected = {"revealed": [0, 1, 0], "flags": [1, 0, 0], "adjacent_counts_1": [0, 1, 0], "frontier": [1, 0, 1]}
    expected |= {"remaining_mines_ratio": [0, 0, 0], "progress": [0.5, 0.5, 0.5]}
    assert planes == {name: expected.get(name, [0, 0, 0]) for name in channels}


def test_frontier_mask() -> None:
    """It allows all hidden cells while there is no frontier, and every flag."""
    env = make("..... ..*.. .....", frontier_mask=True, frontier=True)
    assert env.action_masks().all()
    env.step(6)
    assert np.flatnonzero(env.action_masks()[:15]).tolist() == [0, 1, 2, 5, 7, 10, 11, 12]
    np.testing.assert_array_equal(env.action_masks()[15:], board(env) < 0)
    env.set_frontier_mask(False)
    assert np.flatnonzero(~env.action_masks()[:15]).tolist() == [6]
    env.set_frontier_mask(True)
    assert env.action_masks()[:15].sum() == 8
    observation, *_ = env.step(15 + 0)
    assert env.action_masks()[0], "flagged cells belong to the frontier"
    assert observation[11, 0, 0] == 1
    assert env.step(4)[4]["rewards"]["invalid"] == 0, "the mask is narrower than the rules"


def test_an_episode_is_never_over_before_it_begins() -> None:
    env = make_env(rows=1, cols=4, mines=1, first_click="uniform")
    for seed in range(50):
        env.reset(seed=seed)
        safe = np.flatnonzero(~env.mine_mask().ravel() & (board(env) < 0))
        assert not env.step(int(safe[0]))[4]["rewards"]["invalid"]


@pytest.mark.parametrize("settings", [{}, {"compact": True}, {"frontier": True, "progress": True}])
@pytest.mark.parametrize("first_click", ["agent", "uniform"])
def test_check_env(settings: dict, first_click: str) -> None:
    env = make_env(rows=6, cols=8, mines=9, first_click=first_click, render_mode="ansi", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Not able to test alternative render modes.*")
        check_env(env)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": 3, "cols": 3, "mines": 1}, "1 mines do not fit on a 3x3 board.*keeps 9 of its 9 cells.*at most 0"),
        ({"rows": 6, "cols": 6, "mines": 28}, "28 mines do not fit on a 6x6 board.*at most 27"),
        ({"rows": 4, "cols": 4, "mines": 16, "safe_neighborhood": False}, "16 mines do not fit on a 4x4 board"),
        ({"mines": 0}, "mine_count=0 must be"),
        ({"rows": 0}, "H=0 must be a whole number in"),
        ({"mine_density": [0.2, 0.1]}, r"mine_density=\[0.2, 0.1\]"),
        ({"mine_density": 0.2}, "mine_density=0.2"),
        ({"mine_density": ["a", "b"]}, "mine_density="),
        ({"mine_density": [0.5, 0.9]}, "57 mines do not fit on a 8x8 board"),
        ({"mine_density": [0.001, 0.01]}, "contains no whole number of mines on a 8x8 board.*at least 1/64 wide"),
        ({"mine_density": [0.13, 0.14]}, r"mine_density=\[0.13, 0.14\] contains no whole number of mines"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"first_click": "corner"}, "first_click=corner must be one of agent, uniform"),
        ({"compact": True, "progress": True}, "compact.*progress"),
        ({"render_mode": "human"}, "render_mode=human must be one of ansi"),
        (
            {"rows": 2, "cols": 2, "mines": 3, "safe_neighborhood": False, "first_click": "uniform"},
            "3 mines on a 2x2 board leave one safe cell",
        ),
    ],
)
def test_impossible_settings_are_refused_with_their_numbers(settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_env(**settings)


@pytest.mark.parametrize(
    ("rows", "cols", "band", "expected"),
    [
        (8, 8, [0.12, 0.2], (8, 12)),
        (16, 30, [0.12, 0.2], (58, 96)),
        (8, 8, [0.001, 0.1], (1, 6)),
        (5, 10, [0.14, 0.58], (7, 29)),  # in floating point 0.14 * 50 is above 7 and 0.58 * 50 below 29
        (4, 4, [0.25, 0.25], (4, 4)),
    ],
)
def test_the_mine_count_stays_inside_the_density_band(
    rows: int, cols: int, band: list[float], expected: tuple[int, int]
) -> None:
    env = make_env(rows=rows, cols=cols, mine_density=band)
    assert env.game.mine_range == expected


def test_every_backend_draws_the_whole_density_band_and_nothing_else() -> None:
    counts = set(range(8, 13))  # 12.5% to 18.75% of 64 cells
    settings = {"mine_density": [0.12, 0.2], "first_click": "uniform"}
    for backend in BACKENDS:
        batch = make_batch(backend, 500, **settings)
        batch.reset(seed=0)
        assert set(np.asarray(batch.mine_mask()).sum((1, 2)).tolist()) == counts, backend
    env, drawn = make_env(**settings), set()
    for seed in range(200):
        env.reset(seed=seed)
        drawn.add(int(env.mine_mask().sum()))
    assert drawn == counts


def test_unknown_settings_and_negative_penalties_are_named() -> None:
    with pytest.raises(TypeError, match="color"):
        make_env(color="red")
    with pytest.raises(UserError, match=r"step_penalty=-0\.1"):
        Reward(step_penalty=-0.1)


def env_of(*overrides: str) -> MinesweeperEnv:
    return build(composed(*overrides).env, "env")


@pytest.mark.parametrize(
    ("name", "size"), [("8x8", (8, 8, 10)), ("9x9", (9, 9, 10)), ("16x16", (16, 16, 40)), ("16x30", (16, 30, 99))]
)
def test_boards(name: str, size: tuple[int, int, int]) -> None:
    env = env_of(f"env=minesweeper_{name}")
    assert (env.game.rows, env.game.cols, env.game.mines) == size
    assert env.config.max_steps == 2 * env.game.cells
    assert env.observation_space.shape == (11, *size[:2])
    assert env.config.reward == Reward()
    assert list(env.baselines) == ["random", "rules", "heuristic", "exact"]
    env.reset(seed=0)
    assert board(env).max() >= 0, "the first click is played"


def test_overrides() -> None:
    env = env_of(
        *("env=minesweeper_16x16", "env.config.mine_density=[0.12,0.2]", "env.config.compact=true"),
        "reward=minesweeper_flags",
    )
    assert env.config.reward == Reward(use_flag_shaping=True)
    assert env.game.mine_range == (31, 51)
    assert env.observation_space.shape == (16, 16)


def test_backends() -> None:
    for backend, kind in (("auto", VecMinesweeper), ("numpy", VecMinesweeper), ("torch", TorchMinesweeper)):
        assert isinstance(env_of("env=minesweeper_16x16", f"env.backend={backend}").vectorize(2, "cpu"), kind)
