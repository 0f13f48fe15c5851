"""`to_jax`: elements as JAX arrays, placed on their devices ahead of use."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from copy import copy
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from feedline.data.iterator import Iterator
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.integrations.batches import Batches
from feedline.integrations.device_prefetch import DevicePrefetcher
from feedline.integrations.dtypes import Dtypes, apart, check, is_string, needed, refused
from feedline.integrations.jax_fastpath import FastDevicePut, garbage_collector
from feedline.integrations.pinned_memory import Driver, locked
from feedline.integrations.shards import ReaderIndex
from feedline.integrations.uneven_shards import OnUneven
from feedline.kernels.memory import aligned
from feedline.plan.arguments import integer
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Block
from feedline.structure.buffer_pool import LARGE, copy_array
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.types import as_dtype

OP = "to_jax"
NARROW = {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.uint64): np.dtype(np.uint32)}
"""The dtypes that replace them in JAX without x64."""
MAX_IN_FLIGHT = 4
"""The most elements in transfer to a GPU at once."""
ROUNDED = {"float64": "float32", "complex128": "complex64"}
WIDE = frozenset([*NARROW, *map(np.dtype, ROUNDED)])


class JaxBatches(Batches):
    """The result of `to_jax`: an iterable of JAX arrays. `state_dict` and `load_state_dict` keep its position.

    >>> batches = fl.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2).to_jax()
    >>> len(batches), [b.tolist() for b in batches]
    (2, [[1.0, 2.0], [3.0]])
    """

    op: ClassVar[str] = OP

    def __init__(
        self, dataset: Any, sharding: Any, prefetch: int, dtypes: Any, on_uneven: OnUneven | None = None
    ) -> None:
        super().__init__(dataset, on_uneven)
        self.jax = needed("jax", "jax", OP)
        self.sharding, self.prefetch = sharding, prefetch
        self._put, self._dtypes = DevicePut(self.jax, sharding), Dtypes(dtypes, OP)
        self._fast_put: FastDevicePut | None = None

    def reader(self) -> ReaderIndex:
        """The process's index in a multi-host job."""
        return self.here(self.jax)

    @staticmethod
    def here(jax: Any) -> ReaderIndex:
        """The index of this process, and the number of processes."""
        return ReaderIndex(jax.process_count(), jax.process_index())

    def alone(self) -> bool:
        """Whether there are several processes, which build their datasets independently."""
        return bool(self.jax.process_count() > 1)

    process = reader

    def copies(self) -> bool:
        """Whether arrays go to a GPU. On the CPU they may share the memory they are made from."""
        return self._put.driver is not None

    def iterator(self, part: object) -> Any:
        """Arrays in transfer to the devices; on the CPU, arrays in the memory of the batches."""
        if self.sharding is None and self.jax.default_backend() == "cpu":
            self._fast_put = self._fast_put or FastDevicePut(self.jax)  # batches of the next epoch are alike
            return Arrays(part, self.jax, self._dtypes, self._put, self._fast_put)
        return DevicePrefetcher(Leaves(part, self.jax, self._dtypes), self._put, self.prefetch)


class Leaves(Iterator[Any]):
    """An `Iterator` over flattened elements: their structure, and their leaves as arrays that JAX accepts."""

    calls_one_by_one = False

    def __init__(self, dataset: Any, jax: Any, dtypes: Dtypes) -> None:
        self.jax, self.dtypes = jax, dtypes
        self._tree: Tree | None = None
        self._form: ElementLayout | None = None
        super().__init__(dataset._run(), lambda: dataset.element_spec)

    def _handed_out(self) -> Any:
        cursor = self._cursor
        block = cursor.block
        if block is None:
            return cursor.rows
        form = self._form
        if form is None or not form.fits(block):
            if block.tree != self._tree:
                self.dtypes.check(block.tree)
                self._tree = block.tree
            make, reusable = self._made(block.tree, block.columns, self._leaf_checks(block))
            self._form = form = ElementLayout(block, make, self.jax.config, reusable)
        return map(form.make, cursor.rows)

    def _leaf_checks(self, block: Block) -> list[Callable[[Any], Any] | None]:
        """The function that checks each leaf; None for a leaf that needs no check."""
        dtypes, config = self.dtypes, self.jax.config
        checks: list[Any] = [partial(checked_leaf, dtypes, config, path) for path in block.tree.paths()]
        if not dtypes.given:
            for i, column in enumerate(block.columns):
                checks[i] = None if is_unchecked(column, config.jax_enable_x64) else checks[i]
        return checks

    def _made(self, tree: Tree, columns: list[Any], checks: list[Any]) -> tuple[Callable[[Any], Any], bool]:
        """The function that makes elements of rows, and whether it also serves the next block of this layout."""
        return leaf_checker(tree, checks), True


