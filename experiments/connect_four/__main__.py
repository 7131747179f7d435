"""Train AlphaZero and DQN on Connect Four for a quarter of an hour each, and compare them with mcts and perfect play.

    python -m experiments.connect_four                    # both one after the other, about 50 minutes on two cores
    python -m experiments.connect_four --algos dqn        # one of them

A finished run in outputs/studies/connect_four is not repeated. Results are kept in results.json and shown in table.md.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments.connect_four.solver import move_values, table
from src import api
from src.core.files import write_atomic
from src.core.play.agent import Agent
from src.core.play.arena import Tally, random_opening, wilson_interval
from src.core.runs.report import as_interval, as_percent, as_percents, counts_of

HERE = Path(__file__).parent
RUNS = Path("outputs/studies/connect_four")
PLAYERS = {  # name in the table: algorithm, changes of the trained agent
    "AlphaZero, 64 simulations": ("alphazero", "null"),
    "AlphaZero, the network alone": ("alphazero", "{play: {simulations: 0}}"),
    "DQN": ("dqn", "null"),
}
OPPONENTS = {"random": 100, "mcts with 100 playouts": 100, "mcts with 1000 playouts": 40}  # games; the last one is slow
PLIES = (12, 20)  # fewest and most random plies before a position; earlier ones take minutes to solve


def run_directory(algo: str, seconds: int) -> Path:
    return RUNS / f"{algo}_{seconds}"


def train(algo: str, seconds: int) -> None:
    directory = run_directory(algo, seconds)
    if not (directory / "eval.json").exists():
        limit = [f"algo.seconds={seconds}", f"algo.total_steps={10**9}"]
        words = ["env=connect_four", f"algo={algo}", *limit, "logger=csv", f"hydra.run.dir={directory}"]
        subprocess.run([sys.executable, "-m", "src.train", *words], check=True)


def player(name: str, seconds: int) -> Agent:
    if name.startswith("mcts"):
        return api.make_agent("mcts", f"agent.simulations={name.split()[2]}")
    if name not in PLAYERS:
        return api.make_agent(name)
    algo, changes = PLAYERS[name]
    return api.make_agent("trained", f"agent.run={run_directory(algo, seconds)}", f"agent.changes={changes}")


def decisions(count: int, seed: int) -> Iterator[tuple[Any, set[int]]]:
    """Yield random positions in which some moves are better than others, and the best moves of each."""
    game, rng, entries = api.make("connect_four").unwrapped.game, np.random.default_rng(seed), table()
    while count:
        state = random_opening(game, int(rng.integers(PLIES[0], PLIES[1] + 1)), rng)
        values = move_values(state[game.to_move(state)], state.first | state.second, entries)
        best = max(values.values())
        if min(values.values()) < best:
            yield state, {move for move, value in values.items() if value == best}
            count -= 1


def perfect_moves(agent: Agent, positions: list[tuple[Any, set[int]]]) -> int:
    """Return in how many positions the agent plays a move that keeps the value of the position."""
    game, rng = api.make("connect_four").unwrapped.game, np.random.default_rng(0)
    return sum(agent.decide(game, game.view(state), rng).action in best for state, best in positions)


def as_table(results: dict[str, dict[str, Any]]) -> str:
    titles = [f"won/drawn/lost against {name}" for name in OPPONENTS]
    rows = ["| | " + " | ".join(titles) + " | perfect moves (95%) |", "|---|" + "---|" * (len(titles) + 1)]
    for name, found in results.items():
        tallies = [Tally(*found["games"].get(opponent, (0, 0, 0))) for opponent in OPPONENTS]
        cells = [
            f"{counts_of(one)}: {as_percent(one.win_rate)} ({as_interval(one)})" if one.games else "" for one in tallies
        ]
        low, high = wilson_interval(found["perfect"], found["positions"])
        share = as_percent(found["perfect"] / found["positions"])
        rows.append(f"| {name} | {' | '.join(cells)} | {share} ({as_percents(low, high)}) |")
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    algos = sorted({algo for algo, _ in PLAYERS.values()})
    parser.add_argument("--algos", nargs="+", default=algos, choices=algos)
    parser.add_argument("--seconds", type=int, default=900, help="of each training run")
    parser.add_argument("--folder", type=Path, default=HERE, help="for results.json and table.md")
    parser.add_argument("--positions", type=int, default=200, help="solved positions of 12 to 20 plies")
    options = parser.parse_args()
    for algo in options.algos:
        train(algo, options.seconds)
    positions = list(decisions(options.positions, seed=1))
    kept = options.folder / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    trained = [name for name, (algo, _) in PLAYERS.items() if algo in options.algos]
    for name in (*trained, "mcts with 1000 playouts", "random"):
        agent, games = player(name, options.seconds), {}
        for opponent, count in OPPONENTS.items() if name in PLAYERS else ():
            rival = player(opponent, options.seconds)
            tally = api.evaluate(agent, "connect_four", rival, episodes=count, opening_plies=4).total
            games[opponent] = [tally.wins, tally.draws, tally.losses]
            print(f"{name} against {opponent}: {counts_of(tally)}", flush=True)
        perfect = perfect_moves(agent, positions)
        print(f"{name}: {perfect} perfect moves of {len(positions)}", flush=True)
        results[name] = {"games": games, "perfect": perfect, "positions": len(positions)}
        write_atomic(kept, json.dumps(results, indent=1) + "\n")
    write_atomic(options.folder / "table.md", as_table(results))


if __name__ == "__main__":
    main()
