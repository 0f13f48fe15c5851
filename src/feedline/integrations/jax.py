"""`to_jax`: elements as JAX arrays, on their devices before they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.integrations.batches import Batches
from feedline.integrations.leaves import Dtypes, check, converter, is_string, needed, refused
from feedline.integrations.shards import Reader
from feedline.integrations.staged import Staged
from feedline.plan.arguments import integer
from feedline.plan.face import Face
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.types import as_dtype

OP = "to_jax"
NARROW = {"int64": np.int32, "uint64": np.uint32}
"""What JAX without x64 has in their place."""
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
        self._put = Put(self.jax, sharding, Dtypes(dtypes, OP))

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

    def iterator(self, part: Any) -> Staged:
        """Arrays on their way to the devices."""
        return Staged(iter(part), self._put, self.prefetch)


class Put:
    """Puts elements on devices. JAX only starts the copy here, and does it while others compute."""

    def __init__(self, jax: Any, sharding: Any, dtypes: Dtypes) -> None:
        self.jax, self.sharding, self.dtypes = jax, sharding, dtypes
        self._tree: Tree | None = None
        self._host: list[Callable[[Any], Any]] = []
        self._function: Callable[[Any], Any] = self.__call__

    def __call__(self, element: Any) -> Any:
        """The element as JAX arrays."""
        tree = flatten(element)[1]
        if tree != self._tree:
            self.dtypes.check(tree)
            self._tree, self._function = tree, self._made(tree)
        return self._function(element)

    def _made(self, tree: Tree) -> Callable[[Any], Any]:
        host = [self._for_host(path) for path in tree.paths()]
        if self.sharding is None:
            convert = converter(tree, host)
            return lambda element: self.jax.device_put(convert(element))
        one = hasattr(self.sharding, "device_set") or hasattr(self.sharding, "platform")  # a sharding, or a device
        try:
            shardings = [self.sharding] * tree.size if one else tree.flatten_up_to(self.sharding)
        except TypeError as e:
            raise InvalidArgumentError(
                f"{OP}: sharding must be a jax.sharding.Sharding, a device, or such in the elements' structure: {e}"
            ) from None
        laid = [self._for_devices(*three) for three in zip(tree.paths(), host, shardings, strict=True)]
        return converter(tree, laid)

    def _for_host(self, path: str) -> Callable[[Any], Any]:
        def leaf(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, (np.ndarray, np.generic)) or is_string(value):
                raise refused(OP, path, value)
            name = self.dtypes.wanted(path, value.dtype) if self.dtypes.given else None
            if name is not None:
                value = value.astype(as_dtype(name).dtype)
            return value if self.jax.config.jax_enable_x64 else fitting(path, value)

        return leaf

    def _for_devices(self, path: str, host: Callable[[Any], Any], sharding: Any) -> Callable[[Any], Any]:
        local = getattr(sharding, "is_fully_addressable", True)
        make = self.jax.make_array_from_process_local_data

        def leaf(value: Any) -> Any:
            array = host(value)
            if array is None:
                return None
            try:
                return self.jax.device_put(array, sharding) if local else make(sharding, array)
            except (ValueError, AssertionError, TypeError) as e:
                raise InvalidArgumentError(
                    f"{OP}: the leaf {path} of shape {array.shape} cannot be laid out over {sharding}: {e}; the number "
                    "of rows must be a multiple of the parts, and the last batch is shorter than the others unless it "
                    "is left out with batch(n, drop_remainder=True)"
                ) from e

        return leaf


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
