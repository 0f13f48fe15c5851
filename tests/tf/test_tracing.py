"""Functions are traced as TensorFlow traces them: once, on symbolic tensors."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict, defaultdict
from typing import Any

import cloudpickle
import numpy as np
import pytest

import feedline.tf as tf
from feedline.errors import InvalidArgumentError

SOME = np.arange(12).reshape(6, 2)


def some() -> Any:
    return tf.data.Dataset.from_tensor_slices(SOME)


def unknown() -> Any:
    return tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3]]), output_signature=tf.TensorSpec([None], tf.int64))


def test_a_function_is_called_once() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x.shape.as_list())
        return x + 1

    ds = some().map(function)
    assert calls == [[2]]
    assert [x.numpy().tolist() for x in ds] == (SOME + 1).tolist() and len(list(ds)) == 6
    assert ds.element_spec == tf.TensorSpec([2], tf.int64) and calls == [[2]]


@pytest.mark.parametrize("op", ["filter", "take_while"])
def test_predicates_are_called_once(op: str) -> None:
    calls = []

    def predicate(x: Any) -> Any:
        calls.append(1)
        return x < 3

    assert [int(x) for x in getattr(tf.data.Dataset.range(5), op)(predicate)] == [0, 1, 2] and calls == [1]


def test_the_state_of_a_scan_is_checked_when_it_is_given() -> None:
    def narrowed(state: Any, x: Any) -> Any:
        return tf.cast(state, tf.int32), x

    for function in (narrowed, lambda state, x: ({"a": state}, x), lambda state, x: x):
        with pytest.raises(TypeError, match=r"scan at step 2 \(test_tracing.py:\d+ '[a-z<>]+'\) failed"):
            tf.data.Dataset.range(3).scan(tf.constant(0, tf.int64), function)


def test_scan_and_reduce_are_called_once() -> None:
    calls = []

    def step(state: Any, x: Any) -> Any:
        calls.append(1)
        return state + x, tf.stack([state, x])

    ds = tf.data.Dataset.range(3).scan(tf.constant(0, tf.int64), step)
    assert ds.element_spec == tf.TensorSpec([2], tf.int64)
    assert [x.numpy().tolist() for x in ds] == [[0, 0], [0, 1], [1, 2]] and calls == [1]
    assert int(tf.data.Dataset.range(4).reduce(tf.constant(0, tf.int64), lambda a, x: step(a, x)[0])) == 6
    assert calls == [1, 1]


@pytest.mark.parametrize(
    ("start", "function", "spec", "last"),
    [
        ([], lambda s, x: (tf.concat([s, [x]], 0), s), tf.TensorSpec([None], tf.int64), [0, 1]),
        (
            [],
            lambda s, x: (tf.concat([s, [x]], 0), tf.zeros([s.shape[0] or 7])),
            tf.TensorSpec([7], tf.float32),
            [0] * 7,
        ),
        ([[1]], lambda s, x: (tf.concat([s, s], 1), s), tf.TensorSpec([1, None], tf.int64), [[1] * 4]),
        (0, lambda s, x: (tf.expand_dims(s, 0), s), tf.TensorSpec(None, tf.int64), [[0]]),
        ([1, 2], lambda s, x: (s + x, s[:1]), tf.TensorSpec([1], tf.int64), [2]),
    ],
)
def test_what_a_scan_carries_may_change_its_shape(start: Any, function: Any, spec: Any, last: Any) -> None:
    ds = tf.data.Dataset.range(3).scan(tf.constant(start, tf.int64), function)
    assert ds.element_spec == spec == pickle.loads(cloudpickle.dumps(ds)).element_spec
    assert [x.numpy().tolist() for x in ds][-1] == last


def test_what_reduce_carries_may_change_its_shape() -> None:
    def step(state: Any, x: Any) -> Any:
        return {"all": tf.concat([state["all"], [x]], 0), "sizes": state["sizes"] + (state["all"].shape[0] or 0)}

    start = {"sizes": 0, "all": tf.constant([], tf.int64)}
    found = tf.data.Dataset.range(3).reduce(start, step)
    assert found["all"].numpy().tolist() == [0, 1, 2] and int(found["sizes"]) == 0  # the size is never known


@pytest.mark.parametrize("used", [lambda y: y, lambda y: y + 1, tf.reduce_sum])
def test_a_wrong_set_shape_is_an_error(used: Any) -> None:
    def stated(x: Any) -> Any:
        y = tf.io.decode_raw(x, tf.uint8)
        y.set_shape([2])
        return used(y)

    ds = tf.data.Dataset.from_tensor_slices(["ab", "abc", "cd"]).map(stated)
    it = iter(ds)
    assert next(it).numpy().tolist() == used(tf.constant([97, 98], tf.uint8)).numpy().tolist()
    with pytest.raises(InvalidArgumentError, match=r"failed on element 1: .*\(3,\).* \(2,\)"):
        next(it)
    assert next(it).numpy().tolist() == used(tf.constant([99, 100], tf.uint8)).numpy().tolist()
    fitting = tf.data.Dataset.from_tensor_slices(["ab", "cd"]).map(stated).batch(2)
    assert (
        fitting.element_spec.shape.as_list() == [None, *used(tf.zeros([2])).shape.as_list()] and len(list(fitting)) == 1
    )


def test_values_from_outside_are_those_of_the_moment_of_map() -> None:
    settings = {"scale": 2}
    array = np.array([1, 2])
    ds = some().map(lambda x: x * settings["scale"] + array)
    settings["scale"], array[0] = 5, 100
    assert [x.numpy().tolist() for x in ds] == (SOME * 2 + [1, 2]).tolist()


def test_static_shapes() -> None:
    def function(x: Any) -> Any:
        assert x.shape.as_list() == [None]
        assert tf.shape(x).shape.as_list() == [1]
        y = tf.reshape(x, [tf.shape(x)[0], 1])
        assert y.shape.as_list() == [None, 1]
        x.set_shape([2])
        return y, x, tf.reshape(x, [1, -1]), tf.pad(x, [[0, 5 - tf.shape(x)[0]]])

    spec = unknown().map(function).element_spec
    assert [s.shape.as_list() for s in spec] == [[None, 1], [2], [1, 2], [5]]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x + tf.constant(1.5), TypeError),
        (lambda x: x + tf.constant([1, 2, 3], tf.int64), ValueError),
        (lambda x: tf.reshape(x, [3]), ValueError),
        (lambda x: tf.concat([x, x], 1), ValueError),
        (lambda x: tf.matmul(x, x), ValueError),
        (lambda x: x["a"], TypeError),
        (lambda x: tf.strings.lower(x), TypeError),
        (lambda x: {}["a"], KeyError),
        (lambda x: x.no_such_attribute, AttributeError),
        (lambda x: tf.image.resize(tf.io.decode_image(tf.as_string(x[0])), [2, 2]), ValueError),
        (lambda x: x.set_shape([3]), ValueError),
        (lambda x: None, TypeError),
        (lambda x, y: x, TypeError),
    ],
)
def test_errors_at_map(function: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        some().map(function)


def test_dimensions_with_known_paddings_are_known() -> None:
    def f(x: Any) -> Any:
        n = tf.random.uniform([], 0, 3, tf.int32)
        return tf.pad(x, [[0, 1], [n, 0], [2, 2]])

    ds = tf.data.Dataset.from_tensors(tf.zeros([2, 3, 4])).map(f)
    assert ds.element_spec.shape.as_list() == [3, None, 8]
    assert next(iter(ds)).shape.as_list()[::2] == [3, 8]


def test_errors_name_the_step_the_file_and_the_line() -> None:
    def wrong(x: Any) -> Any:
        return tf.reshape(x, [3])

    with pytest.raises(InvalidArgumentError, match=r"map at step 2 \(test_tracing.py:\d+ 'wrong'\) failed: Cannot"):
        some().map(wrong)

    def late(x: Any) -> Any:
        y = tf.gather([10, 20], x[0])
        return y + 1

    with pytest.raises(InvalidArgumentError, match=r"map at step 2 \(.*'late', test_tracing.py:\d+\) failed on ele"):
        list(some().map(late))


def test_what_is_not_used_is_not_computed() -> None:
    def function(x: Any) -> Any:
        tf.gather([10, 20], x[0])
        return x

    assert len(list(some().map(function))) == 6

    def asserted(x: Any) -> Any:
        tf.debugging.assert_less(x, tf.constant(4, tf.int64))
        return x

    with pytest.raises(InvalidArgumentError, match="element 2"):
        list(some().map(asserted))


def test_a_symbolic_tensor_outside_of_its_function() -> None:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(x)
        return x

    some().map(function)
    for use in (lambda x: x + 1, np.asarray, bool, len, tf.reduce_sum, lambda x: x.numpy(), lambda x: x[0]):
        if use is len:
            continue
        with pytest.raises(TypeError, match=r"used \(test_tracing.py:\d+\) outside .* 'function' at test_tracing.py"):
            use(kept[0])
    with pytest.raises(TypeError, match="outside of the function"):
        some().map(lambda y: y + kept[0])


def test_functions_that_need_values_are_called_for_each_element() -> None:
    seen = []

    def branches(x: Any) -> Any:
        if x[0] > 4:
            return x * 10
        return x

    def values(x: Any) -> Any:
        seen.append(x.numpy().tolist())
        return x

    def rows(x: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for row in x:
            total += row
        return total

    ds = some().map(branches)
    assert [x.numpy().tolist() for x in ds] == [[0, 1], [2, 3], [4, 5], [60, 70], [80, 90], [100, 110]]
    assert "once per element, since it needs the truth of a tensor, as in `if x`" in " ".join(ds.explain().split())
    list(some().map(values))
    assert seen == SOME.tolist()
    assert [int(x) for x in unknown().map(rows)] == [3, 3]


def test_branches() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(1)
        a = tf.cond(x > 2, lambda: x * 10, lambda: x)
        b = tf.map_fn(lambda row: row + a, tf.stack([x, x + 1]))
        c = tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: x + 100])
        d = tf.case([(x < 1, lambda: x), (x < 3, lambda: -x)], default=lambda: x * 1000)
        return a, b, c, d

    ds = tf.data.Dataset.range(4).map(function)
    scalar = tf.TensorSpec([], tf.int64)
    assert ds.element_spec == (scalar, tf.TensorSpec([2], tf.int64), scalar, scalar)
    found = [tuple(np.asarray(part).tolist() for part in row) for row in ds]
    assert found == [(0, [0, 1], 0, 0), (1, [2, 3], 101, -1), (2, [4, 5], 102, -2), (30, [33, 34], 103, 3000)]
    assert calls == [1]
    with pytest.raises(TypeError, match="the branches must return the same types"):
        tf.data.Dataset.range(3).map(lambda x: tf.cond(x > 1, lambda: x, lambda: 1.5))


def test_both_branches_are_traced_when_the_choice_is_known() -> None:
    ds = some().map(lambda x: tf.cond(tf.shape(x)[0] > 1, lambda: x[:1], lambda: tf.zeros([3], tf.int64)))
    assert ds.element_spec == tf.TensorSpec([None], tf.int64)
    assert [x.numpy().tolist() for x in ds] == SOME[:, :1].tolist()
    with pytest.raises(TypeError, match="same types"):
        some().map(lambda x: tf.cond(tf.size(x) > 1, lambda: x, lambda: tf.zeros([2])))


def test_the_number_of_values_of_a_sparse_tensor_is_not_known() -> None:
    def parse(record: Any) -> Any:
        values = tf.io.parse_single_example(record, {"x": tf.io.VarLenFeature(tf.string)})["x"].values
        return tf.reshape(tf.io.decode_raw(values, tf.float32), [6, -1, 3])[1:-1]

    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[np.ones((6, 2, 3), np.float32).tobytes()]))
    record = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    ds = tf.data.Dataset.from_tensors(record).map(parse)
    assert ds.element_spec == tf.TensorSpec([4, None, 3], tf.float32)
    assert [x.shape.as_list() for x in ds] == [[4, 2, 3]]
    assert ds.unbatch().element_spec == tf.TensorSpec([None, 3], tf.float32)

    sparse = tf.data.Dataset.from_tensors(tf.sparse.from_dense([[1, 0], [2, 3]]))
    parts = sparse.map(lambda x: (x.indices, x.values, x.dense_shape)).element_spec
    assert parts == tuple(tf.TensorSpec(*s) for s in (([None, 2], tf.int64), ([None], tf.int32), ([2], tf.int64)))


def test_results_of_python_functions_may_be_scalars() -> None:
    def pair(i: Any) -> Any:
        return tf.stack([i, tf.numpy_function(lambda x: x * 2, [i], tf.int64)])

    ds = tf.data.Dataset.range(3).map(pair)
    assert ds.element_spec == tf.TensorSpec([2], tf.int64)
    assert [x.numpy().tolist() for x in ds] == [[0, 0], [1, 2], [2, 4]]
    seeds = tf.data.Dataset.range(2).map(lambda i: tf.random.fold_in([1, 2], tf.numpy_function(abs, [i], tf.int64)))
    assert seeds.element_spec == tf.TensorSpec([2], tf.int64)
    eager = [tf.random.fold_in([1, 2], tf.constant(i, tf.int64)) for i in range(2)]
    assert [x.numpy().tolist() for x in seeds] == [x.numpy().tolist() for x in eager]
    with pytest.raises(InvalidArgumentError, match="equal rank"):
        some().map(lambda x: tf.random.fold_in([1, 2], x))


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        (tf.image.rot90, [8, 8, 3], [8, 8, 3]),
        (tf.image.rot90, [None, 8, 8, 3], [None, 8, 8, 3]),
        (tf.image.rot90, [8, 9, 3], [None, None, 3]),
        (tf.image.rot90, None, None),
        (lambda x: tf.image.adjust_jpeg_quality(x, 75), [8, 8, 3], [None, None, 3]),
        (lambda x: tf.image.random_jpeg_quality(x, 75, 95), [8, 8, None], [None, None, None]),
        (lambda x: _patches(x, "VALID"), [None, None, None, 3], [None, None, None, 36]),
        (lambda x: _patches(x, "VALID"), [None, 9, 10, None], [None, 2, 3, None]),
        (lambda x: _patches(x, "VALID"), [1, 8, 4, 3], [1, 2, 0, 36]),
        (lambda x: _patches(x, "SAME"), [None, 9, 10, 2], [None, 3, 5, 24]),
        (lambda x: _patches(x, "SAME"), None, [None] * 4),
    ],
)
def test_static_shapes_of_images(function: Any, given: Any, expected: Any) -> None:
    ds = tf.data.Dataset.from_generator(lambda: iter([]), output_signature=tf.TensorSpec(given, tf.uint8))
    assert ds.map(function).element_spec == tf.TensorSpec(expected, tf.uint8)


def _patches(images: Any, padding: str) -> Any:
    return tf.image.extract_patches(images, [1, 4, 3, 1], [1, 4, 2, 1], [1, 1, 2, 1], padding)


def test_state_is_read_for_each_element() -> None:
    count = tf.Variable(0, dtype=tf.int64)

    def counted(x: Any) -> Any:
        return x + count.assign_add(1)

    dataset = tf.data.Dataset.range(3).map(counted)
    assert dataset.element_spec == tf.TensorSpec([], tf.int64)
    assert [int(x) for x in dataset] == [1, 3, 5]
    scale = tf.Variable([1.0, 2.0])

    def scaled(x: Any) -> Any:
        scale.assign(scale * 2.0)
        return tf.stack([scale, scale + tf.cast(x, tf.float32)])

    dataset = tf.data.Dataset.range(2).map(scaled)
    assert dataset.element_spec == tf.TensorSpec([2, 2], tf.float32)
    assert [x.numpy().tolist() for x in dataset] == [[[2, 4], [2, 4]], [[4, 8], [5, 9]]]
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    ds = tf.data.Dataset.range(3).map(table.lookup)
    table.insert(tf.constant([1], tf.int64), tf.constant([7], tf.int64))
    assert [int(x) for x in ds] == [-1, 7, -1]
    seen: list[int] = []
    ds = tf.data.Dataset.range(3).map(lambda x: tf.py_function(lambda v: seen.append(int(v)) or v, [x], tf.int64))
    assert ds.element_spec == tf.TensorSpec(None, tf.int64) and not seen
    assert [int(x) for x in ds] == [0, 1, 2] == seen
    drawn = [float(x) for x in tf.data.Dataset.range(20).map(lambda x: tf.random.uniform([]))]
    assert len(set(drawn)) == 20


def test_tables_strings_and_ragged_tensors() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    ds = tf.data.Dataset.from_tensor_slices(["a b", "c"]).map(lambda s: table.lookup(tf.strings.split(s)))
    assert ds.element_spec == tf.TensorSpec([None], tf.int32)
    assert [x.numpy().tolist() for x in ds] == [[1, 2], [-1]]
    ragged = tf.data.Dataset.from_tensor_slices(["a b", "c"]).batch(2).map(lambda s: tf.strings.split(s))
    assert isinstance(ragged.element_spec, tf.RaggedTensorSpec)
    lengths = ragged.map(lambda r: (r.row_lengths(), r.to_tensor("-"), tf.strings.length(r).flat_values))
    first = next(iter(lengths))
    assert first[0].numpy().tolist() == [2, 1] and first[1].numpy().tolist() == [[b"a", b"b"], [b"c", b"-"]]
    with pytest.raises(TypeError, match="Dtype of argument `keys`"):
        tf.data.Dataset.range(3).map(table.lookup)


def test_ragged_features_are_parsed() -> None:
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    example = tf.train.Example(features=tf.train.Features(feature={"r": feature})).SerializeToString()
    asked = {"r": tf.io.RaggedFeature(tf.int64), "gone": tf.io.RaggedFeature(tf.string, value_key="other")}
    ds = tf.data.Dataset.from_tensors(example).repeat(3)
    single = ds.map(lambda e: tf.io.parse_single_example(e, asked)["r"])
    assert single.element_spec == tf.TensorSpec([None], tf.int64)
    assert [x.numpy().tolist() for x in single] == [[1, 2]] * 3
    several = ds.batch(2).map(lambda e: tf.io.parse_example(e, asked))
    assert isinstance(several.element_spec["r"], tf.RaggedTensorSpec)
    assert [x["r"].to_list() for x in several] == [[[1, 2]] * 2, [[1, 2]]]


def test_datasets_of_datasets_have_a_spec() -> None:
    ds = tf.data.Dataset.range(10).window(4).flat_map(lambda w: w.batch(4)).map(lambda x: x + 1)
    assert ds.element_spec == tf.TensorSpec([None], tf.int64)
    assert [x.numpy().tolist() for x in ds] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    lines = tf.data.Dataset.from_tensor_slices(["x"]).interleave(tf.data.TextLineDataset, cycle_length=2)
    assert lines.map(tf.strings.length).element_spec == tf.TensorSpec([], tf.int32)


def half(x: Any) -> Any:
    return tf.cast(x, tf.float32) / 2


def test_traced_datasets_are_pickled() -> None:
    ds = pickle.loads(pickle.dumps(some().map(half)))
    assert ds.element_spec == tf.TensorSpec([2], tf.float32)
    assert [x.numpy().tolist() for x in ds] == (SOME / 2).tolist()


def test_predicates_and_nested_datasets_are_checked_at_construction() -> None:
    ds = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match=r"filter at step 2 .* must return a bool scalar"):
        ds.filter(lambda x: x)
    with pytest.raises(ValueError, match="must return a bool scalar"):
        ds.batch(2).filter(lambda x: x > 1)
    with pytest.raises(ValueError, match="must return a bool scalar"):
        ds.take_while(lambda x: x)
    with pytest.raises(TypeError, match=r"flat_map at step 2 .* must return a Dataset"):
        ds.flat_map(lambda x: x)
    assert [int(x) for x in ds.filter(lambda x: x > 0)] == [1, 2]


def test_functions_of_python_as_decorators() -> None:
    @tf.py_function(Tout=tf.string)
    def joined(x, y):
        return f"{x.numpy()} {y.numpy()}"

    @tf.numpy_function(Tout=tf.int64)
    def doubled(x):
        return x * 2

    ds = tf.data.Dataset.range(2).map(lambda x: (joined(x, x), doubled(x)))
    assert list(ds.as_numpy_iterator()) == [(b"0 0", 0), (b"1 1", 2)]
    assert doubled(tf.constant(3, tf.int64)).numpy() == 6


def test_sizes_in_several_results_are_known() -> None:
    def turned(image: Any) -> Any:
        height, width, _ = tf.unstack(tf.shape(image))
        parts = tf.split(tf.shape(image), 3)
        return tf.zeros([width, height]), tf.zeros(tf.concat(parts[:2], 0))

    ds = tf.data.Dataset.from_tensors(np.zeros((4, 6, 3))).map(turned)
    assert [spec.shape.as_list() for spec in ds.element_spec] == [[6, 4], [4, 6]]


def test_static_values_of_a_traced_function() -> None:
    found = []

    def looked_at(x: Any) -> Any:
        found.append((tf.get_static_value(x), tf.get_static_value(tf.shape(x)), tf.get_static_value(tf.constant(3))))
        return x

    some().map(looked_at)
    assert len(found) == 1 and found[0][0] is None and found[0][1].tolist() == [2] and found[0][2] == 3


def test_a_size_from_an_element_makes_no_error_certain() -> None:
    ds = tf.data.Dataset.from_tensors((np.zeros((5, 7, 3), np.uint8), 10))
    made = ds.map(lambda image, size: tf.image.pad_to_bounding_box(image, 0, 0, 10, size))
    assert next(iter(made)).shape == (10, 10, 3)


def spec_for(function: Any, *specs: Any) -> Any:
    return tf.data.Dataset.from_generator(lambda: iter(()), output_signature=specs).map(function).element_spec


@pytest.mark.parametrize(
    ("function", "first", "second", "expected"),
    [
        (lambda a, b: tf.concat([a, b], 0), [None, None, 3], [7, 9, 3], [None, 9, 3]),
        (lambda a, b: tf.concat([a, b], -1), [None, None, None], [7, 9, 3], [7, 9, None]),
        (lambda a, b: tf.concat([a, b], 1), None, [7, 9, 3], [7, None, 3]),
        (lambda a, b: tf.stack([a, b], -1), [None, None], [7, None], [7, None, 2]),
        (lambda a, b: tf.compat.v1.where(a > 0, a, b), [None, None, 3], [7, 9, 3], [7, 9, 3]),
        (lambda a, b: tf.matmul(a, b), [None, None], [4, 5], [None, 5]),
        (lambda a, b: tf.math.add_n([a, b]), [None, 4], [9, 4], [9, 4]),
        (lambda a, b: tf.boolean_mask(a, b > 0), [None, 4], [9], [None, 4]),
        (lambda a, b: tf.tensordot(a, b, 1), [None, None], [4, 5], [None, 5]),
    ],
)
def test_sizes_that_are_known_of_one_tensor_hold_for_the_others(
    function: Any, first: Any, second: Any, expected: Any
) -> None:
    found = spec_for(function, tf.TensorSpec(first, tf.float32), tf.TensorSpec(second, tf.float32))
    assert found == tf.TensorSpec(expected, tf.float32)


def test_sizes_that_cannot_fit_are_refused_at_once() -> None:
    with pytest.raises(InvalidArgumentError, match="Dimensions of inputs should match"):
        spec_for(lambda a: tf.concat([a, tf.zeros([7, 9, 3])], 1), tf.TensorSpec([2, 4, 4], tf.float32))


@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda items: defaultdict(int, items)])
def test_arguments_in_dicts_of_any_class(kind: Any) -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        return tf.map_fn(lambda row: row["a"] - row["b"], kind({"b": x, "a": 2 * x}), fn_output_signature=tf.int64)

    assert [x.numpy().tolist() for x in some().map(function)] == SOME.tolist() and len(calls) == 1


@pytest.mark.parametrize("name", ["per_image_standardization", "adjust_contrast", "resize_with_pad"])
def test_made_up_images_give_no_warnings(name: str) -> None:
    more = {"adjust_contrast": (2.0,), "resize_with_pad": (8, 8)}.get(name, ())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = spec_for(lambda x: getattr(tf.image, name)(x, *more), tf.TensorSpec([None, None, 3], tf.uint8))
    assert not warned and found.shape.as_list()[-1] == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.image.resize_with_crop_or_pad(x, 4, 5),
        lambda x: tf.image.resize_with_pad(x, 4, 5),
        lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 4, 5),
        lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 4, 5),
        lambda x: tf.compat.v1.image.resize_image_with_pad(x, 4, 5),
    ],
)
def test_an_image_of_unknown_rank_is_a_single_one(function: Any) -> None:
    assert spec_for(function, tf.TensorSpec(None, tf.uint8)).shape.as_list() == [4, 5, None]


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda x: tf.math.top_k(x, 2), ("values", "indices")),
        (lambda x: tf.nn.top_k(x), ("values", "indices")),
        (lambda x: tf.audio.decode_wav(tf.audio.encode_wav(x[:, None], 8000)), ("audio", "sample_rate")),
        (lambda x: tf.linalg.slogdet(tf.eye(2) * x[0]), ("sign", "log_abs_determinant")),
    ],
)
def test_results_have_the_names_that_tensorflow_gives_them(function: Any, names: tuple[str, ...]) -> None:
    given = tf.constant([0.5, 0.25, 1.0])
    found = function(given)
    assert found._fields == names
    dataset = tf.data.Dataset.from_tensors(given).map(lambda x: {n: getattr(function(x), n) for n in names})
    for value, name in zip(found, names, strict=True):
        assert next(iter(dataset))[name].numpy().tolist() == value.numpy().tolist()
