"""Folders of the package."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
CONF = next(folder for folder in (_HERE / "conf", _HERE.parent / "conf") if folder.is_dir())  # installed, checkout
