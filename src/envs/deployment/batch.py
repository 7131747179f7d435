"""N games stepped together: the learner's actions, the opponent's replies, rewards, new games and observations.

Against a `Bot` a whole step is one compiled call. Other agents decide in Python, batched over all games; a network
gets arrays, so that nothing is done in Python for each game.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import UserError, require
from ...core.kernels import by_reference, jit
from ...core.parallel import run_in_spans
from ...core.play.agent import Agent, acts_on_arrays
from ...core.play.capabilities import SupportsArrays
from ...core.play.game import outcome_for_seat
from ...core.play.past_selves import CURRENT, PastSelves
from ..masked_env import load_arrays, save_arrays
from ..splitmix import below, next_word, seed_word
from ..two_player_env import OutcomeReward
from . import observation, reward, rules
from .bots import Bot
from .bots.bot import require_action
from .bots.placement import Placement
from .bots.policy import NO_ACTION, RNG, Policy, choose, place
from .game import GAMES_PER_THREAD, DeploymentGame
from .metrics import OWN
from .observation import StaticFeatures
from .reward import Reward, Terms, terms
from .rules.deployment import deadlock
from .rules.dice import kernel
from .rules.state import GAME, SCRATCH, UNDECIDED, UNIT_STATE, Games, check_invariants
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
        ("invalid", np.int32),  # rejected actions of the deployment
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("no_action", np.bool_),  # the opponent had no action, or a placement no hex
        ("unwinnable", np.bool_),  # the opponent won MAX_STARTS games before the learner could act
    ],
    align=True,
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
class Setup(NamedTuple):
    first_seat: int
    seats: int  # 1, or 2 to draw one for each game
    restart: bool  # a game that ends is followed by a new one in the same step
    truncate: bool  # a deadlock ends a game; else it is an error
    penalty: float  # for an illegal action, if it is no error
    placements: np.ndarray  # (P, 2S, C) int32: ranks for the learner's units; one set is drawn for each game


@by_reference
class Context(NamedTuple):
    """All that the kernels below use."""

    world: World
    static: StaticFeatures
    games: Games
    buffers: Buffers
    terms: Terms
    setup: Setup
    compiled: bool  # the opponent plays by `policy`; else an agent plays it in Python
    policy: Policy
    observations: np.ndarray  # (N, D) float32


NO_POLICY = Policy(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros((0, 0), np.int32))


@jit(nogil=True, _nrt=False)
def step_games(c: Context, actions: np.ndarray, first: int, end: int) -> int:
    """Step the games from `first` to before `end` against a compiled opponent; return how many of them failed."""
    for i in range(first, end):
        play_learner(c, i, actions[i])
        compute_reward(c, i)
        if c.setup.restart and rules.is_over(c.games, i) and not has_failed(c, i):
            keep_final(c, i)
            start_game(c, i)
        write_observation(c, i)
    return failed_count(c, first, end)


@kernel
def play_learner(c: Context, i: int, action: int) -> None:
    """Play the learner's action and the replies; REFUSED changes nothing and costs the penalty."""
    result = c.buffers.results[i]
    result.steps += 1
    result.invalid_action = 0.0
    if action == REFUSED:
        result.invalid_action = -c.setup.penalty
    else:
        rules.play(c.world, c.games, i, action)
        play_opponent(c, i)


@kernel
def play_opponent(c: Context, i: int) -> None:
    """Play for the opponent and for the learner's placement until another player is to move or the game is over."""
    game, result, rng = c.games.games[i], c.buffers.results[i], c.buffers.rng[i]
    while not rules.is_over(c.games, i):
        if game.to_move != result.seat and c.compiled:
            action = choose(c.world, c.games, i, c.policy, rng)
        elif game.to_move == result.seat and game.phase == DEPLOYMENT and result.placement != OWN:
            action = place(c.world, c.games, i, c.setup.placements[result.placement], rng)
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
    performance = reward.performance(c.world, c.games, i, result.seat, c.terms)
    placement = reward.placement(c.world, c.games, i, result.seat, c.terms)
    result.terminated = game.outcome != UNDECIDED
    result.truncated = game.deadlocked
    result.outcome = 0.0
    if result.terminated:
        own = game.outcome if result.seat == 0 else -game.outcome
        result.outcome = c.terms.win if own > 0 else (c.terms.loss if own < 0 else c.terms.draw)
    result.performance = performance - result.performance_before
    result.deployment = placement - result.placement_before
    result.performance_before = performance
    result.placement_before = placement
    result.reward = result.outcome + result.performance + result.deployment + result.invalid_action


