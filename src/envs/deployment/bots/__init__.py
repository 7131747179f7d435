"""Scripted and searching players."""

from .bot import Bot, Redeployed

__all__ = ["Bot", "Redeployed"]
