"""Small games to test on, and states to compare."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import yaml

from src.config import CONF
from src.core.play.agent import Agent
from src.envs.deployment import rules
from src.envs.deployment.bots import Bot
from src.envs.deployment.bots.placement import Deterministic
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.reward import Reward
from src.envs.deployment.rules.battle import advance
from src.envs.deployment.rules.scenario import Hex
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.rules.world import SCRATCH, Games

REWARD = Reward(win=1.0, draw=0.25, loss=-1.0, victory_points=0.5, survival=0.25, gamma=0.9, objective_placement=0.125)


@cache
def _parsed(name: str) -> Any:
    return yaml.safe_load((CONF / "env" / "deployment" / f"{name}.yaml").read_text())


def conf(name: str) -> Any:
    """Return a file of conf/env/deployment as a mutable copy, without its defaults list."""
    return {key: value for key, value in copy.deepcopy(_parsed(name)).items() if key != "defaults"}


#    0 1 2 3 4 5 6 7 8
SMALL_MAP = """
     . . . . . . . . .
     . . . . . . . . .
     . . # . . . . # .
     . # . . o . . . .
     . . . . . . # . .
     . . . . . . . . .
     . x . x . x . x .
""".replace(" ", "")
COVER_MAP = """
     . . . . . . . . .
     . * . . . . . . .
     . . # * * . . # .
     . # * . o * * . .
     . . . . * . # * .
     . . . . . . . . .
     . x . x . x . x .
""".replace(" ", "")
SMALL_ZONES = {"player_1": [{"cols": [0, 8], "rows": [5, 6]}], "player_2": "turned"}

# Wherever player 1 places its two units, they leave player 2 two hexes for three units.
DEADLOCK = {
    "zones": {
        "player_1": [{"cols": [col, col], "rows": [0, 0]} for col in (0, 4, 8)],
        "player_2": [{"cols": [col, col], "rows": [row, row]} for col, row in ((0, 1), (2, 6), (4, 1), (8, 1))],
    },
    "min_enemy_distance": 2,
}


def roster(**units: tuple[str, Hex]) -> list[dict[str, Any]]:
    return [{"id": name, "profile": profile, "position": list(at)} for name, (profile, at) in units.items()]


def armies(player_1: list[dict[str, Any]], player_2: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a scenario; `settings` gives the game its deployment type, first turn and reach of charges."""
    given = {"deployment_type": "active", "first_turn": "player_1", "charge_reach": 12}
    return {**given, "player_1": player_1, "player_2": player_2}


SMALL_SCENARIO = armies(
    roster(a1=("rifleman", (2, 5)), a2=("sergeant", (4, 5))),
    roster(b1=("brute", (2, 1)), b2=("skitterer", (4, 1)), b3=("spitter", (6, 1))),
)


def settings(**changes: Any) -> dict[str, Any]:
    """Return the settings of a small game."""
    small = {
        "board": {"map": SMALL_MAP},
        "zones": SMALL_ZONES,
        "profiles": conf("profiles/warriors"),
        "scenario": SMALL_SCENARIO,
        "deployment_type": "active",
        "deployment_order_mode": "player_by_player",
        "post_deployment_start_phase": "command",
        "on_deadlock": "raise",
        "deployment_max_unit_slots": 3,
        "deployment_max_hex_slots": 14,
        "min_enemy_distance": 0,
        "confirming_players": [],
        "activation": "by_id",
        "first_turn": "player_1",
        "rounds": 5,
        "victory_points": 5,
        "charge_reach": 12,
        "debug": True,
    }
    return small | changes


def small_game(**changes: Any) -> DeploymentGame:
    return DeploymentGame(**settings(**changes))


def full_game(scenario: str = "classic_skirmish", zones: str = "hammer", **changes: Any) -> DeploymentGame:
    full = {
        "board": conf("board/ruins"),
        "zones": conf(f"zones/{zones}"),
        "scenario": conf(f"scenario/{scenario}"),
        "deployment_max_unit_slots": 11,
        "deployment_max_hex_slots": 176,
    }
    return DeploymentGame(**settings(**full | changes))


