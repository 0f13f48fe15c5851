"""How long the functions of one step take that runs several."""

from __future__ import annotations

import threading


class LinkTimes(threading.local):
    """The seconds spent in each link of a chain, by its number of step, while somebody measures; else None."""

    spent: dict[int, float] | None = None


link_times = LinkTimes()
