import pytest

from src.core.curriculum import Curriculum
from src.core.errors import LabError


def test_without_warm_up_there_is_only_the_target():
    curriculum = Curriculum({}, None)
    curriculum.record(1.0)
    assert (curriculum.env("target"), curriculum.stage) == ("target", 0)


def test_a_good_score_climbs_one_rung_and_never_past_the_top():
    curriculum = Curriculum({"easy": "easy", "middle": "middle"}, promote_at=0.5)
    climbed = []
    for score in (0.4, 0.5, 0.1, 0.9, 0.9):
        climbed.append(curriculum.env("target"))
        curriculum.record(score)
    assert [*climbed, curriculum.env("target")] == ["easy", "easy", "middle", "middle", "target", "target"]


@pytest.mark.parametrize("threshold", [0, -1, 1.5])
def test_a_threshold_outside_the_scores_is_refused(threshold):
    with pytest.raises(LabError, match="promote_at"):
        Curriculum({"easy": "easy"}, threshold)


def test_a_ladder_without_a_threshold_is_refused():
    with pytest.raises(LabError, match="promote_at"):
        Curriculum({"easy": "easy"}, None)
