from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.errors import InvalidArgumentError
from feedline.structure import ragged, types
from feedline.structure.ragged import RaggedTensor, concat, constant, gather, rows, stack_rows

RT = constant([[1, 2], [], [3, 4, 5]])
R3 = constant([[[1], [2, 3]], [], [[4]]])
INNER = constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)

nested_lists = st.lists(st.lists(st.lists(st.integers(-9, 9), max_size=3), max_size=3), max_size=4)


def test_parts() -> None:
    assert RT.values.tolist() == [1, 2, 3, 4, 5]
    assert RT.values.dtype == RT.dtype == np.int32
    assert RT.row_splits.tolist() == [0, 2, 2, 5]
    assert RT.row_splits.dtype == np.int64
    assert [s.tolist() for s in R3.nested_row_splits] == [[0, 2, 2, 3], [0, 1, 3, 4]]
    assert R3.flat_values.tolist() == [1, 2, 3, 4]
    assert isinstance(R3.values, RaggedTensor)
    assert (RT.ragged_rank, R3.ragged_rank, INNER.ragged_rank) == (1, 2, 1)
    assert (RT.shape, R3.shape, INNER.shape) == ((3, None), (3, None, None), (2, None, 2))
    assert RT.uniform_row_length is None


def test_the_constructor_points_to_the_methods() -> None:
    with pytest.raises(InvalidArgumentError, match="from_row_splits"):
        RaggedTensor([1], [0, 1])


# -- constant


@pytest.mark.parametrize(
    ("pylist", "arguments", "shape"),
    [
        ([[]], {}, (1, None)),
        ([[1, 2], [3, 4]], {}, (2, None)),
        ([[], [[]]], {}, (2, None, None)),
        ([[], [[], [[]]]], {}, (2, None, None, None)),
        ([[], [[]]], {"ragged_rank": 1}, (2, None, 0)),
        ([[], []], {"ragged_rank": 1, "inner_shape": (3,)}, (2, None, 3)),
        ([[], []], {"ragged_rank": 2}, (2, None, None)),
        ([], {"ragged_rank": 1}, (0, None)),
        ([[[1, 2]], [[3, 4], [5, 6]]], {"inner_shape": (2,)}, (2, None, 2)),
        ([[[[1, 2], [3, 4]]], []], {"ragged_rank": 1}, (2, None, 2, 2)),
        ([[[[1, 2], [3, 4]]], []], {"ragged_rank": 2}, (2, None, None, 2)),
        ([np.array([[1, 2]]), np.array([[3, 4], [5, 6]])], {"ragged_rank": 1}, (2, None, 2)),
        (np.array([[1, 2], [3, 4]]), {}, (2, None)),
    ],
)
def test_constant_shapes(pylist: Any, arguments: dict[str, Any], shape: tuple[int | None, ...]) -> None:
    made = constant(pylist, **arguments)
    assert made.shape == shape
    assert made.to_list() == (pylist.tolist() if isinstance(pylist, np.ndarray) else np_free(pylist))


