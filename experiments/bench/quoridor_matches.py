"""Play matches between Quoridor agents, colors swapped, each pair of games from its own random opening.

    python -m experiments.bench.quoridor_matches               # every match below, some minutes
    python -m experiments.bench.quoridor_matches --only hell   # those of one player

Each row is also what `python -m src.evaluate env=quoridor agent=... opponent=... opening_plies=4 episodes=...` prints.
"""

import argparse

from experiments.composition import composed
from src.config.build import build
from src.core.play.agent import Agent
from src.core.play.arena import evaluate
from src.core.play.game import Game
from src.core.runs.console import progress_bar
from src.core.runs.report import as_interval, as_percent

LEVELS = ("easy", "normal", "hard", "hell")
MATCHES = (
    *(("hell", "hard", 400), ("hard", "normal", 400), ("normal", "easy", 400)),
    *((level, "runner", 400) for level in reversed(LEVELS)),
    *((level, "random", 400) for level in reversed(LEVELS)),
    ("runner", "random", 400),
    *(("mcts", rival, 40) for rival in ("hell", "hard", "normal", "runner")),
)


def player(name: str) -> tuple[Agent, Game]:
    overrides = ["agent=alphabeta", f"agent.difficulty={name}"] if name in LEVELS else [f"agent={name}"]
    cfg = composed("evaluate", "env=quoridor", *overrides)
    return build(cfg.agent, "agent"), build(cfg.env, "env").game


def play(first: str, second: str, games: int, seed: int) -> str:
    """Play a match and return its row of the table."""
    (agent, game), (opponent, _) = player(first), player(second)
    with progress_bar(f"{first} - {second}", games) as advance:
        score = evaluate(game, agent, opponent, games, seed, opening_plies=4, on_progress=advance)
    tally = score.total
    results = f"{tally.wins}/{tally.draws}/{tally.losses}"
    return f"| {first} | {second} | {games} | {results} | {as_percent(tally.win_rate)} | {as_interval(tally)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=None, help="the matches of this player only, the one named first")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| player | against | games | won/drawn/lost | win rate | 95% interval |\n|---|---|---|---|---|---|")
    for first, second, games in MATCHES:
        if arguments.only in (None, first):
            print(play(first, second, games, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
