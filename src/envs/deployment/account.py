"""What an action came to, in words: who did what, with which dice, and what changed.

Dice are not recorded while they roll. They follow from the state of the generator before the action, so they are rolled
once more here, and the compiled rules pay nothing for it.
"""

from typing import Any, NamedTuple

import numpy as np

from src.envs.deployment import battle
from src.envs.deployment.dice import d6, save_needed, wound_needed
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.scenario import Hex
from src.envs.deployment.state import NOBODY, GameState
from src.envs.deployment.style import LUCK
from src.envs.deployment.world import MELEE, RANGED


class Step(NamedTuple):
    """What a player did: a method of the game by name. A seed and its steps are a whole game, to be played again."""

    method: str
    arguments: tuple[Any, ...]


class Dice(NamedTuple):
    needed: tuple[int, ...]  # to hit, to wound and to save; of a charge the steps that its two dice have to cover
    rolled: tuple[tuple[int, ...], ...]  # an attack each, as far as it came; of a charge both dice

    @property
    def falls_short(self) -> bool:
        """Of a charge: its dice do not cover the steps."""
        return sum(self.rolled[0]) < self.needed[0]


class Account(NamedTuple):
    player: int
    round: int  # 0 in deployment
    phase: str
    action: str
    start: Hex | None  # where the unit stood
    end: Hex | None  # where it went, or where its target stood
    dice: Dice | None
    damage: int
    events: tuple[str, ...]  # what came of it


def perform(game: DeploymentGame, state: GameState, step: Step) -> GameState:
    return getattr(game, step.method)(state, *step.arguments)


def apply_and_describe(game: DeploymentGame, state: GameState, step: Step) -> Account:
    """Perform a step, which raises and changes nothing where it is illegal, and give an account of it."""
    if step.method == "play":
        game.require_legal(state, step.arguments[0])
    before, action, dice = _Reading(state), _in_words(game, state, step), _dice(game, state, step)
    start, end = _line(game, state, step)
    perform(game, state, step)
    after = _Reading(state)
    lost = {one: before.units[one].hp - unit.hp for one, unit in after.units.items()}
    return Account(
        before.player,
        before.round,
        before.phase,
        action,
        start,
        end,
        dice,
        sum(lost.values()),
        _events(before, after, dice),
    )


class _Reading:
    """What people look at, read before and after."""

    def __init__(self, state: GameState) -> None:
        self.units, self.objectives, self.points = state.units, state.objectives, state.victory_points
        self.round, self.phase, self.player = state.round, state.phase, int(state.game["to_move"]) + 1
        self.turn = state.current_player


def _in_words(game: DeploymentGame, state: GameState, step: Step) -> str:
    if step.method == "play":
        return game.actions.name(state, step.arguments[0])
    if step.method == "deploy_unit":
        unit, col, row = step.arguments
        return f"deploy_unit {unit} ({col}, {row})"
    return " ".join(map(str, (step.method, *step.arguments)))


def _line(game: DeploymentGame, state: GameState, step: Step) -> tuple[Hex | None, Hex | None]:
    if step.method == "deploy_unit":
        return None, (step.arguments[1], step.arguments[2])
    if step.method != "play":
        return None, None
    active = int(state.game["active"])
    start = None if active == NOBODY else state.hex_of(state.games.units["cell"][state.i, active])
    return start, game.actions.points_at(state, step.arguments[0])


def _dice(game: DeploymentGame, state: GameState, step: Step) -> Dice | None:
    if step.method != "play" or not game.actions.is_aimed(step.arguments[0]):
        return None
    luck = np.zeros(1, LUCK)
    luck["random"] = state.game["random"]
    u, target, world = int(state.game["active"]), game.actions.target(state, step.arguments[0]), game.world
    if state.phase == "charge":
        _, steps = battle.charge_path(world, state.games, state.i, u, target)
        return Dice((steps,), ((d6(luck[0]), d6(luck[0])),))
    weapon = world.weapon[MELEE if state.phase == "fight" else RANGED, u]
    return attack_dice(luck[0], weapon, world.units[target], int(state.games.units["hp"][state.i, target]))


def attack_dice(source: Any, weapon: Any, target: Any, hp: int) -> Dice:
    """The dice that `dice.roll_damage` rolls from the same source, one by one."""
    save = save_needed(target["save"], target["invulnerable"], weapon["ap"])
    needed = (int(weapon["hit"]), wound_needed(weapon["strength"], target["toughness"]), save)
    rolled: list[tuple[int, ...]] = []
    while len(rolled) < weapon["attacks"] and hp > 0:
        hit = d6(source)
        wound = d6(source) if hit >= needed[0] else 0
        saved = d6(source) if wound >= needed[1] else 0
        rolled.append(tuple(die for die in (hit, wound, saved) if die))
        hp -= int(weapon["damage"]) if 0 < saved < save else 0
    return Dice(needed, tuple(rolled))


def _events(before: _Reading, after: _Reading, dice: Dice | None) -> tuple[str, ...]:
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
    for centre, holder in after.objectives.items():
        if holder != before.objectives[centre]:
            events.append(f"player {holder} takes objective {centre}")
    for player, points in after.points.items():
        if points != before.points[player]:
            events.append(f"player {player} scores {points - before.points[player]}")
    if (after.round, after.turn) != (before.round, before.turn):
        events.append(f"round {after.round}: player {after.turn}'s turn")
    return tuple(events)
