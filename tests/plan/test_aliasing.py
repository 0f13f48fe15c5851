"""Functions that return the same mutable value again and again, with other contents: each result is kept as it was."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.harness import check, compare

import feedline as fl
from feedline.engine.run import blocks

pytestmark = pytest.mark.filterwarnings("ignore:.*__array__.*:DeprecationWarning")


class Subclass(np.ndarray):
    """An array with a type of its own, as those of `np.memmap` are."""


class Foreign:
    """A value of another library, which gives its memory as an array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def tensor(array: Any) -> Any:
    """A tensor of PyTorch in the array's memory."""
    return pytest.importorskip("torch").from_numpy(array)


def read_only(array: Any) -> Any:
    """A view that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


VIEWS: dict[str, Callable[[Any], Any]] = {
    "array": lambda a: a,
    "slice": lambda a: a[:2],
    "subclass": lambda a: a.view(Subclass),
    "read-only": read_only,
    "broadcast": lambda a: np.broadcast_to(a, (2, 3)),
    "big-endian": lambda a: a.view(">i8"),
    "scalar": lambda a: a[0, ...],
    "list in a dict": lambda a: {"a": [a, a]},
    "foreign": Foreign,
    "torch": tensor,
    "torch in a tuple": lambda a: (tensor(a), 1),
    "ragged": lambda a: fl.RaggedTensor.from_row_splits(a, [0, 1, 3]),
    "row splits": lambda a: fl.RaggedTensor.from_row_splits(np.arange(8), np.concatenate([[0], a[:1], [8]])),
    "sparse": lambda a: fl.SparseTensor(np.array([[0], [1], [2]]), a, np.array([4])),
    "memoryview": lambda a: memoryview(a).cast("B"),
}


def returns(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that gives a view of the same memory for each number."""
    memory = np.zeros(3, np.int64)
    seen = view(memory)

    def of(x: Any) -> Any:
        memory[:] = x
        return seen if not isinstance(seen, fl.RaggedTensor) else view(memory)

    return of


class Rows(fl.Source):
    """Rows that a function makes."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.element_spec = fl.Dataset.range(1).map(function).element_spec

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        return self.function(np.int64(i))


def generated(function: Callable[[Any], Any]) -> Any:
    """The values as those of a generator."""
    spec = fl.Dataset.range(1).map(function).element_spec
    return fl.Dataset.from_generator(lambda: map(function, range(4)), output_signature=spec)


WAYS: dict[str, Callable[[Any], Any]] = {
    "map": lambda f: fl.Dataset.range(4).map(f),
    "map and batch": lambda f: fl.Dataset.range(4).map(f).batch(2).unbatch(),
    "parallel map": lambda f: fl.Dataset.range(4).map(f, num_parallel_calls=1).prefetch(4),
    "scan": lambda f: fl.Dataset.range(4).scan(0, lambda state, x: (state, f(x))),
    "scan and batch": lambda f: fl.Dataset.range(4).scan(0, lambda state, x: (state, f(x))).batch(4).unbatch(),
    "from_generator": generated,
    "from_generator and batch": lambda f: generated(f).batch(4).unbatch(),
    "from_source": lambda f: fl.Dataset.from_source(Rows(f)),
}


@pytest.mark.parametrize(
    ("view", "way"), [(v, w) for v in VIEWS for w in WAYS if v != "row splits" or "batch" not in w]
)
def test_each_result_is_kept_as_it_was(view: str, way: str) -> None:
    expect = [next(iter(fl.Dataset.from_tensors(np.int64(x)).map(returns(VIEWS[view])))) for x in range(4)]
    for size in (1, 7, None):
        with blocks(size):
            compare(tuple(WAYS[way](returns(VIEWS[view]))), tuple(expect))


def test_bytes_that_change() -> None:
    memory = bytearray(b"a0")

    def of(x: Any) -> bytearray:
        memory[1] = 48 + x
        return memory

    check(lambda: fl.Dataset.range(4).map(of), [b"a0", b"a1", b"a2", b"a3"])


def test_large_rows_of_another_library_go_into_the_batch() -> None:
    torch = pytest.importorskip("torch")
    memory = torch.zeros(1 << 15)

    def of(x: Any) -> Any:
        return memory.fill_(float(x))

    got = list(fl.Dataset.range(8).map(of, num_parallel_calls=1).batch(4))
    assert [batch[:, 0].tolist() for batch in got] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [batch[:, -1].tolist() for batch in got] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_rows_of_a_memory_mapped_file_are_plain_arrays(tmp_path: Any) -> None:
    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(4, 3))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r+")
    got = list(fl.Dataset.range(4).map(lambda i: rows[i]))
    assert [type(row) for row in got] == [np.ndarray] * 4
    for row in got:
        row += 1
    compare(np.asarray(rows), np.arange(12.0).reshape(4, 3))


@pytest.mark.parametrize("restored", [False, True])
def test_subclasses_of_arrays_are_values_only(restored: bool) -> None:
    """As in TensorFlow a mask is not part of an element, wherever the element has been."""
    masked = np.ma.array([1.0, 2.0, 4.0], mask=[False, True, False])
    dataset = fl.Dataset.range(6).map(lambda _: masked).shuffle(4, seed=1).map(np.sum)
    it = iter(dataset)
    assert [next(it), next(it)] == [7.0, 7.0]
    if restored:
        state = it.save()
        it = iter(dataset)
        it.restore(state)
    assert list(it) == [7.0] * 4
    assert [len(row) for row in fl.Dataset.range(2).map(lambda _: masked).batch(2).unbatch()] == [3, 3]
    check(fl.Dataset.range(2).map(lambda _: masked).map(lambda row: row * row), [np.array([1.0, 4.0, 16.0])] * 2)


def test_states_are_those_that_were_returned() -> None:
    def running() -> Any:
        memory = np.zeros(2, np.int64)

        def add(state: Any, x: Any) -> Any:
            memory[:] = state + x
            if x == 3:
                raise ValueError("three")
            return memory, memory

        return fl.Dataset.range(6).scan(np.zeros(2, np.int64), add)

    for size in (1, 7):
        with blocks(size):
            it = iter(running().batch(1))
            assert [next(it)[0, 0] for _ in range(3)] == [0, 1, 3]
            with pytest.raises(ValueError, match="three"):
                next(it)
            assert [row[0, 0] for row in it] == [7, 12]

    memory = np.zeros(2, np.int64)

    def add(state: Any, x: Any) -> Any:
        memory[:] = state + x
        return memory

    reducer = fl.experimental.Reducer(lambda _: np.zeros(2, np.int64), add, lambda state: state)
    by_rest = fl.Dataset.range(6).apply(fl.experimental.group_by_reducer(lambda x: x % 3, reducer))
    assert [row.tolist() for row in by_rest] == [[3, 3], [5, 5], [7, 7]]


def test_a_state_that_stays_the_same_is_not_copied() -> None:
    places = set()

    def keep(state: Any, x: Any) -> Any:
        places.add(state.__array_interface__["data"])
        return state, x

    assert len(list(fl.Dataset.range(50).scan(np.zeros(1000), keep))) == 50
    assert len(places) <= 2
