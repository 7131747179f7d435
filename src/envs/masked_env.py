"""What environments with action masks share: action space, render modes, and the base class of vector environments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..core.errors import UserError, require
from ..core.play.game import Game

Array = TypeVar("Array")
Step = tuple[Array, Array, Array, Array, dict[str, Any]]
RENDER_MODES = ("ansi", "rgb_array")
RENDER_FPS = 4


def rendered(game: Game, state: Any, mode: str | None) -> str | np.ndarray | None:
    """Return the position as text (ansi) or as an image (rgb_array), None without a render mode."""
    if mode == "rgb_array":
        return game.image(state)
    return None if mode is None else game.render(state)


class MaskedDiscrete(spaces.Discrete):
    """`Discrete`, but `sample` draws a legal action if no mask is given, so that a random agent can play.

    Equal to the plain space; copied and pickled as one that is not seeded, because the mask belongs to one environment.
    """

    def __init__(self, n: int, legal: Callable[[], np.ndarray | None]) -> None:
        """`legal` returns the mask (n,) of the current position, None if there is none."""
        super().__init__(n)
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        if mask is None and probability is None and (legal := self._legal()) is not None:
            mask = legal.astype(np.int8)
        return super().sample(mask, probability)

    def __reduce__(self) -> tuple[type[spaces.Discrete], tuple[int]]:
        return spaces.Discrete, (int(self.n),)


class MaskedVectorEnv(VectorEnv[Array, Array, Array]):
    """N games with an action mask each.

    A game that ends is followed by the next in the same step (SAME_STEP autoreset): observation and mask belong to the
    new game, the last observation of the old one is `info["final_obs"][i]`, and `info["final_info"]` has its result,
    with zeros for envs whose game did not end.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}
    penalizes_illegal = False  # an illegal action costs a penalty; else `step` raises before any action is played

    def __init__(self, num_envs: int, observation_space: spaces.Space, num_actions: int) -> None:
        require(num_envs >= 1, f"num_envs={num_envs} must be at least 1")
        self.num_envs, self.num_actions = num_envs, num_actions
        self.single_observation_space, self.single_action_space = observation_space, spaces.Discrete(num_actions)
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new games in all envs; an int seeds env i with `seed + i`, without a seed the generators continue."""
        self._start(self._seeds(seed))
        self._seeded = True
        return self.observe(), {"action_mask": self.action_masks()}

    def action_masks(self) -> Array:
        """Return the legal actions of every env, (N, A) bool."""
        raise NotImplementedError

    def _start(self, seeds: Sequence[int]) -> None:
        """Start new games in all envs; reseed their generators if `seeds` is not empty."""
        raise NotImplementedError

    def observe(self) -> Array:
        """Return the observations (N, ...), such as those after `load_state`."""
        raise NotImplementedError

    def _final_observation(self, i: int) -> Array:
        """Return the last observation of the game of env i that ended in this step."""
        raise NotImplementedError

    def _seeds(self, seed: int | Sequence[int] | None) -> Sequence[int]:
        """Return a seed for each env, or an empty list if the generators continue."""
        if isinstance(seed, int | np.integer):
            VectorEnv.reset(self, seed=int(seed))
            return range(int(seed), int(seed) + self.num_envs)
        if seed is None:
            return [] if self._seeded else self.np_random.integers(2**63, size=self.num_envs).tolist()
        require(len(seed) == self.num_envs, f"{len(seed)} seeds for {self.num_envs} envs: give one per env, or an int")
        return [int(one) for one in seed]

    def _require_started(self) -> None:
        require(self._seeded, "there are no episodes to step: call reset() first")

    def _checked(self, actions: np.ndarray, masks: np.ndarray | None) -> np.ndarray:
        """Return the actions as (N,) int64; raise `UserError` if one does not exist or `masks` (N, A) forbids it."""
        self._require_started()
        actions, expected = np.asarray(actions), (self.num_envs,)
        require(np.issubdtype(actions.dtype, np.integer), f"actions must be integers, not {actions.dtype}")
        require(
            actions.shape == expected, f"actions of shape {actions.shape} for {self.num_envs} envs: expected {expected}"
        )
        allowed = (actions >= 0) & (actions < self.num_actions)
        if masks is not None:
            allowed &= masks[np.arange(self.num_envs), np.where(allowed, actions, 0)]
        if not allowed.all():
            self._refuse(actions, np.flatnonzero(~allowed), masks)
        return actions.astype(np.int64, copy=False)

    def _refuse(self, actions: np.ndarray, wrong: np.ndarray, masks: np.ndarray | None) -> None:
        """Raise `UserError` about the invalid actions of the envs `wrong`; subclasses may say more."""
        env, action = int(wrong[0]), actions[wrong[0]]
        if masks is None:
            raise UserError(f"action {action} of env {env} does not exist: they are 0..{self.num_actions - 1}")
        raise UserError(f"action {action} of env {env} is illegal: legal are {np.flatnonzero(masks[env]).tolist()}")

    def _final(self, ended: np.ndarray, info: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return the final info of the games that ended in this step, `ended` (N,) bool, with a row of `info` each."""
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended).tolist():
            observations[i] = self._final_observation(i)
        final_info = {}
        for name, values in info.items():
            final_info[name] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            final_info[name][ended] = values
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": final_info,
            "_final_info": ended.copy(),
        }


def save_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies of the bytes of arrays, which may hold records, for a checkpoint."""
    return {name: array.view(np.uint8).copy() for name, array in arrays.items()}


def load_arrays(arrays: Mapping[str, np.ndarray], saved: Mapping[str, Any]) -> None:
    """Fill arrays with the result of `save_arrays`."""
    for name, array in arrays.items():
        kept = np.asarray(saved[name])
        fits = kept.size == array.nbytes
        require(
            fits,
            f"the saved games have another size ({name}: {kept.size} bytes instead of {array.nbytes}): the run is of "
            "another version or was changed, start a new one",
        )
        array[...] = kept.reshape(-1).view(array.dtype).reshape(array.shape)
