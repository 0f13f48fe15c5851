"""`table_from_dataset`, `index_table_from_dataset`: lookup tables whose keys are the elements of a dataset."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError, OutOfRangeError
from feedline.plan.arguments import finite, integer, plan_of
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Array, object_array, pack
from feedline.structure.hashes import fingerprint64, keyed_hash
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import TensorSpec
from feedline.structure.types import DType, as_dtype, int64, string
from feedline.structure.values import leaf_of, spec_of_element


class HasherSpec(NamedTuple):
    """How keys that are not in a table are hashed to buckets: "fasthash", or "stronghash" with a key of two integers.

    >>> fl.experimental.HasherSpec("stronghash", (11, 22))
    HasherSpec(hasher='stronghash', key=(11, 22))
    """

    hasher: str = "fasthash"
    key: Any = None


FAST = HasherSpec()


class Elements:
    """The elements of a dataset, for tables. If the spec is not known, the first element is read to infer it, and the
    first table continues from there: functions with side effects run once per element of a table.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._begun: tuple[Any, Any] | None = None
        self.spec = self._spec()

    def _spec(self) -> Any:
        if not spec_known(self._dataset._plan):
            it = iter(self._dataset)
            for first in it:
                self._begun = it, first
                return spec_of_element(first)
        return self._dataset.element_spec

    def read(self, count: int | None, op: str) -> list[Any]:
        """All elements, or the first `count`."""
        if count is None:
            finite(self._dataset._plan, op)
        begun, self._begun = self._begun, None
        it, rest = (iter(self._dataset), iter(())) if begun is None else (begun[0], iter((begun[1],)))
        with it:
            found = list(islice(chain(rest, it), count))
        if not found and count is None:
            raise OutOfRangeError(f"{op}: the dataset is empty; a table must have at least one element")
        return found


class DatasetInitializer:
    """Contents for a `StaticHashTable`: a dataset of pairs of a key and a value, both scalars.

    >>> ds = fl.Dataset.from_tensor_slices((["a", "b"], [10, 20]))
    >>> fl.experimental.DatasetInitializer(ds).value_dtype
    fl.int32
    """

    def __init__(self, dataset: Any) -> None:
        plan_of(dataset, "dataset", "DatasetInitializer")
        self._elements = Elements(dataset)
        spec = self._elements.spec
        if not isinstance(spec, tuple) or len(spec) != 2 or not all(_is_scalar(s) for s in spec):
            raise InvalidTypeError(
                f"a lookup table requires pairs of a key and a value, both scalars, got elements of {spec!r}"
            )
        self.dataset = dataset
        self.key_dtype: DType = spec[0].dtype
        self.value_dtype: DType = spec[1].dtype

    def pairs(self, count: int | None = None) -> tuple[Array, Array]:
        """The keys and values of all elements, or of the first `count`."""
        found = self._elements.read(count, "table_from_dataset")
        return _column([k for k, _ in found], self.key_dtype), _column([v for _, v in found], self.value_dtype)


class StaticHashTable:
    """An immutable lookup table: `lookup` returns the value of each key, or the default value.

    >>> ds = fl.Dataset.from_tensor_slices((["a", "b"], [10, 20]))
    >>> table = fl.experimental.StaticHashTable(fl.experimental.DatasetInitializer(ds), default_value=-1)
    >>> table.lookup(np.array(["b", "z"])), table.size()
    (array([20, -1], dtype=int32), np.int64(2))
    """

    def __init__(self, initializer: DatasetInitializer, default_value: Any, name: str | None = None) -> None:
        self._fill(*initializer.pairs(), default_value)

    @classmethod
    def of(cls, keys: Array, values: Array, default_value: object) -> StaticHashTable:
        """A table from arrays."""
        made = cls.__new__(cls)
        made._fill(keys, values, default_value)
        return made

    def _fill(self, keys: Array, values: Array, default_value: object) -> None:
        self.key_dtype: DType = as_dtype(keys.dtype)
        self.value_dtype: DType = as_dtype(values.dtype)
        self.default_value = _fitting(default_value, values.dtype)
        self._numbers: dict[Any, int] = {}
        kept: list[int] = []
        for i, key in enumerate(keys.tolist()):
            first = self._numbers.setdefault(key, len(kept))
            if first == len(kept):
                kept.append(i)
            elif values[kept[first]] != values[i]:
                raise FailedPreconditionError(
                    f"table_from_dataset: the key {key!r} has the values {values[kept[first]]!r} and {values[i]!r}; "
                    "every key must have one value"
                )
        self._keys, self._values = keys[kept], values[kept]
        self._found = np.concatenate([self._values, _filled(self.default_value, values.dtype)])

    def lookup(self, keys: object, name: str | None = None) -> Any:
        """The values of `keys`: a scalar, or an array, ragged or sparse tensor of any shape."""
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values))
        wanted = _keys_of(keys, self.key_dtype)
        missing = len(self._values)
        get = self._numbers.get
        numbers = np.array([get(key, missing) for key in wanted.ravel().tolist()], np.intp)
        return self._found[numbers].reshape(wanted.shape)[()]

    __getitem__ = lookup

    def size(self, name: str | None = None) -> np.int64:
        """The number of keys."""
        return np.int64(len(self._values))

    def export(self, name: str | None = None) -> tuple[Array, Array]:
        """All keys and their values."""
        return self._keys.copy(), self._values.copy()

    def __repr__(self) -> str:
        return f"<fl.StaticHashTable of {self.size()} keys, {self.key_dtype.name} to {self.value_dtype.name}>"


