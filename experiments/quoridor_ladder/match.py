"""One match of the ladder, in a process of its own."""

import json
from pathlib import Path

from experiments.bench.quoridor_matches import player
from src.core.files import write_atomic
from src.core.play.arena import evaluate


def play(first: str, second: str, games: int, seed: int, kept: Path) -> None:
    (agent, game), (opponent, _) = player(first), player(second)
    score = evaluate(game, agent, opponent, games, seed, opening_plies=4)
    write_atomic(kept, json.dumps(score.outcomes) + "\n")
    print(f"{first} against {second}: {score.total.wins}/{score.total.draws}/{score.total.losses}", flush=True)
