"""Extensions: folders with config groups of their own, and beside each the modules that its options name."""

import os
import sys
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from ..core.errors import require
from ..core.package import CONFIG_DIRS, config_dirs


class ExtensionSearchPath(SearchPathPlugin):
    """Let every composition find the options of the extensions."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in config_dirs():
            search_path.append("extension", f"file://{folder}")


def add_config_dir(folder: str | Path) -> None:
    """Add a folder of config groups, such as mine/conf; the modules that its options name are imported from mine."""
    path = Path(folder).absolute()
    require(path.is_dir(), f"--config-dir={folder} is not a folder: it must have config groups, such as env/mine.yaml")
    require(os.pathsep not in str(path), f"--config-dir={folder} must not contain {os.pathsep!r}")
    if path not in config_dirs():
        os.environ[CONFIG_DIRS] = os.pathsep.join(map(str, [*config_dirs(), path]))
    _use_config_dirs()


def _use_config_dirs() -> None:
    """Import from beside the folders, after everything that is installed, and search them for options."""
    sys.path += [name for path in config_dirs() if (name := str(path.parent)) not in sys.path]
    Plugins.instance().register(ExtensionSearchPath)


if config_dirs():  # of the process that has started this one
    _use_config_dirs()
