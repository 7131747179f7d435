"""An action space that knows which of its actions are legal."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces


class MaskedDiscrete(spaces.Discrete):
    """`Discrete`, but `sample` draws a legal action if no mask is given, so that a random agent can play.

    Equal to the plain space; copied and pickled as one that is not seeded, because the mask belongs to one environment.
    """

    def __init__(self, n: int, legal: Callable[[], np.ndarray | None]) -> None:
        """`legal` returns the mask (n,) of the current position, None if there is none."""
        super().__init__(n)
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        if mask is None and probability is None and (legal := self._legal()) is not None:
            mask = legal.astype(np.int8)
        return super().sample(mask, probability)

    def __reduce__(self) -> tuple[type[spaces.Discrete], tuple[int]]:
        return spaces.Discrete, (int(self.n),)
