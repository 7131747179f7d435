"""Run commands in an empty folder, as a user types them."""

import configparser
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.fork_server import Command

ROOT = Path(__file__).parent.parent

Process = subprocess.Popen | Command


@dataclass
class Lab:
    folder: Path

    def start(self, module: str, *arguments: str, fresh: bool = False, **options: Any) -> Process:
        """Start a command, forked from a process that has imported what it needs.

        With `fresh`, or options that a fork cannot follow, it is a Python process of its own: for what is about
        imports, launchers or hash seeds.
        """
        changes = options.pop("environment", {})
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"} | changes
        environment.pop("PYTEST_CURRENT_TEST", None)  # a user has none, and NiceGUI behaves differently where it is set
        if not fresh and not changes and options.keys() <= {"stdout"}:
            return Command(f"src.{module}", arguments, self.folder, environment, **options)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [sys.executable, "-m", f"src.{module}", *arguments],
            cwd=self.folder,
            env=environment,
            text=True,
            **(pipes | options),
        )

    def run(
        self, module: str, *arguments: str, stdin: str = "", seconds: float | None = None, **options: Any
    ) -> subprocess.CompletedProcess:
        process = self.start(module, *arguments, **options)
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        finally:
            process.kill()  # where it is still there
        return subprocess.CompletedProcess(arguments, process.wait(), out, err)

    def succeed(self, module: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess:
        """Run a command that must succeed."""
        done = self.run(module, *arguments, **options)
        assert done.returncode == 0, done.stderr
        return done

    def refuse(self, module: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess:
        """Run a command that must end with an error for users."""
        done = self.run(module, *arguments, **options)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def train(self, *arguments: str, **options: Any) -> Path:
        """Train to the end and return the run directory."""
        self.succeed("train", *arguments, **options)
        return self.run_directories()[-1]

    def run_directories(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("outputs/runs/*/*/*/config.yaml"))


def python(*words: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Run Python with these arguments, which must succeed."""
    changed = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"} | environment
    done = subprocess.run([sys.executable, *words], cwd=folder, env=changed, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def need(extra: str, *modules: str) -> None:
    """Skip a test or module whose extra is not installed, but fail where everything has to be installed."""
    if any(find_spec(name) is None for name in modules):
        reason = f"{', '.join(modules)} is not installed: pip install -c constraints.txt -e '.[{extra}]'"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason, allow_module_level=True)


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())
