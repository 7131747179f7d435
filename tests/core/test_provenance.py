"""Uncommitted changes are saved with a run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from src.core.runs import provenance
from src.core.runs.provenance import DIFF
from tests.lab import ROOT

CONFIG = {"seed": 3, "checkpoint_seconds": 1e9, "composition": {}}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a git repository with a committed copy of src/core."""
    shutil.copytree(ROOT / "src/core", tmp_path / "src/core", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src/__init__.py").touch()
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Begin"]):
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)
    return tmp_path


def run_in(repository: Path, code: str) -> None:
    subprocess.run([sys.executable, "-B", "-c", code], cwd=repository, check=True)


def test_what_is_not_committed_is_kept_with_the_run(repository: Path, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("run")
    begin = f"""
from pathlib import Path
from src.core.runs.run import Run
with Run(Path({str(folder)!r}), {CONFIG!r}, None):
    pass
"""
    run_in(repository, begin)
    assert not (folder / DIFF).exists()
    assert '"dirty": false' in (folder / "provenance.json").read_text()

    changed = repository / "src/core/errors.py"
    before = changed.read_text()
    changed.write_text(before.replace("class UserError", "VALUE = 1\n\n\nclass UserError", 1) + "\n\n")
    (repository / "new.py").write_text("pass\n")
    run_in(repository, begin)
    assert '"dirty": true' in (folder / "provenance.json").read_text()
    assert (folder / DIFF).read_text().startswith("# not in this patch, as git does not track it: new.py\n")
    after = changed.read_text()
    subprocess.run(["git", "-C", str(repository), "checkout", "--quiet", "."], check=True)
    assert changed.read_text() == before
    subprocess.run(["git", "-C", str(repository), "apply", str(folder / DIFF)], check=True)
    assert changed.read_text() == after

    subprocess.run(["git", "-C", str(repository), "checkout", "--quiet", "."], check=True)
    (repository / "new.py").unlink()
    run_in(repository, begin)
    assert not (folder / DIFF).exists(), "a run resumed from a clean tree has nothing to add to its commit"


def test_a_large_patch_is_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(provenance, "MAX_DIFF_CHARS", 100)
    monkeypatch.setattr(provenance, "_git", lambda *arguments: " M file" if arguments[0] == "status" else "x" * 500)
    patch = provenance.uncommitted()
    assert patch is not None
    assert len(patch) < 200
    assert "cut here: it has 501 characters" in patch
