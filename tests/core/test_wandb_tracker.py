"""Where a tracked run says that it is to be seen."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import wandb

from src.core.wandb_tracker import ADDRESS, WandbTracker

CONFIG = {
    "composition": {"env": "e", "algo": "a", "reward": "r", "curriculum": "c", "sweep": None, "experiment": None},
    "seed": 0,
}
URL = "https://wandb.ai/somebody/lab/runs/abc123"


def start(mode: Any, directory: Path) -> None:
    WandbTracker(mode, "lab", entity=None, init_timeout=1).start(directory, CONFIG)


@pytest.mark.parametrize("reachable", [True, False])
def test_an_online_run_notes_its_address_and_no_other_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reachable: bool
):
    modes = []

    def init(mode: str, **_: Any) -> SimpleNamespace:
        modes.append(mode)
        if mode == "online" and not reachable:
            raise ConnectionError("there is no network")
        return SimpleNamespace(url=URL, define_metric=lambda *_, **__: None)

    monkeypatch.setattr(wandb, "init", init)
    start("offline", tmp_path / "offline")
    start("online", tmp_path / "online")
    assert modes == ["offline", "online"] + ["offline"] * (not reachable)
    notes = {path.parent.name: path.read_text() for path in tmp_path.glob(f"*/{ADDRESS}")}
    assert notes == ({"online": f"{URL}\n"} if reachable else {})
