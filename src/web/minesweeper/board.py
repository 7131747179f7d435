"""A Minesweeper board as SVG text."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from ...envs.minesweeper.variant import FLAGGED, HIDDEN

SIZE = 30  # of a cell
LEGEND = '<span class="faint">0% mine</span><div></div><span class="faint">100%, dotted: the best guess</span>'


@dataclass(frozen=True)
class Marks:
    odds: np.ndarray | None = None  # (rows, cols) mine probabilities, for hidden cells
    hint: int | None = None  # suggested reveal
    risky: bool = False  # the hint is a guess
    also: tuple[int, ...] = ()  # further safe cells
    proof: tuple[int, ...] = ()  # numbers that prove the hint
    cursor: int | None = None
    mines: np.ndarray | None = None  # (rows, cols) bool, once the game is over
    exploded: int | None = None
    quiet: np.ndarray | None = None  # (rows, cols) bool, cells whose odds are shown by their color alone
    best: int | None = None  # the cell to guess


def best_guess(visible: np.ndarray, odds: np.ndarray) -> int | None:
    """Return the hidden cell that is least likely a mine, or None if a cell is safe."""
    chances = np.where(visible == HIDDEN, odds, 2.0).ravel()
    cell = int(chances.argmin())
    return cell if 0.0 < chances[cell] < 1.0 else None


def repeated(visible: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Return (rows, cols) bool: hidden cells away from all numbers that repeat the odds of an earlier such cell."""
    rows, cols = visible.shape
    known = np.pad(visible >= 0, 1)
    near = np.any([known[r : r + rows, c : c + cols] for r in range(3) for c in range(3)], axis=0)
    quiet, seen = np.zeros_like(near), set()
    for cell in np.flatnonzero((visible == HIDDEN) & ~near):
        shown = percent(float(odds.flat[cell]))
        quiet.flat[cell] = shown in seen
        seen.add(shown)
    return quiet


def draw(visible: np.ndarray, marks: Marks | None = None) -> str:
    marks = marks or Marks()
    if marks.odds is not None:
        marks = replace(marks, quiet=repeated(visible, marks.odds), best=best_guess(visible, marks.odds))
    rows, cols = visible.shape
    cells = "".join(
        f'<g role="row">{"".join(_cell(visible, row * cols + col, marks) for col in range(cols))}</g>'
        for row in range(rows)
    )
    rings = f'<g data-part="rings">{"".join(_rings(cols, marks))}</g>'
    width, height = cols * SIZE + 2, rows * SIZE + 2
    return (
        f'<svg class="ms fitted" viewBox="-1 -1 {width} {height}" role="grid" aria-label="the board" '
        f'style="--aspect: {width / height:.4f}; --cols: {cols}; max-width: {1.7 * width:.0f}px">{cells}{rings}</svg>'
    )


def percent(chance: float) -> str:
    """Format as a whole percentage; 0 and 100 mean certain."""
    if chance in (0.0, 1.0):
        return f"{100 * chance:.0f}"
    return "<1" if chance < 0.005 else ">99" if chance >= 0.995 else f"{100 * chance:.0f}"


# Absolute coordinates: a transform per cell is many times slower to lay out.


def _cell(visible: np.ndarray, cell: int, marks: Marks) -> str:
    row, col = divmod(cell, visible.shape[1])
    value, x, y = int(visible[row, col]), col * SIZE, row * SIZE
    if value >= 0:
        name, body = str(value), f'<rect class="open" x="{x}" y="{y}" width="{SIZE}" height="{SIZE}"/>'
        if value:
            body += f'<text class="n n{value}" x="{x + 15}" y="{y + 21.5}">{value}</text>'
    else:
        mined = None if marks.mines is None else bool(marks.mines[row, col])  # None until the game is over
        name = "mine" if mined else "hidden"
        if value == FLAGGED:
            name = "wrong flag" if mined is False else "flag"
        odds = None if marks.odds is None or value == FLAGGED else float(marks.odds[row, col])
        mix = f"color-mix(in srgb, var(--odds-high) {100 * odds:.0f}%, var(--odds-low))" if odds is not None else ""
        tint = f' style="fill: {mix}"' if mix else ""
        kind = "bang" if cell == marks.exploded else "shut"
        body = f'<rect class="{kind}" x="{x + 1}" y="{y + 1}" width="28" height="28" rx="4"{tint}/>'
        if "flag" in name:
            body += f'<path class="flag" d="M{x + 11} {y + 6}v18m0 -18l10 4.5-10 4.5z"/>'
        if name == "wrong flag":
            body += f'<path class="wrong" d="M{x + 6} {y + 6}l18 18m0 -18l-18 18"/>'
        elif name == "mine":
            spikes = f"M{x + 15} {y + 5}v20m-10 -10h20m-17 -7l14 14m0 -14l-14 14"
            body += f'<path class="mine" d="{spikes}"/><circle class="mine" cx="{x + 15}" cy="{y + 15}" r="6"/>'
        elif name == "hidden" and odds is not None and not (marks.quiet is not None and marks.quiet[row, col]):
            body += f'<text class="odds" x="{x + 15}" y="{y + 18.8}">{escape(percent(odds))}</text>'
        if odds is not None:
            name += f", {escape(percent(odds))}% mine"
    return (
        f'<g data-id="cell-{cell}" tabindex="{-1 if cell else 0}" role="gridcell" '
        f'aria-label="row {row + 1}, column {col + 1}: {name}">{body}</g>'
    )


def _rings(cols: int, marks: Marks) -> Iterator[str]:
    """Yield the marks, drawn after the cells so that none is covered."""
    rings = [(cell, "proof") for cell in marks.proof]
    if marks.hint is not None:
        rings.append((marks.hint, "hint risky" if marks.risky else "hint"))
    if marks.best is not None and marks.hint is None:
        rings.append((marks.best, "best"))
    if marks.cursor is not None:
        rings.append((marks.cursor, "cursor"))
    for cell, kind in rings:
        x, y = cell % cols * SIZE + 2, cell // cols * SIZE + 2
        yield f'<rect class="{kind}" x="{x}" y="{y}" width="26" height="26" rx="5" pointer-events="none"/>'
    for cell in marks.also:
        x, y = cell % cols * SIZE + 24, cell // cols * SIZE + 6
        yield f'<circle class="also" cx="{x}" cy="{y}" r="3" pointer-events="none"/>'
