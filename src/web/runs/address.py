"""The URL of what is shown: /runs?compare=a,b&metric=eval/win_rate,losses/loss&smooth=0.6&group=algo.lr"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

PATH = "/runs"


class View(NamedTuple):
    runs: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # one chart for each
    axis: str = "step"
    smooth: str = "0"
    log: str = ""  # axes with a logarithmic scale: x, y or xy
    group: str = ""
    band: str = "interval"
    filter: str = ""
    sort: str = "-updated"
    columns: tuple[str, ...] = ()  # empty: the usual ones

    def address(self) -> str:
        """Return the URL, without values that are as usual."""
        words = [f"{KEYS[name]}={_text(value)}" for name, value in self._asdict().items() if value != DEFAULT[name]]
        return f"{PATH}?{'&'.join(words)}" if words else PATH


DEFAULT: Mapping[str, str | tuple[str, ...]] = View()._asdict()
KEYS = {name: name for name in DEFAULT} | {"runs": "compare", "metrics": "metric"}


def read(query: str) -> View:
    """Parse a raw query; names are split before unquoting, because a comma in a name is %2C."""
    given = dict(word.split("=", 1) for word in query.split("&") if "=" in word)
    values = {name: _value(given[key], DEFAULT[name]) for name, key in KEYS.items() if given.get(key)}
    return View()._replace(**values)  # type: ignore[arg-type]


def _value(text: str, default: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if isinstance(default, str):
        return unquote(text)
    return _unique([unquote(name) for name in text.split(",") if name])


def _text(value: str | Sequence[str]) -> str:
    return _quoted(value) if isinstance(value, str) else ",".join(map(_quoted, value))


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _quoted(text: str) -> str:
    return quote(text, safe="/")
