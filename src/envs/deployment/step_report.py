"""Apply commands to a game and report what they did: dice, damage and events.

Dice are not recorded by the compiled rules. They follow from the generator state before the action, so they are rolled
again here, at no cost for the rules.
"""

from typing import Any, NamedTuple

import numpy as np

from .bots.policy import RNG
from .game import DeploymentGame
from .rules import reach
from .rules.dice import d6, save_needed, wound_needed
from .rules.kernels import NOBODY
from .rules.scenario import Hex
from .rules.state import GameState
from .rules.world import MELEE, RANGED


class Command(NamedTuple):
    """A method of the game by name, with its arguments. Seed and commands determine a whole game."""

    method: str
    arguments: tuple[Any, ...]


class Dice(NamedTuple):
    """The dice of an attack or a charge."""

    needed: tuple[int, ...]  # to hit, to wound and to save; for a charge the distance
    rolled: tuple[tuple[int, ...], ...]  # the dice of each attack; for a charge both dice

    @property
    def falls_short(self) -> bool:
        """Whether the dice of a charge do not cover the distance."""
        return sum(self.rolled[0]) < self.needed[0]


class StepReport(NamedTuple):
    """What a command did, for logs and the web page."""

    player: int
    round: int  # 0 in deployment
    phase: str
    action: str
    start: Hex | None  # position of the unit before
    end: Hex | None  # destination, or position of the target
    dice: Dice | None
    damage: int
    events: tuple[str, ...]  # consequences, as sentences


def apply_command(game: DeploymentGame, state: GameState, command: Command) -> GameState:
    """Apply a command to a state; an illegal one raises and changes nothing."""
    return getattr(game, command.method)(state, *command.arguments)


def apply_and_describe(game: DeploymentGame, state: GameState, command: Command) -> StepReport:
    """Apply a command and return a report of it; an illegal one raises and changes nothing."""
    before, start, end, dice = _Snapshot(state), None, None, None
    action = " ".join(map(str, (command.method, *command.arguments)))
    if command.method == "play":
        (played,) = command.arguments
        game.require_legal(state, played)
        active = int(state.game["active"])
        start = None if active == NOBODY else state.hex_of(state.games.units["cell"][state.i, active])
        end = game.actions.target_hex(state, played)
        action = game.actions.describe(state, played)
        dice = _dice(game, state, played) if game.actions.is_attack(played) else None
    elif command.method == "deploy_unit":
        unit, col, row = command.arguments
        end, action = (col, row), f"deploy_unit {unit} ({col}, {row})"
    apply_command(game, state, command)
    after = _Snapshot(state)
    damage = sum(before.units[one].hp - unit.hp for one, unit in after.units.items())
    events = _events(before, after, dice)
    return StepReport(before.player, before.round, before.phase, action, start, end, dice, damage, events)


class _Snapshot:
    """The visible values of a state, to compare before and after."""

    def __init__(self, state: GameState) -> None:
        self.units, self.objectives, self.points = state.units, state.objectives, state.victory_points
        self.round, self.phase, self.player = state.round, state.phase, int(state.game["to_move"]) + 1
        self.turn = state.current_player


def _dice(game: DeploymentGame, state: GameState, action: int) -> Dice:
    """Return the dice of an attack that is about to be played."""
    rng = np.zeros(1, RNG)
    rng["random"] = state.game["random"]
    u, target, world = int(state.game["active"]), game.actions.target(state, action), game.world
    if state.phase == "charge":
        reach.find_charges(world, state.games, state.i, u, False)
        _, steps = reach.charge_path(world, state.games, state.i, u, target)
        return Dice((steps,), ((d6(rng[0]), d6(rng[0])),))
    weapon, hit = world.weapon[MELEE if state.phase == "fight" else RANGED, u], state.games.units[state.i, target]
    covered = state.phase == "shoot" and bool(world.cells["is_cover"][hit["cell"]])
    profile, hp = world.units[target], int(hit["hp"])
    save = save_needed(profile["save"], profile["invulnerable"], weapon["ap"], covered)
    needed = (int(weapon["hit"]), wound_needed(weapon["strength"], profile["toughness"]), save)
    rolled: list[tuple[int, ...]] = []
    while len(rolled) < weapon["attacks"] and hp > 0:  # as in `dice.roll_damage`
        hits = d6(rng[0])
        wounds = d6(rng[0]) if hits >= needed[0] else 0
        saves = d6(rng[0]) if wounds >= needed[1] else 0
        rolled.append(tuple(die for die in (hits, wounds, saves) if die))
        hp -= int(weapon["damage"]) if 0 < saves < save else 0
    return Dice(needed, tuple(rolled))


def _events(before: _Snapshot, after: _Snapshot, dice: Dice | None) -> tuple[str, ...]:
    events = []
    if before.phase == "charge" and dice is not None and dice.falls_short:
        events.append("the charge falls short")
    for one, unit in after.units.items():
        lost = before.units[one].hp - unit.hp
        if lost:
            events.append(f"{one} loses {lost} hp" + (" and falls" if unit.hp == 0 else f", {unit.hp} left"))
        elif unit.charged and not before.units[one].charged:
            events.append(f"{one} reaches its target")
        elif unit.fled and not before.units[one].fled:
            events.append(f"{one} has fled")
    for center, holder in after.objectives.items():
        if holder != before.objectives[center]:
            events.append(f"player {holder} takes objective {center}")
    for player, points in after.points.items():
        if points != before.points[player]:
            events.append(f"player {player} scores {points - before.points[player]}")
    if (after.round, after.turn) != (before.round, before.turn):
        events.append(f"round {after.round}: player {after.turn}'s turn")
    return tuple(events)
