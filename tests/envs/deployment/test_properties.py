"""Random legal games: the mask equals the rules, and the state is consistent after every action."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.core.errors import UserError
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.state import GameState, check_invariants
from tests.envs.deployment import oracle
from tests.envs.deployment.making import COVER_MAP, begin, contents, copied, full_game, random_game, small_game

GAMES = {
    (order, start, apart, activation): small_game(
        deployment_order_mode=order,
        post_deployment_start_phase=start,
        min_enemy_distance=apart,
        activation=activation,
        on_deadlock="truncate",
    )
    for order in ("player_by_player", "alternated_p1_start")
    for start, apart, activation in (
        *(("command", 0, "by_id"), ("move", 3, "by_id"), ("move", 8, "by_id"), ("move", 0, "choice")),
    )
}
GAMES["cover", "command", 0, "by_id"] = small_game(board={"map": COVER_MAP}, on_deadlock="truncate", charge_reach=4)


def check_every_action(game: DeploymentGame, state: GameState) -> None:
    """Assert that actions in the mask are accepted, and others rejected without changing any field."""
    mask, before = state.games.mask[state.i], contents(state)
    for action in np.flatnonzero(mask):
        tried = copied(game, state)
        game.play(tried, int(action))
        assert contents(tried) != before
    for action in [-1, *np.flatnonzero(~mask), game.num_actions]:
        with pytest.raises(UserError):
            game.play(state, int(action))
    assert contents(state) == before


@settings(max_examples=30, deadline=None)
@given(key=st.sampled_from(sorted(GAMES)), seed=st.integers(0, 2**32 - 1), thorough=st.integers(5, 9))
def test_masked_in_is_accepted_and_masked_out_is_refused(key, seed, thorough):
    game = GAMES[key]
    for step, state in enumerate(random_game(game, np.random.default_rng(seed))):
        check_invariants(state)
        assert set(game.legal_actions(state)) == oracle.legal_actions(game, state)
        if step % thorough == 0 or game.outcome(state) is not None:
            check_every_action(game, state)


@pytest.mark.parametrize(("scenario", "zones"), [("classic_skirmish", "hammer"), ("classic_siege", "pincer")])
def test_masks_on_the_full_board_are_those_of_the_rules(scenario: str, zones: str):
    game, phases = full_game(scenario, zones), set()
    for state in random_game(game, np.random.default_rng(3)):
        phases.add(state.phase)
        assert set(game.legal_actions(state)) == oracle.legal_actions(game, state)
    assert phases == {"deployment", "move", "shoot", "charge", "fight"}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_phase_ends_only_when_no_unit_is_eligible(seed):
    """The active unit is the first eligible one of its player, and skipped phases had no eligible unit."""
    game = small_game()
    for state in random_game(game, np.random.default_rng(seed)):
        if state.phase != "deployment" and game.outcome(state) is None:
            player = game.to_move(state) + 1
            eligible = [unit.id for unit in oracle.on_board(state, player) if oracle.is_eligible(state, unit)]
            chargers = [unit for unit in eligible if state.units[unit].charged]
            assert state.active_unit_id == (chargers or eligible)[0]
            assert state.phase == "fight" or player == state.current_player


def test_the_invariants_can_fail():
    """The checker detects violations."""
    breaks = {
        "against deployed_units": lambda s: s.games.units["deployed"].__setitem__((0, 0), True),
        "is not deployed but has the position": lambda s: s.games.units["cell"].__setitem__((0, 0), 5),
        "are deployed and deployable at once": lambda s: s.games.units["deployed"].__setitem__((0, 0), True),
        "deployment_complete is True": lambda s: s.games.games["deployment_complete"].__setitem__(0, True),
        "but the phase still deployment": lambda s: s.games.games["deployment_complete"].__setitem__(0, True),
        "occupied are": lambda s: s.games.occupants.__setitem__((0, 7), 1),
        "neither deployed nor deployable": lambda s: s.games.units["deployable"].__setitem__((0, 0), False),
        "has no legal action": lambda s: s.games.mask.__setitem__(0, False),
    }
    for message, spoil in breaks.items():
        state = begin(small_game())
        check_invariants(state)
        spoil(state)
        with pytest.raises(AssertionError, match=message):
            check_invariants(state)


def test_debug_checks_after_every_action():
    for debug in (True, False):
        game = small_game(debug=debug)
        state = begin(game)
        state.games.occupants[0, 30] = 2
        with pytest.raises(AssertionError, match="inconsistent") if debug else nullcontext():
            game.play(state, game.legal_actions(state)[0])


@pytest.mark.parametrize("cols", [33, 37, 65])
def test_the_mask_equals_the_rules_on_boards_wider_than_a_word(cols):
    """Sets of hexes have words of 32 columns; the armies stand on both sides of the edge between the first two."""
    rng, middle = np.random.default_rng(cols), cols // 2
    signs = np.full((7, cols), ".")
    signs[3, middle] = "o"
    signs[6, 1::2] = "x"
    for col in rng.choice(middle, 12, replace=False):  # one in a column, and its counterpart
        row = int(rng.integers(1, 5))
        signs[row, col] = signs[6 - row - col % 2, cols - 1 - col] = "#"
    across = [26, min(38, cols - 1)]
    game = small_game(
        board={"map": "\n".join("".join(line) for line in signs)},
        zones={"player_1": [{"cols": across, "rows": [4, 5]}], "player_2": [{"cols": across, "rows": [1, 2]}]},
        deployment_max_hex_slots=26,
    )
    for _ in range(4):
        for state in random_game(game, rng):
            assert set(game.legal_actions(state)) == oracle.legal_actions(game, state)
