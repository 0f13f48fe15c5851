"""Control flow: `tf.cond`, loops, `tf.map_fn`, `tf.TensorArray`, `tf.function`, and calls of plain Python functions."""

from __future__ import annotations

import builtins
import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError
from feedline.plan.trials import count_turns
from feedline.structure.spec import RaggedTensorSpec, TensorShape, TensorSpec, TypeSpec
from feedline.structure.types import DType, as_dtype
from feedline.tf import ragged_ops as ragged
from feedline.tf.array_ops import concat as concat_tensors
from feedline.tf.array_ops import stack as stack_tensors
from feedline.tf.array_ops import unstack as unstack_tensor
from feedline.tf.array_ops import zeros
from feedline.tf.nest_ops import flatten, map_structure, pack_sequence_as
from feedline.tf.string_ops import shown
from feedline.tf.tensor import Composite, Tensor, TensorBase, as_tensor, integer, ints, tensor_of

F = TypeVar("F", bound=Callable[..., Any])


def _as_result(value: Any) -> Any:
    """A leaf of a function's result: numbers and arrays become tensors."""
    if isinstance(value, (bool, int, float, complex, str, bytes, np.ndarray, np.generic)):
        return as_tensor(value)
    return value


def _truth(pred: object, what: str) -> bool:
    if isinstance(pred, (bool, np.bool_)):
        return bool(pred)
    if callable(pred):
        return _truth(pred(), what)
    held = as_tensor(pred)
    if held._array.size != 1:
        raise InvalidArgumentError(f"{what}: pred must be a scalar, got the shape {held.shape}")
    return bool(held)


