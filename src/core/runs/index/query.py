"""Filter, order and groups of runs."""

import difflib
import operator
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from ...errors import UserError, require
from .rows import BASE_FIELDS, CONFIG_GROUPS, Row, format_value, value

COMPARISON = re.compile(r"(?P<field>[\w./@-]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)", re.DOTALL)
ORDER: dict[str, Callable[..., bool]] = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
ALIASES = {"tag": "tags", "note": "notes", "name": "run", "steps": "step", "winrate": "win_rate"}
SEARCHED = ("run", *CONFIG_GROUPS, "changes", "state", "notes")  # for words of the filter, besides tags
MAX_CHARACTERS = 1000

Test = Callable[[Row], bool]


def parse_filter(text: str, fields: Collection[str]) -> Test:
    """Return the test of a filter such as `algo=ppo lr>0.001 tag=baseline`, which is untrusted.

    `fields` are the settings and metrics of the runs. All terms must hold. A term without a comparison is searched as
    text. A comparison with `=` allows `*` and several values: `env=tictactoe* seed=1,2`.
    """
    require(len(text) <= MAX_CHARACTERS, f"a filter has at most {MAX_CHARACTERS:,} characters")
    try:
        terms = shlex.split(text)
    except ValueError as error:
        raise UserError("a quotation mark is not closed: write text with spaces as 'two words'") from error
    tests = [_parse_term(term, fields) for term in terms]
    return lambda row: all(test(row) for test in tests)


def _parse_term(term: str, fields: Collection[str]) -> Test:
    found = COMPARISON.fullmatch(term)
    if found is None:
        lost = re.match(r"[<>=!]", term)
        require(lost is None, f"{term} has no field before {lost and lost[0]}: write it without spaces, as lr>0.001")
        word = term.casefold()
        return lambda row: any(word in text.casefold() for text in chain((str(row[n]) for n in SEARCHED), row["tags"]))
    name, sign, expected = resolve_field(found["field"], fields), found["sign"], found["value"]
    require(expected != "", f"{term} has no value after {sign}: write it without spaces, as {found['field']}{sign}1")
    if sign not in ORDER:
        patterns = expected.split(",")
        return lambda row: any(_equals(value(row, name), pattern) for pattern in patterns) == (sign == "=")
    try:
        limit = float(expected.removesuffix("%")) / (100 if expected.endswith("%") else 1)
    except ValueError:
        raise UserError(f"{term} compares with {expected}, which is not a number") from None
    return lambda row: isinstance(number := value(row, name), int | float) and ORDER[sign](number, limit)


def resolve_field(name: str, fields: Collection[str]) -> str:
    """Return the whole name of a field; its last part is enough, settings before metrics."""
    name = ALIASES.get(name, name)
    if name in BASE_FIELDS or name in fields:
        return name
    for separator in (".", "/"):
        tails = sorted((field for field in fields if field.endswith(separator + name)), key=lambda f: f.count("."))
        outer = [field for field in tails if field.count(".") == tails[0].count(".")]
        if len(outer) == 1:
            return outer[0]
        require(not outer, f"{name} is ambiguous: write {' or '.join(outer[:6])}")
    known = {field.rpartition(".")[2] for field in fields} | {*BASE_FIELDS, *fields}
    close = difflib.get_close_matches(name, known, 1)
    raise UserError(f"{name} is not a field of any run" + (f": did you mean {close[0]}?" if close else ""))


def _equals(found: object, pattern: str) -> bool:
    if isinstance(found, list | tuple):
        return any(_equals(one, pattern) for one in found)
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            return float(found) == float(pattern)
        except ValueError:
            return False
    text = "null" if found is None else str(found)
    return fnmatchcase(text.casefold(), pattern.casefold())


def sort_rows(rows: Sequence[Row], sort: str) -> list[Row]:
    """Return the rows in the order of a column, descending with a minus; runs without a value come last."""
    name = sort.removeprefix("-")

    def key(row: Row) -> tuple[bool, Any]:
        found = value(row, name)
        numeric = isinstance(found, int | float)
        return (not numeric, found if numeric else str(found).casefold())

    empty = [row for row in rows if value(row, name) in (None, "", ())]
    filled = [row for row in rows if value(row, name) not in (None, "", ())]
    return sorted(filled, key=key, reverse=sort.startswith("-")) + empty


BY_SEED = "all but the seed"  # one group for the runs that differ in nothing else
NO_GROUPS = ""
GROUPINGS = {NO_GROUPS: "no groups", BY_SEED: "all settings but the seed"}
GROUPINGS |= {name: name for name in (*CONFIG_GROUPS, "seed")}


def differing_settings(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the settings that are not the same in all rows, with the value of each row; None where it has none."""
    names = dict.fromkeys((*CONFIG_GROUPS, *(name for row in rows for name in row["settings"])))
    values = {name: [value(row, name) for row in rows] for name in names}
    return {name: found for name, found in values.items() if len(set(map(repr, found))) > 1}


def group_options(rows: Sequence[Row], chosen: str) -> dict[str, str]:
    """Return the options to group these runs by: the fixed ones, and each setting that differs."""
    return GROUPINGS | {name: name for name in (*differing_settings(rows), chosen) if name not in GROUPINGS}


def group_runs(rows: Sequence[Row], by: str) -> dict[str, list[str]]:
    """Return the names of the runs of each group by its label."""
    names = [name for name in differing_settings(rows) if name != "seed"] if by == BY_SEED else [by]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(repr(value(row, name)) for name in names), []).append(row)
    short = [name for name in names if not name.endswith("_target_")] or names
    labels = [
        ", ".join(f"{name}={format_value(value(row, name)) or '-'}" for name in short) or "same settings"
        for row, *_ in groups.values()
    ]
    found = {}
    for label, (values, members) in zip(labels, groups.items(), strict=True):
        if labels.count(label) > 1:  # every digit and every name of code
            label = ", ".join(f"{name}={exact}" for name, exact in zip(names, values, strict=True))
        found[f"{label} ({len(members)} run{'s' * (len(members) > 1)})"] = [row["run"] for row in members]
    return found
