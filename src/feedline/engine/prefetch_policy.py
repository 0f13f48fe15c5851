"""The policies of a prefetch stage: when it uses a thread, how large blocks are, and how many may wait."""

from __future__ import annotations

from math import inf
from time import perf_counter

from feedline.engine.context import block_bytes
from feedline.plan.arguments import AUTOTUNE
from feedline.structure.block import Block

WORTH_A_THREAD = 100e-6
"""A thread pays if a block takes longer than this, and than moving its bytes to another core at `CROSSING` takes."""
CROSSING = 8e9  # bytes per second
FAST = 2e8
CERTAIN = 20e-3
SOON = 500e-6
"""One slow block may be noise (warm-up, another process): a thread starts only after consecutive slow blocks add up to
`SOON` seconds, and to `CERTAIN` above `FAST` bytes per second, where noise is likely.
"""
CHEAP_SECONDS = 20e-6
CHEAP_BLOCKS = 256
"""The thread ends after `CHEAP_BLOCKS` blocks if it saves less than `CHEAP_SECONDS` for each. It saves its own time or
the time that the consumer is away, whichever is shorter.
"""
QUICK = 500e-6
SLOW = 5e-3
LARGEST_ROWS = 8192
LARGEST_BYTES = 1 << 21
DEEPEST = 64
SLACK = 0.2
"""With slack, the thread first waits for this share of the time that the last block spent in a full buffer."""
LONGEST_SLACK = 0.1


class ThreadPolicy:
    """Decides whether blocks are made by a thread or by the consumer, from how long they take."""

    __slots__ = ("_away", "_left", "_made", "_saved", "_slow_seconds", "delay", "eager", "slack")

    def __init__(self, eager: bool) -> None:
        self.eager = eager  # always a thread
        self.slack = False  # whether the thread waits before the next block, so that the consumer runs undisturbed
        self.delay = 0.0
        self._made, self._saved = 0, 0.0
        self._slow_seconds, self._away, self._left = 0.0, inf, -inf

    def starts_after(self, block: Block | None, began: float, ended: float) -> bool:
        """Whether a thread should make the blocks after one that the consumer has made inline."""
        seconds, away = ended - began, self.asked(began)
        self.given(ended)
        if block is None or not block.n or self.eager:
            return self.eager
        cost = WORTH_A_THREAD + block.nbytes / CROSSING
        if min(seconds, away) <= cost and seconds <= 2 * cost:
            self._slow_seconds = 0.0
            return False
        self._slow_seconds += seconds
        return self._slow_seconds > (SOON if block.nbytes < FAST * seconds else CERTAIN)

    def asked(self, at: float) -> float:
        """Records that the consumer asks for a block; returns how long it was away since it got the last one."""
        self._away = at - self._left
        return self._away

    def given(self, at: float) -> None:
        """Records that the consumer gets a block."""
        self._left = at

    def started(self) -> None:
        """Records that a thread starts."""
        self._made, self._saved, self._away = 0, 0.0, inf

    def made(self, seconds: float) -> None:
        """Records a block that the thread made."""
        self._made += 1
        self._saved += (min(seconds, self._away, 10 * CHEAP_SECONDS) - self._saved) / min(self._made, 64)

    @property
    def ends(self) -> bool:
        """Whether the consumer should make the blocks itself again."""
        return self._made > CHEAP_BLOCKS and self._saved < CHEAP_SECONDS and not self.eager

    def consumed(self, made: float) -> None:
        """Records that a block made at this time leaves the buffer."""
        if self.slack:
            self.delay = min(SLACK * (perf_counter() - made), LONGEST_SLACK)


class BlockSizing:
    """The number of rows per block, and of blocks that may wait. `ahead` is the user's buffer size; `effect_free` says
    that making rows further ahead has no visible effect.
    """

    __slots__ = ("_over", "ahead", "depth", "effect_free", "largest", "rows", "unit")

    def __init__(self, ahead: int, depth: int, effect_free: bool, largest: int) -> None:
        self.ahead, self.depth, self.effect_free = ahead, depth, effect_free
        self.largest = min(block_bytes(LARGEST_BYTES), largest)
        self.rows = 1
        self.unit = 1  # the consumer's batch size: blocks of whole batches need not be put together
        self._over = 0  # rows made beyond the last whole batch

    @property
    def blocks(self) -> int:
        """How many blocks may wait. The user's buffer size counts rows, unless the plan is effect-free."""
        if self.ahead == AUTOTUNE:
            return self.depth
        return max(2, self.depth // self.rows) if self.effect_free else self.depth // self.rows

    @property
    def next_rows(self) -> int:
        """How many rows to ask for: after a block that ended within a batch, as many as end with one again."""
        return self.rows - self._over if self.rows > self.unit else self.rows

    def made(self, rows: int) -> None:
        """Counts rows, made by the thread or inline."""
        self._over = (self._over + rows) % self.unit

    def restarted(self) -> None:
        """Begins to count anew."""
        self._over = 0

    def inline(self, want: int) -> int:
        """How many rows the consumer may make inline at a time, so that no effect comes further ahead than allowed."""
        return want if self.effect_free or self.ahead == AUTOTUNE else min(want, self.depth + 1)

    def like(self, block: Block) -> None:
        """Allows blocks as large as one that the consumer has asked for."""
        if self.effect_free:
            self.rows = max(1, min(block.n, LARGEST_ROWS, self._rows_of_bytes(block)))

    def deepen(self) -> None:
        """Lets more blocks wait, since the consumer has found nothing ready though the buffer has been full."""
        deepest = DEEPEST * LARGEST_BYTES // max(LARGEST_BYTES, self.largest)
        self.depth = max(self.depth, min(2 * self.depth, deepest))

    def adapt(self, block: Block, seconds: float) -> None:
        """Makes blocks larger if rows are small and quickly made, as far as the user's buffer size allows, and smaller
        if a block takes long.
        """
        rows = self.rows
        if seconds > (4 * SLOW if self.effect_free else SLOW):
            self.rows = max(1, rows // 2)
        elif seconds < self._long_enough and 8 * block.n >= rows:  # no step gives less than that for long
            limit = LARGEST_ROWS if self.effect_free or self.ahead == AUTOTUNE else max(1, self.depth // 2)
            self.rows = min(2 * rows, limit, max(1, self._rows_of_bytes(block)))
        if self.rows > self.unit:
            self.rows -= self.rows % self.unit

    def _rows_of_bytes(self, block: Block) -> int:
        return self.largest * block.n // max(1, block.nbytes)

    @property
    def _long_enough(self) -> float:
        """Blocks that take fewer seconds than this are made larger. The limit is higher for an effect-free plan: steps
        that work on whole blocks take little more time for larger ones.
        """
        if self.effect_free:
            return SLOW
        return SLOW / 2 if self.ahead == AUTOTUNE else QUICK
