"""Vector environment of Quoridor: N games against a compiled opponent, stepped together in one compiled call."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from ...core.kernels import by_reference
from ...core.parallel import run_in_spans
from ...core.play.agent import Agent, RandomAgent
from ..masked_env import MaskedVectorEnv, Step, load_arrays, save_arrays
from ..splitmix import below, next_word, seed_word
from ..two_player_env import START_ATTEMPTS, GameReward
from . import rules
from .agents import RunnerAgent
from .game import Quoridor
from .observation import write_mask, write_planes
from .positions import GAMES_PER_THREAD
from .reward import PathReward
from .rules import BOARD, MAX_MOVES, ZERO, Position, inlined, kernel
from .search.evaluation import shortest_step

NO_ACTION = -1
_11, _53_BITS = np.uint64(11), 1.0 / (1 << 53)

GAME = np.dtype(
    [
        ("random", np.uint64),  # generator state of seats and exploring opponents
        ("seat", np.int64),  # the learner's
        ("explore", np.float64),  # fraction of random moves of the opponent
        ("potential", np.float64),  # when the learner was last to move
        ("reward", np.float64),  # this and the next four are of the last step
        ("ended", np.bool_),
        ("outcome", np.int64),  # for the learner, 0 unless a game ended
        ("reply", np.int64),  # the opponent's reply, or NO_ACTION if the game was over
        ("opening", np.int64),  # the opponent's first move of a new game, or NO_ACTION
    ],
    align=True,
)


@by_reference
class Buffers(NamedTuple):
    boards: np.ndarray  # (N,) BOARD
    games: np.ndarray  # (N,) GAME
    observations: np.ndarray  # (N, C, H * W) float32
    final_observations: np.ndarray  # (N, C, H * W) float32: of games that ended in this step
    masks: np.ndarray  # (N, A) bool
    moves: np.ndarray  # (N, MAX_MOVES) int64, scratch


@by_reference
class BatchConfig(NamedTuple):
    walls: int  # per player at the start
    first_seat: int
    seats: int  # 1, or 2 to draw one for each game
    explore: float  # smallest fraction of random moves of the opponent
    explore_most: float  # ... and largest; drawn between both for each game
    opening_plies: int  # most random plies before a game
    win: float
    draw: float
    loss: float
    path: float  # reward per step of lead, see `PathReward`
    gamma: float


@kernel
def step_span(buffers: Buffers, config: BatchConfig, actions: np.ndarray, first: int, end: int) -> None:
    """Play an action in each game from `first` to before `end`; a game that ends is followed by a new one."""
    for i in range(first, end):
        board, game = buffers.boards[i], buffers.games[i]
        rules.make(board, rules.compiled_turned(board.size, board.ply, actions[i]))
        game.reply = game.opening = NO_ACTION
        if not rules.is_over(board):
            game.reply = _play_opponent(board, game, buffers.moves[i])
        _compute_reward(board, game, config)
        if game.ended:
            write_planes(board, config.walls, buffers.final_observations[i])
            _start_game(board, game, config, buffers.moves[i])
        _write_observation(buffers, config, i)


@kernel
def restart_span(buffers: Buffers, config: BatchConfig, first: int, end: int) -> None:
    for i in range(first, end):
        _start_game(buffers.boards[i], buffers.games[i], config, buffers.moves[i])
        _write_observation(buffers, config, i)


@kernel
def observe_span(buffers: Buffers, config: BatchConfig, first: int, end: int) -> None:
    for i in range(first, end):
        _write_observation(buffers, config, i)


@inlined
def _uniform(source: Any) -> float:
    """Return a number in [0, 1)."""
    return (next_word(source) >> _11) * _53_BITS


@inlined
def _play_opponent(board: Any, game: Any, moves: np.ndarray) -> int:
    """Make a move of the opponent and return it as an action of the opponent."""
    explores = game.explore > 0 and _uniform(game) < game.explore
    move = moves[below(game, rules.list_legal(board, moves))] if explores else shortest_step(board, moves)
    action = rules.compiled_turned(board.size, board.ply, move)
    rules.make(board, move)
    return action


@inlined
def _compute_reward(board: Any, game: Any, config: BatchConfig) -> None:
    """Compiled version of `Episode.collect_reward`."""
    before = game.potential
    game.ended = rules.is_over(board)
    game.outcome = 0
    if not game.ended:
        game.potential = _potential(board, game.seat, config)
        game.reward = config.gamma * game.potential - before
        return
    game.potential = 0.0
    if rules.on_goal(board, game.seat):
        game.outcome = 1
    elif rules.on_goal(board, 1 - game.seat):
        game.outcome = -1
    outcome_reward = config.win if game.outcome == 1 else (config.loss if game.outcome == -1 else config.draw)
    game.reward = outcome_reward - before


@inlined
def _potential(board: Any, seat: int, config: BatchConfig) -> float:
    if config.path == 0:
        return 0.0
    return config.path * (rules.distance(board, 1 - seat) - rules.distance(board, seat))


@inlined
def _start_game(board: Any, game: Any, config: BatchConfig, moves: np.ndarray) -> None:
    """Start a new game; if the learner is not to move, the opponent moves. It starts again if that has ended it."""
    start = board.size // 2
    pawns, left = (start, board.size * board.size - 1 - start), (config.walls, config.walls)
    for _ in range(START_ATTEMPTS):
        game.seat = config.first_seat + (below(game, 2) if config.seats == 2 else 0)
        game.explore = config.explore
        if config.explore_most > config.explore:
            game.explore += (config.explore_most - config.explore) * _uniform(game)
        plies = below(game, config.opening_plies + 1) if config.opening_plies > 0 else 0
        rules.set_up(board, ZERO, ZERO, pawns, left, 0)
        while board.ply < plies and not rules.is_over(board):
            rules.make(board, moves[below(game, rules.list_legal(board, moves))])
        game.opening = NO_ACTION
        if board.ply & 1 != game.seat and not rules.is_over(board):
            game.opening = _play_opponent(board, game, moves)
        if not rules.is_over(board):
            break
    game.potential = _potential(board, game.seat, config)


@inlined
def _write_observation(buffers: Buffers, config: BatchConfig, i: int) -> None:
    """Write the observation and the legal actions of the player to move."""
    write_planes(buffers.boards[i], config.walls, buffers.observations[i])
    write_mask(buffers.boards[i], buffers.masks[i])


def compiled_explore(opponent: Agent) -> tuple[float, float] | None:
    """Return the range of the fraction of random moves of an opponent that is compiled; None for other opponents."""
    if type(opponent) is RunnerAgent:
        return opponent.explore, opponent.explore_most
    return (1.0, 1.0) if type(opponent) is RandomAgent else None


class VecQuoridor(MaskedVectorEnv[np.ndarray]):
    """Plays like `PythonVectorEnv` against a runner or a random player, with its own random numbers.

    `info["final_info"]` has `won` and `outcome` of games that ended. Observations and masks are buffers that the next
    step overwrites.
    """

    def __init__(
        self,
        num_envs: int,
        game: Quoridor,
        explore: tuple[float, float],
        reward: GameReward,
        seats: Sequence[int],
        opening_plies: int = 0,
    ) -> None:
        """`explore` is the range from which the fraction of random moves of the opponent is drawn for each game."""
        shape = (game.planes, game.size, game.size)
        super().__init__(num_envs, spaces.Box(0.0, 1.0, shape, np.float32), game.num_actions)
        self.game = game
        path = float(reward.path) if isinstance(reward, PathReward) else 0.0
        outcomes = float(reward.win), float(reward.draw), float(reward.loss)
        ranges = seats[0], len(seats), *explore, opening_plies
        self._config = BatchConfig(game.walls, *ranges, *outcomes, path, float(reward.gamma))
        self._observations, self._final_observations = np.zeros((2, num_envs, *shape), np.float32)
        self._buffers = Buffers(
            boards=np.zeros(num_envs, BOARD),
            games=np.zeros(num_envs, GAME),
            observations=self._observations.reshape(num_envs, shape[0], -1),
            final_observations=self._final_observations.reshape(num_envs, shape[0], -1),
            masks=np.zeros((num_envs, game.num_actions), bool),
            moves=np.zeros((num_envs, MAX_MOVES), np.int64),
        )
        self._buffers.boards[:] = rules.new_board(game.size, game.ply_limit)

    def _start(self, seeds: Sequence[int]) -> None:
        for record, seed in zip(self._buffers.games, seeds, strict=False):
            record["random"] = seed_word(seed)
        self._in_threads(restart_span, self._buffers, self._config)

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one legal action per env (N,); raise before any is played if one is illegal."""
        self._in_threads(step_span, self._buffers, self._config, self._checked(actions, self._buffers.masks))
        games = self._buffers.games
        ended, info = games["ended"].copy(), {"action_mask": self._buffers.masks}
        if ended.any():
            outcomes = games["outcome"][ended]
            info |= self._final(ended, {"won": outcomes == 1, "outcome": outcomes})
        return self._observations, games["reward"].copy(), ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        return self._buffers.masks.copy()

    def positions(self) -> list[Position]:
        """Return the state of every game as a `Position`."""
        return rules.to_positions(self._buffers.boards)

    def opponent_actions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the opponent's reply to the last step, and its first move of a game that began in it; (N,) each, -1:
        none.
        """
        return self._buffers.games["reply"].copy(), self._buffers.games["opening"].copy()

    def state(self) -> dict[str, Any]:
        """Return everything that later steps depend on, as bytes of records."""
        return save_arrays({"boards": self._buffers.boards, "games": self._buffers.games})

    def load_state(self, saved: dict[str, Any]) -> None:
        load_arrays({"boards": self._buffers.boards, "games": self._buffers.games}, saved)
        self._seeded = True
        self._in_threads(observe_span, self._buffers, self._config)

    def _in_threads(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel over all games."""
        run_in_spans(partial(kernel, *arguments), self.num_envs, GAMES_PER_THREAD)

    def observe(self) -> np.ndarray:
        return self._observations

    def _final_observation(self, i: int) -> np.ndarray:
        return self._final_observations[i].copy()
