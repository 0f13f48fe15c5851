"""`Example` and its parts: the messages that TFRecord files usually hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.kernels.lazy_message import (
    LazyBytesList,
    LazyExample,
    LazyFeature,
    LazyFeatures,
    LazyFloatList,
    LazyInt64List,
)
from feedline.structure.dense import dense
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.train.containers import BYTES, FLOAT, INT64
from feedline.train.message import MapField, Message, Messages, Repeated, Sub


class BytesList(LazyBytesList, Message):
    """A list of byte strings.

    >>> fl.train.BytesList(value=[b"a", b"b"]).value
    [b'a', b'b']
    """

    __slots__ = ()
    value = Repeated(1, BYTES)


class FloatList(LazyFloatList, Message):
    """A list of float32 numbers.

    >>> fl.train.FloatList(value=[0.5, 1]).value
    [0.5, 1.0]
    """

    __slots__ = ()
    value = Repeated(1, FLOAT)


class Int64List(LazyInt64List, Message):
    """A list of int64 numbers.

    >>> fl.train.Int64List(value=range(3)).value
    [0, 1, 2]
    """

    __slots__ = ()
    value = Repeated(1, INT64)


class Feature(LazyFeature, Message):
    """A list of one of three kinds: strings, floats or integers.

    >>> feature = fl.train.Feature(float_list=fl.train.FloatList(value=[0.5]))
    >>> feature.WhichOneof("kind"), feature.float_list.value, feature.int64_list.value
    ('float_list', [0.5], [])
    """

    __slots__ = ()
    _oneof = "kind"
    bytes_list = Sub(1, BytesList)
    float_list = Sub(2, FloatList)
    int64_list = Sub(3, Int64List)


class Features(LazyFeatures, Message):
    """Features by name.

    >>> features = fl.train.Features()
    >>> features.feature["age"].int64_list.value.append(7)
    >>> list(features.feature), "name" in features.feature
    (['age'], False)
    """

    __slots__ = ()
    feature = MapField(1, Feature)


class Example(LazyExample, Message):
    """One example: features by name.

    >>> from feedline.train import BytesList, Example, Feature, Features
    >>> example = Example(features=Features(feature={"word": Feature(bytes_list=BytesList(value=[b"hi"]))}))
    >>> data = example.SerializeToString()
    >>> Example.FromString(data).features.feature["word"].bytes_list.value
    [b'hi']
    >>> fl.io.parse_single_example(data, {"word": fl.io.FixedLenFeature([], fl.string)})
    {'word': b'hi'}
    """

    __slots__ = ()
    features = Sub(1, Features)


class FeatureList(Message):
    """The values of one feature, per step.

    >>> steps = fl.train.FeatureList()
    >>> steps.feature.add().int64_list.value.append(3)
    >>> len(steps.feature)
    1
    """

    __slots__ = ()
    feature = Messages(1, Feature)


class FeatureLists(Message):
    """Lists of features by name.

    >>> fl.train.FeatureLists(feature_list={"steps": fl.train.FeatureList()}).feature_list.keys()
    KeysView({'steps': })
    """

    __slots__ = ()
    feature_list = MapField(1, FeatureList)


class SequenceExample(Message):
    """An example with a sequence: features of the whole, and lists of features with one item per step.

    >>> example = fl.train.SequenceExample()
    >>> example.context.feature["length"].int64_list.value.append(1)
    >>> example.feature_lists.feature_list["steps"].feature.add().float_list.value.append(0.5)
    >>> fl.train.SequenceExample.FromString(example.SerializeToString()) == example
    True
    """

    __slots__ = ()
    context = Sub(1, Features)
    feature_lists = Sub(2, FeatureLists)


def example(features: Mapping[str, Any]) -> Example:
    """Builds an `Example` from plain values: numbers, strings, lists and arrays by name.

    >>> made = fl.train.example({"age": 7, "name": "Ada", "scores": np.array([[0.5, 1.0]])})
    >>> {name: feature.WhichOneof("kind") for name, feature in made.features.feature.items()}
    {'age': 'int64_list', 'name': 'bytes_list', 'scores': 'float_list'}

    Integers and bools become an int64_list, floats a float_list (float32), and str and bytes a bytes_list. Arrays are
    flattened. `io.write_examples` writes whole columns, much faster than one example at a time.
    """
    return Example(features=Features(feature={name: _feature(name, value) for name, value in features.items()}))


def _feature(name: str, value: Any) -> Feature:
    kind = type(value)
    if kind is bool or (kind is int and -(1 << 63) <= value < 1 << 63):
        return Feature(int64_list=Int64List(value=[int(value)]))
    if kind is float:
        return Feature(float_list=FloatList(value=[value]))
    if kind is bytes or kind is str:
        return Feature(bytes_list=BytesList(value=[value.encode() if kind is str else value]))
    if isinstance(value, (RaggedTensor, SparseTensor)):
        raise InvalidTypeError(f"example: the feature {name!r} is a {kind.__name__}; pass its values as an array")
    try:
        array = dense(value).ravel()
    except (TypeError, ValueError) as e:
        raise InvalidTypeError(f"example: the feature {name!r} cannot be written: {e}") from None
    if array.dtype.kind == "O":
        return Feature(bytes_list=BytesList(value=array.tolist()))
    if array.dtype.kind in "biu":
        wide = array.astype(np.int64)
        if array.dtype == np.uint64 and (wide < 0).any():
            raise InvalidTypeError(
                f"example: the feature {name!r} has the value {array.max()}, too large for int64"
            )
        return Feature(int64_list=Int64List(value=wide))
    if array.dtype.kind in "fV":
        with np.errstate(over="ignore"):
            return Feature(float_list=FloatList(value=array.astype(np.float32)))
    raise InvalidTypeError(
        f"example: the feature {name!r} is {array.dtype}; an Example holds integers, float32 and strings"
    )