@kernel
def has_failed(c: Context, i: int) -> bool:
    """Whether a game cannot continue: a player has no action, or a deadlock is an error."""
    result = c.buffers.results[i]
    return result.no_action or result.unwinnable or (c.games.games[i].deadlocked and not c.setup.truncate)


@kernel
def failed_count(c: Context, first: int, end: int) -> int:
    count = 0
    for i in range(first, end):
        count += has_failed(c, i)
    return count


@kernel
def keep_final(c: Context, i: int) -> None:
    """Keep the end of a game that another one follows."""
    buffers = c.buffers
    observation.observe(c.world, c.static, c.games, i, buffers.results[i].seat, buffers.final_observations[i])
    buffers.final_results[i] = buffers.results[i]
    buffers.final_games[i] = c.games.games[i]
    for u in range(c.world.units.size):
        buffers.final_units[i, u] = c.games.units[i, u]


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
    result, rng, placements = c.buffers.results[i], c.buffers.rng[i], c.setup.placements.shape[0]
    result.seat = c.setup.first_seat if c.setup.seats == 1 else below(rng, 2)
    result.placement = OWN if placements == 0 else below(rng, placements)
    c.games.games[i].random = next_word(rng)
    rules.start(c.world, c.games, i)
    result.steps = 0
    result.invalid = 0
    result.no_action = False
    result.unwinnable = False
    result.performance_before = reward.performance(c.world, c.games, i, result.seat, c.terms)
    result.placement_before = reward.placement(c.world, c.games, i, result.seat, c.terms)


@kernel
def skip_placement_reward(c: Context, i: int) -> None:
    """Do not reward the learner for units that were placed for it."""
    result = c.buffers.results[i]
    if result.placement != OWN:
        result.placement_before = reward.placement(c.world, c.games, i, result.seat, c.terms)


@kernel
def write_observation(c: Context, i: int) -> None:
    observation.observe(c.world, c.static, c.games, i, c.buffers.results[i].seat, c.observations[i])


@kernel
def start_games(c: Context) -> int:
    """Start all games against a compiled opponent; return how many of them failed."""
    for i in range(c.games.games.size):
        start_game(c, i)
        write_observation(c, i)
    return failed_count(c, 0, c.games.games.size)


# The parts of a step against an opponent in Python.
@jit(nogil=True, _nrt=False)
def play_learners(c: Context, actions: np.ndarray, first: int, end: int) -> None:
    for i in range(first, end):
        play_learner(c, i, actions[i])


@jit(nogil=True, _nrt=False)
def finish_steps(c: Context, first: int, end: int) -> int:
    """Compute the rewards and write the observations; return how many games failed."""
    for i in range(first, end):
        compute_reward(c, i)
        write_observation(c, i)
    return failed_count(c, first, end)


@jit(nogil=True, _nrt=False)
def write_observations(c: Context, which: np.ndarray) -> int:
    """Write the observations of the games `which`; return how many games failed."""
    for n in range(which.size):
        write_observation(c, which[n])
    return failed_count(c, 0, c.games.games.size)


@jit(nogil=True, _nrt=False)
def find_waiting(games: Games, results: np.ndarray, which: np.ndarray, found: np.ndarray) -> int:
    """Write those of the games `which` that wait for the opponent; return their number."""
    count = 0
    for n in range(which.size):
        i = which[n]
        if not rules.is_over(games, i) and games.games[i].to_move != results[i].seat:
            found[count] = i
            count += 1
    return count


@jit(nogil=True, _nrt=False)
def play_replies(c: Context, which: np.ndarray, actions: np.ndarray) -> None:
    """Play the actions of the opponent in the games `which`."""
    for n in range(which.size):
        rules.play(c.world, c.games, which[n], actions[n])
        play_opponent(c, which[n])


