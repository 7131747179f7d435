"""The documentation site: every page of the repository and every public module, without broken links."""

import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest
import yaml

from tests.lab import ROOT, need, python

DESCRIBED = ROOT / "mkdocs.yml"


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which names a Python function."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def in_navigation(node: object) -> set[str]:
    if isinstance(node, str):
        return {node}
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return {path for child in children for path in in_navigation(child)}


def test_every_page_is_in_the_navigation():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    found = in_navigation(yaml.load(DESCRIBED.read_text(), Loader)["nav"])
    assert {name for name in listed if Path(name).name != "table.md"} <= found
    assert [path for path in found if not (ROOT / path).is_file()] == []


def test_links_to_modules_lead_to_the_reference():
    need("docs", "mkdocs", "material", "mkdocstrings")
    from docs import pages

    class File:
        src_uri = "experiments/deployment_value/README.md"

    class Page:
        file = File

    shown = pages.on_page_markdown("[x](../../src/nets/boards.py) [y](../README.md#a) [z](win.png)", Page)
    assert shown == "[x](../../api/src.nets.boards.md) [y](../README.md#a) [z](win.png)"
    assert PurePosixPath("src/core/play/game.py") in pages.modules()
    assert not any("web" in path.parts or path.name.startswith("__") for path in pages.modules())
    assert PurePosixPath("experiments/pictures/play_runs.png") in set(pages.linked_files(PurePosixPath("README.md")))


@pytest.mark.slow
def test_the_site_has_every_page_and_no_broken_link(tmp_path: Path):
    need("docs", "mkdocs", "material", "mkdocstrings")
    words = ("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path))
    python(*words, NO_MKDOCS_2_WARNING="1")
    front = (tmp_path / "index.html").read_text()
    assert "Tactical board games" in front
    for page in (
        "docs/start.html",
        "docs/games/quoridor.html",
        "docs/algorithms/index.html",
        "experiments/minesweeper_8x8/MODEL_CARD.html",
        "api/src.core.play.game.html",
    ):
        assert (tmp_path / page).is_file(), page
    assert "Return the legal actions in ascending order" in (tmp_path / "api/src.core.play.game.html").read_text()
    assert "<title>boardlab.core.play.game - " in (tmp_path / "api/src.core.play.game.html").read_text()
    # The search has what extensions build on, and works without a server and without other hosts.
    assert "iframe-worker.js" in front
    assert "unpkg.com" not in front
    assert (tmp_path / "iframe-worker.js").is_file()
    index = (tmp_path / "search/search_index.js").read_text()
    assert "api/src.core.play.game.html" in index
    assert "api/src.core.kernel_linker.html" not in index
    links = {link for link in re.findall(r'(?:href|src)="([^"#?]+)', front) if "://" not in link}
    assert len(links) > 50
    assert [link for link in links if not (tmp_path / link).exists()] == []
