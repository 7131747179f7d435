"""Dice tables and dice rolls."""

import numpy as np
import pytest

from src.envs.deployment.rules import dice
from src.envs.deployment.rules.state import GAME
from src.envs.deployment.rules.world import UNIT, WEAPON
from src.envs.splitmix import seed_word


@pytest.mark.parametrize(
    ("strength", "toughness", "needed"),
    [(8, 4, 2), (9, 4, 2), (5, 4, 3), (7, 4, 3), (4, 4, 4), (3, 4, 5), (5, 9, 5), (4, 8, 6), (3, 9, 6), (2, 4, 6)],
)
def test_wounding(strength: int, toughness: int, needed: int):
    assert dice.wound_needed(strength, toughness) == needed


@pytest.mark.parametrize(
    ("save", "invulnerable", "ap", "needed", "in_cover"),
    [
        (3, dice.NEVER, 0, 3, 2),
        (3, dice.NEVER, 1, 4, 3),
        (5, dice.NEVER, 1, 6, 5),
        (5, dice.NEVER, 2, 7, 6),
        (5, 5, 2, 5, 5),
        (2, 4, 3, 4, 4),
        (2, 4, 1, 3, 2),
        (2, dice.NEVER, 0, 2, 2),
        (6, dice.NEVER, 3, 7, 7),
    ],
)
def test_saving(save: int, invulnerable: int, ap: int, needed: int, in_cover: int):
    assert min(dice.save_needed(save, invulnerable, ap, False), dice.NEVER) == needed
    assert min(dice.save_needed(save, invulnerable, ap, True), dice.NEVER) == in_cover


def weapon(attacks: int = 1, hit: int = 2, strength: int = 8, ap: int = 0, damage: int = 1) -> np.ndarray:
    return np.array([(24, attacks, hit, strength, ap, damage)], WEAPON)


def target(toughness: int = 4, save: int = 3, invulnerable: int = dice.NEVER, hp: int = 2) -> np.ndarray:
    return np.array([(True, 0, 6, toughness, save, invulnerable, hp, 1, 10)], UNIT)


def rolled(arm: np.ndarray, victim: np.ndarray, hp: int, times: int = 20_000, covered: bool = False) -> np.ndarray:
    source = np.zeros(1, GAME)
    source["random"] = 12345
    return np.array([dice.roll_damage(source[0], arm[0], victim[0], hp, covered) for _ in range(times)])


def test_an_impossible_save_fails_on_a_six():
    """AP-2 against 5+ needs a 7: every wound goes through, so the loss is that of no armor at all."""
    hopeless = rolled(weapon(ap=2), target(save=5), hp=5)
    naked = rolled(weapon(ap=0), target(save=7), hp=5)
    assert hopeless.mean() == naked.mean() == pytest.approx(5 / 6 * 5 / 6, abs=0.015)
    assert rolled(weapon(ap=1), target(save=5), hp=5).mean() == pytest.approx(5 / 6 * 5 / 6 * 5 / 6, abs=0.015)


def test_an_invulnerable_save_is_not_worsened():
    assert rolled(weapon(ap=6), target(save=2, invulnerable=4), hp=5).mean() == pytest.approx(25 / 36 / 2, abs=0.015)


def test_ones_always_fail():
    """Even 2+ to hit, to wound and to save leaves a sixth at every step."""
    lost = rolled(weapon(attacks=1), target(toughness=4, save=2), hp=5)
    assert lost.mean() == pytest.approx(5 / 6 * 5 / 6 / 6, abs=0.01)


def test_excess_damage_is_lost_and_attacks_stop_at_the_dead():
    lost = rolled(weapon(attacks=6, damage=3), target(save=7), hp=2, times=2000)
    assert set(lost) == {0, 2} or set(lost) == {2}
    assert lost.max() == 2


@pytest.mark.parametrize(
    ("arm", "victim"),
    [
        (weapon(4, 3, 4, 1), target(5, 4, hp=99)),
        (weapon(1, 3, 8, 3, 2), target(5, 4, hp=99)),
        (weapon(6, 4, 9, 2, 3), target(4, 3, hp=99)),
        (weapon(3, 4, 3, 1), target(9, 2, hp=99)),
    ],
)
@pytest.mark.parametrize("covered", [False, True])
def test_expectations_are_what_the_dice_give(arm: np.ndarray, victim: np.ndarray, covered: bool):
    expected = dice.expected_damage(arm[0], victim[0], covered)
    assert rolled(arm, victim, hp=99, covered=covered).mean() == pytest.approx(expected, rel=0.05)


def test_dice_are_fair_and_come_from_the_games_own_generator():
    source, twin = np.zeros(1, GAME), np.zeros(1, GAME)
    source["random"] = twin["random"] = seed_word(7)
    rolls = np.array([dice.d6(source[0]) for _ in range(60_000)])
    counts = np.bincount(rolls, minlength=7)
    assert counts[0] == 0
    assert counts.size == 7
    assert ((counts[1:] - 10_000) ** 2 / 10_000).sum() < 20.5  # chi-squared, five degrees of freedom: one in a thousand
    assert [dice.d6(twin[0]) for _ in range(100)] == rolls[:100].tolist()
    assert seed_word(7) != seed_word(8)
