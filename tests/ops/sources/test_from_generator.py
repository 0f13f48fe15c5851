"""from_generator."""

from __future__ import annotations

import collections
import gc
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks
from feedline.structure.nest import map_structure

Point = collections.namedtuple("Point", ["x", "y"])
Image = collections.namedtuple("Image", ["pixels"])


def spec(dtype: Any, shape: Any = ()) -> fl.TensorSpec:
    return fl.TensorSpec(shape, dtype)


def of(values: Any, signature: Any) -> Any:
    return fl.Dataset.from_generator(lambda: iter(values), output_signature=signature)


def count_to_five() -> Any:
    yield from range(5)


def test_yields() -> None:
    ds = fl.Dataset.from_generator(count_to_five, output_signature=spec(fl.int64))
    check(ds, np.arange(5))
    check(ds.batch(2), [np.array([0, 1]), np.array([2, 3]), np.array([4])])
    check(ds.repeat(2), [np.int64(i) for i in [*range(5), *range(5)]])
    check(of([], spec(fl.int64)), [])
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY


def test_structures() -> None:
    signature = {"a": spec(fl.int64), "b": (spec(fl.float32), spec(fl.string))}
    values = [{"a": i, "b": (i * 1.5, f"s{i}")} for i in range(3)]
    check(of(values, signature), [{"a": np.int64(i), "b": (i * 1.5, f"s{i}")} for i in range(3)])
    other_order = of([{"b": (1.0, "x"), "a": 1}], signature)
    check(other_order, [{"a": np.int64(1), "b": (1.0, "x")}])
    check(of([Point(1, 2)], Point(spec(fl.int32), spec(fl.int32))), [Point(1, 2)])
    check(of([Point(1, 2)], (spec(fl.int32), spec(fl.int32))), [(1, 2)])
    check(of([(1, None)], (spec(fl.int32), None)), [(1, None)])


def test_structures_with_one_leaf_in_each_part() -> None:
    """A structure with as many leaves as parts is not a flat tuple for that."""
    one = spec(fl.int64)
    for part, signature in [
        (lambda i: {"image": i}, {"image": one}),
        (lambda i: (i,), (one,)),
        (lambda i: Image(i), Image(one)),
        (lambda i: {"a": ({"b": i},)}, {"a": ({"b": one},)}),
        (lambda i: {"image": [i]}, {"image": spec(fl.int64, [None])}),
    ]:
        wanted = lambda i, part=part: as_int64(part(i))  # noqa: E731
        check(
            of([(part(i), i + 10) for i in range(3)], (signature, one)),
            [(wanted(i), np.int64(i + 10)) for i in range(3)],
        )
        check(of([(part(i),) for i in range(3)], (signature,)), [(wanted(i),) for i in range(3)])
        check(of([(part(i), part(i)) for i in range(3)], (signature, signature)), [(wanted(i),) * 2 for i in range(3)])
    two = ({"a": one}, one)
    check_errors(
        of([(1, 2), ({"a": 1}, 2)], two),
        [Raises(fl.errors.InvalidArgumentError, "structure"), ({"a": np.int64(1)}, np.int64(2))],
    )
    check_errors(
        of([({"a": 1},), ({"a": 1}, 2)], two), [fl.errors.InvalidArgumentError, ({"a": np.int64(1)}, np.int64(2))]
    )


def as_int64(value: Any) -> Any:
    """The values as int64 elements."""
    return map_structure(lambda leaf: np.array(leaf, np.int64)[()], value)


def test_shapes() -> None:
    check(of([np.arange(i) for i in range(3)], spec(fl.int64, [None])), [np.arange(i) for i in range(3)])
    check(of([1, [1, 2], [[3]]], spec(fl.int32, None)), [1, [1, 2], [[3]]])
    check(of([(1, 2), [3, 4]], spec(fl.int32, [2])), [[1, 2], [3, 4]])


def test_ragged_sparse_and_datasets() -> None:
    ragged = [fl.ragged.constant([[1], [2, 3]]), fl.ragged.constant([[], []], fl.int32)]
    check(of(ragged, fl.RaggedTensorSpec([None, None], fl.int32)), ragged)
    sparse = fl.sparse.from_dense(np.array([0, 5]))
    check(of([sparse], fl.SparseTensorSpec([2], fl.int64)), [sparse])
    check(of([fl.Dataset.range(2)], fl.DatasetSpec(spec(fl.int64))), [[np.int64(0), np.int64(1)]])
    with pytest.raises(ValueError, match="does not fit"):
        list(of([[[1], [2]]], fl.RaggedTensorSpec([None, None], fl.int32)))
    with pytest.raises(ValueError, match="does not fit"):
        list(of([sparse], fl.SparseTensorSpec([3], fl.int64)))


