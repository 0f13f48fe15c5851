"""Memory of new NumPy arrays: aligned, in a batch, or kept from arrays that were freed."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.kernels import NATIVE

Array = np.ndarray[Any, Any]

if TYPE_CHECKING or not NATIVE:

    class aligned:
        """Context manager: arrays that NumPy allocates in this thread begin at a multiple of 64 bytes. Frameworks use
        those as they are and would copy others. Without a compiler it does nothing.

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

if TYPE_CHECKING or not NATIVE or os.environ.get("FEEDLINE_BATCH_BUFFERS") == "copy":

    class SlotAllocator:
        """Context manager: lets a function allocate its results in the rows of a batch. `arrays` are the columns of the
        batch, None for those whose rows are made elsewhere. Of the arrays that NumPy allocates in this thread, the one
        that the function is known to return is placed in the row: `alloc_pattern` holds, per column, its index among
        the allocations of that size, -1 if unknown, and is updated. Afterwards only arrays that lie in the batch keep
        it alive. Without a compiler, or with `FEEDLINE_BATCH_BUFFERS=copy`, all arrays are made elsewhere.

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
            """Begins row `at`."""

        def end(self) -> None:
            """Ends the row."""

        def made(self, column: int, array: Array) -> bool:
            """Whether a returned array begins where its row of a column does: with the shape and dtype of a row it is
            the row.
            """
            return False

        def unused(self, column: int) -> bool:
            """Whether no array lies in the row of a column."""
            return True
else:
    from feedline.kernels._native import SlotAllocator

__all__ = ["SlotAllocator", "aligned", "keep_freed_memory"]


@functools.cache
def keep_freed_memory() -> None:
    """Makes the C library keep the memory of freed arrays of up to 32 MiB, 64 MiB in all, for the rest of the process.

    glibc returns large arrays to the system as soon as they are freed, and the next image pays for its pages again,
    which may take longer than computing it. Freeing an array of that size once raises glibc's thresholds. No page of it
    is touched, so this takes neither memory nor time; with other allocators, or where `mallopt` or a `MALLOC_` variable
    has set the thresholds, it changes nothing.
    """
    np.empty((32 << 20) - (1 << 16), np.uint8)
