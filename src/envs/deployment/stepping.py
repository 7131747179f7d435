"""One step of the environment: the learner's action, the opponent's replies, reward, restart and observation."""

from typing import NamedTuple

import numpy as np

from ...core.kernel_references import by_reference
from ...core.kernels import jit
from ..splitmix import below, next_word
from . import observation, reward, rules
from .bots.policy import NO_ACTION, Policy, choose, place
from .observation import StaticFeatures
from .reward import Terms
from .rules import deployment
from .rules.dice import kernel
from .rules.state import UNDECIDED, Games
from .rules.world import DEPLOYMENT, World

# Results of the latest step, and counts over an episode.
RESULT = np.dtype(
    [
        ("reward", np.float64),  # the sum of the next four
        ("outcome", np.float64),
        ("performance", np.float64),
        ("deployment", np.float64),
        ("invalid_action", np.float64),
        ("performance_before", np.float64),  # this and the next: potentials after the previous step
        ("placement_before", np.float64),
        ("seat", np.int32),  # the learner's
        ("placement", np.int32),  # index of the one that places the learner's units, or OWN
        ("steps", np.int32),
        ("placements", np.int32),  # legal deployment actions of the learner
        ("invalid", np.int32),  # rejected ones
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("stuck", np.bool_),  # the opponent had no action, or a placement no hex
        ("deadlock", np.bool_),  # a pass was not played, because its deadlock is an error
        ("hopeless", np.bool_),  # the opponent won MAX_STARTS games before the learner could act
    ],
    align=True,
)
OWN = -1  # the learner places its units itself
REFUSED = -1  # in place of an illegal action that is penalised
MAX_STARTS = 10_000  # consecutive games that may be decided before the learner's first action


@by_reference
class Buffers(NamedTuple):
    observations: np.ndarray  # (N, D) float32
    results: np.ndarray  # (N,) RESULT
    luck: np.ndarray  # (N,) LUCK: generator of seats, dice seeds, placements and opponents
    final_observations: np.ndarray  # (N, D) float32: this and the next three are of games that ended in this step
    final_results: np.ndarray  # (N,) RESULT
    final_games: np.ndarray  # (N,) GAME
    final_units: np.ndarray  # (N, 2S) UNIT_STATE


@by_reference
class Setup(NamedTuple):
    first_seat: int
    seats: int  # 1, or 2 to draw one for each game
    restart: bool  # a game that ends is followed by a new one in the same step
    truncate: bool  # a deadlock ends a game; else it is an error
    penalty: float  # for an illegal action, if it is no error
    placements: np.ndarray  # (P, 2S, C) int32: ranks for the learner's units; one set is drawn for each game


@jit(nogil=True, _nrt=False)
def step_some(
    world: World,
    static: StaticFeatures,
    games: Games,
    buffers: Buffers,
    terms: Terms,
    setup: Setup,
    policy: Policy,
    actions: np.ndarray,
    first: int,
    end: int,
) -> int:
    """Step the games from `first` to before `end`; return how many of them cannot continue."""
    for i in range(first, end):
        _step(world, static, games, buffers, terms, setup, policy, i, actions[i])
    return troubles(buffers, first, end)


@kernel
def restart_all(
    world: World, static: StaticFeatures, games: Games, buffers: Buffers, terms: Terms, setup: Setup, policy: Policy
) -> int:
    for i in range(games.games.size):
        open_game(world, static, games, buffers, terms, setup, policy, i)
        show(world, static, games, buffers, i)
    return troubles(buffers, 0, games.games.size)


@kernel
def troubles(buffers: Buffers, first: int, end: int) -> int:
    """Count the games that cannot continue: a player has no action, or a deadlock must be reported."""
    count = 0
    for i in range(first, end):
        result = buffers.results[i]
        count += result.stuck or result.hopeless or result.deadlock
    return count


@jit(nogil=True, _nrt=False)
def act_some(
    world: World, games: Games, buffers: Buffers, setup: Setup, actions: np.ndarray, first: int, end: int
) -> None:
    """The first part of a step against an opponent in Python: the learner's actions."""
    for i in range(first, end):
        act(world, games, buffers, setup, i, actions[i])
        place_units(world, games, buffers, setup, i)


