"""MaskablePPO of sb3-contrib for every game: environment adapter, network and training."""

from src.algos.maskable_ppo.adapter import MaskedVecEnv
from src.algos.maskable_ppo.learning import MaskablePPO
from src.algos.maskable_ppo.policy import MaskablePolicyAgent

__all__ = ["MaskablePPO", "MaskablePolicyAgent", "MaskedVecEnv"]
