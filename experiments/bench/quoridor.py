"""Measure Quoridor: positions per second compared with OpenSpiel, the time per move of the levels, and how much of its
time the master uses.

    python -m experiments.bench.quoridor
    python -m experiments.bench.quoridor --only-time [--moves 300] [--seconds 0.1]     # the master's time alone

Both count legal moves: perft(N) makes every position after N - 1 plies and asks each for its legal moves. One core.
OpenSpiel comes with the extra `bench`.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments.bench.speed import Row
from experiments.composition import composed
from src.algos.alphabeta import AlphaBetaAgent
from src.config.build import build
from src.core.play.arena import random_opening
from src.core.seeding import generator
from src.envs.quoridor.agents import MasterAgent
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.rules import Position
from src.envs.quoridor.search.timed_search import MAX_DEPTH

KNOWN = {1: 131, 2: 16_677, 3: 2_062_264, 4: 247_569_030}


class Timed(NamedTuple):
    nodes: int
    seconds: float

    @property
    def speed(self) -> float:
        return self.nodes / self.seconds


def timed(count: Callable[[], int], repeats: int) -> Timed:
    """Return the median of the repeats, after one warm-up."""
    nodes, seconds = count(), []
    for _ in range(repeats):
        began = time.perf_counter()
        count()
        seconds.append(time.perf_counter() - began)
    return Timed(nodes, statistics.median(seconds))


def show(name: str, result: Timed) -> None:
    print(f"  {name:<20}{result.nodes:>12,} nodes {result.seconds:>9.4f} s {result.speed:>14,.0f} nodes/s", flush=True)


def peer_perft(state: Any, depth: int) -> int:
    if depth == 1:
        return len(state.legal_actions())
    return sum(peer_perft(state.child(action), depth - 1) for action in state.legal_actions())


def rows(seconds: float, depth: int = 3) -> list[Row]:
    """Return positions per second, the median of five perft runs."""
    game = player("hell")[1]
    start = game.initial(np.random.default_rng(0))
    ours = timed(lambda: game.perft(start, depth), 5)
    try:
        import pyspiel
    except ImportError:
        peer = None
    else:
        peer_start = pyspiel.load_game(f"quoridor(board_size={game.size})").new_initial_state()
        peer = timed(lambda: peer_perft(peer_start, depth), 1).speed
    return [Row(f"Quoridor perft({depth})", ours.speed, "positions/s", "OpenSpiel", peer)]


def compare_perft(game: Quoridor, repeats: int) -> None:
    start = game.initial(np.random.default_rng(0))
    print(f"perft from the start, medians of {repeats}")
    for depth, known in KNOWN.items():
        ours = timed(lambda depth=depth: game.perft(start, depth), repeats)  # type: ignore[misc]
        assert ours.nodes == known, f"perft({depth}) gave {ours.nodes:,} instead of {known:,}"
        show(f"ours, perft({depth})", ours)
    try:
        import pyspiel
    except ImportError as error:
        print(f"  OpenSpiel: not measured ({error}); pip install -e '.[bench]' brings it")
        return
    peer_start = pyspiel.load_game(f"quoridor(board_size={game.size})").new_initial_state()
    ours, peer = timed(lambda: game.perft(start, 3), repeats), timed(lambda: peer_perft(peer_start, 3), repeats)
    show("OpenSpiel, perft(3)", peer)
    print(f"  ours / OpenSpiel at perft(3): {ours.speed / peer.speed:.1f}x")
    compare_rules(game, peer_start)


def compare_rules(game: Quoridor, peer_start: Any, games: int = 100) -> None:
    """Play random games in both programs and count the positions with the same legal moves."""
    rng, same, total = np.random.default_rng(0), 0, 0
    for _ in range(games):
        state, peer = game.initial(rng), peer_start.clone()
        while game.outcome(state) is None and not peer.is_terminal():
            names = {mirrored(game.move_name(state, action)): action for action in game.legal_actions(state)}
            theirs = {peer.action_to_string(action): action for action in peer.legal_actions()}
            total += 1
            same += names.keys() == theirs.keys()
            name = sorted(names.keys() & theirs.keys())[int(rng.integers(len(names.keys() & theirs.keys())))]
            state, _ = game.play(state, names[name]), peer.apply_action(theirs[name])
    print(f"  the same legal moves in {same:,} of {total:,} positions of {games} random games")


def mirrored(name: str) -> str:
    """Convert a move to OpenSpiel's notation, in which rank 1 is at the top."""
    rank = (9 if name.endswith(("h", "v")) else 10) - int(name[1])
    return f"{name[0]}{rank}{name[2:]}"


