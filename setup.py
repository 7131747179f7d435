"""Install the folders src/ and conf/ as the package `boardlab`; everything else is in setup.cfg."""

from setuptools import find_namespace_packages, setup

PLUGINS = "hydra_plugins"  # a namespace package in which Hydra looks for sweepers
modules = find_namespace_packages(include=["src", "src.*"], exclude=[f"src.{PLUGINS}", "*.__pycache__*"])
configs = find_namespace_packages(include=["conf", "conf.*"], exclude=["*.__pycache__*"])
names = ["boardlab" + name.removeprefix("src") for name in modules] + ["boardlab." + name for name in configs]
setup(
    packages=[*names, PLUGINS],
    package_dir={"boardlab": "src", "boardlab.conf": "conf", PLUGINS: f"src/{PLUGINS}"},
    package_data={"": ["*.yaml", "*.md", "*.safetensors", "*.css", "*.js"], "boardlab": ["py.typed"]},
)
