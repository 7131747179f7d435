"""Tabular Q-learning: the table, how it is learned, how it is played."""

from src.algos.qlearning.learning import QLearning, update_q
from src.algos.qlearning.policy import QTableAgent
from src.algos.qlearning.ranking import RankingStore

__all__ = ["QLearning", "QTableAgent", "RankingStore", "update_q"]
