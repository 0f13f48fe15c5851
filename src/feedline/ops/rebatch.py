"""`rebatch`: batches of other sizes, without splitting into single elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError, OpError
from feedline.ops.batch import batched_spec, in_groups, stacked
from feedline.ops.unbatch import check_batches, elements_for, leading, shape_of, unbatched, unbatched_spec
from feedline.plan.arguments import boolean, integer
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.interrupted import Exited, Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.reshard import Reshards, begun_of, round_robin_share
from feedline.plan.traits.specs import spec_known
from feedline.sharing import cached_property
from feedline.structure.block import Block, concat
from feedline.structure.nest import flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorShape
from feedline.structure.zeros import zeros

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T


class RebatchState(NamedTuple):
    """Rows for the next batches, and the index of the next size; an error to raise now, and one to raise once the rows
    do not suffice; elements to split; whether the input has ended; the rows per element last seen; and an empty block
    with the structure of the rows.
    """

    rest: Block | None = None
    at: int = 0
    error: OpError | None = None
    failed: Exception | None = None
    waiting: Block | None = None
    ended: bool = False
    size: int = 1
    like: Block | None = None


@node
class Rebatch(Reshards):
    """The rows of the input's elements in groups, whose sizes cycle through `batch_sizes`."""

    State: ClassVar[Any] = RebatchState
    op: ClassVar[str] = "rebatch"
    input: Node
    batch_sizes: tuple[int, ...]
    drop_remainder: bool = False

    def spec(self) -> Any:
        """The input's spec, with a known first dimension only if all batches have it."""
        check_batches(self.input, self.op)
        leaves, tree = flatten(self.input.element_spec)
        size = self._common_size([s for s in leaves if s is not None])
        return tree.unflatten([batched_spec(unbatched_spec(s), size) for s in leaves])

    def _common_size(self, specs: list[Any]) -> int | None:
        size = self.batch_sizes[0]
        if any(s != size for s in self.batch_sizes):
            return None
        shapes = [shape_of(s) for s in specs]
        known = {shape[0] for shape in shapes if shape.rank and shape[0] is not None}
        whole = size > 0 and bool(known) and all(n % size == 0 for n in known)
        return size if self.drop_remainder or whole else None

    def cardinality(self) -> int:
        """Unknown, as in TensorFlow."""
        return UNKNOWN

    @cached_property
    def _leading(self) -> int | None:
        return leading(self.input)

    def step(self, state: RebatchState, pull: Pull, want: int) -> tuple[Block | None, RebatchState]:
        """Collects rows for at least one batch. An error of the input loses the batch that is being filled."""
        if state.error is not None:
            raise state.error
        if state.ended:
            return None, state
        need = self.batch_sizes[state.at]
        have = 0 if state.rest is None else state.rest.n
        # An empty batch needs no rows, but their spec.
        if have < need or (not need and state.like is None and not spec_known(self.input)):
            if state.failed is not None:
                raise state.failed
            return self._fill(state, pull, max(need, 1), want)
        return self._emit(state, have, want)

    def _fill(self, s: RebatchState, pull: Pull, need: int, want: int) -> tuple[Block | None, RebatchState]:
        """Splits elements until there are rows for a batch. At the end of the input, returns the last batch."""
        parts = [] if s.rest is None else [s.rest]
        have = 0 if s.rest is None else s.rest.n
        failed, waiting, size = s.failed, s.waiting, s.size
        while have < need and failed is None:
            if waiting is None:
                try:
                    block = pull(elements_for(need * want - have, self._leading, self.input, size))
                except BaseException as e:
                    if isinstance(e, Exception) and not isinstance(e, Exited):
                        raise
                    rest = concat(parts) if parts else None
                    raise Interrupted(e, s._replace(rest=rest, waiting=None, size=size)) from None
            else:
                block = waiting
            if block is None:
                return self._last(parts, s)
            if block.n:
                opened, failed, after = unbatched(block, self.op)
                if opened.n:
                    parts.append(opened)
                    have += opened.n
                    size = max(1, opened.n // block.n)
            else:
                after = None
            if waiting is not None or after is not None:
                waiting = after
                break  # save the state now: the previous one could not resume here after an error of the input
        rest = concat(parts) if parts else None
        like = rest.slice(0, 0) if rest is not None else s.like
        return EMPTY, s._replace(rest=rest, failed=failed, waiting=waiting, size=size, like=like)

    def _last(self, parts: list[Block], s: RebatchState) -> tuple[Block | None, RebatchState]:
        ended = s._replace(rest=None, ended=True)
        if not parts or self.drop_remainder:
            return None, ended
        rows = concat(parts)
        done, error, _ = in_groups(stacked, rows, rows.n)
        return done, ended._replace(error=_as_precondition(error))

    def _emit(self, s: RebatchState, have: int, want: int) -> tuple[Block, RebatchState]:
        """As many batches as the collected rows fill."""
        sizes: list[int] = []
        used = 0
        for size in islice(cycle(self.batch_sizes), s.at, s.at + want):
            if used + size > have:
                break
            sizes.append(size)
            used += size
        alike = used > 0 and len(set(sizes)) == 1
        made: list[Block] = []
        error, count, at = None, 0, 0
        for size, times in [(sizes[0], len(sizes))] if alike else [(size, 1) for size in sizes]:
            if size == 0:
                made.append(self._no_rows(s))
                count += 1
                continue
            assert s.rest is not None
            done, error, _ = in_groups(stacked, s.rest.slice(at, at + size * times), size)
            made.append(done)
            through = done.n + (error is not None)
            count, at = count + through, at + through * size
            if error is not None:
                break
        made = [b for b in made if b.n]
        rest = s.rest.slice(at, have) if s.rest is not None and at < have else None
        after = s._replace(rest=rest, at=(s.at + count) % len(self.batch_sizes), error=_as_precondition(error))
        return concat(made) if made else EMPTY, after

    def _no_rows(self, s: RebatchState) -> Block:
        """A batch of size 0."""
        if s.like is not None:
            tree, specs = s.like.tree, [batched_spec(spec, 0) for spec in s.like.leaf_specs()]
        else:
            specs, tree = flatten(self.input.element_spec)
        return Block.of_elements([tree.unflatten([_nothing(spec) for spec in specs])])

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes rows and elements that are waiting."""
        begun = begun_of(self, states)
        if not begun:
            return None
        rest = round_robin_share([s.rest for s in begun], part, parts)
        waiting = round_robin_share([s.waiting for s in begun], part, parts)
        like = next((s.like for s in begun if s.like is not None), None)
        at, size = begun[part % len(begun)].at, max(s.size for s in begun)
        return RebatchState(rest, at, waiting=waiting, size=size, like=like)

    def after_error(self, state: RebatchState) -> RebatchState:
        """Drops an error of its own, whose rows are gone; any other error discards the rows collected so far."""
        if state.error is not None:
            return state._replace(error=None)
        return state._replace(rest=None, failed=None)


def _as_precondition(error: OpError | None) -> OpError | None:
    """Rows that do not fit together are a failed precondition here, as in TensorFlow."""
    return None if error is None else FailedPreconditionError(f"rebatch: {error}")


def _nothing(spec: Any) -> Any:
    """A batch of no rows; unknown dimensions become 0 too."""
    if spec is None:
        return None
    dims = [0 if d is None else d for d in spec.shape.dims or (0,)]
    dims[0] = 0
    dtype = spec.dtype.dtype
    if isinstance(spec, SparseTensorSpec):
        return SparseTensor(np.zeros((0, len(dims)), np.int64), zeros(TensorShape([0]), dtype), dims)
    if isinstance(spec, RaggedTensorSpec):
        made: Any = zeros(TensorShape([0, *dims[spec.ragged_rank + 1 :]]), dtype)
        for _ in range(spec.ragged_rank):
            made = RaggedTensor.from_row_splits(made, np.zeros(1, spec.row_splits_dtype.dtype))
        return made
    return zeros(TensorShape(dims), dtype)


def rebatch(self: Dataset[T], batch_size: object, drop_remainder: bool = False, name: str | None = None) -> Dataset[T]:
    """Regroups batches of any size into batches of `batch_size` rows.

    >>> list(fl.Dataset.range(6).batch(4).rebatch(3))
    [array([0, 1, 2]), array([3, 4, 5])]

    The result is that of `unbatch().batch(batch_size)`, without splitting into single elements. With a list of sizes,
    the batches cycle through them.

    >>> list(fl.Dataset.range(6).batch(6).rebatch([1, 2]))
    [array([0]), array([1, 2]), array([3]), array([4, 5])]
    """
    given = np.asarray(batch_size) if isinstance(batch_size, (list, tuple, np.ndarray)) else np.asarray([batch_size])
    if given.ndim > 1 or not given.size:
        raise InvalidArgumentError(f"rebatch: batch_size must be a size or a list of sizes, got {batch_size!r}")
    sizes = tuple(integer(n, "batch_size", "rebatch") for n in given.reshape(-1).tolist())
    if min(sizes) < 0:
        raise InvalidArgumentError(f"rebatch: sizes must be zero or more, got {batch_size!r}")
    drop = boolean(drop_remainder, "drop_remainder", "rebatch")
    if spec_known(self._plan):
        check_batches(self._plan, "rebatch")
    return self._derive(Rebatch(self._plan, sizes, drop))
