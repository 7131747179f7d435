"""Allocation of the named tuples of arrays that kernels work on."""

from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

import numpy as np

Arrays = TypeVar("Arrays")


def allocate(cls: type[Arrays], sizes: Mapping[str, int], **others: Any) -> Arrays:
    """Return a named tuple with zeros in each field `Annotated[np.ndarray, dtype, *shape]`, and the `others` as given.

    A length in a shape is an integer or a name in `sizes`. Large arrays take memory only where they are used.
    """
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if name not in others:
            dtype, *shape = hint.__metadata__
            others[name] = np.zeros([sizes[length] if isinstance(length, str) else length for length in shape], dtype)
    return cls(**others)
