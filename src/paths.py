"""Folders of the package."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
CONF = _HERE / "conf" if (_HERE / "conf").is_dir() else _HERE.parent / "conf"  # installed, or in a checkout
