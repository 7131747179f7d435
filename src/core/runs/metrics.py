"""Every metric that a run may log, and its meaning: `metrics.yaml` here and beside each game.

A test fails if a training run logs another one; `make tables` writes them into docs/metrics.md.
"""

from pathlib import Path

import yaml

_HERE = Path(__file__)
GROUPS: dict[str, dict[str, str]] = yaml.safe_load(_HERE.with_suffix(".yaml").read_text())
for _path in sorted(_HERE.parents[2].glob("envs/*/metrics.yaml")):  # beside the game that logs them
    _game = yaml.safe_load(_path.read_text())
    GROUPS[_game["title"]] = _game["metrics"]
METRICS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}
CURVES = ("eval/not_lost_share", "eval/all/win_rate", "eval/win_rate")  # the first that is logged selects checkpoints