def np_free(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [np_free(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("pylist", "dtype", "want"),
    [
        ([[1], [2.5]], None, np.float32),
        ([[2**40]], None, np.int64),
        ([["a"], [b"b"]], None, object),
        ([[True]], None, np.bool_),
        ([[]], None, np.float32),
        ([[1]], types.int64, np.int64),
        ([[1]], np.float64, np.float64),
        ([[]], types.string, object),
        ([np.array([1, 2]), np.array([3])], None, np.int32),
        ([np.array([1.0, 2]), [3]], None, np.float64),
    ],
)
def test_constant_dtypes(pylist: Any, dtype: Any, want: Any) -> None:
    assert constant(pylist, dtype).dtype == want


@pytest.mark.parametrize("pylist", [5, "a", [], [1, 2]])
def test_constant_without_ragged_dimension_is_an_array(pylist: Any) -> None:
    made = constant(pylist)
    assert isinstance(made, np.ndarray)
    assert made.ndim == (1 if isinstance(pylist, list) else 0)
    assert constant([[1, 2]], ragged_rank=0).tolist() == [[1, 2]]
    assert constant([1, 2], inner_shape=(2,)).tolist() == [1, 2]


def test_constant_splits_dtype() -> None:
    assert constant([[[1]]], row_splits_dtype=types.int32).nested_row_splits[1].dtype == np.int32


@pytest.mark.parametrize(
    ("pylist", "arguments", "message"),
    [
        ([[1], ["a"]], {}, "mix"),
        ([[1], 2], {}, "same nesting"),
        ([[1], [[]]], {}, "deeper than the values"),
        ([[[1, 2]], [[3, 4], [5]]], {"ragged_rank": 1}, "differ in length"),
        ([[1], [2, 3]], {"ragged_rank": 0}, "differ in length"),
        ([[1], [2, 3]], {"ragged_rank": 2}, "nested deeper"),
        ([[1], [2, 3]], {"ragged_rank": -1}, "0 or more"),
        (5, {"ragged_rank": 1}, "nested deeper"),
        ([[[1, 2]]], {"ragged_rank": 1, "inner_shape": (3,)}, "inner_shape"),
        ([[[1, 2]]], {"ragged_rank": 2, "inner_shape": (2,)}, "inner_shape"),
        ([[1]], {"row_splits_dtype": np.float32}, "int32 or int64"),
    ],
)
def test_constant_errors(pylist: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        constant(pylist, **arguments)


@settings(max_examples=60, deadline=None)
@given(nested_lists)
def test_constant_and_to_list_are_inverse(pylist: list[Any]) -> None:
    made = constant(pylist, np.int32, ragged_rank=2)
    assert made.to_list() == pylist
    assert stack_rows(rows(made), 2).equals(made) if pylist else len(made) == 0


# -- from parts


def test_from_partitions() -> None:
    want = [[1], [], [2, 3]]
    assert RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 1, 3]).to_list() == want
    assert RaggedTensor.from_row_lengths([1, 2, 3], [1, 0, 2]).to_list() == want
    assert RaggedTensor.from_row_starts([1, 2, 3], [0, 1, 1]).to_list() == want
    assert RaggedTensor.from_row_limits([1, 2, 3], [1, 1, 3]).to_list() == want
    assert RaggedTensor.from_value_rowids([1, 2, 3], [0, 2, 2]).to_list() == want
    assert RaggedTensor.from_value_rowids([], [], nrows=2).to_list() == [[], []]
    assert RaggedTensor.from_row_lengths([], []).to_list() == []
    assert RaggedTensor.from_row_splits([1, 2, 3], [0, 2], validate=False).to_list() == [[1, 2]]
    assert RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 2], [0, 1, 3]]).to_list() == [[[1], [2, 3]]]
    assert RaggedTensor.from_nested_row_splits([1, 2], []).tolist() == [1, 2]


def test_bad_partitions_raise() -> None:
    with pytest.raises(InvalidArgumentError, match="end with the number of values 3, got 2"):
        RaggedTensor.from_row_splits([1, 2, 3], [0, 2])
    with pytest.raises(InvalidArgumentError, match="at least one dimension"):
        RaggedTensor.from_row_splits(5, [0])


def test_splits_follow_the_nested_ones() -> None:
    inner = constant([[1]], row_splits_dtype=np.int32)
    assert RaggedTensor.from_row_splits(inner, np.array([0, 1], np.int64)).row_splits.dtype == np.int32
    assert constant([[1]]).with_values(inner).row_splits.dtype == np.int32


def test_memory_is_shared() -> None:
    values, splits = np.arange(5), np.array([0, 2, 5])
    values.flags.writeable = False
    made = RaggedTensor.from_row_splits(values, splits)
    assert made.values is values
    assert made.row_splits is splits
    for row in rows(made):
        assert np.shares_memory(row, values)
        assert not row.flags.writeable
    nested = RaggedTensor.from_row_splits(made, [0, 1, 2])
    assert np.shares_memory(rows(nested)[1].values, values)
    assert np.shares_memory(nested[1:].flat_values, values)
    assert np.shares_memory(RaggedTensor.from_tensor(values.reshape(1, 5)).values, values)


# -- from_tensor


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ({}, [[1, 2, 0], [0, 3, 0], [0, 0, 0]]),
        ({"padding": 0}, [[1, 2], [0, 3], []]),
        ({"lengths": [1, 0, 9]}, [[1], [], [0, 0, 0]]),
        ({"lengths": [-1, 1, 2]}, [[], [0], [0, 0]]),
        ({"lengths": ([1, 0, 1],)}, [[1], [], [0]]),
    ],
)
def test_from_tensor(arguments: dict[str, Any], want: list[list[int]]) -> None:
    assert RaggedTensor.from_tensor([[1, 2, 0], [0, 3, 0], [0, 0, 0]], **arguments).to_list() == want


