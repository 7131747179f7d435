"""The learned evaluation: features of a position, and a small network of integers, compiled (NNUE, Nasu 2018).

    768 features -> 128 -> 32 -> 1, clipped ReLU between the layers

The features, for the player to move, are twelve 64-bit words, so that two positions are compared by XOR:

    0  horizontal walls            6, 7   cell of the own pawn
    1  vertical walls              8, 9   cell of the other pawn
    2, 3  cells on shortest paths  10     path lengths: own in bits 0 to 31, other in bits 32 to 63
    4, 5  the same of the other    11     walls in hand (bits 0 to 10, 16 to 26), bottlenecks (32 to 47, 48 to 63)

Cells and walls have the numbers of the board; `COLUMNS` maps a feature to its column of weights and turns the board for
player 2, so the network always plays upwards. The sums of the first layer are kept for every position of the line being
searched: a position differs from the one two plies earlier, with the same player to move, in some dozen features, and
only those are added and subtracted.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import UserError, require
from ....core.files import read_regular, write_atomic
from ....core.kernels import by_reference
from .. import rules
from ..rules import (
    NO_PATH,
    ONE,
    ZERO,
    Cells,
    bit,
    cell_set,
    common,
    has_cell,
    inlined,
    kernel,
    lowest,
    popcount,
    spread,
)

SIZE, MAX_WALLS = 9, 10  # the games that the network knows
WORDS = 12
FEATURES = 64 * WORDS
MAX_LENGTH, MAX_BOTTLENECKS = 31, 15  # longer paths and more bottlenecks count as these

# What `trace` finds out about the shortest paths of a player.
CELLS_LOW, CELLS_HIGH, NORTH_LOW, NORTH_HIGH, EAST_LOW, EAST_HIGH, CUT, CUT_UPRIGHT, BOTTLENECKS = range(9)
PATH_WORDS = 9

ACTIVE = 255  # the integer of an activation of 1
WEIGHT = 1024  # the integer of a weight of 1 in the second and third layer
SCORE = 100  # points of one unit of log odds
HIDDEN, NARROW = 128, 32  # widths of the layers
SHIPPED = Path(__file__).parents[1] / "network.safetensors"
MAX_BYTES = 1 << 20  # the largest file, four times the shipped one
SAVED = ("first", "first_bias", "second", "second_bias", "third", "third_bias")


@kernel
def trace(board: Any, player: int, steps_too: bool, out: np.ndarray) -> int:
    """Write what is known about all shortest paths of a player into (PATH_WORDS,); return their length, or NO_PATH.

    Their cells, without the cell of the pawn, and how many cells all of them visit (bottlenecks); if `steps_too`,
    also their steps, each as the cell south or west of it, and the walls across steps that all of them take.
    """
    cells, steps = rules.goal(board, player), 0
    while not has_cell(cells, board.pawn[player]):
        board.reached[steps, 0], board.reached[steps, 1] = cells
        grown = spread(board, cells)
        if grown == cells:
            return NO_PATH
        cells = grown
        steps += 1
    out[:] = ZERO
    cells = cell_set(board.pawn[player])
    for k in range(steps - 1, -1, -1):
        following = common(spread(board, cells), (board.reached[k, 0], board.reached[k, 1]))
        if steps_too:
            north = common(_between(cells, following, np.uint64(board.size)), rules.north(board))
            east = common(_between(cells, following, ONE), rules.east(board))
            out[NORTH_LOW] |= north[0]
            out[NORTH_HIGH] |= north[1]
            out[EAST_LOW] |= east[0]
            out[EAST_HIGH] |= east[1]
            if _count(north) + _count(east) == 1:
                horizontal = north != (ZERO, ZERO)
                low, high = north if horizontal else east
                only = lowest(low) if low != ZERO else 64 + lowest(high)
                out[CUT if horizontal else CUT_UPRIGHT] |= rules.walls_closing(board, horizontal, only)
        out[CELLS_LOW] |= following[0]
        out[CELLS_HIGH] |= following[1]
        out[BOTTLENECKS] += np.uint64(_count(following) == 1)
        cells = following
    return steps


@inlined
def _between(one: Cells, other: Cells, shift: Any) -> Cells:
    """Return the pairs of cells from two sets that are `shift` apart, each as its lower cell."""
    return rules.union(common(one, rules.shift_down(other, shift)), common(other, rules.shift_down(one, shift)))


@inlined
def _count(cells: Cells) -> int:
    return popcount(cells[0]) + popcount(cells[1])


@inlined
def write_features(board: Any, paths: np.ndarray, lengths: np.ndarray, out: np.ndarray) -> None:
    """Write the words of a position; `paths` (2, PATH_WORDS) and `lengths` (2,) come from `trace`."""
    me = board.ply & 1
    other = 1 - me
    out[0], out[1] = board.horizontal, board.vertical
    out[2], out[3] = paths[me, CELLS_LOW], paths[me, CELLS_HIGH]
    out[4], out[5] = paths[other, CELLS_LOW], paths[other, CELLS_HIGH]
    out[6], out[7] = cell_set(board.pawn[me])
    out[8], out[9] = cell_set(board.pawn[other])
    out[10] = bit(min(lengths[me], MAX_LENGTH)) | bit(32 + min(lengths[other], MAX_LENGTH))
    out[11] = bit(board.left[me]) | bit(16 + board.left[other])
    mine, theirs = np.int64(paths[me, BOTTLENECKS]), np.int64(paths[other, BOTTLENECKS])
    out[11] |= bit(32 + min(int(mine), MAX_BOTTLENECKS)) | bit(48 + min(int(theirs), MAX_BOTTLENECKS))


def _permuted(cells: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """Return the number of each feature after a symmetry of the board that maps cells and walls; (FEATURES,) int16."""
    features = np.arange(FEATURES, dtype=np.int16)
    for first in (0, 64):
        features[first : first + 64] = first + walls
    for first in range(128, 640, 128):
        features[first : first + SIZE * SIZE] = first + cells
    return features


_CELLS, _WALLS = np.arange(81).reshape(9, 9), np.arange(64).reshape(8, 8)
_TURNED = _permuted(80 - _CELLS.ravel(), 63 - _WALLS.ravel())
COLUMNS = np.stack([np.arange(FEATURES, dtype=np.int16), _TURNED])  # a row for each player to move
MIRRORED = _permuted(_CELLS[:, ::-1].ravel(), _WALLS[:, ::-1].ravel())  # columns on the mirrored board


@by_reference
class Network(NamedTuple):
    """Weights of the network, rounded to integers, and a buffer of the first layer's activations."""

    first: np.ndarray  # (FEATURES, HIDDEN) int16, a unit is ACTIVE
    first_bias: np.ndarray  # (HIDDEN,) int16
    second: np.ndarray  # (NARROW, HIDDEN) int16, a unit is WEIGHT
    second_bias: np.ndarray  # (NARROW,) int32, a unit is ACTIVE * WEIGHT
    third: np.ndarray  # (NARROW,) int32, a unit is WEIGHT
    third_bias: np.ndarray  # (1,) int64, a unit is ACTIVE * WEIGHT
    columns: np.ndarray  # (2, FEATURES) int16, `COLUMNS`
    active: np.ndarray  # (HIDDEN,) int16


