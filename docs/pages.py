"""MkDocs hook: the site consists of the pages of this repository, at the same paths, and of an API reference.

Links between pages are relative, so they work both in the repository and on the site. Other files that pages link to,
such as pictures, are copied. Links to modules of src/ lead to their page of the API reference, titled by their name in
the package `boardlab`; the search finds the modules that extensions build on, and no internals.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import src

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
IMAGE = re.compile(r'<img src="([^"]+)"')
FOLDERS = ("docs", "conf", "src", "experiments")
GENERATED_TABLE = "table.md"  # written by studies; the page beside it has the same table
STABLE = {PurePosixPath("src", *name.split(".")).with_suffix(".py") for name in src.EXPORTS}  # the rest is not searched
NO_API = ("web", "hydra_plugins", "__init__.py")  # the pages in the browser and Hydra's plugin have no API


def pages() -> list[PurePosixPath]:
    """Return the Markdown files of the repository, relative to its root."""
    found = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    return sorted(PurePosixPath(path.relative_to(ROOT)) for path in found if path.name != GENERATED_TABLE)


def modules() -> list[PurePosixPath]:
    """Return the modules of the API reference, relative to the root of the repository."""
    found = (PurePosixPath(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))
    return sorted((path for path in found if not set(path.parts) & set(NO_API)), key=lambda path: (path.parent, path))


def module_name(path: PurePosixPath) -> str:
    return ".".join(path.with_suffix("").parts)


def title(path: PurePosixPath) -> str:
    """Return the name by which users import a module or package."""
    return "boardlab" + module_name(path).removeprefix("src")


def api_page(path: PurePosixPath) -> str:
    """Return the page of a module on the site."""
    return f"api/{module_name(path)}.md"


def linked_files(page: PurePosixPath) -> Iterator[PurePosixPath]:
    """Yield the files other than pages that a page links to."""
    text = (ROOT / page).read_text()
    for target in [*(target for _, target, _ in LINK.findall(text)), *IMAGE.findall(text)]:
        path = ROOT / page.parent / target
        if "://" not in target and path.is_file() and path.suffix != ".md":
            yield PurePosixPath(path.resolve().relative_to(ROOT.resolve()))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Append the API reference to the navigation: what extensions build on, then a section for each package."""
    stable: list[dict[str, str]] = []
    sections: dict[str, list[dict[str, str]]] = {}
    for path in modules():
        if path in STABLE:
            stable.append({title(path): api_page(path)})
        else:
            sections.setdefault(title(path.parent), []).append({path.stem: api_page(path)})
    assert config.nav is not None
    internals = [{name: entries} for name, entries in sections.items()]
    config.nav.append({"Reference": [*stable, {"Internals": internals}]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages, the files that they link to, and the API reference."""
    for file in [file for file in files if file.src_uri.endswith(".md")]:
        files.remove(file)  # found in docs/ and named without that folder, which would break its links
    for path in [*pages(), *sorted({file for page in pages() for file in linked_files(page)})]:
        files.append(File.generated(config, str(path), abs_src_path=str(ROOT / path)))
    for path in modules():
        header = "" if path in STABLE else "---\nsearch:\n  exclude: true\n---\n\n"
        text = f"{header}# {title(path)}\n\n::: {module_name(path)}\n"
        files.append(File.generated(config, api_page(path), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links to modules lead to their page of the API reference."""
    folder = PurePosixPath(page.file.src_uri).parent
    known = {str(path): api_page(path) for path in modules()}

    def replace(match: re.Match[str]) -> str:
        target = os.path.normpath(folder / match[2])
        return f"{match[1]}{os.path.relpath(known[target], folder)}{match[3]}" if target in known else match[0]

    return LINK.sub(replace, markdown)
