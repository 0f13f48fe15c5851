"""`to_torch`: elements as PyTorch tensors, in a form that `DataLoader` accepts."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from feedline.data.iterator import Iterator
from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.integrations.batches import Batches
from feedline.integrations.device_prefetch import DevicePrefetcher
from feedline.integrations.dtypes import Dtypes, check, converter, is_string, needed, refused
from feedline.integrations.pinned_memory import Driver, PendingCopies, locked, readable
from feedline.integrations.shards import ALONE, ReaderIndex
from feedline.integrations.torch_shared_memory import is_marked
from feedline.integrations.uneven_shards import OnUneven
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Block
from feedline.structure.buffer_pool import LARGE, address
from feedline.structure.nest import Tree, flatten

MOST_WORKERS = 1024
OP = "to_torch"
SHARED = "biufc"
"""The kinds of NumPy dtypes that PyTorch accepts."""
AHEAD = 2
MAX_IN_FLIGHT = 4
"""The most copies to a device at once: enough that the next is queued when one ends."""


class TorchBatches(Batches):
    """The result of `to_torch`: an `IterableDataset` whose elements are tensors.

    >>> batches = fl.Dataset.range(4).batch(2).to_torch()
    >>> len(batches), [b.tolist() for b in batches]
    (2, [[0, 1], [2, 3]])

    `state_dict` and `load_state_dict` save and restore the position within an epoch, also for torchdata's
    `StatefulDataLoader`.
    """

    op: ClassVar[str] = OP

    def __init__(
        self,
        dataset: Any,
        device: Any,
        pin_memory: bool,
        dtypes: Any,
        on_uneven: OnUneven = "allow",
        epochs: Any = None,
    ) -> None:
        super().__init__(dataset, on_uneven)
        self.torch = needed("torch", "torch", OP)
        self.device, self.pin_memory, self.dtypes = device, pin_memory, dtypes
        self._convert = TensorConverter(self.torch, Dtypes(dtypes, OP), zero_copy=self.copies())
        # Epochs begun by each worker. Workers that live for one epoch read it from shared memory.
        shared = self.torch.zeros(MOST_WORKERS, dtype=self.torch.int32) if epochs is None else epochs
        self._epochs = shared.share_memory_()
        self._rank = ReaderIndex()

    def reader(self) -> ReaderIndex:
        """The reader's index, by worker of a `DataLoader` and rank of `torch.distributed`."""
        self._rank = self.here(self.torch, self._rank)
        info = self.torch.utils.data.get_worker_info()
        return self._rank if info is None else ReaderIndex(info.num_workers, info.id).within(self._rank)

    def process(self) -> ReaderIndex:
        """The rank, and the number of ranks."""
        return self._rank

    def alone(self) -> bool:
        """Whether ranks build their datasets independently; workers get a copy of one."""
        return self._rank.readers > 1

    @staticmethod
    def here(torch: Any, otherwise: ReaderIndex = ALONE) -> ReaderIndex:
        """The rank of this process, and the number of ranks. A spawned worker has no process group; it gets `otherwise`
        from the process that started it.
        """
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return ReaderIndex(distributed.get_world_size(), distributed.get_rank())
        return otherwise

    def epoch(self) -> int:
        """The epoch, counted per worker, since a worker may live for one epoch only."""
        info = self.torch.utils.data.get_worker_info()
        if info is None:
            return 0
        begun = int(self._epochs[info.id])
        if self._resume is not None:
            begun = int(self._resume["epoch"])
        self._epochs[info.id] = begun + 1
        return begun

    def copies(self) -> bool:
        """Whether tensors go to a device."""
        return self.device is not None

    def iterator(self, part: Any) -> Any:
        """Tensors that share memory with the arrays, or copies of them in transfer to a device."""
        worker = self.torch.utils.data.get_worker_info() is not None
        if self.device is None and not self.pin_memory:
            convert = TensorConverter(self.torch, Dtypes(self.dtypes, OP), sent=True) if worker else self._convert
            return TorchIterator(part, convert)
        if worker:
            raise FailedPreconditionError(
                f"{OP}: device={str(self.device)!r} and pin_memory cannot be used with DataLoader workers, which "
                "cannot access the device; omit both, pass pin_memory=True to DataLoader, and move its batches"
            )
        return TorchDevicePrefetcher(iter(part), self._convert, self.torch, self.device, self.pin_memory)

    def __reduce__(self) -> Any:
        import cloudpickle

        self._rank = self.here(self.torch, self._rank)
        plan = cloudpickle.dumps(self.dataset)  # includes functions defined in the main program
        arguments = self.device, self.pin_memory, self.dtypes, self.on_uneven, self._epochs
        return _unpickled, (plan, arguments, self._rank, self._resume)


def _unpickled(plan: bytes, arguments: tuple[Any, ...], rank: ReaderIndex, resume: Any) -> Any:
    import pickle

    made = iterable_dataset()(pickle.loads(plan), *arguments)
    made._rank, made._resume = rank, resume
    return made


