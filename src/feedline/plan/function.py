"""A user's function in a plan: how it is called, what its results look like, and how it is named when it fails."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from math import inf
from sys import getrefcount
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from feedline import errors
from feedline.errors import InvalidTypeError
from feedline.kernels import call_rows
from feedline.kernels.interrupts import pause, resume
from feedline.plan.aliasing import ALONE, VALUES, is_held, is_refusal, is_shared, kept, own_leaf, owner, writes
from feedline.plan.captured import Captured, Sent
from feedline.plan.interrupted import Exited, judged
from feedline.plan.row_calls import RowFailed
from feedline.plan.str_comparisons import comparisons, never_equal, warn
from feedline.plan.vectorize import Place, Program, Traced, program_of, why_not_native
from feedline.random.element import Epochs
from feedline.random.seeds import FunctionScope, function_scope
from feedline.sharing import Guard
from feedline.structure.block import (
    Array,
    Block,
    concat,
    pack,
    rows_of,
    slice_column,
    spec_of_column,
)
from feedline.structure.buffer_pool import buffers
from feedline.structure.nest import LEAF, Tree, flatten, map_structure
from feedline.structure.spec import TensorSpec, TypeSpec, type_spec_from_value
from feedline.structure.types import as_dtype

Call = Callable[..., Any]

FEW = 16
"""Up to this many rows are called one by one if no program can run them together."""

_settling = Guard()


class Destination(Protocol):
    """Where large leaves of results are written."""

    def take(self, i: int, leaves: list[Any]) -> None:
        """Replaces the large leaves by row i of their destination, where they will be copied by `flush` at the latest;
        leaves that stay elsewhere are made safe to keep. The result holds the leaves, too.
        """

    def flush(self) -> None:
        """Copies what has not been copied yet."""

    def column(self, j: int, rows: int) -> Array | None:
        """The first `rows` rows of column j, if all of them have been written there."""

    def memory(self, j: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """The memory for the first rows of column j, if rows of this shape and dtype are written there."""

    def holds(self, columns: Sequence[Any]) -> bool:
        """Whether all columns that are written there have been written to its memory."""


def place_of(file: str, line: int) -> str:
    """A line of code: `train.py:12`, or `In[3], line 2` for the cell of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    cell = None if shell is None else shell.compile.format_code_name(file)
    return f"{os.path.basename(file)}:{line}" if cell is None else f"{cell[1]}, line {line}"