class Batch:
    """The state of N games and the output buffers of their steps."""

    def __init__(
        self,
        game: DeploymentGame,
        opponent: Agent,
        reward: Reward | OutcomeReward,
        seats: Sequence[int],
        count: int,
        *,
        restart: bool,
        penalty: float | None = None,
        placements: Sequence[Placement] = (),
    ) -> None:
        self.game, self.count = game, count
        self.games = game.games(count)
        self.states = [game.state(self.games, i) for i in range(count)]
        self.buffers = Buffers(
            results=np.zeros(count, RESULT),
            rng=np.zeros(count, RNG),
            final_observations=np.zeros((count, game.observation_size), np.float32),
            final_results=np.zeros(count, RESULT),
            final_games=np.zeros(count, GAME),
            final_units=np.zeros((count, game.world.units.size), UNIT_STATE),
        )
        self.rngs = [np.random.default_rng(0) for _ in range(count)]  # for opponents in Python
        self._waiting = np.empty(count, np.int64)  # games that wait for an opponent in Python
        self.numbers = [CURRENT] * count  # of the past self that each game is played against
        ranks = np.array([placement.ranks(game.world) for placement in placements], np.int32)
        ranks = ranks.reshape(-1, game.world.units.size, game.world.cells.size)
        setup = Setup(seats[0], len(seats), restart, game.on_deadlock == "truncate", float(penalty or 0), ranks)
        self.observations = np.empty((count, game.observation_size), np.float32)
        self._context = Context(
            *(game.world, game.static_features, self.games, self.buffers, terms(reward), setup),
            *(False, NO_POLICY, self.observations),
        )
        self.set_opponent(opponent)

    def set_opponent(self, opponent: Agent) -> None:
        """Set the opponent of all later moves."""
        self.opponent = opponent
        compiled = isinstance(opponent, Bot)
        policy = opponent.policy(self.game) if isinstance(opponent, Bot) else NO_POLICY
        self._context = self._context._replace(compiled=compiled, policy=policy)

    def _renew_observations(self) -> Context:
        """Let the next step write to a new array: those of earlier steps belong to the caller, who needs no copy."""
        self.observations = np.empty((self.count, self.game.observation_size), np.float32)
        self._context = self._context._replace(observations=self.observations)
        return self._context

    def seed(self, i: int, seed: int) -> None:
        self.buffers.rng[i]["random"] = seed_word(seed)
        self.rngs[i] = np.random.default_rng([seed, 1])

    def restart(self) -> None:
        """Start a new game in every slot."""
        context = self._renew_observations()
        self._raise_failures(start_games(context) if context.compiled else self._start(np.arange(self.count)))

    def step(self, actions: np.ndarray) -> None:
        """Play one action (N,) int64 per game, legal or REFUSED; the results are written to `buffers`."""
        context = self._renew_observations()
        if context.compiled:
            failed = sum(run_in_spans(partial(step_games, context, actions), self.count, GAMES_PER_THREAD))
        else:
            failed = self._step_with_agent(context, actions)
        self._raise_failures(failed)

    def _step_with_agent(self, context: Context, actions: np.ndarray) -> int:
        run_in_spans(partial(play_learners, context, actions), self.count, GAMES_PER_THREAD)
        self._let_opponent_move(np.arange(self.count))
        failed = sum(run_in_spans(partial(finish_steps, context), self.count, GAMES_PER_THREAD))
        ended = np.flatnonzero(self.buffers.results["terminated"] | self.buffers.results["truncated"])
        if isinstance(self.opponent, PastSelves):
            for i in ended:
                game, seat = self.games.games[i], int(self.buffers.results[i]["seat"])
                if not game["deadlocked"]:
                    self.opponent.record(self.numbers[i], outcome_for_seat(seat, int(game["outcome"])))
        if failed or not context.setup.restart or not ended.size:
            return failed
        for i in ended:
            keep_final(context, i)
        return self._start(ended)

    def _start(self, started: np.ndarray) -> int:
        """Start games like `start_game`, with an opponent in Python; return how many games failed."""
        context, which = self._context, started
        for _ in range(MAX_STARTS):
            for i in which:
                set_up_game(context, i)
                play_opponent(context, i)
                if isinstance(self.opponent, PastSelves):
                    self.numbers[i] = self.opponent.sample(self.rngs[i])
            self._let_opponent_move(which)
            for i in which:
                skip_placement_reward(context, i)
            which = which[self.games.games["outcome"][which] != UNDECIDED]
            if not which.size:
                break
        self.buffers.results["unwinnable"][which] = True
        return write_observations(context, started)

    def _let_opponent_move(self, which: np.ndarray) -> None:
        while count := find_waiting(self.games, self.buffers.results, which, self._waiting):
            waiting = self._waiting[:count].copy()
            decide = self._decide_by_arrays if acts_on_arrays(self.opponent) else self._decide_by_views
            play_replies(self._context, waiting, decide(waiting, [self.rngs[i] for i in waiting]))

    def _decide_by_arrays(self, which: np.ndarray, rngs: list[np.random.Generator]) -> np.ndarray:
        """Return the actions of an opponent that needs arrays only."""
        observations, masks = self.game.observe_turns(self.games, which)
        if isinstance(self.opponent, PastSelves):
            numbers = [self.numbers[i] for i in which]
            actions = self.opponent.choose_actions_for(numbers, observations, masks, rngs)
        else:
            assert isinstance(self.opponent, SupportsArrays)
            actions = self.opponent.choose_actions(observations, masks, rngs)
        legal = bool(masks[np.arange(which.size), actions].all())
        require(legal, "the network of the opponent chose an illegal action: its outputs are not finite numbers")
        return actions

    def _decide_by_views(self, which: np.ndarray, rngs: list[np.random.Generator]) -> np.ndarray:
        views = [self.states[i] for i in which]
        if isinstance(self.opponent, PastSelves):
            decisions = self.opponent.decide_for([self.numbers[i] for i in which], self.game, views, rngs)
        else:
            decisions = self.opponent.decide_batch(self.game, views, rngs)
        for view, decision in zip(views, decisions, strict=True):
            assert decision.action is not None, "an opponent inside an environment must always choose an action"
            self.game.require_legal(view, decision.action)
        return np.array([decision.action for decision in decisions])

    def _raise_failures(self, failed: int) -> None:
        """Raise the errors that a compiled step can only count."""
        for state in self.states if self.game.debug else ():
            check_invariants(state)
        if failed:
            results = self.buffers.results
            fair = not results["unwinnable"].any()
            require(fair, "the opponent wins every game before the learner's first action: choose fairer sides")
            require_action(NO_ACTION if results["no_action"].any() else 0)
            raise deadlock(self.states[int(self.games.games["deadlocked"].argmax())])

    def legal_masks(self) -> np.ndarray:
        """Return a copy of the masks (N, A); raise if one is empty: a policy would then sample illegal actions."""
        if not self.games.mask.any(axis=1).all():
            raise UserError("an env has no legal action: this is a bug in the rules")
        return self.games.mask.copy()

    def count_refusals(self) -> None:
        """Add the actions rejected by the engine to the metrics of their episodes."""
        for state, result in zip(self.states, self.buffers.results, strict=True):
            result["invalid"] += state.invalid_attempts
            state.invalid_attempts = 0

    def saved(self) -> dict[str, Any]:
        """Return everything that later steps depend on: the arrays as bytes and the generators of the opponents."""
        return {
            "arrays": save_arrays(self._arrays()),
            "rngs": [dict(rng.bit_generator.state) for rng in self.rngs],
            **({"numbers": list(self.numbers)} if isinstance(self.opponent, PastSelves) else {}),
        }

    def load(self, saved: dict[str, Any]) -> None:
        load_arrays(self._arrays(), saved["arrays"])
        for rng, kept in zip(self.rngs, saved["rngs"], strict=True):
            rng.bit_generator.state = kept
        self.numbers = list(saved.get("numbers", self.numbers))
        write_observations(self._renew_observations(), np.arange(self.count))

    def _arrays(self) -> dict[str, np.ndarray]:
        games = {name: array for name, array in self.games._asdict().items() if name not in SCRATCH}
        return {**games, "results": self.buffers.results, "rng": self.buffers.rng}