@functools.cache
def iterable_dataset() -> type[TorchBatches]:
    """`TorchBatches` as a subclass of `IterableDataset`, defined once PyTorch is imported."""
    torch = needed("torch", "torch", OP)
    bases = TorchBatches, torch.utils.data.IterableDataset
    return type("TorchBatches", bases, {"__module__": __name__, "__doc__": TorchBatches.__doc__})


class TensorConverter:
    """Converts elements of arrays to elements of tensors; `zero_copy` promises that the tensors are never written to,
    `sent` that they go to another process.
    """

    def __init__(self, torch: Any, dtypes: Dtypes, zero_copy: bool = False, sent: bool = False) -> None:
        self.torch, self.dtypes, self.zero_copy, self.sent = torch, dtypes, zero_copy, sent
        self._tree: Tree | None = None
        self._leaves: list[Callable[[Any], Any]] = []
        self._shared: Callable[[Any], Any] = _never
        self._any: Callable[[Any], Any] = _never

    def of(self, block: Block) -> Callable[[Any], Any]:
        """The converter for the elements of a block. Most blocks hold only arrays that can be shared as they are, which
        whole columns show.
        """
        self._learn(block.tree)
        if self.dtypes.given:
            return self._any
        for c in block.columns:
            if type(c) is not np.ndarray or c.ndim < 2 or not c.flags.carray or c.dtype.kind not in SHARED:
                return self._any
        return self._shared

    def apart(self, element: object) -> tuple[Tree, list[Any], list[Any]]:
        """The structure of one element, its leaves, and their tensors."""
        leaves, tree = flatten(element)
        self._learn(tree)
        return tree, leaves, [make(leaf) for make, leaf in zip(self._leaves, leaves, strict=True)]

    def _learn(self, tree: Tree) -> None:
        if tree is not self._tree:
            if tree != self._tree:
                self.dtypes.check(tree)
                self._leaves = [self._leaf(path) for path in tree.paths()]
                self._any = converter(tree, self._leaves)
                self._shared = converter(tree, [self._marked if self.sent else self.torch.from_numpy] * tree.size)
            self._tree = tree

    def _leaf(self, path: str) -> Callable[[Any], Any]:
        def leaf(value: Any) -> Any:
            made = self._tensor(path, value)
            name = self.dtypes.wanted(path, value.dtype) if made is not None and self.dtypes.given else None
            made = made if name is None else made.to(getattr(self.torch, name))
            return is_marked(self.torch, made) if self.sent else made

        return leaf

    def _marked(self, array: Any) -> Any:
        return is_marked(self.torch, self.torch.from_numpy(array))

    def _tensor(self, path: str, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (np.ndarray, np.generic)) or is_string(value):
            raise refused(OP, path, value)
        # PyTorch does not support read-only memory or negative strides, and scalars have no memory to share.
        array = readable(value) if self.zero_copy and isinstance(value, np.ndarray) else value
        if not isinstance(array, np.ndarray) or not array.flags.writeable or min(array.strides, default=0) < 0:
            array = np.array(value, order="C")
        if array.dtype.kind == "V" and array.dtype.name == "bfloat16":  # by its bits: from_numpy does not support it
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        try:
            return self.torch.from_numpy(array)
        except TypeError:
            raise refused(OP, path, value) from None


def _never(element: object) -> Any:
    raise TypeError("the structure is not known yet")


class TorchIterator(Iterator[Any]):
    """An `Iterator` whose elements are tensors that share memory with the arrays."""

    calls_one_by_one = False

    def __init__(self, dataset: Any, convert: TensorConverter) -> None:
        self._convert = convert
        super().__init__(dataset._run(), lambda: dataset.element_spec)

    def _handed_out(self) -> Any:
        block, rows = self._cursor.block, self._cursor.rows
        return rows if block is None else map(self._convert.of(block), rows)