def quantized(weights: Mapping[str, np.ndarray]) -> Network:
    """Round the weights of a trained network: `first.weight` (HIDDEN, FEATURES), `first.bias` (HIDDEN,), and so on."""
    return Network(
        first=_rounded(weights["first.weight"].T, ACTIVE, np.int16),
        first_bias=_rounded(weights["first.bias"], ACTIVE, np.int16),
        second=_rounded(weights["second.weight"], WEIGHT, np.int16),
        second_bias=_rounded(weights["second.bias"], ACTIVE * WEIGHT, np.int32),
        third=_rounded(weights["third.weight"][0], WEIGHT, np.int32),
        third_bias=_rounded(weights["third.bias"], ACTIVE * WEIGHT, np.int64),
        columns=COLUMNS,
        active=np.zeros(HIDDEN, np.int16),
    )


def unquantized(network: Network) -> dict[str, np.ndarray]:
    """Return the weights in floating point, which `quantized` rounds to the same integers."""
    units = {"first": ACTIVE, "first_bias": ACTIVE, "second": WEIGHT, "third": WEIGHT}
    scaled = {name: getattr(network, name) / units.get(name, ACTIVE * WEIGHT) for name in SAVED}
    scaled |= {"first": scaled["first"].T, "third": scaled["third"][None]}
    names = {name: name.replace("_", ".") if "_" in name else f"{name}.weight" for name in SAVED}
    return {names[name]: np.ascontiguousarray(values, np.float32) for name, values in scaled.items()}


