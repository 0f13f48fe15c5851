"""engine/row_feed.py: rows that are gathered for a batch."""

from __future__ import annotations

from typing import Any

import feedline as fl
from feedline.engine.context import ExecutionContext
from feedline.engine.row_feed import RowFeed
from feedline.engine.run import Run


def test_an_interrupt_loses_no_gathered_rows() -> None:
    context = ExecutionContext()
    run = Run(fl.Dataset.range(10)._plan, context=context)
    run.start()
    feed = RowFeed(run.root, True, context)
    pulls = 0

    def interrupted(want: int) -> Any:
        nonlocal pulls
        pulls += 1
        if pulls == 3:
            raise KeyboardInterrupt
        return run.root(want)

    feed._times = interrupted  # type: ignore[assignment]
    got: list[int] = []
    interrupts = 0
    while feed.is_open:
        try:
            found = feed.gather(8, in_turn=True)
        except KeyboardInterrupt:
            interrupts += 1
            continue
        got += [] if found is None else [int(x) for x in found[0].rows()]
    assert got == list(range(10)) and interrupts == 1
    context.close()
