"""Every metric that a run may log, and its meaning; a test fails if a training run logs another one.

`*` stands for a name that depends on the composition, such as an opponent. `step` is the axis of all others: episodes
for tabular learning, environment steps for the rest.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import yaml

_HERE = Path(__file__)
GROUPS: dict[str, dict[str, str]] = yaml.safe_load(_HERE.with_suffix(".yaml").read_text())
for _path in sorted(_HERE.parents[2].glob("envs/*/metrics.yaml")):  # beside the game that logs them
    _game = yaml.safe_load(_path.read_text())
    GROUPS[_game["title"]] = _game["metrics"]
METRICS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}
CURVES = ("eval/not_lost_share", "eval/all/win_rate", "eval/win_rate")  # the first that is logged selects checkpoints


def is_documented(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in METRICS)


def page() -> str:
    """Return the content of docs/metrics.md."""
    lines = ["<!-- Written by: python -m src.core.runs.metrics > docs/metrics.md -->", "# Metrics", "", str(__doc__)]
    for group, metrics in GROUPS.items():
        lines += [f"## {group}", "", "| metric | what it means |", "|---|---|"]
        lines += [*(f"| `{name}` | {words} |" for name, words in metrics.items()), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
