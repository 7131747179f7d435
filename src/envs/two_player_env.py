"""Games as environments of one agent; in two-player games the opponent moves inside `step`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from ..core.errors import require
from ..core.play.agent import Agent, RandomAgent, check_baselines, opponents_in
from ..core.play.arena import random_opening, require_openings
from ..core.play.game import Game, TwoPlayerGame, outcome_for_seat, require_declared
from ..core.play.past_selves import CURRENT, PastSelves
from ..core.ranges import Fraction, Plies, check_fields, checked
from ..core.seeding import draw
from .masked_env import RENDER_FPS, RENDER_MODES, MaskedDiscrete, MaskedVectorEnv, Step, rendered
from .opponent_pool_vec_env import vectorize_against

Seat = Literal["first", "second", "random"]
START_ATTEMPTS = 1000  # at a game in which the learner moves
SEATS: dict[Seat, tuple[int, ...]] = {"first": (0,), "second": (1,), "random": (0, 1)}


@dataclass(frozen=True)
class GameReward:
    """Reward for the outcome, for the learner's side. Subclasses add a score, or a potential for unfinished positions.

    A change of the potential is rewarded with gamma * after - before, with the discount factor of the learner:
    otherwise shaping would change which policy is best (Ng, Harada & Russell 1999).
    """

    win: float
    draw: float
    loss: float
    gamma: Fraction

    def __post_init__(self) -> None:
        check_fields(self)

    def __call__(self, outcome: int) -> float:
        return {1: self.win, 0: self.draw, -1: self.loss}[outcome]

    def potential(self, game: Any, state: Any, seat: int) -> float:
        """Return the value of an unfinished position for `seat`."""
        return 0.0

    def score(self, game: Any, state: Any, seat: int) -> float:
        """Return what `seat` has earned in the game so far, such as points; what a step adds is its reward."""
        return 0.0


@dataclass(frozen=True)
class OutcomeReward(GameReward):
    """Reward for the outcome only; works for every game."""


def outcome_values(reward: OutcomeReward) -> tuple[float, float, float]:
    """Return the rewards for win, draw and loss, for games that compute their own rewards and ask for no potential."""
    for name in ("potential", "score"):
        used = getattr(type(reward), name) is not getattr(GameReward, name)
        require(not used, f"the {name} of {type(reward).__name__} is not used in this game: leave it out")
    return float(reward(1)), float(reward(0)), float(reward(-1))


class Episode:
    """A game between a learner and its opponent; shared by the single and the vector environment.

    Chance, the learner's seat and the opponent all use `rng`, so seed and actions determine every episode.

    If the opponent is a pool, one member is drawn for each game; of past selves, one of them. Up to `opening_plies`
    random plies begin a game.
    """

    def __init__(
        self, game: Game, opponent: Agent, seats: Sequence[int], reward: GameReward, opening_plies: int = 0
    ) -> None:
        self.game, self.seats, self.reward, self._opponents = game, seats, reward, opponents_in(opponent)
        self.opening_plies = opening_plies
        self.opponent = self._opponents[0]
        self.number = CURRENT  # which past self is played against
        self.rng = np.random.default_rng()
        self.state: Any = None
        self.own_seat = 0
        self._potential = self._score = 0.0  # when the learner was last to move
        self._start: dict[str, Any] = {}  # generator state at the start of the game
        self._actions: list[int] = []  # moves of both players since the start

    def start(self) -> None:
        """Start a new game, without any moves of the players yet."""
        self._start, self._actions = dict(self.rng.bit_generator.state), []
        if len(self._opponents) > 1:
            self.opponent = draw(self.rng, self._opponents)
        if isinstance(self.opponent, PastSelves):
            self.number = self.opponent.sample(self.rng)
        self.own_seat = draw(self.rng, self.seats)
        plies = int(self.rng.integers(self.opening_plies + 1)) if self.opening_plies > 0 else 0
        self.state = random_opening(self.game, plies, self.rng)

    def play(self, action: int) -> None:
        self.reach(self.game.play(self.state, action), action)

    def reach(self, state: Any, action: int) -> None:
        """Continue in the state after an action."""
        self.state = state
        self._actions.append(action)

    @property
    def awaits_opponent(self) -> bool:
        return self.game.outcome(self.state) is None and self.game.to_move(self.state) != self.own_seat

    @property
    def own_outcome(self) -> int | None:
        """Return +1, 0 or -1 if the learner has won, drawn or lost; None while the game continues."""
        outcome = self.game.outcome(self.state)
        return None if outcome is None else outcome_for_seat(self.own_seat, outcome)

    def report_result(self) -> None:
        """Report a finished game to the past selves, but not an aborted one; to be called once per game."""
        if not isinstance(self.opponent, PastSelves) or self.game.is_aborted(self.state):
            return
        if (outcome := self.own_outcome) is not None:
            self.opponent.record(self.number, outcome)

    def collect_reward(self) -> float:
        """Return the reward since the last call; to be called after the opponent has moved.

        The potential of a finished game is 0, so over a game the discounted changes sum to a constant.
        """
        outcome, before, earned = self.own_outcome, self._potential, self._score
        self._score = self.reward.score(self.game, self.state, self.own_seat)
        gained = self._score - earned
        if outcome is None:
            self._potential = self.reward.potential(self.game, self.state, self.own_seat)
            return gained + self.reward.gamma * self._potential - before
        self._potential = 0.0
        return gained + self.reward(outcome) - before

    def observation(self) -> np.ndarray:
        return self.game.observe(self.game.view(self.state))

    def action_mask(self) -> np.ndarray:
        """Return the legal actions, (A,) bool."""
        mask = np.zeros(self.game.num_actions, dtype=bool)
        mask[self.game.legal_actions(self.game.view(self.state))] = True
        return mask

    def saved(self) -> dict[str, Any]:
        """Return the generator state at the start and the actions since, because a game state may be any object."""
        saved = {"start": self._start, "actions": list(self._actions), "rng": dict(self.rng.bit_generator.state)}
        return saved | ({"number": self.number} if isinstance(self.opponent, PastSelves) else {})

    def restore(self, saved: dict[str, Any]) -> None:
        """Replay a saved episode. The opponent is not asked again: in self-play it has changed since."""
        self.rng.bit_generator.state = saved["start"]
        self.start()
        self.number = saved.get("number", CURRENT)  # the pool has changed since it was drawn
        for action in saved["actions"]:
            self.play(action)
        self.rng.bit_generator.state = saved["rng"]
        self.collect_reward()


def start_episodes(episodes: Sequence[Episode]) -> None:
    """Start new games, and play opponent moves until the learner is to move; again where they have ended the game."""
    starting = list(episodes)
    for _ in range(START_ATTEMPTS):
        for episode in starting:
            episode.start()
        let_opponents_move(starting)
        starting = [episode for episode in starting if episode.own_outcome is not None]
    require(not starting, f"all of {START_ATTEMPTS} games ended before the learner's first move")
    for episode in episodes:
        episode.collect_reward()


def let_opponents_move(episodes: Sequence[Episode]) -> None:
    """Play opponent moves until the learner is to move or the game is over in every episode; decisions are batched."""
    while waiting := [episode for episode in episodes if episode.awaits_opponent]:
        game, opponent = waiting[0].game, waiting[0].opponent
        views = [game.view(episode.state) for episode in waiting]
        rngs = [episode.rng for episode in waiting]
        if isinstance(opponent, PastSelves):
            decisions = opponent.decide_for([episode.number for episode in waiting], game, views, rngs)
        else:
            decisions = opponent.decide_batch(game, views, rngs)
        actions = [decision.action for decision in decisions if decision.action is not None]
        assert len(actions) == len(waiting), "an opponent inside an environment must always choose an action"
        play_all(waiting, actions)


def play_all(episodes: Sequence[Episode], actions: Sequence[int]) -> None:
    """Play an action in each episode, as one batch."""
    states = episodes[0].game.play_batch([episode.state for episode in episodes], actions)
    for episode, state, action in zip(episodes, states, actions, strict=True):
        episode.reach(state, action)


class PythonVectorEnv(MaskedVectorEnv[np.ndarray]):
    """Env i plays exactly like a `VersusEnv` seeded with `seed + i`.

    `info["final_info"]` has `won` and `outcome` of games that ended.
    """

    def __init__(
        self,
        num_envs: int,
        game: Game,
        opponent: Agent,
        reward: GameReward,
        seats: Sequence[int],
        observation_space: spaces.Box,
        opening_plies: int = 0,
    ) -> None:
        super().__init__(num_envs, observation_space, game.num_actions)
        self.game = game
        self._episodes = [Episode(game, opponent, seats, reward, opening_plies) for _ in range(num_envs)]
        self._masks = np.zeros((num_envs, game.num_actions), bool)

    def _start(self, seeds: Sequence[int]) -> None:
        for episode, seed in zip(self._episodes, seeds, strict=False):
            episode.rng = np.random.default_rng(seed)
        start_episodes(self._episodes)
        self._update_masks()

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one legal action per env (N,); raise before any is played if one is illegal."""
        play_all(self._episodes, self._checked(actions, self._masks).tolist())
        let_opponents_move(self._episodes)
        outcomes = [episode.own_outcome for episode in self._episodes]
        ended = np.array([outcome is not None for outcome in outcomes])
        rewards = np.array([episode.collect_reward() for episode in self._episodes])
        info: dict[str, Any] = {}
        if ended.any():
            own = np.array([outcome for outcome in outcomes if outcome is not None])
            info = self._final(ended, {"won": own == 1, "outcome": own})
            finished = [episode for episode, over in zip(self._episodes, ended, strict=True) if over]
            for episode in finished:
                episode.report_result()
            start_episodes(finished)
        self._update_masks()
        info["action_mask"] = self.action_masks()
        return self.observe(), rewards, ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        return self._masks.copy()

    def state(self) -> list[dict[str, Any]]:
        """Return everything that later steps depend on as plain values, for a checkpoint."""
        return [episode.saved() for episode in self._episodes]

    def load_state(self, saved: Sequence[dict[str, Any]]) -> None:
        require(len(saved) == self.num_envs, f"the saved state has {len(saved)} envs, this batch {self.num_envs}")
        for episode, one in zip(self._episodes, saved, strict=True):
            episode.restore(one)
        self._seeded = True
        self._update_masks()

    def _update_masks(self) -> None:
        for row, episode in zip(self._masks, self._episodes, strict=True):
            row[:] = episode.action_mask()

    def observe(self) -> np.ndarray:
        return np.stack([episode.observation() for episode in self._episodes])

    def _final_observation(self, i: int) -> np.ndarray:
        return self._episodes[i].observation()


