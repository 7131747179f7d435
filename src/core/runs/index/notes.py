"""Name, notes and tags of a run: notes.json in its directory, apart from everything that the run writes itself."""

import json
import threading
from typing import NamedTuple

from ...errors import UserError, require
from ...files import write_atomic
from ..zoo import NOTES
from . import files
from .files import RunPath

MAX_BYTES = 1 << 16
MAX_CHARACTERS = 10_000
MAX_TAGS, MAX_TAG, MAX_NAME = 20, 40, 80
_WRITING = threading.Lock()  # a note is compared with the file and written at once


class Notes(NamedTuple):
    text: str = ""
    tags: tuple[str, ...] = ()
    name: str = ""  # of the run; empty: what it trains and since when


def read(run: RunPath) -> Notes:
    data = files.content(run, NOTES, MAX_BYTES)
    if data is None:
        return Notes()
    try:
        found = json.loads(data)
        return checked(found["text"], found["tags"], found.get("name", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UserError) as error:
        raise UserError(f"{run.name}/{NOTES} is not readable as notes: {str(error)[:200]}") from error


def write(run: RunPath, before: Notes, after: Notes) -> None:
    """Replace the notes `before`, which the writer has seen; those written by another page meanwhile are kept."""
    after = checked(*after)
    with _WRITING:
        require(
            read(run) == before,
            f"the notes of {run.name} were changed by another page meanwhile, and yours are not saved: copy them, "
            "cancel, and edit again",
        )
        path = run.path.resolve() / NOTES
        require(path.is_relative_to(run.folder.resolve()), f"{run.name} leads out of {run.folder.name}/")
        require(not path.is_symlink(), f"{run.name}/{NOTES} is a symlink: remove it to write notes")
        try:
            write_atomic(path, json.dumps(after._asdict(), indent=2) + "\n")
        except OSError as error:
            raise UserError(f"{run.name}/{NOTES} cannot be written: {error.strerror}") from error


def checked(text: object, tags: object, name: object = "") -> Notes:
    """Return valid notes from untrusted values."""
    require(isinstance(text, str) and len(text) <= MAX_CHARACTERS, f"a note has at most {MAX_CHARACTERS:,} characters")
    require(isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags), "tags must be texts")
    require(isinstance(name, str) and len(name) <= MAX_NAME, f"the name of a run has at most {MAX_NAME} characters")
    assert isinstance(text, str)
    assert isinstance(name, str)
    assert isinstance(tags, list | tuple)
    require(len(tags) <= MAX_TAGS, f"a run has at most {MAX_TAGS} tags")
    words = [" ".join(tag.split()) for tag in tags]
    for tag in words:
        require(len(tag) <= MAX_TAG, f"the tag {tag[:MAX_TAG]}... is too long: at most {MAX_TAG} characters")
        require("," not in tag, f"the tag {tag} has a comma, which separates tags")
    return Notes(text.strip(), tuple(dict.fromkeys(filter(None, words))), " ".join(name.split()))
