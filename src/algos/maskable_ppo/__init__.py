"""MaskablePPO of sb3-contrib for every game: environment adapter, network and training."""

from .adapter import MaskedVecEnv
from .learning import MaskablePPO
from .policy import MaskablePolicyAgent

__all__ = ["MaskablePPO", "MaskablePolicyAgent", "MaskedVecEnv"]
