"""The wargame as a `Game`, as used by agents, the arena and the web page."""

import copy
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...core.errors import require
from ...core.parallel import run_in_spans
from ...core.play.game import Game, Trait
from ...core.ranges import Bounds, checked
from . import observation, rules
from .metrics import deployment_metrics
from .notation import Actions, board_text
from .rules import deployment, world
from .rules.deployment import DeploymentError
from .rules.kernels import UNDECIDED
from .rules.scenario import Scenario, is_whole
from .rules.state import GameState, check_invariants
from .rules.world import Games, Settings

log = logging.getLogger(__name__)

GAMES_PER_THREAD = 16  # with fewer, starting a thread costs more than it saves
Slots = Annotated[int, Bounds(ge=1, le=9999)]


class DeploymentGame(Game[GameState, GameState]):
    """Place your units one by one, then fight some rounds over objectives.

    The state is changed in place, after the action has been validated: an illegal action raises and changes nothing. As
    states are mutable, this is not a `TwoPlayerGame`.
    """

    traits: ClassVar[frozenset[Trait]] = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION})

    @checked
    def __init__(
        self,
        *,
        board: Mapping[str, Any],
        zones: Mapping[str, Any],
        profiles: Mapping[str, Any],
        scenario: Mapping[str, Any],
        deployment_type: deployment.DeploymentType,
        deployment_order_mode: deployment.OrderMode,
        post_deployment_start_phase: deployment.StartPhase,
        on_deadlock: deployment.OnDeadlock,
        deployment_max_unit_slots: Slots,
        deployment_max_hex_slots: Slots,
        min_enemy_distance: Annotated[int, Bounds(ge=0, le=255)],
        confirming_players: Sequence[Literal[1, 2]],
        activation: deployment.Activation,
        first_turn: deployment.FirstTurn,
        rounds: Annotated[int, Bounds(ge=2, le=100)],
        victory_points: Annotated[int, Bounds(ge=1, le=1000)],
        charge_reach: Annotated[int, Bounds(ge=1, le=12)],
        debug: bool,
    ) -> None:
        """`debug` checks the invariants after every action.

        `victory_points` are scored for each of three conditions: an objective, two, and more than the opponent.
        """
        self.scenario = Scenario.load(board, zones, profiles, scenario)
        self.deployment_type, self.on_deadlock, self.debug = deployment_type, on_deadlock, debug
        if deployment_type == "fixed":
            self.scenario.require_positions(min_enemy_distance)
        else:
            self.scenario.require_room_apart(min_enemy_distance)
        for key, slots, lists, what in (
            ("deployment_max_unit_slots", deployment_max_unit_slots, self.scenario.rosters, "units"),
            ("deployment_max_hex_slots", deployment_max_hex_slots, self.scenario.pools, "hexes in its zone"),
        ):
            for player, entries in enumerate(lists, 1):
                enough = slots >= len(entries)
                require(enough, f"{key}={slots} is too few: player {player} has {len(entries)} {what}")
        confirming = confirming_players if deployment_type == "active" else ()
        settings = Settings(
            start_phase=world.PHASES.index(post_deployment_start_phase),
            alternated=deployment_order_mode == "alternated_p1_start",
            is_active=deployment_type == "active",
            min_enemy_distance=min_enemy_distance,
            confirming=sum(1 << (player - 1) for player in set(confirming)),
            rounds=rounds,
            victory_points=victory_points,
            charge_reach=charge_reach,
            is_choice=activation == "choice",
            rolls_off=first_turn == "roll_off",
        )
        self.world = world.build(self.scenario, settings, deployment_max_unit_slots, deployment_max_hex_slots)
        self.actions = Actions(self.world)
        self.num_actions = self.actions.count
        self.static_features = observation.static_features(self.world)
        self.observation_size = sum(observation.sizes(self.world.units.size, self.world.cells.size))

    def by_id(self) -> "DeploymentGame":
        """Return the same game with `activation: by_id`."""
        game = copy.copy(self)
        game.world = self.world._replace(settings=self.world.settings._replace(is_choice=False))
        return game

    def check_trained(self, env: Any) -> None:
        require(
            env is None or self.can_play(env),
            "it was trained with env.game.activation=by_id, so it cannot choose units: type agent=first_unit "
            "agent@agent.battle=trained agent.battle.run=<run dir>",
        )

    def can_play(self, env: Any) -> bool:
        """Return whether a network chooses units where its player has to, by the configuration of its environment."""
        game = env.get("game") if isinstance(env, Mapping) else None
        return not self.world.settings.is_choice or (isinstance(game, Mapping) and game.get("activation") == "choice")

    def games(self, count: int) -> Games:
        """Allocate a batch of games."""
        return world.new_games(count, self.world)

    def state(self, games: Games, i: int) -> GameState:
        """Return a view of game i of a batch."""
        return GameState(self.scenario, self.world, games, i)

    def initial(self, rng: np.random.Generator) -> GameState:
        games = self.games(1)
        games.games[0]["random"] = rng.integers(2**64, dtype=np.uint64)
        rules.start(self.world, games, 0)
        return self.state(games, 0)

    def to_move(self, state: GameState) -> int:
        return int(state.game["to_move"])

    def legal_actions(self, view: GameState) -> list[int]:
        """Return the legal actions; confirming a deployment is none, as people do it and agents do not."""
        return np.flatnonzero(view.games.mask[view.i]).tolist()

    def play(self, state: GameState, action: int) -> GameState:
        """Change `state` in place; an illegal action raises with the reason and changes nothing."""
        self.require_legal(state, action)
        passes = action == self.actions.pass_action
        if passes and self.on_deadlock == "raise" and deployment.is_deadlock(self.world, state.games, state.i):
            raise deployment.deadlock(state)
        rules.play(self.world, state.games, state.i, action)
        if state.game["deadlocked"]:
            log_truncation(self.scenario, state.game, state.games.units[state.i])
        return self._checked(state)

    def move_name(self, state: GameState, action: int) -> str:
        return self.actions.move_name(state, action)

    def require_legal(self, state: GameState, action: int) -> None:
        if not is_whole(action):
            self._refuse(state, f"action {action!r} is not a whole number")
        if not (0 <= action < self.num_actions and state.games.mask[state.i, action]):
            over = self.outcome(state) is not None
            reason = "the game is over: start a new one" if over else self.actions.illegal_reason(state, action)
            self._refuse(state, reason)

    def deploy_unit(self, state: GameState, unit_id: str, col: int, row: int) -> GameState:
        """Place a unit: `deploy_unit {unitId, col, row}` of the deployment contract."""
        self._refuse(state, deployment.why_not_deploy(state, unit_id, col, row))
        number = state.number(unit_id)
        assert number is not None
        return self.play(state, self.actions.deploy(number, state.cell_of((col, row))))

    def undeploy_unit(self, state: GameState, unit_id: str) -> GameState:
        """Take back a unit of the current deployer. For people only: no action of the learner does this."""
        self._refuse(state, deployment.why_not_undeploy(state, unit_id))
        deployment.take_back(self.world, state.games, state.i, state.number(unit_id))
        rules.write_mask(self.world, state.games, state.i)
        return self._checked(state)

    def confirm_deployment(self, state: GameState, player: int) -> GameState:
        """End the deployment of a player of `confirming_players`, who can take units back until then."""
        self._refuse(state, deployment.why_not_confirm(state, player))
        deployment.confirm(self.world, state.games, state.i, player - 1)
        rules.write_mask(self.world, state.games, state.i)
        return self._checked(state)

    def pass_deployment(self, state: GameState) -> GameState:
        """Pass, which is legal only if no unit can be placed."""
        return self.play(state, self.actions.pass_action)

    def outcome(self, state: GameState) -> int | None:
        if state.game["deadlocked"]:
            return 0
        outcome = int(state.game["outcome"])
        return None if outcome == UNDECIDED else outcome

    def is_aborted(self, state: GameState) -> bool:
        """Return whether a deadlock has truncated the game."""
        return bool(state.game["deadlocked"])

    def observe(self, view: GameState) -> np.ndarray:
        out = np.zeros(self.observation_size, np.float32)
        observation.observe(self.world, self.static_features, view.games, view.i, self.to_move(view), out)
        return out

    def observe_turns(self, games: Games, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the players to move in the games `which` (M,) observe, (M, D), and may do, (M, A)."""
        observations = np.empty((which.size, self.observation_size), np.float32)
        observe_span = partial(observation.observe_turns, self.world, self.static_features, games, which, observations)
        run_in_spans(observe_span, which.size, GAMES_PER_THREAD)
        return observations, games.mask[which]

    def render(self, state: GameState) -> str:
        return board_text(state)

    def image(self, state: GameState) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        return image.draw(state, self.outcome(state), self.is_aborted(state))

    def is_set_up(self, state: GameState) -> bool:
        return state.phase != "deployment"

    def setup_image(self, setups: Sequence[tuple[GameState, int]]) -> np.ndarray:
        from . import image

        return image.draw_setups(self.scenario, setups)

    def episode_metrics(self, state: GameState) -> dict[str, float]:
        """Return the deployment metrics of a game; runs log their means over games."""
        if self.deployment_type != "active":
            return {}
        steps, passes = int(state.game["deployment_steps"]), int(state.game["passes"])
        values = deployment_metrics(
            steps + passes, state.invalid_attempts, steps, int(state.game["deadlocked"]), passes
        )
        return {name: float(value) for name, value in values.items()}

    def _refuse(self, state: GameState, reason: str | None) -> None:
        if reason is not None:
            state.invalid_attempts += state.phase == "deployment"
            raise DeploymentError(reason)

    def _checked(self, state: GameState) -> GameState:
        if self.debug:
            check_invariants(state)
        return state


def log_truncation(scenario: Scenario, game: Any, units: np.ndarray) -> None:
    """Warn of a game that a deadlock has truncated; `game` and `units` are its GAME and UNIT_STATE records."""
    log.warning("the game is truncated: %s", deployment.deadlock_message(scenario, game, units))
