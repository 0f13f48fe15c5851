"""`Dataset.from_generator`: elements that a Python generator yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from sys import getrefcount
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.kernels.interrupts import pause, resume
from feedline.plan import arguments
from feedline.plan.aliasing import own_leaf_of
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.dataset_base import dataset
from feedline.plan.function import Function
from feedline.plan.interrupted import Interrupted, judged
from feedline.plan.node import EMPTY, node
from feedline.plan.pace import Pace
from feedline.plan.row_calls import RowFailed
from feedline.plan.traits.effects import CallsUserCode
from feedline.structure.block import Array, Block, Column, Objects, is_whole, object_array, pack
from feedline.structure.nest import Tree, flat, flatten
from feedline.structure.spec import RaggedTensorSpec, TensorShape, TensorSpec, TypeSpec, type_spec_from_value
from feedline.structure.types import as_dtype
from feedline.structure.values import array_of, leaf_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset

OP = "from_generator"


STATE_METHODS = (("state_dict", "load_state_dict"), ("get_state", "set_state"))
"""Pairs of iterator methods that return and restore its position."""


class Live:
    """A running generator, and the pace of its values."""

    __slots__ = ("pace", "values")

    def __init__(self, values: Iterator[Any]) -> None:
        self.values, self.pace = values, Pace()

    def next_into(self, fresh: list[Any]) -> bool:
        """Appends the next value to a list, so that no interrupt can lose it between the two; False at the end."""
        before = len(fresh)
        fresh.extend(islice(self.values, 1))
        return len(fresh) > before

    def saved_position(self) -> dict[str, Any] | None:
        """The generator's own saved position; None if it has none."""
        methods = self._state_methods()
        return methods and {"at": getattr(self.values, methods[0])()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restores a saved position."""
        methods = self._state_methods()
        if methods is None:
            raise FailedPreconditionError(
                "the state was saved by a generator that saves its own position, but this "
                f"{type(self.values).__name__} has no load_state_dict or set_state"
            )
        getattr(self.values, methods[1])(saved["at"])

    def _state_methods(self) -> tuple[str, str] | None:
        found = (names for names in STATE_METHODS if all(callable(getattr(self.values, name, None)) for name in names))
        return next(found, None)

    @property
    def alive(self) -> bool:
        """Whether the generator can yield more; one that has raised is finished."""
        return getattr(self.values, "gi_frame", self) is not None

    def close(self) -> None:
        """Closes the generator, which runs its `finally` blocks."""
        close = getattr(self.values, "close", None)
        if callable(close):
            close()


class Yielded(NamedTuple):
    """The running generator, a saved position of it, or None if it must be started again; how many values it has been
    asked for; whether it has ended; and an error to raise next.
    """

    live: Live | dict[str, Any] | None = None
    asked: int = 0
    ended: bool = False
    error: Exception | None = None


@node
class Generator(CallsUserCode):
    """The values of a generator function, converted to a signature."""

    State: ClassVar[Any] = Yielded
    mutable_state: ClassVar[bool] = True
    op: ClassVar[str] = OP
    generator_func: Function
    signature: Any
    args: tuple[Any, ...]

    def spec(self) -> Any:
        """The signature."""
        return self.signature

    def cardinality(self) -> int:
        """Unknown until the generator has run."""
        return UNKNOWN

    def step(self, state: Yielded, pull: Any, want: int) -> tuple[Block | None, Yielded]:
        """Takes values as long as they fit and come at once. Errors wait in the state: no value can be read twice."""
        position, requested, ended, error = state
        live = position if isinstance(position, Live) else None
        if error is not None:
            raise error
        if ended:
            return None, state
        rows: list[Any] = []
        fresh: list[Any] = []
        fit = _fitting(*self._leaves)
        interrupt: BaseException | None = None
        try:
            held = pause()
            try:
                if live is None:
                    live = self._started(requested, position)
                values, add, extend = live.values, rows.append, fresh.extend
                want, until = live.pace.begin(want)
                for taken in range(want):
                    extend(islice(values, 1))  # as in `next_into`
                    if len(fresh) == taken:
                        ended = True
                        break
                    add(fit(fresh[-1]))
                    fresh[-1] = None
                    if perf_counter() > until:
                        break
            finally:
                resume(held)
                if live is not None:
                    live.pace.end(len(rows))
        except BaseException as raised:
            e = judged(raised)
            if isinstance(e, Exception):
                failed: Exception | None = e
            elif live is None:
                raise Interrupted(e, state) from None
            else:  # an interrupt: the value yielded just before it counts
                interrupt, failed = e, self._caught_up(fresh, fit, rows)
            number = requested + len(fresh) - (len(fresh) > len(rows)) if live else None
            if failed is not None:
                error = self.generator_func.attribute_error(self.op, self.position, number, RowFailed(0, None, failed))
                ended = live is None
        requested += max(len(fresh), len(rows) + (ended or error is not None))
        if live is not None and (ended or (interrupt is not None and not live.alive)):
            live.close()  # a generator that an interrupt has ended is replaced by a new one, which continues from there
            live = None
        state = Yielded(live, requested, ended, error)
        block = self._block(rows)
        if interrupt is not None:
            raise Interrupted(interrupt, state, block)
        if block is not None:
            return block, state
        return (None if ended and error is None else EMPTY), state

    def _block(self, rows: list[Any]) -> Block | None:
        if not rows:
            return None
        leaves, tree = self._leaves
        columns = [rows] if tree.is_leaf else zip(*rows, strict=True)
        made = [leaf.column(column) for leaf, column in zip(leaves, columns, strict=True)]
        return Block(made, len(rows), tree)

    @staticmethod
    def _caught_up(fresh: list[Any], fit: Callable[[Any], Any], rows: list[Any]) -> Exception | None:
        """Adds the value that was yielded just before an interrupt, if any; returns its error if it does not fit."""
        try:
            rows += map(fit, fresh[len(rows) :])
        except Exception as e:
            return e
        return None

    def _started(self, requested: int, position: Any) -> Live:
        """The generator at its saved position, or after `requested` values."""
        live = Live(iter(self.generator_func.call(*self.args)))
        if position is not None:
            live.restore(position)
            return live
        for i in range(requested):
            try:
                more = live.next_into([])
            except Exception:  # raised when it first happened
                continue
            if not more:
                raise FailedPreconditionError(
                    f"the generator yielded {requested} values before the state was saved, but ends after {i} now; it "
                    "must yield the same values each time, or save its position (state_dict and load_state_dict)"
                )
        return live

    @property
    def _leaves(self) -> tuple[list[_Leaf], Tree]:
        known = self.__dict__.get("_known")
        if known is None:
            specs, tree = flatten(self.signature)
            known = self.__dict__["_known"] = [_Leaf(s, p) for s, p in zip(specs, tree.paths(), strict=True)], tree
        return known

    def after_error(self, state: Yielded) -> Yielded:
        """Drops the error that was raised; the generator continues if it can."""
        return state._replace(error=None)


def _references() -> tuple[int, int]:
    """The reference counts that `_Leaf.fit` sees on an array that nothing but the list of fresh values refers to, and
    on one that is part of such a tuple.
    """

    def fit(value: object, _: int = 0) -> int:
        return getrefcount(value)

    def fit_row(value: tuple[object, ...]) -> list[int]:
        return [call(part, 0) for call, part in zip([fit], value, strict=True)]

    fresh: list[Any] = [np.empty(0), (np.empty(0),)]
    return fit(fresh[0]), fit_row(fresh[1])[0]


ALONE, ALONE_IN_ROW = _references()


class _Leaf:
    """One component of the signature: converts values to it."""

    __slots__ = ("_dtype", "_free", "_path", "_plain", "_range", "_shape", "_spec", "_strings")

    def __init__(self, spec: Any, path: str) -> None:
        self._spec, self._path = spec, path
        dense = isinstance(spec, TensorSpec)
        self._dtype: Any = spec.dtype.dtype if dense else None
        self._shape: Any = spec.shape if dense else None
        open_ended = dense and spec.shape.rank and not any(spec.shape)
        self._free = spec.shape.rank if open_ended else -1  # any shape of this rank fits
        kind = "" if self._dtype is None else self._dtype.kind
        self._strings = kind == "O"
        scalar = dense and spec.shape.rank in (0, None)
        # Python types that need no conversion before they become a column.
        types: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (float,), "b": (bool,), "O": (bytes,)}
        self._plain = types.get(kind, ()) if scalar else ()
        self._range = (np.iinfo(self._dtype).min, np.iinfo(self._dtype).max) if kind in ("i", "u") else None

    def fit(self, value: Any, alone: int = ALONE) -> Any:
        """The value as stored in a column. Raises `InvalidTypeError` if it does not fit this component. An array with
        more than `alone` references has other users, and is copied.
        """
        if type(value) in self._plain:
            if self._range is None or self._range[0] <= value <= self._range[1]:
                return value
            raise self._wrong(value)
        if self._dtype is None:
            return self._other(value)
        if self._plain == (bytes,) and type(value) is str:
            return value.encode()
        if type(value) is not np.ndarray or value.dtype != self._dtype or self._strings or not value.ndim:
            made = self._cast(value)
            value = made.copy() if isinstance(made, np.ndarray) and not is_whole(made) else made
        elif getrefcount(value) > alone or not is_whole(value):
            value = value.copy()  # the generator may write into its array before the column is made
        shape = value.shape if type(value) is np.ndarray else np.shape(value)
        if len(shape) != self._free and not self._shape.is_compatible_with(shape):
            raise InvalidTypeError(
                f"the generator yielded a value of shape {list(shape)}{self._where} where the signature says "
                f"{self._shape}"
            )
        return value

    def column(self, values: Sequence[Any]) -> Column:
        """A column of fitted values."""
        if self._dtype is None:
            # Rows of a ragged tensor are plain arrays that batch as ragged ones.
            return Objects(list(values), self._spec) if isinstance(self._spec, RaggedTensorSpec) else pack(values)
        if self._plain and not any(isinstance(v, np.ndarray) for v in values):
            with np.errstate(over="ignore"):
                return object_array(values) if self._strings else np.array(values, self._dtype)
        if self._plain:
            values = [v if isinstance(v, (np.ndarray, np.generic, bytes)) else self._dtype.type(v) for v in values]
        return pack(values, ours=True)

    def _cast(self, value: object) -> Any:
        array: Any
        if isinstance(value, (np.ndarray, np.generic)) and not self._strings:
            array = array_of(np.array(value))
        elif isinstance(value, (bool, int, float, complex, list, tuple, range)) and not self._strings:
            try:
                array = np.array(value)
            except ValueError:
                raise self._wrong(value) from None
        else:
            array = self._leaf(value)
        if isinstance(array, bytes) and self._strings:
            return array
        if not isinstance(array, (np.ndarray, np.generic)):
            raise self._wrong(value)
        if array.dtype != self._dtype:
            array = self._converted(np.asarray(array), value)
        return array[()] if array.ndim == 0 else array

    def _leaf(self, value: object) -> Any:
        try:
            return own_leaf_of(list(value) if isinstance(value, (tuple, range)) else value)
        except (TypeError, ValueError) as e:
            raise InvalidTypeError(f"{self._wrong(value)} ({e})") from None

    def _converted(self, array: Array, value: object) -> Array:
        """The array in the signature's dtype, if it can hold all values. Floats may be rounded, integers may not."""
        have, want = array.dtype.kind, self._dtype.kind
        if not array.size:
            return array.astype(self._dtype)
        if have == "O" and want == "f":  # ints too large for any integer dtype
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError, OverflowError):
                raise self._wrong(value) from None
        elif want == "O" or have not in ("biufc" if want == "c" else "biuf"):
            raise self._wrong(value)
        if want == "b" and not isinstance(value, (np.ndarray, np.generic)):
            raise self._wrong(value)
        with np.errstate(over="ignore", invalid="ignore"):
            made = array.astype(self._dtype)
        if want in "biu" and not _same_values(array, made):
            raise self._wrong(value)
        return made

    def _other(self, value: Any) -> Any:
        """A ragged or sparse tensor, a dataset, or None, checked against the spec."""
        leaf = self._leaf(value)
        if self._spec is None:
            if leaf is None:
                return leaf
            raise self._wrong(value)
        if isinstance(self._spec, RaggedTensorSpec) and self._spec.ragged_rank == 0 and isinstance(leaf, np.ndarray):
            spec: Any = RaggedTensorSpec(leaf.shape, leaf.dtype, 0, self._spec.row_splits_dtype)
        else:
            spec = type_spec_from_value(leaf)
        if not self._spec.is_compatible_with(spec):
            raise self._wrong(value)
        return leaf

    @property
    def _where(self) -> str:
        return "" if self._path == "$" else f" at {self._path}"

    def _wrong(self, value: Any) -> InvalidTypeError:
        text = repr(value)
        text = text if len(text) <= 60 else text[:57] + "..."
        wanted = self._spec.dtype.name if self._dtype is not None else repr(self._spec)
        return InvalidTypeError(f"the generator yielded {text}{self._where}, which does not fit {wanted}")


