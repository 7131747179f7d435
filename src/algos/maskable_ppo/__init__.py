"""MaskablePPO of sb3-contrib for every game: environment adapter, policy, rollout buffer and training."""

from .adapter import MaskedVecEnv
from .learning import MaskablePPO

__all__ = ["MaskablePPO", "MaskedVecEnv"]
