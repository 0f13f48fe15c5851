"""Components in another structure."""

from __future__ import annotations

import numpy as np
from tests.harness import check

import feedline as fl
from feedline.ops.shared.arrange import arranged
from feedline.plan.dataset_base import dataset


def test_another_structure() -> None:
    source = fl.Dataset.from_tensor_slices((np.arange(3), ["a", "b", "c"]))
    ds = dataset(arranged(source._plan, ({"word": 1}, 0)))
    check(ds, [({"word": b"a"}, np.int64(0)), ({"word": b"b"}, np.int64(1)), ({"word": b"c"}, np.int64(2))])
    assert ds.element_spec == ({"word": fl.TensorSpec([], fl.string)}, fl.TensorSpec([], fl.int64))
    assert fl.experimental.at(ds, 2) == ({"word": b"c"}, 2)


def test_one_component() -> None:
    source = fl.Dataset.from_tensor_slices((np.arange(3), ["a", "b", "c"]))
    check(dataset(arranged(source._plan, 1)), [b"a", b"b", b"c"])