FITS: list[tuple[Any, Any, Any]] = [
    (1, fl.int32, np.int32(1)),
    (-1, fl.int8, np.int8(-1)),
    (2**40, fl.int64, np.int64(2**40)),
    (2**63, fl.uint64, np.uint64(2**63)),
    (True, fl.int32, np.int32(1)),
    (2.0, fl.int32, np.int32(2)),
    (np.float64(3), fl.uint8, np.uint8(3)),
    (np.int64(3), fl.int32, np.int32(3)),
    (np.array(3), fl.int32, np.int32(3)),
    (np.uint8(200), fl.int64, np.int64(200)),
    (0.1, fl.float64, np.float64(0.1)),
    (0.1, fl.float32, np.float32(0.1)),
    (3, fl.float32, np.float32(3)),
    (2**70, fl.float32, np.float32(2**70)),
    (True, fl.float32, np.float32(1)),
    (1e300, fl.float32, np.float32(np.inf)),
    (1.5, fl.complex64, np.complex64(1.5)),
    (1 + 2j, fl.complex64, np.complex64(1 + 2j)),
    (True, fl.bool, np.bool_(True)),
    (np.int64(0), fl.bool, np.bool_(False)),
    ("a", fl.string, b"a"),
    (np.str_("a"), fl.string, b"a"),
    (b"\xff\x00", fl.string, b"\xff\x00"),
]


@pytest.mark.parametrize("value, dtype, expect", FITS)
def test_values_that_fit(value: Any, dtype: Any, expect: Any) -> None:
    (found,) = of([value], spec(dtype))
    assert type(found) is type(expect)
    assert found == expect
    if isinstance(value, (np.ndarray, np.generic)):
        return
    (row,) = of([[value]], spec(dtype, [1]))
    assert row.dtype == spec(dtype).dtype
    assert row[0] == expect


ODD: list[tuple[Any, Any]] = [
    (1.5, fl.int32),
    (np.float64(1.5), fl.int32),
    (2**40, fl.int32),
    (np.array(2**40), fl.int32),
    (2**70, fl.int64),
    (-1, fl.uint8),
    (300, fl.uint8),
    (float("nan"), fl.int32),
    (1e300, fl.int64),
    ("a", fl.int32),
    (None, fl.int32),
    (1 + 2j, fl.float32),
    (1, fl.bool),
    (np.int64(3), fl.bool),
    (1, fl.string),
    ({"a": 1}, fl.int32),
    ([[1], [1, 2]], fl.int32),
    (object(), fl.float32),
]


@pytest.mark.parametrize("value, dtype", ODD)
def test_values_that_do_not_fit(value: Any, dtype: Any) -> None:
    it = iter(of([value], spec(dtype, None)))
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"from_generator at step 1 .*element 0: .*does not fit"):
        next(it)
    assert list(it) == []


def test_goes_on_after_a_value_that_does_not_fit() -> None:
    wrong = Raises(ValueError, "element 1: .*'a', which does not fit int32")
    check_errors(lambda: of([1, "a", 3], spec(fl.int32)), [1, wrong, 3])
    wrong = Raises(ValueError, r"shape \[3\] where the signature says \(2,\)")
    check_errors(lambda: of([[1, 2], [1, 2, 3], [3, 4]], spec(fl.int32, [2])), [[1, 2], wrong, [3, 4]])
    pair = (spec(fl.int32), spec(fl.int32))
    wrong = Raises(ValueError, "structure differs from the signature")
    check_errors(lambda: of([(1, 2), 3, [1, 2], (1, 2, 3), (4, 5)], pair), [(1, 2), wrong, wrong, wrong, (4, 5)])
    check_errors(lambda: of([(1, 2)], Point(*pair)), [wrong])
    check_errors(lambda: of([{"a": 1}], {"a": pair[0], "b": pair[1]}), [wrong])
    at = Raises(ValueError, r"'x' at \$\[1\]")
    check_errors(lambda: of([(1, "x")], pair), [at])


