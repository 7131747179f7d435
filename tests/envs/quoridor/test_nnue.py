"""Inputs and weights of the learned evaluation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.core.errors import UserError
from src.envs.quoridor import nnue
from src.envs.quoridor.board import new_board, place
from src.envs.quoridor.features import CELLS_HIGH, CELLS_LOW, FEATURES, MIRRORED, PATH_WORDS, trace
from src.envs.quoridor.notation import Position
from src.envs.quoridor.paths import distance, distance_map, is_open, neighbor
from src.envs.quoridor.records import RECORD, packed_features, record_of
from src.envs.quoridor.thinker import SearchOptions, Thinker
from src.envs.quoridor.timed_search import assess, survey
from tests.envs.quoridor.making import GAME, START, positions, random_position, turned

BOARD = new_board(9, 200)


def random_weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"first": (nnue.HIDDEN, FEATURES), "second": (nnue.NARROW, nnue.HIDDEN), "third": (1, nnue.NARROW)}
    weights = {f"{name}.weight": rng.normal(size=shape) / shape[1] ** 0.5 for name, shape in shapes.items()}
    return weights | {f"{name}.bias": rng.normal(size=shape[0]) * 0.2 for name, shape in shapes.items()}


WEIGHTS = random_weights(0)
THINKER = Thinker(nnue.quantised(WEIGHTS), 200, SearchOptions(table_bits=10))


def features(state: Position) -> np.ndarray:
    packed = packed_features(np.array([record_of(state, 0)], RECORD))
    return np.unpackbits(packed, axis=1, bitorder="little")[0]


def floating_point_score(state: Position) -> float:
    hidden = np.clip(WEIGHTS["first.weight"] @ features(state) + WEIGHTS["first.bias"], 0, 1)
    hidden = np.clip(WEIGHTS["second.weight"] @ hidden + WEIGHTS["second.bias"], 0, 1)
    return float(100 * (WEIGHTS["third.weight"][0] @ hidden + WEIGHTS["third.bias"][0]))


def integer_score(state: Position, height: int = 0) -> int:
    """Return the score of the search at a ply of its line."""
    place(THINKER.board, state)
    survey(THINKER.board, THINKER.tree, height, False)
    return int(assess(THINKER.board, THINKER.tree, THINKER.network, height))


def mirrored(state: Position) -> Position:
    def columns(word: int) -> int:
        return sum(1 << wall + 7 - 2 * (wall % 8) for wall in range(64) if word >> wall & 1)

    first, second = (cell + 8 - 2 * (cell % 9) for cell in state.pawns)
    return state._replace(pawns=(first, second), horizontal=columns(state.horizontal), vertical=columns(state.vertical))


@settings(max_examples=60, deadline=None)
@given(positions(sizes=(9,), plies=60))
def test_the_paths_are_all_shortest_ones(drawn):
    _, state = drawn
    place(BOARD, state)
    for player in range(2):
        path, back = np.zeros(PATH_WORDS, np.uint64), np.zeros(81, np.int64)
        length = trace(BOARD, player, True, path)
        assert length == distance(BOARD, player)
        distance_map(BOARD, player, back)
        steps = _steps_from(state, player)
        cells = {cell for cell in range(81) if steps[cell] > 0 and steps[cell] + back[cell] == length}
        words = int(path[CELLS_LOW]) | int(path[CELLS_HIGH]) << 64
        assert {cell for cell in range(81) if words >> cell & 1} == cells


def _steps_from(state: Position, player: int) -> list[int]:
    """Return the steps from a player's pawn to every cell, by a search of one cell after another."""
    steps, waiting = [-99] * 81, [state.pawns[player]]
    steps[waiting[0]] = 0
    for cell in waiting:
        for way in range(4):
            if is_open(BOARD, cell, way) and steps[int(neighbor(BOARD, cell, way))] < 0:
                after = int(neighbor(BOARD, cell, way))
                steps[after] = steps[cell] + 1
                waiting.append(after)
    return steps


def test_the_features_of_the_start():
    word = features(START).reshape(12, 64)
    assert word[:2].sum() == 0, "no walls"
    assert np.flatnonzero(word[2:4].ravel()).tolist() == [13, 22, 31, 40, 49, 58, 67, 76], "straight up"
    assert np.flatnonzero(word[6:8].ravel()).tolist() == [4]
    assert np.flatnonzero(word[8:10].ravel()).tolist() == [76]
    assert np.flatnonzero(word[10]).tolist() == [8, 32 + 8]
    assert np.flatnonzero(word[11]).tolist() == [10, 16 + 10, 32 + 8, 48 + 8]


@settings(max_examples=40, deadline=None)
@given(positions(sizes=(9,), plies=60))
def test_the_board_is_turned_and_mirrored(drawn):
    game, state = drawn
    assert (features(turned(game, state)) == features(state)).all()
    assert (features(mirrored(state))[MIRRORED] == features(state)).all()


@settings(max_examples=40, deadline=None)
@given(positions(sizes=(9,), plies=60))
def test_the_integers_agree_with_floating_point(drawn):
    _, state = drawn
    THINKER.tree.known[:] = 0
    assert integer_score(state) == pytest.approx(floating_point_score(state), abs=3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_sums_from_earlier_plies_are_those_of_a_fresh_start(seed):
    rng, state = np.random.default_rng(seed), random_position(GAME, seed, 12)
    THINKER.tree.known[:] = 0
    for height in range(8):
        THINKER.tree.known[height] = 0
        if height % 3 != 2:  # some plies are not evaluated
            integer_score(state, height)
            sums = THINKER.tree.sums[height].copy()
            nnue.refresh(THINKER.network, THINKER.tree.words[height], state.ply % 2, THINKER.tree.sums[height])
            assert (sums == THINKER.tree.sums[height]).all()
        after = GAME.play(state, int(rng.choice(GAME.legal_actions(state))))
        if GAME.outcome(after) is not None:
            break
        state = after


def test_a_network_is_saved_and_loaded(tmp_path):
    path = tmp_path / "network.safetensors"
    nnue.save_network(THINKER.network, path)
    loaded = nnue.load_network(path)
    assert all((getattr(loaded, name) == getattr(THINKER.network, name)).all() for name in nnue.SAVED)
    assert path.stat().st_size < 300_000
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="is not a network"):
        nnue.load_network(path)


def test_a_weight_beyond_its_integers_is_refused():
    large = WEIGHTS | {"second.bias": np.full(nnue.NARROW, 1e9)}
    with pytest.raises(UserError, match="too large"):
        nnue.quantised(large)
