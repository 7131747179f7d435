"""What games of other libraries share: a position is written as the actions since the start."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.errors import UserError
from ..core.play.game import Trait, TwoPlayerGame

EMPTY, TEXT = "-", re.compile(r"-|\d{1,7}(?:,\d{1,7})*", re.ASCII)


@dataclass(frozen=True)
class Position:
    """A state of a library. Equal are those reached by the same actions: others that look alike may differ in what a
    library does not show, such as repetitions.
    """

    actions: tuple[int, ...]
    state: Any = field(compare=False, repr=False)


class LibraryGame(TwoPlayerGame[Position]):
    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})

    def write_position(self, state: Position) -> str:
        return ",".join(map(str, state.actions)) or EMPTY

    def read_position(self, text: str) -> Position:
        if not TEXT.fullmatch(text):
            raise UserError(f"{text!r} is not a position: write the numbers of all actions since the start, or {EMPTY}")
        state = self.initial(np.random.default_rng(0))
        for action in text.split(",") if text != EMPTY else ():
            state = self.play(state, int(action))
        return state