def cond(
    pred: object,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """The result of `true_fn` if `pred` is true, else of `false_fn`.

    >>> import feedline.tf as tf
    >>> tf.cond(tf.constant(2) > 1, lambda: 10, lambda: 20).numpy()
    np.int32(10)
    """
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("cond: true_fn and false_fn must be callable")
    return map_structure(_as_result, true_fn() if _truth(pred, "cond") else false_fn())


def cond_v1(
    pred: object,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """TensorFlow 1's `tf.cond`, with its older argument names, and without lists of one value.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.cond(tf.constant(True), lambda: [1], lambda: [2])
    <tf.Tensor: shape=(), dtype=int32, numpy=1>
    """
    made = cond(pred, true_fn or fn1, false_fn or fn2)
    return made[0] if not strict and isinstance(made, (list, tuple)) and len(made) == 1 else made


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the first function whose predicate is true, else of `default`.

    >>> import feedline.tf as tf
    >>> tf.case([(tf.constant(False), lambda: 1)], default=lambda: 2).numpy()
    np.int32(2)
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    pairs = [(p.deref() if hasattr(p, "deref") else p, f) for p, f in pairs]
    for _, function in pairs:
        if not callable(function):
            raise TypeError(f"case: expected a function for each predicate, got {function!r}")
    true = [function for pred, function in pairs if _truth(pred, "case")]
    if exclusive and len(true) > 1:
        raise InvalidArgumentError("case: more than one predicate is true, but exclusive=True")
    chosen = true[0] if true else default
    if chosen is None:
        raise InvalidArgumentError("case: no predicate is true, and there is no default")
    return map_structure(_as_result, chosen())


def switch_case(
    branch_index: object, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case"
) -> Any:
    """The result of the function with the given number; of `default`, or the last, if there is none.

    >>> import feedline.tf as tf
    >>> tf.switch_case(tf.constant(1), [lambda: 10, lambda: 20]).numpy()
    np.int32(20)
    """
    number = integer(branch_index, "branch_index")
    if isinstance(branch_fns, dict):
        branches = dict(branch_fns)
    else:
        pairs = builtins.all(isinstance(b, tuple) for b in branch_fns)
        branches = dict(branch_fns) if pairs else dict(enumerate(branch_fns))
    if not branches or not builtins.all(callable(f) for f in branches.values()):
        raise TypeError(f"switch_case: branch_fns must be functions, got {branch_fns!r}")
    if sorted(branches) != list(range(len(branches))):
        raise ValueError(f"branch indices must form contiguous range of [0 to {len(branches)}), got {sorted(branches)}")
    fallback = branches[max(branches)] if default is None else default
    return map_structure(_as_result, branches.get(number, fallback)())


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: object = None,
    name: str | None = None,
    return_same_structure: bool = True,
) -> Any:
    """Calls `body` with its own results as long as `cond` of them is true.

    >>> import feedline.tf as tf
    >>> [t.numpy() for t in tf.while_loop(lambda i: i < 5, lambda i: [i + 2], [tf.constant(0)])]
    [np.int32(6)]
    """
    if not callable(cond) or not callable(body):
        raise TypeError("while_loop: cond and body must be callable")
    several = isinstance(loop_vars, (list, tuple))
    if several and not loop_vars:
        raise ValueError("'loop_vars' must be non-empty.")
    most = None if maximum_iterations is None else integer(maximum_iterations, "maximum_iterations")
    values = map_structure(_as_result, loop_vars)
    args = tuple(values) if several else (values,)
    count = 0
    while (most is None or count < most) and _truth(cond(*args), "while_loop"):
        count_turns()
        made = map_structure(_as_result, body(*args))
        args = tuple(made) if isinstance(made, (list, tuple)) and several else (made,)
        if (
            len(args) == 1
            and several
            and len(values) == 1
            and isinstance(args[0], (list, tuple))
            and not isinstance(values[0], (list, tuple))
        ):
            args = tuple(args[0])
        if len(args) != len(values if several else (values,)):
            raise ValueError(f"while_loop: body returned {len(args)} values, but there are {len(values)} loop_vars")
        count += 1
    if not several:
        return args[0]
    return type(loop_vars)(*args) if hasattr(loop_vars, "_fields") else type(loop_vars)(args)


def _rows(elems: Any) -> list[Any]:
    """The elements of a structure of tensors: a structure of their rows for each."""
    leaves: list[Any] = [as_tensor(leaf) if not isinstance(leaf, Composite) else leaf for leaf in flatten(elems)]
    if not leaves:
        raise ValueError("elems must not be empty")
    counts = {len(leaf) for leaf in leaves if not isinstance(leaf, TensorBase) or leaf.ndim}
    if builtins.any(isinstance(leaf, TensorBase) and not leaf.ndim for leaf in leaves):
        raise InvalidArgumentError("elements must be 1+ dimensional tensors, got a scalar")
    if len(counts) > 1:
        raise InvalidArgumentError(f"elems must have the same first dimension, got {sorted(counts)}")
    columns = [unstack_tensor(leaf) for leaf in leaves]
    return [pack_sequence_as(elems, list(row)) for row in zip(*columns, strict=True)]


def as_tensor_dtype(value: Any) -> DType:
    """The dtype of a value, which is converted if it is not a tensor."""
    return _dtype_of(value if isinstance(value, Composite) else as_tensor(value))


def _stacked(results: list[Any], signature: Any, elems: Any, check: bool = False) -> Any:
    """The results of all calls, each leaf stacked."""
    if not results:
        like = elems if signature is None else signature
        return map_structure(lambda s: _nothing(s), like)
    columns = zip(*(flatten(r) for r in results), strict=True)
    specs = flatten(signature if signature is not None else results[0])
    if signature is None:  # results for the rows of a ragged tensor are the rows of one
        given = flatten(elems)
        specs = [g if isinstance(g, ragged.RaggedTensor) else None for g in given[: len(specs)]]
        specs += [None] * (len(flatten(results[0])) - len(specs))
    made = [_column(list(c), s) for c, s in zip(columns, specs, strict=True)]
    if signature is None and check:
        for leaf, given in zip(made, flatten(elems), strict=False):
            if len(made) == len(flatten(elems)) and leaf.dtype != as_tensor_dtype(given):
                raise InvalidTypeError(
                    f"map_fn: the function returned {leaf.dtype.name}; pass fn_output_signature=tf.{leaf.dtype.name}"
                )
    return pack_sequence_as(results[0], made)


def _column(values: list[Any], spec: Any) -> Any:
    if isinstance(spec, RaggedTensorSpec) or builtins.any(isinstance(v, ragged.RaggedTensor) for v in values):
        return ragged.stack(values)
    if isinstance(spec, ragged.RaggedTensor):
        rows = [as_tensor(v) for v in values]
        if not builtins.all(row.ndim for row in rows):
            return _column(values, None)
        return ragged.RaggedTensor.from_row_lengths(concat_tensors(rows, 0), [len(row) for row in rows])
    dtype = None if spec is None else _dtype_of(spec)
    tensors = [as_tensor(v) for v in values]
    if dtype is not None and tensors[0].dtype != dtype:
        raise InvalidTypeError(
            f"the function returned {tensors[0].dtype.name}, but fn_output_signature says {dtype.name}; cast its result"
        )
    return stack_tensors(tensors)


def _dtype_of(spec: Any) -> DType:
    """The dtype of a spec, or of something that names a dtype."""
    held: Any = spec
    return as_dtype(held.dtype if isinstance(spec, (TypeSpec, TensorBase, Composite)) else spec)


def _nothing(like: Any) -> Tensor:
    """The result of no calls."""
    inner = like.shape.dims or () if isinstance(like, TypeSpec) and hasattr(like, "shape") else ()
    return zeros([0, *(d or 0 for d in inner)], _dtype_of(like))


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The results of a function for each row, stacked.

    >>> import feedline.tf as tf
    >>> tf.map_fn(lambda x: x * 2, tf.constant([1, 2])).numpy()
    array([2, 4], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"map_fn: the provided function {fn!r} is not callable.")
    signature = dtype if fn_output_signature is None else fn_output_signature
    return _stacked([fn(row) for row in _rows(elems)], signature, elems, check=True)


def vectorized_map(fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """The same as `map_fn`; the results may have any dtype.

    >>> import feedline.tf as tf
    >>> tf.vectorized_map(lambda x: x / 2, tf.constant([1.0, 2.0])).numpy()
    array([0.5, 1. ], dtype=float32)
    """
    return _stacked([fn(row) for row in _rows(elems)], None, elems)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """The results of `fn(state, row)`, each the state for the next row, stacked.

    >>> import feedline.tf as tf
    >>> tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])).numpy()
    array([1, 3, 6], dtype=int32)
    """
    rows = _rows(elems)
    rows = rows[::-1] if reverse else rows
    state = map_structure(_as_result, initializer) if initializer is not None else None
    results = []
    for row in rows:
        state = row if state is None else map_structure(_as_result, fn(state, row))
        results.append(state)
    return _stacked(results[::-1] if reverse else results, None, elems)


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last state of `fn(state, row)` over all rows.

    >>> import feedline.tf as tf
    >>> tf.foldl(lambda a, x: a + x, tf.constant([1, 2, 3])).numpy()
    np.int32(6)
    """
    return _folded(fn, _rows(elems), initializer)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """`foldl` from the last row to the first.

    >>> import feedline.tf as tf
    >>> tf.foldr(lambda a, x: a - x, tf.constant([1, 2, 10])).numpy()
    np.int32(7)
    """
    return _folded(fn, _rows(elems)[::-1], initializer)


def _folded(fn: Callable[..., Any], rows: list[Any], initializer: Any) -> Any:
    if initializer is None and not rows:
        raise InvalidArgumentError("a fold of no rows needs an initializer")
    state = rows[0] if initializer is None else map_structure(_as_result, initializer)
    for row in rows[1:] if initializer is None else rows:
        state = map_structure(_as_result, fn(state, row))
    return state


class TensorArray:
    """A list of tensors, for loops: each place is written once and may be read.

    >>> import feedline.tf as tf
    >>> array = tf.TensorArray(tf.int32, size=2)
    >>> array = array.write(0, 5).write(1, 7)
    >>> array.stack().numpy()
    array([5, 7], dtype=int32)
    """

    def __init__(
        self,
        dtype: Any,
        size: object = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: object = None,
        flow: object = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self.dtype = as_dtype(dtype)
        self.element_shape = TensorShape(element_shape)
        self.dynamic_size = bool(dynamic_size)
        self._clear = clear_after_read is None or clear_after_read
        self._tensors: list[Tensor | None] = [None] * (0 if size is None else integer(size, "size"))

    def size(self, name: str | None = None) -> Tensor:
        """The number of places."""
        return as_tensor(len(self._tensors))

    def write(self, index: object, value: object, name: str | None = None) -> TensorArray:
        """Sets the tensor at a place."""
        at = integer(index, "index")
        if at < 0 or (at >= len(self._tensors) and not self.dynamic_size):
            raise OutOfRangeError(
                f"Tried to write to index {at} but array is not resizeable and size is: {len(self._tensors)}"
            )
        made = as_tensor(value, None if isinstance(value, TensorBase) else self.dtype)
        if made.dtype != self.dtype:
            raise InvalidArgumentError(f"TensorArray dtype is {self.dtype.name} but value has dtype {made.dtype.name}")
        if not self.element_shape.is_compatible_with(made.shape):
            raise InvalidArgumentError(f"Incompatible shape for value ({made.shape}), expected ({self.element_shape})")
        self._tensors += [None] * (at + 1 - len(self._tensors))
        self._tensors[at] = made
        return self

    def read(self, index: object, name: str | None = None) -> Tensor:
        """The tensor at a place."""
        at = integer(index, "index")
        if not 0 <= at < len(self._tensors):
            raise OutOfRangeError(f"Tried to read from index {at} but array size is: {len(self._tensors)}")
        found = self._tensors[at]
        if found is None:
            return self._zeros()
        if self._clear:
            self._tensors[at] = None
        return found

    def _zeros(self) -> Tensor:
        known = next((t.shape for t in self._tensors if t is not None), self.element_shape)
        if not known.is_fully_defined():
            raise InvalidArgumentError("Could not read index of a TensorArray because it has not been written to.")
        return zeros(known, self.dtype)

    def _all(self) -> list[Tensor]:
        return [self._zeros() if t is None else t for t in self._tensors]

    def stack(self, name: str | None = None) -> Tensor:
        """All tensors, stacked."""
        if not self._tensors:
            return zeros([0, *(d or 0 for d in self.element_shape.dims or ())], self.dtype)
        made: Tensor = stack_tensors(self._all())
        return made

    def gather(self, indices: object, name: str | None = None) -> Tensor:
        """The tensors at some places, stacked."""
        found = self._all()
        made: Tensor = stack_tensors([found[i] for i in ints(indices, "indices")])
        return made

    def concat(self, name: str | None = None) -> Tensor:
        """All tensors, joined along their first dimension."""
        made: Tensor = concat_tensors(self._all(), 0)
        return made

    def unstack(self, value: object, name: str | None = None) -> TensorArray:
        """Sets all places to the rows of a tensor."""
        rows = unstack_tensor(as_tensor(value, None if isinstance(value, TensorBase) else self.dtype))
        if len(rows) > len(self._tensors) and not self.dynamic_size:
            raise InvalidArgumentError(
                f"Cannot unstack {len(rows)} tensors into a TensorArray of size {len(self._tensors)}"
            )
        self._tensors = list(rows)
        return self

    def split(self, value: object, lengths: object, name: str | None = None) -> TensorArray:
        """Sets all places to parts of a tensor."""
        array, sizes = as_tensor(value)._array, ints(lengths, "lengths")
        self._tensors = [tensor_of(part) for part in np.split(array, np.cumsum(sizes)[:-1])]
        return self

    def scatter(self, indices: object, value: object, name: str | None = None) -> TensorArray:
        """Sets some places to the rows of a tensor."""
        for i, row in zip(ints(indices, "indices"), unstack_tensor(value), strict=True):
            self.write(i, row)
        return self

    def identity(self) -> TensorArray:
        """The same array."""
        return self

    def grad(self, *args: object, **kwargs: object) -> None:
        """There are no gradients here."""
        raise TypeError("feedline.tf has no gradients")

    def close(self, name: str | None = None) -> None:
        """Empties the array."""
        self._tensors = []


# Plain Python


def _outputs(made: Any, types: Any, name: str) -> Any:
    several = isinstance(types, (list, tuple))
    if several and not types and made is None:
        return []
    values = list(made) if several and isinstance(made, (list, tuple)) else [made]
    wanted = list(types) if several else [types]
    if len(values) != len(wanted):
        raise InvalidArgumentError(
            f"{name}: the function returned {len(values)} values, but Tout has {len(wanted)} types"
        )
    results = []
    for value, kind in zip(values, wanted, strict=True):
        dtype = _dtype_of(kind)
        made_one = as_tensor(value, None if isinstance(value, (TensorBase, np.ndarray, np.generic)) else dtype)
        if made_one.dtype != dtype:
            if name == "numpy_function":
                raise InvalidArgumentError(
                    f"{name}: the function returned {made_one.dtype.name}, but Tout is {dtype.name}"
                )
            made_one = tensor_of(made_one._array.astype(dtype.dtype))
        results.append(made_one)
    return results if several else results[0]


def _decorator(of: str, func: Callable[..., Any] | None, **options: Any) -> Callable[..., Any]:
    """`py_function` or `numpy_function` as a decorator: without `inp` they make a function of their inputs."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*inputs: object) -> Any:
            import feedline.tf as tf

            return getattr(tf, of)(function, list(inputs), **options)

        return call

    return decorate if func is None else decorate(func)


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[object] | None = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """The result of a Python function that gets tensors; without `inp`, a decorator.

    >>> import feedline.tf as tf
    >>> tf.py_function(lambda x: x.numpy() + 1, [tf.constant(1)], tf.int32).numpy()
    np.int32(2)
    >>> @tf.py_function(Tout=tf.string)
    ... def joined(x, y):
    ...     return f"{x.numpy()} {y.numpy()}"
    >>> list(tf.data.Dataset.from_tensors((1, 2)).map(joined).as_numpy_iterator())
    [b'1 2']
    """
    if func is None or inp is None:
        return _decorator("py_function", func, Tout=Tout, name=name)
    return _outputs(func(*(as_tensor(v) if not isinstance(v, Composite) else v for v in inp)), Tout, "py_function")


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[object] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """The result of a Python function that gets NumPy values; without `inp`, a decorator.

    >>> import feedline.tf as tf
    >>> tf.numpy_function(np.add, [1, 2], tf.int32).numpy()
    np.int32(3)
    """
    if func is None or inp is None:
        return _decorator("numpy_function", func, Tout=Tout, stateful=stateful, name=name)
    return _outputs(func(*(as_tensor(v).numpy() for v in inp)), Tout, "numpy_function")


@overload
def function(
    func: F,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> F: ...
@overload
def function(
    func: None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Callable[[F], F]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Marks a function as one on tensors: its results are tensors. It is called as it is.

    >>> import feedline.tf as tf
    >>> @tf.function
    ... def doubled(x):
    ...     return x * 2
    >>> doubled(tf.constant(3)).numpy()
    np.int32(6)
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature, autograph=autograph)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if input_signature is not None:
            args = tuple(_as_signed(a, s) for a, s in zip(args, input_signature, strict=True))
        return map_structure(_as_result, func(*args, **kwargs))

    return call


def _as_signed(value: Any, spec: Any) -> Any:
    """An argument as its signature says."""
    plain = isinstance(spec, TensorSpec) and not isinstance(value, Composite)
    return as_tensor(value, spec.dtype) if plain else value


def print_(*inputs: object, **kwargs: Any) -> None:
    """Prints values; tensors as TensorFlow writes them. Writes to standard error unless `output_stream` says otherwise.

    >>> import sys, feedline.tf as tf
    >>> tf.print("x:", tf.range(3), output_stream=sys.stdout)
    x: [0 1 2]
    """
    import sys

    summarize = kwargs.get("summarize", 3)

    def text(value: object) -> str:
        if isinstance(value, TensorBase):
            found = value.numpy()
            return found.decode("utf-8", "replace") if isinstance(found, bytes) else shown(value._array, summarize)
        return str(value)

    stream = kwargs.get("output_stream", sys.stderr)
    out = kwargs.get("sep", " ").join(
        str(map_structure(text, v)) if not isinstance(v, TensorBase) else text(v) for v in inputs
    )
    if isinstance(stream, str):
        with open(stream.removeprefix("file://"), "a") as file:
            file.write(out + kwargs.get("end", "\n"))
    else:
        print(out, file=stream, end=kwargs.get("end", "\n"))


# Scopes and marks without a meaning here


class name_scope(contextlib.ContextDecorator):
    """A scope for names: it does nothing.

    >>> import feedline.tf as tf
    >>> with tf.name_scope("parse"):
    ...     x = tf.constant(1)
    """

    def __init__(self, name: str | None = None, default_name: str | None = None, values: object = None) -> None:
        self.name = name or default_name or ""

    def __enter__(self) -> str:
        return f"{self.name}/" if self.name else ""

    def __exit__(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def device(device_name: object) -> Iterator[None]:
    """A scope for a device: everything runs on the CPU.

    >>> import feedline.tf as tf
    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant(1)
    """
    yield


@contextlib.contextmanager
def control_dependencies(control_inputs: object) -> Iterator[None]:
    """A scope that runs after other operations, which here have run already.

    >>> import feedline.tf as tf
    >>> with tf.control_dependencies([tf.debugging.assert_equal(1, 1)]):
    ...     x = tf.constant(1)
    """
    yield


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """A scope outside of functions: it does nothing.

    >>> import feedline.tf as tf
    >>> with tf.init_scope():
    ...     x = tf.constant(1)
    """
    yield


def executing_eagerly() -> bool:
    """Always True: every function computes its value.

    >>> import feedline.tf as tf
    >>> tf.executing_eagerly()
    True
    """
    return True


def inside_function() -> bool:
    """Always False: functions are called as they are.

    >>> import feedline.tf as tf
    >>> tf.inside_function()
    False
    """
    return False


def group(*inputs: object, **kwargs: object) -> None:
    """Groups operations, which here have run already.

    >>> import feedline.tf as tf
    >>> tf.group(tf.constant(1))
    """


def no_op(name: str | None = None) -> None:
    """Does nothing.

    >>> import feedline.tf as tf
    >>> tf.no_op()
    """


def tuple_(tensors: Any, control_inputs: object = None, name: str | None = None) -> list[Tensor]:
    """The tensors in a list.

    >>> import feedline.tf as tf
    >>> len(tf.tuple([1, 2]))
    2
    """
    return [as_tensor(t) for t in tensors]


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Marks a function that is called as it is, like all functions here.

    >>> import feedline.tf as tf
    >>> tf.autograph.experimental.do_not_convert(abs)(-1)
    1
    """
    return (lambda f: f) if func is None else func


def set_loop_options(*args: object, **kwargs: object) -> None:
    """Options for loops: they have no meaning here.

    >>> import feedline.tf as tf
    >>> tf.autograph.experimental.set_loop_options(maximum_iterations=3)
    """


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """A function whose gradient is given: only its value is used.

    >>> import feedline.tf as tf
    >>> tf.custom_gradient(lambda x: (x, lambda dy: dy))(3)
    3
    """
    if f is None:
        return custom_gradient
    return functools.wraps(f)(lambda *args, **kwargs: f(*args, **kwargs)[0])


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Does nothing: functions are always called as they are.

    >>> import feedline.tf as tf
    >>> tf.config.run_functions_eagerly(True)
    """


def functions_run_eagerly() -> bool:
    """Always True.

    >>> import feedline.tf as tf
    >>> tf.config.functions_run_eagerly()
    True
    """
    return True
