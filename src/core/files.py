"""Atomic writes, bounded reads, and checks of paths before they are used."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from .errors import UserError, require

new_directories: list[Path] = []  # created by the run of this process, innermost first
MAX_DATA_BYTES = 1 << 26  # of a file of boards, a Q-table or a game record


def remove_new_directories() -> None:
    """Delete the directories created for a run that was refused, except those with files."""
    for path in new_directories:
        with contextlib.suppress(OSError):  # not empty
            path.rmdir()


def write_atomic(path: Path, content: bytes | str) -> None:
    require_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    partial = _partial(path)
    partial.unlink(missing_ok=True)  # left by a killed process, or a symlink
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def require_replaceable(path: Path) -> None:
    """Raise `UserError` if a file cannot replace this path: it is a directory, a device or a pipe."""
    require(path.name not in ("", ".."), f"{path} is not a file name")
    try:
        blocked = _partial(path).is_dir() and not _partial(path).is_symlink()
        require(not blocked, f"{_partial(path)} is a directory: remove it, it is the temporary name of {path.name}")
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # a null byte, or characters that the file system does not support
        raise UserError(f"{str(path)!r} cannot be written: {error}") from error
    require(stat.S_ISREG(mode), f"{path} is not a regular file and is not overwritten: choose another path")


def require_writable(path: Path) -> None:
    """Raise `UserError` if a file cannot be written to this path; call it before computing the content."""
    require_replaceable(path)
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Read a regular file of at most `max_bytes`; reading a device or a pipe may never end."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # opening a pipe would block
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            require(regular, f"{path} cannot be read: it is not a regular file")
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{str(path)!r} cannot be read: {reason}") from error
    require(len(data) <= max_bytes, f"{path} is larger than {max_bytes:,} bytes, the most that is read")
    return data


def require_no_links(directory: Path, names: tuple[str, ...]) -> None:
    """Raise `UserError` if a file to append to is a symlink, which may point outside the directory, or a pipe."""
    links = [name for name in names if (directory / name).is_symlink()]
    require(not links, f"{directory}: {', '.join(links)} is a symlink, but a run writes to regular files only")
    others = [name for name in names if (directory / name).exists() and not (directory / name).is_file()]
    require(not others, f"{directory}: {', '.join(others)} is not a regular file: remove it")


def require_real_directory(path: Path) -> None:
    """Raise `UserError` if the path exists and is not a directory, or is a symlink that may point elsewhere."""
    real = path.is_dir() and not path.is_symlink()
    require(real or not os.path.lexists(path), f"{path} is not a directory or is a symlink: remove it")
