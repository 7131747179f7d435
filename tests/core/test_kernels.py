"""Compiled kernels: linking, caching and recompilation."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from src.core import kernel_cache
from src.core.kernel_references import by_reference
from src.core.kernels import Kernel, jit
from tests.lab import ROOT

SOURCE = """
from src.core.kernels import jit
from src.numbers import FACTOR

@jit(nogil=True)
def scaled(x):
    return x * FACTOR

@jit(nogil=True)
def total(values):
    result = 0.0
    for value in values:
        result += scaled(value)
    return result
"""

# The second module is imported by another thread while Numba is partly imported for the first one.
TWO_IMPORTS = """
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module

first, second = sys.argv[1:]
pool, others = ThreadPoolExecutor(1), []


class Amid:
    def find_spec(self, name, *_):
        if name == "numba.core.typing" and not others:
            others.append(pool.submit(import_module, second))
            wait(others, 2)


sys.meta_path.insert(0, Amid())
import_module(first)
others[0].result()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with its own kernels and cache."""
    for name in ("_content", "_imported"):
        getattr(kernel_cache, name).cache_clear()
    monkeypatch.setattr(kernel_cache, "ROOT", tmp_path)
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path / "cache")
    write(tmp_path, "numbers", "FACTOR = 2.0\n")
    write(tmp_path, "sums", SOURCE)
    return tmp_path


def write(project: Path, name: str, text: str) -> None:
    path = project / "src" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    kernel_cache._content.cache_clear()
    kernel_cache._imported.cache_clear()


def load(project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module as a new process would import it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be taken for that of a source changed at once
    for name in ("numbers", "sums"):
        spec = importlib.util.spec_from_file_location(f"src.{name}", project / "src" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, f"src.{name}", module)
        spec.loader.exec_module(module)
    return module


def files(project: Path, kind: str) -> list[Path]:
    return sorted(project.glob(f"cache/kernels/*/*.{kind}"))


def compiled(kernel: Kernel) -> int:
    """Return how often it was compiled in this process."""
    return sum(kernel._cache_misses.values())


def test_only_what_python_calls_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch):
    sums = load(project, monkeypatch)
    assert sums.total(np.ones(3)) == 6.0
    assert [path.name.split("-")[0] for path in files(project, "nbc")] == ["sums.total"]
    again = load(project, monkeypatch)
    assert again.total(np.ones(3)) == 6.0
    assert (compiled(sums.total), compiled(again.total)) == (1, 0)


def test_a_kernel_is_called_from_python_and_from_kernels(project: Path, monkeypatch: pytest.MonkeyPatch):
    sums = load(project, monkeypatch)
    assert (sums.scaled(1.5), sums.total(np.ones(3)), sums.scaled(2.5)) == (3.0, 6.0, 5.0)


def test_a_changed_constant_of_another_file_compiles_anew(project: Path, monkeypatch: pytest.MonkeyPatch):
    assert load(project, monkeypatch).total(np.ones(3)) == 6.0
    write(project, "numbers", "FACTOR = 3.0\n")
    assert load(project, monkeypatch).total(np.ones(3)) == 9.0


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["truncated", "emptied", "changed"])
def test_a_damaged_file_is_compiled_anew(project: Path, monkeypatch: pytest.MonkeyPatch, kind: str, damage: str):
    assert load(project, monkeypatch).total(np.ones(3)) == 6.0
    (path,) = files(project, kind)
    whole = path.read_bytes()
    path.write_bytes({"truncated": whole[: len(whole) // 2], "emptied": b"", "changed": whole[:-1] + b"?"}[damage])
    sums = load(project, monkeypatch)
    assert (sums.total(np.ones(3)), compiled(sums.total)) == (6.0, 1)
    assert path.stat().st_size > len(whole) // 2
    assert compiled(load(project, monkeypatch).total) == 0


def test_a_file_that_names_a_class_of_before_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    former = type("Former", (), {"__module__": __name__})
    monkeypatch.setitem(globals(), "Former", former)
    files = kernel_cache.KernelFiles(tmp_path, "kernel", "source")
    files.save(former, 1)
    assert files.load(former) == 1
    monkeypatch.delitem(globals(), "Former")
    assert files.load("another") is None


@pytest.mark.parametrize("deeper", ["src.deeper", ".deeper"])
def test_an_import_is_followed_through_other_files(project: Path, deeper: str):
    write(project, "numbers", f"from {deeper} import (\n    FACTOR,\n)\n")
    write(project, "deeper", "FACTOR = 2.0\n")
    before = kernel_cache.stamp(project / "src" / "sums.py")
    write(project, "deeper", "FACTOR = 3.0\n")
    assert kernel_cache.stamp(project / "src" / "sums.py") != before
    write(project, "deeper", "FACTOR = 2.0\n")
    write(project, "unrelated", "")
    assert kernel_cache.stamp(project / "src" / "sums.py") == before


def test_narrow_integers_and_constants_share_one_version():
    @jit()
    def plus_one(x):
        return x + 1

    @jit()
    def use(wide, narrow):
        return plus_one(wide) + plus_one(narrow[0]) + plus_one(5)

    assert use(1, np.array([2], np.int32)) == 11
    assert len(plus_one.overloads) == 1


@by_reference
class Inner(NamedTuple):
    values: np.ndarray
    table: np.ndarray


@by_reference
class Outer(NamedTuple):
    factor: float
    inner: Inner
    marks: np.ndarray
    negate: bool


@pytest.mark.parametrize("counts_references", [False, True])
def test_a_tuple_by_reference_is_read_and_written_through_kernels(counts_references: bool):
    @jit(_nrt=counts_references)
    def write(inner, i, value):
        inner.values[i] = value
        return inner.table[i, 1]

    @jit(_nrt=counts_references)
    def use(outer, i):
        inner = outer.inner
        total = write(inner, i, 2.5) + write(outer.inner, i + 1, outer.factor)
        outer.marks[i] = True
        return -total if outer.negate else total

    outer = Outer(0.5, Inner(np.zeros(4), np.arange(8, dtype=np.int32).reshape(4, 2)), np.zeros(4, np.bool_), True)
    counts = [sys.getrefcount(array) for array in (*outer.inner, outer.marks)]
    assert use(outer, 1) == -(3 + 5)
    assert use(outer._replace(negate=False, factor=1.5), 2) == 5 + 7
    assert outer.inner.values.tolist() == [0, 2.5, 2.5, 1.5]
    assert outer.marks.tolist() == [False, True, True, False]
    assert [sys.getrefcount(array) for array in (*outer.inner, outer.marks)] == counts
    assert len(write.overloads) == len(use.overloads) == 1


def test_a_call_is_resolved_again_for_other_options():
    @jit()
    def strict(x, y):
        return x // y

    @jit(error_model="numpy")
    def lenient(x, y):
        return x // y

    assert strict(7, 2) == lenient(7, 2) == 3
    assert lenient(7, 0) == 0
    with pytest.raises(ZeroDivisionError):
        strict(7, 0)


def test_where_nothing_can_be_written_kernels_work_with_one_warning(tmp_path: Path):
    shutil.copytree(kernel_cache.ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "__pycache__").write_text("a file where the folder would be")
    code = "from src.envs.splitmix import seed_word, mix; print(int(mix(seed_word(1))))"
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPATH")}
    environment |= {"HOME": "/proc/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().isdigit()
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("warning: compiled kernels cannot be cached")
    assert "NUMBA_CACHE_DIR" in line


@pytest.mark.parametrize("order", [1, -1])
def test_kernels_are_imported_by_two_threads_at_once(order: int):
    command = [sys.executable, "-c", TWO_IMPORTS, *["src.core.kernels", "src.core.kernel_references"][::order]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
