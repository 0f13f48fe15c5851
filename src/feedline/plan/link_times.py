"""How long each function takes in a step that runs several."""

from __future__ import annotations

import threading


class LinkTimes(threading.local):
    """The seconds spent in each link of a chain, by step number; None unless they are being measured."""

    spent: dict[int, float] | None = None


link_times = LinkTimes()
