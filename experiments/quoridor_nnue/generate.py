"""Play games of a search against itself and save the positions with the score of the search and the outcome.

    python -m experiments.quoridor_nnue.generate --minutes 6 --workers 14 --out positions.npy
    python -m experiments.quoridor_nnue.generate --network network.safetensors --nodes 1500 --out more.npy

Without a network, the players are the level `hell` with noise; with one, the timed search with a limit of nodes.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from src.core.play.search import DECIDED, Evaluation
from src.core.seeding import generator
from src.envs.quoridor.nnue import load_network
from src.envs.quoridor.notation import Position
from src.envs.quoridor.records import PROVEN, RECORD, record_of
from src.envs.quoridor.rules import Quoridor
from src.envs.quoridor.thinker import SearchOptions, Thinker

WEIGHTS = {"path": 10, "endgame": 15, "walls": 2, "mobility": 3, "efficiency": 5}
GAME = Quoridor(size=9, walls=10, ply_limit=200, distance_maps=False)
MAX_OPENING = 8  # random plies at the beginning of a game
RANDOM_MOVES = 0.03  # fraction of random moves later in a game
NOISE = 4  # of the evaluation of `hell`, so that games from similar openings differ
PATIENCE = 60  # plies of a game

Search = Callable[[Position], tuple[int, int]]  # returns score and action


def hell(depth: int, seed: int) -> Search:
    searcher = GAME.searcher(Evaluation(WEIGHTS, NOISE, seed, True, PATIENCE))

    def search(state: Position) -> tuple[int, int]:
        found = searcher.search(state, depth, None, 1 << 60)
        assert found is not None
        return found.score, found.line[0]

    return search


def timed(network: Path, nodes: int) -> Search:
    thinker = Thinker(load_network(network), GAME.ply_limit, SearchOptions(table_bits=16))

    def search(state: Position) -> tuple[int, int]:
        *_, thought = thinker.think(state, nodes=nodes)
        thinker.remember(GAME.play(state, thought.line[0]))
        return thought.score, thought.line[0]

    return search


def random_move(state: Position, rng: np.random.Generator) -> int:
    """Return a random legal move, half of the time one near the opponent's path."""
    actions = GAME.legal_actions(state) if rng.random() < 0.5 else GAME.candidates(state, False)
    return int(rng.choice(actions))


def play_game(search: Search, rng: np.random.Generator) -> np.ndarray:
    """Return the positions of a game, which ends when a search proves a win."""
    state, opening, rows, outcome = GAME.initial(rng), rng.integers(0, MAX_OPENING + 1), [], None
    while (outcome := GAME.outcome(state)) is None:
        if state.ply < opening:
            state = GAME.play(state, random_move(state, rng))
            continue
        score, action = search(state)
        if abs(score) > DECIDED:
            rows.append(record_of(state, PROVEN if score > 0 else -PROVEN))
            outcome = (1 if score > 0 else -1) * (1 - 2 * (state.ply % 2))
            break
        rows.append(record_of(state, score))
        state = GAME.play(state, random_move(state, rng) if rng.random() < RANDOM_MOVES else action)
    records = np.array(rows, RECORD)
    records["outcome"] = outcome * (1 - 2 * (records["ply"].astype(int) % 2))
    return records


def work(options: argparse.Namespace, worker: int, end: float, part: Path) -> None:
    rng, games = generator(options.seed, "nnue", worker), []
    search = timed(options.network, options.nodes) if options.network else hell(options.depth, options.seed + worker)
    while time.time() < end:
        games.append(play_game(search, rng))
    np.save(part, np.concatenate(games))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--depth", type=int, default=5, help="of the level hell")
    parser.add_argument("--nodes", type=int, default=1500, help="a move, with --network")
    parser.add_argument("--network", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    play_game(timed(options.network, 10) if options.network else hell(1, 0), generator(0, "compile"))
    end, context = time.time() + 60 * options.minutes, multiprocessing.get_context("spawn")
    parts = [options.out.with_suffix(f".{worker}.part.npy") for worker in range(options.workers)]
    workers = [context.Process(target=work, args=(options, i, end, part)) for i, part in enumerate(parts)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    records = np.concatenate([np.load(part) for part in parts if part.exists()])
    np.save(options.out, records)
    for part in parts:
        part.unlink(missing_ok=True)
    decisive = np.mean(records["outcome"] != 0)
    print(f"{len(records):,} positions in {options.out}, {decisive:.1%} of decisive games")


if __name__ == "__main__":
    main()