def _same_values(array: Array, made: Array) -> bool:
    """Whether a conversion to integers or bool kept every value."""
    if made.dtype.kind == "b":
        return bool(np.all((array == 0) | (array == 1)))
    limits = np.iinfo(made.dtype)
    if array.dtype.kind == "f":
        wide = array.astype(np.float64)
        return bool(np.all((wide == np.floor(wide)) & (wide >= limits.min) & (wide < float(limits.max) + 1)))
    return int(array.min()) >= limits.min and int(array.max()) <= limits.max


def _fitting(leaves: list[_Leaf], tree: Tree) -> Callable[[Any], Any]:
    """A function that converts a value: to a column entry if the signature is a leaf, else to a list of them."""
    if tree.is_leaf:
        return leaves[0].fit
    in_row = tree == flat(tree.size)  # a plain tuple of leaves needs no flattening

    def fit(value: object) -> list[Any]:
        if in_row and type(value) is tuple and len(value) == tree.size:
            alone = ALONE_IN_ROW if getrefcount(value) <= ALONE else 0
            return [leaf.fit(part, alone) for leaf, part in zip(leaves, value, strict=True)]
        return [leaf.fit(part, 0) for leaf, part in zip(leaves, _parts(tree, value), strict=True)]

    return fit


def _parts(tree: Tree, value: object) -> list[Any]:
    try:
        if tree.kind is not tuple and issubclass(tree.kind or object, tuple) and not hasattr(value, "_fields"):
            raise TypeError(f"expected a namedtuple with fields {tree.keys}, got {type(value).__name__}")
        return tree.flatten_up_to(value)
    except TypeError as e:
        raise InvalidTypeError(
            f"the generator yielded a value whose structure differs from the signature: {e}"
        ) from None


