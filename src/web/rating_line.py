"""The rating of the person at this browser, which keeps it, and the level to play next."""

import json
from collections.abc import Callable
from functools import partial

from nicegui import ui

from ..core.play.person_rating import Ladder, PersonRating, read_rating

TIMEOUT = 30.0  # seconds until the browser answers


class RatingLine(ui.element):
    """`address` returns the address of a new game against a level."""

    def __init__(self, path: str, ladder: Ladder, address: Callable[[str], str]) -> None:
        super().__init__()
        self.ladder, self._address = ladder, address
        self._key = json.dumps(f"rating {path}")
        with self.classes("lab-rating").props('role=status aria-label="your rating"'):
            self._words = ui.label()
            self._level = ui.link("", "#").classes("lab-try")
        ui.timer(0, self.load, once=True)  # once the browser is connected

    async def load(self) -> PersonRating | None:
        """Show and return the rating; None if the browser does not answer."""
        try:
            kept = await ui.run_javascript(f"localStorage.getItem({self._key})", timeout=TIMEOUT)
        except TimeoutError:
            return None
        rating = read_rating(kept)
        self._show(rating)
        return rating

    def add(self, level: str, points: float) -> None:
        """Count a game. The rating is read again: another tab may have counted one meanwhile."""
        with self:
            ui.timer(0, partial(self._add, level, points), once=True)

    async def _add(self, level: str, points: float) -> None:
        if (before := await self.load()) is None:
            return
        after = before.after(self.ladder[level], points)
        ui.run_javascript(f"localStorage.setItem({self._key}, {json.dumps(json.dumps(after))})")
        self._show(after, f", {after.elo - before.elo:+.0f}")

    def _show(self, rating: PersonRating, change: str = "") -> None:
        games = f"({rating.games} game{'s' * (rating.games > 1)}{change})"
        known = f"Your rating {rating.elo:.0f} ± {rating.half_width:.0f} {games}"
        level = rating.suggested(self.ladder)
        self._words.text = known if rating.games else "You have no rating yet"
        self._level.text, self._level.props["href"] = f"Try: {level}", self._address(level)
