"""Learning from a teacher that knows what is right."""

from src.algos.imitation.learning import Imitation

__all__ = ["Imitation"]