def begin(game: DeploymentGame, seed: int = 0) -> GameState:
    return game.initial(np.random.default_rng(seed))


def deployed(game: DeploymentGame, **units: Hex) -> GameState:
    """Return a game in which these units are placed, in this order."""
    state = begin(game)
    for name, one in units.items():
        game.deploy_unit(state, name, *one)
    return state


def position(state: GameState, unit_id: str) -> Hex:
    unit = state.units[unit_id]
    return unit.col, unit.row


def bot(explore: float = 0.0, **weights: float) -> Bot:
    values = {"damage": 1.0, "threat": 0.3, "objective": 25.0, "to_objective": 2.0, "to_enemy": 0.0} | weights
    return Bot(Deterministic(), **values, explore=explore)


def make_env(game: DeploymentGame | None = None, opponent: Agent | None = None, seat: Any = "random") -> DeploymentEnv:
    return DeploymentEnv(game or small_game(on_deadlock="truncate"), opponent or bot(1.0), REWARD, seat, {})


def contents(state: GameState) -> dict[str, bytes]:
    """Return every field of a state, to detect changes; scratch space is no state."""
    return {name: array.tobytes() for name, array in state.games._asdict().items() if name not in SCRATCH}


def copied(game: DeploymentGame, state: GameState) -> GameState:
    """Return a copy of a state, for tests that try every action."""
    return game.state(Games(*(array.copy() for array in state.games)), state.i)


def random_action(game: DeploymentGame, state: GameState, rng: np.random.Generator) -> int:
    legal = game.legal_actions(state)
    return legal[int(rng.integers(len(legal)))]


def random_game(game: DeploymentGame, rng: np.random.Generator) -> Iterator[GameState]:
    """Play random actions; yield the state, which changes in place, at the start and after each of them."""
    state = game.initial(rng)
    yield state
    while game.outcome(state) is None:
        game.play(state, random_action(game, state, rng))
        yield state


def drawn(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    """Return a random legal action for each row of masks (N, A)."""
    return np.where(masks, rng.random(masks.shape), -1).argmax(axis=1)


def battle(game: DeploymentGame, seed: int = 0, **units: Hex) -> GameState:
    """Return a fixed game with units on given positions; the others are dead. Player 1 is to move."""
    state = begin(game, seed)
    state.games.occupants[0] = -1
    for u in state.numbers:
        at = units.get(state.unit_id(u))
        state.games.units["cell"][0, u] = -1 if at is None else state.cell_of(at)
        if at is None:
            state.games.units["hp"][0, u] = 0
        else:
            state.games.occupants[0, state.cell_of(at)] = u
    refresh(game, state)
    return state


def refresh(game: DeploymentGame, state: GameState) -> None:
    """Let the engine find the next unit to act after a test has changed the state."""
    advance(game.world, state.games, state.i)
    rules.write_mask(game.world, state.games, state.i)


def number(state: GameState, unit_id: str) -> int:
    found = state.number(unit_id)
    assert found is not None
    return found


def go(game: DeploymentGame, state: GameState, at: Hex) -> int:
    return game.actions.move_to(game.to_move(state), state.cell_of(at))


def aim(game: DeploymentGame, state: GameState, unit_id: str) -> int:
    return game.actions.attack(number(state, unit_id))


def wait_out(game: DeploymentGame, state: GameState) -> None:
    """Wait with all units until the game is over."""
    while game.outcome(state) is None:
        game.play(state, game.actions.wait_action)


def wait_until(game: DeploymentGame, state: GameState, phase: str, unit: str | None = None) -> None:
    """Wait with all units until a phase, and in it a unit, is reached."""
    for _ in range(200):
        if state.phase == phase and unit in (None, state.active_unit_id):
            return
        game.play(state, game.actions.wait_action)
    raise AssertionError(f"{phase} with {unit} never came")
