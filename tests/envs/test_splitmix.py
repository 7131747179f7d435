"""Random numbers of compiled kernels."""

import numpy as np
import pytest

from src.envs.splitmix import below, next_word, seed_word

SOURCE = np.dtype([("random", np.uint64)])


def test_words_are_those_of_the_published_generator():
    source = np.zeros(1, SOURCE)
    assert [int(next_word(source[0])) for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("bound", [7, 7 * 2**28])  # the large one is where a biased draw would show
def test_below_reaches_every_number_alike(bound: int):
    source = np.array([(seed_word(0),)], SOURCE)
    counts = np.bincount([below(source[0], bound) % 7 for _ in range(70_000)], minlength=7)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 22.5, "6 degrees of freedom, one in a thousand"


def test_every_seed_has_a_word_of_its_own():
    assert len({int(seed_word(seed)) for seed in range(1000)}) == 1000
