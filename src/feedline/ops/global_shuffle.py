"""`global_shuffle`: a perfect shuffle without a buffer, by random access in shuffled order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, SupportsIndex

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.plan.cardinality import INFINITE
from feedline.plan.counted import assumed, counted, fresh
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.rewrite import replace_node, with_inputs
from feedline.plan.traits.checkpoint import Reloads
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.random_access import RandomAccess, read_rows, shufflable, why_not_indexable
from feedline.plan.traits.seeds import Seeded
from feedline.plan.traits.specs import Sampled
from feedline.random.index_shuffle import permute
from feedline.random.seeds import SeedGenerator, get_seed
from feedline.structure.block import Array, Block, concat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

ROUNDS = 8
Key = tuple[int, int, int]


class GlobalShuffleState(NamedTuple):
    """The state: the position in the permutation; its key; the keys of global shuffles below; an error to raise next;
    the number of elements; the indexed source (None until needed; in a checkpoint, the marks of its files); and for how
    many iterations seeds were drawn.
    """

    at: int = 0
    key: Key = (0, 0, 0)
    below: tuple[Key, ...] = ()
    error: Exception | None = None
    total: int = -1
    source: Any = None
    taken: int = 1


class IndexedPlan:
    """A plan with random access, fixed for one iteration so that an index always means the same row."""

    __slots__ = ("plan",)

    def __init__(self, plan: Node) -> None:
        self.plan = plan

    def saved_position(self) -> list[int]:
        """The marks of the plan's files, which tell whether they have changed."""
        return [n.mark for n in self.plan.walk() if hasattr(n, "mark")]

    def close(self) -> None:
        """Does nothing: open files belong to the plan."""


@node
class GlobalShuffle(Seeded, Reloads, Sampled):
    """Reads the input's rows in the order of a pseudo-random permutation."""

    State: ClassVar[Any] = GlobalShuffleState
    op: ClassVar[str] = "global_shuffle"
    input: Node
    generator: SeedGenerator

    def begin(self, pull: Pull) -> GlobalShuffleState:
        """Draws the seeds of this iteration, also for global shuffles below. The input is read by index and need not be
        started.
        """
        key = self._draw()
        return GlobalShuffleState(
            key=key, below=tuple(n._draw() for n in self.input.walk() if isinstance(n, GlobalShuffle))
        )

    def again(self, before: GlobalShuffleState, state: GlobalShuffleState) -> GlobalShuffleState:
        """Adds up the iterations that drew seeds."""
        return state._replace(taken=state.taken + before.taken)

    def seeds_drawn(self, state: GlobalShuffleState) -> list[tuple[Any, int]]:
        """Two pairs of seeds per iteration, also from the generators of global shuffles below."""
        below = [n.generator for n in self.input.walk() if isinstance(n, GlobalShuffle)]
        return [(generator, 2 * state.taken) for generator in (self.generator, *below)]

    def loaded(self, state: GlobalShuffleState) -> GlobalShuffleState:
        """Checks that the source has the same number of elements, in unchanged files."""
        if state.total == -1:
            return state
        for n in self.input.walk():
            if hasattr(n, "look_again"):
                n.look_again()
        return self._begun(state)

    def _draw(self) -> Key:
        first, second = self.generator.next()
        return first, second, self.generator.next()[0]

    def step(self, state: GlobalShuffleState, pull: Pull, want: int) -> tuple[Block | None, GlobalShuffleState]:
        """Reads the rows at the next positions of the permutation."""
        at, key, below, error, n, held, _ = state
        if error is not None:
            raise error
        if held is None:
            return EMPTY, self._begun(state)
        stop = min(at + want, n)
        if at >= stop:
            return None, state
        index = permute(np.arange(at, stop), key, n - 1, ROUNDS)
        source = _permuted(held.plan, list(below)) if below else held.plan
        if side_effect_free(source):
            try:
                return read_rows(source, index), state._replace(at=stop)
            except Exception:  # raised below, at the row that failed
                stop = at
        rows, error = _one_by_one(source, index)
        if rows is None:
            assert error is not None
            raise error
        return rows, state._replace(at=at + rows.n, error=error)

    def _begun(self, state: GlobalShuffleState) -> GlobalShuffleState:
        fresh(self.input)
        source = counted(self.input)
        n = source.cardinality()
        if state.total not in (-1, n):
            raise FailedPreconditionError(
                f"global_shuffle at step {self.position}: the dataset has {n} elements, but had {state.total} when the "
                "iteration began; start a new iteration"
            )
        held = IndexedPlan(source)
        if isinstance(state.source, list) and state.source != held.saved_position():
            raise FailedPreconditionError(
                f"global_shuffle at step {self.position}: the files of the dataset have changed since the state was "
                "saved; restore the files, or start a new iteration"
            )
        return state._replace(total=n, source=held)

    def after_error(self, state: GlobalShuffleState) -> GlobalShuffleState:
        """Skips the element that failed."""
        return state._replace(at=state.at + 1, error=None)