@jit(nogil=True, _nrt=False)
def settle_some(
    world: World, static: StaticFeatures, games: Games, buffers: Buffers, terms: Terms, first: int, end: int
) -> None:
    for i in range(first, end):
        settle(world, static, games, buffers, terms, i)


@jit(nogil=True, _nrt=False)
def show_some(world: World, static: StaticFeatures, games: Games, buffers: Buffers, first: int, end: int) -> None:
    for i in range(first, end):
        show(world, static, games, buffers, i)


@jit(nogil=True, _nrt=False)
def waiting(games: Games, buffers: Buffers, which: np.ndarray, found: np.ndarray) -> int:
    """Write those of the games `which` that wait for the opponent; return their number."""
    count = 0
    for n in range(which.size):
        if awaits_opponent(games, buffers, which[n]):
            found[count] = which[n]
            count += 1
    return count


@jit(nogil=True, _nrt=False)
def show_opponent(
    world: World,
    static: StaticFeatures,
    games: Games,
    which: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Write what the player to move in the games `which` sees and may do."""
    for n in range(first, end):
        observation.observe_turn(world, static, games, which[n], observations[n], masks[n])


@jit(nogil=True, _nrt=False)
def reply(world: World, games: Games, buffers: Buffers, setup: Setup, which: np.ndarray, actions: np.ndarray) -> None:
    """Play the actions of the opponent in the games `which`."""
    for n in range(which.size):
        _play(world, games, buffers, setup, which[n], actions[n])
        place_units(world, games, buffers, setup, which[n])


@kernel
def _step(
    world: World,
    static: StaticFeatures,
    games: Games,
    buffers: Buffers,
    terms: Terms,
    setup: Setup,
    policy: Policy,
    i: int,
    action: int,
) -> None:
    act(world, games, buffers, setup, i, action)
    answer(world, games, buffers, setup, policy, i)
    settle(world, static, games, buffers, terms, i)
    if is_to_restart(games, setup, i):
        keep_final(world, static, games, buffers, i)
        open_game(world, static, games, buffers, terms, setup, policy, i)
    show(world, static, games, buffers, i)


@kernel
def act(world: World, games: Games, buffers: Buffers, setup: Setup, i: int, action: int) -> None:
    """Play the learner's action; REFUSED changes nothing and costs the penalty."""
    result = buffers.results[i]
    result.steps += 1
    result.invalid_action = 0.0
    if action == REFUSED:
        result.invalid_action = -setup.penalty
        return
    result.placements += games.games[i].phase == DEPLOYMENT
    _play(world, games, buffers, setup, i, action)


@kernel
def _play(world: World, games: Games, buffers: Buffers, setup: Setup, i: int, action: int) -> None:
    """Play an action, but not the pass of a deadlock that is an error."""
    passes = action == rules.pass_action(world)
    if passes and not setup.truncate and deployment.is_deadlock(world, games, i):
        buffers.results[i].deadlock = True
    else:
        rules.play(world, games, i, action)


@kernel
def awaits_opponent(games: Games, buffers: Buffers, i: int) -> bool:
    result = buffers.results[i]
    return not rules.is_over(games, i) and not result.deadlock and games.games[i].to_move != result.seat


@kernel
def awaits_placement(games: Games, buffers: Buffers, i: int) -> bool:
    """Whether the learner is to place a unit, and a placement does it instead."""
    result, game = buffers.results[i], games.games[i]
    can_place = game.phase == DEPLOYMENT and game.to_move == result.seat and not rules.is_over(games, i)
    return result.placement != OWN and can_place and not result.deadlock and not result.stuck


@kernel
def place_units(world: World, games: Games, buffers: Buffers, setup: Setup, i: int) -> None:
    """Place units of the learner by the drawn placement while it is to move in the deployment."""
    while awaits_placement(games, buffers, i):
        ranks = setup.placements[buffers.results[i].placement]
        _play_or_report(world, games, buffers, setup, i, place(world, games, i, ranks, buffers.luck[i]))


@kernel
def answer(world: World, games: Games, buffers: Buffers, setup: Setup, policy: Policy, i: int) -> None:
    """Play until the learner has to choose an action or the game is over."""
    place_units(world, games, buffers, setup, i)
    while awaits_opponent(games, buffers, i) and not buffers.results[i].stuck:
        _play_or_report(world, games, buffers, setup, i, choose(world, games, i, policy, buffers.luck[i]))
        place_units(world, games, buffers, setup, i)


@kernel
def _play_or_report(world: World, games: Games, buffers: Buffers, setup: Setup, i: int, action: int) -> None:
    if action == NO_ACTION:
        buffers.results[i].stuck = True
    else:
        _play(world, games, buffers, setup, i, action)


@kernel
def settle(world: World, static: StaticFeatures, games: Games, buffers: Buffers, terms: Terms, i: int) -> None:
    """Compute the reward of the step and whether the game is over."""
    game, result = games.games[i], buffers.results[i]
    now = reward.performance(world, static.points, games, i, result.seat, terms)
    placed = reward.placement(world, games, i, result.seat, terms)
    result.terminated = game.outcome != UNDECIDED
    result.truncated = game.deadlocked
    result.outcome = 0.0
    if result.terminated:
        own = game.outcome if result.seat == 0 else -game.outcome
        result.outcome = terms.win if own > 0 else (terms.loss if own < 0 else terms.draw)
    result.performance = now - result.performance_before
    result.deployment = placed - result.placement_before
    result.performance_before = now
    result.placement_before = placed
    result.reward = result.outcome + result.performance + result.deployment + result.invalid_action


@kernel
def is_to_restart(games: Games, setup: Setup, i: int) -> bool:
    return setup.restart and rules.is_over(games, i)


@kernel
def keep_final(world: World, static: StaticFeatures, games: Games, buffers: Buffers, i: int) -> None:
    observation.observe(world, static, games, i, buffers.results[i].seat, buffers.final_observations[i])
    buffers.final_results[i] = buffers.results[i]
    buffers.final_games[i] = games.games[i]
    for u in range(world.units.size):
        buffers.final_units[i, u] = games.units[i, u]


@kernel
def open_game(
    world: World,
    static: StaticFeatures,
    games: Games,
    buffers: Buffers,
    terms: Terms,
    setup: Setup,
    policy: Policy,
    i: int,
) -> None:
    """Start a game in which the learner is to move; games decided before that are replaced."""
    for _ in range(MAX_STARTS):
        begin(world, static, games, buffers, terms, setup, i)
        answer(world, games, buffers, setup, policy, i)
        if not is_decided(games, i):
            skip_placement_reward(world, games, buffers, terms, i)
            return
    buffers.results[i].hopeless = True


@kernel
def skip_placement_reward(world: World, games: Games, buffers: Buffers, terms: Terms, i: int) -> None:
    """Do not reward the learner for units that were placed for it."""
    result = buffers.results[i]
    if result.placement != OWN:
        result.placement_before = reward.placement(world, games, i, result.seat, terms)


@kernel
def is_decided(games: Games, i: int) -> bool:
    """Whether a game is won, lost or drawn. A deadlock does not count: the next game would deadlock as well."""
    return games.games[i].outcome != UNDECIDED


@kernel
def begin(
    world: World, static: StaticFeatures, games: Games, buffers: Buffers, terms: Terms, setup: Setup, i: int
) -> None:
    """Start a game without any moves; keep the reward and the end of the latest step."""
    result = buffers.results[i]
    result.seat = setup.first_seat if setup.seats == 1 else below(buffers.luck[i], 2)
    count = setup.placements.shape[0]
    result.placement = OWN if count == 0 else below(buffers.luck[i], count)
    games.games[i].random = next_word(buffers.luck[i])
    rules.start(world, games, i)
    result.steps = 0
    result.placements = 0
    result.invalid = 0
    result.stuck = False
    result.deadlock = False
    result.hopeless = False
    result.performance_before = reward.performance(world, static.points, games, i, result.seat, terms)
    result.placement_before = reward.placement(world, games, i, result.seat, terms)


@kernel
def show(world: World, static: StaticFeatures, games: Games, buffers: Buffers, i: int) -> None:
    observation.observe(world, static, games, i, buffers.results[i].seat, buffers.observations[i])
