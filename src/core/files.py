"""Files that are either the old ones or the new ones, whenever the process is killed, and that can be read in time."""

import os
import stat
import tempfile
from pathlib import Path

from src.core.errors import UserError, require

new_directories: list[Path] = []  # that did not exist before the run of this process, innermost first
MOST_DATA = 1 << 26  # bytes of a file of boards, of a table or of a game that are read


def write_atomic(path: Path, content: bytes | str) -> None:
    require_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    partial = _partial(path)
    partial.unlink(missing_ok=True)  # left by a process that was killed, or a link that somebody has put there
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def require_replaceable(path: Path) -> None:
    """Refuse a path that a new file cannot be put in place of: a directory, a device or a pipe."""
    require(path.name not in ("", ".."), f"{path} is not the name of a file")
    try:
        in_the_way = _partial(path).is_dir() and not _partial(path).is_symlink()
        require(
            not in_the_way, f"{_partial(path)} is a directory: remove it, {path.name} is written by that name first"
        )
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # a zero byte, letters that the file system cannot hold
        raise UserError(f"{str(path)!r} cannot be written: {error}") from error
    require(stat.S_ISREG(mode), f"{path} is not a regular file: nothing is written over it, name another")


def require_writable(path: Path) -> None:
    """Refuse a path that a new file cannot be written to, before any work whose result it is meant for."""
    require_replaceable(path)
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes; a device or a pipe could go on forever."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # opening a pipe would wait
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            require(regular, f"{path} cannot be read: it is not a regular file")
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{str(path)!r} cannot be read: {reason}") from error
    require(len(data) <= most, f"{path} is larger than {most:,} bytes: it is not read")
    return data


def require_no_links(directory: Path, names: tuple[str, ...]) -> None:
    """Refuse files that are appended to where they are links, which may lead anywhere, or pipes, which block."""
    links = [name for name in names if (directory / name).is_symlink()]
    require(not links, f"{directory} has a link in place of {', '.join(links)}: a run writes files of its own only")
    others = [name for name in names if (directory / name).exists() and not (directory / name).is_file()]
    require(not others, f"{directory} has something else in place of the file {', '.join(others)}: remove it")


def require_own_folder(path: Path) -> None:
    """Refuse a folder that is a link or something else: what is written there has to stay below its parent."""
    own = path.is_dir() and not path.is_symlink()
    require(own or not os.path.lexists(path), f"{path} is not a folder of its own: a run writes files of its own only")
