"""Install the folders src/ and conf/ as the package `boardlab`; everything else is in setup.cfg."""

from setuptools import find_namespace_packages, setup

modules = find_namespace_packages(include=["src", "src.*"])
configs = find_namespace_packages(include=["conf", "conf.*"])
setup(
    packages=["boardlab" + name.removeprefix("src") for name in modules] + ["boardlab." + name for name in configs],
    package_dir={"boardlab": "src", "boardlab.conf": "conf"},
    package_data={"": ["*.yaml", "*.md"], "boardlab": ["py.typed"]},
)
