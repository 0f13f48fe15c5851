"""The files that a plan reads: a checkpoint that names others is refused.

The names come from the plan's own sources: names in memory, numbers, lines of files. Where a name depends on a user
function, whose results feedline cannot know, the state is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from feedline.engine.run import BLOCK_ROWS, Run
from feedline.errors import FailedPreconditionError, OpError
from feedline.io.files import shown
from feedline.plan.cardinality import INFINITE
from feedline.plan.file_access import OpensFiles, OpensFolders, OpensPlans
from feedline.plan.node import Node
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise
from feedline.plan.traits.checkpoint import CheckpointTransparent
from feedline.plan.traits.effects import side_effect_free, user_code
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import in_order, read_rows
from feedline.plan.traits.seeds import generator_of
from feedline.random.element import uncounted
from feedline.structure.block import Block
from feedline.structure.nest import flatten

MOST_ROWS = 1 << 17
MOST_BYTES = 1 << 24
"""Sources with more rows or bytes than this are not searched."""
DEPTH = 4

_Rows = dict[Any, tuple[Block, int]]


class AllowedFiles:
    """The files that the plans of one iterator may read. Each source is searched once."""

    def __init__(self) -> None:
        self.plans: list[Node] = []
        self._kept: dict[int, tuple[Node, _Rows | None]] = {}
        # Each entry references its node, so that no other node gets the same id.
        self._ways: dict[tuple[int, bytes], tuple[Node, list[Any]]] = {}

    def check_state(self, node: Node, state: object) -> None:
        """Raises unless the node's input names the files that a state has open."""
        if isinstance(node, OpensFiles):
            for name in node.named_in(state):
                self.check_name(node, name)

    def check_name(self, node: Node, name: bytes) -> None:
        """Raises unless the node's input names the file."""
        rows = self._rows(node.inputs[0]) if node.inputs else None
        if rows is not None and name not in rows:
            raise _refused(name)

    def check_row(self, node: Node, row: Block) -> None:
        """Raises unless the row, from which `node` makes a nested plan, is an element of its input."""
        if not isinstance(node, OpensPlans):
            return
        element = row.rows()[0]
        rows = self._rows(node.inputs[0])
        key = _key(element)
        if rows is not None and key is not None and key not in rows:
            raise FailedPreconditionError(
                f"the state belongs to another dataset: {node.op} (step {node.position}) was called with "
                f"{_short(element)}, which is not an element of its input"
            )

    def check_file(self, recipe: object, name: bytes) -> None:
        """Raises unless a plan reads this file in this way."""
        ways = (way for plan in self.plans for way in self._opened(plan, name, DEPTH))
        if not any(way is None or way == recipe for way in ways):
            raise _refused(name)

    def check_folder(self, values: Any) -> None:
        """Raises unless the folder of a buffered dataset is one that a plan reads."""
        if not isinstance(values[0], str):
            return  # it reads no folder
        openers = [n for plan in self.plans for n in plan.walk() if isinstance(n, OpensFolders)]
        if openers and not any(n.gives(values) for n in openers):
            raise FailedPreconditionError(
                "the state belongs to another dataset: it names a folder that this dataset does not read"
            )

    def _opened(self, plan: Node, name: bytes, depth: int) -> Iterator[Any]:
        """The ways in which a plan reads a file, with None for an unknown one."""
        for node in plan.walk():
            if isinstance(node, OpensFiles) and node.inputs:
                known = self._ways.get((id(node), name))
                if known is None:
                    rows = self._rows(node.inputs[0])
                    ways = [None] if rows is None else [node.reads_as(name)] if name in rows else []
                    known = self._ways[id(node), name] = node, ways
                yield from known[1]
            elif isinstance(node, OpensPlans):
                yield from self._opened_inside(node, name, depth)

    def _opened_inside(self, node: Any, name: bytes, depth: int) -> Iterator[Any]:
        rows = self._rows(node.inputs[0])
        if rows is None or not depth:
            yield None
            return
        for key in sorted(rows, key=lambda key: not _within(key, name)):
            block, i = rows[key]
            yield from self._opened(node.child(block.slice(i, i + 1)), name, depth - 1)

    def _rows(self, plan: Node) -> _Rows | None:
        """All rows of a plan by key, including rows that it may leave out; None if they are unknown."""
        kept = self._kept.get(id(plan))
        if kept is None:
            found: _Rows | None = {}
            assert found is not None
            try:
                size = 0
                for block in _blocks(plan):
                    size += block.nbytes
                    for i, element in enumerate(block.rows()):
                        key = _key(element)
                        if key is None or len(found) > MOST_ROWS or size > MOST_BYTES:
                            raise _Unknown
                        found[key] = block, i
            except (_Unknown, OpError, OSError):
                found = None
            kept = self._kept[id(plan)] = plan, found
        return kept[1]


class _Unknown(Exception):
    """The rows of a plan are not known before it runs."""


def _blocks(plan: Node) -> Iterator[Block]:
    """All rows that a plan may choose from, read without the effects of running it."""
    if plan.inputs and isinstance(plan, (KeepsRows, CheckpointTransparent)):
        for below in plan.inputs:
            yield from _blocks(below)
    elif user_code(plan) or generator_of(plan) is not None or _is_long(plan.cardinality()):
        raise _Unknown
    elif plan.inputs and in_order(plan) and side_effect_free(plan):
        yield read_rows(plan, np.arange(plan.cardinality()))
    elif isinstance(plan, RowWise) and len(plan.inputs) == 1:
        for block in _blocks(plan.inputs[0]):
            try:
                yield plan.apply(block)
            except RowFailed:
                raise _Unknown from None
    elif plan.inputs and not isinstance(plan, OpensFiles):
        raise _Unknown
    else:
        yield from _run(plan)


def _is_long(cardinality: int) -> bool:
    return cardinality == INFINITE or cardinality > MOST_ROWS


def _run(plan: Node) -> Iterator[Block]:
    run, rows = Run(plan), 0
    try:
        with uncounted:
            run.start()
        while (block := run.pull(BLOCK_ROWS)) is not None:
            rows += block.n
            if rows > MOST_ROWS:
                raise _Unknown
            yield block
    finally:
        run.close()


def _key(element: object) -> Any:
    """An element as a hashable key; None if it has none."""
    if isinstance(element, bytes):
        return element
    found: list[Any] = []
    for leaf in flatten(element)[0]:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "O":
            found.append((leaf.shape, tuple(leaf.ravel().tolist())))
        elif isinstance(leaf, (np.ndarray, np.generic)):
            found.append((leaf.dtype.str, leaf.shape, leaf.tobytes()))
        elif isinstance(leaf, (bytes, str, int, float)):
            found.append(leaf)
        else:
            return None
    return tuple(found)


def _within(key: object, name: bytes) -> bool:
    """Whether a string of a row is part of a file name."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, bytes) and part in name for part in parts)


def _refused(name: bytes) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"the state belongs to another dataset: it names {shown(name)}, which this dataset does not read, "
        "or reads differently"
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
