"""Log to TensorBoard. If it fails, training continues without it after one warning."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from ..errors import require
from ..package import install_command
from .runlog import try_tracker


class TensorboardTracker:
    def __init__(self) -> None:
        installed = find_spec("tensorboard") is not None
        require(installed, f"logger=tensorboard needs an extra: {install_command('tensorboard')}")
        self._writer: Any = None
        self._step = 0

    def start(self, directory: Path, config: dict[str, Any]) -> None:
        try_tracker("TensorBoard", "start", lambda: self._start(directory, config))

    def log(self, row: Mapping[str, float]) -> None:
        self._guard("log", lambda: self._log(row))

    def summarize(self, row: Mapping[str, float]) -> None:
        self.log(row)

    def picture(self, name: str, path: Path) -> None:
        self._guard("log", lambda: self._picture(name, path))

    def results(self, directory: Path, result: Mapping[str, Any]) -> None:
        """Do nothing: the results are already metrics of the last step."""

    def mark_pruned(self, step: int) -> None:
        self._guard("log", lambda: self._writer.add_text("pruned", f"at step {step}", step))

    def finish(self, failed: bool) -> None:
        self._guard("finish", lambda: self._writer.close())

    def _start(self, directory: Path, config: dict[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter  # imports torch, which Q-tables do not need

        writer = SummaryWriter(str(directory / "tensorboard"))
        writer.add_text("config", f"```\n{yaml.safe_dump(config, sort_keys=False)}```")
        self._writer = writer

    def _log(self, row: Mapping[str, float]) -> None:
        self._step = int(row["step"])
        for name in row.keys() - {"step"}:
            self._writer.add_scalar(name, row[name], self._step)

    def _picture(self, name: str, path: Path) -> None:
        from matplotlib.image import imread

        self._writer.add_image(name, imread(path), self._step, dataformats="HWC")

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        if self._writer is not None and not try_tracker("TensorBoard", what, call):
            self._writer = None
