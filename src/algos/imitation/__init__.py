"""Imitation learning from a solver."""

from .learning import Imitation

__all__ = ["Imitation"]
