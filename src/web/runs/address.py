"""The URL of a comparison: /runs?compare=a,b&metric=eval/win_rate&axis=step"""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

PATH = "/runs"


class Comparison(NamedTuple):
    runs: tuple[str, ...] = ()
    metric: str | None = None
    axis: str = "step"

    def address(self) -> str:
        words = [f"compare={','.join(_quoted(name) for name in self.runs)}"] if self.runs else []
        words += [f"metric={_quoted(self.metric)}"] if self.metric and self.runs else []
        words += [f"axis={_quoted(self.axis)}"] if self.axis != "step" else []
        return f"{PATH}?{'&'.join(words)}" if words else PATH


def read(query: str) -> Comparison:
    """Parse a raw query; names are split before unquoting, because a comma in a name is %2C."""
    values = dict(word.split("=", 1) for word in query.split("&") if "=" in word)
    names = [unquote(name) for name in values.get("compare", "").split(",") if name]
    metric = unquote(values["metric"]) if values.get("metric") else None
    return Comparison(_unique(names), metric, unquote(values.get("axis", "step")))


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _quoted(text: str) -> str:
    return quote(text, safe="/")
