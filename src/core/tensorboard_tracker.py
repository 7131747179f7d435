"""TensorBoard beside the CSV file. Training goes on without it when it fails, and says so once."""

import logging
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from src.core.errors import require

log = logging.getLogger(__name__)


class TensorboardTracker:
    def __init__(self) -> None:
        installed = find_spec("tensorboard") is not None
        require(installed, "logger=tensorboard needs an extra: pip install -c constraints.txt -e '.[tensorboard]'")
        self._writer: Any = None
        self._step = 0
        self._failed = False

    def start(self, directory: Path, config: dict[str, Any]) -> None:
        self._guard(lambda: self._start(directory, config))

    def log(self, row: Mapping[str, float]) -> None:
        self._guard(lambda: self._log(row))

    def picture(self, name: str, path: Path) -> None:
        self._guard(lambda: self._picture(name, path))

    def results(self, directory: Path, result: Mapping[str, Any]) -> None:
        """They are metrics of the last step already."""

    def finish(self, failed: bool) -> None:
        self._guard(lambda: self._writer.close())

    def _start(self, directory: Path, config: dict[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter  # brings torch along, which a table does without

        self._writer = SummaryWriter(str(directory / "tensorboard"))
        self._writer.add_text("config", f"```\n{yaml.safe_dump(config, sort_keys=False)}```")

    def _log(self, row: Mapping[str, float]) -> None:
        self._step = int(row["step"])
        for name in row.keys() - {"step"}:
            self._writer.add_scalar(name, row[name], self._step)

    def _picture(self, name: str, path: Path) -> None:
        from matplotlib.image import imread

        self._writer.add_image(name, imread(path), self._step, dataformats="HWC")

    def _guard(self, call: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            call()
        except Exception as error:  # whatever a tracker raises, the training is worth more
            self._failed = True
            log.warning("TensorBoard failed (%s); the run goes on, its figures are in metrics.csv", error)
