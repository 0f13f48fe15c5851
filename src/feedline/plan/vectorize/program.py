"""`Program`: a function in the form that runs once for many rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from feedline.plan.vectorize.image_program import ImageProgram
from feedline.plan.vectorize.rows import TYPES, UNKNOWN, Call, NoRow, RowValues, Unsupported, Unsure
from feedline.structure.block import Array, Block, Column, pack, slice_column, take_rows
from feedline.structure.buffer_pool import buffers
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import TensorSpec

FEW = 4
"""Blocks of fewer rows are as fast row by row."""
REFUSED = 64
"""A native program gives up after so many rows in a row that its kernel refuses: the files are of another kind."""
Place = Callable[[Tree, int, tuple[int, ...], "np.dtype[Any]"], Array]
"""Gives the memory for column j of results of a structure, by its shape and dtype."""
_CONSTANTS = frozenset((bool, int, float, str, bytes, *TYPES))


class Refused(Exception):
    """The function reads a value from outside that is not known to be harmless."""


class Bound(NamedTuple):
    """A function to be called with `RowValues` in place of elements. If it is `arithmetic`, it can be called with
    columns of scalars themselves.
    """

    call: Call
    arithmetic: bool


class Traced:
    """A function that was traced when it was given to an operator, or should have been.

    program      the program that runs it for many rows; None if it is called for each element
    result_spec  the spec of its results; None if only calls show it
    why          why it is called for each element, if it is
    pure         whether it makes datasets in which no user's function runs, and may be called at any time
    seen         the user's function, as `Function.seen`
    """

    __slots__ = ()

    program: Program | None
    result_spec: Any
    why: str
    pure: bool

    @property
    def seen(self) -> Callable[..., Any]:
        """The user's function, to be analysed: its code, with its variables as they are when it runs."""
        raise TypeError(f"{type(self).__name__} must define seen")


class ColumnResults(NamedTuple):
    """The results for the first `rows` rows of a block as columns. The next `alone` rows must be called one by one; the
    rows after those have not been tried.
    """

    rows: int
    alone: int
    leaves: list[Column]
    tree: Tree

    @property
    def result(self) -> Any:
        """The structure of the columns."""
        return self.tree.unflatten(self.leaves)


class Program:
    """A function without side effects that runs once for many rows. `bound` gives the function to be called, and raises
    `Refused` if its variables do not allow that any more. Its only state is whether it has given up.

    on_scalars   whether it is plain arithmetic, which runs on columns of scalars as they are
    only_parses  whether all results come from one call of a function whose spec is known, `parse_example` for instance
    native       the programs for images among the results, as text; empty if there are none
    """

    __slots__ = ("_bound", "_given_up", "_refused", "native", "on_scalars", "only_parses")

    def __init__(self, bound: Callable[[], Bound], on_scalars: bool = False) -> None:
        self._bound, self.on_scalars = bound, on_scalars
        self.only_parses = self._given_up = False
        self.native: tuple[str, ...] = ()
        self._refused = 0  # blocks in a row of which the kernel has made no row

    @property
    def active(self) -> bool:
        """Whether `run` may still give a result."""
        return self.on_scalars or not self._given_up

    def run(self, block: Block, place: Place | None = None) -> ColumnResults | None:
        """Runs the function for the rows of a block. None if that was not possible: it may be for a part of them as
        long as the program is `active`. Native programs write to the memory that `place` gives, if it does.
        """
        rest = not self._given_up and (block.n >= FEW or self.only_parses or bool(self.native))
        if not rest and not self.on_scalars:
            return None
        try:
            call, arithmetic = self._bound()
            if arithmetic and all(map(_is_scalars, block.columns)):
                made = _run_on_scalars(call, block)
                if made is not None:
                    return made
            if not rest:
                return None
            made = _run_parser(call, block) if self.only_parses else _run(call, block, place)
            self._refused = 0
            return made
        except (Unsupported, Refused):
            self._given_up = True
        except NoRow:
            self._refused += 1
            self._given_up = bool(self.native) and self._refused >= REFUSED
            return ColumnResults(0, 1, [], block.tree)
        except Exception:  # it happens again row by row, where it can be attributed to one
            if self.only_parses:
                return ColumnResults(0, block.n, [], block.tree)
        return None

    def spec(self, spec: object) -> Any:
        """The spec of the results for elements of `spec`; None if only a call with an element shows it."""
        leaves, tree = flatten(spec)
        try:
            call, arithmetic = self._bound()
            if arithmetic and all(isinstance(s, TensorSpec) and s.shape.rank == 0 for s in leaves):
                block = Block([np.empty(0, s.dtype.dtype) for s in leaves], 0, tree)
                made = _run_on_scalars(call, block) if all(map(_is_scalars, block.columns)) else None
                return None if made is None else made.tree.unflatten([TensorSpec((), c.dtype) for c in made.leaves])
            if self.only_parses:
                return _spec(call, tree.unflatten([RowValues(s) for s in leaves]))
        except Exception:  # a call with an element gives a better error
            pass
        return None

    def native_programs(self, arguments: int) -> tuple[str, ...]:
        """The programs for images in the results for elements of so many parts, as text; empty if a step of them has
        no kernel.
        """
        try:
            return self._native_programs(arguments)
        except Exception:  # the function will raise it
            return ()

    def why_not_native(self, arguments: int) -> str:
        """What keeps the function from running natively; "" if nothing does, or it is not known."""
        try:
            self._native_programs(arguments)
        except Unsupported as e:
            return str(e)
        except Exception:
            pass
        return ""

    def _native_programs(self, arguments: int) -> tuple[str, ...]:
        result = _called(self._bound().call, tuple([RowValues(UNKNOWN) for _ in range(arguments)]))
        leaves = flatten(tuple(result) if type(result) is list else result)[0]
        found = [leaf for leaf in leaves if type(leaf) is ImageProgram]
        if not all(images.size_known for images in found):
            raise Unsupported("the size of the results is not known: a resize to a constant size would make it known")
        kinds = (np.ndarray, RowValues, ImageProgram)
        if not all(type(leaf) in _CONSTANTS or isinstance(leaf, kinds) for leaf in leaves):
            raise Unsupported("a result is neither an array nor a constant")
        return tuple(map(str, found))

    def parses(self, arguments: int) -> bool:
        """Whether the spec of the results is known for elements of so many parts, whatever their own spec is."""
        try:
            return _spec(self._bound().call, tuple([RowValues(None) for _ in range(arguments)])) is not None
        except Exception:
            return False


