"""structure/values.py: what Python and NumPy values become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.structure.values import element_of, leaf_of


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, "int32", ()),
        (2**31, "int64", ()),
        (1.5, "float32", ()),
        (True, "bool", ()),
        (1j, "complex128", ()),
        ([1, 2], "int32", (2,)),
        ([1, 2**40], "int64", (2,)),
        ([1, 2.5], "float32", (2,)),
        ([[1], [2]], "int32", (2, 1)),
        ([(1, 2), (3, 4)], "int32", (2, 2)),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        (["a", b"b"], "object", (2,)),
        ([["a"], ["b"]], "object", (2, 1)),
        ([True, False], "bool", (2,)),
        (range(3), "int32", (3,)),
        (np.arange(3, dtype=">i4"), "int32", (3,)),
        (np.float64(2), "float64", ()),
        ([np.int64(1), 2], "int64", (2,)),
        ([np.zeros(2), np.ones(2)], "float64", (2, 2)),
        (np.array("x"), None, ()),
    ],
)
def test_tensorflows_dtypes(value: Any, dtype: str | None, shape: tuple[int, ...]) -> None:
    leaf = leaf_of(value)
    if dtype is None:
        assert leaf == b"x"
        return
    assert str(leaf.dtype) == dtype and leaf.shape == shape and leaf.dtype.isnative


@pytest.mark.parametrize(
    ("value", "leaf"),
    [("é", "é".encode()), (b"\x00", b"\x00"), (np.str_("a"), b"a"), (np.bytes_(b"a"), b"a"), (bytearray(b"q"), b"q")],
)
def test_strings_become_bytes(value: Any, leaf: bytes) -> None:
    assert leaf_of(value) == leaf and type(leaf_of(value)) is bytes


@pytest.mark.parametrize(
    "value",
    [
        [True, 2],
        ["a", 1],
        [1, None],
        [[1, 2], [3]],
        [["a"], ["b", "c"]],
        2**70,
        [2**70],
        object(),
        {1, 2},
        np.array([1, "a"], object),
        np.array(["2020-01-01"], "datetime64[D]"),
        [np.zeros(1), np.zeros(1, np.int32)],
    ],
)
def test_what_is_no_element(value: Any) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError) as caught:
        leaf_of(value)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) > 20


class Array:
    """Something of another library that can become an array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return self.array


class Device(Array):
    """The same through DLPack."""

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Stubborn(Array):
    """DLPack that fails, as for tensors on a device NumPy cannot reach; `__array__` still works."""

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("not here")

    def __dlpack_device__(self) -> Any:
        return (1, 0)


class Text(Array):
    """A tensor of strings as TensorFlow has it: asking it for DLPack ends the process."""

    class dtype:
        name = "string"

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise SystemExit("the process has ended")

    __dlpack_device__ = __dlpack__


def test_strings_of_other_libraries() -> None:
    assert leaf_of(Text(np.array([b"a", b"bc"], object))).tolist() == [b"a", b"bc"]
    assert list(fl.Dataset.range(1).map(lambda x: Text(np.array(b"a", object)))) == [b"a"]


@pytest.mark.parametrize("kind", [Array, Device, Stubborn])
def test_arrays_of_other_libraries(kind: type[Array]) -> None:
    source = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert np.array_equal(leaf_of(kind(source)), source)
    rows = list(fl.Dataset.from_tensor_slices(kind(source)))
    assert len(rows) == 3 and rows[2].tolist() == [4.0, 5.0]


def test_dlpack_shares_memory() -> None:
    source = np.zeros(4)
    assert np.shares_memory(leaf_of(Device(source)), source)


def test_element_of_keeps_structure() -> None:
    element = element_of({"a": 1, "b": (2.0, None, ["x"])})
    assert element["a"].dtype == np.int32 and element["b"][0].dtype == np.float32
    assert element["b"][1] is None and element["b"][2].tolist() == [b"x"]
