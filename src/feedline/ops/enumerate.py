"""`enumerate`: elements with their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from feedline.ops.sources.counter import Counter
from feedline.ops.zip import Zip
from feedline.plan.arguments import integer
from feedline.structure.nest import flat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


def enumerate_(self: Dataset[T], start: Integer = 0, name: str | None = None) -> Dataset[tuple[np.int64, T]]:
    """Pairs each element with its index, an int64 that counts from `start`.

    >>> list(fl.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5))
    [(np.int64(5), b'a'), (np.int64(6), b'b')]

    An element that fails uses up its index.
    """
    first = np.int64(integer(start, "start", "enumerate"))
    return self._derive(Zip((Counter(first, np.int64(1)), self._plan), flat(2)))
