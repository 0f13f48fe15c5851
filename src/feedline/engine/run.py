"""One execution of a plan: the list of its nodes' states, and the calls between them.

    Run    a plan with its states; pulls blocks out of it
    Input  one node inside a run, as its consumer sees it: the `Pull` of plan/node.py
    Cursor what stands between a run and a loop: asks for blocks, hands out rows

States are values. Those of light plans are never changed, so a copy of the list taken before a block, and the number of
rows handed out since, is a checkpoint. Heavy states are reused in place; there the checkpoint is the states as they are
and the rest of the block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import length_hint
from typing import Any

from feedline.plan.face import register_sampler
from feedline.plan.node import Node
from feedline.structure.block import Block

BLOCK_ROWS = 8192
BLOCK_BYTES = 1 << 20
SAMPLE_FAILURES = 8


class Input:
    """A node of a run as its consumer sees it."""

    __slots__ = ("inputs", "node", "run", "slot", "states", "step")

    def __init__(self, run: Run, node: Node, slot: int, inputs: Any) -> None:
        self.run, self.node, self.slot, self.inputs = run, node, slot, inputs
        self.states = run.states
        self.step = node.step

    def __call__(self, want: int) -> Block | None:
        """Runs the node by one block."""
        states, slot = self.states, self.slot
        try:
            block, states[slot] = self.step(states[slot], self.inputs, want)
        except Exception:
            states[slot] = self.node.after_error(states[slot])
            raise
        return block

    def start(self) -> None:
        """Starts the node, and what it starts below it, anew."""
        before = self.states[self.slot]
        close_state(before)
        state = self.node.begin(self.inputs)
        self.states[self.slot] = state if before is None else self.node.again(before, state)

    def open(self, plan: Node, key: Block | None = None) -> Run:
        """A run of a nested plan, with the same treatment as the plan around it had."""
        child = Run(self.run.prepare(plan), self.run.prepare, key)
        child.start()
        return child


class CappedInput(Input):
    """An input that gives at most `blocks.cap` rows at a time, whatever it is asked for: for tests."""

    __slots__ = ()

    def __call__(self, want: int) -> Block | None:
        """Runs the node by one block of a size that the test set."""
        return super().__call__(min(want, blocks.cap or want))


class blocks:
    """Within it, new runs move blocks of at most `rows` rows between all nodes. Results must not depend on it.

    >>> from feedline.engine.run import blocks
    >>> with blocks(1):
    ...     list(fl.Dataset.range(4).batch(3))
    [array([0, 1, 2]), array([3])]
    """

    cap: int | None = None

    def __init__(self, rows: int | None) -> None:
        self.rows = rows

    def __enter__(self) -> None:
        self.outer, blocks.cap = blocks.cap, self.rows

    def __exit__(self, *_: object) -> None:
        blocks.cap = self.outer


def as_is(plan: Node) -> Node:
    """The plan itself: for runs without an optimizer."""
    return plan


class Run:
    """A running plan. Calling it gives the next block."""

    def __init__(self, plan: Node, prepare: Any = as_is, key: Block | None = None) -> None:
        self.plan = plan
        self.prepare = prepare
        self.key = key
        self.nodes: list[Node] = []
        self.states: list[Any] = []
        self.root = self._input(plan)
        self.heavy = any(n.heavy for n in self.nodes)
        self.pull = self.root.__call__

    def _input(self, node: Node) -> Input:
        below = tuple(self._input(n) for n in node.inputs)
        slot = len(self.nodes)
        self.nodes.append(node)
        self.states.append(None)
        kind = Input if blocks.cap is None else CappedInput
        return kind(self, node, slot, below if node.many else below[0] if below else None)

    def start(self) -> None:
        """Begins at the first element: takes seeds, in TensorFlow's order."""
        self.root.start()

    def __call__(self, want: int) -> Block | None:
        """The next block of at most `want` rows."""
        return self.pull(want)

    def close(self) -> None:
        """Frees what the states hold: open files, generators, nested runs."""
        for i, state in enumerate(self.states):
            self.states[i] = None
            close_state(state)


def close_state(value: Any) -> None:
    """Closes everything in a state that can be closed."""
    if value is None:
        return
    if isinstance(value, (tuple, list, deque)):
        for v in value:
            close_state(v)
    elif isinstance(value, dict):
        for v in value.values():
            close_state(v)
    elif not isinstance(value, type) and callable(getattr(value, "close", None)):
        value.close()


class Cursor:
    """Hands out the rows of a run one by one.

    A quiet plan is asked for more and more rows, up to a limit in rows and bytes, unless that would take seeds early.
    Where a function of the user's runs, a plan is asked for what the consumer wants now, so that effects come no
    earlier than they would element by element.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rows: Iterator[Any] = iter(())
        self.block: Block | None = None
        self.before: list[Any] | None = None
        self.ended = False
        self.want = blocks.cap or 1
        greedy = run.plan.quiet and not run.plan.takes_seeds_ahead
        self.largest = blocks.cap or (BLOCK_ROWS if greedy else 1)

    def refill(self) -> bool:
        """Gets the next block that has rows; False at the end."""
        run = self.run
        while not self.ended:
            if not run.heavy:
                self.before = run.states.copy()
                self.block = None
            block = run.pull(self.want)
            if block is None:
                self.ended, self.block, self.rows = True, None, iter(())
                return False
            if block.n:
                self.block = block
                self.rows = iter(block.rows())
                if self.want < self.largest:
                    self._grow(block)
                return True
        return False

    def _grow(self, block: Block) -> None:
        per_row = max(1, block.nbytes // block.n)
        limit = max(1, min(self.largest, BLOCK_BYTES // per_row))
        self.want = min(limit, self.want * 4)
        if self.want >= limit:
            self.largest = self.want

    def handed_out(self) -> int:
        """How many rows of the current block are with the consumer already."""
        return 0 if self.block is None else self.block.n - length_hint(self.rows)

    def rest(self) -> Block | None:
        """The rows of the current block that are not handed out yet."""
        done = self.handed_out()
        return None if self.block is None or done == self.block.n else self.block.slice(done, self.block.n)

    def next_block(self, want: int) -> Block | None:
        """Up to `want` rows as a block, for consumers that need no Python objects; None at the end."""
        rest = self.rest()
        if rest is not None:
            part = rest.slice(0, want)
            rows = self.rows
            for _ in range(part.n):
                next(rows)
            return part
        if self.ended:
            return None
        block = self.run.pull(want)
        self.ended = block is None
        return block


def sample(plan: Node, count: int) -> list[Block]:
    """The first `count` elements of a plan, one block each. Elements that fail are passed over, up to a few."""
    run = Run(plan)
    found: list[Block] = []
    failed: list[Exception] = []
    try:
        run.start()
        while len(found) < count and len(failed) < SAMPLE_FAILURES:
            try:
                block = run.pull(1)
            except Exception as e:
                failed.append(e)
                continue
            if block is None:
                break
            if block.n:
                found.append(block)
    finally:
        run.close()
    if failed and not found:
        raise failed[0]
    return found


register_sampler(sample)