def checked_leaf(dtypes: Dtypes, config: Any, path: str, value: Any) -> Any:
    """A leaf as an array that JAX accepts."""
    if value is None:
        return None
    if not isinstance(value, (np.ndarray, np.generic)) or is_string(value):
        raise refused(OP, path, value)
    name = dtypes.wanted(path, value.dtype) if dtypes.given else None
    if name is not None:
        value = value.astype(as_dtype(name).dtype)
    return value if config.jax_enable_x64 else fitting(path, value)


def leaf_checker(tree: Tree, checks: list[Any]) -> Callable[[Any], Any]:
    """A function that flattens an element and checks its leaves."""
    take = apart(tree)
    if not any(checks):
        return lambda row: (tree, take(row))
    return lambda row: (tree, [v if f is None else f(v) for f, v in zip(checks, take(row), strict=True)])


class ElementLayout:
    """Makes the elements of a block, and of others with its structure, shapes and dtypes."""

    __slots__ = ("_columns", "_config", "_tree", "_wide", "make")

    def __init__(self, block: Block, make: Callable[[Any], Any], config: Any, reusable: bool) -> None:
        self.make = make
        plain = reusable and all([type(c) is np.ndarray for c in block.columns])
        self._tree = block.tree if plain else None
        self._columns = [(c.shape, c.dtype) for c in block.columns] if plain else []
        self._config, self._wide = config, None
        if any(dtype in WIDE for _, dtype in self._columns):
            self._wide = config.jax_enable_x64

    def fits(self, block: Block) -> bool:
        """Whether a block has the same layout."""
        if block.tree is not self._tree and block.tree != self._tree:  # functions may build a new tree for each block
            return False
        if self._wide is not None and self._wide != self._config.jax_enable_x64:
            return False
        for column, (shape, dtype) in zip(block.columns, self._columns, strict=True):
            if type(column) is not np.ndarray or column.shape != shape or column.dtype is not dtype:
                return False
        return True


class Arrays(Leaves):
    """An `Iterator` over JAX arrays on the CPU. Memory is aligned so that JAX uses it without a copy; such arrays are
    ready at once, so prefetching would gain nothing.
    """

    def __init__(self, dataset: Any, jax: Any, dtypes: Dtypes, put: DevicePut, alike: FastDevicePut) -> None:
        self._collect_garbage, self._put, self._fast_put = garbage_collector(jax), put, alike
        self._ahead: Any = iter([])
        with aligned():  # also in the threads, which inherit the setting in effect when the iterator is made
            super().__init__(dataset, jax, dtypes)

    def _refill(self) -> bool:
        self._collect_garbage()
        with aligned():
            return super()._refill()

    def _made(self, tree: Tree, columns: list[Any], checks: list[Any]) -> tuple[Callable[[Any], Any], bool]:
        if not any(checks):
            return self._fast_put.elements(tree, columns)
        leaves, put = leaf_checker(tree, checks), self._fast_put

        def make(row: object) -> Any:
            with aligned():
                values = leaves(row)[1]
            return tree.unflatten([put(value) for value in values])

        return make, True

    def save(self) -> Any:
        """The state, with elements restored from a prefetching iterator that have not been returned yet."""
        with self._lock:
            state, ahead = super().save(), list(copy(self._ahead))
        return {"iterator": state, "ahead": [from_jax(element) for element in ahead]} if ahead else state

    def restore(self, state: object) -> None:
        """Also accepts the state of a `DevicePrefetcher`: its prefetched elements come first."""
        state, ahead = (state["iterator"], state["ahead"]) if isinstance(state, dict) else (state, [])
        with self._lock:
            super().restore(state)
            self._ahead = iter([self._put(element) for element in ahead])
            self._rows = chain(self._ahead, self._rows)


