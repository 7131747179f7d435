"""Measure steps per second of Minesweeper, compared with Jumanji, by number of envs and by board.

    python -m experiments.bench.minesweeper_env

Random legal reveals with automatic resets on the CPU; the torch backend on the GPU if there is one, which
`experiments.bench.minesweeper_torch` measures alone. Ours hands out float32 planes (11 channels) or the compact int8
board, masks of reveals and flags, rewards and final observations; the sampling of actions is compiled too and timed
apart. Jumanji's game is the lighter one: no cascades, mines drawn before the first reveal, the board as int32.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import prange

from experiments.bench import minesweeper_torch
from experiments.bench.speed import Board, Row, Speed, measure, show, show_header
from src.core.kernels import jit
from src.envs.minesweeper.rules import GAME
from src.envs.minesweeper.vec_env import VecMinesweeper
from src.envs.splitmix import below

ENV_COUNTS = (1, 16, 64, 256, 1024, 4096, 8192)
BOARDS = ((8, 8, 10), (9, 9, 10), (16, 16, 40), (16, 30, 99), (32, 32, 200))


@jit(parallel=True)
def sample_reveals(masks: np.ndarray, cells: int, games: np.ndarray, actions: np.ndarray) -> None:
    """Sample uniformly among the legal reveals of each env."""
    for i in prange(actions.size):
        legal = 0
        for cell in range(cells):
            legal += masks[i, cell]
        rank = below(games[i], legal)
        for cell in range(cells):
            if masks[i, cell]:
                if rank == 0:
                    actions[i] = cell
                    break
                rank -= 1


def time_ours(board: Board, envs: int, seconds: float, repeats: int, compact: bool = False) -> Speed:
    vec = VecMinesweeper(envs, board.config("agent", compact))
    vec.reset(seed=0)
    actions, games = np.zeros(envs, np.int64), np.zeros(envs, GAME)
    games["random"] = np.random.default_rng(0).integers(2**64, size=envs, dtype=np.uint64)

    def sample() -> None:
        sample_reveals(vec.action_masks(), board.rows * board.cols, games, actions)

    return measure(sample, lambda: vec.step(actions), envs, seconds, repeats)


def time_jumanji(board: Board, envs: int, seconds: float, repeats: int) -> Speed:
    import jax
    from jumanji.environments import Minesweeper
    from jumanji.environments.logic.minesweeper.generator import UniformSamplingGenerator
    from jumanji.wrappers import VmapAutoResetWrapper

    generator = UniformSamplingGenerator(num_rows=board.rows, num_cols=board.cols, num_mines=board.mines)
    env = VmapAutoResetWrapper(Minesweeper(generator=generator))
    step, key = jax.jit(env.step), jax.random.PRNGKey(0)
    state, timestep = jax.jit(env.reset)(jax.random.split(key, envs))
    actions = None

    @jax.jit
    def choose(key: Any, masks: Any) -> Any:
        key, used = jax.random.split(key)
        legal = masks.reshape(envs, -1).cumsum(axis=1)
        rank = jax.random.randint(used, (envs, 1), 0, legal[:, -1:])
        cell = (legal <= rank).sum(axis=1)
        return key, jax.numpy.stack([cell // board.cols, cell % board.cols], axis=1)

    def sample() -> None:
        nonlocal key, actions
        key, actions = jax.block_until_ready(choose(key, timestep.observation.action_mask))

    def advance() -> None:
        nonlocal state, timestep
        state, timestep = jax.block_until_ready(step(state, actions))

    return measure(sample, advance, envs, seconds, repeats)


def rows(seconds: float) -> list[Row]:
    board, envs, repeats = Board(16, 16, 40), 1024, 3
    try:
        peer = time_jumanji(board, envs, seconds, repeats).median
    except ImportError:
        peer = None
    title = f"Minesweeper {board.rows}x{board.cols}, {envs} games"
    return [
        Row(f"{title}, {kind}", time_ours(board, envs, seconds, repeats, compact).median, "steps/s", "jumanji", peer)
        for kind, compact in (("float32", False), ("int8", True))
    ]


def compare(board: Board, envs: int, seconds: float, repeats: int) -> None:
    show_header(f"{board.rows}x{board.cols}, {board.mines} mines, {envs} envs", repeats)
    planes = time_ours(board, envs, seconds, repeats)
    show("ours, float32 planes", planes)
    compact = time_ours(board, envs, seconds, repeats, compact=True)
    show("ours, compact int8", compact)
    minesweeper_torch.compare(board, envs, seconds, repeats)
    try:
        peer = time_jumanji(board, envs, seconds, repeats)
    except ImportError as error:
        print(f"jumanji: not measured ({error}); pip install -e '.[bench]' brings it")
        return
    show("jumanji, jit + vmap", peer)
    print(
        f"ours / jumanji, medians: {planes.median / peer.median:.1f}x with float32 planes, "
        f"{compact.median / peer.median:.1f}x compact"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=1024, help="batch size of the comparison and of the board table")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--board", type=int, nargs=3, default=(16, 16, 40), metavar=("ROWS", "COLS", "MINES"))
    options = parser.parse_args(arguments)
    board = Board(*options.board)
    print(f"{numba.get_num_threads()} threads")
    compare(board, options.envs, options.seconds, options.repeats)
    show_header(f"{board.rows}x{board.cols}, {board.mines} mines, float32 planes, by envs", options.repeats)
    for envs in ENV_COUNTS:
        show(f"{envs} envs", time_ours(board, envs, options.seconds, options.repeats))
    if minesweeper_torch.device() == "cuda":
        minesweeper_torch.show_by_envs(board, options.seconds, options.repeats)
    show_header(f"{options.envs} envs, float32 planes, by board", options.repeats)
    for size in map(Board._make, BOARDS):
        show(
            f"{size.rows}x{size.cols}, {size.mines} mines",
            time_ours(size, options.envs, options.seconds, options.repeats),
        )


if __name__ == "__main__":
    main()
