"""How learners play Minesweeper: cells that the network predicts to be safe are revealed together, in one step.

A `Strategy`; it works on the tensors of the learner, without importing torch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import require
from ...core.play.game import Game
from ...core.ranges import AboveZero, BelowOne, NonNegativeInt, check_fields

TASK = "mine"


@dataclass(frozen=True)
class RevealSafeCells:
    play_below: BelowOne  # mine probability below which the trained agent reveals all such cells; 0: one by one
    train_below: BelowOne  # the same in training
    rollout_fraction: AboveZero
    frontier_updates: NonNegativeInt  # first updates, restricted to cells next to a revealed one

    def __post_init__(self) -> None:
        check_fields(self)

    def overrides_policy(self) -> bool:
        return self.train_below > 0

    def training_steps(self, steps: int) -> int:
        return round(self.rollout_fraction * steps)

    def check(self, game: Game) -> None:
        predicts = game.aux_task is not None and game.aux_task.name == TASK
        require(predicts, "this strategy needs the mine probabilities of Minesweeper: set algo.play.strategy=null")

    def check_training(self, envs: Any) -> None:
        if self.overrides_policy():
            envs.config.require_multi_action()

    def begin_update(self, envs: Any, number: int) -> None:
        if self.frontier_updates > 0:
            envs.set_frontier_mask(number < self.frontier_updates or envs.config.frontier_mask)

    def step(self, envs: Any, actions: Any, aux: Any, masks: Any) -> tuple[Any, tuple[Any, ...]]:
        """Reveal all cells that are predicted safe, or the cell of the action if there are none."""
        safe = (aux.float().sigmoid() < self.train_below) & masks.view_as(aux)
        chosen = ~safe.flatten(1).any(1)
        sampled = masks.new_zeros(masks.shape).scatter_(1, actions[:, None], True).view_as(aux)
        cells = sampled.where(chosen.view(-1, 1, 1), safe)
        return chosen, envs.step_many(cells if hasattr(envs, "device") else cells.cpu().numpy())

    def plan(self, mask: np.ndarray, probability: np.ndarray) -> list[int]:
        """Return the safe cells, the safest first."""
        mines = probability.ravel()
        safe = np.flatnonzero(mask[: mines.size] & (mines < self.play_below))
        return [int(cell) for cell in safe[np.argsort(mines[safe])]]