class IdTableWithHashBuckets:
    """A table of numbers in which unknown keys are hashed to buckets, numbered after the known keys.

    >>> words = fl.Dataset.from_tensor_slices(["a", "b"])
    >>> table = fl.experimental.index_table_from_dataset(words, num_oov_buckets=5)
    >>> table.lookup(np.array(["b", "q", "zz"])), table.size()
    (array([1, 5, 4]), np.int64(7))
    """

    def __init__(self, table: StaticHashTable, num_oov_buckets: int, hasher_spec: HasherSpec) -> None:
        if table.value_dtype != int64:
            raise TypeError(f"num_oov_buckets requires int64 values, got {table.value_dtype.name}")
        self.table, self.num_oov_buckets, self.hasher_spec = table, num_oov_buckets, hasher_spec
        self.key_dtype, self.value_dtype = table.key_dtype, table.value_dtype
        _bucket(b"", hasher_spec)

    def lookup(self, keys: object, name: str | None = None) -> Any:
        """The numbers of `keys`."""
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values))
        wanted = _keys_of(keys, self.key_dtype)
        found = np.array(self.table.lookup(wanted), ndmin=1).ravel()
        flat = wanted.ravel()
        for i in np.flatnonzero(found == self.table.default_value).tolist():
            text = flat[i] if self.key_dtype == string else str(flat[i]).encode()
            found[i] = len(self.table._values) + _bucket(text, self.hasher_spec) % self.num_oov_buckets
        return found.reshape(wanted.shape)[()]

    __getitem__ = lookup

    def size(self, name: str | None = None) -> np.int64:
        """The number of keys plus buckets."""
        return np.int64(self.table.size() + self.num_oov_buckets)


def _bucket(text: bytes, spec: HasherSpec) -> int:
    if spec.hasher == "fasthash":
        return fingerprint64(text)
    if spec.hasher == "stronghash" and spec.key is not None and len(spec.key) == 2:
        return keyed_hash(text, (int(spec.key[0]), int(spec.key[1])))
    raise InvalidArgumentError(
        f'hasher_spec must be HasherSpec("fasthash"), or HasherSpec("stronghash", key) with two numbers, got {spec}'
    )


def _keys_of(keys: object, dtype: DType) -> Array:
    if isinstance(keys, (int, list, range)) and dtype != string:  # Python numbers have no dtype of their own
        return np.asarray(keys, dtype.dtype)
    made = leaf_of(keys)
    array = object_array([made]).reshape(()) if isinstance(made, bytes) else np.asarray(made)
    if array.dtype != dtype.dtype:
        raise TypeError(f"lookup: the table's keys are {dtype.name}, got {as_dtype(array.dtype).name}")
    return array


def _fitting(value: object, dtype: np.dtype[Any]) -> Any:
    leaf = leaf_of(value)
    if isinstance(leaf, bytes) and dtype.kind == "O":
        return leaf
    if isinstance(leaf, np.generic) and dtype.kind != "O":
        made = leaf.astype(dtype)
        if made == leaf or dtype.kind == "f":
            return made
    wanted = as_dtype(dtype).name
    raise TypeError(f"table_from_dataset: default_value must be {wanted} like the values, got {value!r}")


