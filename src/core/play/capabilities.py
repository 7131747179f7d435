"""Optional interfaces of vector environments, games and agents, checked for with `isinstance`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
class Strategy(Protocol):
    """How to act in a game where one step may play several actions, for PPO and agents with networks.

    `aux` are the logits of the auxiliary task, (N, H, W).
    """

    def overrides_policy(self) -> bool:
        """Return whether `step` may play other actions than the given ones."""

    def training_steps(self, steps: int) -> int:
        """Return how many steps of a rollout to train on; those with an action of the policy come first."""

    def check(self, game: Any) -> None:
        """Raise `UserError` if the strategy does not fit the game."""

    def check_training(self, envs: Any) -> None:
        """Raise `UserError` if this vector environment does not support it."""

    def begin_update(self, envs: Any, number: int) -> None:
        """Prepare the vector environment for update `number` of the training, such as by narrowing its masks."""

    def step(self, envs: Any, actions: Any, aux: Any, masks: Any) -> tuple[Any, tuple[Any, ...]]:
        """Play one step; return where it was the given action (N,) bool, and what `envs.step` returns."""

    def plan(self, mask: Any, probability: Any) -> list[int]:
        """Return actions to play one after the other, none if the policy is to choose.

        `mask` (A,) is the action mask, `probability` (H, W) are the predictions of the auxiliary task.
        """


@runtime_checkable
class SupportsArrays(Protocol):
    """An agent that needs no views: observations and masks are enough for it."""

    def choose_actions(self, observations: Any, masks: Any, rngs: Sequence[Any]) -> Any:
        """Return the actions (N,) int64 that `decide` would choose, for observations (N, ...) and masks (N, A)."""


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
class SupportsSetup(Protocol):
    """A game in which the players first set up their pieces."""

    def is_set_up(self, state: Any) -> bool: ...

    def setup_image(self, setups: Sequence[tuple[Any, int]]) -> Any:
        """Draw how often each place is used in states, each by the player of a seat, (H, W, 3) uint8."""


@runtime_checkable
class SupportsExport(Protocol):
    """An interface of agents with a network that other runtimes can evaluate."""

    def exported_network(self, game: Any) -> Any:
        """Return a copy of the network on the CPU, a torch module.

        It maps observations (B, ...) of the game to a tuple: policy logits (B, A), value (B,), and, if the game has
        an `AuxTask` that the network predicts, its logits (B, H, W).
        """


class LearnedEvaluation(Protocol):
    """A small network with which the search of a game evaluates positions: its inputs, its integers and its players.

    The network is three fully connected layers, `first`, `second` and `third`, with clipped ReLU (0 to 1) between them;
    the output is the log odds of a win for the player to move. `algo=nnue` trains it in floating point.
    """

    layers: tuple[int, int, int]  # binary features F, units of the first and of the second layer
    mirrored: Any  # (F,) int: the feature of each feature on the mirrored board; None without such a symmetry
    record: Any  # dtype of a stored position, with the labels `score` and `result` (int16)

    def records(self, states: Sequence[Any]) -> Any:
        """Return unfinished positions as records (N,), with labels of 0."""

    def features(self, records: Any) -> Any:
        """Return the features of records as bits, (N, F / 8) uint8, the lowest bit of a byte first."""

    def quantized(self, weights: Mapping[str, Any]) -> Any:
        """Return the network of trained weights, `first.weight` (units, F) and so on, in the integers of the search.

        It can be pickled. Raise `UserError` if a weight is beyond them.
        """

    def save(self, network: Any, path: Path) -> None:
        """Save a `quantized` network as a file that agents of this game load."""

    def load(self, path: Path) -> Mapping[str, Any]:
        """Return the weights of such a file, as `quantized` takes them; raise `UserError` if it is something else."""

    def search(self, network: Any, nodes: int) -> Callable[[Any], tuple[int, int]]:
        """Return a search for one game, which maps its positions, one after the other, to score and action.

        Scores are for the player to move, those of proven results beyond `DECIDED`.
        """

    def agent(self, network: Any, seconds: float | None, nodes: int | None, threads: int) -> Any:
        """Return a `StoppableAgent` that searches for a time or for a number of nodes per move.

        With one node it plays the move that leads to the best position by the network.
        """
