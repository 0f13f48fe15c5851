"""zip."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks


class Pair(NamedTuple):
    x: Any
    y: Any


def failing(n: int, *bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return x + 0

    return fl.Dataset.range(n).map(f)


def ints(*values: int) -> tuple[Any, ...]:
    return tuple(np.int64(v) for v in values)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 3), (3, 0), (5, 5), (9, 4), (4, 9)])
def test_the_shortest_decides(a: int, b: int) -> None:
    expect = [ints(i, i + 100) for i in range(min(a, b))]
    check(fl.Dataset.zip(fl.Dataset.range(a), fl.Dataset.range(100, 100 + b)), expect)
    check(fl.Dataset.zip((fl.Dataset.range(a).filter(lambda x: x >= 0), fl.Dataset.range(100, 100 + b))), expect)


def test_inputs_that_give_blocks_of_different_lengths() -> None:
    a = fl.Dataset.range(60).filter(lambda x: x % 3 == 0)
    b = fl.Dataset.range(4).repeat()
    c = fl.Dataset.range(100).batch(7)
    expect = [(np.int64(3 * i), np.int64(i % 4), np.arange(7 * i, min(7 * i + 7, 100))) for i in range(15)]
    check(fl.Dataset.zip((a, b, c)), expect)


def test_structures() -> None:
    a, b = fl.Dataset.range(2), fl.Dataset.range(5, 8)
    nested = fl.Dataset.from_tensor_slices({"k": ["u", "v"]})
    check(fl.Dataset.zip(a), np.arange(2))
    check(fl.Dataset.zip((a,)), [ints(0), ints(1)])
    check(
        fl.Dataset.zip({"y": a, "x": (b, nested)}),
        [{"y": np.int64(i), "x": (np.int64(5 + i), {"k": s})} for i, s in ((0, "u"), (1, "v"))],
    )
    check(fl.Dataset.zip(Pair(a, b)), [Pair(*ints(0, 5)), Pair(*ints(1, 6))])
    check(fl.Dataset.zip(datasets=(a, b)), [ints(0, 5), ints(1, 6)])
    assert fl.Dataset.zip({"y": a, "x": nested}).element_spec == {
        "y": fl.TensorSpec([], fl.int64),
        "x": {"k": fl.TensorSpec([], fl.string)},
    }


def test_an_error_takes_one_element_of_every_input() -> None:
    check_errors(
        lambda: fl.Dataset.zip((failing(6, 1), failing(6, 3), fl.Dataset.range(6))),
        [
            ints(0, 0, 0),
            Raises(ValueError, "bad 1"),
            ints(2, 2, 2),
            Raises(ValueError, "bad 3"),
            ints(4, 4, 4),
            ints(5, 5, 5),
        ],
    )


def test_of_two_errors_the_first_is_raised() -> None:
    check_errors(lambda: fl.Dataset.zip((failing(2, 0), failing(2, 0, 1))), [ValueError, ValueError])
    check_errors(
        lambda: fl.Dataset.zip((fl.Dataset.range(2), failing(2, 0), failing(2, 0))), [ValueError, ints(1, 1, 1)]
    )


def test_an_end_hides_the_errors_after_it() -> None:
    check_errors(lambda: fl.Dataset.zip((failing(2), failing(5, 2))), [ints(0, 0), ints(1, 1)])


def test_an_error_hides_the_end_after_it_once() -> None:
    check_errors(lambda: fl.Dataset.zip((failing(5, 2, 3), failing(2))), [ints(0, 0), ints(1, 1), ValueError])


def test_all_inputs_are_asked_once_more_at_the_end() -> None:
    caches = [fl.Dataset.range(3).cache() for _ in range(3)]
    assert len(list(fl.Dataset.zip(tuple(caches)))) == 3
    assert all(c._plan.memory.rows is not None for c in caches)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [1, 7, None])
def test_makes_no_row_in_vain(size: int | None) -> None:
    made: list[int] = []

    def f(x: Any) -> Any:
        made.append(int(x))
        return x

    many = fl.Dataset.range(100).map(f)
    for few in (fl.Dataset.range(3), fl.Dataset.range(9).filter(lambda x: x % 3 == 0)):
        for pair in ((many, few), (few, many)):
            made.clear()
            with blocks(size):
                assert len(list(fl.Dataset.zip(pair).batch(50))) == 1
            assert made == [0, 1, 2, 3]


def test_seeds_are_drawn_from_left_to_right() -> None:
    def one() -> Any:
        ds = fl.Dataset.range(4).shuffle(4, seed=3)
        return fl.Dataset.zip((ds, ds))

    def apart() -> list[list[int]]:
        ds = fl.Dataset.range(4).shuffle(4, seed=3)
        return [[int(x) for x in ds] for _ in range(4)]

    a, b, c, d = apart()
    check(one, [ints(*p) for p in zip(a, b, strict=True)], second=[ints(*p) for p in zip(c, d, strict=True)])


def test_cardinality() -> None:
    n, endless, unknown = fl.Dataset.range(3), fl.Dataset.range(3).repeat(), fl.Dataset.range(3).filter(lambda x: x > 0)
    cases = [
        ((n, n.take(2)), 2),
        ((endless, n), 3),
        ((endless, endless), -1),
        ((n, unknown), -2),
        ((n.take(0), unknown), -2),
    ]
    for datasets, expect in cases:
        assert fl.Dataset.zip(datasets).cardinality() == expect


def test_random_access() -> None:
    plan = fl.Dataset.zip((fl.Dataset.range(5), fl.Dataset.range(10, 20)))._plan
    assert plan.indexable and plan.rows(np.array([4, 1])).rows() == [(4, 14), (1, 11)]


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((), {}, TypeError, "at least one dataset"),
        (([],), {}, TypeError, r"a Dataset at \$, got list; use a tuple"),
        (((),), {}, ValueError, "the structure is empty"),
        (({"a": 5},), {}, TypeError, r"a Dataset at \$\.a, got int"),
        ((fl.Dataset.range(1), [fl.Dataset.range(1)]), {}, TypeError, r"at \$\[1\], got list; use a tuple"),
        ((fl.Dataset.range(1),), {"datasets": fl.Dataset.range(1)}, TypeError, "not both"),
    ],
)
def test_arguments(args: Any, kwargs: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        fl.Dataset.zip(*args, **kwargs)


def test_the_inputs_of_a_dict_are_taken_by_their_keys() -> None:
    """So it is the first of the keys that tells how it ends."""

    def endless() -> Any:
        return fl.Dataset.range(2).apply(fl.experimental.assert_cardinality(fl.INFINITE_CARDINALITY))

    for pair in ({"b": endless(), "x": fl.Dataset.range(2)}, {"x": fl.Dataset.range(2), "b": endless()}):
        it = iter(fl.Dataset.zip(pair))
        assert [int(next(it)["b"]), int(next(it)["x"])] == [0, 1]
        with pytest.raises(fl.errors.FailedPreconditionError, match="assert_cardinality"):
            next(it)
    assert len(list(fl.Dataset.zip({"b": endless(), "a": fl.Dataset.range(2)}))) == 2
    assert len(list(fl.Dataset.zip({"a": fl.Dataset.range(2), 1: fl.Dataset.range(3)}))) == 2
