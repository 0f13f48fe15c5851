"""Functions at the end of a plan, called one by one: when they are called, their errors, checkpoints, threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.called_rows import CalledRows
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
