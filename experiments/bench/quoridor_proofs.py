"""Play out wins that `agent=master` claims to have proven: no defense may refute one.

    python -m experiments.bench.quoridor_proofs [--claims 500] [--nodes 2000] [--defense 20000] [--seed 0] [--jobs 2]

A claim is the first proven win in a game of the master against itself, after up to eight random plies. The claimant
goes on with `--nodes` positions per move against a master with `--defense`, which, where it is lost, considers every
legal move.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from experiments.bench.deployment_bots import player
from src.core.parallel import ordered_results
from src.core.play.game import outcome_for_seat
from src.core.play.search_interface import DECIDED, WIN
from src.core.seeding import draw, generator
from src.envs.quoridor.agents import MasterAgent
from src.envs.quoridor.game import Quoridor


class Claim(NamedTuple):
    position: str
    plies: int  # to the win, as claimed
    played: int  # until the end of the game
    won: bool


def claim(nodes: int, defense: int, seed: int, number: int) -> Claim:
    """Play games until a win is claimed, and play that one to its end."""
    game, agent = player("env=quoridor", "agent=master")
    assert isinstance(game, Quoridor)
    assert isinstance(agent, MasterAgent)
    rng = generator(seed, "claim", number)
    while True:
        search, state = agent.new_search(game), game.initial(rng)
        for _ in range(rng.integers(9)):
            state = game.play(state, draw(rng, game.legal_actions(state)))
        while game.outcome(state) is None:
            *_, result = search.deepen(state, nodes=nodes)
            if result.score > DECIDED:
                break
            state = game.play(state, result.line[0])
            search.remember(state)
        else:
            continue  # a draw
        claimant, end, defender = state.ply % 2, state, agent.new_search(game)
        while (outcome := game.outcome(end)) is None:
            own = end.ply % 2 == claimant
            *_, found = search.deepen(end, nodes=nodes) if own else defender.deepen(end, nodes=defense)
            end = game.play(end, found.line[0])
            for one in (search, defender):
                one.remember(end)
        won = outcome_for_seat(claimant, outcome) == 1
        return Claim(game.write_position(state), WIN - result.score, end.ply - state.ply, won)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=2000, help="positions per move of the claimant")
    parser.add_argument("--defense", type=int, default=20_000, help="positions per move of the defender")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    play = partial(claim, options.nodes, options.defense, options.seed)
    claims = list(ordered_results(play, range(options.claims), options.jobs))
    refuted, late = [one for one in claims if not one.won], [one for one in claims if one.played > one.plies]
    longest = max(claims, key=lambda one: one.plies)
    print(f"{len(claims)} claimed wins, {len(refuted)} refuted, {len(late)} won later than claimed")
    print(f"longest: {longest.plies} plies, {longest.position}")
    for one in refuted:
        print(f"refuted: win in {one.plies} claimed, {one.position}")


if __name__ == "__main__":
    main()
