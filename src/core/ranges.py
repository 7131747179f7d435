"""Ranges of settings, declared as types: `gamma: Fraction`, `size: Annotated[int, Bounds(ge=3, le=9)]`.

A plain `float` is any finite number. `config.build` checks all values of a configuration before it builds anything;
classes that are also constructed directly check their own arguments (`checked`, `check_fields`).
"""

import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import require

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_SHOWN = 80  # characters of a value in an error message


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, or of the length of a list."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: int | None = None

    def hold(self, number: float) -> bool:
        low = (self.ge is None or number >= self.ge) and (self.gt is None or number > self.gt)
        high = (self.le is None or number <= self.le) and (self.lt is None or number < self.lt)
        return low and high and (self.multiple_of is None or number % self.multiple_of == 0)

    def __str__(self) -> str:
        lowest, highest = _first(self.ge, self.gt), _first(self.le, self.lt)
        if lowest is not None and highest is not None:
            text = f"in {'[' if self.gt is None else '('}{lowest}, {highest}{']' if self.lt is None else ')'}"
            return text + ("" if self.multiple_of is None else f" and a multiple of {self.multiple_of}")
        signs = {">=": self.ge, ">": self.gt, "<=": self.le, "<": self.lt}
        return " and ".join(f"{sign} {bound}" for sign, bound in signs.items() if bound is not None)


Positive = Annotated[float, Bounds(gt=0)]
NonNegative = Annotated[float, Bounds(ge=0)]
Fraction = Annotated[float, Bounds(ge=0, le=1)]
BelowOne = Annotated[float, Bounds(ge=0, lt=1)]
AboveZero = Annotated[float, Bounds(gt=0, le=1)]
Count = Annotated[int, Bounds(ge=1, le=10**15)]  # such as a budget of steps
Interval = Annotated[int, Bounds(ge=1, le=10**9)]  # such as steps between two evaluations
Size = Annotated[int, Bounds(ge=1, le=65_536)]  # such as the width of a layer
BatchSize = Annotated[int, Bounds(ge=1, le=2**24)]
Depth = Annotated[int, Bounds(ge=1, le=1000)]  # such as layers of a network
NonNegativeInt = Annotated[int, Bounds(ge=0)]
NumEnvs = Annotated[int, Bounds(ge=1, le=2**20)]
Threads = Annotated[int, Bounds(ge=1, le=1024)]
Seed = Annotated[int, Bounds(ge=0, lt=2**63)]
Plies = Annotated[int, Bounds(ge=0, le=10_000)]


def check(value: Any, hint: Any, path: str) -> None:
    """Raise `UserError` if a value is not of the declared type and range; `path` is its configuration key."""
    if isinstance(value, Mapping) and _is(hint, Mapping):
        for key, one in value.items():
            check(one, get_args(hint)[1], f"{path}.{key}")
    require(accepts(value, hint), f"{path}={shown(value)} must be {describe(hint)}")


def checked(function: Function) -> Function:
    """Decorate a constructor to check its arguments."""
    hints, signature = get_type_hints(function, include_extras=True), inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            check(value, hints.get(name, Any), name)
        return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass; call it in `__post_init__`."""
    hints = get_type_hints(type(instance), include_extras=True)
    for item in fields(instance):
        check(getattr(instance, item.name), hints[item.name], item.name)


def accepts(value: Any, hint: Any) -> bool:
    """Return whether a value matches a type hint; only numbers, booleans, strings and lists of them are checked."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [extra for extra in arguments[1:] if isinstance(extra, Bounds)]
        return accepts(value, arguments[0]) and all(one.hold(_measure(value)) for one in bounds)
    if origin in (Union, types.UnionType):
        return any(accepts(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if _is(hint, Mapping):
        return isinstance(value, Mapping)
    if _is(hint, Sequence):
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        return is_list and all(accepts(one, arguments[0]) for one in value)
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if hint in (int, bool, str, types.NoneType):
        return type(value) is hint
    return True


def describe(hint: Any) -> str:
    """Describe the accepted values, to complete "must be ..."."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = " and ".join(str(extra) for extra in arguments[1:] if isinstance(extra, Bounds))
        if arguments[0] is str or get_origin(arguments[0]) is not None:
            return f"{describe(arguments[0])}, with a length {bounds}"
        return f"{'a number' if arguments[0] is float else describe(arguments[0])} {bounds}"
    if origin in (Union, types.UnionType):
        return " or ".join(describe(one) for one in arguments)
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if _is(hint, Sequence):
        return f"a list with each item {describe(arguments[0])}"
    if _is(hint, Mapping):
        return "a mapping"
    names = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}
    return "null" if hint is types.NoneType else names.get(hint, getattr(hint, "__name__", str(hint)))


def _is(hint: Any, kind: type) -> bool:
    origin = get_origin(hint)
    return inspect.isclass(origin) and issubclass(origin, kind)


def _measure(value: Any) -> float:
    return value if isinstance(value, int | float) else len(value)


def _first(*bounds: float | None) -> float | None:
    return next((bound for bound in bounds if bound is not None), None)


def shown(value: Any, most: int = MAX_SHOWN) -> str:
    """Format a value as on the command line, truncated for a message."""
    words = {None: "null", True: "true", False: "false"}
    text = words[value] if value is None or isinstance(value, bool) else " ".join(str(value).split())
    return text if len(text) <= most else f"{text[:most]}..."
