"""Batches of games that differ in their opponent, stepped as one batch."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..core.errors import UserError, require
from ..core.play.agent import Agent, opponents_in
from ..core.play.capabilities import SupportsEpisodeStats, add_up
from .masked_env import MaskedVectorEnv, Step

Part = TypeVar("Part", bound="MaskedVectorEnv[Any]")


def vectorize_against(
    opponent: Agent, num_envs: int, make: Callable[[Agent, int], Part]
) -> "Part | OpponentPoolVectorEnv":
    """Return a batch of `num_envs` games against an agent, or split evenly over the members of an opponent pool.

    `make(member, n)` builds a batch of n games against one agent. Sizes differ by at most one env.
    """
    members = opponents_in(opponent)
    if len(members) == 1:
        return make(members[0], num_envs)
    require(
        num_envs >= len(members),
        f"num_envs={num_envs} is too small for a pool of {len(members)} opponents: use at least one env per opponent, "
        "or choose one opponent (agent@env.opponent=...)",
    )
    share, more = divmod(num_envs, len(members))
    return OpponentPoolVectorEnv([make(member, share + (k < more)) for k, member in enumerate(members)])


class OpponentPoolVectorEnv(MaskedVectorEnv[np.ndarray]):
    """Several vector environments of the same game as one: the envs of the first part, then of the second, etc.

    An int seeds env i with `seed + i`, as in the parts. Episode statistics are summed over the parts.
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        first, count = parts[0], sum(part.num_envs for part in parts)
        super().__init__(count, first.single_observation_space, int(first.single_action_space.n))
        self.parts, self.metadata, self.render_mode = list(parts), first.metadata, first.render_mode
        edges = np.cumsum([0, *(part.num_envs for part in parts)]).tolist()
        self._slices = [slice(*pair) for pair in pairwise(edges)]
        if all(isinstance(part, SupportsEpisodeStats) for part in parts):
            self.episode_stats = SummedStats([part.episode_stats for part in parts])
        self.penalizes_illegal = all(part.penalizes_illegal for part in parts)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start new games in all parts; without a seed their generators continue."""
        seeds = None if seed is None else self._seeds(seed)
        parts_seeds = [None if seeds is None else seeds[rows] for rows in self._slices]
        results = [part.reset(seed=one) for part, one in zip(self.parts, parts_seeds, strict=True)]
        return np.concatenate([observations for observations, _ in results]), self._joined([i for _, i in results])

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one action per env (N,). If one is illegal, raise before any is played, or let its part penalize it."""
        actions = np.asarray(actions)
        require(actions.shape == (self.num_envs,), f"expected actions of shape ({self.num_envs},), not {actions.shape}")
        for part, rows in zip(self.parts, self._slices, strict=True):  # check all before any part plays
            masks = None if part.penalizes_illegal else part.action_masks()
            try:
                part._checked(actions[rows], masks)
            except UserError as error:
                raise UserError(f"among envs {rows.start} to {rows.stop - 1}: {error}") from error
        results = [part.step(actions[rows]) for part, rows in zip(self.parts, self._slices, strict=True)]
        observations, rewards, terminated, truncated = (
            np.concatenate([result[k] for result in results]) for k in range(4)
        )
        return observations, rewards, terminated, truncated, self._joined([result[4] for result in results])

    def observe(self) -> np.ndarray:
        return np.concatenate([part.observe() for part in self.parts])

    def action_masks(self) -> np.ndarray:
        return np.concatenate([part.action_masks() for part in self.parts])

    def render(self) -> tuple[Any, ...]:
        return tuple(frame for part in self.parts for frame in part.render())

    def state(self) -> list[Any]:
        """Return everything that later steps depend on, for a checkpoint."""
        return [part.state() for part in self.parts]

    def load_state(self, saved: Sequence[Any]) -> None:
        count = len(self.parts)
        require(len(saved) == count, f"the saved state has {len(saved)} parts, this batch {count}")
        for part, one in zip(self.parts, saved, strict=True):
            part.load_state(one)

    def _joined(self, infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return join_infos(infos, [part.num_envs for part in self.parts])


class SummedStats:
    """The episode statistics of several batches as one: counts and records are summed."""

    def __init__(self, stats: Sequence[Any]) -> None:
        self._stats = list(stats)

    def recent(self) -> dict[str, Any]:
        return add_up([one.recent() for one in self._stats])

    def run_counts(self) -> dict[str, Any]:
        return add_up([one.run_counts() for one in self._stats])

    def add_earlier(self, counts: Mapping[str, Any]) -> None:
        self._stats[0].add_earlier(counts)

    def records(self) -> dict[str, Any]:
        return add_up([one.records() for one in self._stats])

    def episode_metrics(self, recent: Mapping[str, Any] | None = None) -> dict[str, float]:
        return self._stats[0].episode_metrics(self.recent() if recent is None else recent)

    def with_records(self, records: Mapping[str, Any]) -> Any:
        """Return statistics with these records."""
        return self._stats[0].with_records(records)

    def diagnostics(self) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        return self.with_records(self.records()).diagnostics()


def join_infos(infos: Sequence[Mapping[str, Any]], sizes: Sequence[int]) -> dict[str, Any]:
    """Concatenate infos of arrays (n, ...), also nested; a missing key is filled with zeros, or None for objects."""
    joined: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        like = next(info[key] for info in infos if key in info)
        if isinstance(like, Mapping):
            joined[key] = join_infos([info.get(key, {}) for info in infos], sizes)
        else:
            missing = None if like.dtype == object else 0
            rows = [
                info[key] if key in info else np.full((n, *like.shape[1:]), missing, like.dtype)
                for info, n in zip(infos, sizes, strict=True)
            ]
            joined[key] = np.concatenate(rows)
    return joined
