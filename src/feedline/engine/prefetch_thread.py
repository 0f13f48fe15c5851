"""The thread of a prefetch: whom it works for, and how it waits."""

from __future__ import annotations

import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from feedline.engine.prefetch_stage import PrefetchStage


def produce(of: weakref.ref[PrefetchStage]) -> None:
    """What the thread does. While it waits it does not keep the stage: an error that is kept anywhere holds the frames
    of the thread that met it, the consumer's, say, and those hold the iterator, which must become garbage all the same.
    """
    waits: SimpleQueue[None] | None = None
    while (stage := of()) is not None:
        waits = stage.produce_more(waits)
        del stage
        if waits is None:
            return
        waits.get()
