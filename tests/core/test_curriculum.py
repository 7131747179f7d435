import pytest

from src.core.errors import UserError
from src.core.play.curriculum import Curriculum, Mixture


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


@pytest.mark.parametrize("threshold", [0, -1, 1.5, None])
def test_a_threshold_outside_the_scores_is_refused(threshold):
    with pytest.raises(UserError, match="promote_at"):
        Curriculum({"easy": "easy"}, threshold)


def test_a_mixture_trains_in_all_environments_and_never_climbs():
    mixture = Mixture({"b": "env b", "c": "env c"})
    mixture.record(1.0)
    assert mixture.env("target") == "target"
    assert mixture.all("target") == ["target", "env b", "env c"]
    assert mixture.mixture("target") == [("target", 1 / 3), ("env b", 1 / 3), ("env c", 1 / 3)]
    assert mixture.smallest_share == pytest.approx(1 / 3)


def test_a_mixture_of_one_is_refused():
    with pytest.raises(UserError, match="others is empty"):
        Mixture({})


def test_the_smallest_share_when_all_stages_are_completed():
    assert Curriculum({}, None).smallest_share == 1
    assert Curriculum({"a": 0, "b": 1}, 0.5, keep=0.3).smallest_share == pytest.approx(0.15)
