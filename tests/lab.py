"""Run commands in an empty folder, as a user types them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def train(self, *arguments: str, **options: Any) -> Path:
        """Train to the end and return the run directory."""
        done = self.run("train", *arguments, **options)
        assert done.returncode == 0, done.stderr
        return self.run_directories()[-1]

    def run_directories(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("outputs/runs/*/*/*/config.yaml"))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())
