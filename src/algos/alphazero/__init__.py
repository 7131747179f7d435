"""AlphaZero with Gumbel search (Silver et al. 2018; Danihelka et al. 2022)."""

from .learning import AlphaZero

__all__ = ["AlphaZero"]
