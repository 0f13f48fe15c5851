"""`to_jax`: elements as JAX arrays, on their devices before they are used."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from feedline.data.iterator import Iterator
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.integrations.alike import Alike, let_go
from feedline.integrations.batches import Batches
from feedline.integrations.leaves import Dtypes, check, converter, is_string, needed, refused
from feedline.integrations.locked import Driver, locked
from feedline.integrations.shards import Reader
from feedline.integrations.staged import Staged
from feedline.kernels.memory import aligned
from feedline.plan.arguments import integer
from feedline.plan.face import Face
from feedline.structure.memory import LARGE, copied
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.types import as_dtype

OP = "to_jax"
NARROW = {"int64": np.int32, "uint64": np.uint32}
"""What JAX without x64 has in their place."""
UNDER_WAY = 4
"""So many elements at once on their way to a GPU."""
ROUNDED = {"float64": "float32", "complex128": "complex64"}


class JaxBatches(Batches):
    """What `to_jax` gives: an iterable of JAX arrays. `state_dict` and `load_state_dict` keep the place in it.

    >>> batches = fl.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2).to_jax()
    >>> len(batches), [b.tolist() for b in batches]
    (2, [[1.0, 2.0], [3.0]])
    """

    op: ClassVar[str] = OP

    def __init__(self, dataset: Any, sharding: Any, prefetch: int, dtypes: Any) -> None:
        super().__init__(dataset)
        self.jax = needed("jax", "jax", OP)
        self.sharding, self.prefetch = sharding, prefetch
        self._put, self._dtypes = Put(self.jax, sharding), Dtypes(dtypes, OP)

    def reader(self) -> Reader:
        """By process of a job on several machines."""
        return self.here(self.jax)

    @staticmethod
    def here(jax: Any) -> Reader:
        """Which of how many processes this is."""
        return Reader(jax.process_count(), jax.process_index())

    def alone(self) -> bool:
        """Processes make their datasets each for itself."""
        return self.jax.process_count() > 1  # type: ignore[no-any-return]

    def part(self, reader: Reader) -> Any:
        """All processes take part in each step, so where the number of batches is known all read equally many."""
        part, whole = super().part(reader), int(self.dataset.cardinality())
        return part.take(whole // reader.readers) if reader.readers > 1 and whole >= 0 else part

    def copies(self) -> bool:
        """To a GPU. On the processor arrays may share the memory they are made from."""
        return self._put.driver is not None

    def iterator(self, part: Any) -> Staged:
        """Arrays on their way to the devices."""
        if self.sharding is None and self.jax.default_backend() == "cpu":
            return Made(Arrays(part, self.jax, self._dtypes), self._put, self.prefetch)
        return Staged(Leaves(part, self.jax, self._dtypes), self._put, self.prefetch)


class Leaves(Iterator[Any]):
    """An `Iterator` whose elements are taken apart: their structure, and their leaves as arrays that JAX takes."""

    def __init__(self, dataset: Any, jax: Any, dtypes: Dtypes) -> None:
        self.jax, self.dtypes = jax, dtypes
        self._tree: Tree | None = None
        self._plain: Callable[[Any], Any] = _never
        self._any: Callable[[Any], Any] = _never
        super().__init__(dataset._run(), lambda: dataset.element_spec)

    def _handed_out(self) -> Any:
        block, rows = self._cursor.block, self._cursor.rows
        if block is None:
            return rows
        tree, wide = block.tree, self.jax.config.jax_enable_x64
        if tree is not self._tree:
            if tree != self._tree:
                self.dtypes.check(tree)
                self._learn(tree)
            self._tree = tree
        if not self.dtypes.given and all(taken_as_it_is(c, wide) for c in block.columns):
            return map(self._plain, rows)
        return map(self._any, rows)

    def _learn(self, tree: Tree) -> None:
        """Sets what makes elements of this structure: `_plain` where the leaves need no look, else `_any`."""
        paths = tree.paths()
        self._plain = lambda row: (tree, tree.flatten(row))
        self._any = lambda row: (tree, list(map(self._leaf, paths, tree.flatten(row))))

    def _leaf(self, path: str, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (np.ndarray, np.generic)) or is_string(value):
            raise refused(OP, path, value)
        name = self.dtypes.wanted(path, value.dtype) if self.dtypes.given else None
        if name is not None:
            value = value.astype(as_dtype(name).dtype)
        return value if self.jax.config.jax_enable_x64 else fitting(path, value)


def _never(element: Any) -> Any:
    raise TypeError("no structure is known yet")


class Arrays(Leaves):
    """An `Iterator` over JAX arrays on the processor. Memory is made so that JAX takes it as it is."""

    def __init__(self, dataset: Any, jax: Any, dtypes: Dtypes) -> None:
        self._let_go = let_go(jax)
        with aligned():  # in the threads as well, which see what is set where the iterator is made
            super().__init__(dataset, jax, dtypes)

    def _refill(self) -> bool:
        self._let_go()
        with aligned():
            return super()._refill()

    def _learn(self, tree: Tree) -> None:
        super()._learn(tree)
        leaves, put = self._any, [Alike(self.jax) for _ in tree.paths()]

        def of_any(row: Any) -> Any:
            with aligned():
                values = leaves(row)[1]
            return tree.unflatten([make(value) for make, value in zip(put, values, strict=True)])

        self._plain, self._any = converter(tree, list(put)), of_any


class Made(Staged):
    """Elements that are arrays of JAX when they come out of their iterator."""

    def __init__(self, source: Arrays, put: Put, depth: int) -> None:
        self._put = put
        super().__init__(source, _as_it_is, depth)

    def saved(self, element: Any) -> Any:
        """Copies of its arrays, as `Put` takes them."""
        leaves, tree = flatten(element)
        return tree, [leaf if leaf is None else np.array(leaf) for leaf in leaves]

    def restored(self, saved: Any) -> tuple[Any, Any]:
        """The element, put again."""
        made = self._put(saved)
        return made, made


def _as_it_is(element: Any) -> Any:
    return element


def taken_as_it_is(column: Any, wide: bool) -> bool:
    """True for a column whose rows need no look at each of them."""
    if type(column) is not np.ndarray or column.dtype.kind not in "biufc":
        return False
    return wide or column.dtype.name not in {*NARROW, *ROUNDED}


class Put:
    """Puts elements on devices. JAX only starts the copy here, and does it while others compute."""

    def __init__(self, jax: Any, sharding: Any) -> None:
        self.jax, self.sharding = jax, sharding
        self.driver = driver(jax)
        self._known: tuple[Tree, Any] | None = None
        self._under_way: deque[Any] = deque()

    def __call__(self, element: Any) -> Any:
        """The element as JAX arrays."""
        tree, leaves = element
        if self.driver is None:
            return self._put(tree, leaves)
        # One that runs ahead of its GPU would fill the memory of both.
        while len(self._under_way) >= UNDER_WAY:
            self.jax.block_until_ready([a for a in self._under_way.popleft() if a is not None and not a.is_deleted()])
        made = self._put(tree, [self._readable(leaf) for leaf in leaves])
        self._under_way.append(tree.flatten(made))
        return made

    def _readable(self, leaf: Any) -> Any:
        """The leaf in memory that a GPU reads by itself, if it is large. JAX holds it until it is copied."""
        if self.driver is None or not isinstance(leaf, np.ndarray) or leaf.nbytes < LARGE:
            return leaf
        if leaf.flags.c_contiguous and locked.holds(leaf, self.driver):
            return leaf
        mine = copied(leaf)
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
                    f"{OP}: the leaf {path} of shape {leaf.shape} cannot be laid out over {sharding}: {e}; the number "
                    "of rows must be a multiple of the parts, and the last batch is shorter than the others unless it "
                    "is left out with batch(n, drop_remainder=True)"
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
                    f"{OP}: sharding must be a jax.sharding.Sharding, a device, or such in the elements' structure: {e}"
                ) from None
            self._known = tree, found
        return self._known[1]


@functools.cache
def driver(jax: Any) -> Driver | None:
    """That of JAX's GPUs. None where there are none, or where JAX has no call for it."""
    device = jax.local_devices()[0]
    if device.platform != "gpu" or not hasattr(device.client, "dma_map"):
        return None

    def lock(array: Any, first: int, size: int) -> bool:
        try:
            device.client.dma_map(first, size)
        except Exception:  # of its runtime: then it copies by itself
            return False
        return True

    return Driver(lock, device.client.dma_unmap)


