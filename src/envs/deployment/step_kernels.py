"""Compiled steps of N games: the learner's actions, the opponent's replies, rewards, new games and observations.

Against a `Bot` a whole step is one call of `step_games`. Other agents decide in Python, between the kernels at the end.
"""

from typing import NamedTuple

import numpy as np

from ...core.kernels import by_reference
from ..splitmix import below, next_word
from . import observation, reward, rules
from .bots.policy import NO_ACTION, Policy, choose, place
from .metrics import OWN
from .observation import StaticFeatures
from .reward import Reward
from .rules.kernels import UNDECIDED, copy_values, kernel, record, released
from .rules.world import DEPLOYMENT, Games, World

# Results of the latest step, and counts over an episode.
RESULT = record(
    ("reward", np.float64),  # the sum of the next four
    ("outcome", np.float64),
    ("performance", np.float64),
    ("deployment", np.float64),
    ("invalid_action", np.float64),
    ("performance_before", np.float64),  # this and the next: values after the previous step
    ("placement_before", np.float64),
    ("seat", np.int32),  # the learner's
    ("placement", np.int32),  # index of the one that places the learner's units, or OWN
    ("steps", np.int32),
    ("invalid", np.int32),  # rejected actions of the deployment
    ("terminated", np.bool_),
    ("truncated", np.bool_),
    ("no_action", np.bool_),  # the opponent had no action, or a placement no hex
    ("unwinnable", np.bool_),  # the opponent won MAX_STARTS games before the learner could act
)
REFUSED = -1  # in place of an illegal action that is penalized
MAX_STARTS = 10_000  # consecutive games that may be decided before the learner's first action


@by_reference
class Buffers(NamedTuple):
    results: np.ndarray  # (N,) RESULT
    rng: np.ndarray  # (N,) RNG: generator of seats, dice seeds, placements and compiled opponents
    final_observations: np.ndarray  # (N, D) float32: this and the next three are of games that ended in this step
    final_results: np.ndarray  # (N,) RESULT
    final_games: np.ndarray  # (N,) GAME
    final_units: np.ndarray  # (N, 2S) UNIT_STATE


@by_reference
class Context(NamedTuple):
    """All that the kernels below use."""

    world: World
    static: StaticFeatures
    games: Games
    buffers: Buffers
    reward: Reward
    first_seat: int
    seats: int  # 1, or 2 to draw one for each game
    restart: bool  # a game that ends is followed by a new one in the same step
    truncate: bool  # a deadlock ends a game; else it is an error
    penalty: float  # for an illegal action, unless it is an error
    placements: np.ndarray  # (P, 2S, C) int32: ranks for the learner's units; one set is drawn for each game
    compiled: bool  # the opponent plays by `policy`; else an agent plays it in Python
    policy: Policy
    observations: np.ndarray  # (N, D) float32


NO_POLICY = Policy(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros((0, 0), np.int32))


@released
def step_games(c: Context, actions: np.ndarray, first: int, end: int) -> int:
    """Step the games from `first` to before `end`; return how many of them failed.

    REFUSED changes nothing and costs the penalty. Against an opponent in Python only the learner's actions are played.
    """
    failed = 0
    for i in range(first, end):
        result = c.buffers.results[i]
        result.steps += 1
        result.invalid_action = 0.0
        if actions[i] == REFUSED:
            result.invalid_action = -c.penalty
        else:
            rules.play(c.world, c.games, i, actions[i])
            play_opponent(c, i)
        if c.compiled:
            compute_reward(c, i)
            if c.restart and rules.is_over(c.games, i) and not has_failed(c, i):
                keep_final(c, i)
                start_game(c, i)
            failed += write_observation(c, i)
    return failed


@kernel
def play_opponent(c: Context, i: int) -> None:
    """Play for the opponent and for the learner's placement until another player is to move or the game is over."""
    game, result, rng = c.games.games[i], c.buffers.results[i], c.buffers.rng[i]
    while not rules.is_over(c.games, i):
        if game.to_move != result.seat and c.compiled:
            action = choose(c.world, c.games, i, c.policy, rng)
        elif game.to_move == result.seat and game.phase == DEPLOYMENT and result.placement != OWN:
            action = place(c.world, c.games, i, c.placements[result.placement], rng)
        else:
            return
        if action == NO_ACTION:
            result.no_action = True
            return
        rules.play(c.world, c.games, i, action)