def test_from_tensor_deeper() -> None:
    cube = np.array([[[1, 2], [0, 0]], [[3, 4], [5, 0]]])
    assert RaggedTensor.from_tensor(cube, padding=[0, 0]).to_list() == [[[1, 2]], [[3, 4], [5, 0]]]
    both = RaggedTensor.from_tensor(cube, ragged_rank=2, padding=0, row_splits_dtype=np.int32)
    assert both.to_list() == [[[1, 2], []], [[3, 4], [5]]]
    assert [s.dtype for s in both.nested_row_splits] == [np.int32, np.int32]
    assert RaggedTensor.from_tensor(cube, ragged_rank=2).to_list() == cube.tolist()
    assert RaggedTensor.from_tensor(cube, lengths=([1, 2], [1, 2, 1])).to_list() == [[[1]], [[3, 4], [5]]]
    empty = RaggedTensor.from_tensor(np.zeros((2, 0, 3)), ragged_rank=2)
    assert [s.tolist() for s in empty.nested_row_splits] == [[0, 0, 0], [0]]
    assert RaggedTensor.from_tensor([["a", ""], ["", ""]], padding="").to_list() == [[b"a"], []]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ragged_rank": 0}, "at least 1"),
        ({"ragged_rank": 2}, "less than the rank 2"),
        ({"lengths": [1]}, "each of 2 rows"),
        ({"lengths": 5}, "each of 2 rows"),
        ({"lengths": [1, 2], "padding": 0}, "not both"),
        ({"lengths": [1.0, 2.0]}, "float values cannot be converted to int64"),
        ({"padding": [0]}, r"shape \(\) of one value"),
        ({"padding": 1.5}, "float values cannot be converted to int32"),
    ],
)
def test_from_tensor_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RaggedTensor.from_tensor([[1, 2], [3, 4]], **arguments)


# -- lengths and shapes


def test_lengths() -> None:
    assert RT.row_lengths().tolist() == [2, 0, 3]
    assert RT.row_starts().tolist() == [0, 2, 2]
    assert RT.row_limits().tolist() == [2, 2, 5]
    assert RT.value_rowids().tolist() == [0, 0, 2, 2, 2]
    assert RT.row_lengths(axis=0) == RT.nrows() == 3
    assert R3.row_lengths(axis=2).to_list() == R3.row_lengths(axis=-1).to_list() == [[1, 2], [], [1]]
    assert INNER.row_lengths(axis=2).to_list() == [[2], [2, 2]]
    with pytest.raises(ValueError, match="axis"):
        RT.row_lengths(axis=2)


def test_counts_have_the_dtype_of_the_splits() -> None:
    small = RT.with_row_splits_dtype(np.int32)
    assert isinstance(RT.nrows(), np.int64)
    assert isinstance(small.nrows(), np.int32)
    assert isinstance(RT.nrows(out_type=types.int32), np.int32)
    assert small.row_lengths().dtype == small.value_rowids().dtype == small.bounding_shape().dtype == np.int32


def test_bounding_shape() -> None:
    assert R3.bounding_shape().tolist() == [3, 2, 2]
    assert INNER.bounding_shape().tolist() == [2, 2, 2]
    assert constant([], ragged_rank=1).bounding_shape().tolist() == [0, 0]
    assert RT.bounding_shape(axis=1) == 3
    assert R3.bounding_shape(axis=[0, 2], out_type=np.int32).tolist() == [3, 2]
    with pytest.raises(ValueError, match="axis"):
        RT.bounding_shape(axis=2)


# -- to_tensor


