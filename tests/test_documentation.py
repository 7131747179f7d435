"""The commands shown in the documentation are valid, and generated pages are up to date."""

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.utils import get_object
from omegaconf import OmegaConf

from src.config import CONF, schema
from src.config.agent_specs import quote_agents
from src.config.build import build
from src.config.cli import apply_group_aliases, expand_opponent, zoo_arguments
from src.config.compose import validate
from src.config.resolvers import open_parameters
from tests.lab import ROOT, Lab, python
from tests.test_compositions import composed, options
from tests.test_sweep import need_launchers

MANUAL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [
    *MANUAL,
    ROOT / "CHANGELOG.md",
    *sorted(CONF.rglob("README.md")),
    *sorted((ROOT / "src/envs").glob("*/*.md")),
    *sorted((ROOT / "experiments").rglob("README.md")),
]
EXTEND, ALGORITHMS = ROOT / "docs/extend.md", ROOT / "docs/algorithms/index.md"
FIRST = [ROOT / "docs/start.md", ROOT / "docs/configure.md"]  # their commands are composed in the fast tests
COMMAND = re.compile(r"^(?:\S+=\S+ )*\S*(?:python|torchrun .*?) -m src\.(\w+)(?![\w.])(.*)$", re.MULTILINE)
FLAGS = {"-m", "--cfg", "job", "hydra"}
SCHEMAS: dict[str, Any] = {
    "train": schema.Train,
    "compare": schema.Compare,
    "evaluate": schema.Evaluate,
    "export": schema.Export,
    "generate": schema.Generate,
    "engine": schema.Engine,
    "play": schema.Play,
    "play_local": schema.PlayLocal,
    "record": schema.Record,
    "sprt": schema.Sprt,
    "tournament": schema.Tournament,
    "zoo": schema.Zoo,
}
REWRITES = {
    "train": apply_group_aliases,
    "evaluate": expand_opponent,
    "record": expand_opponent,
    "sprt": quote_agents,
    "tournament": quote_agents,
    "zoo": zoo_arguments,
}


def commands(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each command in the fenced blocks and its words; placeholders such as <run dir> become paths.

    Those with options of your own (--config-dir) are executed instead of composed.
    """
    for block in page.read_text().split("```")[1::2]:
        for name, rest in COMMAND.findall(block.replace("\\\n", " ")):
            words = shlex.split(re.sub(r"<[^>]*>", "some/path", rest), comments=True)
            if "..." not in words and not any(word.startswith("--config-dir") for word in words):
                yield name, [word for word in words if word not in FLAGS]


SHOWN = [(name, words) for page in PAGES for name, words in commands(page)]
COMPOSED = sorted({(name, tuple(words)) for name, words in SHOWN if name in SCHEMAS})
OF_FIRST_PAGES = [(name, tuple(words)) for page in FIRST for name, words in commands(page)]


def test_commands_of_the_pages_exist():
    assert {name for name, _ in SHOWN} - {*SCHEMAS, "sweep"} == set()
    assert all(len(words) == 1 for name, words in SHOWN if name == "sweep"), "it takes a directory and nothing else"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(*command, marks=() if command in OF_FIRST_PAGES else pytest.mark.slow, id=shlex.join(words))
        for command in COMPOSED
        for words in [[command[0], *command[1]]]
    ],
)
def test_a_command_of_a_page_composes(name: str, words: tuple[str, ...]):
    need_launchers()
    rewritten = open_parameters(REWRITES.get(name, list)(list(words)))
    overrides = OverridesParser.create().parse_overrides(rewritten)
    swept = [override for override in overrides if override.is_sweep_override()]
    settled = [str(override.input_line) for override in overrides if override not in swept]
    cfg = composed(*settled, config=name)
    assert swept == [] or name == "train"
    assert [override.input_line for override in swept if OmegaConf.select(cfg, override.key_or_group) is None] == []
    validate(cfg, SCHEMAS[name], unused=("opponent",))


def test_a_command_is_shown_on_one_page_of_the_manual():
    shown = Counter((name, *words) for page in MANUAL for name, words in commands(page) if words)
    assert [shlex.join(command) for command, count in shown.items() if count > 1] == []


def test_modules_and_targets_of_the_pages_exist():
    blocks = "\n".join(block for page in PAGES for block in page.read_text().split("```")[1::2])
    modules = set(re.findall(r"python -m ((?:src|experiments)[\w.]*)", blocks))
    paths = {name: ROOT / name.replace(".", "/") for name in modules}
    assert [name for name, path in paths.items() if not (path.with_suffix(".py").exists() or path.is_dir())] == []
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z]+)", blocks, re.MULTILINE)) <= targets


def test_every_group_is_on_the_page():
    page = (ROOT / "docs/configure.md").read_text()
    groups = {path.name for path in CONF.iterdir() if path.is_dir() and path.name not in ("hydra", "__pycache__")}
    parts = {"net", "strategy", "teacher"}  # of algo
    assert [group for group in groups - parts if f"| `{group}` |" not in page] == []


@pytest.mark.parametrize(("group", "page"), [("agent", "agents"), ("algo", "algorithms/index")])
def test_every_option_is_on_the_page(group: str, page: str):
    text = (ROOT / f"docs/{page}.md").read_text()
    assert [path.stem for path in (CONF / group).glob("*.yaml") if f"`{path.stem}`" not in text] == []


def test_the_table_of_algorithms_has_every_pair_that_fits():
    rows = re.findall(r"^\| \[`(\w+)`\]\(\w+\.md\) \|(.*)\|.*\|$", ALGORITHMS.read_text(), re.MULTILINE)
    shown = {algo: [cell.strip() == "yes" for cell in cells.split("|")] for algo, cells in rows}
    games = ("tictactoe", "minesweeper_8x8", "quoridor", "deployment")
    traits = [build(composed(f"env={name}").env, "env").game.traits for name in games]
    needs = {name: get_object(composed(f"algo={name}").algo._target_).needs for name in options("algo")}
    assert shown == {name: [needed <= known for known in traits] for name, needed in needs.items()}


@pytest.mark.slow
def test_the_examples_of_extensions_run(lab: Lab):
    """The page has the whole code: write it into a folder, and run the commands there."""
    shutil.copytree(ROOT / "tests/extension", lab.folder / "tests/extension")
    for example in re.findall(r"```(?:python|yaml)\n(.*?)```", EXTEND.read_text(), re.DOTALL):
        path = lab.folder / example.splitlines()[0].removeprefix("# ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example)
    python("-c", "import src, runpy; runpy.run_path('mine/check.py')", folder=lab.folder)
    shown = re.findall(r"^python -m src\.(\w+) (--config-dir.*)$", EXTEND.read_text(), re.MULTILINE)
    assert len(shown) == 7
    for module, words in shown:
        lab.succeed(module, *words.split(), *(["logger=csv"] if module == "train" else []))


@pytest.mark.slow
def test_the_example_of_the_package_runs(tmp_path: Path):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
    pytest.importorskip("pettingzoo")
    program = "import src\n" + example.replace('"experiments/', f'"{ROOT}/experiments/')
    python("-c", program, folder=tmp_path, WANDB_MODE="offline")


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
