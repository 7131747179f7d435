"""The smallest game with masks: naming the digit shown wins; the other legal digits are random."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from src.core.play.game import Game, Trait

DIGITS = 5


class EchoGame(Game):
    """The state is the digit, the mask, and the result."""

    traits = frozenset({Trait.ONE_PLAYER})
    num_actions = DIGITS

    def initial(self, rng):
        digit = int(rng.integers(DIGITS))
        mask = rng.random(DIGITS) < 0.5
        mask[digit] = True
        return digit, mask, None

    def to_move(self, state):
        return 0

    def legal_actions(self, view):
        return np.flatnonzero(view[1]).tolist()

    def play(self, state, action):
        return state[0], state[1], 1 if action == state[0] else -1

    def outcome(self, state):
        return state[2]

    def observe(self, view):
        return np.eye(DIGITS, dtype=np.float32)[view[0]]

    def render(self, state):
        return str(state[0])


class EchoBatch(VectorEnv):
    """`rounds` digits per game; the returned arrays are buffers that the next step overwrites."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs: int, rounds: int = 1, truncates: bool = False):
        self.num_envs, self.rounds, self.truncates = num_envs, rounds, truncates
        self.single_observation_space = spaces.Box(0.0, 1.0, (DIGITS,), np.float32)
        self.single_action_space = spaces.Discrete(DIGITS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.seen = np.zeros((num_envs, DIGITS), np.float32)
        self.masks = np.zeros((num_envs, DIGITS), bool)
        self.round = 0

    def reset(self, *, seed: Any = None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.round = 0
        self._show()
        return self.seen, {"action_mask": self.masks}

    def step(self, actions):
        assert self.masks[np.arange(self.num_envs), actions].all(), "only legal actions are played"
        rewards = (self.seen.argmax(axis=1) == actions).astype(np.float64)
        self.round = (self.round + 1) % self.rounds
        ended = np.full(self.num_envs, self.round == 0)
        info: dict[str, Any] = {"action_mask": self.masks}
        if ended.any():
            finals = np.empty(self.num_envs, object)
            finals[:] = list(self.seen.copy())
            info |= {
                "final_obs": finals,
                "_final_obs": ended,
                "final_info": {"won": rewards == 1},
                "_final_info": ended,
            }
        self._show()
        nobody = np.zeros(self.num_envs, bool)
        return self.seen, rewards, nobody if self.truncates else ended, ended if self.truncates else nobody, info

    def action_masks(self):
        return self.masks

    def state(self):
        return {"seen": self.seen, "masks": self.masks, "round": self.round, "rng": self.rng.bit_generator.state}

    def load_state(self, saved):
        self.seen[:], self.masks[:], self.round = saved["seen"], saved["masks"], saved["round"]
        self.rng = np.random.default_rng()
        self.rng.bit_generator.state = saved["rng"]

    def _show(self):
        digits = self.rng.integers(DIGITS, size=self.num_envs)
        self.seen[:] = np.eye(DIGITS, dtype=np.float32)[digits]
        self.masks[:] = self.rng.random((self.num_envs, DIGITS)) < 0.5
        self.masks[np.arange(self.num_envs), digits] = True


def echo(make=EchoBatch) -> Any:
    """Return an environment of this game."""
    batch = EchoBatch(1)
    return SimpleNamespace(
        game=EchoGame(),
        baselines={},
        observation_space=batch.single_observation_space,
        action_space=batch.single_action_space,
        vectorize=lambda num_envs, device="cpu": make(num_envs),
    )
