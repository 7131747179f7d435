"""Rate Quoridor agents by a round robin, colors swapped, each pair of games from its own random opening.

    python -m experiments.quoridor_ladder [--games 200] [--slow-games 40] [--jobs 8]

Every match is kept in results/ and not played again; table.md, ladder.png and the ladder of the page are written at the
end.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.quoridor_ladder.match import play
from src.core.files import write_atomic
from src.core.play.arena import Tally
from src.core.play.person_rating import write_ladder
from src.core.play.rating import Rating, Standings
from src.core.runs.report import standings_markdown

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLAYERS = ("master", "hell", "reference", "hard", "normal", "mcts", "easy", "runner", "random")
SLOW = {"master", "mcts"}
ANCHOR = "easy"
LEVELS = ROOT / "src/envs/quoridor/ladder.yaml"


def tally(kept: Path) -> Tally:
    """Return the results of the first player."""
    return Tally.from_outcomes(json.loads(kept.read_text()))


def draw(path: Path, rated: dict[str, Rating]) -> None:
    order = sorted(rated, key=lambda name: rated[name].elo)
    figure = Figure(figsize=(7, 3), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    half_widths = [rated[name].high - rated[name].elo for name in order]
    axes.errorbar([rated[name].elo for name in order], order, xerr=half_widths, fmt="o", capsize=3)
    axes.set(xlabel=f"Elo above {ANCHOR}, 95% interval")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="a match, an even number")
    parser.add_argument("--slow-games", type=int, default=40, help=f"a match of {', '.join(SLOW)}")
    parser.add_argument("--players", nargs="+", default=PLAYERS, choices=PLAYERS, help="only matches between these")
    parser.add_argument("--jobs", type=int, default=1, help="matches at a time")
    parser.add_argument("--seed", type=int, default=2030)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--only-report", action="store_true", help="of the matches that are there, play nothing")
    options = parser.parse_args()
    if options.games % 2 or options.slow_games % 2:
        parser.error("games are played in pairs with colors swapped: give an even number")
    matches = {}
    for pair in combinations(PLAYERS, 2):  # those of master, which take longest, begin first
        games = options.slow_games if SLOW & set(pair) else options.games
        matches[pair] = games, options.folder / "results" / f"{'_'.join(pair)}_{games}_{options.seed}.json"
    missing = {pair: match for pair, match in matches.items() if not match[1].exists()}
    missing = {pair: match for pair, match in missing.items() if set(pair) <= set(options.players)}
    if not options.only_report:
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            jobs = [pool.submit(play, *pair, games, options.seed, kept) for pair, (games, kept) in missing.items()]
            for job in as_completed(jobs):
                job.result()
    results = {pair: tally(kept) for pair, (_, kept) in matches.items() if kept.exists()}
    if {ANCHOR} - {name for pair in results for name in pair}:
        raise SystemExit(f"no match of {ANCHOR} is finished yet: there is nothing to report")
    standings = Standings(results, ANCHOR)
    write_atomic(options.folder / "table.md", standings_markdown(standings))
    draw(options.folder / "ladder.png", standings.ratings)
    if options.folder == HERE:
        write_ladder(LEVELS, standings.ratings, "python -m experiments.quoridor_ladder")
    print(standings_markdown(standings))


if __name__ == "__main__":
    main()
