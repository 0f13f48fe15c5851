"""Autoscaling: the number of workers within bounds, from the time for which the consumer waits."""

from __future__ import annotations

import threading

PERIOD = 1.0
"""Seconds between two decisions."""
WAITS = 0.1
"""If the consumer waits for more than this share of the time, and the workers are busy, there are too few of them."""
IDLE = 0.02
"""If it waits for less than this share, and workers are idle, there are too many."""
BUSY = 0.8
GROWTH = 0.25


class Scaling:
    """Decides how many workers there should be: `count` now, within `bounds`."""

    def __init__(self, bounds: tuple[int, int]) -> None:
        self.bounds, self.count = bounds, bounds[0]
        self.why = f"{bounds[0]} as given" if bounds[0] == bounds[1] else f"the fewest of {bounds[0]} to {bounds[1]}"
        self._waited = 0.0
        self._looks = self._busy = 0.0
        self._since = 0.0
        self._lock = threading.Lock()

    def waited(self, seconds: float) -> None:
        """Records that a consumer has waited."""
        with self._lock:
            self._waited += seconds

    def wants(self, now: float, busy: int, ready: int, pending: int) -> int | None:
        """The number of workers from now on, if it should change; `busy` of the `ready` ones have tasks."""
        if self.bounds[0] == self.bounds[1] or not ready:
            return None
        if not self._since:
            self._since = now
        self._looks += 1
        self._busy += busy / ready
        passed = now - self._since
        if passed < PERIOD or not self._looks:
            return None
        with self._lock:
            waited, self._waited = self._waited / passed, 0.0
        load = self._busy / self._looks
        self._since, self._looks, self._busy = now, 0.0, 0.0
        fewest, most = self.bounds
        if waited > WAITS and (load > BUSY or pending) and self.count < most and ready >= self.count:
            count = min(most, self.count + max(1, int(GROWTH * self.count)))
            self.why = f"{count}: the consumer waited {waited:.0%} of the time for {self.count}"
            return count
        if waited < IDLE and load < BUSY and not pending and self.count > fewest:
            self.why = f"{self.count - 1}: {self.count} were busy {load:.0%} of the time"
            return self.count - 1
        return None
