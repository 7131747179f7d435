"""Every notebook runs from its first cell to its last, and is kept with its outputs."""

import ast
import importlib
from pathlib import Path
from typing import Any

import nbformat
import pytest

from experiments.notebooks import executed
from tests.lab import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_imports_is_there(path: Path):
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    lines = [line for source in cells for line in source.splitlines() if not line.startswith("%")]
    imports = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if node.module and node.module.split(".")[0] == "src"]
    assert own
    for node in own:
        module = importlib.import_module(node.module or "")
        assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]


def code_cells(book: Any) -> list[Any]:
    return [cell for cell in book.cells if cell.cell_type == "code"]


def kinds(cell: Any) -> set[str]:
    """Return the kinds of outputs of a cell: their media types, or the names of streams."""
    return {kind for output in cell.outputs for kind in (output.get("data") or [output.get("name", "error")])}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_the_outputs_of_one_execution(path: Path):
    """`make notebooks` writes them: from the first cell to the last, with pictures, without errors and warnings."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    cells = code_cells(book)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run make notebooks"
    assert set.union(*map(kinds, cells)) == {"stdout", "image/png", "text/plain"}
    assert str(ROOT) not in path.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "")  # restored afterward
    kept, now = (code_cells(book) for book in (nbformat.read(path, as_version=4), executed(path)))
    assert list(map(kinds, now)) == list(map(kinds, kept)), "run make notebooks"