class GameEnv(gymnasium.Env[np.ndarray, np.int64]):
    """The learner is to move in every observation but the last: an opponent, if there is one, replies inside `step`."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
    render_mode: str | None = "ansi"

    @checked
    def __init__(
        self,
        game: Game,
        opponent: Agent,
        reward: GameReward,
        seat: Seat,
        baselines: Mapping[str, Agent],
        opening_plies: Plies = 0,
    ) -> None:
        require_declared(game)
        opponent.check(game)
        check_baselines(baselines, game)
        require_openings(game, opening_plies)
        self.game, self.opponent, self.reward, self.opening_plies = game, opponent, reward, opening_plies
        self.seats = SEATS[seat]
        self.baselines = dict(baselines)
        self.action_space = MaskedDiscrete(game.num_actions, self._legal)
        first, (low, high) = game.observe(game.view(game.initial(np.random.default_rng(0)))), game.observation_range
        require(
            bool(low <= first.min() and first.max() <= high),
            f"{type(game).__name__} observes {first.min():g} to {first.max():g}, outside of its observation_range: "
            f"{low:g} to {high:g}",
        )
        self.observation_space: spaces.Box = spaces.Box(low, high, first.shape, np.float32)
        self._episode = Episode(game, opponent, self.seats, reward, opening_plies)

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """Return a batch of games with this configuration; the games are split evenly over a pool of opponents."""
        return vectorize_against(self.opponent, num_envs, self._make_batch)

    def _make_batch(self, opponent: Agent, count: int) -> MaskedVectorEnv[np.ndarray]:
        space = self.observation_space
        return PythonVectorEnv(count, self.game, opponent, self.reward, self.seats, space, self.opening_plies)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._episode.rng = self.np_random
        start_episodes([self._episode])
        return self._episode.observation(), self._info()

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._episode.play(int(action))
        let_opponents_move([self._episode])
        self._episode.report_result()
        reward, outcome = self._episode.collect_reward(), self._episode.own_outcome
        info = self._info() if outcome is None else self._info() | {"outcome": outcome}
        return self._episode.observation(), reward, outcome is not None, False, info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, (A,) bool; none once the game is over."""
        return self._episode.action_mask()

    def render(self) -> Any:
        return rendered(self.game, self._episode.state, self.render_mode)

    def _info(self) -> dict[str, Any]:
        return {"seat": self._episode.own_seat, "action_mask": self.action_masks()}

    def _legal(self) -> np.ndarray | None:
        return None if self._episode.state is None or self._episode.own_outcome is not None else self.action_masks()


class VersusEnv(GameEnv):
    """Any two-player game, rewarded by its outcome."""

    def __init__(
        self,
        game: TwoPlayerGame,
        opponent: Agent,
        reward: OutcomeReward,
        seat: Seat,
        baselines: Mapping[str, Agent],
        opening_plies: Plies = 0,
    ) -> None:
        super().__init__(game, opponent, reward, seat, baselines, opening_plies)


class SoloEnv(GameEnv):
    """Any game for one player, rewarded by its outcome and the changes of the potential."""

    def __init__(self, game: Game, reward: OutcomeReward, baselines: Mapping[str, Agent]) -> None:
        require_declared(game)
        require(game.players == 1, f"{type(game).__name__} has two players: its environment is VersusEnv")
        super().__init__(game, RandomAgent(), reward, "first", baselines)  # an opponent that never has to move