def player(difficulty: str, *overrides: str) -> tuple[AlphaBetaAgent, Quoridor]:
    cfg = composed("evaluate", "env=quoridor", "agent=alphabeta", f"agent.difficulty={difficulty}", *overrides)
    return build(cfg.agent, "agent"), build(cfg.env, "env").game


def middlegames(game: Quoridor, count: int) -> list[Position]:
    """Return positions after 4 random plies and 12 of the normal level."""
    rng, agent, found = np.random.default_rng(0), player("normal")[0], []
    for number in range(count):
        state = random_opening(game, 4, generator(0, "middlegame", number))
        for _ in range(12):
            action = agent.decide(game, state, rng).action
            assert action is not None
            state = game.play(state, action)
        found.append(state)
    return found


def measure_search(difficulty: str, repeats: int, *overrides: str) -> None:
    agent, game = player(difficulty, *overrides)
    rng, answers, depths, branching, nodes = np.random.default_rng(0), [], [], [], 0
    for state in middlegames(game, 10):
        info = agent.decide(game, state, rng).info
        result = timed(lambda state=state: int(agent.decide(game, state, rng).info["nodes"]), repeats)  # type: ignore[misc]
        answers.append(result.seconds)
        depths.append(info["depth"])
        branching.append(result.nodes ** (1 / info["depth"]))
        nodes += result.nodes
    print(
        f"  {' '.join([difficulty, *overrides]):<26} depth {min(depths)}-{max(depths)}: "
        f"median answer {statistics.median(answers) * 1000:.2f} ms, slowest {max(answers) * 1000:.2f} ms, "
        f"{nodes / len(answers):,.0f} nodes a move, {nodes / sum(answers):,.0f} nodes/s, "
        f"effective branching {statistics.median(branching):.1f}",
        flush=True,
    )


def measure_time(moves: int, seconds: float) -> None:
    """Play the master against itself from random openings; print how much of its time it uses and what ends a move."""
    cfg = composed("evaluate", "env=quoridor", "agent=master", f"agent.seconds={seconds!r}")
    game, rng = build(cfg.env, "env").game, np.random.default_rng(0)
    used: dict[str, list[float]] = {}  # shares of the time, by what ended the search
    games = 0
    while sum(map(len, used.values())) < moves:
        state = random_opening(game, 4, generator(0, "time", games))
        agents: list[MasterAgent] = [build(cfg.agent, "agent") for _ in range(2)]
        for agent in agents:
            agent.decide(game, state, rng)  # loads the kernels
        games += 1
        while game.outcome(state) is None:
            began = time.perf_counter()
            decision = agents[state.ply % 2].decide(game, state, rng)
            share = (time.perf_counter() - began) / seconds
            decided, depth = str(decision.info["score"]).partition("-in-")[::2], decision.info["depth"]
            if len(game.legal_actions(state)) == 1:
                cause = "a single legal move"
            elif decided[1]:
                cause = f"a proven {decided[0]}"
            else:
                cause = "the time" if depth < MAX_DEPTH else "the greatest depth"
            used.setdefault(cause, []).append(share)
            assert decision.action is not None
            state = game.play(state, decision.action)
    every = [share for shares in used.values() for share in shares]
    print(f"master with {seconds:g} s per move, {len(every)} moves of {games} games")
    for cause, shares in [("all", every), *used.items()]:
        under = sum(share < 0.5 for share in shares)
        print(
            f"  {cause:<20}{len(shares) / len(every):>7.1%} of the moves, {statistics.mean(shares):>7.1%} of the time "
            f"used, {under / len(every):>6.1%} of all moves under half of it",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--moves", type=int, default=300, help="of the master against itself, at least")
    parser.add_argument("--seconds", type=float, default=0.1, help="per move of the master")
    parser.add_argument("--only-time", action="store_true", help="measure the master's use of time alone")
    options = parser.parse_args()
    measure_time(options.moves, options.seconds)
    if options.only_time:
        return
    repeats = options.repeats
    compare_perft(player("hell")[1], repeats)
    print(f"search in ten middlegame positions, medians of {repeats}; branching is the depth's root of all nodes")
    for difficulty in ("easy", "normal", "hard", "hell"):
        measure_search(difficulty, repeats)
    measure_search("hell", repeats, "agent.nodes=200000")


if __name__ == "__main__":
    main()