@pytest.mark.parametrize(
    ("tensor", "arguments", "want"),
    [
        (RT, {}, [[1, 2, 0], [0, 0, 0], [3, 4, 5]]),
        (RT, {"default_value": -1, "shape": [2, 4]}, [[1, 2, -1, -1], [-1, -1, -1, -1]]),
        (RT, {"shape": [None, 2]}, [[1, 2], [0, 0], [3, 4]]),
        (RT, {"shape": [4, None]}, [[1, 2, 0], [0, 0, 0], [3, 4, 5], [0, 0, 0]]),
        (RT, {"shape": [0, 0]}, []),
        (R3, {}, [[[1, 0], [2, 3]], [[0, 0], [0, 0]], [[4, 0], [0, 0]]]),
        (R3, {"default_value": 9, "shape": [None, 1, 3]}, [[[1, 9, 9]], [[9, 9, 9]], [[4, 9, 9]]]),
        (INNER, {"default_value": [8, 9]}, [[[1, 2], [8, 9]], [[3, 4], [5, 6]]]),
        (INNER, {"default_value": [8]}, [[[1, 2], [8, 8]], [[3, 4], [5, 6]]]),
        (constant([["a"], ["b", "c"]]), {}, [[b"a", b""], [b"b", b"c"]]),
        (constant([["a"], ["b", "c"]]), {"default_value": "x"}, [[b"a", b"x"], [b"b", b"c"]]),
        (constant([[True], []]), {}, [[True], [False]]),
        (constant([], ragged_rank=1), {"shape": [2, 2]}, [[0, 0], [0, 0]]),
        (constant([[]], ragged_rank=2), {"shape": [1, None, 2]}, [[]]),
    ],
)
def test_to_tensor(tensor: RaggedTensor, arguments: dict[str, Any], want: list[Any]) -> None:
    made = tensor.to_tensor(**arguments)
    assert made.tolist() == want
    assert made.dtype == tensor.dtype


