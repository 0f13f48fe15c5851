"""A `repeat` directly after a `shuffle`, run as one step."""

from __future__ import annotations

from typing import ClassVar

from feedline.ops.shuffle import Shuffle
from feedline.plan.node import node


@node
class ShuffleAndRepeat(Shuffle):
    """A shuffle of `count` epochs in one buffer. It takes one pair of seeds per epoch, where a repeat that starts its input
    anew takes one more at the end. Made by the optimizer.
    """

    op: ClassVar[str] = "shuffle_and_repeat"
