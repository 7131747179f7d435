"""The agent of a Q-table: shortcuts first, then the greedy move."""

from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, Decision, Line
from ...core.play.game import Game, TabularGame, Trait, outcome_for_seat
from .ranking import RankingStore


class QTableAgent(Agent):
    """Deterministic: ties go to the lowest move of the actual position, not the canonical one."""

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC, Trait.ENUMERABLE})
    deterministic = True

    def __init__(self, store: RankingStore, shortcuts: bool) -> None:
        self.store, self.shortcuts = store, shortcuts

    @classmethod
    def load(cls, path: str, shortcuts: bool) -> "QTableAgent":
        return cls(RankingStore.import_json(Path(path)), shortcuts)

    def check(self, game: Game) -> None:
        super().check(game)
        assert isinstance(game, TabularGame)
        require(
            game.table_format == self.store.table_format,
            f"its table is of another game: {self.store.table_format}, not {game.table_format}",
        )

    def decide(self, game: TabularGame, view: Any, rng: np.random.Generator) -> Decision:  # type: ignore[override]
        """`info` has the rule that chose the move, the symmetry of the table lookup, and the best value."""
        values = action_values(self.store, game, view)
        best = max(values.values())
        rule, move = "greedy", min(action for action, value in values.items() if value == best)
        if self.shortcuts:
            if (win := winning_move(game, view)) is not None:
                rule, move = "win_in_1", win
            elif (block := blocking_move(game, view)) is not None:
                rule, move = "block_in_1", block
        return Decision(move, {"rule": rule, "transform": game.canonical(view).transform, "move": move, "best_q": best})

    def analyse(self, game: TabularGame, view: Any, count: int) -> list[Line]:  # type: ignore[override]
        """Rank moves by the table only; `decide` may prefer a shortcut."""
        values = action_values(self.store, game, view)
        ranked = sorted(values, key=lambda action: -values[action])[:count]
        return [Line(f"{values[action]:.2f}", (action,)) for action in ranked]


def action_values(store: RankingStore, game: TabularGame, state: Any) -> dict[int, float]:
    """Return the value of each legal move, 0 if never tried."""
    canonical = game.canonical(state)
    values = {action: store.get(canonical.key, canonical.moves[action]) for action in game.legal_actions(state)}
    return {action: 0.0 if value is None else value for action, value in values.items()}


def winning_move(game: TabularGame, state: Any) -> int | None:
    """Return the lowest move that wins at once."""
    winner = outcome_for_seat(game.to_move(state), 1)
    wins = (action for action in game.legal_actions(state) if game.outcome(game.play(state, action)) == winner)
    return next(wins, None)


def blocking_move(game: TabularGame, state: Any) -> int | None:
    """Return the lowest move that prevents a win of the opponent in one; None if there is no threat or no such move."""
    replies = {action: game.play(state, action) for action in game.legal_actions(state)}
    safe = [action for action, after in replies.items() if winning_move(game, after) is None]
    return safe[0] if 0 < len(safe) < len(replies) else None
