"""Vector environment of the wargame: N games stepped together.

Against a `Bot` a whole step is one compiled call. Other agents decide in Python, batched over all games; a network
gets arrays, so that nothing is done in Python for each game.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ...core.errors import UserError, require
from ...core.parallel import run_in_spans
from ...core.play.agent import Agent, acts_on_arrays
from ...core.play.capabilities import SupportsArrays
from ...core.play.game import outcome_for_seat
from ...core.play.past_selves import CURRENT, PastSelves
from ..masked_env import MaskedVectorEnv, Step, load_arrays, save_arrays
from ..splitmix import seed_word
from ..two_player_env import OutcomeReward
from . import step_kernels as kernels
from .bots.bot import Bot, require_action
from .bots.placement import Placement
from .bots.policy import NO_ACTION, RNG
from .game import GAMES_PER_THREAD, DeploymentGame, log_truncation
from .metrics import DeploymentStats
from .reward import COMPONENTS, Reward, as_floats
from .rules.deployment import deadlock
from .rules.kernels import UNDECIDED
from .rules.state import check_invariants
from .rules.world import GAME, SCRATCH, UNIT_STATE
from .step_kernels import NO_POLICY, REFUSED, RESULT, Buffers, Context


class VecDeployment(MaskedVectorEnv[np.ndarray]):
    """Env i plays exactly like a `DeploymentEnv` seeded with `seed + i`.

    `info["final_info"]` has the outcome of a game, whether a deadlock aborted it, its length, seat and deployment
    metrics, and for every unit (N, 2S) its starting cell, remaining hp and damage dealt. `episode_stats` sums them.
    Without `restart`, which `DeploymentEnv` uses, a game that ends is not followed by another one.
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
        restart: bool = True,
    ) -> None:
        super().__init__(num_envs, spaces.Box(0.0, 1.0, (game.observation_size,), np.float32), game.num_actions)
        self.game = game
        self.episode_stats = DeploymentStats(game.world)
        self.penalizes_illegal = invalid_action_penalty is not None
        self.games = game.games(num_envs)
        self.states = [game.state(self.games, i) for i in range(num_envs)]
        self.buffers = Buffers(
            results=np.zeros(num_envs, RESULT),
            rng=np.zeros(num_envs, RNG),
            final_observations=np.zeros((num_envs, game.observation_size), np.float32),
            final_results=np.zeros(num_envs, RESULT),
            final_games=np.zeros(num_envs, GAME),
            final_units=np.zeros((num_envs, game.world.units.size), UNIT_STATE),
        )
        self.rngs = [np.random.default_rng(0) for _ in range(num_envs)]  # for opponents in Python
        self.numbers = [CURRENT] * num_envs  # of the past self that each game is played against
        self._waiting = np.empty(num_envs, np.int64)  # games that wait for an opponent in Python
        ranks = np.array([placement.ranks(game.world) for placement in placements], np.int32)
        self.observations = np.empty((num_envs, game.observation_size), np.float32)
        self._context = Context(
            world=game.world,
            static=game.static_features,
            games=self.games,
            buffers=self.buffers,
            reward=as_floats(reward),
            first_seat=seats[0],
            seats=len(seats),
            restart=restart,
            truncate=game.on_deadlock == "truncate",
            penalty=float(invalid_action_penalty or 0),
            placements=ranks.reshape(-1, game.world.units.size, game.world.cells.size),
            compiled=False,
            policy=NO_POLICY,
            observations=self.observations,
        )
        self.set_opponent(opponent)
        self._playing = False

    def set_opponent(self, opponent: Agent) -> None:
        """Set the opponent of all later moves."""
        self.opponent = opponent
        policy = opponent.policy(self.game) if isinstance(opponent, Bot) else NO_POLICY
        self._context = self._context._replace(compiled=policy is not NO_POLICY, policy=policy)

    def seed_env(self, i: int, seed: int) -> None:
        self.buffers.rng[i]["random"] = seed_word(seed)
        self.rngs[i] = np.random.default_rng([seed, 1])

    def restart(self) -> None:
        """Start a new game in every env."""
        self._playing = False  # in case of an error
        self._renew_observations()
        self._raise_failures(self._start_games(np.arange(self.num_envs)))
        self._playing = True

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one action per env (N,). If one is illegal, raise before any is played, or penalize it."""
        if self.penalizes_illegal:
            actions = self._checked(actions, None)
            legal = self.games.mask[np.arange(self.num_envs), actions]
            self._reasons(actions, np.flatnonzero(~legal))
            actions = np.where(legal, actions, REFUSED)
        else:
            actions = self._checked(actions, self.games.mask)
        self.play(actions)
        results = self.buffers.results
        terminated, truncated = results["terminated"].copy(), results["truncated"].copy()
        info: dict[str, Any] = {
            "action_mask": self.action_masks(),
            "rewards": {name: results[name].copy() for name in COMPONENTS},
        }
        ended = terminated | truncated
        if ended.any():
            info |= self._final(ended, self._final_info(ended))
        return self.observations, results["reward"].copy(), terminated, truncated, info

    def play(self, actions: np.ndarray) -> None:
        """Play one action (N,) int64 per game, legal or REFUSED; the results are written to `buffers`."""
        self._playing = False  # in case of an error: the games cannot continue
        context = self._renew_observations()
        spans = run_in_spans(partial(kernels.step_games, context, actions), self.num_envs, GAMES_PER_THREAD)
        self._raise_failures(sum(spans) if context.compiled else self._finish_with_agent(context))
        self._playing = True

    def action_masks(self) -> np.ndarray:
        """Return the legal actions of every env, (N, A) bool; raise if a mask is empty: a policy would then sample
        illegal actions.
        """
        require(self._playing, "there are no games in progress, so nothing is legal: call reset() first")
        if not self.games.mask.any(axis=1).all():
            raise UserError("an env has no legal action: this is a bug in the rules")
        return self.games.mask.copy()

    def count_refusals(self) -> None:
        """Add the actions rejected by the engine to the metrics of their episodes."""
        for state, result in zip(self.states, self.buffers.results, strict=True):
            result["invalid"] += state.invalid_attempts
            state.invalid_attempts = 0

    def render(self) -> tuple[str, ...]:
        return tuple(self.game.render(state) for state in self.states)

    def state(self) -> dict[str, Any]:
        """Return everything that later steps depend on as plain values and arrays, for a checkpoint."""
        batch = {
            "arrays": save_arrays(self._arrays()),
            "rngs": [dict(rng.bit_generator.state) for rng in self.rngs],
            **({"numbers": list(self.numbers)} if isinstance(self.opponent, PastSelves) else {}),
        }
        return {"batch": batch, "episode_stats": self.episode_stats.saved()}

    def load_state(self, saved: dict[str, Any]) -> None:
        batch = saved["batch"]
        load_arrays(self._arrays(), batch["arrays"])
        for rng, kept in zip(self.rngs, batch["rngs"], strict=True):
            rng.bit_generator.state = kept
        self.numbers = list(batch.get("numbers", self.numbers))
        kernels.write_observations(self._renew_observations(), np.arange(self.num_envs))
        self.episode_stats.load(saved["episode_stats"])
        self._seeded = self._playing = True

    def _arrays(self) -> dict[str, np.ndarray]:
        games = {name: array for name, array in self.games._asdict().items() if name not in SCRATCH}
        return {**games, "results": self.buffers.results, "rng": self.buffers.rng}

    def _start(self, seeds: Sequence[int]) -> None:
        for i, seed in enumerate(seeds):
            self.seed_env(i, seed)
        self.restart()

    def observe(self) -> np.ndarray:
        return self.observations

    def _final_observation(self, i: int) -> np.ndarray:
        return self.buffers.final_observations[i].copy()

    def _require_started(self) -> None:
        require(self._playing, "there are no episodes to step: call reset() first")

    def _refuse(self, actions: np.ndarray, wrong: np.ndarray, masks: np.ndarray | None) -> None:
        raise UserError("; ".join(self._reasons(actions, wrong)))

    def _reasons(self, actions: np.ndarray, wrong: np.ndarray) -> list[str]:
        """Return why the engine refuses the illegal actions of the envs `wrong`, and let it count them."""
        reasons = []
        for i in wrong:
            try:
                self.game.require_legal(self.states[i], int(actions[i]))
            except UserError as error:
                reasons.append(f"env {i}, action {actions[i]}: {error}")
        if reasons:
            self.count_refusals()
        return reasons

    def _final_info(self, ended: np.ndarray) -> dict[str, np.ndarray]:
        buffers = self.buffers
        results, games, units = buffers.final_results[ended], buffers.final_games[ended], buffers.final_units[ended]
        for i in np.flatnonzero(games["deadlocked"]):
            log_truncation(self.game.scenario, games[i], units[i])
        info = {"seat": results["seat"], "steps": results["steps"], **self.episode_stats.add(results, games, units)}
        return info | {name: units[name] for name in ("start", "hp", "dealt")}

    def _renew_observations(self) -> Context:
        """Let the next step write to a new array: the caller keeps the earlier ones without a copy."""
        self.observations = np.empty((self.num_envs, self.game.observation_size), np.float32)
        self._context = self._context._replace(observations=self.observations)
        return self._context

    def _finish_with_agent(self, context: Context) -> int:
        """Finish a step of `step_games` with an opponent in Python; return how many games failed."""
        self._let_opponent_move(np.arange(self.num_envs))
        failed = sum(run_in_spans(partial(kernels.finish_steps, context), self.num_envs, GAMES_PER_THREAD))
        ended = np.flatnonzero(self.buffers.results["terminated"] | self.buffers.results["truncated"])
        if isinstance(self.opponent, PastSelves):
            for i in ended:
                game, seat = self.games.games[i], int(self.buffers.results[i]["seat"])
                if not game["deadlocked"]:
                    self.opponent.record(self.numbers[i], outcome_for_seat(seat, int(game["outcome"])))
        if failed or not context.restart or not ended.size:
            return failed
        for i in ended:
            kernels.keep_final(context, i)
        return self._start_games(ended)

    def _start_games(self, started: np.ndarray) -> int:
        """Start the games `started` in which the learner is to move; return how many games failed."""
        context, which = self._context, started
        for _ in range(kernels.MAX_STARTS):
            for i in which:
                kernels.set_up_game(context, i)
                kernels.play_opponent(context, i)
                if isinstance(self.opponent, PastSelves):
                    self.numbers[i] = self.opponent.sample(self.rngs[i])
            if not context.compiled:
                self._let_opponent_move(which)
            for i in which:
                kernels.skip_placement_reward(context, i)
            which = which[self.games.games["outcome"][which] != UNDECIDED]
            if not which.size:
                break
        self.buffers.results["unwinnable"][which] = True
        return kernels.write_observations(context, started)

    def _let_opponent_move(self, which: np.ndarray) -> None:
        results = self.buffers.results
        while count := kernels.find_waiting(self.games, results, which, self._waiting):
            waiting = self._waiting[:count].copy()
            decide = self._decide_by_arrays if acts_on_arrays(self.opponent) else self._decide_by_views
            kernels.play_replies(self._context, waiting, decide(waiting, [self.rngs[i] for i in waiting]))

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
