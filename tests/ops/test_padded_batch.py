"""padded_batch: which shapes and values batches are padded to, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError


def _filled(*sizes: int) -> Any:
    """One vector for each size, which holds its size as often."""
    return fl.Dataset.from_tensor_slices(np.array(sizes, np.int64)).map(lambda n: np.full(n, n))


def _int64(rows: Any) -> Any:
    return np.array(rows, np.int64)


def test_pads_to_the_largest_of_each_batch() -> None:
    expect = [_int64([[1, 0, 0], [3, 3, 3]]), _int64([[2, 2], [0, 0]]), _int64([[4, 4, 4, 4]])]
    check(_filled(1, 3, 2, 0, 4).padded_batch(2), expect)
    check(_filled(1, 3, 2, 0, 4).padded_batch(2, drop_remainder=True), expect[:2])
    check(_filled().padded_batch(2), [])


def test_batches_of_one_shape_and_of_several_in_one_block() -> None:
    rows = fl.experimental.from_list([np.full(n, n) for n in (1, 2, 2, 1, 3, 0)])
    check(rows.padded_batch(2), [_int64([[1, 0], [2, 2]]), _int64([[2, 2], [1, 0]]), _int64([[3, 3, 3], [0, 0, 0]])])


@pytest.mark.parametrize("shape", [[4], (4,), 4, fl.TensorShape([4]), np.array([4], np.int32)])
def test_a_given_shape(shape: Any) -> None:
    check(_filled(1, 3).padded_batch(2, padded_shapes=shape), [_int64([[1, 0, 0, 0], [3, 3, 3, 0]])])


@pytest.mark.parametrize("shape", [[None], (None,), [-1], fl.TensorShape([None])])
def test_an_open_shape(shape: Any) -> None:
    check(_filled(1, 3).padded_batch(2, padded_shapes=shape), [_int64([[1, 0, 0], [3, 3, 3]])])


def test_a_source_of_one_shape_is_padded_up() -> None:
    ones = fl.Dataset.from_tensor_slices(np.ones((3, 2)))
    ds = ones.padded_batch(2, padded_shapes=[4], padding_values=np.float64(0.5))
    check(ds, [np.array([[1, 1, 0.5, 0.5]] * 2), np.array([[1, 1, 0.5, 0.5]])])
    assert ds.element_spec == fl.TensorSpec([None, 4], fl.float64)


def test_matrices() -> None:
    ds = fl.Dataset.range(1, 4).map(lambda n: np.full((n, 4 - n), n))
    expect = np.zeros((3, 4, 3), np.int64)
    for i, n in enumerate((1, 2, 3)):
        expect[i, :n, : 4 - n] = n
    check(ds.padded_batch(3), [expect[:, :3]])
    check(ds.padded_batch(3, padded_shapes=[4, None]), [expect])


def test_scalars_strings_and_bools() -> None:
    check(fl.Dataset.range(3).padded_batch(2), [_int64([0, 1]), _int64([2])])
    check(fl.Dataset.from_tensor_slices(["a", "b"]).padded_batch(2), [np.array([b"a", b"b"], object)])
    words = fl.experimental.from_list([["a", "b"], ["c"]])
    check(words.padded_batch(2), [np.array([[b"a", b"b"], [b"c", b""]], object)])
    check(words.padded_batch(2, padding_values="-"), [np.array([[b"a", b"b"], [b"c", b"-"]], object)])
    flags = _filled(1, 2).map(lambda x: x > 0)
    check(flags.padded_batch(2), [np.array([[True, False], [True, True]])])


def test_one_value_for_all_components_or_one_each() -> None:
    ds = fl.Dataset.range(1, 3).map(lambda n: {"a": np.full(n, n), "b": (n, np.full(n, 2 * n))})
    a, n, b = _int64([[1, 9], [2, 2]]), _int64([1, 2]), _int64([[2, 0], [4, 4]])
    values = {"a": np.int64(9), "b": (None, None)}
    for given in (values, {"a": np.int64(9), "b": None}):
        check(ds.padded_batch(2, padding_values=given), [{"a": a, "b": (n, b)}])
    every = ds.padded_batch(2, padding_values=np.int64(9), padded_shapes={"b": ((), [None]), "a": [None]})
    check(every, [{"a": a, "b": (n, _int64([[2, 9], [4, 4]]))}])


def test_spec() -> None:
    assert _filled(1, 3).padded_batch(2).element_spec == fl.TensorSpec([None, None], fl.int64)
    closed = _filled(1, 3).padded_batch(2, padded_shapes=[5], drop_remainder=True)
    assert closed.element_spec == fl.TensorSpec([2, 5], fl.int64)
    assert _filled(0, 0).padded_batch(2).element_spec == fl.TensorSpec([None, None], fl.int64)


def test_batches_belong_to_the_caller() -> None:
    for ds in (fl.Dataset.from_tensor_slices(np.ones((4, 2))), _filled(1, 2, 2, 1)):
        first, second = ds.padded_batch(2)
        kept = second.copy()
        first[:] = 7
        assert np.array_equal(second, kept)


def test_more_than_an_array_can_have() -> None:
    ds = fl.Dataset.from_tensors([1, 2]).padded_batch(1, padded_shapes=[2**62])
    with pytest.raises(fl.errors.ResourceExhaustedError, match="padded_batch at step 2: out of memory: a batch of"):
        next(iter(ds))


def test_an_element_too_large_loses_its_batch() -> None:
    ds = _filled(1, 1, 3, 1, 1, 1).padded_batch(2, padded_shapes=[2])
    text = r"an element of shape \[3\] in component \$ is larger than padded_shapes, \[2\]"
    check_errors(ds, [_int64([[1, 0], [1, 0]]), Raises(DataLossError, text), _int64([[1, 0], [1, 0]])])


def test_an_error_of_the_input_loses_the_batch_in_hand() -> None:
    def fails(x: Any) -> Any:
        if x == 4:
            raise ValueError("four")
        return np.full(1, x)

    expect = [_int64([[0], [1], [2]]), ValueError, _int64([[5], [6], [7]]), _int64([[8], [9], [10]])]
    check_errors(fl.Dataset.range(11).map(fails).padded_batch(3), expect)


def test_of_two_bad_components_the_one_in_the_earlier_batch_is_told_first() -> None:
    late, early = [np.zeros(n) for n in (1, 1, 1, 1, 3, 1)], [np.zeros(n) for n in (1, 1, 3, 1, 1, 1)]
    ds = fl.experimental.from_list(list(zip(late, early, strict=True))).padded_batch(2, padded_shapes=([2], [2]))
    good = (np.zeros((2, 2)), np.zeros((2, 2)))
    check_errors(ds, [good, Raises(DataLossError, r"\$\[1\]"), Raises(DataLossError, r"\$\[0\]")])


def test_ranks_must_agree() -> None:
    ds = fl.experimental.from_list([np.zeros(1), np.zeros((1, 1)), np.zeros(2), np.zeros(1)])
    with pytest.raises(InvalidArgumentError, match=r"the rank of component \$ is unknown"):
        ds.padded_batch(2)
    given = ds.padded_batch(2, padded_shapes=[None])
    check_errors(given, [Raises(InvalidArgumentError, r"shape \[1, 1\] .* does not have the rank"), np.zeros((2, 2))])


def test_refused_when_made() -> None:
    pairs = fl.Dataset.from_tensor_slices((np.ones((3, 2)), np.arange(3)))
    vectors = fl.Dataset.from_tensor_slices(np.ones((3, 2)))
    ragged = fl.Dataset.from_tensor_slices(fl.ragged.constant([[1], [2, 3]]))
    for make, error, text in [
        (lambda: vectors.padded_batch(0), InvalidArgumentError, "batch_size must be greater than zero"),
        (lambda: vectors.padded_batch(2, padded_shapes=[1]), ValueError, r"elements of shape \(2,\) .* to \[1\]"),
        (lambda: vectors.padded_batch(2, padded_shapes=[None, None]), ValueError, "must have the same rank"),
        (lambda: vectors.padded_batch(2, padded_shapes=[-2]), ValueError, "must be sizes, or None or -1"),
        (lambda: vectors.padded_batch(2, padded_shapes=[1.5]), TypeError, "must be sizes, or None or -1"),
        (lambda: vectors.padded_batch(2, padded_shapes=fl.TensorShape(None)), ValueError, "must be sizes"),
        (lambda: vectors.padded_batch(2, padding_values=0), TypeError, "is int32, but the elements are float64"),
        (lambda: vectors.padded_batch(2, padding_values="x"), TypeError, "is string, but the elements are float64"),
        (lambda: vectors.padded_batch(2, padding_values=np.ones(2)), ValueError, "must be a scalar"),
        (lambda: pairs.padded_batch(2, padded_shapes=[[None], []]), TypeError, "must have the structure of"),
        (lambda: pairs.padded_batch(2, padding_values=(0.0, 0, 0)), TypeError, "must have the structure of"),
        (lambda: ragged.padded_batch(2), TypeError, "only arrays can be padded"),
        (lambda: fl.Dataset.from_tensors((1, None)).padded_batch(2), TypeError, r"component \$\[1\] is None"),
    ]:
        with pytest.raises(error, match=text):
            make()


def test_what_a_function_returns_is_refused_when_it_comes() -> None:
    with pytest.raises(TypeError, match="int32, but the elements are int64"):
        next(iter(_filled(1, 3).padded_batch(2, padding_values=-1)))
    sparse = fl.Dataset.range(2).map(lambda x: fl.SparseTensor([[0]], [1], [2]))
    with pytest.raises(TypeError, match="only arrays can be padded, but component"):
        next(iter(sparse.padded_batch(2)))


def test_a_size_that_is_no_int64() -> None:
    rows = fl.Dataset.from_tensor_slices([[1, 2], [3, 4]])
    with pytest.raises(InvalidArgumentError, match="which does not fit an int64"):
        rows.padded_batch(2, padded_shapes=[2**70])
    buckets = rows.bucket_by_sequence_length(lambda x: 1, [5], [2, 2], padded_shapes=[2**70])
    with pytest.raises(InvalidArgumentError, match="which does not fit an int64"):
        list(buckets)
