"""Best times and statistics of a board, kept in the browser."""

import json

import numpy as np
from nicegui import ui

from ...envs.minesweeper.rules import neighbors
from .. import shell

# localStorage["minesweeper <board>"] = {games, wins, streak, longest, best: seconds, rate: 3BV a second}
_SCRIPT = """
window.minesweeperStatistics = {
  key: null,
  read() { try { return JSON.parse(localStorage.getItem(this.key)) || {}; } catch { return {}; } },
  add(won, seconds, bv) {
    const s = this.read(), count = name => Number(s[name]) || 0, rate = bv / (seconds = Math.max(seconds, .001));
    const streak = won ? count('streak') + 1 : 0;
    localStorage.setItem(this.key, JSON.stringify({
      games: count('games') + 1, wins: count('wins') + won, streak, longest: Math.max(streak, count('longest')),
      best: won ? Math.min(seconds, count('best') || Infinity) : count('best'),
      rate: won ? Math.max(rate, count('rate')) : count('rate')}));
    this.show();
  },
  show() {
    const s = this.read(), number = name => Number(s[name]) || 0, games = number('games'), wins = number('wins');
    const text = {games, wins: games ? `${wins} (${Math.round(100 * wins / games)}%)` : 0,
      streak: `${number('streak')}, longest ${number('longest')}`,
      best: number('best') ? `${number('best').toFixed(1)} s` : '-',
      rate: number('rate') ? number('rate').toFixed(2) : '-'};
    for (const [name, value] of Object.entries(text)) {
      const place = document.querySelector(`.ms-statistics [data-name=${name}]`);
      if (place) place.textContent = value;
    }
  },
  reset() { localStorage.removeItem(this.key); this.show(); },
};
"""
_TABLE = "<dl>" + "".join(
    f"<div><dt>{label}</dt><dd data-name={name}>-</dd></div>"
    for name, label in (
        *(("games", "games"), ("wins", "wins"), ("streak", "wins in a row"), ("best", "best time")),
        ("rate", "best 3BV/s"),
    )
) + "</dl>"  # fmt: skip
STYLE = """
.ms-statistics dl { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 0; }
.ms-statistics dt { color: var(--faint); font-size: .8rem; }
.ms-statistics dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
.ms-statistics .q-btn { min-height: 44px; }
"""
MEANING = "Games on this board without hints or odds, kept in this browser. 3BV: the clicks that the board needs."


class Statistics:
    def __init__(self) -> None:
        shell.add_style(STYLE)
        ui.run_javascript(_SCRIPT)
        with ui.element("section").classes("ms-statistics w-full").props('aria-label="statistics"'):
            ui.html(_TABLE, sanitize=False)
            with ui.row().classes("w-full items-center no-wrap"):
                ui.label(MEANING).classes("faint grow")
                reset = ui.button("Reset").props("flat no-caps").classes("reset-statistics")
                reset.on("click", js_handler="() => minesweeperStatistics.reset()")

    def show(self, board: str, no_guess: bool) -> None:
        """Show the statistics of a board size; those of boards without a guess are separate."""
        key = json.dumps(f"minesweeper {board}{' without a guess' if no_guess else ''}")
        ui.run_javascript(f"minesweeperStatistics.key = {key}; minesweeperStatistics.show()")

    def add(self, won: bool, seconds: float, bv: int) -> None:
        """Count a game of the board that is shown."""
        ui.run_javascript(f"minesweeperStatistics.add({int(won)}, {seconds:.3f}, {bv})")


def count_3bv(mines: np.ndarray) -> int:
    """Return how many clicks reveal all safe cells of (rows, cols) bool: openings, and numbers beside none."""
    rows, cols = mines.shape
    near = [cells[:degree] for cells, degree in zip(*neighbors(rows, cols), strict=True)]
    numbers = [np.count_nonzero(mines.flat[near[cell]]) for cell in range(mines.size)]
    open_, clicks = mines.ravel().copy(), 0  # mines count as open
    for start in [cell for cell in range(mines.size) if numbers[cell] == 0]:
        if open_[start]:
            continue
        clicks += 1
        open_[start], pending = True, [start]
        while pending:
            cell = pending.pop()
            if numbers[cell] == 0:
                pending += [int(other) for other in near[cell] if not open_[other]]
                open_[near[cell]] = True
    return clicks + int(np.count_nonzero(~open_))
