"""Othello: published counts of positions, and the rules against a plain implementation by hand."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.seeding import draw
from src.envs.othello.game import Othello
from src.envs.othello.rules import Position

GAME = Othello(8)
START = GAME.initial(np.random.default_rng(0))
# Sequences of moves, by depth; a pass is one. OEIS A124004.
PERFT = {1: 4, 2: 12, 3: 56, 4: 244, 5: 1396, 6: 8200, 7: 55092, 8: 390216, 9: 3005288}


@pytest.mark.parametrize("depth", [3, 6, pytest.param(9, marks=pytest.mark.slow)])
def test_the_number_of_move_sequences_is_the_published_one(depth: int):
    """The four first moves are images of each other."""
    assert 4 * GAME.perft(GAME.play(START, GAME.parse_move(START, "d3")), depth - 1) == PERFT[depth]


def turned(cells: list[list[str]], row: int, col: int, own: str) -> list[tuple[int, int]]:
    """Return the discs that a disc of `own` placed on an empty cell turns."""
    size, found = len(cells), []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            run, r, c = [], row + down, col + right
            while (down, right) != (0, 0) and 0 <= r < size and 0 <= c < size and cells[r][c] not in (".", own):
                run.append((r, c))
                r, c = r + down, c + right
            if run and 0 <= r < size and 0 <= c < size and cells[r][c] == own:
                found += run
    return found


def rows_of(game: Othello, state: Position) -> list[list[str]]:
    text = game.write_position(state)
    return [list(text[row * game.size :][: game.size]) for row in range(game.size)]


@pytest.mark.parametrize("size", [4, 6, 8])
def test_random_games_are_those_of_the_rules_by_hand(size: int):
    game, rng, passes = Othello(size), np.random.default_rng(0), 0
    for _ in range(9 - size):
        state = game.initial(rng)
        while True:
            cells, legal = rows_of(game, state), {}
            for seat, own in enumerate("XO"):
                empty = [(row, col) for row, col in np.ndindex(size, size) if cells[row][col] == "."]
                found = {(row, col): turned(cells, row, col, own) for row, col in empty}
                legal[seat] = {row * size + col: discs for (row, col), discs in found.items() if discs}
            own_legal, over = legal[state.seat], not legal[0] and not legal[1]
            assert game.legal_actions(state) == (sorted(own_legal) or ([] if over else [size * size]))
            assert (game.outcome(state) is not None) == over
            assert game.factors(state) == {"mobility": len(own_legal) - len(legal[1 - state.seat])}
            assert game.read_position(game.write_position(state)) == state
            if over:
                break
            action, own = draw(rng, game.legal_actions(state)), "XO"[state.seat]
            passes += action == size * size
            for row, col in [divmod(action, size), *own_legal[action]] if action < size * size else []:
                cells[row][col] = own
            state = game.play(state, action)
            assert rows_of(game, state) == cells
        discs = [sum(row.count(own) for row in cells) for own in "XO"]
        assert game.outcome(state) == np.sign(discs[0] - discs[1])
    assert passes > 0 or size == 8


def test_the_player_to_move_is_observed_first():
    after = GAME.play(START, GAME.parse_move(START, "d3"))
    own, other = GAME.observe(after)
    assert (own.sum(), other.sum()) == (1, 4)
    assert other[2, 3] == 1
    assert np.array_equal(GAME.observe(START)[0], GAME.discs(START)[0])


def test_reflections_of_a_position_have_the_reflected_moves():
    state, rng = START, np.random.default_rng(1)
    for _ in range(9):
        state = GAME.play(state, draw(rng, GAME.legal_actions(state)))
    for symmetry in GAME.symmetries():
        own, other = GAME.observe(state).flat[symmetry.observation].reshape(2, 64)
        bits = [sum(1 << int(cell) for cell in np.flatnonzero(plane)) for plane in (own, other)]
        image = Position(bits[state.seat], bits[1 - state.seat], state.seat)
        legal = np.isin(np.arange(65), GAME.legal_actions(state))[symmetry.actions]
        assert GAME.legal_actions(image) == np.flatnonzero(legal).tolist()
    assert len(GAME.symmetries()) == 8


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(UserError, match="a1 is not a legal move here: legal are d3 c4 f5 e6"):
        GAME.parse_move(START, "a1")
    with pytest.raises(UserError, match="action 64 is not legal here"):
        GAME.play(START, 64)
    with pytest.raises(UserError, match=r"64 cells X, O or \., then X or O, who is to move"):
        GAME.read_position("." * 64)
