"""Games of OpenSpiel (Lanctot et al. 2019) for two players, without chance and hidden information."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pyspiel

from ...core.errors import UserError, require
from ...core.ranges import Bounds, check, checked, shown
from ...core.seeding import draw
from ..library_game import LibraryGame, Position

Parameter = float | bool | str  # whole numbers, too
HERE = "env.game.parameters"


class OpenSpiel(LibraryGame):
    """A game by its name in OpenSpiel; actions, observations and names of moves are OpenSpiel's."""

    observation_range = (-np.inf, np.inf)  # OpenSpiel does not declare it

    @checked
    def __init__(self, name: str, parameters: Mapping[str, Parameter]) -> None:
        self.library = load(name, parameters)
        self.num_actions: int = self.library.num_distinct_actions()
        self._shape = self.library.observation_tensor_shape()

    def initial(self, rng: np.random.Generator) -> Position:
        return Position((), self.library.new_initial_state())

    def to_move(self, state: Position) -> int:
        return max(state.state.current_player(), 0)  # negative once the game is over

    def legal_actions(self, view: Position) -> list[int]:
        actions: list[int] = view.state.legal_actions()
        return actions

    def play(self, state: Position, action: int) -> Position:
        if action not in (legal := self.legal_actions(state)):
            raise UserError(f"action {action} is not legal here: legal are {shown(legal)}")
        return Position((*state.actions, action), state.state.child(action))

    def outcome(self, state: Position) -> int | None:
        return int(np.sign(state.state.returns()[0])) if state.state.is_terminal() else None

    def playout(self, state: Position, rng: np.random.Generator) -> int:
        """Play in a copy, without a position for each move."""
        copy = state.state.clone()
        while not copy.is_terminal():
            copy.apply_action(draw(rng, copy.legal_actions()))
        return int(np.sign(copy.returns()[0]))

    def observe(self, view: Position) -> np.ndarray:
        """Return OpenSpiel's observation tensor of the player to move."""
        return np.array(view.state.observation_tensor(self.to_move(view)), np.float32).reshape(self._shape)

    def render(self, state: Position) -> str:
        return str(state.state)

    def move_name(self, state: Position, action: int) -> str:
        return "_".join(state.state.action_to_string(self.to_move(state), action).split())


def load(name: str, parameters: Mapping[str, Parameter]) -> Any:
    """Load a game; raise `UserError` for an unknown one, one that cannot be played here, and wrong parameters."""
    types = {one.short_name: one for one in pyspiel.registered_games()}
    playable = sorted(key for key, one in types.items() if not obstacles(one))
    if name not in types:
        close = difflib.get_close_matches(name, playable, 1)
        hint = f"did you mean {close[0]}? There are" if close else "choose one of"
        raise UserError(f"env.game.name={name} is not a game of OpenSpiel: {hint} {', '.join(playable)}")
    reasons = obstacles(types[name])
    require(
        not reasons,
        f"env.game.name={name} cannot be played here, because it has {' and '.join(reasons)}: "
        f"choose one of {', '.join(playable)}",
    )
    defaults = types[name].parameter_specification
    if "ansi_color_output" in defaults:  # colors of terminals, in the text
        parameters = {"ansi_color_output": False} | dict(parameters)
    values = {key: _value(name, key, value, defaults) for key, value in parameters.items()}
    try:
        game = pyspiel.load_game(name, values)
        start = game.new_initial_state()
        empty, players = start.is_terminal() or not start.legal_actions(), game.num_players()
    except pyspiel.SpielError as error:
        raise UserError(f"{HERE}={shown(values)} is refused by {name}: {' '.join(str(error).split())}") from error
    require(not empty, f"{HERE}={shown(values)} leaves {name} without a move: choose other values")
    require(players == 2, f"{HERE}={shown(values)} makes {name} a game for {players} players: it must be 2")
    return game


def obstacles(kind: Any) -> list[str]:
    """Return what prevents a type of games from being played here."""
    expected = {
        "simultaneous moves": kind.dynamics == kind.Dynamics.SEQUENTIAL,
        "chance": kind.chance_mode == kind.ChanceMode.DETERMINISTIC,
        "hidden information": kind.information == kind.Information.PERFECT_INFORMATION,
        "a result other than win, draw and loss": kind.utility == kind.Utility.ZERO_SUM,
        "rewards before its end": kind.reward_model == kind.RewardModel.TERMINAL,
        "no observation": kind.provides_observation_tensor,
        "not two players": kind.min_num_players <= 2 <= kind.max_num_players,
        "other games inside": kind.is_concrete and kind.default_loadable,
    }
    return [obstacle for obstacle, fits in expected.items() if not fits]


def _value(game: str, key: str, value: Parameter, defaults: Mapping[str, Parameter]) -> Parameter:
    """Return a parameter in its type; OpenSpiel crashes with some sizes below 1."""
    known = ", ".join(f"{name}={shown(default)}" for name, default in sorted(defaults.items())) or "none"
    require(key in defaults, f"{HERE}.{key} is not a parameter of {game}: with their defaults, there are {known}")
    usual = defaults[key]
    hint = Annotated[int, Bounds(ge=min(1, usual))] if type(usual) is int else type(usual)
    check(value, hint, f"{HERE}.{key}")
    return float(value) if isinstance(usual, float) else value
