"""Estimate how much more a better guesser could win than the exact solver.

    python -m experiments.minesweeper_ceiling --board 16x16x40 --seconds 600

The solver plays perfectly but for its guesses among more completions than it can search. Wherever it guesses, each of
the other guesses it considered is played to the end on the same drawn completions. Two figures follow:

- `gain_by_halves`: what is won by taking the guess that did best on half of the completions, counted on the other half.
  That is no more than a player could win who plays out its guesses, and little where playouts are few;
- `gain_at_most`: what the best guess won on all of them: too much, as the luckiest of several is not the best.

Both are of one guess at a time, with the solver playing on, times the guesses of a game, among the guesses that the
solver considers at all (nine tenths as safe as the safest), and where the solver comes to. Intervals are over guesses,
taken as independent.
"""

import argparse
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from experiments.minesweeper_ceiling.playouts import Played, Player
from src.core.files import write_atomic
from src.core.play.arena import wilson_interval


def gain_by_halves(won: np.ndarray) -> float:
    """Return the gain over the first guess if one half of the playouts (guesses, playouts) chooses and the other
    evaluates.
    """
    halves = won[:, ::2].mean(1), won[:, 1::2].mean(1)
    return float(np.mean([counted[chosen.argmax()] - counted[0] for chosen, counted in (halves, halves[::-1])]))


def gain_at_most(won: np.ndarray) -> float:
    rates = won.mean(1)
    return float(rates.max() - rates[0])


def survey(games: list[Played]) -> dict[str, Any]:
    won = sum(game.won for game in games)
    return {
        "games": len(games),
        "won": won / len(games),
        "won_interval": wilson_interval(won, len(games)),
        "lost_beyond_help": sum(game.beyond_help for game in games) / len(games),
        "unsearched_guesses_per_game": sum(game.guesses for game in games) / len(games),
    }


def gains(games: list[Played], guesses_per_game: float) -> dict[str, Any]:
    """Return the gain in points of the win rate: the gain per guess times the guesses per game."""
    looked = [guess for game in games for guess in game.looked]
    if not looked:
        raise SystemExit("no guess was looked into: give it more --seconds")
    figures: dict[str, Any] = {
        "guesses_looked_into": len(looked),
        "won_after_guess": float(np.mean([guess.won[0].mean() for guess in looked])),
    }
    for gain in (gain_by_halves, gain_at_most):
        points = 100 * guesses_per_game * np.array([gain(guess.won) for guess in looked])
        half = 1.96 * points.std(ddof=1) / np.sqrt(points.size)
        figures[gain.__name__] = [float(points.mean()), float(points.mean() - half), float(points.mean() + half)]
    return figures


def table(folder: Path) -> str:
    """Return a row for each board of the results."""
    columns = ["board", "solver won (95%, games)", "lost in searched endings", "guesses per game", "looked into"]
    lines = [f"| {' | '.join(columns)} | by halves | at most |", "|---|---|---|---|---|---|---|"]
    found = (json.loads(path.read_text()) for path in folder.glob("*.json"))
    for row in sorted(found, key=lambda row: row["won"], reverse=True):
        low, high = row["won_interval"]
        won = f"{row['won']:.1%} ({100 * low:.1f}-{100 * high:.1f}, {row['games']:,})"
        guesses = f"{row['unsearched_guesses_per_game']:.2f} | {row['guesses_looked_into']}"
        points = (row["gain_by_halves"], row["gain_at_most"])
        gain = " | ".join(f"{mean:+.2f} ({low:+.2f} to {high:+.2f})" for mean, low, high in points)
        lines.append(f"| {row['board']} | {won} | {row['lost_beyond_help']:.1%} | {guesses} | {gain} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", default="16x16x40", help="rows x cols x mines")
    parser.add_argument("--survey", type=int, default=20_000, help="games by which guesses and losses are counted")
    parser.add_argument("--seconds", type=float, default=600, help="to look into guesses")
    parser.add_argument("--candidates", type=int, default=8, help="guesses played beside the solver's own")
    parser.add_argument("--playouts", type=int, default=600, help="of each guess")
    parser.add_argument("--seed", type=int, default=2031)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, default=None, help="instead of results/<board>.json beside this file")
    args = parser.parse_args()
    path = args.json or Path(__file__).parent / "results" / f"{args.board}.json"
    own = threading.local()

    rows, cols, mines = map(int, args.board.split("x"))

    def play(game: int, look: bool) -> Played | None:
        if not hasattr(own, "player"):
            own.player = Player(rows, cols, mines, args.candidates, args.playouts)
        return own.player.play(args.seed * 1_000_003 + game, look)

    def look(game: int) -> Played | None:
        return play(game, look=True) if time.monotonic() < until else None

    with ThreadPoolExecutor(args.threads) as pool:
        played = list(pool.map(lambda game: play(game, look=False), range(args.survey)))
        until = time.monotonic() + args.seconds
        looked = [game for game in pool.map(look, range(args.survey)) if game is not None]
    figures = {"board": args.board, "seed": args.seed, **survey([game for game in played if game is not None])}
    figures |= {"candidates": args.candidates, "playouts": args.playouts}
    figures |= gains(looked, figures["unsearched_guesses_per_game"])
    text = json.dumps(figures, indent=1)
    print(text)
    write_atomic(path, text + "\n")
    write_atomic(path.parent.parent / "table.md", table(path.parent))


if __name__ == "__main__":
    main()
