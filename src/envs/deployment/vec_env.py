"""The wargame for learners at scale: N games stepped together."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from src.core.errors import UserError, require
from src.core.play.agent import Agent
from src.envs.deployment.batch import Batch
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.metrics import DeploymentStats, episode_figures
from src.envs.deployment.reward import COMPONENTS, Reward
from src.envs.seeds import seeds_of_envs

log = logging.getLogger(__name__)


class VecDeployment(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Env i of the batch plays exactly what a `DeploymentEnv` seeded with `seed + i` plays.

    A game that ends is followed by the next in the same step: the observation and mask are already the new game's, the
    last observation of the old is `info["final_obs"][i]`, and `info["final_info"]` holds its outcome, length, seat and
    deployment figures, and for every unit (N, 2S) where it was placed, its hp left and the damage it did; zeros where
    no game ended. `episode_stats` adds them up.
    """

    metadata = {"render_modes": ["ansi"], "autoreset_mode": AutoresetMode.SAME_STEP}
    render_mode = "ansi"

    def __init__(
        self, num_envs: int, game: DeploymentGame, opponent: Agent, reward: Reward, seats: Sequence[int]
    ) -> None:
        require(num_envs >= 1, f"num_envs={num_envs}: a batch holds at least one env")
        self.num_envs, self.game = num_envs, game
        self.single_observation_space = spaces.Box(0.0, 1.0, (game.observation_size,), np.float32)
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.episode_stats = DeploymentStats(game)
        self._batch = Batch(game, opponent, reward, seats, num_envs, restart=True)
        self._seeded = self._playing = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games for all; an int seeds env i with `seed + i`, None lets the generators go on."""
        for i, one in enumerate(seeds_of_envs(self, seed, seeded=self._seeded)):
            self._batch.seed(i, one)
        self._playing = False  # where there are no games to be had
        self._batch.restart()
        self._seeded = self._playing = True
        return self._batch.buffers.observations.copy(), {"action_mask": self.action_masks()}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one legal action (N,) an env; where one is illegal, none is played."""
        actions = self._checked(actions)
        self._playing = False  # where the step raises, the games cannot go on
        self._batch.step(actions)
        self._playing = True
        results = self._batch.buffers.results
        terminated, truncated = results["terminated"].copy(), results["truncated"].copy()
        info: dict[str, Any] = {
            "action_mask": self.action_masks(),
            "rewards": {name: results[name].copy() for name in COMPONENTS},
        }
        ended = terminated | truncated
        if ended.any():
            info |= self._final(ended)
        return self._batch.buffers.observations.copy(), results["reward"].copy(), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """(N, A) bool: the legal actions of every env, each of which has one."""
        require(self._playing, "there are no games under way, so nothing is legal: call reset() first")
        return legal_masks(self._batch.games.mask)

    def render(self) -> tuple[str, ...]:
        return tuple(self.game.render(state) for state in self._batch.states)

    def state(self) -> dict[str, Any]:
        """Everything the batch goes on from, in plain values and arrays for a checkpoint."""
        return {"batch": self._batch.saved(), "episode_stats": self.episode_stats.saved()}

    def load_state(self, saved: dict[str, Any]) -> None:
        self._batch.load(saved["batch"])
        self.episode_stats.load(saved["episode_stats"] if "episode_stats" in saved else saved["journal"])
        self._seeded = self._playing = True

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        require(self._playing, "there are no episodes to step: call reset() first")
        actions, wanted = np.asarray(actions), (self.num_envs,)
        require(np.issubdtype(actions.dtype, np.integer), f"actions are whole numbers, not {actions.dtype}")
        require(
            actions.shape == wanted, f"actions of shape {actions.shape} for {self.num_envs} envs: expected {wanted}"
        )
        actions = actions.astype(np.int64)
        exist = (actions >= 0) & (actions < self.game.num_actions)
        legal = exist & self._batch.games.mask[np.arange(self.num_envs), np.where(exist, actions, 0)]
        if not legal.all():
            self._refuse(actions, np.flatnonzero(~legal))
        return actions

    def _refuse(self, actions: np.ndarray, wrong: np.ndarray) -> None:
        reasons = []
        for i in wrong:
            try:
                self.game.require_legal(self._batch.states[i], int(actions[i]))
            except UserError as error:
                reasons.append(f"env {i}, action {actions[i]}: {error}")
        self._batch.count_refusals()
        raise UserError("; ".join(reasons))

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        buffers = self._batch.buffers
        results, games, units = buffers.final_results, buffers.final_games, buffers.final_units
        outcomes = np.where(games["deadlocked"], 0, games["outcome"]) * np.where(results["seat"] == 0, 1, -1)
        self.episode_stats.add(results[ended], games[ended], units[ended], outcomes[ended])
        log_deadlocks(games[ended])
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            observations[i] = buffers.final_observations[i].copy()
        figures = {"outcome": outcomes, "won": outcomes == 1, "seat": results["seat"], "steps": results["steps"]}
        figures |= episode_figures(results, games, outcomes)
        figures |= {name: units[name] for name in ("start", "hp", "dealt")}
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": {name: _where(ended, values) for name, values in figures.items()},
            "_final_info": ended.copy(),
        }


def _where(ended: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values of the envs whose game ended, zeros for the others."""
    values = values.copy()
    values[~ended] = 0
    return values


def legal_masks(masks: np.ndarray) -> np.ndarray:
    """A copy of the masks (N, A). One without a legal action is refused: a policy would draw from the illegal ones."""
    if not masks.any(axis=1).all():
        raise UserError("an env has no legal action, which the rules never leave it without: this is a bug")
    return masks.copy()


def log_deadlocks(games: np.ndarray) -> None:
    count = int(games["deadlocked"].sum())
    if count:
        log.warning("%d episode(s) truncated: units were left that could not be placed (deployment deadlock)", count)
