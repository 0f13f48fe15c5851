from __future__ import annotations

import numpy as np

from feedline.random import philox


def test_the_stream_of_dataset_random() -> None:
    expected = [3128586565, 2023892699, 452966358, 4293674553, 1485036815, 119868753]
    assert philox.words(87654321, 4, 0, 6).tolist() == expected


def test_random_access() -> None:
    whole = philox.words(1, 2, 0, 40)
    for start in range(20):
        np.testing.assert_array_equal(philox.words(1, 2, start, 20), whole[start : start + 20])


def test_seeds_count_modulo_two_to_the_64() -> None:
    np.testing.assert_array_equal(philox.words(-1, 2**64 + 5, 0, 8), philox.words(2**64 - 1, 5, 0, 8))
