from __future__ import annotations

import numpy as np
import pytest

from feedline.errors import InvalidArgumentError
from feedline.kernels import reference
from feedline.random import SeedGenerator, index_shuffle
from feedline.random.index_shuffle import OP_KEY, permute


# What TensorFlow gave.
@pytest.mark.parametrize(
    ("index", "seed", "max_index", "expected"),
    [
        (
            [0, 8, 9, 15, 53, 55, 82, 88, 92, 100],
            [1126151703, 719645415],
            100,
            [54, 86, 35, 51, 1, 5, 38, 63, 72, 0],
        ),
        ([0, 1], [-699919944, -1083594158], 1, [0, 1]),
        ([0], [-1026312189, -678614277], 0, [0]),
        (
            [0, 677385057, 744807801, 1170124153, 2147483655],
            [-102963663, 467429092],
            2147483655,
            [1931092046, 207812028, 744307263, 1928893520, 329884835],
        ),
        (list(range(10)), [1, 2], 9, [5, 0, 1, 4, 3, 6, 9, 8, 7, 2]),
        ([3], [2**33 + 1, 2], 9, [4]),
        ([1, 2], [1, 2], [9, 19], [0, 1]),
        ([3, 3], [1, 2], [9, 10], [4, 4]),
    ],
)
def test_recorded_orders(index: list[int], seed: list[int], max_index: int, expected: list[int]) -> None:
    assert index_shuffle(index, seed, max_index).tolist() == expected


def test_the_result_has_the_type_of_the_index() -> None:
    one = index_shuffle(3, [1, 2], 9)
    assert one == 4 and type(one) is np.int32
    assert type(index_shuffle(3, [1, 2], 2**40)) is np.int64
    assert type(index_shuffle(np.uint64(3), np.array([1, 2]), 9)) is np.uint64
    assert index_shuffle(np.arange(4, dtype=np.int32), (1, 2), 9).dtype == np.int32
    assert index_shuffle(np.zeros(0, np.int32), (1, 2), 9).shape == (0,)
    assert index_shuffle(3, [1, 2], [9, 10]).tolist() == [4, 4]


@pytest.mark.parametrize("n", [2**16 + 1, 2**18 + 1])
def test_nothing_is_lost_where_tensorflow_loses_one(n: int) -> None:
    np.testing.assert_array_equal(np.sort(index_shuffle(np.arange(n), [1, 2], n - 1)), np.arange(n))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((11, [1, 2], 9), "max_index must be >= index, but 9 < 11"),
        ((-1, [1, 2], 9), "index must be >= 0 but was -1"),
        ((0, [1, 2], -1), "max_index must be >= 0 but was -1"),
        (([0, 1], [1, 2], [1, 2, 3]), "cannot be broadcast"),
        ((0, [1, 2, 3], 9), "seed must be two integers"),
        ((0, [1.5, 2.0], 9), "seed must be two integers"),
        ((1.5, [1, 2], 9), "index must be an integer"),
        ((1, [1, 2], "9"), "max_index must be an integer"),
        ((np.int32(1), [1, 2], 2**31), "max_index 2147483648 does not fit int32, the type of index"),
        ((np.array([1], np.uint8), [1, 2], 256), "max_index 256 does not fit uint8, the type of index"),
        ((1, [1, 2], 2**64), "max_index must be an integer"),
    ],
)
def test_refuses(arguments: tuple[object, object, object], text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^index_shuffle: .*{text}"):
        index_shuffle(*arguments)  # type: ignore[arg-type]


def test_the_order_of_global_shuffle() -> None:
    def order(generator: SeedGenerator, n: int) -> list[int]:
        (first, second), (third, _) = generator.next(), generator.next()
        return permute(np.arange(n), (first, second, third), n - 1, rounds=8).tolist()

    reshuffled = SeedGenerator(87654321, 42, True)
    assert order(reshuffled, 10) == [0, 6, 9, 4, 8, 1, 2, 5, 3, 7]
    assert order(reshuffled, 10) == [3, 9, 8, 5, 2, 7, 1, 0, 6, 4]
    # set_seed(42) and no seed of its own
    fixed = SeedGenerator(42, 478163327, False)
    assert order(fixed, 10) == order(fixed, 10) == [2, 1, 3, 5, 9, 8, 0, 6, 7, 4]


@pytest.mark.parametrize(
    ("top", "dtype", "index", "expected"),
    [
        (1152921504606846975, "int64", 0, 118793595693515914),
        (1152921504606846975, "int64", 1, 118793666560460179),
        (1152921504606846975, "int64", 384307168202282325, 1012755077502523018),
        (1152921504606846975, "int64", 1152921504606846975, 741782331076379995),
        (1152921504606846976, "int64", 0, 118793595693515914),
        (1152921504606846976, "int64", 1, 118793666560460179),
        (1152921504606846976, "int64", 384307168202282325, 1012755077502523018),
        (1152921504606846976, "int64", 1152921504606846976, 118793595693515914),
        (1152921504606846981, "int64", 0, 118793595693515914),
        (1152921504606846981, "int64", 1, 118793666560460179),
        (1152921504606846981, "int64", 384307168202282327, 1012187660786244904),
        (1152921504606846981, "int64", 1152921504606846981, 117667904086282487),
        (4611686018427387981, "int64", 0, 237587271835403569),
        (4611686018427387981, "int64", 1, 237587340554863784),
        (4611686018427387981, "int64", 1537228672809129327, 1859648580258234606),
        (4611686018427387981, "int64", 4611686018427387981, 271405277316082724),
        (9223372036854775807, "int64", 0, 7587334509751679572),
        (9223372036854775807, "int64", 1, 7591180601714404181),
        (9223372036854775807, "int64", 3074457345618258602, 7256009415986465065),
        (9223372036854775807, "int64", 9223372036854775807, 7047468833845505793),
        (9223372036854775808, "uint64", 0, 7587334509751679572),
        (9223372036854775808, "uint64", 1, 7591180601714404181),
        (9223372036854775808, "uint64", 2, 7305195437410785370),
        (9223372036854775808, "uint64", 3074457345618258602, 7256009415986465065),
        (9223372036854775808, "uint64", 9223372036854775807, 7047468833845505793),
        (9223372036854775808, "uint64", 9223372036854775808, 475174806386836542),
        (18446744073709551615, "uint64", 0, 9698546808881874079),
        (18446744073709551615, "uint64", 1, 9698546396565030278),
        (18446744073709551615, "uint64", 2, 9698546276305929917),
        (18446744073709551615, "uint64", 6148914691236517205, 8662698027724756021),
        (18446744073709551615, "uint64", 18446744073709551614, 7578805921228430663),
        (18446744073709551615, "uint64", 18446744073709551615, 7578818771771108926),
    ],
)
def test_large_maxima(top: int, dtype: str, index: int, expected: int) -> None:
    """As TensorFlow, which counts the bits in floating point."""
    got = index_shuffle(np.array(index, dtype), [5, 9], np.array(top, dtype))
    assert (int(got), got.dtype) == (expected, dtype)
    place = np.array([index], np.uint64).view(np.int64)
    assert int(reference.permute(place, OP_KEY, 5, 9, top, 4).view(np.uint64)[0]) == expected
