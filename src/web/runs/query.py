"""The filter of the table: words and comparisons such as `algo=ppo lr>0.001 tag=baseline`."""

import difflib
import re
import shlex
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import Any

from ...core.errors import UserError, require
from .index import BASE, value

COMPARISON = re.compile(r"(?P<field>[\w./@-]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)", re.DOTALL)
ORDER: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}
ALIASES = {"tag": "tags", "note": "notes", "name": "run", "steps": "step", "winrate": "win_rate"}
TEXTS = ("run", "env", "algo", "reward", "curriculum", "experiment", "changes", "state", "notes")  # searched for words
MAX_CHARACTERS = 1000

Row = dict[str, Any]
Test = Callable[[Row], bool]


def parse(text: str, fields: Collection[str]) -> Test:
    """Return the test of a filter, which is untrusted; `fields` are the settings and metrics of the runs.

    All terms must hold. A comparison with `=` allows `*` and several values: `env=minesweeper* seed=1,2`.
    """
    require(len(text) <= MAX_CHARACTERS, f"a filter has at most {MAX_CHARACTERS:,} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError("a quotation mark is not closed: write text with spaces as 'two words'") from error
    tests = [_test(word, fields) for word in words]
    return lambda row: all(test(row) for test in tests)


def _test(word: str, fields: Collection[str]) -> Test:
    found = COMPARISON.fullmatch(word)
    if found is None:
        lost = re.match(r"[<>=!]", word)
        require(lost is None, f"{word} has no field before {lost and lost[0]}: write it without spaces, as lr>0.001")
        return lambda row: _contains(row, word.casefold())
    name, sign, wanted = resolved(found["field"], fields), found["sign"], found["value"]
    require(wanted != "", f"{word} has no value after {sign}: write it without spaces, as {found['field']}{sign}1")
    if sign in ORDER:
        limit, holds = _limit(word, wanted), ORDER[sign]
        return lambda row: isinstance(number := value(row, name), int | float) and holds(number, limit)
    patterns = wanted.split(",")
    return lambda row: any(_equals(value(row, name), one) for one in patterns) == (sign == "=")


def resolved(name: str, fields: Collection[str]) -> str:
    """Return the whole name of a field; its last part is enough, settings before metrics."""
    name = ALIASES.get(name, name)
    if name in BASE or name in fields:
        return name
    for separator in (".", "/"):
        tails = sorted((field for field in fields if field.endswith(separator + name)), key=lambda f: f.count("."))
        outer = [field for field in tails if field.count(".") == tails[0].count(".")]
        if len(outer) == 1:
            return outer[0]
        require(not outer, f"{name} is ambiguous: write {' or '.join(outer[:6])}")
    known = {field.rpartition(".")[2]: field for field in fields} | {field: field for field in (*BASE, *fields)}
    close = difflib.get_close_matches(name, known, 1)
    raise UserError(f"{name} is not a field of any run" + (f": did you mean {close[0]}?" if close else ""))


def _limit(word: str, text: str) -> float:
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UserError(f"{word} compares with {text}, which is not a number") from None


def _equals(found: object, wanted: str) -> bool:
    if isinstance(found, list | tuple):
        return any(_equals(one, wanted) for one in found)
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            return float(found) == float(wanted)
        except ValueError:
            return False
    text = "null" if found is None else str(found)
    return fnmatchcase(text.casefold(), wanted.casefold())


def _contains(row: Row, word: str) -> bool:
    return any(word in str(row[name]).casefold() for name in TEXTS) or any(
        word in tag.casefold() for tag in row["tags"]
    )
