"""What a batch of environments may offer beyond stepping, and what a game lets a network predict.

A learner asks with `isinstance` and does without where the answer is no.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class AuxTask:
    """A binary property of each cell that a network can predict beside policy and value.

    Cell i belongs to action i; what is true of a cell makes its action bad, so the probability is also a risk.
    """

    name: str  # as in `<name>_probability`, which decisions report


@runtime_checkable
class SupportsAuxTargets(Protocol):
    def aux_targets(self) -> Any:
        """The truth about each cell, (N, H, W) int8: 1 true, 0 false, -1 not to be predicted."""


@runtime_checkable
class SupportsMultiAction(Protocol):
    def step_many(self, cells: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play the actions of all marked cells (N, H, W) bool in one step, at least one in each environment."""


@runtime_checkable
class SupportsActionRestriction(Protocol):
    def restrict_actions(self, on: bool) -> None:
        """Narrow the action masks to the actions worth exploring, or widen them to what is configured."""


class EpisodeStats(Protocol):
    """Statistics of finished games; counts and records of several batches may be added up by key."""

    def recent(self) -> dict[str, Any]:
        """Counts since the previous call."""

    def episode_metrics(self, recent: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Metrics of such counts, or of the recent ones."""

    def records(self) -> dict[str, Any]:
        """Counts over all games."""

    def of(self, records: Mapping[str, Any]) -> "EpisodeStats":
        """Statistics that hold these records instead."""

    def diagnostics(self) -> tuple[dict[str, float], dict[str, Any]]:
        """Metrics and arrays to draw, of all games."""


def add_up(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts, records or other values of several batches or processes, added up by key."""
    return {name: sum(row[name] for row in rows) for name in rows[0]}


@runtime_checkable
class SupportsEpisodeStats(Protocol):
    @property
    def episode_stats(self) -> EpisodeStats: ...


@runtime_checkable
class SupportsAgentMetrics(Protocol):
    """An environment, not a batch."""

    def agent_metrics(self, agent: Any, seed: int) -> dict[str, float]:
        """Metrics of a trained agent that only this game knows how to measure."""
