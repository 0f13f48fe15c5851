"""What is left of a sequence that several share out among them, shared out among another number of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.structure.block import Array


class Left(NamedTuple):
    """What one has still to take of a sequence: single numbers, and after those every n-th one from `resume` on."""

    picks: Array
    resume: int


def redistribute(lefts: Sequence[Left], part: int, parts: int) -> Left:
    """The share of `part` among `parts` in what several have left, each of whom takes every len(lefts)-th number.

    The numbers that are left are redistributed one after another in rising order. From some number on all are left, and
    the share goes on regularly.
    """
    n = len(lefts)
    if len({left.resume % n for left in lefts}) != n:
        raise FailedPreconditionError(
            "the states do not belong together: two of them go on with the same elements, or an element that failed "
            "has shifted one of them"
        )
    whole = max(left.resume for left in lefts)
    few = [np.arange(left.resume, whole, n, dtype=np.int64) for left in lefts]
    odd = np.sort(np.concatenate([*few, *(left.picks for left in lefts)]))
    whole = max(whole, int(odd[-1]) + 1 if len(odd) else 0)
    return Left(odd[part::parts], whole + (part - len(odd)) % parts)