def test_exceptions_of_the_generator() -> None:
    def f() -> Any:
        yield 1
        raise KeyError("boom")

    text = r"from_generator at step 1 \(test_from_generator.py:\d+ 'f'\) failed on element 1: KeyError: 'boom'"
    check_errors(lambda: fl.Dataset.from_generator(f, output_signature=spec(fl.int32)), [1, Raises(KeyError, text)])


def test_an_iterator_that_goes_on_after_an_exception() -> None:
    class Numbers:
        def __init__(self) -> None:
            self.n = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            self.n += 1
            if self.n == 2:
                raise RuntimeError("two")
            if self.n > 4:
                raise StopIteration
            return self.n

    check_errors(
        lambda: fl.Dataset.from_generator(Numbers, output_signature=spec(fl.int32)),
        [1, Raises(fl.errors.UnknownError, "two"), 3, 4],
    )


def test_a_function_that_fails_or_gives_no_iterator() -> None:
    def f() -> Any:
        raise OSError("no disk")

    no_disk = Raises(OSError, "failed: OSError: no disk")
    check_errors(lambda: fl.Dataset.from_generator(f, output_signature=spec(fl.int32)), [no_disk])
    check_errors(lambda: fl.Dataset.from_generator(lambda: 3, output_signature=spec(fl.int32)), [TypeError])


def test_arguments_become_numpy_values() -> None:
    got: list[Any] = []

    def f(*args: Any) -> Any:
        got[:] = args
        yield 1

    list(fl.Dataset.from_generator(f, output_signature=spec(fl.int32), args=(3, "p", [1, 2], 1.5)))
    assert [type(a) for a in got] == [np.int32, bytes, np.ndarray, np.float32]
    assert got[2].dtype == np.int32


def test_types_and_shapes() -> None:
    ds = fl.Dataset.from_generator(
        lambda: iter([([1, 2], "a")]), output_types=(fl.int32, fl.string), output_shapes=([2], [])
    )
    check(ds, [([1, 2], "a")])
    assert ds.element_spec == (spec(fl.int32, [2]), spec(fl.string))
    assert fl.Dataset.from_generator(count_to_five, fl.int64).element_spec == spec(fl.int64, None)
    nested = fl.Dataset.from_generator(count_to_five, {"a": fl.int64}, {"a": [None]})
    assert nested.element_spec == {"a": spec(fl.int64, [None])}


def test_wrong_arguments() -> None:
    make = fl.Dataset.from_generator
    with pytest.raises(TypeError, match=r"generator must be a function .*; give a function that returns it"):
        make([1, 2], output_signature=spec(fl.int32))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got generator; give the function itself, without calling it"):
        make(count_to_five(), output_signature=spec(fl.int64))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pass output_signature or output_types"):
        make(count_to_five)
    with pytest.raises(TypeError, match="not both"):
        make(count_to_five, fl.int32, output_signature=spec(fl.int32))
    with pytest.raises(TypeError, match="not both"):
        make(count_to_five, output_shapes=[], output_signature=spec(fl.int32))
    with pytest.raises(TypeError, match=r"must consist of specs .*, got 3 at \$\[1\]"):
        make(count_to_five, output_signature=(spec(fl.int32), 3))
    with pytest.raises(TypeError, match="must consist of specs"):
        make(count_to_five, output_signature=[spec(fl.int32)])
    with pytest.raises(TypeError, match="structure of output_types"):
        make(count_to_five, (fl.int32, fl.int32), [2])


def test_nothing_is_asked_for_too_early() -> None:
    seen: list[int] = []

    def f() -> Any:
        for i in range(9):
            seen.append(i)
            yield i

    ds = fl.Dataset.from_generator(f, output_signature=spec(fl.int64))
    it = iter(ds)
    assert seen == []
    next(it)
    assert seen == [0]
    with blocks(None):
        next(iter(ds.batch(3)))
    assert seen == [0, 0, 1, 2]


def test_is_closed_when_iteration_stops() -> None:
    log: list[str] = []

    def f() -> Any:
        try:
            yield from range(9)
        finally:
            log.append("closed")

    ds = fl.Dataset.from_generator(f, output_signature=spec(fl.int64))
    with iter(ds) as it:
        next(it)
        assert log == []
    assert log == ["closed"]
    it = iter(ds)
    next(it)
    del it
    gc.collect()
    assert log == ["closed"] * 2
    assert len(list(ds.take(2).repeat(2))) == 4
    gc.collect()
    assert log == ["closed"] * 4


