"""Allowed imports between packages, read from the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import ROOT

SRC = ROOT / "src"
MODULES = sorted(SRC.rglob("*.py"))
COMMANDS = (
    *("train", "sweep", "compare", "evaluate", "export", "generate", "tournament", "sprt", "engine"),
    *("play", "play_local", "record", "compile_kernels", "zoo"),
)
MAY_IMPORT_HYDRA = (*COMMANDS, "config", "api", "hydra_plugins")
TORCH_ENV = {"torch_env.py", "torch_rules.py", "net.py"}  # the places of a game for torch, and none for numba
MAY_IMPORT = {
    "core": {"core"},
    "envs": {"core", "envs"},
    "nets": {"core", "nets"},
    "algos": {"core", "nets", "algos"},
    "web": {"core", "envs", "web"},
    "config": {"core", "config"},
    "registration": {"core", "config"},
    "api": {"core", "config", "envs", "registration", "train"},
    **{name: {"core", "config", "web"} for name in COMMANDS},
}


def imports(path: Path, module: Path) -> Iterator[str]:
    """Yield the absolute names that the source in `path` imports, as if it were at `module` below src."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            if node.level > 0:  # the package has another name when installed, so it imports itself relatively
                folder = ("src", *module.parts)[: -node.level]
                name = ".".join([*folder, *name.split(".")] if name else folder)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


GAMES = {game.name for game in (SRC / "envs").iterdir() if game.is_dir() and game.name != "__pycache__"}


def breaches(path: Path, module: Path) -> list[str]:
    """Return the forbidden imports of the source in `path`, as if it were at `module` below src."""
    own_layer = module.parts[0].removesuffix(".py")
    own_game = module.parts[1] if own_layer == "envs" else None
    found = []
    for name in imports(path, module):
        package, *rest = name.split(".")
        if package == "src" and rest:
            own_net = own_layer == "envs" and module.name == "net.py" and rest[0] == "nets"
            above = rest[0] not in MAY_IMPORT[own_layer] and not own_net
            other_game = own_layer == "envs" and rest[0] == "envs" and bool(set(rest[1:2]) & (GAMES - {own_game}))
            found += [name] if above or other_game else []
        if package in ("hydra", "omegaconf") and own_layer not in MAY_IMPORT_HYDRA:
            found.append(name)
        if package == "torch" and own_layer == "envs" and module.name not in TORCH_ENV:
            found.append(name)
        if package == "numba" and module.name in TORCH_ENV:
            found.append(name)
    return found


def test_imports_point_downwards():
    modules = [path for path in MODULES if path != SRC / "__init__.py"]
    assert len(modules) > 200
    found = {str(path): breaches(path, path.relative_to(SRC)) for path in modules}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("core/x.py", "from src.envs.tictactoe import rules"),
        ("core/x.py", "import hydra"),
        ("nets/x.py", "from src import algos"),
        ("algos/x.py", "from src.envs.tictactoe.rules import LINES"),
        ("envs/tictactoe/x.py", "import torch"),
        ("envs/minesweeper/x.py", "from src.envs.tictactoe.rules import LINES"),
        ("envs/minesweeper/torch_env.py", "import numba"),
        ("envs/deployment/env.py", "from src.nets.boards import Heads"),
        ("train.py", "from src.algos.minimax import MinimaxAgent"),
        ("config/x.py", "from src.envs.tictactoe.rules import LINES"),
        ("registration.py", "import hydra"),
    ],
)
def test_a_breach_would_be_found(tmp_path: Path, module: str, line: str):
    source = tmp_path / "source.py"
    source.write_text(f"import os\n\n\ndef inside() -> None:\n    {line}\n")
    assert breaches(source, Path(module))


GAME_WORDS = re.compile(
    r"\bmines?\b|mine_|minesweeper|reveal|frontier|\bflagged\b|deploy|wargame|\bhexes\b|quoridor|\bwalls?\b|\bpawns?\b",
    re.IGNORECASE,
)

SHIPPED_WEIGHTS = re.compile(r"\^mine_")  # the name of the auxiliary head in some shipped checkpoints


@pytest.mark.parametrize("layer", ["core", "nets", "algos"])
def test_generic_code_knows_no_game(layer: str):
    found = [
        f"{path.relative_to(SRC)}:{number}: {line.strip()}"
        for path in sorted((SRC / layer).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if GAME_WORDS.search(line) and not SHIPPED_WEIGHTS.search(line)
    ]
    assert found == []
