"""Resharding a sequence: what N iterators have left of it, divided among M."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.structure.block import Array


class Left(NamedTuple):
    """What one iterator has still to read of a sequence: single numbers, then every n-th one from `resume` on."""

    picks: Array
    resume: int


def redistribute(lefts: Sequence[Left], part: int, parts: int) -> Left:
    """The share of `part` among `parts` in what n iterators have left, each of which reads every n-th number.

    The remaining numbers are dealt out in ascending order. From some number on none has been read, and the share
    continues regularly.
    """
    n = len(lefts)
    if len({left.resume % n for left in lefts}) != n:
        raise FailedPreconditionError(
            "the states do not belong together: two of them continue with the same elements, or an element that failed "
            "has shifted one of them"
        )
    whole = max(left.resume for left in lefts)
    few = [np.arange(left.resume, whole, n, dtype=np.int64) for left in lefts]
    odd = np.sort(np.concatenate([*few, *(left.picks for left in lefts)]))
    whole = max(whole, int(odd[-1]) + 1 if len(odd) else 0)
    return Left(odd[part::parts], whole + (part - len(odd)) % parts)
