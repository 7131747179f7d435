"""Two-player games as PettingZoo environments: both players act from outside, in turn."""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from ..core.errors import require
from ..core.play.game import Game, outcome_for_seat
from .masked_env import RENDER_FPS, RENDER_MODES, rendered

SEATS = {"player_0": 0, "player_1": 1}


class GameAEC(AECEnv[str, dict[str, np.ndarray], int | None]):
    """Observations have the keys `observation` and `action_mask`; the rewards are 1, 0 or -1 at the end of a game.

    An illegal action raises `UserError` and changes nothing.
    """

    metadata = {
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "is_parallelizable": False,
    }

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        super().__init__()
        require(game.players == 2, f"{type(game).__name__} has one player: use gymnasium.make")
        self.game, self.render_mode = game, render_mode
        self.metadata = GameAEC.metadata | {"name": f"{type(game).__name__.lower()}_v0"}
        self.possible_agents = list(SEATS)
        self.agents: list[str] = []
        self.agent_selection: str = self.possible_agents[0]
        first = game.observe(game.view(game.initial(np.random.default_rng(0))))
        observation = spaces.Dict(
            {
                "observation": spaces.Box(*game.observation_range, first.shape, np.float32),
                "action_mask": spaces.MultiBinary(game.num_actions),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, observation)
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in self.possible_agents}
        self._rng = np.random.default_rng()
        self._state: Any = None
        self._seen: dict[str, np.ndarray] = {}  # the last observation of each player

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._state, self._seen = self.game.initial(self._rng), {}
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._look()

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        require(action is not None, f"{agent} must act: the game is not over")
        self._state = self.game.play(self._state, int(action))  # type: ignore[arg-type]
        self._cumulative_rewards[agent] = 0.0
        self._look()
        outcome = self.game.outcome(self._state)
        if outcome is not None:
            for name in self.agents:
                self.rewards[name] = float(outcome_for_seat(SEATS[name], outcome))
                (self.truncations if self.game.is_aborted(self._state) else self.terminations)[name] = True
            self.agent_selection = next(name for name in self.agents if name != agent)
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Return what a player saw when last to move; the mask is zero unless it is to move now."""
        mask = np.zeros(self.game.num_actions, np.int8)
        if agent == self.agent_selection and self.game.outcome(self._state) is None:
            mask[self.game.legal_actions(self.game.view(self._state))] = 1
        seen = self._seen.get(agent, next(iter(self._seen.values())))  # before its first move: what the other saw
        return {"observation": seen, "action_mask": mask}

    def render(self) -> Any:
        return rendered(self.game, self._state, self.render_mode)

    def close(self) -> None:
        """Nothing is open."""

    def _look(self) -> None:
        """Select the player to move and store its observation."""
        observation = self.game.observe(self.game.view(self._state))
        if self.game.outcome(self._state) is None:
            self.agent_selection = self.possible_agents[self.game.to_move(self._state)]
            self._seen[self.agent_selection] = observation
