"""Continuous integration and container images refer to files, extras and versions that exist."""

import json
import re
from fnmatch import fnmatch
from itertools import pairwise
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.lab import ROOT, setup_cfg
from tests.test_constraints import EVERYWHERE

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CONTAINER = ROOT / ".devcontainer"


def workflow() -> dict[str, Any]:
    """The workflow, with all values as text: YAML would read `on` as true and 3.10 as 3.1."""
    return dict(yaml.load((ROOT / ".github/workflows/ci.yml").read_text(), yaml.BaseLoader))


def job(name: str) -> dict[str, Any]:
    return dict(workflow()["jobs"][name])


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, continued lines joined."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    parts = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, " ".join(rest.split())) for name, rest in parts]


def arguments(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def copied() -> list[str]:
    """The paths that the Dockerfile copies from the repository."""
    words = [[word for word in rest.split() if not word.startswith("--")] for rest in arguments("COPY")]
    return [path for *paths, _ in words for path in paths]


def test_ci_runs_everything_on_pushes_and_pull_requests():
    assert {"push", "pull_request"} <= set(workflow()["on"])
    assert set(workflow()["jobs"]) == {"fast", "slow"}
    for name in ("fast", "slow"):
        assert [step["run"] for step in job(name)["steps"] if "run" in step][-1] == f"bash .ci/run {name}"
    parts = (ROOT / ".ci/run").read_text()
    assert parts.index("make lint") < parts.index("make test\n") < parts.index("make testslow")


def test_ci_tests_the_oldest_python_that_is_supported():
    required = SpecifierSet(setup_cfg()["options"]["python_requires"])
    versions = job("fast")["strategy"]["matrix"]["python"]
    assert required == SpecifierSet(f">={versions[0]}")
    assert all(required.contains(version) for version in versions)
    assert set(versions) <= {environment["python_version"] for environment in EVERYWHERE}, "for which there are pins"
    assert job("fast")["container"]["image"] == "python:${{ matrix.python }}-bookworm"
    assert job("slow")["container"]["image"].removeprefix("python:").removesuffix("-bookworm") in versions


def test_the_newest_packages_are_tested_weekly():
    found = yaml.load((ROOT / ".github/workflows/newest.yml").read_text(), yaml.BaseLoader)
    assert found["on"]["schedule"]
    (job,) = found["jobs"].values()
    assert job["steps"][-1]["run"] == "make newest"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_few_permissions_and_pinned_actions(path):
    found = yaml.load(path.read_text(), yaml.BaseLoader)
    assert found["permissions"] == {"contents": "read"}
    for name, each in found["jobs"].items():
        assert ("permissions" in each) == (name == "publish"), "which has no other steps"
        assert name != "publish" or len(each["steps"]) <= 2
        assert int(each["timeout-minutes"]) > 0
        actions = [step["uses"] for step in each["steps"] if "uses" in step]
        assert actions
        known = re.compile(r"actions/[\w-]+@v\d+|pypa/gh-action-pypi-publish@release/v1")
        assert [action for action in actions if not known.fullmatch(action)] == []


def test_the_image_copies_what_exists_and_is_not_ignored():
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert ignored[0] == "*"
    assert copied()
    for path in copied():
        assert (ROOT / path).exists(), path
        assert f"!{path}" in ignored
    again = [pattern for pattern in ignored if not pattern.startswith("!")][1:]
    assert [path for path in copied() if any(fnmatch(path, pattern.removeprefix("**/")) for pattern in again)] == []


def test_the_image_installs_extras_that_exist():
    extras = set(setup_cfg()["options.extras_require"])
    defaults = dict(rest.split("=", 1) for rest in arguments("ARG"))
    assert set(defaults["EXTRAS"].split(",")) <= extras
    assert SpecifierSet(setup_cfg()["options"]["python_requires"]).contains(defaults["PYTHON"])


def test_no_image_runs_as_root():
    starts = [number for number, (name, _) in enumerate(instructions()) if name == "FROM"]
    stages = [instructions()[first:last] for first, last in pairwise([*starts, None])]
    for stage in stages[1:]:  # the first is the base of the others
        users = [number for number, (name, _) in enumerate(stage) if name == "USER"]
        assert users, stage[0]
        assert stage[users[-1]][1] not in ("root", "0")
        assert "RUN" not in [name for name, _ in stage[users[-1] :]]


def test_any_user_can_write_outputs_and_caches_in_the_image():
    writable = {
        f"/lab/{name}" for rest in arguments("RUN") if "-m 1777" in rest for name in rest.split("1777 ")[1].split()
    }
    (home,) = (word.removeprefix("HOME=") for rest in arguments("ENV") for word in rest.split() if "HOME=" in word)
    assert {home, "/lab/outputs"} <= writable
    assert 'docker run --rm --user "$(id -u):$(id -g)" -v' in (ROOT / "docs/start.md").read_text()


def test_a_release_has_one_version():
    version = re.search(r'^__version__ = "(.*)"$', (ROOT / "src/__init__.py").read_text(), re.MULTILINE)[1]  # type: ignore[index]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
    assert setup_cfg()["metadata"]["author"] in (ROOT / "CITATION.cff").read_text()


def test_the_development_container_resolves():
    found = json.loads((CONTAINER / "devcontainer.json").read_text())
    described = found["build"]
    assert (CONTAINER / described["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (CONTAINER / described["context"]).resolve() == ROOT
    assert any(rest.endswith(f" AS {described['target']}") for rest in arguments("FROM"))
    assert f"$(VENV)/{found['postCreateCommand'].removeprefix('make .venv/')}:" in (ROOT / "Makefile").read_text()


def test_every_command_has_a_console_script():
    """Each runs the function `run` of its module, as `python -m` does."""
    ends = "def run(", 'if __name__ == "__main__":\n    run()\n'
    modules = [path for path in (ROOT / "src").glob("*.py") if "__main__" in path.read_text()]
    assert [path for path in modules if not all(end in path.read_text() for end in ends)] == []
    scripts = setup_cfg()["options.entry_points"]["console_scripts"].split("\n")[1:]
    assert scripts == sorted(f"boardlab-{path.stem.replace('_', '-')} = boardlab.{path.stem}:run" for path in modules)


def test_extras_of_the_makefile_and_the_start_page_agree():
    extras = set(setup_cfg()["options.extras_require"])
    assert {canonicalize_name(extra) for extra in extras} == extras  # otherwise some versions of pip do not find them
    asked = re.findall(r"'\.\[([\w,]+)\]'", (ROOT / "Makefile").read_text())
    assert {extra for one in asked for extra in one.split(",")} <= extras
    (everything,) = (one for one in asked if one.startswith("test,"))
    assert f"'.[{everything}]'" in (ROOT / "docs/start.md").read_text()
    assert extras - set(everything.split(",")) == {"audit", "bench"}
