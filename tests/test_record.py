"""Games recorded as GIFs."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from src.core.play import arena
from src.core.play.agent import Agent, Decision, RandomAgent
from src.core.play.canvas import COLORS, Animation
from src.envs.minesweeper.game import Minesweeper
from src.envs.tictactoe.game import TicTacToe
from tests.core.fixed import Quitter
from tests.envs.quoridor.making import make_game
from tests.lab import ROOT, Lab

TICTACTOE = TicTacToe(symmetric=True)
SHIPPED = ROOT / "experiments" / "tictactoe_qlearning"


class Planner(Agent):
    """Reveals all hidden cells in one decision."""

    def decide(self, game, view, rng):
        first, *others = game.random_actions(view)
        return Decision(first, plan=others)


def durations(gif: bytes | Path) -> list[int]:
    image = Image.open(io.BytesIO(gif) if isinstance(gif, bytes) else gif)
    return [frame.info["duration"] for frame in ImageSequence.Iterator(image)]


def frames(gif: bytes) -> list[np.ndarray]:
    return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(Image.open(io.BytesIO(gif)))]


# Games to watch


@pytest.mark.parametrize("opening_plies", [0, 2])
def test_a_watched_game_is_the_one_that_is_evaluated(opening_plies: int):
    players = RandomAgent(), RandomAgent()
    score = arena.evaluate(TICTACTOE, *players, 12, seed=5, opening_plies=opening_plies)
    for number in range(12):
        states: list[str] = []
        seat, outcome = arena.watch(TICTACTOE, *players, number, 5, states.append, opening_plies)
        assert (seat, outcome) == (score.seats[number], score.outcomes[number])
        assert [9 - state.count(".") for state in states] == list(range(opening_plies, opening_plies + len(states)))
        assert TICTACTOE.outcome(states[-1]) is not None


def test_positions_within_a_plan_are_watched_too():
    game, seen = Minesweeper(4, 4, 3), []
    arena.watch(game, Planner(), None, 0, 0, lambda state: seen.append(int(state.boards.games[0]["safe_left"])))
    assert seen[0] == 13
    assert len(seen) > 2
    assert seen == sorted(seen, reverse=True)


def test_a_player_who_resigns_ends_the_game():
    states: list[str] = []
    assert arena.watch(TICTACTOE, Quitter(), RandomAgent(), 1, 0, states.append) == (1, -1)
    assert len(states) == 2


# The file


@pytest.mark.slow
def test_flat_colors_are_exact_and_frames_differ():
    animation, game = Animation(), make_game(5, 3)
    rng = np.random.default_rng(0)
    state, pictures = game.initial(rng), []
    for _ in range(12):
        pictures.append(game.image(state))
        animation.add(pictures[-1], 0.25)
        state = game.play(state, int(rng.choice(game.legal_actions(state))))
    animation.hold(2)
    data = animation.encode()
    assert durations(data) == [250] * 11 + [2000]
    assert Image.open(io.BytesIO(data)).info["loop"] == 0, "it repeats"
    for shown, drawn in zip(frames(data), pictures, strict=True):
        assert shown.shape == drawn.shape
        error = np.abs(shown.astype(int) - drawn).max(axis=2)
        assert (error == 0).mean() > 0.9
        assert error.max() < 40
    assert len(np.unique(np.concatenate([frame.reshape(-1, 3) for frame in frames(data)]), axis=0)) <= COLORS


def test_width_keeps_the_aspect_ratio():
    animation = Animation(width=50)
    animation.add(np.zeros((60, 100, 3), np.uint8), 1)
    assert Image.open(io.BytesIO(animation.encode())).size == (50, 30)


def test_pictures_of_different_sizes_share_a_canvas():
    animation = Animation()
    animation.add(np.zeros((20, 40, 3), np.uint8), 1)
    animation.add(np.zeros((30, 10, 3), np.uint8), 1)
    first, second = frames(animation.encode())
    assert first.shape == second.shape == (30, 40, 3)
    assert first[:20].max() == second[:, :10].max() == 0
    assert first[20:].min() == second[:, 10:].min() == 255


def test_equal_frames_are_stored_once_and_shown_as_long():
    animation = Animation()
    for value in (0, 0, 200):
        animation.add(np.full((9, 9, 3), value, np.uint8), 0.1)
    assert durations(animation.encode()) == [200, 100]


# The command


def test_a_game_is_recorded(lab: Lab):
    shipped = ("agent=trained", f"agent.run={SHIPPED}", "opponent=random", "seed=1")
    done = lab.succeed("record", *shipped, "games=2", "output=new/games.gif", "fps=5", "width=120")
    first, second, size = done.stdout.splitlines()
    assert first.startswith("game 1: won as player 1, ")
    assert second.startswith("game 2: won as player 2, ")
    assert size.startswith("new/games.gif: ")
    counts = [int(line.split()[-2]) for line in (first, second)]
    path = lab.folder / "new" / "games.gif"
    expected = [200] * (counts[0] - 1) + [2000] + [200] * (counts[1] - 1) + [2000]
    assert durations(path) == expected
    assert Image.open(path).size == (120, 120)
    assert list(lab.folder.rglob("*")) == [path.parent, path], "nothing else is written"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file_and_replaces_it(lab: Lab):
    (lab.folder / "game.gif").write_text("old")
    files = []
    for seed in (3, 3, 4):
        lab.succeed("record", "env=minesweeper_8x8", "agent=rules", f"seed={seed}", "width=100")
        files.append((lab.folder / "game.gif").read_bytes())
    assert files[0] == files[1] != files[2]
    assert len(files[0]) < 100_000


def test_an_output_that_is_a_folder_is_refused(lab: Lab):
    (lab.folder / "folder.gif").mkdir()
    done = lab.refuse("record", "output=folder.gif")
    assert "folder.gif is not a regular file" in done.stderr
