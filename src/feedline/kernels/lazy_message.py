"""Base classes of the messages of `train`: in C++ they keep a message as its bytes until it is looked into.

`serialized` is these bytes, or None, which it always is without a compiler. A constructor that cannot encode its
arguments passes them to `_build`. A subclass that has parsed the contents sets `serialized` to None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from feedline.kernels import NATIVE

if TYPE_CHECKING or not NATIVE:

    class LazyMessage:
        """The base class without C++: a message that is never kept as bytes."""

        __slots__ = ("serialized",)
        serialized: bytes | None

        def __init__(self, *args: Any, **values: Any) -> None:
            self.serialized = None
            self._build(*args, **values)

        def _build(self, **values: Any) -> None:
            raise TypeError(f"{type(self).__name__} does not define _build")

    class LazyBytesList(LazyMessage):
        """A list of strings."""

        __slots__ = ()

    class LazyFloatList(LazyMessage):
        """A list of floats."""

        __slots__ = ()

    class LazyInt64List(LazyMessage):
        """A list of integers."""

        __slots__ = ()

    class LazyFeature(LazyMessage):
        """One of these lists."""

        __slots__ = ()

    class LazyFeatures(LazyMessage):
        """Features under their names."""

        __slots__ = ()

    class LazyExample(LazyMessage):
        """Features in an Example."""

        __slots__ = ()
else:
    from feedline.kernels._native import (
        LazyBytesList,
        LazyExample,
        LazyFeature,
        LazyFeatures,
        LazyFloatList,
        LazyInt64List,
        LazyMessage,
    )

__all__ = [
    "LazyBytesList",
    "LazyExample",
    "LazyFeature",
    "LazyFeatures",
    "LazyFloatList",
    "LazyInt64List",
    "LazyMessage",
]
