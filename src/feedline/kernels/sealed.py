"""The bases of the messages of `train`: in C++ they keep a message as its own bytes as long as nobody looks into it.

`sealed` is these bytes, or None, which it always is without a compiler. A constructor that cannot seal what it is given
calls `_build` with the same arguments. Setting `sealed` to None is for whoever has put the contents somewhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from feedline.kernels import NATIVE

if TYPE_CHECKING or not NATIVE:

    class Sealed:
        """A message that is never sealed."""

        __slots__ = ("sealed",)
        sealed: bytes | None

        def __init__(self, *args: Any, **values: Any) -> None:
            self.sealed = None
            self._build(*args, **values)

        def _build(self, **values: Any) -> None:
            raise TypeError(f"{type(self).__name__} holds nothing")

    class SealedBytesList(Sealed):
        """A list of strings."""

        __slots__ = ()

    class SealedFloatList(Sealed):
        """A list of floats."""

        __slots__ = ()

    class SealedInt64List(Sealed):
        """A list of integers."""

        __slots__ = ()

    class SealedFeature(Sealed):
        """One of these lists."""

        __slots__ = ()

    class SealedFeatures(Sealed):
        """Features under their names."""

        __slots__ = ()

    class SealedExample(Sealed):
        """Features in an Example."""

        __slots__ = ()
else:
    from feedline.kernels._native import (
        Sealed,
        SealedBytesList,
        SealedExample,
        SealedFeature,
        SealedFeatures,
        SealedFloatList,
        SealedInt64List,
    )

__all__ = [
    "Sealed",
    "SealedBytesList",
    "SealedExample",
    "SealedFeature",
    "SealedFeatures",
    "SealedFloatList",
    "SealedInt64List",
]
