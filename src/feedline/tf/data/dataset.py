"""`tf.data.Dataset`: the operators of `fl.Dataset`, with tensors at the border."""

from __future__ import annotations

import functools
import inspect
from collections import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from feedline.data.dataset import Dataset as _Dataset
from feedline.data.iterator import Iterator as _Iterator
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.naming import own_methods
from feedline.plan import depth
from feedline.plan.cardinality import as_int64
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.dataset_base import dataset as _dataset
from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.plan.row_calls import RowFailed
from feedline.plan.tracebacks import trimmed
from feedline.plan.traits.specs import spec_known
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import DatasetSpec, TensorSpec, general, type_spec_from_value
from feedline.structure.values import element_of
from feedline.tf.border import OnTensors, is_function, on_tensors, to_tensors, to_values, value_leaf
from feedline.tf.tensor import as_tensor

if TYPE_CHECKING:
    from feedline.tf.data.methods import Methods as _Methods
else:
    _Methods = _Dataset

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(_Methods[T_co]):
    """A dataset whose functions receive tensors, and whose elements are tensors.

    >>> import feedline.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices({"x": [1, 2], "y": ["a", "b"]})
    >>> for element in ds.map(lambda e: e["y"] + ".jpg"):
    ...     print(element)
    tf.Tensor(b'a.jpg', shape=(), dtype=string)
    tf.Tensor(b'b.jpg', shape=(), dtype=string)

    `as_numpy_iterator` gives NumPy values. Methods and arguments are those of `fl.Dataset`.
    """

    def __iter__(self) -> TensorIterator[T_co]:
        return TensorIterator(self._run(), lambda: self.element_spec)

    if not TYPE_CHECKING:

        def cardinality(self):
            """The number of elements, as a tensor.

            >>> import feedline.tf as tf
            >>> tf.data.Dataset.range(7).batch(2).cardinality().numpy()
            np.int64(4)
            """
            return as_tensor(as_int64(self._plan.cardinality()))

        def apply(self, transformation_func):
            """The result of `transformation_func` on this dataset.

            >>> import feedline.tf as tf
            >>> len(list(tf.data.Dataset.range(5).apply(lambda ds: ds.take(2))))
            2
            """
            return tf_dataset(super().apply(transformation_func))

    @staticmethod
    def from_feedline(dataset: _Dataset[Any]) -> Dataset[Any]:
        """A dataset of `feedline`, whose elements are NumPy values, as one of tensors. It has the same plan; nothing is
        copied.

        >>> import feedline as fl
        >>> import feedline.tf as tf
        >>> ds = tf.data.Dataset.from_feedline(fl.Dataset.range(3).map(lambda x: x * 2))
        >>> [int(x) for x in ds.map(lambda x: tf.cast(x, tf.float32))]
        [0, 2, 4]
        """
        if not isinstance(dataset, DatasetBase):
            got = type(dataset).__name__
            raise InvalidTypeError(f"from_feedline: dataset must be a Dataset of feedline, got {got}")
        made: Dataset[Any] = tf_dataset(dataset)
        return made

    def to_feedline(self) -> _Dataset[Any]:
        """This dataset as one of `feedline`: functions that are added to it, and loops, get NumPy values. It has the
        same plan; nothing is copied.

        >>> import feedline.tf as tf
        >>> list(tf.data.Dataset.range(3).map(lambda x: tf.one_hot(x, 2)).to_feedline().take(1))
        [array([1., 0.], dtype=float32)]
        """
        made: _Dataset[Any] = _dataset(self._plan)
        return made

    def __repr__(self) -> str:
        return super().__repr__().replace("<fl.Dataset", "<tf.data.Dataset")


class TensorIterator(_Iterator[T]):
    """The iterator over a dataset of tensors.

    >>> import feedline.tf as tf
    >>> next(iter(tf.data.Dataset.range(3)))
    <tf.Tensor: shape=(), dtype=int64, numpy=0>
    """

    def _handed_out(self) -> abc.Iterator[Any]:
        return map(to_tensors, self._cursor.rows)


def tf_dataset(made: Any) -> Any:
    """Converts a dataset or a plan to one of tensors; returns any other value unchanged."""
    if isinstance(made, DatasetBase):
        return made if isinstance(made, Dataset) else _make(made._plan)
    return _make(made) if isinstance(made, Node) else made


def _make(plan: Node) -> Dataset[Any]:
    depth.allow(plan)
    made: Dataset[Any] = object.__new__(Dataset)
    made._plan = plan
    return made


Dataset._made = staticmethod(_make)


def with_tensors(function: Callable[..., Any], calls: bool = True) -> Callable[..., Any]:
    """Wraps `function`, which makes datasets or values, for arguments and results that are tensors. Without `calls` the
    functions among its arguments are left alone; those of `ROLES` are traced.
    """
    convert = on_tensors if calls else functools.partial(map_structure, value_leaf)
    roles = ROLES.get(function.__name__.rstrip("_"), {}) if calls else {}

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # by notebooks and pytest
        if roles:
            args, kwargs = _traced(function, roles, args, kwargs)
        made = function(*map(convert, args), **{key: convert(value) for key, value in kwargs.items()})
        return tf_dataset(made) if isinstance(made, DatasetBase) else to_tensors(made)

    return method


class Role(NamedTuple):
    """How a function among an operator's arguments is traced. `given` computes the specs of the function's arguments
    from the spec of elements and the operator's arguments. `part` selects what the operator needs of the spec of the
    results, given the specs of the arguments too, and raises for a wrong one. `datasets`: the function makes datasets.
    `carried` selects the spec of what becomes the first argument of the next call.
    """

    given: Callable[[Any, dict[str, Any]], tuple[Any, ...]]
    part: Callable[[tuple[Any, ...], Any], Any] | None = None
    datasets: bool = False
    carried: Callable[[Any], Any] | None = None


