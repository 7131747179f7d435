"""Who may import whom, read from the source itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import ROOT

SRC = ROOT / "src"
MODULES = sorted(SRC.rglob("*.py"))
ENTRY_POINTS = {"train", "evaluate", "engine", "play", "compose"}
MAY_IMPORT = {
    "core": {"core"},
    "envs": {"core", "envs"},
    "nets": {"core", "nets"},
    "algos": {"core", "nets", "algos"},
    "web": {"core", "envs", "web"},
    **{name: {"core", "web", "compose"} for name in ENTRY_POINTS},
}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively, which hides where from"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", [path for path in MODULES if layer(path) != "__init__"], ids=str)
def test_imports_point_downwards(path: Path):
    own_game = path.relative_to(SRC).parts[1] if layer(path) == "envs" else None
    for name in imports(path):
        package, *rest = name.split(".")
        if package == "src" and rest:
            assert rest[0] in MAY_IMPORT[layer(path)], f"{layer(path)} must not import {name}"
            games = {game.name for game in (SRC / "envs").iterdir() if game.is_dir() and game.name != "__pycache__"}
            if rest[0] == "envs" and len(rest) > 1 and rest[1] in games and layer(path) == "envs":
                assert rest[1] == own_game, f"{path} reaches into another game: {name}"
        if package in ("hydra", "omegaconf"):
            assert layer(path) in ENTRY_POINTS, f"only entry points know Hydra, not {path}"
        if package == "torch" and layer(path) == "envs":
            assert path.name == "torch_env.py", f"{path} must do without torch"
        if package == "numba":
            assert path.name != "torch_env.py", "a GPU machine need not have numba"


def test_a_breach_would_be_found(tmp_path: Path):
    module = tmp_path / "bad.py"
    module.write_text("import os\nfrom src.algos import minimax\nfrom src.envs.tictactoe.rules import LINES\n")
    found = set(imports(module))
    assert {"os", "src.algos", "src.algos.minimax", "src.envs.tictactoe.rules"} <= found


def test_training_is_wiring_only():
    assert len((SRC / "train.py").read_text().splitlines()) < 100
