"""The Q-table over canonical positions, and its JSON format."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...core.errors import UserError, require
from ...core.files import MAX_DATA_BYTES, read_regular, write_atomic

FORMAT_VERSION = 1


class RankingStore:
    """Values of (state key, move) pairs. Keys and moves are canonical; the caller translates them."""

    def __init__(self, table_format: str) -> None:
        self.table_format = table_format
        self._values: dict[str, dict[int, float]] = {}

    def get(self, state_key: str, move: int) -> float | None:
        """Return None if the move was never tried."""
        return self._values.get(state_key, {}).get(move)

    def set(self, state_key: str, move: int, value: float) -> None:
        self._values.setdefault(state_key, {})[move] = value

    def __len__(self) -> int:
        return sum(map(len, self._values.values()))

    def __iter__(self) -> Iterator[tuple[str, int, float]]:
        for state_key in sorted(self._values):
            for move in sorted(self._values[state_key]):
                yield state_key, move, self._values[state_key][move]

    @staticmethod
    def from_rows(table_format: str, rows: Iterable[tuple[str, int, float]]) -> "RankingStore":
        store = RankingStore(table_format)
        for state_key, move, value in rows:
            store.set(state_key, move, value)
        return store

    def export_json(self, path: Path) -> None:
        rankings = [{"state": state_key, "move": move, "value": value} for state_key, move, value in self]
        document = {"version": FORMAT_VERSION, "format": self.table_format, "rankings": rankings}
        write_atomic(path, json.dumps(document, indent=0) + "\n")

    @staticmethod
    def import_json(path: Path) -> "RankingStore":
        require(path.is_file(), f"there is no table at {path}")
        try:
            document = json.loads(read_regular(path, MAX_DATA_BYTES))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is not a table in JSON: {error}") from error
        match document:
            case {"version": int(version), "format": str(table_format), "rankings": list(rankings)}:
                require(version == FORMAT_VERSION, f"{path} is a table of version {version}, not {FORMAT_VERSION}")
                return RankingStore.from_rows(table_format, [_row(path, *row) for row in enumerate(rankings)])
        raise UserError(f'{path} is not a table: it needs a "version", a "format" and a list of "rankings"')


def _row(path: Path, number: int, row: Any) -> tuple[str, int, float]:
    match row:
        case {"state": str(state), "move": int(move), "value": int() | float() as value}:
            if not isinstance(move, bool) and -sys.float_info.max <= value <= sys.float_info.max:
                return state, move, float(value)
    raise UserError(f"{path}: rankings[{number}] needs a state, a move and a finite value, but is {str(row)[:200]}")