def _is_scalars(column: object) -> bool:
    return isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuf"


def _called(call: Call, element: object) -> object:
    return call(*element) if type(element) is tuple else call(element)


def _run_on_scalars(call: Call, block: Block) -> ColumnResults | None:
    """None if a leaf of the result is not a column, but the same for all rows."""
    leaves, tree = flatten(_called(call, block.tree.unflatten(block.columns)))
    seen: set[int] = set()
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, np.ndarray) or leaf.shape != (block.n,) or leaf.dtype.kind not in "biuf":
            return None
        if id(leaf) in seen or not leaf.flags.writeable:
            leaves[i] = leaf.copy()
        seen.add(id(leaf))
    return ColumnResults(block.n, 0, leaves, tree)


def _run(call: Call, block: Block, place: Place | None) -> ColumnResults:
    values = [RowValues(column) for column in block.columns]
    # Floating-point errors that NumPy would report, in the way the user chose, are left to the row-by-row run.
    strict: Any = {k: v if v == "ignore" else "raise" for k, v in np.geterr().items()}
    with np.errstate(**strict):
        result = _called(call, block.tree.unflatten(values))
        leaves, tree = flatten(tuple(result) if type(result) is list else result)
        rows = min([leaf.rows for leaf in leaves if type(leaf) in (RowValues, ImageProgram)], default=block.n)
        held = {id(column) for column in block.columns}
        made = {j: _column(leaf, rows, held) for j, leaf in enumerate(leaves) if type(leaf) is not ImageProgram}
        bad = rows < block.n  # whether the row after those cannot be made
        for j, leaf in enumerate(leaves):  # last: whatever else fails is found out in no time
            if type(leaf) is ImageProgram:
                done, made[j] = leaf.run(rows, buffers.empty if place is None else partial(place, tree, j))
                if done < rows:
                    rows, bad = done, done < len(made[j])
    if not rows:
        raise NoRow
    columns = [made[j] if len(made[j]) == rows else slice_column(made[j], 0, rows) for j in range(len(leaves))]
    return ColumnResults(rows, int(bad), columns, tree)


def _run_parser(call: Call, block: Block) -> ColumnResults:
    """Runs a function that only picks columns which a parser has made."""
    leaves, tree = flatten(_called(call, block.tree.unflatten([RowValues(column) for column in block.columns])))
    columns = [leaf.column for leaf in leaves if leaf.own]
    if not columns or len(columns) < len(leaves):
        raise Unsure
    rows = len(columns[0])
    if len(set(map(id, columns))) < len(columns):
        columns = [take_rows(column, np.arange(rows)) for column in columns]
    return ColumnResults(rows, int(rows < block.n), columns, tree)


def _column(value: object, rows: int, held: set[int]) -> Column:
    """A result as a column whose memory nothing else refers to. `held` are the columns that others have."""
    if type(value) is not RowValues:
        if type(value) not in _CONSTANTS and not isinstance(value, np.ndarray):
            raise Unsupported
        one = pack([value])
        if not isinstance(one, np.ndarray):
            raise Unsupported
        return np.repeat(one, rows, axis=0)
    column = value.column if value.own else value.data
    if value.rows > rows:
        column = slice_column(column, 0, rows)
    if isinstance(column, np.ndarray):
        if id(column) in held or not column.flags.writeable or not (value.own or column.base is None):
            column = column.copy()
    elif id(column) in held:
        column = take_rows(column, np.arange(rows))
    held.add(id(column))
    return column


def _spec(call: Call, element: object) -> Any:
    found, tree = flatten(_called(call, element))
    if not found or not all(type(value) is RowValues and value.own for value in found):
        raise Unsure
    return tree.unflatten([value.column for value in found])
