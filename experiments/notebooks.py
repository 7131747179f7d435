"""Execute the notebooks and write their outputs into them: python -m experiments.notebooks [NOTEBOOK ...]"""

import copy
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def executed(path: Path) -> Any:
    """Return a notebook with the outputs of all of its cells; raise an error if a cell does."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # pictures become outputs
    book = nbformat.read(path, as_version=4)
    metadata = copy.deepcopy(book.metadata)
    resources = {"metadata": {"path": path.parent}}
    # Without the times and the version of Python, which would change with every execution.
    NotebookClient(book, kernel_name="python3", timeout=None, record_timing=False, resources=resources).execute()
    book.metadata = metadata
    return book


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(path.name, flush=True)


if __name__ == "__main__":
    main()