@kernel
def compute_reward(c: Context, i: int) -> None:
    """Compute the reward of the step and whether the game is over."""
    game, result = c.games.games[i], c.buffers.results[i]
    performance = reward.performance(c.world, c.games, i, result.seat, c.reward)
    placement = reward.placement(c.world, c.games, i, result.seat, c.reward)
    result.terminated = game.outcome != UNDECIDED
    result.truncated = game.deadlocked
    result.outcome = 0.0
    if result.terminated:
        own = game.outcome if result.seat == 0 else -game.outcome
        result.outcome = c.reward.win if own > 0 else (c.reward.loss if own < 0 else c.reward.draw)
    gamma = 1.0 if result.terminated else c.reward.gamma  # a truncated game is valued as if it went on
    result.performance = gamma * performance - result.performance_before
    result.deployment = placement - result.placement_before
    result.performance_before = performance
    result.placement_before = placement
    result.reward = result.outcome + result.performance + result.deployment + result.invalid_action


@kernel
def has_failed(c: Context, i: int) -> bool:
    """Whether a game cannot continue: a player has no action, or a deadlock is an error."""
    result = c.buffers.results[i]
    return result.no_action or result.unwinnable or (c.games.games[i].deadlocked and not c.truncate)


@kernel
def keep_final(c: Context, i: int) -> None:
    """Keep the end of a game that another one follows."""
    buffers = c.buffers
    observation.observe(c.world, c.static, c.games, i, buffers.results[i].seat, buffers.final_observations[i])
    buffers.final_results[i] = buffers.results[i]
    buffers.final_games[i] = c.games.games[i]
    copy_values(c.games.units[i], buffers.final_units[i])


@kernel
def start_game(c: Context, i: int) -> None:
    """Start a game in which the learner is to move; games decided before that are replaced."""
    for _ in range(MAX_STARTS):
        set_up_game(c, i)
        play_opponent(c, i)
        if c.games.games[i].outcome == UNDECIDED:  # or deadlocked: the next game would deadlock as well
            skip_placement_reward(c, i)
            return
    c.buffers.results[i].unwinnable = True


@kernel
def set_up_game(c: Context, i: int) -> None:
    """Start a game without any moves; keep the reward and the end of the latest step."""
    result, rng, placements = c.buffers.results[i], c.buffers.rng[i], c.placements.shape[0]
    result.seat = c.first_seat if c.seats == 1 else below(rng, 2)
    result.placement = OWN if placements == 0 else below(rng, placements)
    c.games.games[i].random = next_word(rng)
    rules.start(c.world, c.games, i)
    result.steps = 0
    result.invalid = 0
    result.no_action = False
    result.unwinnable = False
    result.performance_before = reward.performance(c.world, c.games, i, result.seat, c.reward)
    result.placement_before = reward.placement(c.world, c.games, i, result.seat, c.reward)


@kernel
def skip_placement_reward(c: Context, i: int) -> None:
    """Do not reward the learner for units that were placed for it."""
    result = c.buffers.results[i]
    if result.placement != OWN:
        result.placement_before = reward.placement(c.world, c.games, i, result.seat, c.reward)


@kernel
def write_observation(c: Context, i: int) -> bool:
    """Write what the learner observes; return whether the game has failed."""
    observation.observe(c.world, c.static, c.games, i, c.buffers.results[i].seat, c.observations[i])
    return has_failed(c, i)


# The parts of a step against an opponent in Python.
@released
def finish_steps(c: Context, first: int, end: int) -> int:
    """Compute the rewards and write the observations; return how many games failed."""
    failed = 0
    for i in range(first, end):
        compute_reward(c, i)
        failed += write_observation(c, i)
    return failed


@released
def write_observations(c: Context, which: np.ndarray) -> int:
    """Write the observations of the games `which`; return how many of them failed."""
    failed = 0
    for n in range(which.size):
        failed += write_observation(c, which[n])
    return failed


@released
def find_waiting(games: Games, results: np.ndarray, which: np.ndarray, found: np.ndarray) -> int:
    """Write which of the games `which` wait for the opponent; return their number."""
    count = 0
    for n in range(which.size):
        i = which[n]
        if not rules.is_over(games, i) and games.games[i].to_move != results[i].seat:
            found[count] = i
            count += 1
    return count


@released
def play_replies(c: Context, which: np.ndarray, actions: np.ndarray) -> None:
    """Play the actions of the opponent in the games `which`."""
    for n in range(which.size):
        rules.play(c.world, c.games, which[n], actions[n])
        play_opponent(c, which[n])
