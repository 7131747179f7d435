"""Rate Quoridor agents by a round robin, colours swapped, each pair of games from its own random opening.

    python -m experiments.quoridor_ladder [--games 200] [--slow-games 40]

Every match is kept in results/ and not played again; table.md and ladder.png are written at the end.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.bench.quoridor_matches import player
from experiments.elo import Rating, ratings
from src.core.files import write_atomic
from src.core.play.arena import evaluate

HERE = Path(__file__).parent
PLAYERS = ("hell", "hard", "normal", "mcts", "runner", "easy", "random")
SLOW = {"mcts"}
ANCHOR = "easy"


def play(first: str, second: str, games: int, seed: int, kept: Path) -> None:
    (agent, game), (opponent, _) = player(first), player(second)
    score = evaluate(game, agent, opponent, games, seed, opening_plies=4)
    write_atomic(kept, json.dumps(score.outcomes) + "\n")
    print(f"{first} against {second}: {score.total.wins}/{score.total.draws}/{score.total.losses}", flush=True)


def points(kept: Path) -> np.ndarray:
    """Return the score of the first player from each opening in either seat, (games / 2, 2)."""
    return (np.array(json.loads(kept.read_text())).reshape(-1, 2) + 1) / 2


def table(rated: dict[str, Rating], results: dict[tuple[str, str], np.ndarray]) -> str:
    """Return rows by rating; a cell is the fraction of points that the row's player scored against the column's."""
    order = sorted(rated, key=lambda name: -rated[name].elo)
    shares = {pair: scored.mean() for pair, scored in results.items()}
    shares |= {(other, one): 1 - share for (one, other), share in shares.items()}
    lines = [f"| player | Elo (95%) | games | {' | '.join(order)} |", "|---" * (3 + len(order)) + "|"]
    for name in order:
        games = sum(scored.size for pair, scored in results.items() if name in pair)
        cells = " | ".join(f"{shares[name, other]:.1%}" if (name, other) in shares else "" for other in order)
        elo = f"{rated[name].elo:+.0f} ({rated[name].low:+.0f} to {rated[name].high:+.0f})"
        lines.append(f"| {name} | {elo} | {games:,} | {cells} |")
    return "\n".join(lines) + "\n"


def draw(path: Path, rated: dict[str, Rating]) -> None:
    order = sorted(rated, key=lambda name: rated[name].elo)
    figure = Figure(figsize=(7, 3), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    middle = np.array([rated[name].elo for name in order])
    reach = np.array([[rated[name].elo - rated[name].low, rated[name].high - rated[name].elo] for name in order])
    axes.errorbar(middle, order, xerr=reach.T, fmt="o", capsize=3)
    axes.set(xlabel=f"Elo above {ANCHOR}, 95% bootstrap interval")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="a match, an even number")
    parser.add_argument("--slow-games", type=int, default=40, help=f"a match of {', '.join(SLOW)}")
    parser.add_argument("--seed", type=int, default=2030)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--only-report", action="store_true", help="of the matches that are there, play nothing")
    options = parser.parse_args()
    if options.games % 2 or options.slow_games % 2:
        parser.error("games are played in pairs with colours swapped: give an even number")
    results = {}
    for pair in sorted(combinations(PLAYERS, 2), key=lambda pair: bool(SLOW & set(pair))):  # the slow ones last
        games = options.slow_games if SLOW & set(pair) else options.games
        kept = options.folder / "results" / f"{'_'.join(pair)}_{games}_{options.seed}.json"
        if not kept.exists() and not options.only_report:
            play(*pair, games, options.seed, kept)
        if kept.exists():
            results[pair] = points(kept)
    if {ANCHOR} - {name for pair in results for name in pair}:
        raise SystemExit(f"no match of {ANCHOR} is finished yet: there is nothing to report")
    rated = ratings(results, ANCHOR)
    write_atomic(options.folder / "table.md", table(rated, results))
    draw(options.folder / "ladder.png", rated)
    print(table(rated, results))


if __name__ == "__main__":
    main()
