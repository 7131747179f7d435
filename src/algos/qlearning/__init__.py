"""Tabular Q-learning: table, training and agent."""

from .learning import QLearning, update_q
from .policy import QTableAgent
from .ranking import RankingStore

__all__ = ["QLearning", "QTableAgent", "RankingStore", "update_q"]
