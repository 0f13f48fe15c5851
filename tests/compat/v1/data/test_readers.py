from __future__ import annotations

import pytest

import feedline as fl
from feedline.compat import v1
from feedline.compat.v1.data.readers import in_graph_class


@pytest.mark.parametrize("name", ["TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset"])
def test_readers_know_their_spec_before_their_files(name: str):
    names = v1.placeholder(fl.string, [None])
    made = getattr(v1.data, name)(names, 4) if name.startswith("Fixed") else getattr(v1.data, name)(names)
    assert made.element_spec == fl.TensorSpec([], fl.string)
    assert isinstance(made, getattr(v1.data, name))


def test_a_class_stands_for_another():
    made = in_graph_class(fl.TextLineDataset)
    assert issubclass(made, v1.data.Dataset)
    assert (made.__name__, made.__doc__) == ("TextLineDataset", fl.TextLineDataset.__doc__)
