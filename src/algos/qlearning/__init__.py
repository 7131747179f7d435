"""Tabular Q-learning: table, training and agent."""

from src.algos.qlearning.learning import QLearning, update_q
from src.algos.qlearning.policy import QTableAgent
from src.algos.qlearning.ranking import RankingStore

__all__ = ["QLearning", "QTableAgent", "RankingStore", "update_q"]
