"""Scripted and searching players."""

from .bot import Bot, FirstUnit, Redeployed

__all__ = ["Bot", "FirstUnit", "Redeployed"]
