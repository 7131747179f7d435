"""Compare the win rates of trained networks, alone and with exact inference, with the exact solver.

    python -m experiments.minesweeper_agents --board 16x30x99 --run experiments/minesweeper_16x30 --games 10000

Uniform first click with a safe neighborhood, fresh boards of a seed of their own, frozen weights. The difference to
the exact solver is paired: both play the same boards. With --outcomes a folder keeps every outcome, and agents that are
found there are not played again.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from experiments.weights import digest
from src.config.load import load_agent
from src.core.play.agent import Agent
from src.core.play.arena import evaluate, wilson_interval
from src.envs.minesweeper.agents import ExactAgent, HybridAgent, ValueNetwork
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.variant import Encoding

MIRRORED = {"play": {"symmetries": True}}
AGENTS: dict[str, Callable[[str], Agent]] = {
    "exact": lambda run: ExactAgent(),
    "network": lambda run: load_agent(run, "best"),
    "network_mirrored": lambda run: load_agent(run, "best", MIRRORED),
    "network_one_by_one": lambda run: load_agent(run, "best", {"play": {"symmetries": True, "strategy": None}}),
    "hybrid": lambda run: HybridAgent(value_net(run, None), 12),
    "hybrid_mirrored": lambda run: HybridAgent(value_net(run, MIRRORED), 12),
    "hybrid_narrow": lambda run: HybridAgent(value_net(run, MIRRORED), 4),
}


def value_net(run: str, changes: dict | None) -> ValueNetwork:
    agent = load_agent(run, "best", changes)
    assert isinstance(agent, ValueNetwork)
    return agent


def outcomes(name: str, board: str, run: str, games: int, seed: int, folder: Path | None) -> np.ndarray:
    """Return which games are won, (games,) bool."""
    weights = "solver" if name == "exact" else digest(Path(run))
    kept = folder / f"{board}_{name}_{weights}_{seed}_{games}.npy" if folder else None
    if kept is not None and kept.exists():
        return np.load(kept)
    rows, cols, mines = map(int, board.split("x"))
    game = Minesweeper(rows, cols, mines, first_click="uniform", flag_actions=False, encoding=Encoding(compact=True))
    won = np.array(evaluate(game, AGENTS[name](run), None, games, seed).outcomes) == 1
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, won)
    return won


def row(name: str, won: np.ndarray, reference: np.ndarray) -> str:
    low, high = wilson_interval(int(won.sum()), won.size)
    gain = won.astype(float) - reference
    half = 1.96 * gain.std() / np.sqrt(won.size)
    return (
        f"{name:>20} {won.size:>7} {won.mean():>8.2%} {f'{low:.2%}-{high:.2%}':>16} "
        f"{gain.mean():>+9.2%} {f'{gain.mean() - half:+.2%} to {gain.mean() + half:+.2%}':>20}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", required=True, help="rows x cols x mines")
    parser.add_argument("--run", required=True, help="directory of the run that trained the network")
    parser.add_argument("--agents", nargs="+", default=["network", "network_mirrored", "hybrid"], choices=list(AGENTS))
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=2028)
    parser.add_argument("--outcomes", type=Path, default=None, help="folder that keeps outcomes")
    args = parser.parse_args()

    def play(name: str) -> np.ndarray:
        return outcomes(name, args.board, args.run, args.games, args.seed, args.outcomes)

    reference = play("exact")
    print(f"{args.board}, seed {args.seed}; last two columns: won more than the exact solver on the same boards, 95%")
    print(row("exact", reference, reference))
    for name in args.agents:
        print(row(name, play(name), reference), flush=True)


if __name__ == "__main__":
    main()