_KEY = TensorSpec((), np.int64)


def _element(spec: Any, _: object) -> tuple[Any, ...]:
    return spec if type(spec) is tuple else (spec,)


def _with_state(spec: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    return map_structure(type_spec_from_value, element_of(to_values(given["initial_state"]))), spec


def _second(given: tuple[Any, ...], spec: Any) -> Any:
    if type(spec) is not tuple or len(spec) != 2:
        raise InvalidTypeError("scan_func must return a pair of the new state and an element")
    (old, before), (new, after) = flatten(given[0]), flatten(spec[0])
    if before != after:
        raise InvalidTypeError(
            f"the new state must have the structure of the initial state: {given[0]!r}, got {spec[0]!r}"
        )
    for a, b in zip(old, new, strict=True):
        if type(a) is not type(b) or getattr(a, "dtype", None) != getattr(b, "dtype", None):
            raise InvalidTypeError(
                f"the new state must have the types of the initial state: expected {a!r}, got {b!r}; cast it in the "
                "function, or pass an initial state of its type (a Python int is int32)"
            )
    return spec[1]


def _bool(_: tuple[Any, ...], spec: Any) -> Any:
    if not isinstance(spec, TensorSpec) or spec.dtype != np.bool_ or spec.shape.rank not in (0, None):
        raise InvalidArgumentError(
            f"a predicate must return a bool scalar, got {spec!r}; use a comparison such as x > 0"
        )
    return spec


_OF_ELEMENTS = Role(_element)
_PREDICATE = Role(_element, _bool)
_OF_DATASETS = Role(_element, datasets=True)
ROLES: dict[str, dict[str, Role]] = {
    "map": {"map_func": _OF_ELEMENTS},
    "filter": {"predicate": _PREDICATE},
    "take_while": {"predicate": _PREDICATE},
    "flat_map": {"map_func": _OF_DATASETS},
    "interleave": {"map_func": _OF_DATASETS},
    "scan": {"scan_func": Role(_with_state, _second, carried=lambda spec: spec[0])},
    "reduce": {"reduce_func": Role(_with_state, carried=lambda spec: spec)},
    "group_by_window": {
        "key_func": _OF_ELEMENTS,
        "reduce_func": Role(lambda spec, _: (_KEY, DatasetSpec(spec)), datasets=True),
        "window_size_func": Role(lambda spec, _: (_KEY,)),
    },
    "bucket_by_sequence_length": {"element_length_func": _OF_ELEMENTS},
    "rejection_resample": {"class_func": _OF_ELEMENTS},
}
"""The functions that are traced, by operator and argument."""


def _traced(
    function: Callable[..., Any], roles: dict[str, Role], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of an operator with its functions traced."""
    __tracebackhide__ = True
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:  # raised by the operator itself
        return args, kwargs
    if "self" not in bound.arguments:  # a function that returns a transformation, for `apply`
        return args, kwargs
    plan = bound.arguments["self"]._plan
    for name, role in roles.items():
        given = bound.arguments.get(name)
        if isinstance(given, OnTensors) and not given.is_traced:
            given = given.__wrapped__
        reader = role.datasets and isinstance(given, type) and issubclass(given, DatasetBase)
        if given is None or not (is_function(given) or reader):
            continue
        if not spec_known(plan):
            why = "the spec of its input is only known when that runs"
            bound.arguments[name] = OnTensors(given, None, why=why)
            continue
        specs = role.given(plan.element_spec, bound.arguments)
        try:
            bound.arguments[name] = _in_role(given, role, specs)
        except Exception as error:
            op = function.__name__.rstrip("_")
            failed = RowFailed(0, None, error)
            located = Function(OnTensors(given)).attribute_error(op, plan.position + 1, None, failed)
            located.__cause__ = error
            raise located if bound.arguments["self"].options().full_tracebacks else trimmed(located) from error
    return bound.args, bound.kwargs


def _in_role(function: Callable[..., Any], role: Role, specs: tuple[Any, ...]) -> OnTensors:
    """A function traced for arguments of these specs. What it carries from call to call may change its shape: then it
    is traced again, for a state of unknown size.
    """
    while True:
        part = None if role.part is None else functools.partial(role.part, specs)
        made = OnTensors(function, specs, part, role.datasets)
        if role.carried is None or not made.is_traced:
            return made
        wider = general(specs[0], role.carried(made.returned_spec))
        if wider is None or wider == specs[0]:
            return made
        specs = wider, *specs[1:]


_AS_THEY_ARE = {"as_numpy_iterator", "element_spec", "explain", "fingerprint", "options", "with_options", "save"}
_AS_THEY_ARE |= {"to_arrow", "to_jax", "to_keras", "to_pandas", "to_ray_dataset", "to_torch"}
_OWN_CALLS = {"from_generator"}

for _name, _attribute in list(vars(_Dataset).items()):
    if _name.startswith("_") or _name in _AS_THEY_ARE or _name in vars(Dataset) or not callable(_attribute):
        continue
    if isinstance(_attribute, staticmethod):
        setattr(Dataset, _name, staticmethod(with_tensors(_attribute.__func__, _name not in _OWN_CALLS)))
    else:
        setattr(Dataset, _name, with_tensors(_attribute))
own_methods(Dataset, list(vars(Dataset).items()))
