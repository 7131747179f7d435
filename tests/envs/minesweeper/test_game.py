"""Minesweeper as a `Game`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.reward import COMPONENTS, Reward
from src.envs.minesweeper.variant import MINE, Encoding
from src.envs.splitmix import seed_word
from tests.envs.minesweeper.making import make_env


def test_the_view_hides_the_mines() -> None:
    """Two boards that differ only in where hidden mines lie give the same view, and a view shares no memory."""
    game = Minesweeper(3, 4, 1, safe_neighborhood=False)
    views = [game.view(game.play(game.start(0, [mine]), 12 + 2)) for mine in (5, 4)]
    np.testing.assert_array_equal(views[0].visible, views[1].visible)
    assert views[0].mines == views[1].mines == 1
    assert set(vars(views[0])) == {"visible", "mines", "over"}
    lost = game.start(0, [5])
    view = game.view(lost)
    game.play(lost, 5)
    assert game.outcome(lost) == -1
    np.testing.assert_array_equal(game.view(lost).visible, view.visible)
    state = game.start(0, [5])
    view = game.view(state)
    view.visible[:] = 0
    assert game.outcome(state) is None
    assert (game.view(state).visible == -1).sum() == 11


def test_illegal_actions_are_refused_and_change_nothing() -> None:
    game = Minesweeper(3, 4, 1, safe_neighborhood=False)
    state = game.start(0, [5])
    before = game.view(state).visible
    for action, message in ((24, r"0\.\.23"), (-1, "-1")):
        with pytest.raises(UserError, match=message):
            game.play(state, action)
    assert game.episode_metrics(state)["steps"] == 0
    for action in (0, 12):
        state = game.play(state, action)
    np.testing.assert_array_equal(game.view(state).visible, before)
    assert (game.episode_metrics(state)["steps"], game.episode_metrics(state)["invalid_rate"]) == (2, 1.0)
    game.play(state, 5)
    assert game.legal_actions(game.view(state)) == []
    with pytest.raises(UserError, match="over"):
        game.play(state, 1)


def test_all_hidden_cells_are_allowed_unless_the_frontier_is_asked_for() -> None:
    """After a reveal in the corner of three rows, with four columns."""
    settings: dict[str, Any] = {"safe_neighborhood": False, "flag_actions": False}
    for game, allowed in (
        (Minesweeper(3, 4, 1, **settings), 11),
        (Minesweeper(3, 4, 1, frontier_mask=True, **settings), 3),
    ):
        assert game.sensible_mask(game.view(game.start(0, [5]))).sum() == allowed


def test_outcome_at_the_step_limit_is_neither_won_nor_lost() -> None:
    game = Minesweeper(3, 4, 1, safe_neighborhood=False, max_steps=2)
    state = game.start(0, [5])
    for action in (12 + 1, 12 + 1):
        assert game.outcome(state) is None
        game.play(state, action)
    assert game.outcome(state) == 0


@pytest.mark.parametrize("flag_actions", [False, True])
@pytest.mark.parametrize("frontier_mask", [False, True])
@pytest.mark.parametrize("first_click", ["agent", "uniform"])
def test_game_and_env_play_alike(first_click: str, frontier_mask: bool, flag_actions: bool) -> None:
    settings: dict[str, Any] = {"first_click": first_click, "mine_density": [0.1, 0.25], "max_steps": 30}
    settings |= {"frontier_mask": frontier_mask, "flag_actions": flag_actions}
    options = {"frontier": True, "remaining_mines_ratio": True, "progress": True}
    reward = Reward(use_flag_shaping=True)
    game = Minesweeper(6, 7, 5, encoding=Encoding(**options), reward=reward, **settings)
    env = make_env(rows=6, cols=7, mines=5, reward=reward, **settings, **options)
    rng = np.random.default_rng(0)
    for seed in range(10):
        observation, info = env.reset(seed=seed)
        state = game.initial(_FixedWord(seed))
        paid = dict.fromkeys(COMPONENTS, 0.0)
        while True:
            view = game.view(state)
            np.testing.assert_array_equal(game.observe(view), observation)
            outcome = game.outcome(state)
            if outcome is not None:
                break
            np.testing.assert_array_equal(game.sensible_mask(view), info["action_mask"])
            assert frontier_mask or game.legal_actions(view) == np.flatnonzero(info["action_mask"]).tolist()
            action = int(rng.integers(game.num_actions))  # also invalid ones
            state = game.play(state, action)
            observation, _, terminated, truncated, info = env.step(action)
            for name, amount in info["rewards"].items():
                paid[name] += amount
            assert (game.outcome(state) is not None) == (terminated or truncated)
        assert (outcome == 1) == info["won"]
        metrics = game.episode_metrics(state)
        assert metrics["avg_progress"] == info["safe_revealed"]
        assert metrics["invalid_rate"] == info["invalid_steps"] / info["steps"]
        assert {name: metrics[f"reward_{name}"] for name in COMPONENTS} == pytest.approx(paid)


class _FixedWord(np.random.Generator):
    """A generator that returns the generator word that an env derives from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(0))
        self.word = seed_word(seed)

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        return self.word


