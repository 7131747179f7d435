"""Vector environment of the wargame: N games stepped together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ...core.errors import UserError, require
from ...core.play.agent import Agent
from ..masked_env import MaskedVectorEnv, Step
from ..two_player_env import OutcomeReward
from .batch import REFUSED, Batch
from .bots.placement import Placement
from .game import DeploymentGame, log_truncation
from .metrics import DeploymentStats
from .reward import COMPONENTS, Reward


class VecDeployment(MaskedVectorEnv[np.ndarray]):
    """Env i plays exactly like a `DeploymentEnv` seeded with `seed + i`.

    `info["final_info"]` has the outcome of a game, whether a deadlock aborted it, its length, seat and deployment
    metrics, and for every unit (N, 2S) its starting cell, remaining hp and damage dealt. `episode_stats` sums them.
    """

    metadata = {"render_modes": ["ansi"], "autoreset_mode": AutoresetMode.SAME_STEP}
    render_mode = "ansi"

    def __init__(
        self,
        num_envs: int,
        game: DeploymentGame,
        opponent: Agent,
        reward: Reward | OutcomeReward,
        seats: Sequence[int],
        invalid_action_penalty: float | None = None,
        placements: Sequence[Placement] = (),
    ) -> None:
        super().__init__(num_envs, spaces.Box(0.0, 1.0, (game.observation_size,), np.float32), game.num_actions)
        self.game = game
        self.episode_stats = DeploymentStats(game.world)
        self.penalizes_illegal = invalid_action_penalty is not None
        self._batch = Batch(
            game,
            opponent,
            reward,
            seats,
            num_envs,
            restart=True,
            penalty=invalid_action_penalty,
            placements=placements,
        )
        self._playing = False

    def _start(self, seeds: Sequence[int]) -> None:
        for i, seed in enumerate(seeds):
            self._batch.seed(i, seed)
        self._playing = False  # in case `restart` raises
        self._batch.restart()
        self._playing = True

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one action per env (N,). If one is illegal, raise before any is played, or penalize it."""
        if self.penalizes_illegal:
            actions = self._checked(actions, None)
            legal = self._batch.games.mask[np.arange(self.num_envs), actions]
            self._count_refusals(actions, np.flatnonzero(~legal))
            actions = np.where(legal, actions, REFUSED)
        else:
            actions = self._checked(actions, self._batch.games.mask)
        self._playing = False  # in case the step raises: the games cannot continue
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
            info |= self._final(ended, self._final_info(ended))
        return self._observe(), results["reward"].copy(), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions of every env, (N, A) bool; each env has at least one."""
        require(self._playing, "there are no games in progress, so nothing is legal: call reset() first")
        return self._batch.legal_masks()

    def render(self) -> tuple[str, ...]:
        return tuple(self.game.render(state) for state in self._batch.states)

    def state(self) -> dict[str, Any]:
        """Return everything that later steps depend on as plain values and arrays, for a checkpoint."""
        return {"batch": self._batch.saved(), "episode_stats": self.episode_stats.saved()}

    def load_state(self, saved: dict[str, Any]) -> None:
        self._batch.load(saved["batch"])
        self.episode_stats.load(saved["episode_stats"])
        self._seeded = self._playing = True

    def _observe(self) -> np.ndarray:
        return self._batch.observations

    def _final_observation(self, i: int) -> np.ndarray:
        return self._batch.buffers.final_observations[i].copy()

    def _require_started(self) -> None:
        require(self._playing, "there are no episodes to step: call reset() first")

    def _refuse(self, actions: np.ndarray, wrong: np.ndarray, masks: np.ndarray | None) -> None:
        raise UserError("; ".join(self._count_refusals(actions, wrong)))

    def _count_refusals(self, actions: np.ndarray, wrong: np.ndarray) -> list[str]:
        """Let the engine count the illegal actions of the envs `wrong`; return why it refuses them."""
        reasons = []
        for i in wrong:
            try:
                self.game.require_legal(self._batch.states[i], int(actions[i]))
            except UserError as error:
                reasons.append(f"env {i}, action {actions[i]}: {error}")
        if reasons:
            self._batch.count_refusals()
        return reasons

    def _final_info(self, ended: np.ndarray) -> dict[str, np.ndarray]:
        buffers = self._batch.buffers
        results, games, units = buffers.final_results[ended], buffers.final_games[ended], buffers.final_units[ended]
        for i in np.flatnonzero(games["deadlocked"]):
            log_truncation(self.game.scenario, games[i], units[i])
        info = {"seat": results["seat"], "steps": results["steps"], **self.episode_stats.add(results, games, units)}
        return info | {name: units[name] for name in ("start", "hp", "dealt")}
