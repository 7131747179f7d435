"""Games kept on disk, so that a game has an address that survives a refresh and a restart of the server."""

import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from ..core.errors import UserError, require

MAX_BYTES = 1 << 18  # of a game
MAX_GAMES = 500
MAX_AGE = 30 * 86_400.0  # seconds since the last move
STALE = 3600.0  # seconds after which a file that was not written to its end is deleted
KEY = re.compile(r"[0-9a-f]{12}")
DAMAGED = "The file of this game is damaged, so it cannot be opened"
FIELDS = {"path": str, "setup": dict, "moves": list, "result": str, "seconds": int | float, "revision": int}
GONE = "This game is not kept here any more: games are kept for 30 days after their last move."


class SavedGame(NamedTuple):
    """What a match is replayed from. Everything but `key` and `updated` is in the file, which is named by the key."""

    path: str  # of its page, such as /quoridor
    setup: Mapping[str, str]  # the choices of the page
    start: Any  # what the match began from, as JSON: a seed, a position
    moves: Sequence[Any]  # as JSON
    result: str = ""  # empty until the game is over
    seconds: float = 0.0  # on its clock
    revision: int = 0  # number of the saves
    key: str = ""
    updated: float = 0.0  # seconds since the epoch
    variations: Sequence[Any] = ()  # what was tried instead of the moves, as JSON; in the file only if there are some

    @property
    def address(self) -> str:
        return f"{self.path}/{self.key}"


class GameStore:
    """Files of limited size, number and age in one folder. Keys are untrusted: only its own form is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shared = WeakValueDictionary[str, Any]()  # what the tabs with a game have in common, by its key
        self.writer = ThreadPoolExecutor(1, "save")  # writes in order, and finishes before the interpreter exits

    def load(self, path: str, key: str) -> SavedGame:
        """Return the game of a page after the writes so far; raise `UserError` if there is none."""
        game = self.writer.submit(self._read, self._file(key)).result()
        require(game.path == path, GONE)
        return game

    def save(self, game: SavedGame, key: str | None = None) -> str:
        """Write a game and return its key: a new one for a new game, or if its file was changed by somebody else."""
        if key is None:
            self._prune()
        else:
            with suppress(UserError):  # a file that is not there any more, or damaged, is written again
                key = key if self._read(self._file(key)).revision == game.revision - 1 else None
        key = key or secrets.token_hex(6)
        content = game._asdict()
        del content["key"], content["updated"]
        if not game.variations:
            del content["variations"]
        text = json.dumps(content)
        require(len(text) <= MAX_BYTES, "this game is too long to be kept: it is lost when the page is closed")
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._folder / f"{key}.partial"
        partial.write_text(text)  # not synced to the disk: it outlives the server, and no move waits for the disk
        partial.replace(self._file(key))
        return key

    def latest(self, count: int) -> list[SavedGame]:
        """Return the readable games that were played last."""
        found: list[SavedGame] = []
        for _, file in self._newest_first():
            if len(found) == count:
                break
            with suppress(UserError):
                found.append(self._read(file))
        return found

    def _file(self, key: str) -> Path:
        require(KEY.fullmatch(key) is not None, GONE)
        return self._folder / f"{key}.json"

    def _read(self, file: Path) -> SavedGame:
        try:
            require(file.is_file() and not file.is_symlink(), GONE)
            status = file.stat()
            require(status.st_mtime > time.time() - MAX_AGE, GONE)
            require(status.st_size <= MAX_BYTES, "The file of this game is too large.")
            return _parse(json.loads(file.read_text()), file.stem, status.st_mtime)
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{DAMAGED}: {str(error)[:200]}") from error

    def _newest_first(self) -> list[tuple[float, Path]]:
        """Return the times and files of games, those that disappear meanwhile left out."""
        found = []
        for file in self._folder.glob("*.json"):
            with suppress(OSError):
                if KEY.fullmatch(file.stem):
                    found.append((file.stat().st_mtime, file))
        return sorted(found, reverse=True)

    def _prune(self) -> None:
        """Delete what is too old or too much, to make room for one game."""
        oldest = time.time() - MAX_AGE
        for number, (modified, file) in enumerate(self._newest_first(), 1):
            if number >= MAX_GAMES or modified < oldest:
                with suppress(OSError):
                    file.unlink()
        for partial in self._folder.glob("*.partial"):  # of a server that was killed while it wrote
            with suppress(OSError):
                if partial.stat().st_mtime < time.time() - STALE:
                    partial.unlink()


def _parse(content: Any, key: str, updated: float) -> SavedGame:
    variations: Any = content.get("variations", ()) if isinstance(content, dict) else None
    is_valid = (
        isinstance(variations, list | tuple)
        and "start" in content
        and all(isinstance(content.get(name), kind) for name, kind in FIELDS.items())
        and all(isinstance(value, str) for value in content["setup"].values())
    )
    require(is_valid, f"{DAMAGED}.")
    known = {name: content[name] for name in (*FIELDS, "start")}
    return SavedGame(**known, key=key, updated=updated, variations=variations)
