"""What the kernels of the wargame share. They work on records instead of an array per field: with few array arguments
kernels compile and run faster.
"""

from typing import Any

import numpy as np

from ....core.kernels import jit

# Kernels allocate nothing, so Numba's reference counting is disabled: counting the array arguments of every call would
# take longer than the rules themselves.
kernel = jit(_nrt=False)
inlined = jit(forceinline=True, _nrt=False)  # for what is called for every hex
released = jit(nogil=True, _nrt=False)  # called from Python, in threads

OFF_BOARD = -1  # the cell of a unit that is not placed yet, or dead
NOBODY = -1
UNDECIDED = 2  # outcomes are +1, 0 or -1 if player 1 has won, drawn or lost


def record(*fields: tuple[str, Any]) -> np.dtype:
    return np.dtype(list(fields), align=True)


@kernel
def copy_values(values: np.ndarray, out: np.ndarray) -> None:
    for k in range(values.size):
        out[k] = values[k]
