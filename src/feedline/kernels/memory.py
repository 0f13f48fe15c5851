"""Memory of new NumPy arrays: aligned, and kept from arrays that were freed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from feedline.kernels import NATIVE

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

__all__ = ["aligned", "keep_freed_memory"]


@functools.cache
def keep_freed_memory() -> None:
    """Makes the C library keep the memory of freed arrays of up to 32 MiB, 64 MiB in all, for the rest of the process.

    glibc returns large arrays to the system as soon as they are freed, and the next image pays for its pages again,
    which may take longer than computing it. Freeing an array of that size once raises glibc's thresholds. No page of it
    is touched, so this takes neither memory nor time; with other allocators, or where `mallopt` or a `MALLOC_` variable
    has set the thresholds, it changes nothing.
    """
    np.empty((32 << 20) - (1 << 16), np.uint8)