def _filled(value: object, dtype: np.dtype[Any]) -> Array:
    return object_array([value]) if dtype.kind == "O" else np.array([value], dtype)


def table_from_dataset(
    dataset: object = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: object = None,
    hasher_spec: HasherSpec = FAST,
    key_dtype: object = string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """A lookup table from a dataset of pairs of a key and a value.

    >>> ds = fl.Dataset.from_tensor_slices((np.array([3, 5]), ["three", "five"]))
    >>> fl.experimental.table_from_dataset(ds, default_value="?", key_dtype=fl.int64).lookup(np.array([5, 6]))
    array([b'five', b'?'], dtype=object)

    Missing keys get `default_value`, by default -1 for numbers; with `num_oov_buckets`, each gets a number after the
    table's size according to its hash. `vocab_size` limits how many pairs are read. A dataset without elements raises
    `OutOfRangeError`.
    """
    initializer = DatasetInitializer(dataset)
    if default_value is None:
        kind = initializer.value_dtype
        if not kind.is_numeric:
            raise InvalidArgumentError(
                f"table_from_dataset: values of {kind.name} require a default_value; only numbers have one"
            )
        default_value = -1
    buckets, count = _sizes(num_oov_buckets, vocab_size, key_dtype)
    return _table(*initializer.pairs(count), default_value, buckets, count, hasher_spec)


def index_table_from_dataset(
    dataset: object = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: object = -1,
    hasher_spec: HasherSpec = FAST,
    key_dtype: object = string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """A lookup table from the keys in a dataset to their positions in it.

    >>> words = fl.Dataset.from_tensor_slices(["to", "be", "or"])
    >>> fl.experimental.index_table_from_dataset(words).lookup(np.array(["or", "not", "to"]))
    array([ 2, -1,  0])

    See `table_from_dataset` for the arguments.
    """
    plan_of(dataset, "dataset", "index_table_from_dataset")
    buckets, count = _sizes(num_oov_buckets, vocab_size, key_dtype)
    elements = Elements(dataset)
    if not _is_scalar(elements.spec):
        raise InvalidArgumentError(f"index_table_from_dataset: the elements must be scalars, got {elements.spec!r}")
    keys = _column(elements.read(count, "index_table_from_dataset"), elements.spec.dtype)
    return _table(keys, np.arange(len(keys), dtype=np.int64), default_value, buckets, count, hasher_spec)


def _is_scalar(spec: object) -> bool:
    return isinstance(spec, TensorSpec) and spec.shape.rank in (None, 0)


def _sizes(num_oov_buckets: object, vocab_size: object, key_dtype: object) -> tuple[int, int | None]:
    buckets = integer(num_oov_buckets, "num_oov_buckets", "table_from_dataset")
    count = None if vocab_size is None else integer(vocab_size, "vocab_size", "table_from_dataset")
    if buckets < 0:
        raise InvalidArgumentError(f"table_from_dataset: num_oov_buckets must be zero or more, got {buckets}")
    if count is not None and count < 1:
        raise InvalidArgumentError(f"table_from_dataset: vocab_size must be greater than zero, got {count}")
    kind = as_dtype(key_dtype)
    if not kind.is_integer and kind != string:
        raise InvalidTypeError(f"table_from_dataset: key_dtype must be an integer type or string, got {kind.name}")
    return buckets, count


def _column(values: list[Any], dtype: DType) -> Array:
    column = pack(values) if values else np.empty(0, dtype.dtype)
    if not isinstance(column, np.ndarray) or column.ndim != 1:
        raise InvalidArgumentError("table_from_dataset: keys and values must be scalars, all of one type")
    return column


def _table(
    keys: Array, values: Array, default_value: object, buckets: int, count: int | None, hasher_spec: HasherSpec
) -> StaticHashTable | IdTableWithHashBuckets:
    if count is not None and len(keys) < count:
        raise FailedPreconditionError(
            f"table_from_dataset: vocab_size is {count}, but the dataset has only {len(keys)} elements"
        )
    table = StaticHashTable.of(keys, values, default_value)
    return IdTableWithHashBuckets(table, buckets, hasher_spec) if buckets else table
