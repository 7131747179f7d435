import json

import pytest

from tests.golden import training
from tests.golden.regenerate import FOLDER, PLAYTHROUGHS


@pytest.mark.parametrize("name", sorted(PLAYTHROUGHS))
def test_the_game_still_goes_as_written_down(name: str):
    assert (FOLDER / name).read_text() == PLAYTHROUGHS[name](), "if the change is meant: make golden, and read the diff"


def test_no_transcript_is_left_over():
    assert {path.name for path in FOLDER.glob("*.txt")} == set(PLAYTHROUGHS)


@pytest.mark.parametrize("name", sorted(training.RUNS))
def test_training_still_goes_as_written_down(name: str):
    expected = json.loads(training.FILE.read_text())[name]
    found = training.results(name)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        near = pytest.approx(values, rel=training.RELATIVE, abs=training.ABSOLUTE, nan_ok=True)
        assert found[key] == near, f"{key}: if the change is meant, make golden, and read the diff"
