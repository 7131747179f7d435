"""Imitation learning from a solver."""

from src.algos.imitation.learning import Imitation

__all__ = ["Imitation"]