def test_an_array_that_the_generator_writes_into_again() -> None:
    def f() -> Any:
        buffer = np.zeros(2, np.int64)
        for _ in range(3):
            buffer += 1
            yield buffer

    ds = fl.Dataset.from_generator(f, output_signature=spec(fl.int64, [2]))
    check(ds, [np.full(2, i) for i in (1, 2, 3)])
    check(ds.batch(3), [np.array([[1, 1], [2, 2], [3, 3]])])


def test_a_restored_iterator_runs_the_generator_again() -> None:
    runs: list[int] = []

    def f() -> Any:
        runs.append(len(runs))
        yield from range(5)

    ds = fl.Dataset.from_generator(f, output_signature=spec(fl.int64))
    with iter(ds) as it:
        assert [next(it), next(it)] == [0, 1]
        state = it.save()
    with iter(ds) as it:
        it.restore(state)
        assert list(it) == [2, 3, 4]
    assert runs == [0, 1]


class Walk:
    """An iterator that can say where it is."""

    starts = 0

    def __init__(self, n: int) -> None:
        self.n, self.at = n, 0
        Walk.starts += 1

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> int:
        if self.at >= self.n:
            raise StopIteration
        self.at += 1
        return self.at - 1


class Torch(Walk):
    def state_dict(self) -> dict[str, Any]:
        return {"at": [self.at], "n": (1, None)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        assert state["n"] == (1, None)
        (self.at,) = state["at"]


class Grain(Walk):
    def get_state(self) -> int:
        return self.at

    def set_state(self, state: int) -> None:
        self.at = state


@pytest.mark.parametrize("kind", [Torch, Grain])
def test_a_generator_that_says_where_it_is_goes_there(kind: type[Walk]) -> None:
    def make() -> Any:
        return fl.Dataset.from_generator(lambda: kind(9), output_signature=fl.TensorSpec([], fl.int64))

    check(make, np.arange(9))
    asked: list[int] = []

    class Told(kind):  # type: ignore[misc, valid-type]
        def __next__(self) -> int:
            asked.append(self.at)
            return int(super().__next__())

    def told() -> Any:
        return fl.Dataset.from_generator(lambda: Told(9), output_signature=fl.TensorSpec([], fl.int64))

    it, other = iter(told()), iter(told())
    for _ in range(4):
        next(it)
    state = it.save()
    del asked[:]
    other.restore(state)
    assert next(other) == 4 and asked == [4]


def test_a_generator_that_gives_less_than_before_is_told() -> None:
    length = [9]

    def make() -> Any:
        signature = fl.TensorSpec([], fl.int64)
        return fl.Dataset.from_generator(lambda: iter(range(length[0])), output_signature=signature)

    it = iter(make())
    for _ in range(5):
        next(it)
    state = it.save()
    length[0] = 3
    other = iter(make())
    other.restore(state)
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"yielded 5 values before .* ends after 3 now"):
        next(other)
    said = iter(fl.Dataset.from_generator(lambda: Grain(9), output_signature=fl.TensorSpec([], fl.int64)))
    next(said)
    other = iter(make())
    other.load_state_dict(said.state_dict(), strict=False)
    with pytest.raises(fl.errors.FailedPreconditionError, match="has no load_state_dict"):
        next(other)


@pytest.mark.parametrize("keeps", ["array", "tuple", "view", "local", "nothing"])
def test_a_generator_may_write_into_what_it_has_yielded(keeps: str) -> None:
    def values() -> Any:
        array, label = np.zeros(2), np.int32(0)
        pair = array, label
        for i in range(4):
            if keeps == "nothing":
                yield np.full(2, float(i)), label
                continue
            array = np.zeros(2) if keeps == "local" else array
            array[:] = i
            yield pair if keeps == "tuple" else (array[:] if keeps == "view" else array, label)
            array[:] = 9

    signature = (fl.TensorSpec([None], fl.float64), fl.TensorSpec([], fl.int32))
    ((rows, _),) = fl.Dataset.from_generator(values, output_signature=signature).batch(4)
    assert rows.tolist() == [[i, i] for i in range(4)]
    alone = fl.Dataset.from_generator(lambda: (a for a, _ in values()), output_signature=signature[0])
    assert next(iter(alone.batch(4))).tolist() == [[i, i] for i in range(4)]
