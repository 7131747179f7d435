"""Commands as a user types them, in an empty folder."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


@dataclass
class Lab:
    folder: Path

    def start(self, module: str, *arguments: str, **options: Any) -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"} | options.pop("environment", {})
        environment.pop("PYTEST_CURRENT_TEST", None)  # a user has none, and NiceGUI behaves differently where it is set
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
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def train(self, *arguments: str, **options: Any) -> Path:
        """Train to the end and return the run directory."""
        done = self.run("train", *arguments, **options)
        assert done.returncode == 0, done.stderr
        return self.run_directories()[-1]

    def run_directories(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("outputs/runs/*/*/*/config.yaml"))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())
