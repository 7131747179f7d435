"""Open every page at once, in tabs of a server that has just started and has imported none of them."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from experiments.bench.page_load import Tab
from experiments.faults import forks
from experiments.faults.kills import ROOT
from experiments.faults.report import Row
from src.web.pages import discover

EXTRA = ("/minesweeper?board=16x30x99", "/quoridor", "/tictactoe")  # so that modules are imported twice at once


class Tabs:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.paths = [*(page.path for page in discover([])), *EXTRA][:9]

    def target(self, number: int) -> str:
        return f"{len(self.paths)} pages at once"

    def case(self, number: int, row: Row) -> None:
        place = self.folder / f"server-{number}"
        place.mkdir(exist_ok=True)
        with (place / "errors.txt").open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "src.play", "port=0", "open_browser=false", f"runs=[{ROOT / 'experiments'}]"],
                cwd=place,
                env=os.environ | {"PYTHONPATH": str(ROOT)} | forks.WITHOUT_THREADS,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            reason = asyncio.run(self.visit(line.split()[2])) if "http://" in line else f"it does not start: {line}"
        finally:
            process.terminate()
            process.communicate()
        row.tried += len(self.paths)
        text = (place / "errors.txt").read_text()
        if reason is None and "Traceback" in text:
            reason = "an error in the server"
        if reason is not None:
            row.fail(number, f"{reason}: {text[-1500:]}")

    async def visit(self, address: str) -> str | None:
        """Open all pages at once and return what is wrong with one of them."""
        tabs = [Tab(address) for _ in self.paths]
        opened = (tab.open(path) for tab, path in zip(tabs, self.paths, strict=True))
        outcomes = await asyncio.gather(*opened, return_exceptions=True)
        wrong = []
        for path, tab, outcome in zip(self.paths, tabs, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                wrong.append(f"{path}: {type(outcome).__name__} {outcome}")
            elif tab.status != 200 or tab.having("lab-problem"):
                wrong.append(f"{path}: status {tab.status}, shows a problem")
            if hasattr(tab, "socket"):
                await tab.close()
        return "; ".join(wrong) or None
