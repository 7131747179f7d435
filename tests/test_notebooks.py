"""Every notebook runs from its first cell to its last."""

import ast
import importlib
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.lab import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks_and_three_at_most():
    assert 1 <= len(NOTEBOOKS) <= 3


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


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    NotebookClient(book, kernel_name="python3", timeout=None, resources={"metadata": {"path": path.parent}}).execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
