"""structure/nest.py: taking elements apart and putting them together."""

from __future__ import annotations

import collections
import dataclasses
import pickle
from collections import namedtuple
from typing import Any

import attrs
import pytest
from tests.harness import check

import feedline as fl
from feedline.structure.nest import LEAF, flat, flatten, map_structure

Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass(frozen=True)
class Pair:
    left: object
    right: object = 0


@attrs.define
class Box:
    inner: object


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        (5, [5]),
        ([1, 2], [[1, 2]]),
        (None, [None]),
        ((1, (2, 3)), [1, 2, 3]),
        ({"z": 1, "a": (2,)}, [1, 2]),
        (Point(1, {"k": 2}), [1, 2]),
        (Pair(1, Point(2, 3)), [1, 2, 3]),
        (Box((1, 2)), [1, 2]),
        ((), []),
        ({}, []),
        (collections.OrderedDict([("b", 1), ("a", 2)]), [1, 2]),
    ],
)
def test_round_trip(value: object, leaves: list[object]) -> None:
    got, tree = flatten(value)
    assert got == leaves
    assert tree.unflatten(got) == value
    assert type(tree.unflatten(got)) is type(value)
    assert tree.flatten(value) == leaves
    assert tree.size == len(leaves)


def test_paths_name_every_leaf() -> None:
    _, tree = flatten({"image": 1, "meta": (2, {"odd key": 3}), 7: 4})
    assert tree.paths() == ["$.image", "$.meta[0]", "$.meta[1]['odd key']", "$[7]"]
    assert LEAF.paths() == ["$"]


def test_key_order_is_kept_and_can_be_lined_up() -> None:
    _, ours = flatten({"z": 0, "a": 0})
    _, theirs = flatten({"a": 0, "z": 0})
    assert ours != theirs
    assert ours.order_of(theirs) == [1, 0]
    assert ours.flatten({"a": 1, "z": 2}) == [2, 1]
    assert ours.order_of(flat(2)) is None


@pytest.mark.parametrize(
    ("tree_of", "value", "message"),
    [
        ((1, 2), (1, 2, 3), "tuple of 2 at $, got tuple of 3"),
        ((1, (2, 3)), (1, 2), "tuple of 2 at $[1], got int"),
        ({"a": 1}, {"b": 1}, "keys ['a'] at $"),
        (1, (1,), "single value at $"),
        (Pair(1, 2), Point(1, 2), "Pair at $"),
    ],
)
def test_mismatch_names_the_place(tree_of: object, value: object, message: str) -> None:
    _, tree = flatten(tree_of)
    with pytest.raises(TypeError) as caught:
        tree.flatten(value)
    assert message in str(caught.value)


def test_map_structure_and_pickle() -> None:
    import pickle

    assert map_structure(lambda v: v + 1, {"a": 1, "b": (2,)}) == {"a": 2, "b": (3,)}
    _, tree = flatten(Point(1, {"k": 2}))
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(pickle.loads(pickle.dumps(tree))) == hash(tree)


def test_flatten_up_to_leaves_what_is_deeper_alone() -> None:
    _, tree = flatten({"a": 0, "b": (1, 2)})
    assert tree.flatten_up_to({"b": ((), [None]), "a": (3, 4)}) == [(3, 4), (), [None]]
    with pytest.raises(TypeError, match=r"expected a tuple of 2 at \$.b"):
        tree.flatten_up_to({"a": 0, "b": 1})


@dataclasses.dataclass
class Masked:
    """What TensorFlow's protocol is for: `mask` is no data."""

    mask: bool
    value: Any

    def __tf_flatten__(self) -> tuple[Any, Any]:
        return (self.mask,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, fixed: Any, parts: Any) -> Masked:
        return cls(fixed[0], parts[0])


def test_classes_that_take_themselves_apart() -> None:
    given = Masked(True, {"a": 1, "b": 2})
    leaves, tree = flatten(given)
    assert leaves == [1, 2] and tree.unflatten([3, 4]) == Masked(True, {"a": 3, "b": 4})
    assert tree != flatten(Masked(False, {"a": 1, "b": 2}))[1]
    assert tree.flatten(Masked(False, {"b": 2, "a": 1})) == [1, 2]
    with pytest.raises(TypeError, match="expected a Masked"):
        tree.flatten({"a": 1})
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_fields_that_are_no_data_in_datasets() -> None:
    ds = fl.Dataset.from_tensor_slices(Masked(True, [1, 2]))
    check(ds, [Masked(True, 1), Masked(True, 2)])
    check(ds.batch(2), [Masked(True, [1, 2])])
    check(lambda: ds.map(lambda m: Masked(False, m.value * 2)).shuffle(1), [Masked(False, 2), Masked(False, 4)])
    # As in TensorFlow the first dataset says what is no data.
    both = ds.concatenate(fl.Dataset.from_tensors(Masked(False, 3)))
    check(both, [Masked(True, 1), Masked(True, 2), Masked(True, 3)])
    assert ds.element_spec == Masked(True, fl.TensorSpec([], fl.int32))


def test_namedtuples_are_no_tuples_where_types_count() -> None:
    A, B = namedtuple("A", "x y"), namedtuple("B", "x y")
    for one, two in ((A(1, 2), (1, 2)), ((1, 2), A(1, 2)), (A(1, 2), B(1, 2))):
        with pytest.raises(TypeError, match="differ in structure"):
            fl.Dataset.from_tensors(one).concatenate(fl.Dataset.from_tensors(two))
        with pytest.raises(TypeError, match="an item is a"):
            fl.experimental.from_list([one, two])
    with pytest.raises(TypeError, match="padded_shapes must have the structure"):
        fl.Dataset.from_tensors(A([1], [2])).padded_batch(1, padded_shapes=([2], [2]))


@dataclasses.dataclass
class Made:
    """As `Masked`, with a method of instances, which TensorFlow takes too."""

    mask: bool
    value: Any

    def __tf_flatten__(self) -> Any:
        return (self.mask,), (self.value,)

    def __tf_unflatten__(self, fixed: Any, parts: Any) -> Made:
        return Made(*fixed, *parts)


def test_an_object_made_by_a_method_of_instances() -> None:
    (made,) = fl.Dataset.from_tensors(Made(True, [1, 2])).map(lambda x: x)
    assert made.mask is True and made.value.tolist() == [1, 2]