def from_jax(element: object) -> Any:
    """An element of JAX arrays in the form that `DevicePut` takes."""
    leaves, tree = flatten(element)
    return tree, [leaf if leaf is None else np.array(leaf) for leaf in leaves]


def is_unchecked(column: object, wide: bool) -> bool:
    """Whether the rows of a column need no individual checks."""
    if type(column) is not np.ndarray:
        return False
    dtype = column.dtype
    return dtype.kind in "biufc" and (wide or dtype not in WIDE)


class DevicePut:
    """Puts elements on devices. JAX only starts the copy here; it runs asynchronously."""

    def __init__(self, jax: Any, sharding: Any) -> None:
        self.jax, self.sharding = jax, sharding
        self.driver = driver(jax)
        self._known: tuple[Tree, Any] | None = None
        self._in_flight: deque[Any] = deque()

    def __call__(self, element: Any) -> Any:
        """The element as JAX arrays."""
        tree, leaves = element
        if self.driver is None:
            return self._put(tree, leaves)
        # Running further ahead of the GPU would fill the memory of both.
        while len(self._in_flight) >= MAX_IN_FLIGHT:
            self.jax.block_until_ready([a for a in self._in_flight.popleft() if a is not None and not a.is_deleted()])
        made = self._put(tree, [self._readable(leaf) for leaf in leaves])
        self._in_flight.append(tree.flatten(made))
        return made

    def _readable(self, leaf: object) -> Any:
        """The leaf in pinned memory if it is large. JAX holds it until it is copied."""
        if self.driver is None or not isinstance(leaf, np.ndarray) or leaf.nbytes < LARGE:
            return leaf
        if leaf.flags.c_contiguous and locked.holds(leaf, self.driver):
            return leaf
        mine = copy_array(leaf)
        locked.holds(mine, self.driver)
        return mine

    def _put(self, tree: Tree, leaves: Any) -> Any:
        if self.sharding is None:
            return tree.unflatten(self.jax.device_put(leaves))
        shardings = self._shardings(tree)
        local = all(getattr(s, "is_fully_addressable", True) for s in shardings)
        put = self.jax.device_put if local else self._global
        laid = []
        for path, leaf, sharding in zip(tree.paths(), leaves, shardings, strict=True):
            try:
                laid.append(None if leaf is None else put(leaf, sharding))
            except (ValueError, AssertionError, TypeError) as e:
                raise InvalidArgumentError(
                    f"{OP}: the leaf {path} of shape {leaf.shape} cannot be sharded as {sharding}: {e}; "
                    f"{remedy(leaf, sharding)}"
                ) from e
        return tree.unflatten(laid)

    def _global(self, leaf: Any, sharding: Any) -> Any:
        return self.jax.make_array_from_process_local_data(sharding, leaf)

    def _shardings(self, tree: Tree) -> Any:
        if self._known is None or self._known[0] != tree:
            one = hasattr(self.sharding, "device_set") or hasattr(self.sharding, "platform")  # a sharding, or a device
            try:
                found = [self.sharding] * tree.size if one else tree.flatten_up_to(self.sharding)
            except TypeError as e:
                raise InvalidArgumentError(
                    f"{OP}: sharding must be a jax.sharding.Sharding, a device, or these in the structure of the "
                    f"elements: {e}"
                ) from None
            self._known = tree, found
        return self._known[1]


def remedy(leaf: Any, sharding: Any) -> str:
    """Advice for a leaf that does not fit a sharding."""
    axes = len(getattr(sharding, "spec", None) or ())
    if axes > leaf.ndim:
        return (
            f"the array has {leaf.ndim} {'axis' if leaf.ndim == 1 else 'axes'} and the sharding {axes}; give a "
            "sharding for each leaf, in the structure of the elements, for instance "
            "(NamedSharding(mesh, P('data', 'model')), NamedSharding(mesh, P('data')))"
        )
    return (
        "the number of rows must be a multiple of the number of shards; batch(n, drop_remainder=True) "
        "drops a shorter last batch"
    )


@functools.cache
def driver(jax: Any) -> Driver | None:
    """The driver of JAX's GPUs. None if there are none, or if JAX has no call for it."""
    device = jax.local_devices()[0]
    if device.platform != "gpu" or not hasattr(device.client, "dma_map"):
        return None

    def lock(array: object, first: int, size: int) -> bool:
        try:
            device.client.dma_map(first, size)
        except Exception:  # error of JAX's runtime: it then copies without pinned memory
            return False
        return True

    return Driver(lock, device.client.dma_unmap)


