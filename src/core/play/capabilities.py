"""Optional interfaces of vector environments, games and agents, checked for with `isinstance`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class AuxTask:
    """A binary property of each cell that a network can predict in addition to policy and value.

    Cell i belongs to action i; the property makes that action bad, so its probability is also a risk.
    """

    name: str  # decisions report `<name>_probability`


@runtime_checkable
class SupportsAuxTargets(Protocol):
    def aux_targets(self) -> Any:
        """Return the label of each cell, (N, H, W) int8: 1 true, 0 false, -1 ignored."""


@runtime_checkable
class SupportsMultiAction(Protocol):
    def step_many(self, cells: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play the actions of all marked cells (N, H, W) bool in one step, at least one in each environment."""


@runtime_checkable
class SupportsActionRestriction(Protocol):
    def restrict_actions(self, on: bool) -> None:
        """Restrict the action masks to the actions worth exploring, or restore the configured masks."""


class EpisodeStats(Protocol):
    """Statistics of finished games; counts and records of several batches can be summed by key."""

    def recent(self) -> dict[str, Any]:
        """Return counts since the previous call, and those of `run_counts` since the run began."""

    def run_counts(self) -> dict[str, Any]:
        """Return counts over the whole run."""

    def add_earlier(self, counts: Mapping[str, Any]) -> None:
        """Add the `run_counts` of statistics that these replace."""

    def episode_metrics(self, recent: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Return the metrics of the given counts, by default of `recent()`."""

    def records(self) -> dict[str, Any]:
        """Return counts over all games."""

    def with_records(self, records: Mapping[str, Any]) -> "EpisodeStats":
        """Return statistics with these records instead."""

    def diagnostics(self) -> tuple[dict[str, float], dict[str, Any]]:
        """Return metrics and arrays to plot, over all games."""


def add_up(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the values of several batches or processes by key."""
    return {name: sum(row[name] for row in rows) for name in rows[0]}


@runtime_checkable
class SupportsEpisodeStats(Protocol):
    @property
    def episode_stats(self) -> EpisodeStats: ...


@runtime_checkable
class SupportsAgentMetrics(Protocol):
    """An interface of single environments, not of vector environments."""

    def agent_metrics(self, agent: Any, seed: int) -> dict[str, float]:
        """Return metrics of a trained agent that are specific to this game."""


@runtime_checkable
class SupportsExport(Protocol):
    """An interface of agents with a network that other runtimes can evaluate."""

    def exported_network(self, game: Any) -> Any:
        """Return a copy of the network on the CPU, a torch module.

        It maps observations (B, ...) of the game to a tuple: policy logits (B, A), value (B,), and, if the game has
        an `AuxTask` that the network predicts, its logits (B, H, W).
        """
