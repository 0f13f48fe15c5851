"""Nested datasets, made from elements by a user function: what flat_map, interleave and group_by_window run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from queue import SimpleQueue
from types import NoneType
from typing import Any, ClassVar

import numpy as np

from feedline.early import Early, working
from feedline.errors import InvalidTypeError
from feedline.ops.sources.range import Range
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.dataset_base import DatasetBase, dataset, in_memory, sample
from feedline.plan.file_access import OpensPlans
from feedline.plan.function import Function
from feedline.plan.inference import infer, infer_unseen
from feedline.plan.node import EMPTY, Node, node
from feedline.plan.pace import AT_ONCE, SOON, late
from feedline.plan.pull import Child, Pending, Pull
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_steps import SMALL_REST
from feedline.plan.traits.checkpoint import InMemory, Snapshotable
from feedline.plan.traits.effects import CallsUserCode, side_effect_free
from feedline.plan.traits.provenance import Recomputable
from feedline.plan.traits.random_access import in_order, read_rows
from feedline.plan.traits.reshard import error_waits
from feedline.plan.traits.schedule import OpensChildren
from feedline.plan.traits.seeds import consumes_shared_seeds, generator_of, shared_at_start
from feedline.plan.traits.specs import InferredSpec, sampled_whole
from feedline.plan.vectorize import makes_side_effect_free_datasets
from feedline.structure.block import Block, concat, pack
from feedline.structure.datasets import Datasets
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import DatasetSpec
from feedline.structure.zeros import zeros_of

GATHER_BYTES = 1 << 16
AHEAD_ROWS = 1024
AHEAD_BYTES = 1 << 20
SAMPLES = 4
FEW_ROWS = 64
FEW_SOURCE_ROWS, FEW_SOURCE_BYTES = 1 << 11, 1 << 14
"""The most that sources in memory may hold for a dataset of few rows to be read whole, in case these are small."""
MOST_PASSED = 1 << 16
"""Rows read ahead are saved if small, or if a restore would have to skip more rows than this."""


@node
class Flattened(CallsUserCode, InferredSpec, OpensChildren, Recomputable, Snapshotable, OpensPlans):
    """The rows of the datasets that a user function makes from the input's rows."""

    mutable_state: ClassVar[bool] = True
    input: Node
    function: Function

    @property
    def traced_spec(self) -> Any:
        """That of the datasets that the function makes."""
        made = self.function.traced_spec
        return None if made is None else made.element_spec

    def spec(self) -> Any:
        """The common spec of the datasets made from the first few elements; the datasets are not run. Strings, such as
        file names, are assumed not to affect the spec.
        """
        if self.traced_spec is not None:
            return self.traced_spec
        given = self.input.element_spec
        elements, failed = first_elements(self.input)
        found = []
        for element in elements:
            try:
                found.append(self._spec_of(element))
            except Exception as e:
                failed = failed or e
        if not found:
            return infer_unseen(given, stand_ins(given), self._spec_of, failed, strings_decide=False)
        return infer(found, given, lambda: elements, self._spec_of, strings_decide=False)

    def _spec_of(self, element: object) -> Any:
        return made(self.function, element).element_spec

    def cardinality(self) -> int:
        """Never known: the function would have to run for all elements."""
        return UNKNOWN

    @property
    def user_code(self) -> bool:
        """True unless the function only builds datasets without functions."""
        return not makes_side_effect_free_datasets(self.function.seen)

    @property
    def maybe_recomputable(self) -> bool:
        """Always: it depends on the nested datasets."""
        return True

    def snapshot(self, state: Any) -> Any:
        """The state as `save` would give it now."""
        plain = state.snapshot()
        return state if plain is None else NestedSnapshot(plain)

    def left(self, slots: Iterable[list[NestedRun | None]], part: int, parts: int) -> list[NestedRun]:
        """Shard `part` of `parts` of the running datasets, which are removed from their slots."""
        running = [(held, i) for held in slots for i, nested in enumerate(held) if nested is not None]
        found: list[NestedRun] = []
        for held, i in running[part::parts]:
            nested, held[i] = held[i], None
            assert nested is not None
            if nested.error is not None:
                raise error_waits(self)
            found.append(nested)
        return found

    def open_next(self, s: Any, pull: Pull) -> bool:
        """Makes the next dataset, without starting it, and keeps it in the state, unless the input has nothing yet;
        False at the end of the input. The function is called only once, even if it is too early to start its dataset.
        """
        if s.opened is not None:
            return True
        key = s.key if s.key is not None else pull.one()
        if key is not None and key.n:
            s.key = key
            s.opened = pull.open(self.opened(key, s.taken), key)
            s.key = None
        return key is not None

    @staticmethod
    def skip_current(s: Any) -> None:
        """Skips the current element, if there is one: its dataset cannot run."""
        s.taken += s.key is not None or s.opened is not None
        if s.opened is not None:
            s.opened.close()
        s.key = s.opened = None

    def unstarted(self, states: Sequence[Any]) -> list[NestedRun | None]:
        """The datasets that could not be started yet, removed from the states."""
        found: list[NestedRun | None] = []
        for s in states:
            if s.opened is not None:
                found.append(NestedRun(s.opened, s.opened.plan))
                s.opened = None
        return found

    def child(self, key: Block) -> Node:
        """The dataset made from an element."""
        return self.opened(key, 0)

    def opened(self, key: Block, number: int) -> Node:
        """As `child`; an error names the element's number."""
        try:
            return self.made(key.rows()[0])
        except Exception as e:
            raise self.attribute_error(RowFailed(0, None, e), number) from e

    def made(self, element: object) -> Node:
        """The dataset that the function makes from an element."""
        return made(self.function, element)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """An exception that names the function and the element."""
        return self.function.attribute_error(self.op, self.position, number, failed)


