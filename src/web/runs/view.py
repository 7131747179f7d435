"""What the page shows, as its URL says."""

from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from . import PAGE


class View(NamedTuple):
    """What is shown, as in /runs?compare=a,b&metric=eval/win_rate,losses/loss&smooth=0.6&group=algo.lr"""

    runs: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # one chart for each
    axis: str = "step"
    smooth: str = "0"
    log: str = ""  # axes with a logarithmic scale: x, y or xy
    group: str = ""
    band: str = "interval"
    filter: str = ""
    sort: str = "-updated"
    columns: tuple[str, ...] = ()  # empty: the default ones

    def url(self) -> str:
        """Return the URL, without default values."""
        words = []
        for name, chosen in self._asdict().items():
            if chosen != self._field_defaults[name]:
                texts = [chosen] if isinstance(chosen, str) else chosen
                words.append(f"{URL_KEYS[name]}={','.join(quote(text, safe='/') for text in texts)}")
        return f"{PAGE.path}?{'&'.join(words)}" if words else PAGE.path


URL_KEYS = {name: name for name in View._fields} | {"runs": "compare", "metrics": "metric"}


def parse_url(url_query: str) -> View:
    """Parse a raw URL query; names are split before unquoting, because a comma in a name is %2C."""
    given = dict(word.split("=", 1) for word in url_query.split("&") if "=" in word)
    values: dict[str, Any] = {}
    for name, key in URL_KEYS.items():
        if text := given.get(key):
            several = isinstance(View._field_defaults[name], tuple)
            unique = dict.fromkeys(unquote(part) for part in text.split(",") if part)
            values[name] = tuple(unique) if several else unquote(text)
    return View(**values)
