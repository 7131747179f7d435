"""Inputs and weights of the learned evaluation."""

import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from safetensors.torch import save

from src.core.errors import UserError
from src.envs.quoridor.learned_evaluation import RECORD, learned_evaluation
from src.envs.quoridor.rules import Position, distance, distance_map, is_open, load_position, neighbor, new_board
from src.envs.quoridor.search import nnue
from src.envs.quoridor.search.deepening import SearchOptions, TimedSearch
from src.envs.quoridor.search.nnue import CELLS_HIGH, CELLS_LOW, FEATURES, MIRRORED, PATH_WORDS, trace
from src.envs.quoridor.search.timed_search import evaluate, find_paths
from tests.envs.quoridor.making import GAME, START, positions, random_position, turned

BOARD = new_board(9, 200)
EVALUATION = learned_evaluation(GAME)


def random_weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"first": (nnue.HIDDEN, FEATURES), "second": (nnue.NARROW, nnue.HIDDEN), "third": (1, nnue.NARROW)}
    weights = {f"{name}.weight": rng.normal(size=shape) / shape[1] ** 0.5 for name, shape in shapes.items()}
    return weights | {f"{name}.bias": rng.normal(size=shape[0]) * 0.2 for name, shape in shapes.items()}


WEIGHTS = random_weights(0)
SEARCH = TimedSearch(nnue.quantized(WEIGHTS), 200, SearchOptions(table_bits=10)).main


def features(state: Position) -> np.ndarray:
    packed = EVALUATION.features(EVALUATION.records([state]))
    return np.unpackbits(packed, axis=1, bitorder="little")[0]


def floating_point_score(state: Position) -> float:
    hidden = np.clip(WEIGHTS["first.weight"] @ features(state) + WEIGHTS["first.bias"], 0, 1)
    hidden = np.clip(WEIGHTS["second.weight"] @ hidden + WEIGHTS["second.bias"], 0, 1)
    return float(100 * (WEIGHTS["third.weight"][0] @ hidden + WEIGHTS["third.bias"][0]))


def integer_score(state: Position, height: int = 0) -> int:
    """Return the score of the search at a ply of its line."""
    load_position(SEARCH.board, state)
    find_paths(SEARCH.board, SEARCH.tree, height, False)
    return int(evaluate(SEARCH.board, SEARCH.tree, SEARCH.network, height))


def mirrored(state: Position) -> Position:
    def columns(word: int) -> int:
        return sum(1 << wall + 7 - 2 * (wall % 8) for wall in range(64) if word >> wall & 1)

    first, second = (cell + 8 - 2 * (cell % 9) for cell in state.pawns)
    return state._replace(pawns=(first, second), horizontal=columns(state.horizontal), vertical=columns(state.vertical))


