"""The commands shown in the documentation are valid, and generated pages are up to date."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from src.config import CONF, schema
from src.config.agent_specs import quote_agents
from src.config.cli import apply_group_aliases, expand_opponent
from src.config.compose import validate
from tests.lab import ROOT
from tests.test_compositions import composed
from tests.test_sweep import PLUGINS, need

PAGES = [
    ROOT / "README.md",
    CONF / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "src/envs").glob("*/README.md")),
    *sorted((ROOT / "experiments").rglob("README.md")),
]
COMMAND = re.compile(r"^(?:\S+=\S+ )*\S*(?:python|torchrun .*?) -m src\.(\w+)(?![\w.])(.*)$", re.MULTILINE)
FLAGS = {"-m", "--cfg", "job", "hydra"}
SCHEMAS: dict[str, Any] = {
    "train": schema.Train,
    "evaluate": schema.Evaluate,
    "export": schema.Export,
    "generate": schema.Generate,
    "engine": schema.Engine,
    "play": schema.Play,
    "play_local": schema.PlayLocal,
    "record": schema.Record,
    "sprt": schema.Sprt,
    "tournament": schema.Tournament,
}
REWRITES = {
    "train": apply_group_aliases,
    "evaluate": expand_opponent,
    "record": expand_opponent,
    "sprt": quote_agents,
    "tournament": quote_agents,
}


def commands(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each command in the fenced blocks and its words; placeholders such as <run dir> become paths."""
    for block in page.read_text().split("```")[1::2]:
        for name, rest in COMMAND.findall(block.replace("\\\n", " ")):
            words = shlex.split(re.sub(r"<[^>]*>", "some/path", rest), comments=True)
            if "..." not in words:
                yield name, [word for word in words if word not in FLAGS]


SHOWN = [(name, words) for page in PAGES for name, words in commands(page)]
COMPOSED = sorted({(name, tuple(words)) for name, words in SHOWN if name in SCHEMAS})
OF_MAIN_PAGES = [(name, tuple(words)) for page in PAGES[:2] for name, words in commands(page)]


def test_commands_of_the_pages_exist():
    assert {name for name, _ in SHOWN} - {*SCHEMAS, "sweep"} == set()
    assert all(len(words) == 1 for name, words in SHOWN if name == "sweep"), "it takes a directory and nothing else"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(*command, marks=() if command in OF_MAIN_PAGES else pytest.mark.slow, id=shlex.join(words))
        for command in COMPOSED
        for words in [[command[0], *command[1]]]
    ],
)
def test_a_command_of_a_page_composes(name: str, words: tuple[str, ...]):
    for plugin, extra in PLUGINS:
        need(plugin, extra)
    rewritten = REWRITES.get(name, list)(list(words))
    overrides = OverridesParser.create().parse_overrides(rewritten)
    swept = [override for override in overrides if override.is_sweep_override()]
    settled = [str(override.input_line) for override in overrides if override not in swept]
    cfg = composed(*settled, config=name)
    assert swept == [] or name == "train"
    assert [override.input_line for override in swept if OmegaConf.select(cfg, override.key_or_group) is None] == []
    validate(cfg, SCHEMAS[name], unused=("opponent",))


def test_every_group_is_on_the_page():
    page = (CONF / "README.md").read_text()
    groups = {path.name for path in CONF.iterdir() if path.is_dir() and path.name not in ("hydra", "__pycache__")}
    parts = {"net", "strategy", "teacher"}  # of algo
    assert [group for group in groups - parts if f"| `{group}` |" not in page] == []


def test_the_page_of_metrics_is_up_to_date():
    page = ROOT / "src/core/runs/METRICS.md"
    first = page.read_text().splitlines()[0]
    assert "python -m src.core.runs.metrics > src/core/runs/METRICS.md" in first
    done = subprocess.run([sys.executable, "-m", "src.core.runs.metrics"], cwd=ROOT, capture_output=True, text=True)
    assert page.read_text() == done.stdout, first


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path):
    text = page.read_text()
    pictures = [(target, "") for target in re.findall(r'src="([^"]*)"', text)]
    for target, anchor in [*re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text), *pictures]:
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the anchors that Markdown viewers derive from headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
