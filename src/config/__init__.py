"""From Hydra's configuration to objects: the command line, composition, checks, construction and saved runs."""

from pathlib import Path

_SRC = Path(__file__).resolve().parents[1]
CONF = _SRC / "conf" if (_SRC / "conf").is_dir() else _SRC.parent / "conf"  # installed, or in a checkout
