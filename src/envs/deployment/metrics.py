"""Deployment metrics under the names of the contract, and the counts for the diagnostics."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from .rules.world import World, zone_cells

OWN = -1  # in place of the number of a placement: the learner places its units itself
PLAYERS = ("first", "second")  # by seat
COUNTS = ("episodes", "wins", "legal", "invalid", "steps", "deadlocks", "passes")
RUN_COUNTS = ("deadlocks", "passes")  # reported over the whole run; others since the last report
RECORDS = ("unit_order", "placed", "survived", "damage")


def deployment_metrics(
    legal: Any, invalid: Any, steps: Any, deadlocks: Any, passes: Any, episodes: int = 1
) -> dict[str, Any]:
    """Return the metrics of a game or of several, whose counts are summed; numbers or arrays.

    `legal` and `invalid` are the attempted deployment actions, placements and passes, of both players.
    """
    tried = np.maximum(legal + invalid, 1)
    return {
        "deployment_valid_action_rate": legal / tried,
        "deployment_invalid_action_attempt_rate": invalid / tried,
        "deployment_steps_mean": steps / episodes,
        "deployment_deadlock_count": deadlocks,
        "deployment_pass_count": passes,
    }


class DeploymentStats:
    """Totals over the finished episodes of a learner. Rejected actions are counted by the engine."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clear()

    def clear(self) -> None:
        slots, cells = self.world.slots, self.world.cells.size
        self.counts = dict.fromkeys(COUNTS, 0)
        self.reported = dict.fromkeys(COUNTS, 0)  # at the last report
        self.earlier = dict.fromkeys(RUN_COUNTS, 0)  # of earlier batches of the same run
        self.unit_order = np.zeros((2, slots, slots), np.int64)  # by seat: unit slot of the n-th placement
        self.placed = np.zeros((2, slots, cells), np.int64)  # by seat and unit slot: placements on each cell
        self.survived = np.zeros((2, slots, cells), np.int64)  # units that survived
        self.damage = np.zeros((2, slots, cells), np.int64)  # damage dealt

    @property
    def episodes(self) -> int:
        return self.counts["episodes"]

    def add(self, results: np.ndarray, games: np.ndarray, units: np.ndarray) -> dict[str, np.ndarray]:
        """Add episodes that ended: their RESULT, GAME and UNIT_STATE records, (M, ...); return their final info.

        Episodes that the learner did not deploy are left out of the totals.
        """
        outcomes = np.where(games["deadlocked"], 0, games["outcome"]) * np.where(results["seat"] == 0, 1, -1)
        steps, passes = games["deployment_steps"], games["passes"]
        values = {"wins": outcomes == 1, "legal": steps + passes, "invalid": results["invalid"], "steps": steps}
        values |= {"deadlocks": games["deadlocked"].astype(int), "passes": passes.astype(int)}
        deployed = results["placement"] == OWN
        self.counts["episodes"] += int(deployed.sum())
        for name, value in values.items():
            self.counts[name] += int(value[deployed].sum())
        self._record_placements(results["seat"][deployed], units[deployed])
        wins = values.pop("wins")
        info = {"outcome": outcomes, "won": wins, "aborted": games["deadlocked"], **deployment_metrics(**values)}
        return info | {"winrate_with_active_deployment": wins.astype(float)}

    def _record_placements(self, seats: np.ndarray, units: np.ndarray) -> None:
        own = units.reshape(len(units), 2, units.shape[1] // 2)[np.arange(len(units)), seats]
        episode, slot = np.nonzero(own["deployed"])
        seat, unit = seats[episode], own[episode, slot]
        np.add.at(self.unit_order, (seat, unit["order"], slot), 1)
        where = seat, slot, unit["start"]
        np.add.at(self.placed, where, 1)
        np.add.at(self.survived, where, unit["hp"] > 0)
        np.add.at(self.damage, where, unit["dealt"])

    def saved(self) -> dict[str, Any]:
        """Return everything counted so far, for a checkpoint."""
        return {name: copy(value) for name, value in vars(self).items() if name != "world"}

    def load(self, saved: dict[str, Any]) -> None:
        vars(self).update({name: copy(value) for name, value in saved.items()})

    def recent(self) -> dict[str, int]:
        """Return the counts since the last call, and RUN_COUNTS since the run began; batches may be summed."""
        recent = {name: count - self.reported[name] for name, count in self.counts.items()}
        self.reported = dict(self.counts)
        return recent | self.run_counts()

    def run_counts(self) -> dict[str, int]:
        """Return the counts that are reported over the whole run; counts of several batches may be summed."""
        return {name: self.counts[name] + self.earlier[name] for name in RUN_COUNTS}

    def add_earlier(self, counts: Mapping[str, int]) -> None:
        """Add the `run_counts` of batches that this one replaces."""
        self.earlier = {name: self.earlier[name] + counts[name] for name in RUN_COUNTS}

    def episode_metrics(self, recent: Mapping[str, int] | None = None) -> dict[str, float]:
        """Return the metrics of the contract, or {} if no deployment was played: rates and means over recent episodes,
        counts over the whole run.
        """
        counts = dict(self.recent() if recent is None else recent)
        if not self.world.settings.is_active or counts["episodes"] == 0:
            return {}
        wins = counts.pop("wins")
        metrics = {name: float(value) for name, value in deployment_metrics(**counts).items()}
        return metrics | {"winrate_with_active_deployment": wins / counts["episodes"]}

    def records(self) -> dict[str, np.ndarray]:
        """Return the placements of all episodes and their results; records of several batches may be summed."""
        return {name: getattr(self, name) for name in RECORDS}

    def with_records(self, records: Mapping[str, np.ndarray]) -> "DeploymentStats":
        """Return statistics with these records instead."""
        other = DeploymentStats(self.world)
        vars(other).update(records)
        return other

    def correlations(self, seat: int) -> dict[str, float]:
        """Return the correlations of placement with survival and damage of a unit; nan if there is no variance."""
        to_enemy_zone = self.world.distance[:, zone_cells(self.world, 1 - seat)].min(axis=1)
        features = {"objective": self.world.to_objective.min(axis=0), "enemy_zone": to_enemy_zone}
        weights = self.placed[seat].astype(float)
        return {
            f"distance_to_{feature}/{result}": _correlation(np.broadcast_to(x, weights.shape), total, weights)
            for feature, x in features.items()
            for result, total in (("survival", self.survived[seat]), ("damage", self.damage[seat]))
        }

    def diagnostics(self) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Return the correlations of placements with results under their metric names, and the counts of choices."""
        correlations: dict[str, float] = {}
        counts: dict[str, np.ndarray] = {}
        for seat, player in enumerate(PLAYERS):
            if self.placed[seat].any():
                found = {f"deployment_correlation/{player}/{name}": r for name, r in self.correlations(seat).items()}
                correlations |= {name: r for name, r in found.items() if not np.isnan(r)}
                on_cell, cells = self.placed[seat].sum(axis=0), self.world.hexes[seat]
                counts[f"unit slot placed n-th, {player} player"] = self.unit_order[seat]
                counts[f"hex slots, {player} player"] = np.where(cells >= 0, on_cell[cells], 0)
                counts[f"units placed on each hex, {player} player"] = on_cell.reshape(-1, self.world.columns)
                counts[f"unit slots, {player} player"] = self.placed[seat].sum(axis=1)
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
