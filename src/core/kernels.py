"""Kernels: functions compiled by Numba and cached on disk.

`kernel_linker.py` compiles them several times faster than `numba.njit`, but uses internals of Numba. With a version
that it was not tested with, or where it fails to compile an example, `numba.njit(cache=True)` compiles them.
"""

import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import config
from numba.core.errors import NumbaExperimentalFeatureWarning

from .package import CHECKOUT, INSTALLED
from .package import ROOT as NAME

Class = TypeVar("Class", bound=type)

TESTED = (0, 63), (0, 68)  # the oldest and the newest version of Numba that the tests of kernels were run with
PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent  # contains the package and other folders with kernels, such as experiments
PUBLIC_OPTIONS = {"nogil", "parallel", "error_model"}
# Records with other alignment or more fields are compatible, as kernels expect.
warnings.filterwarnings("ignore", ".*has been considered a subtype of Record", NumbaExperimentalFeatureWarning)
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([\w.]+))", re.MULTILINE)


def jit(*, constants: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a kernel; takes the options of `numba.njit`.

    `constants` specializes the kernel for each literal argument: faster to run, slower to compile.
    """

    def decorate(function: Any) -> Any:
        if _linker is None:
            return numba.njit(cache=True, **{name: options[name] for name in PUBLIC_OPTIONS & options.keys()})(function)
        path = Path(function.__code__.co_filename).resolve()
        files = folder() / f"{path.stem}-{stamp(path)}" if path.is_file() else None
        return _linker.link(function, files, constants, options)

    return decorate


def by_reference(cls: Class) -> Class:
    """Decorate a `NamedTuple` of arrays, numbers and other such tuples, which kernels then pass on by its address.

    Kernels read such tuples and call each other with them. They cannot create, return or unpack them.
    """
    return cls if _linker is None else _linker.by_reference(cls)


@cache
def folder() -> Path:
    """Return the first writable of NUMBA_CACHE_DIR, the source tree, the user's cache and a temporary folder."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111 (never raises)
    candidates = [*([Path(chosen)] if chosen else []), PACKAGE / "__pycache__", user / INSTALLED]
    for path in candidates:
        try:
            (path / "kernels").mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path / "kernels").close()
        except OSError:
            continue
        return path / "kernels"
    path, owner = Path(tempfile.mkdtemp(prefix="kernels-")), os.getpid()
    os.environ["NUMBA_CACHE_DIR"] = str(path)  # shared with child processes, and removed by this one alone

    @atexit.register
    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(path, ignore_errors=True)

    _warn(
        f"compiled kernels cannot be cached: none of {', '.join(map(str, candidates))} is writable, so each command "
        "compiles them again. Set NUMBA_CACHE_DIR to a writable folder"
    )
    (path / "kernels").mkdir()
    return path / "kernels"


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def stamp(path: Path) -> str:
    """Return a digest of what compiled code depends on: versions, settings, and the sources of a file and its imports.

    Numba's own cache checks one file only and misses edits of a callee or a constant elsewhere.
    """
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    return _digest(found)


def _digest(files: set[Path]) -> str:
    # Compiled kernels refer to the modules of this package by the name that it was imported by.
    settings = NAME, config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT
    digest = hashlib.sha256(repr((numba.__version__, sys.implementation.cache_tag, settings)).encode())
    for file in sorted(files):
        digest.update(str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file).encode())
        digest.update(_content(file))
    return digest.hexdigest()[:32]


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imported(path: Path) -> list[Path]:
    """Return the files of this repository that a source file imports."""
    stems = []
    for package, members, module in _IMPORT.findall(_content(path).decode()):
        name = module or package
        absolute = name.lstrip(".")
        first, _, rest = absolute.partition(".")
        if absolute != name:
            stem = path.parents[len(name) - len(absolute) - 1] / absolute.replace(".", "/")
        elif first in (CHECKOUT, INSTALLED):
            stem = ROOT / PACKAGE.name / rest.replace(".", "/")
        elif PACKAGE.name == CHECKOUT:  # otherwise everything that is installed would count
            stem = ROOT / absolute.replace(".", "/")
        else:
            continue
        stems += [stem, *(stem / member for member in re.findall(r"\w+", members))]
    candidates = [file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")]
    return [file for file in candidates if file.is_file()]


def _load_linker() -> Any:
    """Return the module that compiles kernels fast, or None where only `numba.njit` works."""
    if config.DISABLE_JIT:
        config.DISABLE_JIT = 0
        _warn("NUMBA_DISABLE_JIT is ignored, because kernels rely on the types of compiled code")
    try:
        if not TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) <= TESTED[1]:
            raise ImportError("not one of the tested versions, {}.{} to {}.{}".format(*TESTED[0], *TESTED[1]))
        from . import kernel_linker

        checked = folder() / f"checked-{stamp(Path(kernel_linker.__file__))}"
        if not checked.exists():
            kernel_linker.check()
            checked.touch()
        return kernel_linker
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        _warn(f"kernels compile slowly with Numba {numba.__version__} ({type(error).__name__}: {reason})")
        # Numba's cache checks the file of a kernel alone, so that another source gets another cache.
        config.CACHE_DIR = str(folder() / f"plain-{_digest(set(PACKAGE.rglob('*.py')))}")
        return None


_linker = _load_linker()
