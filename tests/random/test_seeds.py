from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from feedline.random import SeedGenerator, function_scope, get_seed, set_seed

M = 2**31 - 1


@pytest.fixture(autouse=True)
def no_global_seed() -> Iterator[None]:
    set_seed(None)
    yield
    set_seed(None)


@pytest.mark.parametrize(
    ("global_seed", "op_seed", "pair"),
    [
        (None, 42, (87654321, 42)),
        (None, 0, (87654321, 0)),
        (None, -1, (87654321, M - 1)),
        (None, M, (87654321, 0)),
        (5, 42, (5, 42)),
        (-1, M + 3, (M - 1, 3)),
        (0, 0, (0, M)),
        (M, 2 * M, (0, M)),
        (0, 1, (0, 1)),
        (np.int64(5), np.uint8(7), (5, 7)),
        (None, np.array(7), (87654321, 7)),
        (2**70, True, (2**70 % M, 1)),
    ],
)
def test_pairs(global_seed: int | None, op_seed: int, pair: tuple[int, int]) -> None:
    set_seed(global_seed)
    assert get_seed(op_seed) == pair


def test_seedless_operators_are_numbered_by_pythons_generator() -> None:
    set_seed(7)
    assert [get_seed(None)[1] for _ in range(3)] == [1390851128, 647892279, 1695753998]
    set_seed(np.int64(7))
    assert get_seed(1) == (7, 1)
    assert get_seed(None) == (7, 1390851128)


def test_no_seed_at_all_is_random_each_time() -> None:
    pairs = {get_seed(None) for _ in range(20)}
    assert len(pairs) == 20
    assert all(0 <= number < 2**64 for pair in pairs for number in pair)
    assert max(max(pair) for pair in pairs) > 2**40


@pytest.mark.parametrize("bad", [1.5, "a", [1]])
def test_a_seed_that_is_no_integer(bad: object) -> None:
    with pytest.raises(TypeError, match="seed must be an integer or None"):
        get_seed(bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="seed must be an integer or None"):
        set_seed(bad)  # type: ignore[arg-type]


def test_inside_a_function_operators_are_counted() -> None:
    set_seed(7)
    with function_scope() as scope:
        assert [get_seed(None), get_seed(9), get_seed(None)] == [(7, 0), (7, 9), (7, 1)]
        with function_scope():
            assert get_seed(None) == (7, 0)
        assert get_seed(None) == (7, 2)
        scope.restart()
        assert get_seed(None) == (7, 0)
    assert get_seed(None) == (7, 1390851128)
    set_seed(0)
    with scope:
        scope.restart()
        assert [get_seed(None), get_seed(None)] == [(0, M), (0, 1)]


def test_inside_a_function_without_a_global_seed() -> None:
    with function_scope():
        assert get_seed(3) == (87654321, 3)
        assert get_seed(None) != get_seed(None)


def test_a_scope_ends_with_an_error_and_stays_in_its_thread() -> None:
    set_seed(7)
    with pytest.raises(KeyError), function_scope():
        raise KeyError
    with function_scope(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(get_seed, None).result() == (7, 1390851128)


def test_a_generator_that_reshuffles_walks_the_stream() -> None:
    generator = SeedGenerator(87654321, 42, True)
    assert [generator.next(), generator.next()] == [(2985944072, 4132877644), (929418493, 249609589)]
    assert generator.count == 4
    generator.count = 2
    assert generator.next() == (929418493, 249609589)


def test_a_generator_that_does_not_stays() -> None:
    generator = SeedGenerator(87654321, 42, False)
    assert [generator.next() for _ in range(3)] == [(87654321, 42)] * 3
    assert generator.count == 3


def test_generators_pickle_with_their_position() -> None:
    generator = SeedGenerator(87654321, 42, True)
    generator.next()
    copy = pickle.loads(pickle.dumps(generator))
    assert copy == generator and hash(copy) == hash(generator) and copy.count == 2
    assert copy.next() == generator.next() == (929418493, 249609589)


def test_generators_compare_by_their_seeds() -> None:
    assert SeedGenerator(1, 2, True) != SeedGenerator(1, 2, False)
    assert SeedGenerator(1, 2, True) != SeedGenerator(1, 3, True)
    assert SeedGenerator(1, 2, True) != (1, 2, True)
    assert repr(SeedGenerator(1, 2, True)) == "SeedGenerator(1, 2, reshuffle=True)"


def test_threads_never_get_the_same_pair() -> None:
    generator = SeedGenerator(1, 2, True)
    with ThreadPoolExecutor(8) as pool:
        pairs = list(pool.map(lambda _: generator.next(), range(500)))
    assert len(set(pairs)) == 500 and generator.count == 1000
