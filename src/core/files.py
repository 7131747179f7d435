"""Atomic writes, bounded reads, and checks of paths before they are used."""

import contextlib
import fcntl
import glob
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from .errors import UserError, require

new_directories: list[Path] = []  # created by the run of this process, innermost first
MAX_DATA_BYTES = 1 << 26  # of a file of boards, a Q-table or a game record
MAX_ENTRIES = 1_000_000  # files and folders of a run or of a whole sweep


def remove_new_directories() -> None:
    """Delete the directories created for a run that was refused, except those with files."""
    for path in new_directories:
        with contextlib.suppress(OSError):  # not empty
            path.rmdir()


def write_atomic(path: Path, content: bytes | str) -> None:
    """Replace a file, or the one that a link points to, in one step; a device or a pipe is written instead."""
    require_replaceable(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        with _open_stream(path) or contextlib.nullcontext() as stream:
            if stream is not None:
                stream.write(data)
                return
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    with partial.open("xb") as file:
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink == 0:  # another process has removed it before it was locked
                write_atomic(path, data)
                return
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _open_stream(path: Path) -> BinaryIO | None:
    """Open standard output, a device or a pipe; return None for other files."""
    if not path.exists():
        return None
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream that is closed or not a file
            if os.path.samestat(path.stat(), os.fstat(stream.fileno())):  # it may be redirected to a regular file
                stream.flush()
                return os.fdopen(os.dup(stream.fileno()), "wb")
    if path.is_file():
        return None
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb")  # a pipe without a reader would block
    os.set_blocking(file.fileno(), True)
    return file


def _remove_abandoned(path: Path) -> None:
    """Remove the partial files of killed processes: those of living ones are locked."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with contextlib.suppress(OSError), _open_without_waiting(partial) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


def require_replaceable(path: Path) -> None:
    """Raise `UserError` if this path cannot be the name of a file, or is a directory or a disk."""
    require(path.name not in ("", ".."), f"{path} is not a file name")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # a null byte, or characters that the file system does not support
        raise UserError(f"{str(path)!r} cannot be written: {error}") from error
    blocked = stat.S_ISDIR(mode) or stat.S_ISBLK(mode)
    require(not blocked, f"{path} is not a regular file and is not overwritten: choose another path")


def require_writable(path: Path) -> None:
    """Raise `UserError` if a file cannot be written to this path; call it before computing the content."""
    require_replaceable(path)
    if path.exists() and not path.is_file():
        return  # a device or a pipe
    folder = next(folder for folder in path.resolve().parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def open_regular(path: Path, max_bytes: int) -> Iterator[BinaryIO]:
    """Open a regular file of at most `max_bytes` to read; reading a device or a pipe may never end."""
    try:
        with _open_without_waiting(path) as file:
            status = os.fstat(file.fileno())
            require(stat.S_ISREG(status.st_mode), f"{path} cannot be read: it is not a regular file")
            small = status.st_size <= max_bytes
            require(small, f"{path} is larger than {max_bytes:,} bytes, the most that is read")
            yield file
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{str(path)!r} cannot be read: {reason}") from error


def read_regular(path: Path, max_bytes: int) -> bytes:
    with open_regular(path, max_bytes) as file:
        return file.read(max_bytes)


def _open_without_waiting(path: Path) -> BinaryIO:
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def require_closed(directory: Path) -> None:
    """Raise `UserError` if the directory of a run or a sweep, which may be untrusted, has a link, a pipe or a device.

    Allowed are links that stay inside, of wandb in runs of earlier versions and of submitit, and wandb's to its log.
    """
    inside, folders, count = directory.resolve(), [directory], 0
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                paths = [Path(entry) for entry in islice(entries, MAX_ENTRIES + 1)]
        except FileNotFoundError:
            continue
        except OSError as error:  # what cannot be listed cannot be checked
            raise UserError(f"{error.filename} cannot be read: {error.strerror}") from error
        count += len(paths)
        require(count <= MAX_ENTRIES, f"{directory} has more than {MAX_ENTRIES:,} files: move some elsewhere")
        for path in paths:
            if path.is_symlink():
                own = not {"wandb", ".submitit"}.isdisjoint(path.relative_to(directory).parts[:-1])
                own = own and Path(os.path.realpath(path)).is_relative_to(inside)
                own = own or path.match("wandb/*/logs/debug-core.log")  # wandb does not open it again
                require(own, f"{path} is a symlink, but a run has regular files and directories only: remove it")
            elif path.is_dir():
                folders.append(path)
            else:
                require(path.is_file() or not path.exists(), f"{path} is not a regular file or directory: remove it")
