"""Errors for names of TensorFlow that are elsewhere say where they are."""

from __future__ import annotations

from typing import Any

import pytest

import feedline as fl
import feedline.tf as tf


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        (fl, "cast", "feedline has no cast; feedline.tf has: import feedline.tf as tf, then tf.cast"),
        (fl, "strings", "feedline has no strings; feedline.tf has"),
        (fl, "CsvDataset", "feedline has no CsvDataset; feedline.experimental has: fl.experimental.CsvDataset"),
        (fl, "Session", "feedline has no Session; feedline.compat.v1 has: from feedline.compat import v1"),
        (fl.image, "random_hue", "feedline.image has no random_hue; .*then tf.image.random_hue"),
        (fl.random, "uniform", "feedline.random has no uniform; .*then tf.random.uniform"),
        (fl.sparse, "fill_empty_rows", "feedline.sparse has no fill_empty_rows; .*then tf.sparse.fill_empty_rows"),
        (fl.train, "nothing", "module 'feedline.train' has no attribute 'nothing'"),
        (fl, "nothing", "module 'feedline' has no attribute 'nothing'"),
        (tf.nn, "conv2d", "feedline.tf has no tf.nn.conv2d; this is model code; for filters there are"),
        (tf.linalg, "svd", r"feedline.tf has no tf.linalg.svd; np.linalg has it: .* np.linalg.svd\(x\) takes them"),
        (tf.data, "nothing", "feedline.tf has no tf.data.nothing; the page"),
        (tf.data.experimental, "service", "feedline.tf has no tf.data.experimental.service; the service distributes"),
        (tf.compat.v1.train, "AdamOptimizer", "feedline.tf has no tf.compat.v1.train.AdamOptimizer; optimizers"),
    ],
)
def test_names(module: Any, name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(module, name)


@pytest.mark.parametrize("make", [fl.Dataset.range, tf.data.Dataset.range])
def test_attributes_of_tensorflow_1(make: Any) -> None:
    ds = make(3)
    for name in ("make_one_shot_iterator", "make_initializable_iterator"):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'; it is TensorFlow 1's: v1.data.{name}\(ds\)"):
            getattr(ds, name)
    for name in ("output_classes", "output_shapes", "output_types"):
        with pytest.raises(AttributeError, match=rf"it is TensorFlow 1's: v1.data.get_{name}\(ds\)"):
            getattr(ds, name)
    with pytest.raises(AttributeError, match="'Dataset' object has no attribute 'nothing'"):
        ds.nothing  # noqa: B018


def test_a_property_that_fails_says_why() -> None:
    def fails(x: Any) -> Any:
        return x.nothing

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fl.Dataset.range(3).map(fails).element_spec  # noqa: B018


@pytest.mark.parametrize("name", ["numpy", "set_shape", "get_shape"])
@pytest.mark.parametrize("values", [[1], [[1, 2]], ["a"]])
def test_methods_of_tensors_on_values(name: str, values: list[Any]) -> None:
    ds = fl.Dataset.from_tensor_slices(values).map(lambda x: getattr(x, name))
    with pytest.raises(AttributeError, match=r"here functions get NumPy values: in feedline.tf .* they get tensors"):
        list(ds)
