"""Where new arrays begin in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedline.kernels import NATIVE

if TYPE_CHECKING or not NATIVE:

    class aligned:
        """Within it, in this thread, arrays that NumPy makes begin at a multiple of 64 bytes. Frameworks take those as
        they are where they would copy others. Without a compiler they begin anywhere.

        >>> from feedline.kernels.memory import aligned
        >>> with aligned():
        ...     x = np.ones(1000) + 1
        >>> x.sum()
        np.float64(2000.0)
        """

        __slots__ = ()

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...
else:
    from feedline.kernels._native import aligned

__all__ = ["aligned"]
