"""Install the folders src/ and conf/ as the package `boardlab`; everything else is in setup.cfg.

The environment variable REPOSITORY_URL is the address of the repository, for the links of the package and its README;
the workflow that publishes sets it.
"""

import os
import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

PLUGINS = "hydra_plugins"  # a namespace package in which Hydra looks for sweepers
LINK = re.compile(r'(!?\[[^\]]*\]\(|src=")(?!\w+://|#)([^)"\s]+)')  # to a file, in Markdown or HTML
HERE = Path(__file__).parent


def readme(repository: str, version: str) -> str:
    """Return README.md with addresses in place of relative paths, which only the repository resolves."""

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith(("!", "src")) else "blob"
        return f"{found[1]}{repository}/{kind}/v{version}/{found[2]}"

    text = (HERE / "README.md").read_text()
    return LINK.sub(absolute, text) if repository else text


repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
(version,) = re.findall(r'^__version__ = "(.*)"', (HERE / "src/__init__.py").read_text(), re.MULTILINE)
pages = {"Source": "", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
modules = find_namespace_packages(include=["src", "src.*"], exclude=[f"src.{PLUGINS}", "*.__pycache__*"])
configs = find_namespace_packages(include=["conf", "conf.*"], exclude=["*.__pycache__*"])
names = ["boardlab" + name.removeprefix("src") for name in modules] + ["boardlab." + name for name in configs]
setup(
    long_description=readme(repository, version),
    long_description_content_type="text/markdown",
    url=repository or None,
    project_urls={name: repository + path for name, path in pages.items()} if repository else {},
    packages=[*names, PLUGINS],
    package_dir={"boardlab": "src", "boardlab.conf": "conf", PLUGINS: f"src/{PLUGINS}"},
    package_data={"": ["*.yaml", "*.md", "*.safetensors", "*.css", "*.js"], "boardlab": ["py.typed"]},
)
