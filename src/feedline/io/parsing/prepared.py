"""Parsers that are built once: features are validated on first use, not for every record."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

import numpy as np

P = TypeVar("P")


class _Made(NamedTuple):
    """A parser, and the arguments it was made from. Lists among them may have been modified since."""

    parser: Any
    features: list[Any]
    lists: list[Any]
    copies: list[Any]


_MOST_PARSERS = 64
_by_object: dict[Any, _Made] = {}
_by_content: dict[Any, Any] = {}


def prepared(make: Callable[..., P], op: str, *given: Any) -> P:
    """`make(*given, op)`, cached for identical or equal features. Each of `given` is a dict of features, or None."""
    try:
        objects = (op, *[part for one in given for part in ((len(one), *one, *map(id, one.values())) if one else (0,))])
        made = _by_object.get(objects)
        if made is not None and made.lists == made.copies:
            known: P = made.parser
            return known
        content = (op, *[_content(one) for one in given])
        parser = _by_content.get(content)
    except (AttributeError, TypeError, ValueError):  # not features, or not worth caching
        return make(*given, op)
    if parser is None:
        parser = make(*[deepcopy(dict(one)) if one else one for one in given], op)
        if len(_by_content) >= _MOST_PARSERS:
            _by_content.clear()
            _by_object.clear()
        _by_content[content] = parser
        # Keeps the features alive, so that no other objects get their ids.
        held = [feature for one in given if one for feature in one.values()]
        lists = [value for feature in held for value in feature if isinstance(value, (list, tuple))]
        _by_object[objects] = _Made(parser, held, lists, deepcopy(lists))
    return parser


def _content(features: Any) -> Any:
    if not features:
        return None
    return tuple([(key, type(feature), *map(_known, feature)) for key, feature in features.items()])


def _known(value: Any) -> Any:
    """A key that is equal only for arguments with the same meaning: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind, tuple(map(_known, value))
    if kind is float:
        return kind, repr(value)
    if isinstance(value, np.generic):
        raise TypeError("NumPy scalars are not cached: each type would need a key of its own")
    return kind, value
