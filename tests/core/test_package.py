"""Names of the package, and the commands that messages show."""

import re

import pytest

from src.core import package
from tests.lab import ROOT, setup_cfg


def test_the_command_to_install_extras_fits_the_installation(monkeypatch: pytest.MonkeyPatch):
    assert package.install_command("web") == "pip install -c constraints.txt -e '.[web]'"
    monkeypatch.setattr(package, "ROOT", package.INSTALLED)
    assert package.install_command("sweep", "ray") == "pip install 'boardlab[sweep,ray]'"


def test_messages_name_extras_that_exist_by_that_command():
    texts = {path: path.read_text() for path in (ROOT / "src").rglob("*.py")}
    assert [path for path, text in texts.items() if "pip install" in text] == [ROOT / "src/core/package.py"]
    calls = [call for text in texts.values() for call in re.findall(r"install_command\(('.*?')\)", text)]
    assert len(calls) >= 5
    assert set(re.findall(r"'(\w+)'", " ".join(calls))) <= set(setup_cfg()["options.extras_require"])
