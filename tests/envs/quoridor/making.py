"""Games and positions for the tests."""

import numpy as np
from hypothesis import strategies as st

from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.rules import Position

WEIGHTS = {"path": 10, "endgame": 15, "walls": 2, "mobility": 3, "efficiency": 5}


def make_game(size: int = 9, walls: int = 10, ply_limit: int = 200, distance_maps: bool = False) -> Quoridor:
    return Quoridor(size, walls, ply_limit, distance_maps)


GAMES = {size: make_game(size, walls=size + 1) for size in range(3, 10)}
GAME = GAMES[9]
START = GAME.initial(np.random.default_rng(0))


def random_position(game: Quoridor, seed: int, plies: int) -> Position:
    """Return a position after random moves, every other one of the pawn; never finished."""
    rng = np.random.default_rng(seed)
    state = game.initial(rng)
    for _ in range(plies):
        legal = game.legal_actions(state)
        if rng.random() < 0.5:
            legal = [action for action in legal if action < game.cells]
        after = game.play(state, int(rng.choice(legal)))
        if game.outcome(after) is None:
            state = after
    return state


@st.composite
def positions(draw: st.DrawFn, sizes: tuple[int, ...] = (3, 4, 5, 6, 8, 9), plies: int = 45):
    """Draw a game and an unfinished position of it."""
    game = GAMES[draw(st.sampled_from(sizes))]
    return game, random_position(game, draw(st.integers(0, 10**6)), draw(st.integers(0, plies)))


def turned(game: Quoridor, state: Position) -> Position:
    """Return the position with the board rotated by 180 degrees and the players swapped."""

    def reverse(numbers: int) -> int:
        return int(f"{numbers:0{game.blocks}b}"[::-1], 2)

    return Position(
        pawns=(game.cells - 1 - state.pawns[1], game.cells - 1 - state.pawns[0]),
        left=(state.left[1], state.left[0]),
        horizontal=reverse(state.horizontal),
        vertical=reverse(state.vertical),
        ply=state.ply + 1,
    )