class NestedRun:
    """A running nested dataset: rows read but not returned yet, and an error that follows them.

    Rows are read ahead only if that cannot be observed: no user function runs in the dataset, and it shares no seed
    generator with another one. `seeds` are the generators it draws from. `pending` is a background read.
    `snapshot_before` is the dataset's snapshot from before that read, if one was taken. Rows read ahead need not be
    saved if the snapshot they were read from, `before`, is known: a restore reads them again and skips the `passed`
    rows that were already returned.
    """

    __slots__ = (
        "_ahead", "_ended", "_late", "before", "child", "error", "failed", "passed", "pending", "rest", "row_bytes",
        "seeds", "side_effect_free", "skip", "snapshot_before",
    )

    def __init__(
        self,
        child: Child | None,
        plan: Node | None,
        error: Exception | None = None,
        rest: Block | None = None,
        skip: int = 0,
    ) -> None:
        self.child, self.error, self.rest = child, error, rest
        self.side_effect_free = plan is not None and side_effect_free(plan)
        self.seeds = seeds_in(plan) if plan is not None else frozenset()
        self.pending: Pending | None = None
        self.snapshot_before: Any = None
        self.before: Any = None
        self.passed, self.skip = 0, skip
        self.failed = False  # whether reading ahead of its turn has failed
        self.row_bytes = 0.0 if rest is None else rest.nbytes / max(1, rest.n)
        self._ahead = 1
        self._ended = False  # the dataset has ended, but stays open while it is too early to close it
        self._late: Pending | None = None  # a read that `soon_ready` has waited for in vain

    def fetch(
        self, want: int, ahead: bool, calls: int = 0, most: int = AHEAD_BYTES, news: SimpleQueue[None] | None = None
    ) -> None:
        """Reads until there are rows or an error, unless the dataset has ended. Reads more rows ahead each time. With
        `calls`, the next read runs in the background if that pays, in at most `calls` datasets at once; with `news`,
        which is notified, it always does.
        """
        child = self.child
        if self.rest is not None or self.error is not None or child is None:
            return
        rows = max(want, self._ahead) if ahead else want
        self.before, self.passed = self._take_snapshot(child) if ahead else None, 0
        self.failed = False
        block = None
        if not self._ended:
            block = self._read(child, rows) if self.pending is None else self._received(self.pending)
        self.snapshot_before = None
        if self.error is None and block is None:
            self._ended = True
            must_be_endable(child)
            self.close()
        elif block is not None and block.n:
            self.rest = block
            size = block.nbytes
            self.row_bytes = size / block.n
            if ahead and child.seconds > SOON:
                self._ahead = max(1, self._ahead // 4)
            elif ahead and self._ahead < AHEAD_ROWS and size < min(most, AHEAD_BYTES) // 4 and block.n >= self._ahead:
                self._ahead *= 4 if child.seconds < AT_ONCE else 1
        if calls and self.child is not None and self.error is None and not self.seeds:
            self._ask(self.child, max(want, self._ahead), calls, news)

    def fetch_early(self, want: int, calls: int, most: int) -> bool:
        """`fetch` ahead of its turn. False if that fails; the error is raised when the turn comes."""
        if self.failed:
            return False
        outer, working.ahead = working.ahead, True
        try:
            self.fetch(want, True, calls, most)
        except Early:
            self.failed = True
        finally:
            working.ahead = outer
        return not self.failed

    def begin(self, want: int, calls: int, news: SimpleQueue[None]) -> None:
        """Begins a background read, unless rows or an error are ready or the order of reads matters (`seeds`)."""
        ready = self.rest is not None or self.error is not None
        if self.child is not None and self.pending is None and not ready and not self.seeds:
            self._ask(self.child, want, calls, news)

    def _ask(self, child: Child, want: int, calls: int, news: SimpleQueue[None] | None) -> None:
        if self.skip:
            self._read(child, 0)
        if self.error is not None:
            return
        self.pending = child.ask(want, news, want * self.row_bytes or None)
        if self.pending is not None:
            self.snapshot_before = self.pending.snapshot_before
            self.pending.begin(calls)

    def _take_snapshot(self, child: Child) -> Any:
        """A snapshot of the dataset before its next rows, if it has one."""
        if self.snapshot_before is None and self.pending is None and not self.skip:
            self.snapshot_before = child.snapshot()
        return self.snapshot_before

    def _read(self, child: Child, want: int) -> Block | None:
        try:
            if not child.started:  # it was resharded before it was started
                child.start()
            while self.skip:
                passed = child(self.skip)
                if passed is None:
                    return None
                self.skip -= passed.n
            return child(want) if want else None
        except Exception as e:
            self.error = e
            return None

    def _received(self, pending: Pending, again: bool = True) -> Block | None:
        try:
            return pending.wait(again)
        except Exception as e:
            self.error = e
            return None
        finally:
            if pending.taken:  # else the wait was interrupted, and the read is still pending
                self.pending = None

    @property
    def ready(self) -> bool:
        """Whether `fetch` returns without waiting for a background read."""
        return self.rest is not None or self.error is not None or self.pending is None or self.pending.finished

    def soon_ready(self) -> bool:
        """`ready`, after a short wait for a dataset whose last block came at once, once per read: quick datasets keep
        their turn, even if any order is allowed.
        """
        pending, child = self.pending, self.child
        if self.ready or pending is None or child is None or pending is self._late or child.seconds >= AT_ONCE:
            return self.ready
        if not pending.finishes_within(AT_ONCE):
            self._late = pending
        return self.ready

    @property
    def busy(self) -> bool:
        """Whether rows are ready or being read."""
        return self.rest is not None or self.pending is not None

    @property
    def unread(self) -> bool:
        """Whether the consumer would have to read, though a background read is allowed."""
        return self.child is not None and not self.busy and self.error is None and not self.seeds

    def give(self, n: int) -> Block:
        """Up to `n` of the rows that have been read."""
        rows = self.rest
        assert rows is not None
        self.rest = rows.slice(n, rows.n) if n < rows.n else None
        self.passed += min(n, rows.n)
        return rows.slice(0, n)

    @property
    def over(self) -> bool:
        """Whether no rows and no error are left."""
        return self.child is None and self.rest is None and self.error is None

    def close(self) -> None:
        """Ends the run."""
        pending, child = self.pending, self.child
        self.pending = self.child = None
        if child is None:
            return
        if pending is not None:
            pending.drop(child)
        else:
            child.close()

    def notify_error(self) -> None:
        """Tells the dataset that the consumer has received an error."""
        if self.child is not None:
            self.child.notify_error()

    def snapshot(self) -> list[Any] | None:
        """What `save` would return now, as a value and without waiting; None if the dataset has no snapshot."""
        if self.child is None:
            return [None, self.rest, self.error, 0]
        if self._reads_again():
            return [self.before, None, None, self.passed]
        if self.snapshot_before is None and self.pending is None:
            self.snapshot_before = self.child.snapshot()
        return None if self.snapshot_before is None else [self.snapshot_before, self.rest, self.error, self.skip]

    def _reads_again(self) -> bool:
        """Whether a restore reads the pending rows again, because that takes less to save."""
        if self.before is None or self.rest is None or self.error is not None or self.passed > MOST_PASSED:
            return False
        return self.rest.provenance is None and self.rest.nbytes > SMALL_REST

    def save(self) -> list[Any]:
        """The run as plain values. Whether rows may be read ahead is worked out again on restore."""
        if self.pending is not None:
            if self.rest is None:
                self.before, self.passed = self.snapshot_before, 0
            try:
                block = self._received(self.pending, again=False)
            except Early:
                block = EMPTY
            self.snapshot_before = None
            if block is not None and block.n:
                self.rest = block if self.rest is None else concat([self.rest, block])
            elif block is None and self.error is None:
                self.close()
        if self._reads_again():
            return [self.before, None, None, self.passed]
        return [self.child, self.rest, self.error, self.skip]

    @classmethod
    def load(cls, saved: list[Any]) -> NestedRun:
        """The run that `save` described."""
        child, rest, error, *more = saved
        skip = more[0] if more else 0
        if not isinstance(rest, (Block, NoneType)) or not isinstance(error, (Exception, NoneType)):
            raise TypeError(f"a nested dataset has invalid rows {rest!r} or an invalid error {error!r}")
        if not isinstance(skip, int) or not 0 <= skip <= MOST_PASSED:
            raise ValueError(f"a nested dataset has an invalid number of rows to skip: {skip!r}")
        if not isinstance(child, (Child, NoneType)):
            raise TypeError(f"an invalid nested dataset: {child!r}")
        return cls(child, None if child is None else child.plan, error, rest, skip)


def must_be_endable(child: Child) -> None:
    """Raises `Early` if a dataset that ended ahead of its turn may have advanced shared counters: closing it loses
    that.
    """
    if working.ahead and any(shared.moves for shared in shared_at_start(child.plan)):
        raise Early


def key_or_opened(saved: Block | Child | None) -> tuple[Block | None, Child | None]:
    """The element for the next dataset, or that dataset itself, from a saved value."""
    return (None, saved) if isinstance(saved, Child) else (saved, None)


class NestedSnapshot:
    """The state of a node with nested datasets at one moment."""

    __slots__ = ("_plain",)

    def __init__(self, plain: dict[str, Any]) -> None:
        self._plain = plain

    def save(self) -> dict[str, Any]:
        """The snapshot as plain values."""
        return self._plain

    @classmethod
    def load(cls, saved: dict[str, Any]) -> NestedSnapshot:
        """The snapshot that `save` described."""
        return cls(saved)


def made(function: Function, element: object) -> Node:
    """The plan of the dataset that `function` makes from an element."""
    result = function.on_row(element)
    if not isinstance(result, DatasetBase):
        raise InvalidTypeError(
            f"the function must return a Dataset, got {type(result).__name__}; wrap the value, for instance with "
            "Dataset.from_tensors"
        )
    return result._plan


def small_rows(plan: Node) -> Block | None:
    """All rows of a dataset of a few rows in memory, which needs no run: a checkpoint holds them, as it would anyway.
    None for other datasets.
    """
    rows = plan.block if isinstance(plan, InMemory) else _few_rows(plan)
    return rows if rows is not None and rows.provenance is None and rows.nbytes <= SMALL_REST else None


def _few_rows(plan: Node) -> Block | None:
    if not in_order(plan) or not 0 <= plan.cardinality() <= FEW_ROWS or not side_effect_free(plan) or seeds_in(plan):
        return None
    if not all(_is_small(n) for n in plan.walk() if not n.inputs):
        return None
    try:
        return read_rows(plan, np.arange(plan.cardinality()))
    except Exception:  # the run says which row has failed
        return None


def _is_small(source: Node) -> bool:
    if isinstance(source, InMemory):
        return source.block.n <= FEW_SOURCE_ROWS and source.block.nbytes <= FEW_SOURCE_BYTES
    return isinstance(source, Range) and source.cardinality() <= FEW_SOURCE_ROWS


def first_blocks(plan: Node) -> tuple[list[Block], Exception | None]:
    """A few elements to infer a spec from, as blocks of one row, and the error that prevented reading any. No elements
    and no error: the plan is empty.
    """
    try:
        return sample(plan, SAMPLES), None
    except Exception as e:
        return [], e


def are_all(blocks: list[Block], plan: Node) -> bool:
    """Whether the first elements are all that a plan gives, in any epoch, as far as that is known."""
    if len(blocks) != plan.cardinality():
        return False
    return all(sampled_whole(n) and generator_of(n) is None for n in plan.walk())


def first_elements(plan: Node) -> tuple[list[Any], Exception | None]:
    """As `first_blocks`, but as elements. Datasets in them have the plan's spec, which may be wider than their own."""
    blocks, failed = first_blocks(plan)
    if not blocks or not any(isinstance(s, DatasetSpec) for s in flatten(plan.element_spec)[0]):
        return [block.rows()[0] for block in blocks], failed
    specs, tree = flatten(plan.element_spec)
    rows = [flatten(tree.unflatten(tree.flatten(block.rows()[0])))[0] for block in blocks]
    return [tree.unflatten([_with_stated_spec(v, s) for v, s in zip(row, specs, strict=True)]) for row in rows], failed


def _with_stated_spec(value: Any, spec: Any) -> Any:
    if not isinstance(value, DatasetBase) or not isinstance(spec, DatasetSpec):
        return value
    plan = value._plan.replace()
    plan.__dict__["element_spec"] = spec.element_spec
    return dataset(plan)


def stand_ins(spec: object) -> Iterator[Any]:
    """Elements made from a spec alone, to be tried one after another: zeros, then ones, with unknown sizes set to 1,
    then 2. A dataset becomes one with a single such element.
    """
    return (_stand_in(spec, size, fill) for fill in (0, 1) for size in (1, 2))


def _stand_in(spec: object, size: int, fill: int) -> Any:
    return map_structure(
        lambda s: _datasets(s, s.dataset_shape, size, fill) if isinstance(s, DatasetSpec) else zeros_of(s, size, fill),
        spec,
    )


def dataset_of(block: Block, spec: object) -> Any:
    """A dataset of a block's rows with a given spec, which may be wider than that of the rows."""
    plan = in_memory(block)
    plan.__dict__["element_spec"] = spec
    return dataset(plan)


def _datasets(spec: Any, shape: Any, size: int, fill: int) -> Any:
    if not shape.rank:
        return _dataset(spec.element_spec, size, fill)
    return Datasets([_datasets(spec, shape[1:], size, fill)] * (shape[0] or size))


def _dataset(spec: object, size: int, fill: int) -> Any:
    leaves, tree = flatten(_stand_in(spec, size, fill))
    return dataset_of(Block([pack([leaf]) for leaf in leaves], 1, tree), spec)


def seeds_in(plan: Node) -> frozenset[int]:
    """The ids of the seed generators that a plan draws from. Two plans with a common generator must run element by
    element, in TensorFlow's order: each draw changes what the other one gets.
    """
    found = (getattr(n, "generator", None) for n in plan.walk())
    return frozenset(id(g) for g in found if g is not None)


def apart(plans: Iterable[Node]) -> bool:
    """Whether no two plans share a counter (of seeds, or of iterations for random numbers in functions) that they
    advance as they run, so that they can be read in any order.
    """
    taken = [_shared_in(n) for n in plans]
    return len(frozenset().union(*taken)) == sum(map(len, taken))


def _shared_in(plan: Node) -> frozenset[int]:
    if not consumes_shared_seeds(plan):
        return frozenset()
    found = (v for n in plan.walk() for v in (getattr(n, "generator", None), getattr(n, "epochs", None)))
    return frozenset(id(v) for v in found if v is not None)


def enough(rows: int, size: int, want: int, until: float) -> bool:
    """Whether the pieces gathered so far are worth returning, though more rows are wanted: gathering costs a copy,
    which pays only for small pieces that arrive at once.
    """
    return rows * 8 >= want or size >= GATHER_BYTES or (rows > 0 and late(until))