@node
class Permuted(RandomAccess):
    """A global shuffle with a fixed key, hence with random access: input of another global shuffle."""

    op: ClassVar[str] = "global_shuffle"
    input: Node
    key: Key

    @property
    def indexable(self) -> bool:
        """Always."""
        return True

    def rows(self, index: Array) -> Block:
        """The input's rows at these positions of the permutation."""
        return read_rows(self.input, permute(index, self.key, self.input.cardinality() - 1, ROUNDS))


def _permuted(plan: Node, keys: list[Key]) -> Node:
    """The plan with fixed keys for its global shuffles; consumes `keys`, which are in the order of `walk`."""
    new = with_inputs(plan, tuple([_permuted(n, keys) for n in plan.inputs]))
    return replace_node(plan, Permuted(new.inputs[0], keys.pop(0))) if isinstance(plan, GlobalShuffle) else new


def _one_by_one(source: Node, index: Array) -> tuple[Block | None, Exception | None]:
    """The rows up to the first that fails, and its error. Functions run once per row, as in an iteration in order."""
    done: list[Block] = []
    for i in range(len(index)):
        try:
            done.append(read_rows(source, index[i:i + 1]))
        except Exception as e:
            return concat(done) if done else None, e
    return concat(done) if done else EMPTY, None


class NotCounted(InvalidArgumentError, FailedPreconditionError):
    """The cardinality is not known, or zero. TensorFlow raises either of these two classes."""


def global_shuffle(
    self: Dataset[T],
    seed: SupportsIndex | None = None,
    reshuffle_each_iteration: bool | None = True,
    name: str | None = None,
) -> Dataset[T]:
    """Shuffles all elements: a perfect shuffle without a buffer or a delay at the start.

    >>> [int(x) for x in fl.Dataset.range(10).global_shuffle(seed=42)]
    [0, 6, 9, 4, 8, 1, 2, 5, 3, 7]

    All steps before it must support random access: sources such as `range`, `from_tensor_slices`, uncompressed TFRecord
    files or your own `Source` with a length, then map, batch with `drop_remainder`, take, skip, shard, zip,
    concatenate, repeat, cache and prefetch. Other steps go after it. The order for a given seed is TensorFlow's.
    Records in files are counted when the first element is requested (see `fl.io.tfrecord_index`).
    """
    plan = self._plan
    possible = assumed(plan)
    permuted = _permuted(possible, [(0, 0, 0) for p in plan.walk() if isinstance(p, GlobalShuffle)])
    if not shufflable(permuted):
        odd = next(p for p in permuted.walk() if not shufflable(p))
        why = "batch without drop_remainder" if odd.op == "batch" else odd.op
        raise FailedPreconditionError(
            f"global_shuffle: requires random access, which {why} (step {odd.position}) does not support"
            + (
                f": {why_not_indexable(odd)}"
                if why_not_indexable(odd)
                else "; put global_shuffle before it, or use shuffle"
            )
        )
    n = possible.cardinality()
    if n <= 0:
        got = "none" if n == 0 else "infinitely many" if n == INFINITE else "an unknown number"
        raise NotCounted(f"global_shuffle: requires a known number of elements, at least one, got {got}")
    reshuffle = reshuffle_each_iteration is None or bool(reshuffle_each_iteration)
    return self._derive(GlobalShuffle(plan, SeedGenerator(*get_seed(seed), reshuffle)))
