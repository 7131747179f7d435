"""An on-disk cache of compiled kernels.

An entry is valid while the source of the kernel and of everything that it imports from this repository is unchanged:
Numba's own cache checks one file only and misses edits of a callee or a constant elsewhere. Every file starts with a
digest of its content, so a truncated or damaged one is compiled again.
"""

import atexit
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from .package import CHECKOUT, INSTALLED

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent  # contains the package and other folders with kernels, such as experiments
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([\w.]+))", re.MULTILINE)


def stamp(path: Path) -> str:
    """Return a digest of a source file and of all files below `ROOT` that it imports, directly or indirectly."""
    digest = hashlib.sha256()
    for file in sorted(_closure(path)):
        digest.update(str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file).encode())
        digest.update(_content(file))
    return digest.hexdigest()


def _closure(path: Path) -> set[Path]:
    found, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    return found


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imported(path: Path) -> list[Path]:
    """Return the files of this repository that a source file imports."""
    stems = []
    for package, members, module in _IMPORT.findall(_content(path).decode()):
        stem = _stem(module or package, path)
        if stem is not None:
            stems += [stem, *(stem / member for member in re.findall(r"\w+", members))]
    candidates = [file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")]
    return [file for file in candidates if file.is_file()]


def _stem(name: str, importer: Path) -> Path | None:
    """Return where a module of this repository or package is that a source file imports, without .py."""
    absolute = name.lstrip(".")
    first, _, rest = absolute.partition(".")
    if len(absolute) < len(name):
        return importer.parents[len(name) - len(absolute) - 1].joinpath(*filter(None, absolute.split(".")))
    if first in (CHECKOUT, INSTALLED):
        return (ROOT / PACKAGE.name).joinpath(*filter(None, rest.split(".")))
    in_checkout = PACKAGE.name == CHECKOUT  # otherwise everything that is installed would count
    return ROOT.joinpath(*absolute.split(".")) if in_checkout else None


@cache
def folder() -> Path:
    """Return the first writable of NUMBA_CACHE_DIR, the source tree, the user's cache and a temporary folder."""
    return lasting_folder() or _temporary(_candidates())


def lasting_folder() -> Path | None:
    """Return the first of these that later commands find as well, or None if none can be written to."""
    return next(filter(_is_writable, _candidates()), None)


def _candidates() -> list[Path]:
    chosen = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111 (never raises)
    return [*chosen, PACKAGE / "__pycache__", user / INSTALLED]


def _is_writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked process
        shutil.rmtree(path, ignore_errors=True)


def _temporary(refused: list[Path]) -> Path:
    """Create a folder for this process and its children, removed at exit."""
    path, owner = Path(tempfile.mkdtemp(prefix="kernels-")), os.getpid()
    os.environ["NUMBA_CACHE_DIR"] = str(path)  # shared with child processes
    atexit.register(_remove, path, owner)
    names = ", ".join(map(str, refused))
    print(
        f"warning: compiled kernels cannot be cached: none of {names} is writable, so each command compiles them "
        "again. Set NUMBA_CACHE_DIR to a writable folder",
        file=sys.stderr,
    )
    return path


class KernelFiles:
    """The compiled versions of one kernel: an index of signatures, and a file for each."""

    def __init__(self, path: Path, name: str, source: str) -> None:
        self._path, self._name = path, name
        self._valid = numba.__version__, source

    def load(self, key: Any) -> Any:
        """Return what was saved under a key, or None if it is missing or unreadable."""
        name = self._index().get(key)
        return None if name is None else _read(self._path / name)

    def save(self, key: Any, data: Any) -> None:
        # The name includes a digest: another process may save another version at the same time.
        name = f"{self._name}.{hashlib.sha256(repr((self._valid, key)).encode()).hexdigest()[:16]}.nbc"
        _write(self._path / name, data)
        _write(self._path / f"{self._name}.nbi", (self._valid, {**self._index(), key: name}))

    def flush(self) -> None:
        _write(self._path / f"{self._name}.nbi", (self._valid, {}))

    def _index(self) -> dict[Any, str]:
        valid, index = _read(self._path / f"{self._name}.nbi") or (None, {})
        return index if valid == self._valid else {}


def _read(path: Path) -> Any:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, payload = content[:32], content[32:]
    if hashlib.sha256(payload).digest() != digest:
        return None
    try:
        return pickle.loads(payload)  # noqa: S301 (as Numba does)
    except (AttributeError, ImportError):  # argument types have been renamed
        return None


def _write(path: Path, data: Any) -> None:
    """Replace the file atomically, as other processes read it; a failed write only loses the cache entry."""
    payload, temporary = dumps(data), path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(hashlib.sha256(payload).digest() + payload)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


class _Locator(_CacheLocator):
    def __init__(self, py_func: Any, py_file: str) -> None:
        self._file, self._line = Path(py_file).resolve(), py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        inside = self._file.is_relative_to(ROOT)
        name = ".".join(self._file.relative_to(ROOT).with_suffix("").parts) if inside else self._file.stem
        return str(folder() / "kernels" / name)

    def get_source_stamp(self) -> str:
        return stamp(self._file)

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Locator":
        return cls(py_func, py_file)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class KernelCache(FunctionCache):
    """Numba's cache of one function, stored in `KernelFiles`."""

    _impl_class = _Impl

    def __init__(self, py_func: Any) -> None:
        self._name, self._py_func = repr(py_func), py_func
        self._impl = _Impl(py_func)
        self._cache_path = self._impl.locator.get_cache_path()
        files = Path(self._cache_path), self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file: Any = KernelFiles(*files)
        self.enable()

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._enabled and self._impl.check_cachable(data):
            self._cache_file.save(self._index_key(sig, data.codegen), self._impl.reduce(data))
