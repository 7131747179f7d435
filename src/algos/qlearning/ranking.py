"""The table of what is known about moves, kept under canonical positions and exchanged as JSON."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

from src.core.errors import LabError, require
from src.core.files import write_atomic

FORMAT_VERSION = 1


class RankingStore:
    """Values of (state key, move) pairs. Keys and moves are canonical; who asks has to translate."""

    def __init__(self) -> None:
        self._values: dict[str, dict[int, float]] = {}

    def get(self, state_key: str, move: int) -> float | None:
        """None where the move was never tried."""
        return self._values.get(state_key, {}).get(move)

    def set(self, state_key: str, move: int, value: float) -> None:
        self._values.setdefault(state_key, {})[move] = value

    def __len__(self) -> int:
        return sum(map(len, self._values.values()))

    def __iter__(self) -> Iterator[tuple[str, int, float]]:
        for state_key in sorted(self._values):
            for move in sorted(self._values[state_key]):
                yield state_key, move, self._values[state_key][move]

    def export_json(self, path: Path) -> None:
        rankings = [{"state": state_key, "move": move, "value": value} for state_key, move, value in self]
        write_atomic(path, json.dumps({"version": FORMAT_VERSION, "rankings": rankings}, indent=0) + "\n")

    @staticmethod
    def import_json(path: Path) -> "RankingStore":
        try:
            document = json.loads(path.read_text())
        except FileNotFoundError:
            raise LabError(f"there is no table at {path}") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise LabError(f"{path} is not a table in JSON: {error}") from error
        if not isinstance(document, dict) or document.get("version") != FORMAT_VERSION:
            raise LabError(f'{path} is not a table of version {FORMAT_VERSION}: its "version" says otherwise')
        require(isinstance(document.get("rankings"), list), f'{path} has no list of "rankings"')
        store = RankingStore()
        for number, row in enumerate(document["rankings"]):
            match row:
                case {"state": str(state), "move": int(move), "value": int() | float() as q} if math.isfinite(q):
                    store.set(state, move, float(q))
                case _:
                    raise LabError(f"{path}: rankings[{number}] needs a state, a move and a value, but is {row}")
        return store
