"""Functions at the end of a plan, called one by one: when they are called, their errors, checkpoints, threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.called_rows import CalledRows
from feedline.engine.run import blocks
from feedline.errors import InvalidArgumentError, InvalidTypeError


def opaque(x: Any) -> int:
    return int(x) * 2 + 1


def called(it: Any) -> CalledRows:
    found = it._cursor.called
    assert isinstance(found, CalledRows)
    return found


def test_one_call_per_element_and_blocks_below() -> None:
    calls: list[int] = []

    def counted(x: Any) -> int:
        calls.append(int(x))
        return opaque(x)

    with iter(fl.Dataset.range(1000).map(counted)) as it:
        for n in range(1, 400):
            assert next(it) == 2 * n - 1 and len(calls) == n
        assert called(it)._growth.want > 100


@pytest.mark.parametrize(
    ("result", "dtype"),
    [
        (3, np.int32),
        (2**40, np.int64),
        (-0.0, np.float32),
        (1e300, np.float32),
        (True, np.bool_),
        (2 + 1j, np.complex128),
        (np.uint8(7), np.uint8),
        ("é", bytes),
        (b"x", bytes),
    ],
)
def test_results_become_the_elements_of_blocks(result: Any, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        single = list(fl.Dataset.range(5).map(lambda x: (x, result)[1]))
        (together,) = fl.Dataset.range(5).map(lambda x: (x, result)[1]).batch(5)
    assert {type(v) for v in single} == {dtype}
    np.testing.assert_array_equal(np.array(single, together.dtype), together)
    assert [np.signbit(v) for v in single] == np.signbit(together).tolist() if dtype is np.float32 else True


def test_structures_and_arrays() -> None:
    def pair(x: Any) -> Any:
        return {"a": np.full(2, x), "b": (int(x), [1.5, 2.5])}

    expect = [{"a": np.full(2, i), "b": (np.int32(i), np.float32([1.5, 2.5]))} for i in range(6)]
    check(fl.Dataset.range(6).map(pair), expect)
    check(fl.Dataset.range(6).map(lambda x: [int(x), str(x)]), [(np.int32(i), str(i).encode()) for i in range(6)])


def test_a_kept_array_is_copied() -> None:
    kept = np.zeros(2)

    def again(x: Any) -> Any:
        kept[:] = x
        return kept

    got = list(fl.Dataset.range(4).map(again))
    assert [v.tolist() for v in got] == [[i, i] for i in range(4)]


def test_the_same_types_always() -> None:
    odd = fl.Dataset.range(6).map(lambda x: int(x) if x != 3 else float(x))
    expect = [0, 1, 2, Raises(InvalidTypeError, "element 3.*int32, then float32"), 4, 5]
    check_errors(odd, [np.int32(v) if isinstance(v, int) else v for v in expect])
    wide = fl.Dataset.range(3).map(lambda x: int(x) if x != 1 else 2**40)
    check_errors(wide, [np.int32(0), Raises(InvalidTypeError, "int32, then int64"), np.int32(2)])


def test_errors_name_their_step_and_element() -> None:
    def third(x: Any) -> int:
        if x == 5:
            raise ValueError("five")
        return int(x)

    ds = fl.Dataset.range(5).map(opaque).filter(lambda x: int(x) != 3).map(third)
    failed = Raises(InvalidArgumentError, r"map at step 4 \(.*'third'\) failed on element 1: ValueError: five")
    check_errors(ds, [np.int32(1), failed, np.int32(7), np.int32(9)])


def test_checkpoints_at_every_element() -> None:
    ds = fl.Dataset.range(40).shuffle(8, 3, reshuffle_each_iteration=False)
    ds = ds.map(opaque).filter(lambda x: int(x) % 3 != 0).map(opaque)
    expect = [int(v) for v in ds]
    states = []
    with iter(ds) as it:
        for _ in expect:
            next(it)
            states.append(it.save())
    for n, state in enumerate(states, 1):
        with iter(ds) as it:
            it.restore(state)
            assert [int(v) for v in it] == expect[n:]


def test_a_checkpoint_does_not_hold_the_rows_read_ahead() -> None:
    with iter(fl.Dataset.from_tensor_slices(np.zeros((4000, 50))).map(lambda x: int(x[0]))) as it:
        for _ in range(300):
            next(it)
        assert called(it)._before is not None
        assert len(it.save()) < 2000


def test_threads_get_each_element_once() -> None:
    got: list[int] = []
    with iter(fl.Dataset.range(3000).map(opaque)) as it:

        def take() -> None:
            for v in it:
                got.append(int(v))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(got) == [2 * i + 1 for i in range(3000)]


def test_random_numbers_are_those_of_the_row() -> None:
    def noisy(x: Any) -> int:
        return int(fl.random.element_rng(seed=1).integers(1000)) + 0 * int(x)

    ds = fl.Dataset.range(50).map(noisy)
    assert list(ds) == list(fl.Dataset.range(50).map(noisy).batch(7).unbatch())


def test_closed_by_the_function() -> None:
    def closing(x: Any) -> int:
        if x == 2:
            it.close()
        return int(x)

    it = iter(fl.Dataset.range(5).map(closing))
    assert [next(it), next(it)] == [0, 1]
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        next(it)


def small(x: Any) -> fl.Dataset[Any]:
    return fl.Dataset.from_tensor_slices(np.arange(int(x) % 3) + int(x))


def squares(x: Any) -> fl.Dataset[Any]:
    return fl.Dataset.range(int(x) % 4).map(lambda v: np.int64(int(v) ** 2))


LONGER = {
    "repeat": fl.Dataset.range(7).map(opaque).repeat(3),
    "repeat and take": fl.Dataset.range(7).map(opaque).repeat().take(17),
    "take, skip": fl.Dataset.range(40).map(opaque).skip(5).take(20).map(opaque),
    "options": fl.Dataset.range(9).map(opaque).with_options(fl.Options()),
    "take_while": fl.Dataset.range(40).map(opaque).take_while(lambda x: int(x) < 31),
    "scan": fl.Dataset.range(30).map(opaque).scan(0, lambda s, x: (int(s) + int(x), (int(s), x))),
    "arithmetic above": fl.Dataset.range(12).map(opaque).map(lambda x: x * 2).filter(lambda x: x > 6),
    "flat_map": fl.Dataset.range(20).flat_map(small),
    "flat_map of a map": fl.Dataset.range(20).map(opaque).flat_map(small).map(opaque),
    "flat_maps": fl.Dataset.range(12).flat_map(small).flat_map(small).take(25),
    "enough taken": fl.Dataset.range(9).flat_map(small).take(2).filter(lambda x: opaque(x) != 5),
    "enough, in flat_maps": fl.Dataset.range(9).flat_map(small).take(2).flat_map(small).filter(lambda x: int(x) != 3),
    "flat_map that runs": fl.Dataset.range(9).map(opaque).flat_map(squares).map(opaque),
    "flat_map, some run": fl.Dataset.range(9).flat_map(lambda x: squares(x) if x == 6 else small(x)).repeat(2),
    "all": fl.Dataset.range(6).map(opaque).flat_map(small).scan(0, lambda s, x: (int(x), x + s)).repeat(2).skip(2),
}


@pytest.mark.parametrize("name", LONGER)
def test_other_steps_above_functions(name: str) -> None:
    ds = LONGER[name]
    with iter(ds) as it:
        assert called(it)
    check(ds, list(ds.batch(1).unbatch()))


@pytest.mark.parametrize(
    "over",
    [
        lambda ds: ds.repeat(2),
        lambda ds: ds.take(4),
        lambda ds: ds.skip(1),
        lambda ds: ds.take_while(lambda x: int(x) < 13),
        lambda ds: ds.scan(0, lambda s, x: (0, x)),
        lambda ds: ds.flat_map(small),
        lambda ds: ds.flat_map(squares),
        lambda ds: ds.flat_map(small).map(opaque).take(3),
    ],
)
def test_no_call_before_its_element_is_asked_for(over: Any) -> None:
    """In blocks of one row, which no step reads ahead of, and one by one."""

    def log(one_by_one: bool) -> list[Any]:
        calls: list[Any] = []

        def counted(x: Any) -> int:
            calls.append(int(x))
            return opaque(x)

        found = []
        with blocks(None if one_by_one else 1), iter(over(fl.Dataset.range(8).map(counted))) as it:
            for value in it:
                found.append((int(value), len(calls)))
        return [*found, len(calls)]

    assert log(True) == log(False)


def test_errors_in_the_steps_above() -> None:
    def odd(x: Any) -> bool:
        if x == 7:
            raise ValueError("seven")
        return True

    maps = fl.Dataset.range(6).map(opaque)
    first, rest = [np.int32(v) for v in (1, 3, 5)], [np.int32(v) for v in (9, 11)]
    failed = Raises(InvalidArgumentError, r"take_while at step 3 \(.*'odd'\) failed on element 3: ValueError: seven")
    check_errors(maps.take_while(odd), [*first, failed, *rest])
    failed = Raises(InvalidArgumentError, r"scan at step 3 .* failed on element 3: ValueError: seven")
    check_errors(maps.scan(0, lambda s, x: (odd(x) and s, x)), [*first, failed, *rest])
    failed = Raises(InvalidArgumentError, r"flat_map at step 3 .* failed on element 3: ValueError: seven")
    check_errors(maps.flat_map(lambda x: odd(x) and fl.Dataset.from_tensors(x)).take(5), [*first, failed, *rest])
    wrong = Raises(InvalidTypeError, "must return a Dataset, got int")
    check_errors(
        maps.flat_map(lambda x: int(x) if x == 3 else fl.Dataset.from_tensors(x)),
        [np.int32(1), wrong, *(np.int32(v) for v in (5, 7, 9, 11))],
    )


def test_an_error_of_the_last_row_that_is_taken() -> None:
    def odd(x: Any) -> bool:
        return 1 // (int(x) - 2) < 2

    failed = Raises(ZeroDivisionError, r"filter at step 4 .* failed on element 1")
    check_errors(fl.Dataset.range(6).flat_map(small).take(2).filter(odd), [np.int64(1), failed])


def test_random_numbers_of_a_row_repeated() -> None:
    def repeated() -> fl.Dataset[Any]:
        noisy = fl.Dataset.range(1).map(lambda x: int(fl.random.element_rng(seed=1).integers(1000)) + 0 * int(x))
        return noisy.repeat(4)

    single = [int(v) for v in repeated()]
    assert len(set(single)) > 1
    assert single == next(iter(repeated().batch(4))).tolist()


@pytest.mark.parametrize(
    "over",
    [
        lambda ds: ds.map(opaque),
        lambda ds: ds.filter(lambda x: opaque(x) > 0),
        lambda ds: ds.take_while(lambda x: opaque(x) > 0),
        lambda ds: ds.scan(np.int64(0), lambda s, x: (s + opaque(x), s)),
        lambda ds: ds.flat_map(lambda x: fl.Dataset.from_tensors(opaque(x)).repeat(2)),
    ],
    ids=["map", "filter", "take_while", "scan", "flat_map"],
)
@pytest.mark.parametrize(
    "none", [lambda ds: ds.take(0), lambda ds: ds.skip(-1), lambda ds: ds.repeat(0)], ids=["take", "skip", "repeat"]
)
def test_an_input_that_is_never_started(over: Any, none: Any) -> None:
    ds = none(over(fl.Dataset.range(3)))
    check(ds, [])
    check(ds.map(opaque), [])


def test_datasets_made_from_rows_read_ahead_are_few() -> None:
    rows = fl.Dataset.from_tensor_slices(np.zeros((4000, 50))).flat_map(lambda x: fl.Dataset.from_tensors(int(x[0])))
    with iter(rows) as it:
        for _ in range(300):
            next(it)
        assert len(it.save()) < 2500
