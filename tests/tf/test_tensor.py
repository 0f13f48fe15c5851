import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import feedline as fl
import feedline.tf as tf
from feedline.errors import InvalidArgumentError
from feedline.tf.tensor import as_tensor


def test_memory_is_shared() -> None:
    array = np.arange(6.0)
    x = tf.convert_to_tensor(array)
    assert x.numpy() is array and np.asarray(x) is array
    assert np.shares_memory(tf.reshape(x, [2, 3]).numpy(), array)
    assert np.shares_memory(x[1:].numpy(), array)
    assert not np.shares_memory(tf.constant(array).numpy(), array)
    assert np.asarray(x, np.int32).dtype == np.int32


def test_other_libraries() -> None:
    x = tf.constant([1.0, 2.0])
    assert torch.from_dlpack(x).tolist() == [1.0, 2.0]
    assert np.from_dlpack(x).tolist() == [1.0, 2.0]
    assert jnp.asarray(x).tolist() == jnp.from_dlpack(x).tolist() == [1.0, 2.0]
    assert tf.convert_to_tensor(torch.tensor([1, 2])).numpy().tolist() == [1, 2]
    with pytest.raises(BufferError, match="strings"):
        np.from_dlpack(tf.constant("a"))


def test_copies_are_the_tensor_itself() -> None:
    x = tf.constant([[1, 2]])
    assert copy.copy(x) is x and copy.deepcopy(x) is x
    assert (pickle.loads(pickle.dumps(x)).numpy() == x.numpy()).all()
    v = pickle.loads(pickle.dumps(tf.Variable([1, 2], name="v")))
    assert v.name == "v:0" and v.numpy().tolist() == [1, 2]


def test_references() -> None:
    x, y = tf.constant(1), tf.constant(1)
    assert x.ref() == x.ref() and x.ref() != y.ref() and len({x.ref(), y.ref(), x.ref()}) == 2
    assert x.ref().deref() is x
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_what_to_write_instead() -> None:
    with pytest.raises(AttributeError, match=r"tf\.cast"):
        _ = tf.constant([1]).astype
    with pytest.raises(AttributeError, match=r"no attribute 'foo'$"):
        _ = tf.constant([1]).foo


def test_no_warnings() -> None:
    assert np.isinf((tf.constant(1.0) / 0.0).numpy())
    assert np.isnan(tf.sqrt(-1.0).numpy())
    assert np.isinf((tf.constant(3e38) * 10.0).numpy())
    assert (tf.constant(2**31 - 1) + 1).numpy() == -(2**31)


def test_assignments_leave_earlier_tensors_alone() -> None:
    v = tf.Variable([1, 2])
    before, first = v.value(), v[0]
    v.assign([5, 6])
    v.assign_add([1, 1])
    assert before.numpy().tolist() == [1, 2] and first.numpy() == 1 and v.numpy().tolist() == [6, 7]
    assert isinstance(v, tf.Variable) and not isinstance(v, tf.Tensor) and tf.is_tensor(v)
    held = v.numpy()
    held[0] = 9
    assert v.numpy()[0] == 6


def test_specs_and_elements() -> None:
    assert fl.type_spec_from_value(tf.constant([1])) == tf.TensorSpec([1], tf.int32)
    assert fl.type_spec_from_value(tf.ragged.constant([[1], []])) == tf.RaggedTensorSpec([2, None], tf.int32)
    assert list(fl.Dataset.from_tensor_slices(tf.constant(["a", "b"]))) == [b"a", b"b"]
    assert next(iter(fl.Dataset.from_tensors(tf.sparse.from_dense([0, 1])))).values.tolist() == [1]


def test_errors_say_what_to_do() -> None:
    with pytest.raises(InvalidArgumentError, match=r"int32 tensor but is a float32 tensor; .*tf\.cast"):
        tf.constant(1) + tf.constant(1.0)
    with pytest.raises(TypeError, match=r"tf\.gather"):
        tf.constant([1, 2])[tf.constant([0, 1])]
    with pytest.raises(InvalidArgumentError, match=r"Reshape.*|Input to reshape"):
        tf.reshape([1, 2, 3], [2, 2])


def test_conversion_keeps_what_it_can() -> None:
    x = tf.constant([1])
    assert as_tensor(x) is x
    assert as_tensor(x, tf.int32) is x
    with pytest.raises(ValueError, match="requested dtype"):
        as_tensor(x, tf.int64)


def test_gather_inside_of_ragged_rows_stays_in_the_row() -> None:
    rows = tf.ragged.constant([[1, 2], [3], [4, 5]])
    assert tf.gather(rows, [0], axis=1).numpy().tolist() == [[1], [3], [4]]
    with pytest.raises(InvalidArgumentError, match=r"index 1 is not in \[0, 1\) in row 1"):
        tf.gather(rows, [1], axis=1)
    with pytest.raises(ValueError, match="2 batches of indices do not fit 3 of params"):
        tf.gather(rows, [[0], [0]], batch_dims=1)
    with pytest.raises(ValueError, match="rows of different lengths"):
        tf.gather(tf.ragged.constant([[[1], [2]], [[3]]]), tf.ragged.constant([[[0]], [[0], [0]]]), batch_dims=2)
