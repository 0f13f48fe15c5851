"""Parsers that are made once: features are checked when they are first used, not for every record."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

import numpy as np

P = TypeVar("P")


class _Made(NamedTuple):
    """A parser, and what it was made of. The lists among that someone may have changed since."""

    parser: Any
    features: list[Any]
    lists: list[Any]
    copies: list[Any]


_MOST_PARSERS = 64
_by_object: dict[Any, _Made] = {}
_by_content: dict[Any, Any] = {}


def prepared(make: Callable[..., P], op: str, *given: Any) -> P:
    """`make(*given, op)`, the one made before where the features are the same: the same objects, or equal ones. Each of
    `given` is a dict of features, or None.
    """
    try:
        objects = (op, *[part for one in given for part in ((len(one), *one, *map(id, one.values())) if one else (0,))])
        made = _by_object.get(objects)
        if made is not None and made.lists == made.copies:
            known: P = made.parser
            return known
        content = (op, *[_content(one) for one in given])
        parser = _by_content.get(content)
    except (AttributeError, TypeError, ValueError):  # no features, or some that are not worth it
        return make(*given, op)
    if parser is None:
        parser = make(*[deepcopy(dict(one)) if one else one for one in given], op)
        if len(_by_content) >= _MOST_PARSERS:
            _by_content.clear()
            _by_object.clear()
        _by_content[content] = parser
        # The features are held, so that no other objects get their ids.
        held = [feature for one in given if one for feature in one.values()]
        lists = [value for feature in held for value in feature if isinstance(value, (list, tuple))]
        _by_object[objects] = _Made(parser, held, lists, deepcopy(lists))
    return parser


def _content(features: Any) -> Any:
    if not features:
        return None
    return tuple([(key, type(feature), *map(_known, feature)) for key, feature in features.items()])


def _known(value: Any) -> Any:
    """Something equal only for arguments that mean the same: 1, 1.0 and True do not, nor do 0.0 and -0.0."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind, tuple(map(_known, value))
    if kind is float:
        return kind, repr(value)
    if isinstance(value, np.generic):
        raise TypeError("as floats, but with more types than are worth it")
    return kind, value
