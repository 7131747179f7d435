"""The learned evaluation: a small network with integer weights, evaluated in compiled code (NNUE, Nasu 2018).

    768 features -> 128 -> 32 -> 1, clipped ReLU between the layers

The sums of the first layer are kept for every position of the line being searched: a position differs from the one two
plies earlier, with the same player to move, in some dozen features, and only those are added and subtracted.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import UserError, require
from ...core.files import read_regular, write_atomic
from ...core.kernels import by_reference
from .board import ONE, ZERO, inlined, kernel, lowest
from .features import COLUMNS, WORDS

ACTIVE = 255  # the integer of an activation of 1
WEIGHT = 1024  # the integer of a weight of 1 in the second and third layer
SCORE = 100  # points of one unit of log odds
HIDDEN, NARROW = 128, 32  # widths of the layers
SHIPPED = Path(__file__).parent / "network.safetensors"
MAX_BYTES = 1 << 20  # of a file, four times the shipped one
SAVED = ("first", "first_bias", "second", "second_bias", "third", "third_bias")


@by_reference
class Network(NamedTuple):
    """Weights of the network, rounded to integers, and a buffer of the first layer's activations."""

    first: np.ndarray  # (FEATURES, HIDDEN) int16, a unit is ACTIVE
    first_bias: np.ndarray  # (HIDDEN,) int16
    second: np.ndarray  # (NARROW, HIDDEN) int16, a unit is WEIGHT
    second_bias: np.ndarray  # (NARROW,) int32, a unit is ACTIVE * WEIGHT
    third: np.ndarray  # (NARROW,) int32, a unit is WEIGHT
    third_bias: np.ndarray  # (1,) int64, a unit is ACTIVE * WEIGHT
    columns: np.ndarray  # (2, FEATURES) int16, see `features`
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


def _rounded(values: np.ndarray, unit: int, dtype: Any) -> np.ndarray:
    scaled = np.rint(values.astype(np.float64) * unit)
    require(np.abs(scaled).max() <= np.iinfo(dtype).max, "a weight of the network is too large for its integers")
    return np.ascontiguousarray(scaled.astype(dtype))


def save_network(network: Network, path: Path) -> None:
    from safetensors.numpy import save

    write_atomic(path, save({name: getattr(network, name) for name in SAVED}))


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
        _add(network, words[i], 64 * i, player, sums)


@kernel
def update(
    network: Network, before: np.ndarray, words: np.ndarray, player: int, old: np.ndarray, sums: np.ndarray
) -> None:
    """Compute the sums of the first layer from those of another position with the same player to move."""
    for j in range(HIDDEN):
        sums[j] = old[j]
    for i in range(WORDS):
        changed = before[i] ^ words[i]
        _add(network, changed & words[i], 64 * i, player, sums)
        _subtract(network, changed & before[i], 64 * i, player, sums)


@inlined
def _add(network: Network, word: Any, offset: int, player: int, sums: np.ndarray) -> None:
    while word != ZERO:
        column = network.first[network.columns[player, offset + lowest(word)]]
        for j in range(HIDDEN):
            sums[j] += column[j]
        word &= word - ONE


@inlined
def _subtract(network: Network, word: Any, offset: int, player: int, sums: np.ndarray) -> None:
    while word != ZERO:
        column = network.first[network.columns[player, offset + lowest(word)]]
        for j in range(HIDDEN):
            sums[j] -= column[j]
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