def from_generator(
    generator: Callable[..., Any],
    output_types: Any = None,
    output_shapes: Any = None,
    args: Any = None,
    output_signature: Any = None,
    name: str | None = None,
) -> Dataset[Any]:
    """A dataset of the values that `generator`, a function that returns an iterator, yields.

    >>> def words():
    ...     for word in ("a", "bb"):
    ...         yield word, len(word)
    >>> signature = fl.TensorSpec([], fl.string), fl.TensorSpec([], fl.int32)
    >>> list(fl.Dataset.from_generator(words, output_signature=signature))
    [(b'a', np.int32(1)), (b'bb', np.int32(2))]

    The function is called with `args` for each iteration and asked for one element at a time; if an iteration stops
    early, the generator is closed. Values are converted to the dtypes of `output_signature`; one that does not fit,
    such as 1.5 for an int32, raises `InvalidArgumentError`, and iteration can continue after it. `output_types` and
    `output_shapes` are an older way to give the signature.

    A restored iterator asks the generator for all values up to its position again, so they must be the same. If the
    returned iterator has `state_dict` and `load_state_dict`, or `get_state` and `set_state`, its position is saved and
    restored with these instead.
    """
    if not callable(generator):
        got = type(generator).__name__
        remedy = ""
        if isinstance(generator, Iterator):
            remedy = "; give the function itself, without calling it"
        elif isinstance(generator, Iterable):
            remedy = "; give a function that returns it: lambda: values"
        raise TypeError(f"{OP}: generator must be a function that returns an iterator, got {got}{remedy}")
    signature = _signature(output_types, output_shapes, output_signature)
    given = () if args is None else tuple(leaf_of(a) for a in args)
    return dataset(Generator(Function(arguments.function(generator, "generator", OP), late=True), signature, given))


def _signature(types: object, shapes: object, signature: object) -> Any:
    if signature is not None:
        if types is not None or shapes is not None:
            raise TypeError(f"{OP}: pass either output_signature or output_types and output_shapes, not both")
        for leaf, path in zip(*_flat(signature), strict=True):
            if leaf is not None and not isinstance(leaf, TypeSpec):
                raise TypeError(
                    f"{OP}: output_signature must consist of specs such as fl.TensorSpec, got {leaf!r} at {path}"
                )
        return signature
    if types is None:
        raise TypeError(f"{OP}: the types of the elements are unknown; pass output_signature or output_types")
    leaves, tree = flatten(types)
    try:
        dims = [None] * len(leaves) if shapes is None else tree.flatten_up_to(shapes)
    except TypeError as e:
        raise TypeError(f"{OP}: output_shapes must have the structure of output_types: {e}") from None
    return tree.unflatten([TensorSpec(TensorShape(d), as_dtype(t)) for t, d in zip(leaves, dims, strict=True)])


def _flat(signature: object) -> tuple[list[Any], list[str]]:
    leaves, tree = flatten(signature)
    if not leaves:
        raise InvalidArgumentError(f"{OP}: output_signature is empty; an element needs at least one component")
    return leaves, tree.paths()
