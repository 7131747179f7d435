"""Deployment metrics under the names of the contract, and the counts for the diagnostics."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from .game import DeploymentGame
from .stepping import OWN

ACTIVE = "active"
PLAYERS = ("first", "second")  # by seat
COUNTS = ("episodes", "wins", "placements", "invalid", "steps", "deadlocks", "passes")
RUN_COUNTS = ("deadlocks", "passes")  # reported over the whole run; others since the last report


def episode_metrics(results: np.ndarray, games: np.ndarray, outcomes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the metrics of each finished episode (N,); runs log rates as means and counts as sums."""
    tried = np.maximum(results["placements"] + results["invalid"], 1)
    return {
        "deployment_valid_action_rate": results["placements"] / tried,
        "deployment_invalid_action_attempt_rate": results["invalid"] / tried,
        "deployment_steps_mean": games["deployment_steps"].astype(float),
        "deployment_deadlock_count": games["deadlocked"].astype(int),
        "deployment_pass_count": games["passes"].astype(int),
        "winrate_with_active_deployment": (outcomes == 1).astype(float),
    }


class DeploymentStats:
    """Totals over the finished episodes of a learner. Rejected actions are counted by the engine."""

    def __init__(self, game: DeploymentGame) -> None:
        self.game = game
        self.clear()

    def clear(self) -> None:
        slots, cells = self.game.world.units.size // 2, self.game.world.cells.size
        self.episodes = self.wins = self.placements = self.invalid = self.steps = self.deadlocks = self.passes = 0
        self.reported = dict.fromkeys(COUNTS, 0)  # at the last report
        self.earlier = dict.fromkeys(RUN_COUNTS, 0)  # of earlier batches of the same run
        self.unit_order = np.zeros((2, slots, slots), np.int64)  # by seat: unit slot of the n-th placement
        self.placed = np.zeros((2, slots, cells), np.int64)  # by seat and unit slot: placements on each cell
        self.survived = np.zeros((2, slots, cells), np.int64)  # units that survived
        self.damage = np.zeros((2, slots, cells), np.int64)  # damage dealt

    def add(self, results: np.ndarray, games: np.ndarray, units: np.ndarray, outcomes: np.ndarray) -> None:
        """Add episodes that ended: their RESULT, GAME and UNIT_STATE records and own outcomes, (M, ...).

        Episodes that the learner did not deploy are left out.
        """
        deployed = results["placement"] == OWN
        results, games, units, outcomes = results[deployed], games[deployed], units[deployed], outcomes[deployed]
        self.episodes += len(results)
        self.wins += int((outcomes == 1).sum())
        self.placements += int(results["placements"].sum())
        self.invalid += int(results["invalid"].sum())
        self.steps += int(games["deployment_steps"].sum())
        self.deadlocks += int(games["deadlocked"].sum())
        self.passes += int(games["passes"].sum())
        own = units.reshape(len(units), 2, units.shape[1] // 2)[np.arange(len(units)), results["seat"]]
        episode, slot = np.nonzero(own["deployed"])
        seat, unit = results["seat"][episode], own[episode, slot]
        np.add.at(self.unit_order, (seat, unit["order"], slot), 1)
        where = seat, slot, unit["start"]
        np.add.at(self.placed, where, 1)
        np.add.at(self.survived, where, unit["hp"] > 0)
        np.add.at(self.damage, where, unit["dealt"])

    def with_records(self, records: Mapping[str, np.ndarray]) -> "DeploymentStats":
        """Return statistics with these records instead."""
        other = DeploymentStats(self.game)
        vars(other).update(records)
        return other

    def saved(self) -> dict[str, Any]:
        """Return everything counted so far, for a checkpoint."""
        return {name: copy(value) for name, value in vars(self).items() if name != "game"}

    def load(self, saved: dict[str, Any]) -> None:
        vars(self).update({name: copy(value) for name, value in saved.items()})

    def recent(self) -> dict[str, int]:
        """Return the counts since the last call, and RUN_COUNTS since the run began; batches may be summed."""
        totals = {name: getattr(self, name) for name in COUNTS}
        recent = {name: totals[name] - self.reported[name] for name in COUNTS}
        self.reported = totals
        return recent | self.run_counts()

    def run_counts(self) -> dict[str, int]:
        """Return the counts that are reported over the whole run; counts of several batches may be summed."""
        return {name: getattr(self, name) + self.earlier[name] for name in RUN_COUNTS}

    def add_earlier(self, counts: Mapping[str, int]) -> None:
        """Add the `run_counts` of batches that this one replaces."""
        self.earlier = {name: self.earlier[name] + counts[name] for name in RUN_COUNTS}

    def episode_metrics(self, recent: Mapping[str, int] | None = None) -> dict[str, float]:
        """Return the metrics of the contract, or {} if no deployment was played: rates and means over recent episodes,
        counts over the whole run.
        """
        recent = self.recent() if recent is None else recent
        if self.game.deployment_type != ACTIVE or recent["episodes"] == 0:
            return {}
        tried = max(recent["placements"] + recent["invalid"], 1)
        return {
            "deployment_valid_action_rate": recent["placements"] / tried,
            "deployment_invalid_action_attempt_rate": recent["invalid"] / tried,
            "deployment_steps_mean": recent["steps"] / recent["episodes"],
            "deployment_deadlock_count": float(recent["deadlocks"]),
            "deployment_pass_count": float(recent["passes"]),
            "winrate_with_active_deployment": recent["wins"] / recent["episodes"],
        }

    def unit_slots(self, seat: int) -> np.ndarray:
        """Return how often each unit slot was chosen, (S,)."""
        return self.placed[seat].sum(axis=1)

    def hex_slots(self, seat: int) -> np.ndarray:
        """Return how often each hex slot was chosen, (H,)."""
        cells = self.game.world.hexes[seat]
        return np.where(cells >= 0, self.placed[seat].sum(axis=0)[cells], 0)

    def heat_map(self, seat: int) -> np.ndarray:
        """Return how often each hex was chosen, (rows, cols)."""
        return self.placed[seat].sum(axis=0).reshape(-1, self.game.world.columns)

    def correlations(self, seat: int) -> dict[str, float]:
        """Return the correlations of placement with survival and damage of a unit; nan if there is no variance."""
        world = self.game.world
        enemy_zone = world.hexes[1 - seat][world.hexes[1 - seat] >= 0]
        features = {
            "objective": world.to_objective.min(axis=0),
            "enemy_zone": world.distance[:, enemy_zone].min(axis=1),
        }
        weights = self.placed[seat].astype(float)
        results: dict[str, Any] = {"survival": self.survived[seat], "damage": self.damage[seat]}
        return {
            f"distance_to_{feature}/{result}": _correlation(np.broadcast_to(x, weights.shape), total, weights)
            for feature, x in features.items()
            for result, total in results.items()
        }

    def records(self) -> dict[str, np.ndarray]:
        """Return the placements of all episodes and their results; records of several batches may be summed."""
        return {name: getattr(self, name) for name in ("unit_order", "placed", "survived", "damage")}

    def diagnostics(self) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Return the correlations of placements with results under their metric names, and the counts of choices."""
        correlations: dict[str, float] = {}
        counts: dict[str, np.ndarray] = {}
        for seat, player in enumerate(PLAYERS):
            if self.placed[seat].any():
                found = {f"deployment_correlation/{player}/{name}": r for name, r in self.correlations(seat).items()}
                correlations |= {name: r for name, r in found.items() if not np.isnan(r)}
                counts[f"unit slot placed n-th, {player} player"] = self.unit_order[seat]
                counts[f"hex slots, {player} player"] = self.hex_slots(seat)
                counts[f"units placed on each hex, {player} player"] = self.heat_map(seat)
                counts[f"unit slots, {player} player"] = self.unit_slots(seat)
        return correlations, counts


def _correlation(x: np.ndarray, total: np.ndarray, weights: np.ndarray) -> float:
    """Return Pearson's correlation over the mean result of each unit slot and cell, weighted by how often it was
    chosen.
    """
    used = weights > 0
    x, y, w = x[used].astype(float), (total[used] / weights[used]), weights[used]
    if not w.size:
        return float("nan")
    dx, dy = x - np.average(x, weights=w), y - np.average(y, weights=w)
    spread = np.average(dx * dx, weights=w) * np.average(dy * dy, weights=w)
    return float(np.average(dx * dy, weights=w) / np.sqrt(spread)) if spread > 0 else float("nan")
