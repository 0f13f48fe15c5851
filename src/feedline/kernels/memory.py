"""Where new arrays lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.kernels import NATIVE

Array = np.ndarray[Any, Any]

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

    class SlotAllocator:
        """Rows of a batch that a function makes, each where it belongs: `arrays` are the columns of the batch, None for
        those whose rows are made elsewhere. Within it, in this thread, an array that NumPy makes lies in the row, if
        the function has returned that one before: `alloc_pattern` says for each column which of the arrays of its size
        that is, -1 where it is not known, and learns. After it, the batch is kept only by arrays that lie in it.
        Without a compiler all arrays are made elsewhere.

        >>> from feedline.kernels.memory import SlotAllocator
        >>> batch, alloc_pattern = np.zeros((2, 1000)), np.array([0])
        >>> with SlotAllocator([batch], alloc_pattern) as rows:
        ...     rows.begin(1)
        ...     result = np.arange(1000.0)
        ...     rows.end()
        ...     if not rows.made(0, result):
        ...         batch[1] = result
        ...     del result
        ...     print(rows.unused(0), batch[1].sum())
        True 499500.0
        """

        __slots__ = ()

        def __init__(self, arrays: Sequence[Array | None], alloc_pattern: Array) -> None: ...

        def __enter__(self) -> SlotAllocator:
            return self

        def __exit__(self, *_: object) -> None: ...

        def begin(self, at: int) -> None:
            """Row `at` is made from now on."""

        def end(self) -> None:
            """The row has been made."""

        def made(self, column: int, array: Array) -> bool:
            """True where an array that was returned begins where its row of a column does: it is the row if it is built
            like one.
            """
            return False

        def unused(self, column: int) -> bool:
            """True where nobody holds an array in the row of a column."""
            return True
else:
    from feedline.kernels._native import SlotAllocator, aligned

__all__ = ["SlotAllocator", "aligned"]
