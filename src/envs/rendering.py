"""The render modes of the environments."""

from typing import Any

import numpy as np

from ..core.play.game import Game

RENDER_MODES = ("ansi", "rgb_array")
RENDER_FPS = 4


def rendered(game: Game, state: Any, mode: str | None) -> str | np.ndarray | None:
    """Return the position as text (ansi) or as an image (rgb_array), None without a render mode."""
    if mode == "rgb_array":
        return game.image(state)
    return None if mode is None else game.render(state)