GOOD = {"rows": 4, "cols": 4, "mines": 2, "boards": [{"first": 0, "mines": [5, 15]}, {"first": 3, "mines": [12, 13]}]}


def write(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_fixed_starts(tmp_path: Path) -> None:
    game = Minesweeper(4, 4, 2)
    starts = game.fixed_starts(write(tmp_path / "boards.json", GOOD))
    assert len(starts) == 2
    assert np.flatnonzero(starts[0].boards.number[0] == MINE).tolist() == [5, 15]
    assert game.view(starts[0]).visible[0, 0] == 1
    assert (game.view(starts[0]).visible >= 0).sum() == 1
    assert game.outcome(starts[0]) is None
    assert (game.view(starts[1]).visible >= 0).sum() == 14, "the cascade of the first reveal is played"
    assert game.outcome(starts[1]) == 1, "and may win at once"
    banded = Minesweeper(4, 4, 1, mine_density=[0.1, 0.3])
    assert len(banded.fixed_starts(tmp_path / "boards.json")) == 2


def changed(*keys: Any, to: object) -> dict:
    data = json.loads(json.dumps(GOOD))
    target = data
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = to
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "not a JSON text"),
        ("[" * 100_000, "not a JSON text"),
        ([], "the file: expected an object, found a list"),
        ({"rows": 4, "cols": 4, "mines": 2}, "the file: 'boards' is missing"),
        (changed("rows", to="4"), "rows: expected a whole number, found a text"),
        (changed("rows", to=5), "rows, cols: a 5x4 board, but the game is played on 4x4"),
        (changed("mines", to=3), "mines: 3, but the game is played with 2"),
        (changed("boards", to=[]), "boards: the list is empty"),
        (changed("boards", 1, to=7), r"boards\[1\]: expected an object, found 7"),
        (changed("boards", 1, to={"mines": [1, 2]}), r"boards\[1\]: 'first' is missing"),
        (changed("boards", 0, "first", to=True), r"boards\[0\].first: expected a whole number, found true"),
        (changed("boards", 0, "first", to=16), r"boards\[0\].first: 16 is not a cell of a 4x4 board \(0..15\)"),
        (changed("boards", 1, "mines", to=None), r"boards\[1\].mines: expected a list, found null"),
        (changed("boards", 1, "mines", 0, to=-1), r"boards\[1\].mines\[0\]: -1 is not a cell"),
        (changed("boards", 0, "mines", to=[5, 5]), r"boards\[0\].mines\[1\]: 5 is listed twice"),
        (changed("boards", 0, "mines", to=[5, 0]), r"boards\[0\].mines\[1\]: 0 is also the first reveal"),
        (changed("boards", 0, "mines", to=[5]), r"boards\[0\].mines: 1 cells, but the file announces 2"),
    ],
)
def test_malformed_boards_are_refused_by_their_place(tmp_path: Path, data: object, message: str) -> None:
    path = write(tmp_path / "boards.json", data)
    with pytest.raises(UserError, match=f"boards.json: {message}"):
        Minesweeper(4, 4, 2).fixed_starts(path)


def test_unreadable_boards_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        Minesweeper(4, 4, 2).fixed_starts(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a JSON text"):
        Minesweeper(4, 4, 2).fixed_starts(tmp_path / "binary.json")
