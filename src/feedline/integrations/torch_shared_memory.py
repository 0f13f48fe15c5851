"""Shared memory, reused, for tensors that a `DataLoader` worker sends to the main process.

PyTorch allocates new shared memory for each batch, and the system clears every page of it: for images, a tenth of the
time to decode them. Here a worker copies a large tensor, in the thread that sends it, to shared memory that was used
before. The main process clears the byte behind it once the tensor is no longer referenced there.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from feedline.structure.buffer_pool import LARGE, MAX_POOLED

Array = np.ndarray[Any, Any]

FREE, IN_USE = 0, 1
OLD = 64
"""Memory that has been unused for this many tensors is released."""


@functools.cache
def mark_for_sharing(torch: Any) -> Any:
    """A class of tensors that are sent through such memory. In all other respects they are plain tensors. None if
    PyTorch lacks what that takes, which is not public: then tensors are sent as PyTorch does it.
    """
    try:
        from torch._C import _disabled_torch_function_impl as plain_results
    except ImportError:
        return None

    class SharedTensor(torch.Tensor):  # type: ignore[misc]
        __torch_function__ = plain_results  # results computed from them are plain tensors

        def __reduce_ex__(self, protocol: Any) -> Any:
            return self.as_subclass(torch.Tensor).__reduce_ex__(protocol)

        def __deepcopy__(self, memo: Any) -> Any:
            return self.as_subclass(torch.Tensor).__deepcopy__(memo)

    ForkingPickler.register(SharedTensor, SharedTensorPool(torch).send)
    return SharedTensor


def is_marked(torch: Any, tensor: Any) -> Any:
    """The tensor as an instance of that class, if it is large and there is such a class."""
    if tensor is None or tensor.nbytes < LARGE:
        return tensor
    kind = mark_for_sharing(torch)
    return tensor if kind is None else tensor.as_subclass(kind)


class SharedTensorBuffer:
    """Shared memory for one tensor, and a byte behind it that tells whether it is in use."""

    def __init__(self, torch: Any, size: int) -> None:
        self.bytes = torch.empty(size + 1, dtype=torch.uint8).share_memory_()
        self.size, self.last = size, 0
        self._flag: Array = self.bytes[size:].numpy()
        self._flag[0] = FREE

    @property
    def free(self) -> bool:
        """Whether it is unused: never taken, or released by the main process."""
        return int(self._flag[0]) == FREE

    def take(self, count: int) -> None:
        """Marks it as in use by tensor number `count`."""
        self._flag[0], self.last = IN_USE, count


class SharedTensorPool:
    """The pool of a worker's shared memory."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._lock = threading.Lock()
        self._pieces: list[SharedTensorBuffer] = []
        self._count = 0
        self._pid = os.getpid()

    def send(self, tensor: Any) -> Any:
        """Pickles a tensor for another process."""
        from torch.multiprocessing.reductions import reduce_tensor

        plain = tensor.detach().as_subclass(self._torch.Tensor).requires_grad_(tensor.requires_grad)
        simple = plain.device.type == "cpu" and plain.is_contiguous() and not plain.requires_grad
        large = plain.nbytes >= LARGE and not plain.is_shared()
        piece = self._piece(plain.nbytes) if simple and large else None
        if piece is None:
            return reduce_tensor(plain)
        piece.bytes[: plain.nbytes].view(plain.dtype).view(plain.shape).copy_(plain)
        return received, (piece.bytes.untyped_storage(), plain.dtype, plain.shape, plain.nbytes)

    def _piece(self, size: int) -> SharedTensorBuffer | None:
        """Memory for `size` bytes; None if the pool is full."""
        if self._pid != os.getpid():  # a forked child does not own this memory
            return None
        with self._lock:
            self._count += 1
            found = next((p for p in self._pieces if size <= p.size <= 2 * size and p.free), None)
            if found is None:
                self._pieces = [p for p in self._pieces if self._count - p.last <= OLD or not p.free]
                if sum(p.size for p in self._pieces) + size > MAX_POOLED:
                    return None
                found = SharedTensorBuffer(self._torch, size)
                self._pieces.append(found)
            found.take(self._count)
            return found


def received(storage: Any, dtype: Any, shape: Any, size: int) -> Any:
    """The tensor in the receiving process."""
    import torch

    def view(first: int, count: int) -> Array:
        array: Array = torch.empty(0, dtype=torch.uint8).set_(storage, first, (count,)).numpy()
        return array

    array = view(0, size)  # referenced by the tensor's storage: it lives as long as any view of the tensor
    weakref.finalize(array, _release, view(storage.nbytes() - 1, 1), os.getpid()).atexit = False
    return torch.from_numpy(array).view(dtype).view(shape)


def _release(flag: Array, pid: int) -> None:
    if pid == os.getpid():  # a forked child drops its parent's tensors without releasing them
        flag[0] = FREE