class TorchDevicePrefetcher(DevicePrefetcher):
    """Elements on a device. They are copied on a separate stream, in parallel with computation, from pinned memory:
    that of the batch itself if it is reused, otherwise PyTorch's.
    """

    def __init__(self, source: Iterator[Any], convert: TensorConverter, torch: Any, device: Any, pin: bool) -> None:
        self.torch, self.convert, self.pin = torch, convert, pin
        self.device = None if device is None else torch.device(device)
        self.streamed = self.device is not None and self.device.type == "cuda"
        self.stream = torch.cuda.Stream(self.device) if self.streamed else None
        self.driver = driver(torch) if self.streamed and pin else None
        self.copies = PendingCopies()
        weakref.finalize(self, self.copies.wait, 0)  # copies may still be in progress when it is dropped
        super().__init__(source, self._moved, AHEAD if self.device is not None else 1)

    def _moved(self, element: Any) -> Any:
        tree, arrays, host = self.convert.apart(element)
        if self.driver is not None:
            pairs = zip(host, arrays, strict=True)
            host = [t if t is None or self._readable(t, a) else t.pin_memory() for t, a in pairs]
        elif self.pin:
            host = [t if t is None else t.pin_memory() for t in host]
        if self.device is None:
            return tree, host, None
        if not self.streamed:
            return tree, [t if t is None else t.to(self.device) for t in host], None
        self.copies.wait(MAX_IN_FLIGHT - 1)
        with self.torch.cuda.stream(self.stream):
            there = [t if t is None else t.to(self.device, non_blocking=True) for t in host]
            done = self.torch.cuda.Event(blocking=True)
            done.record(self.stream)
        self.copies.add(done, (element, host))
        return tree, there, done

    def _readable(self, tensor: Any, array: Any) -> bool:
        """Whether the tensor shares the array's memory, and that is pinned."""
        if self.driver is None or not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            return False
        return array.nbytes >= LARGE and locked.holds(array, self.driver) and tensor.data_ptr() == address(array)

    def arrived(self, moved: Any) -> Any:
        """The tensors, safe to use on the current stream: it waits for the copy, and their memory is not reused before
        the current stream is done with it.
        """
        tree, tensors, done = moved
        if done is not None:
            current = self.torch.cuda.current_stream(self.device)
            current.wait_event(done)
            for tensor in tensors:
                if tensor is not None:
                    tensor.record_stream(current)
        return tree.unflatten(tensors)

    def finished(self) -> None:
        """Waits for the last copies, which frees the memory they read."""
        self.copies.wait(0)


@functools.cache
def driver(torch: Any) -> Driver:
    """CUDA, as PyTorch exposes it."""
    runtime = torch.cuda.cudart()

    def lock(array: Any, first: int, size: int) -> bool:
        if torch.from_numpy(readable(array)).is_pinned() or int(runtime.cudaHostRegister(first, size, 0)) == 0:
            return True
        with suppress(RuntimeError):  # CUDA keeps the error, and the next kernel would raise it
            torch.zeros(1, device="cuda")
        return False

    return Driver(lock, runtime.cudaHostUnregister)


def to_torch(
    self: DatasetBase[Any],
    device: object = None,
    pin_memory: bool | None = None,
    dtypes: object = None,
    on_uneven: OnUneven = "allow",
) -> TorchBatches:
    """Converts elements to PyTorch tensors. Batches share their memory with the tensors; nothing is copied.

    >>> import torch
    >>> batches = fl.Dataset.from_tensor_slices({"x": [[1.0, 2.0], [3.0, 4.0]], "y": [0, 1]}).batch(2).to_torch()
    >>> next(iter(batches))
    {'x': tensor([[1., 2.],
            [3., 4.]]), 'y': tensor([0, 1], dtype=torch.int32)}

    With `device`, elements are moved there; to a GPU from pinned memory, on a separate stream, one element ahead of its
    use. `dtypes` casts leaves: one dtype, or a mapping from dtypes or paths of leaves to dtypes.

    >>> ds = fl.Dataset.from_tensor_slices((np.zeros((4, 2)), np.arange(4))).batch(4)
    >>> x, y = next(iter(ds.to_torch(dtypes={fl.float64: torch.bfloat16, "$[1]": torch.int32})))
    >>> x.dtype, y.dtype
    (torch.bfloat16, torch.int32)

    Labels from lists, CSV files and Keras's loaders are int32, as in TensorFlow, and PyTorch's losses need int64
    ("expected target dtype to be Long, but got Int"): `dtypes={fl.int32: torch.int64}`.

    The result is an `IterableDataset`, so `DataLoader(batches, batch_size=None, num_workers=4)` works, and its workers
    share the dataset: each element goes to exactly one of them, and, if `torch.distributed` is initialized, to exactly
    one of the processes. See `auto_shard_policy` in `fl.Options` for where it is divided. A `shard(world_size, rank)`
    in the dataset is recognized as that division; any other shard is then an error. Worker processes go through the
    epochs of a shuffle in order.

    If the processes have different numbers of elements, `on_uneven` decides what happens at the end of an epoch: "pad"
    repeats the first elements of processes with fewer, "drop" omits the last ones of processes with more, "error"
    raises before the first element, and "allow" yields all elements as they are. All but "allow" need a number that is
    known or can be counted.

    >>> [b.tolist() for b in fl.Dataset.range(3).batch(2).to_torch(on_uneven="drop")]  # there is one process only
    [[0, 1], [2]]

    Strings, ragged and sparse tensors cannot be converted; an error names the leaf and what to do.
    """
    torch = needed("torch", "torch", OP)
    if spec_known(self._plan):
        check(OP, self.element_spec)
    place = None if device is None else torch.device(device)
    gpu = place is not None and place.type == "cuda"
    if gpu and not torch.cuda.is_available():
        raise InvalidArgumentError(f"{OP}: device={str(device)!r}, but PyTorch finds no GPU here; omit device")
    pin = gpu if pin_memory is None else bool(pin_memory)
    if pin and not torch.cuda.is_available():
        raise InvalidArgumentError(f"{OP}: pin_memory needs a GPU, and PyTorch finds none here; omit it")
    return iterable_dataset()(self, None if place is None or place.type == "cpu" else place, pin, dtypes, on_uneven)
