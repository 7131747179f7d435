"""Remember how built-in functions and operators were resolved for given argument types.

Numba tries dozens of templates for each call, such as every `a + b` of two integers, though the result does not change.
"""

from typing import Any

from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

_resolve: Any = BaseFunction.get_call_type
_seen_flags: list[Any] = []  # distinct compiler options, on which the code of a function depends


def remember_signatures() -> None:
    """Install the memory for all functions that Numba provides; kernels are resolved by their dispatcher."""
    BaseFunction.get_call_type = _get_call_type  # type: ignore[method-assign]


def _get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    if kws:
        return _resolve(self, context, args, kws)
    known, key = self.__dict__.setdefault("_known_signatures", {}), (args, _number(ConfigStack.top_or_none()))
    if key not in known:
        signature = _resolve(self, context, args, kws)
        known[key] = signature, self._impl_keys[signature.args]
    signature, implementation = known[key]
    self._impl_keys[signature.args] = implementation
    return signature


def _number(flags: Any) -> int:
    """Number equal compiler options equally; comparing all values in each lookup takes long."""
    for number, seen in enumerate(_seen_flags):
        if seen is flags or (seen is not None and flags is not None and seen._values == flags._values):
            return number
    _seen_flags.append(flags)
    return len(_seen_flags) - 1
