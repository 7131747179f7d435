"""Cut a metrics.csv into cells by arrays of separators: only the columns that are needed become Python objects."""

import csv
import io
from collections.abc import Sequence

import numpy as np

from ..errors import UserError

COMMA, LINE, RETURN = b",", ord("\n"), ord("\r")
UNIT = b"\x1f"  # separates cells that have quotes, and thus perhaps commas


class CsvTable:
    """The complete rows of a CSV file, in which each row has a cell for each name of the first line."""

    def __init__(self, data: bytes, name: str) -> None:
        """`data` may end within a line, which is left out; `name` is the file in error messages."""
        try:
            text = data.decode()  # all of it: other bytes are no log
            data, comma = data[: data.rfind(b"\n") + 1], COMMA
            if b'"' in data:  # rare, and the reader of quotes is slow
                comma, lines = UNIT, csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
                data = b"".join(comma.join(cell.encode() for cell in line) + b"\n" for line in lines)
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(f"{name} is not readable as CSV: {error}") from error
        head = data[: data.find(b"\n") + 1].decode().rstrip("\r\n")
        self.names = tuple(head.split(comma.decode())) if data else ()
        self._data, self._characters = data, np.frombuffer(data, np.uint8)
        is_edge = self._characters == ord(comma)
        is_edge |= self._characters == LINE
        self._edges = np.flatnonzero(is_edge)  # each ends a cell
        last = np.flatnonzero(self._characters[self._edges] == LINE)  # of the cells of each line
        whole = np.diff(last) == len(self.names)
        self._first = last[:-1][whole] + 1
        begin, end = self._bounds(last[1:][~whole], last[:-1][~whole] + 1)
        self.cut = (np.flatnonzero(~whole)[end > begin] + 2).tolist()  # lines of other lengths, but not empty ones

    def __len__(self) -> int:
        return len(self._first)

    def _bounds(self, last: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the texts from one cell to another begin and end."""
        begin, end = self._edges[first - 1] + 1, self._edges[last]
        return begin, end - (self._characters[end - 1] == RETURN)

    def _cells(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return where the cells of these columns begin and end, both (rows, columns)."""
        cells = self._first[:, None] + np.array([self.names.index(name) for name in names], int)
        return self._bounds(cells, cells)

    def filled(self, names: Sequence[str]) -> np.ndarray:
        """Return which cells of these columns have a text, (rows, columns)."""
        begin, end = self._cells(names)
        filled: np.ndarray = end > begin
        return filled

    def columns(self, names: Sequence[str], rows: np.ndarray | slice = slice(None)) -> list[list[bytes]]:
        """Return the texts of these columns."""
        begin, end = (ends[rows].T.tolist() for ends in self._cells(names))
        return [[self._data[i:j] for i, j in zip(*column, strict=True)] for column in zip(begin, end, strict=True)]

    def rows(self, logged: str | None = None) -> list[dict[str, str]]:
        """Return the texts of each row by name, of all or of those that have one in the column `logged`."""
        chosen = slice(None) if logged is None else self.filled([logged])[:, 0]
        cells = zip(*self.columns(self.names, chosen), strict=True)
        return [dict(zip(self.names, (cell.decode() for cell in row), strict=True)) for row in cells]