def fitting(path: str, value: Any) -> Any:
    """The value in a dtype that JAX has without x64. Integers are narrowed where no value changes by that."""
    name = value.dtype.name
    if name in ROUNDED:
        raise rounded(path, name)
    if name not in NARROW:
        return value
    narrow = value.astype(NARROW[name])
    if not np.array_equal(narrow, value):
        raise InvalidArgumentError(
            f"{OP}: the leaf {path} is {name} and holds {_first_that_differs(value, narrow)}, which "
            f"{narrow.dtype} cannot hold and JAX without x64 has nothing wider; call "
            'jax.config.update("jax_enable_x64", True), or make the numbers smaller in a map'
        )
    return narrow


def _first_that_differs(value: Any, narrow: Any) -> Any:
    return np.asarray(value)[np.asarray(narrow) != value].flat[0] if np.ndim(value) else value


def rounded(path: str, name: str) -> InvalidTypeError:
    """The error for a dtype that JAX without x64 would round."""
    return InvalidTypeError(
        f"{OP}: the leaf {path} is {name}, which JAX without x64 would round to {ROUNDED[name]} without a word; give "
        f"dtypes={{fl.{name}: fl.{ROUNDED[name]}}}, cast it in a map, or call "
        'jax.config.update("jax_enable_x64", True)'
    )


def to_jax(self: Face[Any], sharding: Any = None, prefetch: int = 2, dtypes: Any = None) -> JaxBatches:
    """The elements as JAX arrays, of which `prefetch` are put on their devices ahead of use.

    >>> for x, y in fl.Dataset.from_tensor_slices(([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3])).batch(2).to_jax():
    ...     print((x * 2).tolist(), y.tolist())
    [2.0, 4.0] [0, 1]
    [6.0, 8.0] [2, 3]

    `sharding` is a `jax.sharding.Sharding`, a device, or such in the structure of the elements. On several machines,
    each process reads its own part of the dataset and its batches are its part of global arrays.

    >>> import jax
    >>> mesh = jax.make_mesh((1,), ("data",))
    >>> spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    >>> next(iter(fl.Dataset.from_tensor_slices([1, 2, 3]).batch(3).to_jax(spread))).sharding == spread
    True

    Without JAX's x64, float64 is refused where JAX would round it silently: cast it, for instance with
    `dtypes={fl.float64: fl.float32}`. int64 becomes int32 as long as no value changes. `dtypes` may be one dtype, or a
    mapping from dtypes or paths of leaves (`"$.image"`) to dtypes.

    A function under `jax.jit` is compiled anew for a last batch that is shorter, and a sharding may not divide it;
    `batch(n, drop_remainder=True)` leaves it out.
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

    if self._plan.spec_known:
        check(OP, self.element_spec, fits)
    return JaxBatches(self, sharding, ahead, dtypes)
