"""constraints.txt pins exactly the packages that are installed with this project."""

import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from itertools import product

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.audit import verdict
from tests.lab import ROOT, setup_cfg

HERE = default_environment()
EVERYWHERE = [  # an environment for each kind of machine that is supported
    HERE | {"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine}
    for python, machine in product(("3.11", "3.12", "3.13", "3.14"), ("x86_64", "aarch64"))
]
CUDA = ("nvidia-", "cuda-", "triton")  # a torch for GPUs brings them along and names their versions itself


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    parts = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in parts}


def direct() -> list[Requirement]:
    """Return the requirements of setup.cfg, over all extras."""
    config = setup_cfg()
    listed = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    return [Requirement(line) for lines in listed for line in lines.split("\n") if line]


def required_by(requirement: Requirement, environments: list) -> Iterator[Requirement]:
    """Return the requirements of a package in any of the environments; none if it is not installed."""
    try:
        listed = distribution(requirement.name).requires or []
    except PackageNotFoundError:
        return
    for line in listed:
        found = Requirement(line)
        extras = [*requirement.extras, ""]
        asked = (environment | {"extra": extra} for environment in environments for extra in extras)
        if found.marker is None or any(found.marker.evaluate(environment) for environment in asked):
            yield found


def needed(environments: list) -> set[str]:
    """Return the names of all direct and indirect requirements of setup.cfg."""
    waiting, seen = direct(), set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key not in seen:
            seen.add(key)
            waiting += required_by(requirement, environments)
    return {name for name, _ in seen}


def installed(name: str) -> Version | None:
    try:
        return Version(distribution(name).version)
    except PackageNotFoundError:
        return None


def test_every_package_is_pinned():
    assert sorted(name for name in needed(EVERYWHERE) - pins().keys() if not name.startswith(CUDA)) == []


def test_the_pins_are_the_versions_that_are_tested():
    found = {name: installed(name) for name in needed([HERE])}
    others = {
        f"{name}=={version} is installed, {pins()[name]} is pinned"
        for name, version in found.items()
        if name in pins() and version is not None and version.public != str(pins()[name])
    }
    assert sorted(others) == [], "make clean, or pip install -c constraints.txt again"


def test_nothing_is_pinned_that_nobody_installs():
    if missing := sorted(name for name in {canonicalize_name(each.name) for each in direct()} if not installed(name)):
        pytest.skip(f"cannot check whether every pin is needed without {', '.join(missing)}")
    assert sorted(pins().keys() - needed(EVERYWHERE)) == []


def test_pins_are_in_the_ranges_of_setup_cfg():
    assert [str(each) for each in direct() if pins()[canonicalize_name(each.name)] not in each.specifier] == []


PRIVATE = {"hydra-core", "omegaconf", "torch", "numba", "gymnasium", "sb3-contrib", "safetensors", "nicegui", "optuna"}


def test_packages_whose_internals_are_used_have_upper_bounds():
    bounded = {each.name for each in direct() if any(one.operator == "<" for one in each.specifier)}
    assert PRIVATE - bounded == set()


SOUND = {"name": "numpy", "version": "2.4.6", "vulns": []}
SKIPPED = {"name": "jax", "skip_reason": "Dependency not found on PyPI and could not be audited: jax (0.10.2)"}
UNSOUND = {"name": "pip", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}]}


@pytest.mark.parametrize(
    ("packages", "status", "text"),
    [
        ([SOUND], 0, "1 pinned versions, 0 known vulnerabilities"),
        ([SOUND, UNSOUND], 1, "pip 1.0: PYSEC-1, fixed in 1.1, 2.0\n2 pinned versions, 1 known vulnerabilities"),
        ([SOUND, SKIPPED], 2, "jax: could not be looked up\n1 pinned versions, 0 known vulnerabilities"),
        ([SKIPPED], 2, "nothing was audited: the package index here has no advisories"),
    ],
)
def test_an_audit_reports_findings_and_failed_lookups(packages: list, status: int, text: str):
    found, printed = verdict(json.dumps({"dependencies": packages, "fixes": []}), "No known vulnerabilities found")
    assert found == status
    assert printed.startswith(text)


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        (
            "Traceback ...\nrequests.exceptions.ConnectionError: ...\n",
            "the advisory database cannot be reached from here",
        ),
        ("python: No module named pip_audit\n", "pip-audit ended with python: No module named pip_audit"),
        ("", "pip-audit ended with no report"),
    ],
)
def test_an_audit_that_could_not_be_made_is_a_sentence(errors: str, text: str):
    assert verdict("", errors) == (2, f"nothing was audited: {text}")
