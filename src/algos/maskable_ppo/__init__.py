"""Masked PPO as sb3-contrib has it, over every game of ours: the environment adapter, the network, the learner."""

from src.algos.maskable_ppo.adapter import MaskedVecEnv
from src.algos.maskable_ppo.learning import MaskablePPO
from src.algos.maskable_ppo.policy import MaskablePolicyAgent

__all__ = ["MaskablePPO", "MaskablePolicyAgent", "MaskedVecEnv"]
