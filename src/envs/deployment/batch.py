"""N games stepped together, including the opponent's moves.

Against a `Bot` the whole step is one compiled call. Other agents decide in Python, batched over all games; a network
gets arrays, so that nothing is done in Python for each game.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, Decision, acts_on_arrays
from ...core.play.capabilities import SupportsArrays
from ...core.play.game import outcome_for_seat
from ...core.play.past_selves import CURRENT, PastSelves
from ...core.threads import run_in_spans
from ..masked_vector_env import load_arrays, save_arrays
from ..splitmix import seed_word
from ..versus import OutcomeReward
from . import stepping
from .bots.bot import Bot, require_action
from .bots.placement import Placement
from .bots.policy import LUCK, NO_ACTION
from .game import DeploymentGame
from .reward import Reward, terms
from .rules.deployment import deadlock
from .rules.invariants import check_invariants
from .rules.state import SCRATCH, UNDECIDED, UNIT_STATE
from .stepping import RESULT, Buffers, Setup

GAMES_PER_THREAD = 16  # with fewer, starting a thread costs more than it saves


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
            observations=np.zeros((count, game.observation_size), np.float32),
            results=np.zeros(count, RESULT),
            luck=np.zeros(count, LUCK),
            final_observations=np.zeros((count, game.observation_size), np.float32),
            final_results=np.zeros(count, RESULT),
            final_games=np.zeros(count, self.games.games.dtype),
            final_units=np.zeros((count, game.world.units.size), UNIT_STATE),
        )
        self.rngs = [np.random.default_rng(0) for _ in range(count)]  # for opponents in Python
        self._waiting = np.empty(count, np.int64)  # games that wait for an opponent in Python
        self.numbers = [CURRENT] * count  # of the past self that each game is played against
        ranks = np.zeros((len(placements), game.world.units.size, game.world.cells.size), np.int32)
        for k, placement in enumerate(placements):
            ranks[k] = placement.ranks(game.world)
        self._setup = Setup(seats[0], len(seats), restart, game.on_deadlock == "truncate", float(penalty or 0), ranks)
        self._terms = terms(reward)
        self._renew_observations()
        self.set_opponent(opponent)

    def set_opponent(self, opponent: Agent) -> None:
        """Set the opponent of all later moves."""
        self.opponent = opponent
        self._policy = opponent.policy(self.game) if isinstance(opponent, Bot) else None

    def _renew_observations(self) -> None:
        """Let the next step write to a new array: those of earlier steps belong to the caller, who needs no copy."""
        self.buffers = self.buffers._replace(observations=np.empty_like(self.buffers.observations))
        game = self.game
        self._compiled = (game.world, game.static_features, self.games, self.buffers, self._terms, self._setup)

    def seed(self, i: int, seed: int) -> None:
        self.buffers.luck[i]["random"] = seed_word(seed)
        self.rngs[i] = np.random.default_rng([seed, 1])

    def restart(self) -> None:
        """Start a new game in every slot."""
        self._renew_observations()
        if self._policy is not None:
            troubles = stepping.restart_all(*self._compiled, self._policy)
        else:
            self._open(np.arange(self.count))
            self._show()
            troubles = stepping.troubles(self.buffers, 0, self.count)
        self._report(troubles)

    def step(self, actions: np.ndarray) -> None:
        """Play one action (N,) int64 per game, legal or REFUSED; the results are written to `buffers`."""
        self._renew_observations()
        if self._policy is not None:
            step = partial(stepping.step_some, *self._compiled, self._policy, actions)
            troubles = sum(run_in_spans(step, self.count, GAMES_PER_THREAD))
        else:
            self._step_with_agent(actions)
            troubles = stepping.troubles(self.buffers, 0, self.count)
        self._report(troubles)

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
        self._renew_observations()
        self._show()

    def _arrays(self) -> dict[str, np.ndarray]:
        games = {name: array for name, array in self.games._asdict().items() if name not in SCRATCH}
        return {**games, "results": self.buffers.results, "luck": self.buffers.luck}

    def _step_with_agent(self, actions: np.ndarray) -> None:
        world, static, games, buffers, terms, setup = self._compiled
        self._in_spans(stepping.act_some, world, games, buffers, setup, actions)
        self._let_opponent_move(np.arange(self.count))
        self._in_spans(stepping.settle_some, world, static, games, buffers, terms)
        ended = np.flatnonzero(buffers.results["terminated"] | buffers.results["truncated"])
        self._report_results(ended)
        if setup.restart:
            for i in ended:
                stepping.keep_final(world, static, games, buffers, i)
            self._open(ended)
        self._show()

    def _in_spans(self, work: Callable[..., None], *arguments: Any) -> None:
        run_in_spans(partial(work, *arguments), self.count, GAMES_PER_THREAD)

    def _open(self, which: np.ndarray) -> None:
        """Start games like `stepping.open_game`, with an opponent in Python."""
        for _ in range(stepping.MAX_STARTS):
            for i in which:
                stepping.begin(*self._compiled, i)
                stepping.place_units(self.game.world, self.games, self.buffers, self._setup, i)
                if isinstance(self.opponent, PastSelves):
                    self.numbers[i] = self.opponent.sample(self.rngs[i])
            self._let_opponent_move(which)
            for i in which:
                stepping.skip_placement_reward(self.game.world, self.games, self.buffers, self._terms, i)
            which = which[self.games.games["outcome"][which] != UNDECIDED]
            if not which.size:
                return
        self.buffers.results["hopeless"][which] = True

    def _show(self) -> None:
        world, static, games, buffers, *_ = self._compiled
        self._in_spans(stepping.show_some, world, static, games, buffers)

    def _let_opponent_move(self, which: np.ndarray) -> None:
        while count := stepping.waiting(self.games, self.buffers, which, self._waiting):
            waiting = self._waiting[:count].copy()
            rngs = [self.rngs[i] for i in waiting]
            if acts_on_arrays(self.opponent):
                actions = self._choose(waiting, rngs)
            else:
                decisions = self._decide(waiting, [self.states[i] for i in waiting], rngs)
                actions = np.array([self._checked(i, decision) for i, decision in zip(waiting, decisions, strict=True)])
            stepping.reply(self.game.world, self.games, self.buffers, self._setup, waiting, actions)

    def _choose(self, which: np.ndarray, rngs: list[np.random.Generator]) -> np.ndarray:
        """Return the actions of an opponent that needs arrays only."""
        observations = np.empty((which.size, self.game.observation_size), np.float32)
        masks = np.empty((which.size, self.game.num_actions), np.bool_)
        show = partial(stepping.show_opponent, self.game.world, self.game.static_features, self.games, which)
        run_in_spans(partial(show, observations, masks), which.size, GAMES_PER_THREAD)
        if isinstance(self.opponent, PastSelves):
            numbers = [self.numbers[i] for i in which]
            actions = self.opponent.choose_actions_for(numbers, observations, masks, rngs)
        else:
            assert isinstance(self.opponent, SupportsArrays)
            actions = self.opponent.choose_actions(observations, masks, rngs)
        legal = bool(masks[np.arange(which.size), actions].all())
        require(legal, "the network of the opponent chose an illegal action: its outputs are not finite numbers")
        return actions

    def _checked(self, i: int, decision: Decision) -> int:
        assert decision.action is not None, "an opponent inside an environment must always choose an action"
        self.game.require_legal(self.states[i], decision.action)
        return decision.action

    def _decide(self, which: np.ndarray, views: list[Any], rngs: list[np.random.Generator]) -> list[Decision]:
        if isinstance(self.opponent, PastSelves):
            return self.opponent.decide_for([self.numbers[i] for i in which], self.game, views, rngs)
        return self.opponent.decide_batch(self.game, views, rngs)

    def _report_results(self, ended: np.ndarray) -> None:
        """Report finished games to the past selves, but not those that a deadlock has truncated."""
        if isinstance(self.opponent, PastSelves):
            for i in ended:
                game, seat = self.games.games[i], int(self.buffers.results[i]["seat"])
                if not game["deadlocked"]:
                    self.opponent.record(self.numbers[i], outcome_for_seat(seat, int(game["outcome"])))

    def _report(self, troubles: int) -> None:
        """Raise the errors that a compiled step can only count."""
        for i in range(self.count) if self.game.debug else ():
            check_invariants(self.states[i])
        if troubles:
            hopeless = self.buffers.results["hopeless"].any()
            require(not hopeless, "the opponent wins every game before the learner's first action: choose fairer sides")
            require_action(NO_ACTION if self.buffers.results["stuck"].any() else 0)
            raise deadlock(self.states[int(self.buffers.results["deadlock"].argmax())])
