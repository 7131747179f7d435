import numpy as np
import pytest

from src.core.errors import UserError
from src.core.seeding import draw, generator


def test_the_same_name_gives_the_same_stream():
    assert generator(3, "training").random(5).tolist() == generator(3, "training").random(5).tolist()


def test_names_and_seeds_keep_streams_apart():
    streams = [
        generator(seed, *names).integers(0, 2**63, 4).tolist()
        for seed in (0, 1, 2)
        for names in [("training",), ("evaluation", 0), ("evaluation", 1), ("evaluation/0", "x")]
    ]
    assert len({tuple(stream) for stream in streams}) == len(streams)


def test_seed_zero_is_a_seed_like_any_other():
    assert generator(0, "a").random() != generator(1, "a").random()


def test_a_negative_seed_is_refused():
    with pytest.raises(UserError, match="seed=-1"):
        generator(-1, "a")


def test_draw_is_uniform():
    rng = np.random.default_rng(0)
    counts = np.bincount([draw(rng, [0, 1, 2, 3]) for _ in range(4000)])
    assert counts.min() > 880  # the expectation is 1,000, the standard deviation 27
