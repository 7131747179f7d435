"""The experiment that switches off the features of Quoridor's search."""

import json
from pathlib import Path

import pytest

from experiments.quoridor_features.match import FEATURES, plan_of, play_pair
from experiments.quoridor_features.results import MARK, Pair, Results
from src.core.errors import UserError

SETTINGS = {"seconds": 0.05, "seed": 0}


@pytest.mark.parametrize("feature", ["killers", "exact_races"])
def test_the_players_differ_in_one_feature(feature):
    full, without = plan_of(feature, 0.05, 3)["players"].values()
    assert full["features"].pop(feature) is True
    assert without["features"].pop(feature) is False
    assert full == without
    assert full["seconds"] == 0.05


def test_a_pair_is_played():
    outcomes = play_pair(plan_of("history", 0.0001, 0), 1)
    assert len(outcomes) == 2
    assert set(outcomes) <= {1, 0, -1}


def test_results_are_kept_and_continued(tmp_path: Path):
    (tmp_path / "README.md").write_text(f"# Head\n{MARK}an old table\n")
    results = Results(tmp_path, SETTINGS)
    results.add(Pair("killers", 1), [1, 0])
    results.add(Pair("killers", 0), [1, -1])
    results.add(Pair("history", 0), [None, 1])
    again = Results(tmp_path, SETTINGS)
    assert again.pairs == results.pairs
    rows = [line for line in again.table().splitlines() if "`" in line]
    assert len(rows) == len(FEATURES)
    assert "| without `killers` | 4 | 2/1/1 | 62.5% (" in rows[0]
    assert "| without `history` | 0 | | | |" in rows, "a pair with an aborted game does not count"
    assert (tmp_path / "table.md").read_text() == again.table()
    assert (tmp_path / "README.md").read_text() == f"# Head\n{MARK}\n{again.table()}"


def test_results_of_other_settings_are_refused(tmp_path: Path):
    Results(tmp_path, SETTINGS).add(Pair("killers", 0), [1, 1])
    with pytest.raises(UserError, match=r"has games with .*0\.05.* another --folder"):
        Results(tmp_path, {"seconds": 0.1, "seed": 0})
    assert list(json.loads((tmp_path / "results.json").read_text())["pairs"]) == ["killers"]
