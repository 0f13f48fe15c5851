from __future__ import annotations

import math

import numpy as np

from feedline.random import philox
from feedline.random.sampling import log_weights, pick, uniform


def test_log_weights_are_correctly_rounded() -> None:
    weights = np.random.default_rng(0).random(2000).astype(np.float32)
    expected = [np.float32(math.log(w)) for w in weights.tolist()]
    np.testing.assert_array_equal(log_weights(weights), expected)
    assert log_weights(np.array([0.0, 1.0])).tolist() == [-math.inf, 0.0]
    assert log_weights(weights).dtype == np.float32


def test_one_draw_by_hand() -> None:
    # The words 3128586565 and 2023892699 make u = 0.3732304216484368.
    words = np.array([3128586565, 2023892699], np.uint32)
    for first, expected in ((0.3732304216484367, 1), (0.3732304216484369, 0)):
        assert pick(words, np.log([first, 1 - first])).tolist() == [expected]


def test_choices_tensorflow_made() -> None:
    # sample_from_datasets of endless datasets 0, 1, 2, weights [0.5, 0.3, 0.2], seed=4
    words = philox.words(87654321, 4, 0, 24)
    assert pick(words, np.log([0.5, 0.3, 0.2])).tolist() == [0, 2, 0, 0, 1, 1, 1, 0, 1, 2, 0, 0]


def test_what_is_not_finite_is_never_chosen() -> None:
    words = philox.words(1, 2, 0, 400)
    some = pick(words, np.array([-np.inf, 0.0, np.nan, 0.0, np.inf]))
    assert set(some.tolist()) == {1, 3}
    np.testing.assert_array_equal(pick(words, np.zeros(2)) * 2 + 1, some)


def test_a_row_of_odds_per_draw() -> None:
    words = philox.words(1, 2, 0, 200)
    logits = np.random.default_rng(0).normal(size=(100, 5))
    logits[7, 2] = -np.inf
    rows = [int(pick(words[2 * i : 2 * i + 2], logits[i])[0]) for i in range(100)]
    got = pick(words, logits)
    assert got.dtype == np.int64 and got.tolist() == rows
    assert pick(words[:0], logits[:0]).tolist() == []


def test_odds_are_met() -> None:
    chosen = pick(philox.words(1, 2, 0, 40_000), np.log([0.7, 0.2, 0.1]))
    np.testing.assert_allclose(np.bincount(chosen) / 20_000, [0.7, 0.2, 0.1], atol=0.015)


def test_numbers_of_a_stateful_op() -> None:
    # tf.random.uniform([], seed=5) in a map, without a global seed and with set_seed(7)
    first = [0.3883112668991089, 0.31686925888061523, 0.42907261848449707, 0.05274152755737305, 0.7074710130691528]
    second = [0.8669310808181763, 0.08908021450042725, 0.985871434211731, 0.7997453212738037, 0.1684257984161377]
    assert uniform(87654321, 5, 0, 5).tolist() == first
    assert uniform(7, 5, 0, 5).tolist() == second
    assert uniform(7, 5, 3, 2).tolist() == second[3:]
    assert uniform(7, 5, 2**26, 2).dtype == np.float32
    assert uniform(7, 5, 0, 0).shape == (0,)


def test_uniform_is_the_first_word_of_every_256th_block() -> None:
    for call in (0, 1, 77, 2**24 - 1, 2**24, 2**40):
        word = int(philox.words(3, 2**40 + 1, 4 * 256 * call, 1)[0])
        assert uniform(3, 2**40 + 1, call, 1)[0] == (word & 0x7FFFFF) / 2**23