@settings(max_examples=60, deadline=None)
@given(positions(sizes=(9,), plies=60))
def test_the_paths_are_all_shortest_ones(drawn):
    _, state = drawn
    load_position(BOARD, state)
    for player in range(2):
        path, back = np.zeros(PATH_WORDS, np.uint64), np.zeros(81, np.int64)
        length = trace(BOARD, player, True, path)
        assert length == distance(BOARD, player)
        distance_map(BOARD, player, back)
        steps = {state.pawns[player]: 0}  # from the pawn, by a search of one cell after another
        for cell in (waiting := [state.pawns[player]]):
            for after in [int(neighbor(BOARD, cell, way)) for way in range(4) if is_open(BOARD, cell, way)]:
                if after not in steps:
                    steps[after] = steps[cell] + 1
                    waiting.append(after)
        cells = {cell for cell in steps if steps[cell] > 0 and steps[cell] + back[cell] == length}
        words = int(path[CELLS_LOW]) | int(path[CELLS_HIGH]) << 64
        assert {cell for cell in range(81) if words >> cell & 1} == cells


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
    SEARCH.tree.known[:] = 0
    assert integer_score(state) == pytest.approx(floating_point_score(state), abs=3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_sums_from_earlier_plies_are_those_of_a_fresh_start(seed):
    rng, state = np.random.default_rng(seed), random_position(GAME, seed, 12)
    SEARCH.tree.known[:] = 0
    for height in range(8):
        SEARCH.tree.known[height] = 0
        if height % 3 != 2:  # some plies are not evaluated
            integer_score(state, height)
            sums = SEARCH.tree.sums[height].copy()
            nnue.refresh(SEARCH.network, SEARCH.tree.words[height], state.ply % 2, SEARCH.tree.sums[height])
            assert (sums == SEARCH.tree.sums[height]).all()
        after = GAME.play(state, int(rng.choice(GAME.legal_actions(state))))
        if GAME.outcome(after) is not None:
            break
        state = after


def test_a_network_is_saved_and_loaded(tmp_path):
    path = tmp_path / "network.safetensors"
    nnue.save_network(SEARCH.network, path)
    loaded = nnue.load_network(path)
    assert all((getattr(loaded, name) == getattr(SEARCH.network, name)).all() for name in nnue.SAVED)
    assert path.stat().st_size < 300_000
    again = nnue.quantized(nnue.unquantized(loaded))
    assert all((getattr(again, name) == getattr(loaded, name)).all() for name in nnue.SAVED), "rounded alike"


def test_other_files_than_networks_are_refused(tmp_path):
    saved = {name: getattr(SEARCH.network, name) for name in nnue.SAVED}
    save_file(saved | {"third_bias": saved["third_bias"].astype(np.int32)}, tmp_path / "wide")
    (tmp_path / "foreign").write_bytes(save({"first": torch.zeros(2, dtype=torch.bfloat16)}))  # which numpy lacks
    header = b'{"first": {"dtype": "U8", "shape": [1073741824], "data_offsets": [0, 1073741824]}}'
    (tmp_path / "huge").write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(tmp_path / "huge", 8 + len(header) + (1 << 30))  # takes no space on the disk
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_bytes(b"nothing")
    for name in ("wide", "foreign", "huge", "pipe", "text", "missing"):
        message = {"huge": "is larger", "pipe": "cannot be read", "missing": "cannot be read"}.get(
            name, "is not a network"
        )
        with pytest.raises(UserError, match=f"{name}'? {message}"):
            nnue.load_network(tmp_path / name)


def test_integers_are_within_half_a_unit_of_the_weights():
    weights = WEIGHTS | {"first.bias": np.array([1 / 255, 1.49 / 255, -1.51 / 255, *[0.0] * (nnue.HIDDEN - 3)])}
    network = nnue.quantized(weights)
    assert network.first_bias[:4].tolist() == [1, 1, -2, 0]
    units = {"first.weight": (network.first.T, 255), "second.weight": (network.second, 1024)}
    units |= {"second.bias": (network.second_bias, 255 * 1024), "third.weight": (network.third[None], 1024)}
    for name, (integers, unit) in units.items():
        assert np.abs(integers / unit - weights[name]).max() <= 0.5 / unit
    with pytest.raises(UserError, match="too large"):
        nnue.quantized(WEIGHTS | {"second.bias": np.full(nnue.NARROW, 1e9)})


def test_records_keep_positions_and_the_player_to_move():
    states = [START, random_position(GAME, 3, 25), START._replace(ply=1000), START._replace(ply=1001)]
    records = EVALUATION.records(states)
    assert records.dtype == RECORD
    assert records["ply"].tolist() == [0, states[1].ply, 254, 255]
    for record, state in zip(records, states, strict=True):
        for name in ("horizontal", "vertical", "pawns", "left"):
            assert np.array_equal(record[name], getattr(state, name))
    records["pawns"][1, 0] = 81
    with pytest.raises(UserError, match="the records are not positions of Quoridor"):
        EVALUATION.features(records)
