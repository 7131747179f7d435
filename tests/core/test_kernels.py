"""Compiled kernels: linking, caching and recompilation."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from packaging.requirements import Requirement

from src.core import kernels
from src.core.kernels import by_reference, jit
from src.envs.splitmix import mix, seed_word
from tests.lab import ROOT, python, setup_cfg

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
    monkeypatch.setattr(kernels, "ROOT", tmp_path)
    monkeypatch.setattr(kernels, "folder", lambda: tmp_path / "cache")
    write(tmp_path, "numbers", "FACTOR = 2.0\n")
    write(tmp_path, "sums", SOURCE)
    return tmp_path


def write(project: Path, name: str, text: str) -> None:
    path = project / "src" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    kernels._content.cache_clear()
    kernels._imported.cache_clear()


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


def files(project: Path) -> list[Path]:
    return sorted(project.glob("cache/sums-*/*"))


def compiled(kernel: Any) -> int:
    """Return how often it was compiled in this process."""
    return sum(kernel._cache_misses.values())


def test_only_what_python_calls_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch):
    sums = load(project, monkeypatch)
    assert sums.total(np.ones(3)) == 6.0
    assert [path.name.split("-")[0] for path in files(project)] == ["total"]
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


@pytest.mark.parametrize("damage", ["truncated", "emptied", "changed"])
def test_a_damaged_file_is_compiled_anew(project: Path, monkeypatch: pytest.MonkeyPatch, damage: str):
    assert load(project, monkeypatch).total(np.ones(3)) == 6.0
    (path,) = files(project)
    whole = path.read_bytes()
    path.write_bytes({"truncated": whole[: len(whole) // 2], "emptied": b"", "changed": whole[:-1] + b"?"}[damage])
    sums = load(project, monkeypatch)
    assert (sums.total(np.ones(3)), compiled(sums.total)) == (6.0, 1)
    assert path.stat().st_size > len(whole) // 2
    assert compiled(load(project, monkeypatch).total) == 0


def test_processes_that_save_at_once_lose_nothing(project: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = load(project, monkeypatch), load(project, monkeypatch)
    arguments = np.ones(3), np.ones(3, np.float32)
    assert [first.total(arguments[0]), second.total(arguments[1])] == [6.0, 6.0]
    third = load(project, monkeypatch)
    assert [third.total(each) for each in arguments] == [6.0, 6.0]
    assert compiled(third.total) == 0


def test_a_writer_that_cannot_finish_leaves_no_file(project: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(self: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    assert load(project, monkeypatch).total(np.ones(3)) == 6.0
    assert files(project) == []


def test_a_kernel_with_the_address_of_an_array_is_not_kept(project: Path, monkeypatch: pytest.MonkeyPatch):
    large = "import numpy as np\nLARGE = np.full(300_000, 2.0)\n"
    write(project, "sums", large + SOURCE.replace("x * FACTOR", "x * LARGE[1]"))
    assert load(project, monkeypatch).total(np.ones(3)) == 6.0
    assert files(project) == []


@pytest.mark.parametrize("deeper", ["src.deeper", ".deeper"])
def test_an_import_is_followed_through_other_files(project: Path, deeper: str):
    write(project, "numbers", f"from {deeper} import (\n    FACTOR,\n)\n")
    write(project, "deeper", "FACTOR = 2.0\n")
    before = kernels.stamp(project / "src" / "sums.py")
    write(project, "deeper", "FACTOR = 3.0\n")
    assert kernels.stamp(project / "src" / "sums.py") != before
    write(project, "deeper", "FACTOR = 2.0\n")
    write(project, "unrelated", "")
    assert kernels.stamp(project / "src" / "sums.py") == before


def test_another_linker_compiles_anew():
    assert ROOT / "src" / "core" / "kernel_linker.py" in kernels._imported(ROOT / "src" / "core" / "kernels.py")


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


SHORT = "from src.envs.splitmix import seed_word, mix; print(mix(seed_word(1)))"
OTHER_VERSION = "import numba; numba.__version__ = '0.99.1'; "
FAILING = "from src.core import kernel_linker; kernel_linker._Part.finalize = None; "


def run(folder: Path, code: str = SHORT, **changes: str | None) -> tuple[str, list[str]]:
    """Run Python in a folder with other environment variables; return the output and the lines of warnings."""
    environment = {name: value for name, value in (os.environ | changes).items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


def test_where_nothing_can_be_written_kernels_work_with_one_warning(tmp_path: Path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "__pycache__").write_text("a file where the folder would be")
    unset = dict.fromkeys(("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPATH"))
    for code in (SHORT, OTHER_VERSION + SHORT):
        output, warnings = run(tmp_path, code, HOME="/proc/nowhere", **unset)
        assert output.strip().isdigit()
        (line,) = (line for line in warnings if "cannot be cached" in line)
        assert line.startswith("warning: ")
        assert "NUMBA_CACHE_DIR" in line


@pytest.mark.parametrize("order", [1, -1])
def test_kernels_are_imported_by_two_threads_at_once(order: int):
    python("-c", TWO_IMPORTS, *["src.envs.quoridor.rules", "src.envs.minesweeper.rules"][::order])


@pytest.mark.parametrize(("code", "named"), [(OTHER_VERSION, "0.99.1"), (FAILING, "NoneType")])
def test_without_the_linker_numba_compiles_with_one_warning(tmp_path: Path, code: str, named: str):
    for _ in range(2):  # compiled, and loaded
        output, (warning,) = run(ROOT, code + SHORT, NUMBA_CACHE_DIR=str(tmp_path))
        assert output == f"{mix(seed_word(1))}\n"
        assert named in warning
    assert list(tmp_path.glob("kernels/plain-*/*/splitmix.mix-*.nbc"))
    assert not list(tmp_path.glob("kernels/splitmix-*"))


@pytest.mark.parametrize(("name", "value", "count"), [("NUMBA_OPT", "0", 0), ("NUMBA_DISABLE_JIT", "1", 1)])
def test_settings_of_numba_work(tmp_path: Path, name: str, value: str, count: int):
    output, warnings = run(ROOT, **{name: value, "NUMBA_CACHE_DIR": str(tmp_path)})
    assert output == f"{mix(seed_word(1))}\n"
    assert list(tmp_path.glob("kernels/splitmix-*/mix-*"))
    assert [name in warning for warning in warnings] == [True] * count


@pytest.mark.parametrize(("name", "value"), [("config.OPT", 0), ("NAME", "boardlab")])
def test_code_for_another_setting_of_numba_or_name_of_the_package_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
):
    """An editable installation is imported as `boardlab`, from the files that are `src` in the checkout."""
    before = kernels.stamp(ROOT / "src" / "envs" / "splitmix.py")
    monkeypatch.setattr(f"src.core.kernels.{name}", value)
    assert kernels.stamp(ROOT / "src" / "envs" / "splitmix.py") != before


def test_versions_that_are_installed_are_those_that_were_tested():
    (numba,) = (line for line in setup_cfg()["options"]["install_requires"].split("\n") if line.startswith("numba"))
    (oldest, newest), allowed = kernels.TESTED, Requirement(numba).specifier
    versions = {(0, minor) for minor in range(50, 100) if allowed.contains(f"0.{minor}.1")}
    assert (min(versions), max(versions)) == (oldest, newest)


@pytest.mark.slow
def test_a_game_is_the_same_however_it_is_compiled(tmp_path: Path):
    """By the linker with optimization, and by Numba alone without, which compiles in the least time.

    Quoridor has all kinds of kernels; the wargame's take six times as long to compile.
    """
    play = "from tests.core.play_games import main; main()"
    expected, _ = run(ROOT, play)
    output, warnings = run(ROOT, OTHER_VERSION + play, NUMBA_OPT="0", NUMBA_CACHE_DIR=str(tmp_path))
    assert output == expected
    assert len([line for line in warnings if line.startswith("warning: ")]) == 1
