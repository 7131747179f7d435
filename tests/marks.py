"""Marks of parametrized tests."""

from collections.abc import Sequence
from typing import Any

import pytest


def mostly_slow(cases: Sequence[Any], fast: int) -> list[Any]:
    """Mark all cases but the first `fast` as slow, in which they repeat a test with more values."""
    later = (case if isinstance(case, tuple) else (case,) for case in cases[fast:])
    return [*cases[:fast], *(pytest.param(*case, marks=pytest.mark.slow) for case in later)]
