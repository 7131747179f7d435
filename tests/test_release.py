"""The package as it is installed: beside another src, without what only training needs, and complete as sources."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.lab import ROOT

REPOSITORY = "https://example.org/lab/games"
BUILT = ("src", "conf", "setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")

ENVIRONMENTS_ALONE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "wandb", "sb3_contrib", "stable_baselines3"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import boardlab, gymnasium
from boardlab.api import compose, evaluate, train

assert boardlab.__file__.startswith(sys.argv[1]), boardlab.__file__
names = [name for name in gymnasium.registry if name.startswith("boardlab/")]
for name in names:
    env, envs = gymnasium.make(name, render_mode="rgb_array"), gymnasium.make_vec(name, num_envs=4)
    _, info = env.reset(seed=0)
    env.step(int(info["action_mask"].argmax()))
    assert env.render().ndim == 3
    _, info = envs.reset(seed=0)
    envs.step(info["action_mask"].argmax(1))
assert evaluate(boardlab.make_agent("minimax"), "tictactoe", episodes=4).total.losses == 0
try:
    train(compose("env=tictactoe", "algo=ppo", "logger=csv"))
except boardlab.UserError as error:
    print(error)
print(len(names), boardlab.__version__)
"""


def sources(folder: Path, *paths: str) -> Path:
    """Copy files of the repository that git knows, or that are new, into a folder."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a wheel as `pip install` makes it, without its requirements."""
    folder = tmp_path_factory.mktemp("release")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder / "site"))
    words = [sys.executable, "-m", "pip", "install", *options, str(sources(folder / "source", *BUILT))]
    subprocess.run(words, check=True, cwd=folder, env=os.environ | {"REPOSITORY_URL": f"{REPOSITORY}/"})
    return folder / "site"


def run_in(project: Path, site: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, *words], cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Numba" not in done.stderr, "no warning of its own"
    return done.stdout


@pytest.mark.slow
def test_the_installed_package_works_beside_another_src(site: Path, tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "__init__.py").write_text("raise ImportError('this is not the package')\n")
    assert {path.name for path in site.iterdir() if path.suffix == ""} == {"bin", "boardlab", "hydra_plugins"}
    few = ("algo.episodes=20", "algo.eval_every=20", "logger=csv", "evaluation.episodes=2")
    run_in(tmp_path, site, str(site / "bin/boardlab-train"), *few, "seed=1")
    run_in(tmp_path, site, str(site / "bin/boardlab-evaluate"), "agent=minimax", "episodes=2")
    run_in(tmp_path, site, "-m", "boardlab.train", "-m", "seed=1,2", *few)
    assert "not downloaded" in run_in(tmp_path, site, str(site / "bin/boardlab-zoo"))
    assert len(list(tmp_path.glob("outputs/runs/tictactoe/qlearning/*/eval.json"))) == 1
    config = next(tmp_path.glob("outputs/runs/*/*/*/config.yaml")).read_text()
    assert "_target_: src." in config, "runs can be moved between a checkout and an installation"
    assert "boardlab" not in config


@pytest.mark.slow  # it compiles the kernels of all games
def test_environments_work_without_what_training_needs(site: Path, tmp_path: Path):
    refusal, count = run_in(tmp_path, site, "-c", ENVIRONMENTS_ALONE, str(site)).splitlines()
    assert refusal.endswith("cannot be imported: No module named 'torch': pip install 'boardlab[train]'")
    version = (site / "boardlab/__init__.py").read_text().partition('__version__ = "')[2].partition('"')[0]
    assert count == f"{len(list((ROOT / 'conf/env').glob('*.yaml')))} {version}"


@pytest.mark.slow
def test_the_metadata_has_the_address_of_the_repository(site: Path):
    (path,) = site.glob("boardlab-*.dist-info/METADATA")
    metadata, _, readme = path.read_text().partition("\n\n")
    version = path.parent.name.removeprefix("boardlab-").removesuffix(".dist-info")
    assert f"Project-URL: Source, {REPOSITORY}\n" in metadata
    assert re.search(r"^Requires-Dist: torch.*; extra == \"train\"$", metadata, re.MULTILINE)
    targets = re.findall(r'(?:\]\(|src=")([^)"]*)', readme)
    assert f"{REPOSITORY}/blob/v{version}/docs/start.md" in targets
    assert f"{REPOSITORY}/raw/v{version}/experiments/pictures/game_quoridor.gif" in targets
    assert [target for target in targets if "://" not in target] == []
    for target in targets:
        relative = re.fullmatch(rf"{REPOSITORY}/(?:raw|blob)/v{version}/([^#]*).*", target)
        assert relative is None or (ROOT / relative[1]).exists(), target


@pytest.mark.slow
def test_the_source_distribution_has_every_file(tmp_path: Path):
    folder = sources(tmp_path / "source")
    words = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    ours = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert {name for name in ours - packed if "egg-info" not in name} == set()
