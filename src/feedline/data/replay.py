"""`replay`: finds the samples in a training step.

The plan is run again on record locations instead of records: each row that steps select and reorder becomes a number,
maps do nothing, and batches are batches of numbers. Every step keeps its state, so a replay can also start from a
checkpoint.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from feedline.data.dataset import Dataset
from feedline.early import working
from feedline.engine import checkpoint
from feedline.engine.encoding import StateDecoder
from feedline.engine.run import Cursor, Run
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError, OutOfRangeError
from feedline.io.record_file import Sample, samples
from feedline.ops.batch import Batch, Grouped
from feedline.ops.ignore_errors import IgnoreErrors
from feedline.ops.shared.nested import Flattened
from feedline.ops.shared.pick import Pick
from feedline.ops.shared.view import View
from feedline.ops.sources.files import Files
from feedline.ops.sources.indexed import Indexed
from feedline.ops.unique import Unique
from feedline.plan.arguments import integer
from feedline.plan.explain import functions
from feedline.plan.node import Node, NoState, Pull, node
from feedline.plan.rewrite import replace_node, with_inputs
from feedline.plan.row_wise import OneToOne, RowWise
from feedline.plan.traits.checkpoint import CheckpointTransparent, ReplacesStep, written_op
from feedline.plan.traits.provenance import KeepsRows, recomputable
from feedline.plan.traits.seeds import generator_of
from feedline.provenance.files import FileNumbers
from feedline.provenance.rows import Provenance
from feedline.random.element import uncounted
from feedline.random.seeds import SeedGenerator
from feedline.structure.block import Array, Block
from feedline.structure.nest import LEAF

ROWS = 1024

__all__ = ["Sample", "replay"]


def replay(dataset: object, step: int, state: object = None) -> list[Sample]:
    """The samples that element `step` of a dataset was made from: the file and the record of each of its rows.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/words.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for word in ("one", "two", "three", "four"):
    ...         writer.write(word)
    >>> ds = fl.TFRecordDataset(path).shuffle(4, seed=1).batch(2)
    >>> next(iter(ds))
    array([b'one', b'four'], dtype=object)
    >>> [sample.record for sample in fl.replay(ds, 0)]
    [0, 3]

    A sample has `file`, `record` (its number in the file) and `offset` (the byte at which it begins); for data in
    memory, `file` is None and `record` is the row number. Elements are counted from 0, from the start of the first
    iteration over the dataset or, with `state`, from the saved position. Maps do not run unless a filter needs their
    results, so replaying many steps takes little time: files are read, not decoded. The dataset's seeds are not
    affected. Supported are shuffle, batch, repeat, take, skip, shard, filter, map, prefetch, interleave and the like; a
    step that hides where its elements come from (zip, window, a generator) raises an error that names it.
    """
    if not isinstance(dataset, Dataset):
        raise InvalidTypeError(
            f"replay: dataset must be a Dataset, got {type(dataset).__name__}; pass a state as state=..."
        )
    number = integer(step, "step", "replay")
    if number < 0:
        raise InvalidArgumentError(f"replay: step must be zero or more, got {number}")
    plan, prepare, _ = dataset._prepared
    plan = prepare.indexed(plan) if state is None else plan
    files = FileNumbers()
    run = Run(_traced(_apart(plan, {}), files), prepare)
    try:
        with uncounted, working.in_turn():
            return samples(Provenance(0, _numbers(run, number, state, files), (files,)))
    finally:
        run.close()


def _numbers(run: Run, step: int, state: object, files: FileNumbers) -> Array:
    """The record locations of the samples in an element."""
    if state is None:
        run.start()
        cursor = Cursor(run)
    else:
        cursor = checkpoint.loaded(checkpoint.checked(state), run, False, _LocationDecoder(files))
    left = step
    while True:
        block = cursor.next_block(min(left + 1, ROWS))
        if block is None:
            raise OutOfRangeError(f"replay: the dataset has {step - left} elements, there is no element {step}")
        if block.n > left:
            return np.asarray(block.element(left)).ravel()
        left -= block.n


class _LocationDecoder(StateDecoder):
    """Restores numbers for the steps that work on numbers, and records for the others."""

    def __init__(self, files: FileNumbers) -> None:
        super().__init__(strict=True)
        self._files = files
        self._records: set[int] = set()

    def enter(self, run: Run) -> None:
        super().enter(run)
        self._records |= {id(n) for o in run.nodes if isinstance(o, Origins) for n in o.input.walk()}

    def rows(self, read: Provenance, node: Node) -> Block:
        return super().rows(read, node) if id(node) in self._records else _located(read, self._files)

    def made(self, read: Provenance, lineage: list[Any], node: Node) -> Block:
        return super().made(read, lineage, node) if id(node) in self._records else self.rows(read, node)

    def value(self, value: Any, node: Node, run: Run) -> Any:
        if isinstance(value, dict) and "block" in value and id(node) not in self._records and value["block"][1]:
            raise FailedPreconditionError(
                f"replay: the state holds elements ({written_op(node)}, step {node.position}), not their "
                "positions in the source; start from an earlier state, or from the beginning"
            )
        return super().value(value, node, run)


# The plan on record locations.


def _apart(plan: Node, seen: dict[int, SeedGenerator]) -> Node:
    """The plan with its own seed generators, at their start."""
    made = with_inputs(plan, tuple([_apart(n, seen) for n in plan.inputs]))
    g = generator_of(made)
    if g is None:
        return made
    alone = seen.setdefault(id(g), SeedGenerator(g.seed, g.seed2, g.reshuffle))
    changed: Node = made.replace(generator=alone)
    return changed


def _traced(plan: Node, files: FileNumbers) -> Node:
    """The plan with record locations in place of rows; `files` holds the numbers of their files."""
    if isinstance(plan, OneToOne):
        return replace_node(plan, Passing(input=_traced(plan.input, files), written=plan.op))
    if recomputable(plan) or isinstance(plan, (Files, Flattened)):
        return Origins(plan, files)
    if isinstance(plan, View):
        return with_inputs(plan, (_traced(plan.source, files),))
    if isinstance(plan, Indexed):
        return replace_node(plan, RowNumbers(count=plan.cardinality(), written=plan.op))
    if isinstance(plan, Pick):
        return replace_node(plan, Picked(source=_traced(plan.source, files), index=plan.index, written=plan.op))
    if isinstance(plan, Grouped):
        below = _traced(plan.input, files)
        size, drop, name = plan.batch_size, plan.drop_remainder, written_op(plan)
        return replace_node(plan, Grouping(input=below, batch_size=size, drop_remainder=drop, written=name))
    if isinstance(plan, KeepsRows) and len(plan.inputs) == 1 and _needs_rows(plan):
        return Origins(_carried(plan), files)
    if isinstance(plan, (KeepsRows, CheckpointTransparent)):
        return with_inputs(plan, tuple([_traced(n, files) for n in plan.inputs]))
    raise _hidden(plan)


def _needs_rows(plan: Node) -> bool:
    return bool(functions(plan)) or isinstance(plan, (IgnoreErrors, Unique))


def _carried(plan: Node) -> Node:
    """The plan with maps that keep the provenance of their rows."""
    if recomputable(plan) or isinstance(plan, (Files, Flattened)):
        return plan
    if isinstance(plan, OneToOne):
        return replace_node(plan, Carrying(input=_carried(plan.input), made=[plan], written=plan.op))
    if isinstance(plan, (KeepsRows, CheckpointTransparent)):
        return with_inputs(plan, tuple([_carried(n) for n in plan.inputs]))
    raise _hidden(plan)


def _hidden(plan: Node) -> Exception:
    return FailedPreconditionError(
        f"replay: {plan.op} (step {plan.position}) does not keep track of the records that its elements come from"
    )


@node
class Origins(CheckpointTransparent):
    """The record locations of the rows of `input`."""

    op: ClassVar[str] = "origins"
    input: Node
    files: FileNumbers = dataclasses.field(compare=False, repr=False)

    def step(self, state: NoState, pull: Pull, want: int) -> tuple[Block | None, NoState]:
        """The record locations of the next rows."""
        block = pull(want)
        if block is None or not block.n:
            return block, state
        if block.provenance is None:
            raise _hidden(self.input)
        return _located(block.provenance, self.files), state


def _located(rows: Provenance, files: FileNumbers) -> Block:
    """The locations of rows as a block. `files` holds the numbers of their files until they are looked up."""
    files.hold(rows.files)
    numbers = rows.numbers()
    return Block([numbers], len(numbers), LEAF)


@node
class RowNumbers(ReplacesStep, Indexed):
    """The numbers of rows in memory, as negative record locations."""

    op: ClassVar[str] = "row_numbers"
    count: int
    written: str = ""

    def cardinality(self) -> int:
        """The number of rows."""
        return self.count

    def span(self, start: int, stop: int) -> Block:
        """The numbers of rows start to stop."""
        return self.rows(np.arange(start, stop, dtype=np.int64))

    def rows(self, index: Array) -> Block:
        """The numbers of these rows."""
        return Block([-1 - index], len(index), LEAF)


@node
class Picked(ReplacesStep, Pick):
    """The record locations of the rows whose numbers come in."""

    written: str = ""


@node
class Passing(ReplacesStep, RowWise):
    """A stand-in for a map, which does not affect record locations."""

    op: ClassVar[str] = "passing"
    written: str = ""

    def apply(self, block: Block) -> Block:
        """The same rows."""
        return block


@node
class Carrying(ReplacesStep, RowWise):
    """A map whose rows keep the provenance of its input."""

    op: ClassVar[str] = "carrying"
    made: list[RowWise]
    """The map, in a list so that it is not an input."""
    written: str = ""

    def apply(self, block: Block) -> Block:
        """The map's result, with the provenance of the input rows."""
        rows = self.made[0].apply(block)
        return Block(rows.columns, rows.n, rows.tree, block.provenance) if rows.n == block.n else rows


@node
class Grouping(ReplacesStep, Batch):
    """Batches of numbers."""

    written: str = ""
