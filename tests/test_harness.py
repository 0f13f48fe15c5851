"""The harness must notice what it is there for: each test breaks one thing and expects `check` to say so."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors, compare, difference

import feedline as fl
from feedline.errors import InvalidArgumentError, NotFoundError, UnknownError
from feedline.plan.dataset_base import dataset
from feedline.plan.node import Node, node
from feedline.structure.block import Block
from feedline.structure.nest import LEAF
from feedline.structure.optional import Optional

Point = namedtuple("Point", "x y")
SPEC = fl.TensorSpec((), fl.int64)


class At(NamedTuple):
    """How many numbers have come out."""

    count: int = 0


@node
class Numbers(Node):
    """0 to n - 1; the subclasses each do one thing wrong."""

    State: ClassVar[Any] = At
    op: ClassVar[str] = "numbers"
    n: int = 5

    def spec(self) -> Any:
        return SPEC

    def cardinality(self) -> int:
        return self.n

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        stop = min(self.n, state.count + want)
        if stop == state.count:
            return None, state
        return Block([np.arange(state.count, stop)], stop - state.count, LEAF), At(stop)


@node
class SizeDependent(Numbers):
    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        block, state = super().step(state, pull, want)
        return block.slice(0, 6) if block else block, state


@node
class Forgetful(Numbers):
    """Keeps its place where no checkpoint sees it."""

    box: Any = None

    def begin(self, pull: Any) -> Any:
        object.__setattr__(self, "box", 0)
        return At()

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        block, after = super().step(At(self.box), pull, want)
        object.__setattr__(self, "box", after.count)
        return block, state


@node
class OneEpoch(Numbers):
    done: Any = None

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        if self.done and not state.count:
            return None, state
        block, state = super().step(state, pull, want)
        if block is None:
            object.__setattr__(self, "done", True)
        return block, state


@node
class SharedMemory(Numbers):
    """Hands out the same writeable array again and again."""

    rows: Any = None

    def begin(self, pull: Any) -> Any:
        object.__setattr__(self, "rows", np.zeros(2))
        return At()

    def spec(self) -> Any:
        return fl.TensorSpec((2,), fl.float64)

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        if state.count == self.n:
            return None, state
        return Block([self.rows[None]], 1, LEAF), At(state.count + 1)


@node
class WrongSpec(Numbers):
    def spec(self) -> Any:
        return fl.TensorSpec((), fl.int32)


@node
class WrongCardinality(Numbers):
    def cardinality(self) -> int:
        return 4


@node
class Unpicklable(Numbers):
    def __reduce__(self) -> Any:
        raise ValueError("no way")


@node
class Failing(Numbers):
    """Fails once, after two numbers, and goes on."""

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        if state.count == 2:
            raise fl.errors.NotFoundError("two is missing")
        return super().step(state, pull, 1)

    def after_error(self, state: Any) -> Any:
        return At(3)


FIVE = np.arange(5)


def square(x: Any) -> Any:
    return x * x


def test_a_sound_dataset_passes() -> None:
    check(dataset(Numbers()), FIVE)
    check(lambda: dataset(Numbers()), FIVE)
    check(fl.Dataset.range(5).map(square), FIVE**2)
    check(fl.Dataset.range(5).map(lambda x: x * x), FIVE**2)
    check(fl.Dataset.range(0), [])
    check(fl.Dataset.range(5).repeat(), [*FIVE, *FIVE, *FIVE[:3]], endless=True)


def test_a_long_dataset_passes() -> None:
    check(fl.Dataset.range(300), np.arange(300))


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (SizeDependent(n=9), "element 6 of 9 differs, with blocks of 7"),
        (Forgetful(), "restored at"),
        (OneEpoch(), "second epoch"),
        (WrongSpec(), "does not fit element_spec"),
        (WrongCardinality(), r"cardinality\(\) is 4, but 5 elements"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Node) else "",
)
def test_a_broken_node_is_noticed(broken: Numbers, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check(lambda: dataset(broken), np.arange(broken.n))


def test_what_does_not_pickle_is_noticed() -> None:
    with pytest.raises(ValueError, match="no way"):
        check(dataset(Unpicklable()), FIVE)


def test_memory_handed_out_twice_is_noticed() -> None:
    with pytest.raises(AssertionError, match="element 1 of 5 differs"):
        check(dataset(SharedMemory()), [np.zeros(2)] * 5)


def test_an_error_is_passed_on_with_the_way_it_was_run() -> None:
    with pytest.raises(fl.errors.NotFoundError) as caught:
        check(dataset(Failing()), FIVE)
    assert caught.value.__notes__ == ["(with blocks of 1, optimizer on)"]


@pytest.mark.parametrize(
    ("expect", "says"),
    [
        ([0, 1, 2, 3, 4], r"\$: dtype int64, expected int32"),
        (FIVE.astype(np.uint64), r"\$: dtype int64, expected uint64"),
        ([1, *FIVE[1:]], "element 0 of 5"),
        (FIVE[[0, 1, 3, 2, 4]], "element 2 of 5 differs.*values differ"),
        (FIVE[:, None], r"int64, expected an array of int64 with shape \(1,\)"),
        (list(zip(FIVE, strict=True)), r"structure \*, expected \(\*,\)|structure \(\*,\), the spec has \*"),
        ([None] * 5, "int64, expected NoneType|NoneType, the spec has"),
    ],
)
def test_a_wrong_expectation_is_noticed(expect: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=rf"(?s){says}|does not fit element_spec"):
        check(dataset(Numbers()), expect)


def test_a_missing_or_surplus_element_is_noticed() -> None:
    numbers = fl.Dataset.range(5).repeat().take(5)
    with pytest.raises(AssertionError, match=r"cardinality\(\) is 5"):
        check(numbers, FIVE[:4])
    with pytest.raises(AssertionError, match="ended after 5 of 6"):
        check(numbers, np.arange(6), endless=True)
    with pytest.raises(AssertionError, match="more than the 2 expected elements"):
        check_errors(dataset(Failing()), [*FIVE[:2]])


def test_a_wrong_second_epoch_is_noticed() -> None:
    def shuffled() -> Any:
        return fl.Dataset.range(6).shuffle(3, seed=42)

    first, second = np.array([0, 3, 4, 2, 5, 1]), np.array([0, 1, 4, 2, 3, 5])
    check(shuffled, first, second=second)
    check(shuffled, first, second=None)
    with pytest.raises(AssertionError, match="second epoch"):
        check(shuffled, first)
    with pytest.raises(TypeError, match="needs a function"):
        check(shuffled(), first, second=second)


def test_errors_in_the_middle() -> None:
    check_errors(dataset(Failing()), [*FIVE[:2], NotFoundError, *FIVE[3:]])
    check_errors(dataset(Failing()), [*FIVE[:2], Raises(NotFoundError, "two is"), *FIVE[3:]])
    for wrong, says in [
        ([*FIVE[:2], TypeError, *FIVE[3:]], "error of class NotFoundError, expected TypeError"),
        ([*FIVE[:2], Raises(NotFoundError, "three"), *FIVE[3:]], "does not match 'three'"),
        ([FIVE[0], NotFoundError, *FIVE[3:]], "an element where an error is expected"),
        ([*FIVE[:3], *FIVE[3:]], "raised NotFoundError"),
    ]:
        with pytest.raises(AssertionError, match=says):
            check_errors(dataset(Failing()), wrong)


def test_errors_of_user_functions() -> None:
    def invert(x: Any) -> Any:
        if x == 2:
            raise KeyError("two")
        if x == 3:
            raise ValueError("three")
        return -x

    check_errors(
        fl.Dataset.range(5).map(invert), [FIVE[0], -FIVE[1], Raises(KeyError, "element 2"), ValueError, -FIVE[4]]
    )
    tensorflow_classes = [Raises(UnknownError, "map at step 2"), InvalidArgumentError]
    check_errors(fl.Dataset.range(4).map(invert), [FIVE[0], -FIVE[1], *tensorflow_classes])


RAGGED = fl.RaggedTensor.from_row_splits(np.arange(3), np.array([0, 2, 3]))
SPARSE = fl.SparseTensor([[0], [2]], np.array([1.0, 2.0]), [4])


@pytest.mark.parametrize(
    ("got", "expect", "says"),
    [
        (np.int64(1), np.int64(1), ""),
        (np.float32(np.nan), np.float32(np.nan), ""),
        (np.float32(0.0), np.float32(-0.0), "values differ"),
        (np.float32(1.5), 1.5, ""),
        (np.array(1), np.int64(1), "a 0-d array"),
        (np.array([1, 2], np.int32), [1, 2], ""),
        (np.zeros((2, 1)), np.zeros((1, 2)), "shape"),
        (np.array([0.0, np.nan]), np.array([np.nan, np.nan]), "values differ"),
        (b"a", "a", ""),
        (b"a", b"b", "values differ"),
        (np.array([b"a", b""], object), [b"a", b""], ""),
        (np.array(["a"], object), [b"a"], "a str among strings"),
        ((np.int64(1),), [np.int64(1)], r"structure \(\*,\), expected \*"),
        ({"a": b"", "b": b""}, {"b": b"", "a": b""}, r"structure {a: \*, b: \*}, expected {b: \*, a: \*}"),
        ({"a": b""}, OrderedDict(a=b""), r"expected OrderedDict"),
        (Point(b"", {"z": b"1"}), Point(b"", {"z": b"2"}), r"\$\.y\.z: values differ"),
        (Point(b"", b""), (b"", b""), "structure Point"),
        (None, None, ""),
        (None, np.int64(0), "NoneType, expected int64"),
        (RAGGED, RAGGED, ""),
        (RAGGED, fl.RaggedTensor.from_row_splits(np.arange(3), np.array([0, 1, 3])), "row_splits 0: values differ"),
        (RAGGED, RAGGED.with_row_splits_dtype(np.int32), "row_splits 0: dtype"),
        (RAGGED, RAGGED.with_flat_values(np.arange(3.0)), "flat_values: dtype"),
        (RAGGED, np.arange(3), "RaggedTensor, expected an array"),
        (SPARSE, SPARSE, ""),
        (SPARSE, fl.SparseTensor([[0], [2]], np.array([1.0, 2.0]), [5]), "dense_shape: values differ"),
        (SPARSE, fl.SparseTensor([[0], [1]], np.array([1.0, 2.0]), [4]), "indices: values differ"),
        (Optional.from_value(1), Optional.from_value(1), ""),
        (Optional.from_value(1), Optional.from_value(2), "value of the optional"),
        (Optional.from_value(1), Optional.empty(SPEC), "with a value"),
        (Optional.empty(SPEC), Optional.empty(fl.TensorSpec((), fl.int32)), "an empty optional of"),
        (fl.Dataset.range(2), [np.int64(0), np.int64(1)], ""),
        (fl.Dataset.range(2), fl.Dataset.range(2), ""),
        (fl.Dataset.range(2), [np.int64(0)], "a dataset of 2 elements, expected 1"),
        (fl.Dataset.range(2), [np.int64(0), np.int64(2)], "element 1 of the dataset: .*values differ"),
        (fl.Dataset.range(2), np.arange(2), "a Dataset, expected an array"),
    ],
)
def test_compare(got: Any, expect: Any, says: str) -> None:
    if not says:
        compare(got, expect)
        return
    with pytest.raises(AssertionError, match=says):
        compare(got, expect)
    assert difference(got, expect)
