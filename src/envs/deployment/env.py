"""The wargame as a Gymnasium environment; the opponent moves inside `step`."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...core.errors import UserError, require
from ...core.play.agent import Agent, check_baselines, opponents_in
from ...core.ranges import NonNegative, checked
from ...core.seeding import draw
from ..masked_env import RENDER_FPS, RENDER_MODES, MaskedDiscrete, rendered
from ..opponent_pool_vec_env import vectorize_against
from ..two_player_env import SEATS, OutcomeReward, Seat
from .bots.placement import Placement
from .game import DeploymentGame, log_truncation
from .reward import COMPONENTS, Reward
from .rules.scenario import is_whole
from .step_kernels import REFUSED
from .vec_env import VecDeployment


class DeploymentEnv(gym.Env[np.ndarray, np.int64]):
    """One action per step, for one unit. The opponent replies inside `step`, so the learner is to move unless the game
    is over.

    `info` has the action mask while the game continues, the seat, and the components whose sum is the reward; after the
    last step also the outcome, whether a deadlock aborted the game, and the deployment metrics. An illegal action
    changes nothing: it raises, or with an `invalid_action_penalty` it is counted and costs that much.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
    render_mode: str | None = "ansi"

    @checked
    def __init__(
        self,
        game: DeploymentGame,
        opponent: Agent,
        reward: Reward | OutcomeReward,
        seat: Seat,
        baselines: Mapping[str, Agent],
        invalid_action_penalty: NonNegative | None = None,
        placements: Mapping[str, Placement] | None = None,
    ) -> None:
        """`seat` is first, second, or random to draw it for each game.

        With `placements` the learner does not deploy: one of them is drawn for each game and places its units.
        """
        require(
            game.world.settings.confirming == 0,
            "game.confirming_players is for people: no action of an agent confirms, set it to []",
        )
        opponent.check(game)
        check_baselines(baselines, game)
        self.game, self.opponent, self.reward, self.seat = game, opponent, reward, seat
        self.baselines = dict(baselines)
        self.action_space = MaskedDiscrete(game.num_actions, lambda: self.action_masks() if self._playing else None)
        self.observation_space = spaces.Box(0.0, 1.0, (game.observation_size,), np.float32)
        self._opponents = opponents_in(opponent)
        self.invalid_action_penalty = invalid_action_penalty
        self.placements = tuple((placements or {}).values())
        require(
            not self.placements or game.deployment_type == "active",
            "env.placements is for active deployments, but game.deployment_type=fixed places the units: set it to {}",
        )
        for placement in self.placements:
            placement.check(game.scenario)
        self._batch = self._make(self._opponents[0], 1, restart=False)
        self.episode_stats = self._batch.episode_stats
        self._seeded = self._playing = False

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """Return a batch of games with this configuration; the games are split evenly over a pool of opponents."""
        return vectorize_against(self.opponent, num_envs, self._make)

    def _make(self, opponent: Agent, count: int, restart: bool = True) -> VecDeployment:
        penalty, seats = self.invalid_action_penalty, SEATS[self.seat]
        return VecDeployment(count, self.game, opponent, self.reward, seats, penalty, self.placements, restart)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._batch.seed_env(0, int(self.np_random.integers(2**63)) if seed is None else seed)
        if len(self._opponents) > 1:
            self._batch.set_opponent(draw(self._batch.rngs[0], self._opponents))
        self._playing = False  # in case `restart` raises
        self._batch.restart()
        self._seeded = self._playing = True
        return self._batch.observations[0].copy(), self._info()

    def step(self, action: int | np.integer | np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        require(self._playing, "there is no episode to step: call reset() first")
        action = action.item() if isinstance(action, np.ndarray) and action.shape == () else action
        try:
            self.game.require_legal(self._batch.states[0], action)  # type: ignore[arg-type]  # validates any type
        except UserError:
            self._batch.count_refusals()
            exists = is_whole(action) and 0 <= action < self.game.num_actions
            if self.invalid_action_penalty is None or not exists:
                raise
            action = REFUSED
        self._playing = False  # in case the step raises: the game cannot continue
        self._batch.play(np.array([action], np.int64))
        result = self._batch.buffers.results[0]
        terminated, truncated = bool(result["terminated"]), bool(result["truncated"])
        self._playing = not (terminated or truncated)
        info = self._info() | {"rewards": {name: float(result[name]) for name in COMPONENTS}}
        if not self._playing:
            games, buffers = self._batch.games, self._batch.buffers
            if truncated:
                log_truncation(self.game.scenario, games.games[0], games.units[0])
            final = self.episode_stats.add(buffers.results, games.games, games.units)
            info |= {name: value[0].item() for name, value in final.items()}
        return self._batch.observations[0].copy(), float(result["reward"]), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, (A,) bool, at least one; raise `UserError` once the game is over."""
        require(self._playing, "the episode is over, so nothing is legal: call reset() first")
        return self._batch.action_masks()[0]

    def render(self) -> Any:
        return rendered(self.game, self._batch.states[0], self.render_mode)

    def _info(self) -> dict[str, Any]:
        result = self._batch.buffers.results[0]
        info = {"seat": int(result["seat"]), "steps": int(result["steps"])}
        return info | {"action_mask": self.action_masks()} if self._playing else info
