"""`tf.nest`: structures of lists, tuples, dicts and named tuples; unlike in datasets, lists are structures here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from feedline.structure.nest import is_namedtuple
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.sparse_ops import SparseTensor


def is_nested(seq: object) -> bool:
    """Whether a value is a list, tuple, dict or the like.

    >>> import feedline.tf as tf
    >>> tf.nest.is_nested([1]), tf.nest.is_nested("a")
    (True, False)
    """
    return isinstance(seq, (list, tuple, Mapping)) or _is_data(seq)


def _is_data(structure: object) -> bool:
    return hasattr(structure, "__attrs_attrs__") or (hasattr(structure, "__tf_flatten__") and _fields(structure) != ())


def _fields(structure: Any) -> tuple[str, ...]:
    if hasattr(structure, "__attrs_attrs__"):
        return tuple(a.name for a in structure.__attrs_attrs__)
    return tuple(f.name for f in dataclasses.fields(structure)) if dataclasses.is_dataclass(structure) else ()


def _parts(structure: Any, composites: bool = False) -> list[tuple[Any, Any]] | None:
    """The keys and parts of a structure in order; None for a leaf."""
    if isinstance(structure, Mapping):
        try:
            return [(key, structure[key]) for key in sorted(structure)]
        except TypeError:
            return list(structure.items())
    if isinstance(structure, (list, tuple)):
        return list(enumerate(structure))
    if _is_data(structure):
        return [(name, getattr(structure, name)) for name in _fields(structure)]
    if composites and isinstance(structure, RaggedTensor):
        return list(enumerate((structure.flat_values, *structure.nested_row_splits)))
    if composites and isinstance(structure, SparseTensor):
        return list(enumerate((structure.indices, structure.values, structure.dense_shape)))
    return None


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure in a list; those of a dict in the order of its keys.

    >>> import feedline.tf as tf
    >>> tf.nest.flatten({"b": [1, 2], "a": (3,)})
    [3, 1, 2]
    """
    parts = _parts(structure, expand_composites)
    return [structure] if parts is None else [leaf for _, part in parts for leaf in flatten(part, expand_composites)]


def _rebuilt(structure: Any, parts: dict[Any, Any]) -> Any:
    if isinstance(structure, Mapping):
        kind: Any = type(structure)
        if hasattr(structure, "default_factory"):
            return kind(structure.default_factory, {key: parts[key] for key in structure})
        return kind((key, parts[key]) for key in structure)
    if is_namedtuple(structure):
        return type(structure)(*parts.values())
    if isinstance(structure, RaggedTensor):
        flat, *splits = parts.values()
        return RaggedTensor.from_nested_row_splits(flat, splits)
    if isinstance(structure, SparseTensor):
        return SparseTensor(*parts.values())
    if _is_data(structure):
        return type(structure)(**parts)
    return type(structure)(parts.values())


def pack_sequence_as(structure: object, flat_sequence: Iterable[object], expand_composites: bool = False) -> Any:
    """A structure like the given one, with the leaves of a list.

    >>> import feedline.tf as tf
    >>> tf.nest.pack_sequence_as({"a": 0, "b": [0, 0]}, [1, 2, 3])
    {'a': 1, 'b': [2, 3]}
    """
    leaves = list(flat_sequence)
    expected = len(flatten(structure, expand_composites))
    if _parts(structure, expand_composites) is None:
        if len(leaves) != 1:
            raise ValueError(f"The target structure is of type `{type(structure)}`, but there are {len(leaves)} leaves")
        return leaves[0]
    if len(leaves) != expected:
        raise ValueError(
            f"Could not pack sequence. Structure had {expected} atoms, but flat_sequence had {len(leaves)}"
        )
    rest = iter(leaves)

    def packed(part: Any) -> Any:
        parts = _parts(part, expand_composites)
        return next(rest) if parts is None else _rebuilt(part, {key: packed(inner) for key, inner in parts})

    return packed(structure)


def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises ValueError or TypeError if two structures differ.

    >>> import feedline.tf as tf
    >>> tf.nest.assert_same_structure([1, (2,)], [3, (4,)])
    """
    first, second = _parts(nest1, expand_composites), _parts(nest2, expand_composites)
    if (first is None) is not (second is None):
        raise ValueError(f"The two structures don't have the same nested structure: {nest1!r} and {nest2!r}")
    if first is None or second is None:
        return
    if (
        check_types
        and type(nest1) is not type(nest2)
        and not (isinstance(nest1, Mapping) and isinstance(nest2, Mapping))
    ):
        raise TypeError(f"The two structures don't have the same sequence type: {type(nest1)} and {type(nest2)}")
    if len(first) != len(second) or (isinstance(nest1, Mapping) and [k for k, _ in first] != [k for k, _ in second]):
        raise ValueError(f"The two structures don't have the same number of elements or keys: {nest1!r} and {nest2!r}")
    for (_, a), (_, b) in zip(first, second, strict=True):
        assert_same_structure(a, b, check_types, expand_composites)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """The result of a function for the leaves of one or more structures, in the structure of the first.

    >>> import feedline.tf as tf
    >>> tf.nest.map_structure(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types, composites = kwargs.pop("check_types", True), kwargs.pop("expand_composites", False)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, composites)
    leaves = zip(*(flatten(s, composites) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*several) for several in leaves], composites)


def map_structure_up_to(shallow: object, func: Callable[..., Any], *inputs: Any) -> Any:
    """`map_structure` down to the leaves of `shallow`."""
    flat = [_flatten_up_to(shallow, one) for one in inputs]
    return pack_sequence_as(shallow, [func(*several) for several in zip(*flat, strict=True)])


def _flatten_up_to(shallow: Any, value: Any) -> list[Any]:
    parts = _parts(shallow)
    if parts is None:
        return [value]
    inner: Sequence[Any] = (
        [value[key] for key, _ in parts] if not _is_data(value) else [getattr(value, k) for k, _ in parts]
    )
    return [leaf for (_, part), one in zip(parts, inner, strict=True) for leaf in _flatten_up_to(part, one)]
