import pytest

from tests.golden.regenerate import FOLDER, PLAYTHROUGHS


@pytest.mark.parametrize("name", sorted(PLAYTHROUGHS))
def test_the_game_still_goes_as_written_down(name: str):
    assert (FOLDER / name).read_text() == PLAYTHROUGHS[name](), "if the change is meant: make golden, and read the diff"


def test_no_transcript_is_left_over():
    assert {path.name for path in FOLDER.glob("*.txt")} == set(PLAYTHROUGHS)
