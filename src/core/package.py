"""The import name of this package: `src` in a checkout, `boardlab` when installed.

Configurations name classes as in a checkout (`src.envs...`), so that runs can be moved between both.
"""

import os
import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

CHECKOUT, INSTALLED = "src", "boardlab"
CHECKOUT_INSTALL = "pip install -c constraints.txt -e '.[{}]'"
ROOT = __name__.partition(".")[0]
CONFIG_DIRS = "BOARDLAB_CONFIG_DIRS"  # environment variable, which worker processes inherit


def locate(name: str) -> str:
    """Return the importable name of a class of this package under either of its names; others are unchanged."""
    first, dot, rest = name.partition(".")
    return f"{ROOT}{dot}{rest}" if first in (CHECKOUT, INSTALLED) else name


def canonical(name: str) -> str:
    """Return the name of a class of this package as configurations write it: `boardlab.VersusEnv` by its module."""
    first, dot, rest = name.partition(".")
    if first not in (CHECKOUT, INSTALLED):
        return name
    modules = import_module(ROOT).EXPORTS.items()
    exported = next((f"{module}.{rest}" for module, names in modules if rest in names), rest)
    return f"{CHECKOUT}{dot}{exported}"


def rename_targets(node: Any, rename: Callable[[str], str]) -> Any:
    """Return plain values with another name for each `_target_`."""
    if isinstance(node, dict):
        return {
            key: rename(value) if key == "_target_" and isinstance(value, str) else rename_targets(value, rename)
            for key, value in node.items()
        }
    return [rename_targets(value, rename) for value in node] if isinstance(node, list) else node


def config_dirs() -> list[Path]:
    """Return the config folders of extensions, from --config-dir or `add_config_dir`."""
    return [Path(name) for name in os.environ.get(CONFIG_DIRS, "").split(os.pathsep) if name]


def command(module: str, *arguments: str) -> str:
    """Return the command that runs a module of this package with the present extensions, for messages."""
    names = (os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path) for path in config_dirs())
    return shlex.join(["python", "-m", f"{ROOT}.{module}", *(f"--config-dir={name}" for name in names), *arguments])


def install_command(*extras: str) -> str:
    """Return the command that installs extras of this package, for messages."""
    names = ",".join(extras)
    return f"pip install '{INSTALLED}[{names}]'" if ROOT == INSTALLED else CHECKOUT_INSTALL.format(names)


class _SameModules(MetaPathFinder, Loader):
    """Import `boardlab.x` as the module `src.x`, so that a process has one copy of each class."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        ours = fullname.partition(".")[0] == INSTALLED and find_spec(locate(fullname)) is not None
        return ModuleSpec(fullname, self) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(locate(spec.name))
        if spec.name == INSTALLED:
            import_module(f"{ROOT}.registration").register_envs()
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__spec__  # set by importlib; the module keeps its own
        if alias is not None and alias.loader is self:
            module.__spec__ = alias.loader_state


def answer_to_both_names() -> None:
    """In a checkout, let extensions that import `boardlab` meet the classes of `src`."""
    if ROOT == CHECKOUT and not any(isinstance(finder, _SameModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SameModules())
