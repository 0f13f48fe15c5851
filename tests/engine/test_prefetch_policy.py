"""engine/prefetch_policy.py: when a prefetch uses a thread, on times that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from feedline.engine.prefetch_policy import CHEAP_BLOCKS, ThreadPolicy
from feedline.structure.block import Block

ROW = Block.of_elements([np.int64(1)])
US = 1e-6


def ends(policy: ThreadPolicy, made: float, away: list[float], blocks: int = CHEAP_BLOCKS + 100) -> bool:
    """Whether the thread has ended after so many blocks, if it makes each in `made` seconds while the consumer is away
    for these times, one after the other.
    """
    policy.started()
    now = 0.0
    for i in range(blocks):
        policy.given(now)
        now += away[i % len(away)]
        policy.asked(now)
        policy.made(made)
        if policy.ends:
            return True
    return False


def starts(policy: ThreadPolicy, seconds: list[float], away: float = 1 * US) -> bool:
    """Whether blocks that the consumer makes in so many seconds start a thread."""
    now, started = 1.0, False
    for each in seconds:
        now += away
        started = policy.starts_after(ROW, now, now + each)
        now += each
    return started


@pytest.mark.parametrize(
    ("made", "away", "ended"),
    [
        (70 * US, [1 * US], True),  # a consumer that only asks for more gains nothing
        (5e-3, [1 * US], True),
        (1 * US, [50e-3], True),
        (70 * US, [60 * US], False),
        (5e-3, [5e-3], False),
        (70 * US, [1 * US] * 19 + [0.1], True),  # 70 µs are saved every 20 blocks
        (2e-3, [1 * US] * 3 + [0.1], False),
    ],
)
def test_a_thread_ends_if_nothing_runs_beside_it(made: float, away: list[float], ended: bool) -> None:
    assert ends(ThreadPolicy(eager=False), made, away) is ended
    assert not ends(ThreadPolicy(eager=True), made, away)


def test_a_thread_is_given_some_time() -> None:
    assert not ends(ThreadPolicy(eager=False), 1 * US, [1 * US], CHEAP_BLOCKS)


@pytest.mark.parametrize(
    ("seconds", "started"),
    [
        ([1e-3], True),
        ([70 * US] * 50, False),
        ([70 * US, 300 * US, 70 * US, 300 * US], False),  # noise
        ([300 * US] * 2, True),
    ],
)
def test_a_thread_starts_after_slow_blocks(seconds: list[float], started: bool) -> None:
    assert starts(ThreadPolicy(eager=False), seconds) is started


def test_a_thread_starts_if_the_consumer_works_meanwhile() -> None:
    assert not starts(ThreadPolicy(eager=False), [110 * US] * 9, away=50 * US)
    assert starts(ThreadPolicy(eager=False), [110 * US] * 9, away=200 * US)