def fitting(path: str, value: Any) -> Any:
    """The value in a dtype that JAX has without x64. Integers are narrowed if that changes no value."""
    dtype = value.dtype
    if dtype not in WIDE:
        return value
    if dtype not in NARROW:
        raise rounded(path, dtype.name)
    narrow = value.astype(NARROW[dtype])
    if not held(value, narrow.dtype) and not np.array_equal(narrow, value):
        raise InvalidArgumentError(
            f"{OP}: the leaf {path} is {dtype} and holds {_first_that_differs(value, narrow)}, which "
            f"{narrow.dtype} cannot hold, and JAX without x64 has no wider type; call "
            'jax.config.update("jax_enable_x64", True), or make the numbers smaller in a map'
        )
    return narrow


def held(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether all set bits of the numbers fit into the non-negative range of a smaller dtype."""
    return 0 <= int(np.bitwise_or.reduce(value, axis=None)) <= np.iinfo(dtype).max


def _first_that_differs(value: Any, narrow: Any) -> Any:
    return np.asarray(value)[np.asarray(narrow) != value].flat[0] if np.ndim(value) else value


def rounded(path: str, name: str) -> InvalidTypeError:
    """The error for a dtype that JAX without x64 would round."""
    return InvalidTypeError(
        f"{OP}: the leaf {path} is {name}, which JAX without x64 would round to {ROUNDED[name]} silently; "
        f"give dtypes={{fl.{name}: fl.{ROUNDED[name]}}}, cast it in a map, or call "
        'jax.config.update("jax_enable_x64", True)'
    )


def to_jax(
    self: DatasetBase[Any],
    sharding: object = None,
    prefetch: int = 2,
    dtypes: object = None,
    on_uneven: OnUneven | None = None,
) -> JaxBatches:
    """Converts elements to JAX arrays, with `prefetch` of them put on their devices ahead of use. On the CPU, arrays
    share the memory of batches and are ready at once, so nothing is prefetched unless `sharding` is given.

    >>> for x, y in fl.Dataset.from_tensor_slices(([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3])).batch(2).to_jax():
    ...     print((x * 2).tolist(), y.tolist())
    [2.0, 4.0] [0, 1]
    [6.0, 8.0] [2, 3]

    `sharding` is a `jax.sharding.Sharding`, a device, or a structure of these like the elements'. In a multi-host job,
    each process reads its own shard of the dataset, and its batches are its part of global arrays. A
    `shard(jax.process_count(), jax.process_index())` in the dataset is recognized as that division; any other shard is
    then an error. All processes take part in each step, so all need the same number of batches: if their numbers
    differ, `on_uneven` decides ("pad", "drop", "error" or "allow", as in `to_torch`). The default is "drop" if the
    numbers are known.

    >>> import jax
    >>> mesh = jax.make_mesh((1,), ("data",))
    >>> spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    >>> next(iter(fl.Dataset.from_tensor_slices([1, 2, 3]).batch(3).to_jax(spread))).sharding == spread
    True

    Without JAX's x64, float64 is rejected, because JAX would round it silently: cast it, for instance with
    `dtypes={fl.float64: fl.float32}`. int64 becomes int32 as long as no value changes. `dtypes` may be one dtype, or a
    mapping from dtypes or paths of leaves (`"$.image"`) to dtypes.

    A function under `jax.jit` is recompiled for a shorter last batch, and a sharding may not divide it evenly;
    `batch(n, drop_remainder=True)` drops it.
    """
    jax = needed("jax", "jax", OP)
    ahead = integer(prefetch, "prefetch", OP)
    if ahead < 0:
        raise InvalidArgumentError(f"{OP}: prefetch must be zero or more, got {ahead}")
    wanted = Dtypes(dtypes, OP)

    def fits(path: str, spec: TensorSpec) -> None:
        name = wanted.wanted(path, spec.dtype.dtype) or spec.dtype.name
        if name in ROUNDED and not jax.config.jax_enable_x64:
            raise rounded(path, name)

    if spec_known(self._plan):
        check(OP, self.element_spec, fits)
    return JaxBatches(self, sharding, ahead, dtypes, on_uneven)
