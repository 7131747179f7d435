"""Proximal policy optimisation over the legal actions (Schulman et al. 2017; Huang & Ontanon 2022 for the masks)."""

from .learning import PPO

__all__ = ["PPO"]
