"""Every shipped checkpoint has a model card that states what the files of its run contain."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from experiments.model_cards import HERE, card, origin, shipped
from src.core.runs.zoo import CARD
from tests.lab import ROOT

COMMAND = "python -m experiments.model_cards"


def test_every_shipped_checkpoint_has_a_card():
    listed = subprocess.run(["git", "ls-files", "experiments"], cwd=ROOT, capture_output=True, text=True).stdout
    weights = {str(Path(name).parent.parent) for name in listed.splitlines() if name.endswith(".safetensors")}
    assert weights <= {str(run.relative_to(ROOT)) for run in shipped()}
    assert [run for run in shipped() if not (run / CARD).exists()] == [], f"write them: {COMMAND}"


@pytest.mark.parametrize("run", shipped(), ids=lambda run: str(run.relative_to(HERE)))
def test_a_card_is_current(run: Path):
    text = (run / CARD).read_text()
    assert text == card(run), f"write it again: {COMMAND}"
    for heading in ("Data", "Training", "Figures", "Limits"):
        assert f"\n## {heading}\n" in text
    assert "| license | MIT |" in text
    assert all((run / target).exists() for target in re.findall(r"\]\(([^)]+)\)", text))


def test_figures_are_those_of_the_evaluation():
    run = HERE / "minesweeper_8x8"
    score = json.loads((run / "eval.json").read_text())["scores"]["trained"]
    low, high = (100 * end for end in score["win_rate_ci95"])
    row = f"| {score['episodes']:,} | {score['wins']}/0/{score['losses']} | {100 * score['win_rate']:.1f}% "
    assert f"| this model {row}| {low:.1f}-{high:.1f}% |" in card(run)


def test_a_card_does_not_state_what_is_not_recorded():
    text = card(HERE / "minesweeper_8x8_imitation")
    assert "No final evaluation" in text
    assert "not recorded" in text


def test_provenance_is_stated_where_it_is_recorded():
    versions = {"python": "3.12.1", "torch": "2.13.0"}
    hardware = {"platform": "Linux", "cores": 16, "gpus": ["NVIDIA H200"], "ranks": 1}
    text = origin({"commit": "abc123", "dirty": True, "versions": versions, "hardware": hardware})
    assert text.startswith("Machine: 16 cores, NVIDIA H200. Versions: python 3.12.1, torch 2.13.0. Commit: abc123 with")


def test_other_weights_need_another_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("experiments.model_cards.HERE", tmp_path)
    (tmp_path / "README.md").touch()
    run = shutil.copytree(HERE / "minesweeper_8x8", tmp_path / "minesweeper_8x8")
    assert card(run) == (run / CARD).read_text()
    shutil.copytree(HERE / "minesweeper_8x8_imitation/checkpoints", run / "checkpoints", dirs_exist_ok=True)
    assert card(run) != (run / CARD).read_text()


def test_the_card_of_the_learned_evaluation_is_that_of_its_file():
    folder = ROOT / "src/envs/quoridor"
    text, content = (folder / CARD).read_text(), (folder / "network.safetensors").read_bytes()
    assert f"| SHA-256 | `{hashlib.sha256(content).hexdigest()}` |" in text
    assert f"| file | `network.safetensors`, {len(content):,} bytes |" in text
    assert f"{sum(weight.size for weight in load_file(folder / 'network.safetensors').values()):,} weights" in text
    for heading in ("Data", "Training", "Figures", "Limits"):
        assert f"\n## {heading}\n" in text
    assert all((folder / target.partition("#")[0]).exists() for target in re.findall(r"\]\(([^)]+)\)", text))