@pytest.mark.parametrize(
    ("tensor", "arguments", "message"),
    [
        (RT, {"default_value": 1.5}, "float values cannot be converted to int32"),
        (RT, {"default_value": [1, 2]}, "default_value with shape"),
        (INNER, {"default_value": [1, 2, 3]}, "default_value with shape"),
        (RT, {"shape": [None]}, "rank 2"),
        (RT, {"shape": 3}, "rank 2"),
        (RT, {"shape": [-1, 2]}, "0 or more"),
        (INNER, {"shape": [None, None, 3]}, r"end in \[2\]"),
    ],
)
def test_to_tensor_errors(tensor: RaggedTensor, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tensor.to_tensor(**arguments)


def test_numpy() -> None:
    made = RT.numpy()
    assert made.dtype == object
    assert [row.tolist() for row in made] == RT.to_list()
    assert constant([[1], [2]]).numpy().tolist() == [[1], [2]]
    assert constant([[1], [2]]).numpy().dtype == np.int32
    assert constant([], ragged_rank=1).numpy().shape == (0, 0)
    deep = R3.numpy()
    assert [[row.tolist() for row in rows_] for rows_ in deep] == R3.to_list()
    assert INNER.numpy()[1].tolist() == [[3, 4], [5, 6]]


def test_with_values() -> None:
    assert RT.with_values([1, 2, 3, 4, 9]).to_list() == [[1, 2], [], [3, 4, 9]]
    assert R3.with_flat_values(["a", "b", "c", "d"]).to_list() == [[[b"a"], [b"b", b"c"]], [], [[b"d"]]]
    with pytest.raises(ValueError, match="must have 5 rows"):
        RT.with_values([1, 2, 3])


# -- indexing


@pytest.mark.parametrize(
    ("tensor", "key", "want"),
    [
        (RT, 0, [1, 2]),
        (RT, -1, [3, 4, 5]),
        (RT, np.int64(2), [3, 4, 5]),
        (RT, (0, 1), 2),
        (RT, (2, slice(1, None)), [4, 5]),
        (RT, slice(1, None), [[], [3, 4, 5]]),
        (RT, slice(5, None), []),
        (RT, slice(None, None, -1), [[3, 4, 5], [], [1, 2]]),
        (RT, (slice(None), slice(None, 1)), [[1], [], [3]]),
        (RT, (slice(None), slice(None, None, -1)), [[2, 1], [], [5, 4, 3]]),
        (RT, (slice(None), slice(-2, None)), [[1, 2], [], [4, 5]]),
        (RT, Ellipsis, [[1, 2], [], [3, 4, 5]]),
        (RT, (Ellipsis, slice(None, 1)), [[1], [], [3]]),
        (RT, None, [[[1, 2], [], [3, 4, 5]]]),
        (RT, (None, 0), [[1, 2]]),
        (RT, (slice(None), None), [[[1, 2]], [[]], [[3, 4, 5]]]),
        (RT, (Ellipsis, None), [[[1], [2]], [], [[3], [4], [5]]]),
        (R3, 0, [[1], [2, 3]]),
        (R3, (0, 1, 0), 2),
        (R3, (slice(None), slice(None), slice(None, 1)), [[[1], [2]], [], [[4]]]),
        (R3, (slice(1, None), slice(0, 1)), [[], [[4]]]),
        (R3, (0, slice(None), slice(None, 1)), [[1], [2]]),
        (INNER, (slice(None), slice(None), 0), [[1], [3, 5]]),
        (INNER, 1, [[3, 4], [5, 6]]),
    ],
)
def test_getitem(tensor: RaggedTensor, key: Any, want: Any) -> None:
    got = tensor[key]
    assert (got.to_list() if isinstance(got, RaggedTensor) else got.tolist()) == want


def test_getitem_errors() -> None:
    for key in (3, -4, (0, 5), (0, 0, 0)):
        with pytest.raises(IndexError):
            RT[key]
    for key in (1.5, "a", [0, 1], np.array([0, 1])):
        with pytest.raises(TypeError):
            RT[key]
    with pytest.raises(ValueError, match="not every row of a ragged dimension has an item 0; use a slice"):
        RT[:, 0]
    with pytest.raises(ValueError, match="step"):
        RT[:, ::0]
    with pytest.raises(ValueError, match=r"only one \.\.\."):
        RT[..., ...]


def test_rows_and_iteration() -> None:
    assert len(RT) == 3
    assert [row.tolist() for row in RT] == [[1, 2], [], [3, 4, 5]]
    assert [row.to_list() for row in R3] == [[[1], [2, 3]], [], [[4]]]
    assert all(row.row_splits[0] == 0 for row in R3)
    with pytest.raises(TypeError, match="truth value"):
        bool(RT)


# -- operators


def test_arithmetic() -> None:
    assert (RT + 1).to_list() == (1 + RT).to_list() == [[2, 3], [], [4, 5, 6]]
    assert (RT * RT).to_list() == [[1, 4], [], [9, 16, 25]]
    assert (RT + 1).dtype == np.int32
    assert (-R3).to_list() == [[[-1], [-2, -3]], [], [[-4]]]
    assert (np.array([10, 100]) * INNER).to_list() == [[[10, 200]], [[30, 400], [50, 600]]]
    assert [part.to_list() for part in divmod(RT, 2)] == [[[0, 1], [], [1, 2, 2]], [[1, 0], [], [1, 0, 1]]]
    with pytest.raises(ValueError, match="same row lengths"):
        RT + constant([[1], [], [1]])
    with pytest.raises(ValueError, match="cannot be broadcast"):
        RT + np.ones((3, 1))


def test_comparison() -> None:
    assert (RT == 3).to_list() == [[False, False], [], [True, False, False]]
    assert (RT != RT).to_list() == [[False, False], [], [False, False, False]]
    assert (constant([["a", "b"]]) == "a").to_list() == [[True, False]]
    assert (constant([["a", "b"]]) == b"a").dtype == np.bool_
    tensor = constant([[1, 2], [], [3]])
    for other in (None, "a", constant([[1, 2], [9], [3]]), R3):
        assert (tensor == other) is False
        assert (tensor != other) is True
    with pytest.raises(TypeError, match="unhashable"):
        hash(RT)


def test_equals() -> None:
    assert RT.equals(constant([[1, 2], [], [3, 4, 5]]))
    assert constant([[np.nan]]).equals(constant([[np.nan]]))
    assert not RT.equals(RT.with_row_splits_dtype(np.int32))
    assert not RT.equals(RT.with_values([1, 2, 3, 4, 6]))
    assert not RT.equals(RT.with_values(RT.values.astype(np.int64)))
    assert not RT.equals(R3)
    assert not RT.equals([[1, 2], [], [3, 4, 5]])


def test_repr() -> None:
    assert repr(RT) == "<fl.RaggedTensor [[1, 2], [], [3, 4, 5]]>"
    assert repr(constant([["a"], []])) == "<fl.RaggedTensor [[b'a'], []]>"
    assert repr(constant([[0.9]])) == "<fl.RaggedTensor [[0.9]]>"
    assert repr(constant([[i] for i in range(2000)])) == (
        "<fl.RaggedTensor [[0], [1], [2], ..., [1997], [1998], [1999]]>"
    )


def test_copies_and_pickles() -> None:
    for tensor in (RT, R3, constant([["a"], []])):
        for made in (copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
            assert made.equals(tensor)


# -- range, stack


def test_range() -> None:
    assert ragged.range([3, 0, 2]).to_list() == [[0, 1, 2], [], [0, 1]]
    assert ragged.range([0, 5, 2], [3, 6, 9], [1, 2, -1]).to_list() == [[0, 1, 2], [5], []]
    assert ragged.range([10, 0], [0, 10], -4).to_list() == [[10, 6, 2], []]
    assert ragged.range(3).to_list() == [[0, 1, 2]]
    assert ragged.range([]).to_list() == []
    assert ragged.range(np.array([2])).dtype == np.int64
    assert ragged.range([2], dtype=types.float64, row_splits_dtype=np.int32).row_splits.dtype == np.int32
    # As TensorFlow adds: 1.0 + 0.3 + 0.3 in float32 is 1.5999999.
    assert ragged.range([1.0], [2.0], 0.3).values.tolist() == np.array([1.0, 1.3, 1.5999999, 1.8999999], "f4").tolist()
    assert ragged.range([1, 2], [3.5, 4]).to_list() == [[1.0, 2.0, 3.0], [2.0, 3.0]]


def test_range_errors() -> None:
    for arguments in (([0], [3], 0), ([0, 1], [3, 4, 5]), ([[1]],), (np.array([3], np.int16),)):
        with pytest.raises(InvalidArgumentError):
            ragged.range(*arguments)


def test_stack() -> None:
    assert ragged.stack([[1, 2], [3]]).to_list() == [[1, 2], [3]]
    assert ragged.stack([1, 2]).tolist() == [1, 2]
    assert ragged.stack([RT, [[9]]]).to_list() == [RT.to_list(), [[9]]]
    dense = ragged.stack([np.ones((1, 2, 2)), np.zeros((2, 3, 2))])
    assert dense.shape == (2, None, None, 2)
    assert [s.tolist() for s in dense.nested_row_splits] == [[0, 1, 3], [0, 2, 5, 8]]
    for values in ([], [RT, R3], [[1], [1.5]], [1, [2]]):
        with pytest.raises(InvalidArgumentError):
            ragged.stack(values)


# -- for the engine


def test_stack_rows_of_arrays() -> None:
    made = stack_rows([np.array([1, 2]), np.array([], int), np.array([3])], 1, np.int32)
    assert made.to_list() == [[1, 2], [], [3]]
    assert made.row_splits.dtype == np.int32
    both = stack_rows([np.ones((1, 2)), np.ones((0, 3)), np.ones((2, 1))], 2)
    assert both.to_list() == [[[1, 1]], [], [[1], [1]]]
    assert stack_rows([np.ones((1, 2)), np.ones((2, 2))], 1).shape == (2, None, 2)
    assert stack_rows([np.ones((1, 2, 3)), np.ones((2, 2, 3))], 2).shape == (2, None, None, 3)
    assert stack_rows([np.ones((1, 2, 3)), np.ones((2, 1, 0))], 3).to_list() == [
        [[[1, 1, 1], [1, 1, 1]]],
        [[[]], [[]]],
    ]


def test_stack_rows_of_ragged() -> None:
    made = stack_rows([RT, constant([], np.int32, ragged_rank=1), constant([[9]])], 2, np.int32)
    assert made.to_list() == [RT.to_list(), [], [[9]]]
    assert [s.dtype for s in made.nested_row_splits] == [np.int32, np.int32]


def test_stack_rows_errors() -> None:
    for rows_, rank in (
        ([], 1),
        ([np.ones((1, 2)), np.ones((1, 3))], 1),
        ([np.ones(2), np.ones(2, int)], 1),
        ([np.float32(1)], 1),
        ([RT, R3], 2),
        ([RT], 1),
    ):
        with pytest.raises(InvalidArgumentError):
            stack_rows(rows_, rank)


@settings(max_examples=60, deadline=None)
@given(nested_lists, st.data())
def test_concat_and_gather(pylist: list[Any], data: st.DataObject) -> None:
    made = constant(pylist, np.int32, ragged_rank=2)
    cut = data.draw(st.integers(0, len(pylist)))
    assert concat([made[:cut], made[cut:]]).equals(made)
    order = data.draw(st.lists(st.integers(0, len(pylist) - 1), max_size=5)) if pylist else []
    assert gather(made, order).to_list() == [pylist[i] for i in order]
