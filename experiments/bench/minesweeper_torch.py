"""Measure steps per second of Minesweeper in torch, on the GPU if there is one; needs no Numba or Jumanji.

    python -m experiments.bench.minesweeper_torch

Random legal reveals with automatic resets, sampled on the device; the environment plays the first reveal. Drawing new
boards is part of the steps. On a GPU, the step is measured as it is and compiled.
"""

import argparse
from collections.abc import Sequence

import torch

from experiments.bench.speed import Board, Speed, measure, show, show_header
from src.envs.minesweeper.torch_env import TorchMinesweeper

ENV_COUNTS = {"cpu": (1024,), "cuda": (1024, 4096, 16384, 65536)}


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def time_torch(board: Board, envs: int, seconds: float, repeats: int, *, compact: bool, compiled: bool) -> Speed:
    cells = board.rows * board.cols
    env = TorchMinesweeper(envs, board.config("uniform", compact), device())
    if compiled:
        env.play = torch.compile(env.play, fullgraph=True)  # type: ignore[method-assign]
    actions, mask = torch.zeros(envs, dtype=torch.int64), env.reset(seed=0)[1]["action_mask"]

    def sample() -> None:
        nonlocal actions
        chances = torch.rand(envs, cells, device=env.device)
        actions = torch.where(mask[:, :cells], chances, -1.0).argmax(1)
        wait()

    def step() -> None:
        nonlocal mask
        mask = env.step(actions)[-1]["action_mask"]
        wait()

    return measure(sample, step, envs, seconds, repeats)


def wait() -> None:
    """Synchronize with the GPU."""
    if device() == "cuda":
        torch.cuda.synchronize()


def compare(board: Board, envs: int, seconds: float, repeats: int) -> None:
    for compiled in (False, True) if device() == "cuda" else (False,):
        for compact in (False, True):
            name = f"torch {device()}, {'compact int8' if compact else 'float32 planes'}{', compiled' * compiled}"
            show(name, time_torch(board, envs, seconds, repeats, compact=compact, compiled=compiled))


def show_by_envs(board: Board, seconds: float, repeats: int) -> None:
    for envs in ENV_COUNTS[device()]:
        show_header(f"{board.rows}x{board.cols}, {board.mines} mines, {envs} envs in torch", repeats)
        compare(board, envs, seconds, repeats)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--board", type=int, nargs=3, default=(16, 16, 40), metavar=("ROWS", "COLS", "MINES"))
    options = parser.parse_args(arguments)
    print(f"{torch.get_num_threads()} threads" if device() == "cpu" else torch.cuda.get_device_name())
    show_by_envs(Board(*options.board), options.seconds, options.repeats)


if __name__ == "__main__":
    main()
