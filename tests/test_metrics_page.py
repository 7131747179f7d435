"""docs/metrics.md, compared row by row with what a short run of each algorithm leaves in its offline files of wandb."""

import os
import re
from pathlib import Path
from unittest.mock import patch

import pytest

from src.train import train
from tests.golden.metrics import described
from tests.lab import ROOT
from tests.test_compositions import FEW_ENVS, fits, options, small
from tests.wandb_file import history, offline_file, summary

PAGE = ROOT / "docs/metrics.md"
EVERYONE = ("every run", "every run, at its end")
ROW = re.compile(r"^\| `(.+?)` \| .* \| (.*?) \|$", re.MULTILINE)
ENTRY = re.compile(r"(\w+)(?: \((.*?)\))?(?:, |$)")  # an algorithm, and the games in which it logs the metric


def rows_of(algo: str, env: str) -> set[str]:
    """Return the metrics that the page promises of an algorithm in a game."""
    found = set()
    for name, words in ROW.findall(PAGE.read_text()):
        by_game = {one: games.split(", ") if games else [env] for one, games in ENTRY.findall(words)}
        learns = words == "all that learn" and algo != "alphabeta"
        if words in EVERYONE or learns or env in by_game.get(algo, ()):
            found.add(name)
    return found


def of_another_game(name: str) -> bool:
    """Whether a row of the page is about the games of a section of its own."""
    section = PAGE.read_text().split(f"| `{name}` |")[0].rpartition("## ")[2].splitlines()[0]
    return section in ("The wargame", "Minesweeper")


@pytest.mark.slow
@pytest.mark.parametrize("algo", options("algo"))
def test_the_page_has_what_a_run_logs_and_nothing_else(algo: str, tmp_path: Path):
    env = next(env for env in ("tictactoe", *FEW_ENVS) if fits(env, algo))
    cfg = small(env, algo)
    cfg.evaluation.episodes, cfg.logger.videos = 4, 3
    assert list(cfg.logger.trackers) == ["wandb"]
    with patch.dict(os.environ):  # wandb adds the address of its service, which the commands of other tests would use
        train(cfg, tmp_path)
    path = offline_file(tmp_path)
    keys = {name for row in history(path) for name in row} | {*summary(path)}
    media = {".".join(name.split(".")[:-1]) for name in keys if name.endswith("._type")}
    numbers = {name for name in keys if not name.startswith("_") and name.split(".")[0] not in media}
    logged = set(described(sorted(numbers | media)))
    assert logged == {name for name in rows_of(algo, env) if not of_another_game(name)}
