"""Shards of a dataset for several readers: worker processes of a loader, processes of a training job.

A plan is divided as close to its sources as possible, so that readers share the work and not only its results: below
functions, shuffles and batches, and by file name if there are enough files. Each element goes to exactly one reader. If
only `map`, `batch` and `prefetch` are above a source, batch i goes to reader i modulo their number: a round robin over
the readers yields the order of the whole dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from feedline.data.options import AutoShardPolicy, Options
from feedline.engine.checkpoint import counters, generators
from feedline.errors import InvalidArgumentError
from feedline.ops.batch import Grouped
from feedline.ops.cache import Cache, CacheMemory
from feedline.ops.choose_from_datasets import Choose
from feedline.ops.concatenate import Concatenate
from feedline.ops.filter import Filter
from feedline.ops.ignore_errors import IgnoreErrors
from feedline.ops.prefetch import Prefetch
from feedline.ops.repeat import Repeat
from feedline.ops.shard import SHARD_HINT, Shard
from feedline.ops.shared.nested import Flattened
from feedline.ops.shared.view import View
from feedline.ops.shuffle import Shuffle
from feedline.ops.sources.files import Files
from feedline.ops.sources.indexed import Indexed
from feedline.ops.unbatch import Unbatch
from feedline.ops.with_options import WithOptions, merged_options
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import dataset
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.rewrite import replace_node, with_inputs
from feedline.plan.row_wise import RowWise
from feedline.plan.traits.random_access import read_rows
from feedline.plan.traits.reshard import Shards, is_shard
from feedline.random.element import Epochs
from feedline.random.seeds import M
from feedline.structure.block import Array, Block, concat

EPOCH_BITS = 20
"""Readers number their iterations from multiples of two to this power on, so that no two draw the same numbers. The
numbers of 4096 readers stay below 2**32, up to which they seed NumPy's generators unambiguously.
"""


class ReaderIndex(NamedTuple):
    """The index of a reader, and the number of readers."""

    readers: int = 1
    number: int = 0

    def within(self, outer: ReaderIndex) -> ReaderIndex:
        """This reader among those that share the shard of `outer`. A round robin over them yields that shard."""
        return ReaderIndex(self.readers * outer.readers, outer.number + outer.readers * self.number)


ALONE = ReaderIndex()


class ShardState(NamedTuple):
    """The number of input rows consumed."""

    at: int = 0


@node
class ShardGroups(Node):
    """Every n-th group of `size` rows, from which every n-th batch is made."""

    State: ClassVar[Any] = ShardState
    op: ClassVar[str] = "shard"
    input: Node
    num_shards: int
    index: int
    size: int

    def cardinality(self) -> int:
        """The rows of all complete groups, and those of an incomplete last one."""
        n = self.input.cardinality()
        return n if n < 0 else _rows_of(self, n)

    def step(self, state: ShardState, pull: Pull, want: int) -> tuple[Block | None, ShardState]:
        """Returns rows of this shard's groups, and skips those of the others."""
        at = state.at
        first, place = self.index * self.size, at % (self.num_shards * self.size)
        own = first <= place < first + self.size
        end = first if place < first else first + self.size if own else self.num_shards * self.size
        block = pull(min(want, end - place) if own else end - place)
        if block is None:
            return None, state
        return (block if own else EMPTY), ShardState(at + block.n)


@node
class ShardRows(Indexed):
    """`ShardGroups` of a source with random access: rows of other shards are not read."""

    op: ClassVar[str] = "shard"
    source: Indexed
    num_shards: int
    index: int
    size: int

    def spec(self) -> Any:
        """The source's spec."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """The rows of all complete groups, and those of an incomplete last one."""
        return _rows_of(self, self.source.cardinality())

    def begin(self, pull: Any) -> Any:
        """The source is read by row number and need not be started."""
        return self.State()

    def span(self, start: int, stop: int) -> Block:
        """Contiguous rows of the source, group by group."""
        parts, apart = [], (self.num_shards - 1) * self.size
        while start < stop:
            group = start // self.size
            end = min(stop, (group + 1) * self.size)
            shift = self.index * self.size + group * apart
            parts.append(self.source.span(start + shift, end + shift))
            start = end
        return concat(parts)

    def rows(self, index: Array) -> Block:
        """The source's rows at these indices of the shard."""
        group = index // self.size
        return read_rows(self.source, index + self.index * self.size + group * (self.num_shards - 1) * self.size)