class Function:
    """A user's callable, with its location in the source for messages.

    A plain tuple element becomes several arguments, any other element one, as in tf.data. The first result fixes the
    structure and types of all results. The function's variables keep the values they had when it was given (see
    captured.py), unless it is `late`; `sent` are captured values that come from another process.
    """

    __slots__ = ("_captured", "_compared", "_program", "_signature", "_writes", "epochs")

    def __init__(
        self,
        call: Call,
        signature: tuple[Tree, list[Any]] | None = None,
        sent: Sent | None = None,
        late: bool = False,
    ) -> None:
        self._captured = Captured(call, sent, late)
        self.epochs = Epochs()
        self._program = program_of(self.seen)
        self._signature = _stated(call) if signature is None else signature
        self._writes = writes(_innermost(call))
        self._compared = comparisons(self._captured.call) if sent is None else ()

    @property
    def given(self) -> Call:
        """The function as the user gave it."""
        return self._captured.given

    @property
    def seen(self) -> Call:
        """The function to be analysed: its code as written, with its variables as they are when it runs."""
        return self._captured.seen

    @property
    def call(self) -> Call:
        """The function to be called. Forgets the analysis of its code if it now calls other functions than before."""
        if not self._captured.holds:
            self._captured.renew()
            self._program = None
        return self._first_call if self._compared else self._captured.call

    def _first_call(self, *row: Any) -> Any:
        """Calls the function, and warns before if it compares strings of this first row with str."""
        found, self._compared = never_equal(self._compared, row), ()
        warn(self._captured.call, found)
        return self._captured.call(*row)

    def _is_warned_of(self, block: Block) -> bool:
        """Whether the first call will warn; then it is made for a row of its own."""
        if self._compared and block.n:
            row = block.slice(0, 1).rows()[0]
            self._compared = never_equal(self._compared, row if block.tree.kind is tuple else (row,))
        return bool(self._compared)

    @property
    def late(self) -> bool:
        """Whether the function's variables have the values of each call, not those that they had when it was given."""
        return self._captured.late

    @property
    def fixed(self) -> bool:
        """Whether `call` is the same function every time: it calls none that could be replaced."""
        return not self._captured.linked

    @property
    def name(self) -> str:
        """The function's own name."""
        f = _innermost(self.given)
        return getattr(f, "__name__", type(f).__name__)

    @property
    def where(self) -> str:
        """The file and line of the definition, or an empty string."""
        code = getattr(_innermost(self.given), "__code__", None)
        return place_of(code.co_filename, code.co_firstlineno) if code else ""

    @property
    def program(self) -> Program | None:
        """The program that runs the function for many rows at once; None if there is none, or no longer."""
        if self._program is not None and not self._captured.holds:
            self._captured.renew()
            self._program = None
        return self._program

    @property
    def vectorized(self) -> bool:
        """Whether the function has no side effects and may run for many rows at once: see plan/vectorize."""
        return self._program is not None

    @property
    def only_parses(self) -> bool:
        """Whether all that the function does is one call of a parser."""
        return self._program is not None and self._program.only_parses

    @property
    def native(self) -> tuple[str, ...]:
        """The native programs that make the results, as text; empty if there are none, or no longer."""
        return self._program.native if self._program is not None and self._program.active else ()

    @property
    def why_not_native(self) -> str:
        """Why a function that could run natively does not; "" if that is not known."""
        return why_not_native(self.seen) if self._program is None else ""

    @property
    def traced_spec(self) -> Any:
        """The spec of the results of a traced function; None if only calls show it."""
        return self.given.result_spec if isinstance(self.given, Traced) else None

    @property
    def why_called(self) -> str:
        """Why a function that could be traced is called for each element; "" if it is traced, or never is."""
        return self.given.why if isinstance(self.given, Traced) else ""

    @property
    def output_spec_known(self) -> bool:
        """Whether the structure and types of all results are known. Until then calls must be made in order."""
        return self._signature is not None

    @property
    def signature(self) -> tuple[Tree, list[Any]]:
        """The structure of the results, and the dtype, or another type, of each leaf. Known after the first result."""
        assert self._signature is not None
        return self._signature

    @property
    def results(self) -> Block | None:
        """A block of no rows with the structure and types of the results; None before the first, or if they are not
        arrays.
        """
        tree, keys = self._signature if self._signature is not None else (None, [None])
        if tree is None or not all(isinstance(key, np.dtype) for key in keys):
            return None
        return Block([np.empty(0, key) for key in keys], 0, tree)

    @results.setter
    def results(self, like: Block) -> None:
        if self._signature is None:
            self._signature = like.tree, [column.dtype for column in like.columns]

    def on_row(self, row: object, index: int | None = None, frozen: bool = False) -> Any:
        """The function's result for one element, which is row `index` of the current block. With `frozen` the element
        is kept as it is, and its arrays are read-only.
        """
        with function_scope(None if index is None else range(index)) as scope:
            call = self.call
            if index is not None or frozen:
                call = self.on_own(None if frozen else flatten(row)[0], scope)
            held = pause()
            try:
                return call(*row) if type(row) is tuple else call(row)
            except Exception:
                raise
            except BaseException as e:
                raise judged(e) from None
            finally:
                resume(held)

    def on_own(self, columns: Sequence[Any] | None, scope: FunctionScope) -> Call:
        """The function to be called with rows of these columns. Once it has been seen to write into its arguments, it
        gets copies of read-only ones. None stands for read-only columns.
        """
        call = self.call
        if columns is not None and not any(map(is_shared, columns)):
            return call

        def on_own(*row: Any) -> Any:
            if not self._writes:
                try:
                    return call(*row)
                except ValueError as e:
                    if not is_refusal(e):
                        raise
                self._writes = True
                scope.restart()
            return call(*[map_structure(own_leaf, part) for part in row])

        return on_own

    def on_rows(self, block: Block, until: float = inf) -> tuple[list[Any], BaseException | None]:
        """The results for the rows of a block up to the first that raises, and its exception: if that is not an
        `Exception`, the row is to be made again. Apart from the first, no row is begun after `until`.
        """
        results: list[Any] = []
        add, unpack, values, array, alone = results.append, block.tree.kind is tuple, VALUES, np.ndarray, ALONE
        timed, left = until < inf, inf
        value: type | None = None  # of the result before, if that is immutable: most are like it
        own = set() if block.n == 1 else {id(owner(c)) for c in block.columns if isinstance(c, np.ndarray)}
        rows = block.rows()
        n = len(rows)
        with function_scope(results) as scope:
            call = self.on_own(block.columns, scope)
            try:
                held = pause()
                try:
                    while (done := len(results)) < n:
                        if value is None:
                            result = call(*rows[done]) if unpack else call(rows[done])
                        else:
                            left = until - perf_counter() if timed else left
                            result = call_rows(call, rows, results, value, scope, left)
                        if result is not results:
                            kind = type(result)
                            if kind in values:
                                value = kind
                                add(result)
                            elif kind is array and result.base is None and getrefcount(result) <= alone:
                                value = None
                                add(result)
                            else:
                                value = None
                                add(kept(result, own))
                        if scope.used:
                            scope.restart()
                        if timed and perf_counter() > until:
                            break
                finally:
                    resume(held)
            except BaseException as e:
                return results, judged(e)
        return results, None

    def on_rows_into(self, block: Block, place: Destination) -> tuple[Block, bool]:
        """The results for a block, each written to `place` as soon as it is made, and whether all their large leaves
        are there. Raises `RowFailed` for the first row that fails. The results' structure and types must be known
        already.
        """
        assert self._signature is not None
        tree, unpack = self._signature[0], block.tree.kind is tuple
        results: list[Any] = []  # their leaves, as long as all are like the first
        alike = True
        error: BaseException | None = None
        with function_scope(results) as scope:
            call = self.on_own(block.columns, scope)
            held = pause()
            try:
                for i, row in enumerate(block.rows()):
                    result = call(*row) if unpack else call(row)
                    if not tree.is_leaf and is_held(result):
                        result = kept(result, set())
                    leaves = _leaves_like(tree, result) if alike else None
                    if leaves is not None:
                        place.take(i, leaves)
                        results.append(leaves)
                    else:
                        if alike:
                            place.flush()
                            alike, results[:] = False, [tree.unflatten(r) for r in results]
                        results.append(result if type(result) in VALUES else kept(result, set()))
                    if scope.used:
                        scope.restart()
            except BaseException as e:
                error = judged(e)
            finally:
                resume(held)
        if alike:
            place.flush()
        done, in_slot = self._in_place(results, tree, place) if alike and results else (None, False)
        if done is None and results:
            done = self.block_of([tree.unflatten(r) for r in results] if alike else results)
        if error is not None:
            raise RowFailed(len(results), done, error)
        assert done is not None
        return done, in_slot

    def _in_place(self, rows: list[list[Any]], tree: Tree, place: Destination) -> tuple[Block | None, bool]:
        """A block of results given by their leaves; None if one of them is invalid."""
        columns = [place.column(j, len(rows)) for j in range(tree.size)]
        in_slot = any(c is not None for c in columns)
        try:
            columns = [pack([row[j] for row in rows]) if c is None else c for j, c in enumerate(columns)]
        except Exception:  # `block_of` packs them one by one and raises for the right row
            return None, False
        return self._checked(Block(columns, len(rows), tree)), in_slot

    def on_columns(self, block: Block) -> Any:
        """The function's result for whole columns; None if that is not certain to equal the results row by row."""
        program = None if self._is_warned_of(block) else self.program
        made = None if program is None else program.run(block)
        return made.result if made is not None and made.rows == block.n else None

    def first_rows(self, block: Block, place: Destination | None = None) -> tuple[Block | None, int]:
        """The results for the first rows of a block, as many as can be made from whole columns, and how many rows after
        them must be called one by one. None and 0 if that is known only of a smaller block. Native programs write to
        `place` what fits there.
        """
        program = None if self._is_warned_of(block) else self.program
        made = None if program is None else program.run(block, None if place is None else self._placed(place))
        if made is None:
            return None, 0 if block.n > FEW and program is not None and program.active else block.n
        if not made.rows:
            return None, made.alone
        tree = made.tree if self._signature is None else self._signature[0]  # one tree for all blocks
        try:
            if made.tree == tree:
                return self._checked(Block(made.leaves, made.rows, tree)), made.alone
            return self._checked(Block(made.leaves, made.rows, made.tree).reordered(tree)), made.alone
        except (RowFailed, TypeError):  # unlike the results before: row by row it is known which one
            return None, block.n

    def _placed(self, place: Destination) -> Place:
        """The memory of a destination, for results of the structure that is known."""

        def memory(tree: Tree, j: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
            known = self._signature is not None and tree == self._signature[0]
            found = place.memory(j, shape, dtype) if known else None
            return buffers.empty(shape, dtype) if found is None else found

        return memory

    def spec_of_columns(self, spec: object) -> Any:
        """The spec of the results for elements of `spec`, if the function's program tells it; None if only a call with
        an element would.
        """
        if self.traced_spec is not None:
            return self.traced_spec
        return None if self._program is None else self._program.spec(spec)

    def block_of(self, results: list[Any], ours: bool = False) -> Block:
        """Packs results into a block. Raises `RowFailed` for the first that is not a valid element, or not of the same
        type. With `ours` a single result's arrays, which `on_rows` has found to be unshared, are not copied.
        """
        try:
            if type(results[0]) is list:
                results = [tuple(r) if type(r) is list else r for r in results]
            tree = self._signature[0] if self._signature else None
            block = _pack(results, tree, ours)
        except Exception as error:
            return self._one_by_one(results, error)
        return self._checked(block)

    def spec_of(self, element: object) -> Any:
        """The spec of the result for an element, which may be a made-up one: it is not compared with other results."""
        result = self.on_row(element)
        return _pack([tuple(result) if type(result) is list else result], None).spec()

    def accepted(self, made: Block) -> Block:
        """A block of results made by a copy of this function. Raises `RowFailed` for the first that does not match
        those before.
        """
        if self._signature is not None and made.tree != self._signature[0]:
            return self.block_of(made.rows())
        return self._checked(made)

    def _one_by_one(self, results: list[Any], error: Exception) -> Block:
        """Packs results one by one, to raise for the first that is invalid."""
        done: list[Block] = []
        for i, result in enumerate(results):
            try:
                result = tuple(result) if type(result) is list else result
                done.append(self._checked(_pack([result], self._signature[0] if self._signature else None)))
            except RowFailed as e:
                raise RowFailed(i, concat(done) if done else None, e.error, e.path) from None
            except Exception as e:
                raise RowFailed(i, concat(done) if done else None, e) from None
        raise error

    def _checked(self, block: Block) -> Block:
        if self._signature is None:
            first = [_key_of_row(c, 0) for c in block.columns]
            if all(key is None for key in first):
                what = "None" if block.columns else "an empty structure"
                why = f"the function returned {what}, which is not a valid element; return a value for every element"
                raise RowFailed(0, None, InvalidTypeError(why))
            with _settling:
                if self._signature is None:
                    self._signature = block.tree, first
            if self._signature[0] != block.tree:  # another thread was first
                return self.block_of(block.rows())
        odd = []  # rows, each with its column
        for j, (column, want) in enumerate(zip(block.columns, self._signature[1], strict=True)):
            got = column.dtype if isinstance(column, np.ndarray) else _key(spec_of_column(column))
            if want is None or not _equal(got, want):
                odd += [(i, j) for i in _other_than(want, column)]
        if odd:
            self._refuse(block, *min(odd))
        return block

    def _refuse(self, block: Block, i: int, j: int) -> None:
        """Raises for row i of a block, whose type in column j is not the expected one."""
        path, want = block.tree.paths()[j], self.signature[1][j]
        message = (
            f"the types of the function's results differ at {path}: {_type_name(want)}, then "
            f"{_type_name(_key_of_row(block.columns[j], i))}; return the same types for every element"
        )
        done = _pack(block.slice(0, i).rows(), block.tree) if i else None  # columns without the other type
        raise RowFailed(i, done, InvalidTypeError(message), path)

    def attribute_error(self, op: str, position: int, number: int | None, failed: RowFailed) -> Exception:
        """The exception for a failed call: `map at step 3 (train.py:41 'decode') failed on element 7: …`."""
        if isinstance(failed.error, Exited):
            return failed.error
        assert isinstance(failed.error, Exception)
        line = failed.error.where if isinstance(failed.error, errors.OpError) else ""
        line = f", {line}" if line else ""
        place = f" ({self.where} {self.name!r}{line})" if self.where else f" ({self.name!r}{line})"
        path = f" ({failed.path})" if failed.path else ""
        error = failed.error
        kind = "" if isinstance(error, errors.OpError) else f"{type(error).__name__}: "
        text = f"{op} at step {position}{place} failed{failed.on(number)}{path}: {kind}{error}{_advice(error)}"
        blamed = errors.in_function(error, text, op)
        blamed.__cause__ = error
        return blamed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self._captured == other._captured

    def __hash__(self) -> int:
        return hash(self._captured)

    def __repr__(self) -> str:
        return f"{self.name} ({self.where})" if self.where else self.name

    def __reduce__(self) -> Any:
        return Function, (self.given, None, self._captured.sent(), self._captured.late)

    def for_worker(self) -> tuple[Any, ...]:
        """What another process needs to make the same function, with the same structure and types of results."""
        return self.given, self._signature, self._captured.sent(), self._captured.late


OF_TENSORS = {"as_list", "get_shape", "numpy", "set_shape"}
"""Attributes of TensorFlow's tensors that arrays do not have."""


def _advice(error: BaseException) -> str:
    """A hint for the user, for errors whose message gives none."""
    if is_refusal(error):
        return "; elements may be shared: modify a copy, x.copy()"
    if isinstance(error, AttributeError) and error.name in OF_TENSORS and _is_value(error.obj):
        return "; here functions get NumPy values: in feedline.tf (import feedline.tf as tf) they get tensors"
    if _mixes_str_and_bytes(error):
        return "; strings are bytes, as in TensorFlow: write b'...', or decode them with x.decode()"
    return ""


def _mixes_str_and_bytes(error: BaseException) -> bool:
    if isinstance(error, AttributeError):
        return isinstance(error.obj, bytes) and error.name in dir(str)
    if isinstance(error, KeyError):
        return bool(error.args) and isinstance(error.args[0], bytes)
    text = str(error)
    return isinstance(error, TypeError) and "bytes" in text and ("str" in text or "string" in text)


def _is_value(thing: object) -> bool:
    return isinstance(thing, bytes) or type(thing).__module__ == "numpy"


def _stated(call: Call) -> tuple[Tree, list[Any]] | None:
    """The structure and types of the results of a traced function, if all of them are arrays."""
    if not isinstance(call, Traced) or call.result_spec is None:
        return None
    specs, tree = flatten(call.result_spec)
    return (tree, [_key(spec) for spec in specs]) if all(isinstance(spec, TensorSpec) for spec in specs) else None


def _leaves_like(tree: Tree, result: object) -> list[Any] | None:
    """The leaves of a result; None if its structure is not `tree`."""
    if tree.is_leaf:
        return None if isinstance(result, (tuple, dict, list)) else [result]
    try:
        return list(tree.flatten(tuple(result) if type(result) is list else result))
    except Exception:
        return None


def _innermost(f: object) -> Any:
    while isinstance(f, functools.partial):
        f = f.func
    if hasattr(f, "__wrapped__"):
        return _innermost(f.__wrapped__)
    if not hasattr(f, "__code__") and hasattr(getattr(type(f), "__call__", None), "__code__"):  # noqa: B004
        return type(f).__call__
    return getattr(f, "__func__", f)


def _pack(results: Sequence[Any], tree: Tree | None, ours: bool = False) -> Block:
    if tree is None:
        _, tree = flatten(results[0])
    if tree is LEAF or tree.is_leaf:
        kinds = set(map(type, results))
        if any(issubclass(kind, (tuple, dict)) for kind in kinds):
            for r in results:
                if isinstance(r, (tuple, dict)):
                    tree.flatten(r)  # raises, saying what was expected
        return Block([pack(results, ours, kinds)], len(results), LEAF)
    rows = [tree.flatten(r) for r in results]
    columns = [pack(values, ours) for values in zip(*rows, strict=True)] if tree.size else []
    return Block(columns, len(results), tree)


def _key(spec: object) -> Any:
    """What must not change between results: an array's dtype, another leaf's kind and dtype. Shapes may change."""
    if isinstance(spec, TensorSpec):
        return spec.dtype.dtype
    if not isinstance(spec, TypeSpec):
        return None
    dtype = getattr(spec, "dtype", None)
    return type(spec).__name__, None if dtype is None else dtype.name


def _key_of_row(column: Any, i: int) -> Any:
    return _key(type_spec_from_value(rows_of(slice_column(column, i, i + 1))[0]))


def _other_than(want: object, column: Any) -> list[int]:
    """The first row of a column that has another type, if there is such a row."""
    keys = (_key(type_spec_from_value(item)) for item in rows_of(column))
    return next(([i] for i, key in enumerate(keys) if not _equal(key, want)), [])


def _equal(a: Any, b: Any) -> bool:
    """Whether two keys are the same; NumPy takes None for float64."""
    return a is b or (a is not None and b is not None and bool(a == b))


def _type_name(key: Any) -> str:
    if key is None:
        return "None"
    if isinstance(key, np.dtype):
        return as_dtype(key).name
    kind, dtype = str(key[0]).removesuffix("Spec"), key[1]
    return f"{kind} of {dtype}" if dtype else kind
