"""Dice rolls: hits, wounds and saves."""

from typing import Any

from ...splitmix import below
from .kernels import kernel

NEVER = 7  # a required roll that no die can show


@kernel
def d6(source: Any) -> int:
    return below(source, 6) + 1


@kernel
def wound_needed(strength: int, toughness: int) -> int:
    if strength >= 2 * toughness:
        return 2
    if strength > toughness:
        return 3
    if strength == toughness:
        return 4
    return 6 if 2 * strength <= toughness else 5


@kernel
def save_needed(save: int, invulnerable: int, ap: int, covered: bool) -> int:
    """Return the better of the modified armor save and the invulnerable save; above 6 no roll succeeds.

    Cover improves the armor save by one, to 2+ at best.
    """
    return min(max(save + ap - covered, 2), invulnerable)


@kernel
def roll_damage(source: Any, weapon: Any, target: Any, hp: int, covered: bool) -> int:
    """Roll all attacks of a weapon on a target with `hp` left (records of `World`); return the damage."""
    wound = wound_needed(weapon.strength, target.toughness)
    save = save_needed(target.save, target.invulnerable, weapon.ap, covered)
    lost = 0
    for _ in range(weapon.attacks):
        if lost >= hp:
            break
        if d6(source) >= weapon.hit and d6(source) >= wound and d6(source) < save:
            lost += weapon.damage
    return min(lost, hp)


@kernel
def charge_chance(steps: int) -> float:
    """Return the probability that 2D6 cover this number of steps."""
    if steps <= 2:
        return 1.0
    if steps <= 7:
        return 1.0 - (steps - 2) * (steps - 1) / 72
    return max(13 - steps, 0) * (14 - steps) / 72


def chance(needed: int) -> float:
    """Return the probability that a D6 shows at least `needed`."""
    return max(0, min(6, 7 - needed)) / 6


def expected_damage(weapon: Any, target: Any, covered: bool) -> float:
    """Return the mean damage to a target with unlimited hit points."""
    wound = wound_needed(weapon["strength"], target["toughness"])
    save = save_needed(target["save"], target["invulnerable"], weapon["ap"], covered)
    hurts = chance(int(weapon["hit"])) * chance(wound) * (1 - chance(save))
    return float(weapon["attacks"] * hurts * min(weapon["damage"], target["hp"]))
