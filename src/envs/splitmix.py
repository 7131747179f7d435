"""Random numbers for compiled kernels: SplitMix64 (Steele, Lea & Flood 2014).

The state is a single 64-bit word. A source is a record with the field `random`, which holds it.
"""

from typing import Any

import numpy as np

from ..core.kernels import jit

# No allocations, so Numba's reference counting is disabled; everything is inlined, because a game draws thousands of
# numbers.
_inlined = jit(forceinline=True, _nrt=False)

STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)
_2_POW_32 = np.uint64(1 << 32)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


def seed_word(seed: int) -> np.uint64:
    """Return the generator state for a seed; it does not depend on the game's index in its batch."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


@_inlined
def mix(word: Any) -> Any:
    """Return 64 pseudo-random bits for a counter that advances by STRIDE."""
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@_inlined
def hash_word(word: Any) -> Any:
    """Return the first word of the generator with this state: `src.core.play.search_interface.splitmix64`, compiled."""
    return mix(word + STRIDE)


@_inlined
def next_word(source: Any) -> Any:
    source.random += STRIDE
    return mix(source.random)


@_inlined
def below(source: Any, bound: int) -> int:
    """Return an integer in 0..bound-1 without modulo bias (Lemire 2019)."""
    span = np.uint64(bound)
    product = (next_word(source) >> _32) * span
    if (product & _LOW_32) < span:
        excess = (_2_POW_32 - span) % span
        while (product & _LOW_32) < excess:
            product = (next_word(source) >> _32) * span
    return int(product >> _32)