def _rounded(values: np.ndarray, unit: int, dtype: Any) -> np.ndarray:
    scaled = np.rint(values.astype(np.float64) * unit)
    require(np.abs(scaled).max() <= np.iinfo(dtype).max, "a weight of the network is too large for its integers")
    return np.ascontiguousarray(scaled.astype(dtype))


def save_network(network: Network, path: Path) -> None:
    from safetensors.numpy import save

    write_atomic(path, save({name: getattr(network, name) for name in SAVED}))


def find_network(name: str | None) -> Path:
    """Return the file of a network: a file by its path, or one of the package by its name, None for the latest."""
    if name is None:
        return SHIPPED
    path = Path(name)
    return path if path.suffix else SHIPPED.with_name(f"{name}.safetensors")


def load_network(path: Path) -> Network:
    """Read a file of `save_network`; raise `UserError` if it is something else."""
    saved, shipped = (_read(one) for one in (path, SHIPPED))
    found, expected = ({name: f"{one[name].dtype}{one[name].shape}" for name in one} for one in (saved, shipped))
    reason = f"it has {str(found)[:300]}, expected {expected}"
    require(found == expected, f"{path} is not a network of Quoridor's evaluation: {reason}")
    return Network(columns=COLUMNS, active=np.zeros(HIDDEN, np.int16), **saved)


def _read(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return dict(load(read_regular(path, MAX_BYTES)))
    except (SafetensorError, LookupError, ValueError) as error:  # also a dtype that numpy lacks
        raise UserError(f"{path} is not a network of Quoridor's evaluation: {error}") from error


@kernel
def refresh(network: Network, words: np.ndarray, player: int, sums: np.ndarray) -> None:
    """Compute the sums of the first layer (HIDDEN,) from all features."""
    for j in range(HIDDEN):
        sums[j] = network.first_bias[j]
    for i in range(WORDS):
        _add(network, words[i], 64 * i, player, 1, sums)


@kernel
def update(
    network: Network, before: np.ndarray, words: np.ndarray, player: int, old: np.ndarray, sums: np.ndarray
) -> None:
    """Compute the sums of the first layer from another position's sums (`old`), with the same player to move."""
    for j in range(HIDDEN):
        sums[j] = old[j]
    for i in range(WORDS):
        changed = before[i] ^ words[i]
        _add(network, changed & words[i], 64 * i, player, 1, sums)
        _add(network, changed & before[i], 64 * i, player, -1, sums)


@inlined
def _add(network: Network, word: Any, offset: int, player: int, sign: int, sums: np.ndarray) -> None:
    """Add the weights of the features of a word to the sums, or subtract them."""
    while word != ZERO:
        column = network.first[network.columns[player, offset + lowest(word)]]
        for j in range(HIDDEN):
            sums[j] += sign * column[j]
        word &= word - ONE


@kernel
def output(network: Network, sums: np.ndarray) -> int:
    """Return the score for the player to move, in hundredths of log odds, from the sums of the first layer."""
    active = network.active
    for j in range(HIDDEN):
        active[j] = min(max(sums[j], 0), ACTIVE)
    total = network.third_bias[0]
    for k in range(NARROW):
        row, value = network.second[k], np.int32(0)
        for j in range(HIDDEN):
            value = np.int32(value + np.int32(active[j]) * np.int32(row[j]))
        value = (value + network.second_bias[k]) // WEIGHT
        total += min(max(value, 0), ACTIVE) * network.third[k]
    return total * SCORE // (ACTIVE * WEIGHT)