def _rows_of(part: ShardGroups | ShardRows, n: int) -> int:
    rounds, rest = divmod(n, part.num_shards * part.size)
    return rounds * part.size + min(max(rest - part.index * part.size, 0), part.size)


def part_of(whole: object, reader: ReaderIndex, alone: bool = False, process: ReaderIndex = ALONE, op: str = "") -> Any:
    """The dataset that one reader iterates, according to the option `auto_shard_policy`. With `alone` the readers build
    their datasets independently, so that a shuffle without a seed has another order in each. `process` tells which
    readers share a process: a `shard` that divides the dataset among processes is then recognized.
    """
    made = shard_for(whole, reader, alone, process, process.number, op)
    if made is not whole:
        for counter in counters(made._plan):
            if isinstance(counter, Epochs):
                counter.count = (counter.count % (1 << EPOCH_BITS)) + (reader.number << EPOCH_BITS)
    return made


def shard_for(whole: Any, reader: ReaderIndex, alone: bool, process: ReaderIndex, number: int, op: str) -> Any:
    """The shard of a reader in process `number`, as this process, `process`, would compute it."""
    if reader.readers == 1:
        return whole
    options: Options | None = merged_options(whole._plan)
    policy = AutoShardPolicy.AUTO if options is None else options.experimental_distribute.auto_shard_policy
    if policy == AutoShardPolicy.OFF:
        return whole
    if policy == AutoShardPolicy.HINT:
        return dataset(_with_shard_hint(whole._plan, reader))
    plan = whole._plan
    if process.readers > 1 and _sharded_by_user(plan, process, policy, op):
        reader, alone = ReaderIndex(reader.readers // process.readers, reader.number // process.readers), False
        if number != process.number:
            plan = _as_process(plan, number)
        if reader.readers == 1:
            return whole if plan is whole._plan else dataset(plan)
    cut = PlanDivider(reader, alone)
    plan = cut.here(plan, 1) if policy == AutoShardPolicy.DATA else cut.below(plan, 1)
    if policy == AutoShardPolicy.FILE and not cut.by_files:
        raise InvalidArgumentError(
            f"auto_shard_policy FILE: the dataset cannot be sharded among {reader.readers} readers by file: "
            "it has fewer files, or a step above them needs all files; use AutoShardPolicy.AUTO"
        )
    return dataset(plan)


def _sharded_by_user(plan: Node, process: ReaderIndex, policy: AutoShardPolicy, op: str) -> bool:
    """Whether a `shard` written by the user gives this process its shard. Any other one is rejected, since its rows
    would be divided once more, unless the policy asks for that.
    """
    found = [n for n in plan.walk() if is_shard(n) and _reader_of(n).readers not in (1, SHARD_HINT)]
    if any(_reader_of(n) == process for n in found):
        _reject_partly_sharded(plan, process, op)
        return True
    if found and policy == AutoShardPolicy.AUTO:
        n, given = found[-1], _reader_of(found[-1])
        raise InvalidArgumentError(
            f"{op}: the dataset would be sharded twice: shard({given.readers}, {given.number}) at step "
            f"{n.position} keeps one of {given.readers} elements, and {op} shards the rest among the "
            f"{process.readers} processes, of which this is number {process.number}. Remove the shard, and "
            f"{op} shards the dataset; if the shard is meant for the processes, write "
            f"shard({process.readers}, {process.number}), or set "
            "options.experimental_distribute.auto_shard_policy = AutoShardPolicy.OFF. If the processes "
            "should share the elements of the shard, set AutoShardPolicy.DATA"
        )
    return False


def _reject_partly_sharded(plan: Node, process: ReaderIndex, op: str) -> None:
    """Raises if only some of the datasets that are joined have the user's shard: the others' elements would come to
    every process.
    """
    for n in plan.walk():
        if isinstance(n, Concatenate | Choose):
            has_shard = [_has_shard(i, process) for i in (n.datasets if isinstance(n, Choose) else n.inputs)]
            if any(has_shard) and not all(has_shard):
                raise InvalidArgumentError(
                    f"{op}: {n.op} at step {n.position} joins datasets of which only some have the shard("
                    f"{process.readers}, {process.number}), so that each of the {process.readers} processes would get "
                    "all elements of the others. Shard every one of them, or none, and "
                    f"{op} shards the result; if each process should have all of them, set "
                    "options.experimental_distribute.auto_shard_policy = AutoShardPolicy.OFF"
                )


def _has_shard(plan: Node, process: ReaderIndex) -> bool:
    return any(is_shard(n) and _reader_of(n) == process for n in plan.walk())


def _reader_of(n: Shards) -> ReaderIndex:
    return ReaderIndex(*n.shard)


def _as_process(plan: Node, number: int) -> Node:
    """The plan with its shards set to those of another process."""
    made = with_inputs(plan, tuple([_as_process(n, number) for n in plan.inputs])) if plan.inputs else plan
    if isinstance(made, View) and made.divided:
        count = Shard(made.source, made.by, number).cardinality()
        return made.replace(start=number, count=count)
    if isinstance(made, Shard) and made.num_shards > number:
        return made.replace(index=number)
    return made


class PlanDivider:
    """Inserts the division into a plan."""

    def __init__(self, reader: ReaderIndex, alone: bool) -> None:
        self.reader, self.alone = reader, alone
        self.by_files = False

    def below(self, plan: Node, size: int) -> Node:
        """The plan with its rows, in groups of `size`, divided as far down as possible."""
        if isinstance(plan, (RowWise, Prefetch, WithOptions, Repeat, IgnoreErrors)):
            return self._under(plan, 1 if isinstance(plan, (Filter, IgnoreErrors)) else size)
        if isinstance(plan, Grouped):
            return self._under(plan, size * plan.batch_size)
        if isinstance(plan, Shuffle):
            return self._under(plan, size)
        if isinstance(plan, Cache) and plan.memory.rows is None:
            return self._under(plan, size, memory=CacheMemory())
        if isinstance(plan, Unbatch):
            return self._under(plan, 1)
        if isinstance(plan, (Files, Flattened)):
            names = plan.inputs[0].cardinality()
            if names == INFINITE or names >= self.reader.readers:
                self.by_files = True
                return self._under(plan, 1)
        return self.here(plan, size)

    def _under(self, plan: Node, size: int, **changes: Any) -> Node:
        made: Node = plan.replace(input=self.below(plan.inputs[0], size), **changes)
        return replace_node(plan, made)

    def here(self, plan: Node, size: int) -> Node:
        """The plan's rows divided here, so that every reader runs the whole plan below."""
        if self.alone and any(g.seed > M for g in generators(plan) if hasattr(g, "seed")):
            steps = ", ".join(f"{n.op} at step {n.position}" for n in plan.walk() if _seedless(n))
            raise InvalidArgumentError(
                f"{steps} has no seed, so the {self.reader.readers} processes would shard different orders: some "
                "elements would be read twice, others never; give it a seed, or call fl.random.set_seed"
            )
        kind: Callable[..., Node] = ShardRows if isinstance(plan, Indexed) else ShardGroups
        # A plain shard can be resharded to any number of readers.
        made = kind(plan, *self.reader, size) if size > 1 else Shard(plan, *self.reader)
        return replace_node(plan, made)


def _seedless(plan: Node) -> bool:
    return getattr(getattr(plan, "generator", None), "seed", 0) > M


def _with_shard_hint(plan: Node, reader: ReaderIndex) -> Node:
    inputs = [_with_shard_hint(n, reader) for n in plan.inputs]
    if isinstance(plan, Shard) and plan.num_shards == SHARD_HINT:
        made: Node = plan.replace(input=inputs[0], num_shards=reader.readers, index=reader.number)
        return made
    return with_inputs(plan, tuple(inputs)) if inputs else plan
