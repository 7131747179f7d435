"""The metrics that each algorithm logs in each game: `metrics.json`, from which docs/metrics.md is made."""

import json
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from src.core.runs.metrics import METRICS

FILE = Path(__file__).with_name("metrics.json")


def described(names: list[str]) -> list[str]:
    """Return the descriptions of metrics that these names match; a name without one stays as it is."""
    found = {next((pattern for pattern in METRICS if fnmatchcase(name, pattern)), name) for name in names}
    return sorted(found)


def is_documented(name: str) -> bool:
    return described([name])[0] in METRICS


def read() -> dict[str, dict[str, list[str]]]:
    """Return the metrics by algorithm and game."""
    found: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text())
    return found


def regenerate() -> str:
    from tests.test_compositions import FEW_ENVS, fits, options, train_small

    logged: dict[str, dict[str, list[str]]] = {}
    for algo in options("algo"):
        for env in FEW_ENVS:
            if fits(env, algo):
                with tempfile.TemporaryDirectory() as folder:
                    logged.setdefault(algo, {})[env] = described(train_small(env, algo, Path(folder)))
    return json.dumps(logged, indent=1) + "\n"
