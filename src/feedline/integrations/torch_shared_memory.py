"""Tensors on their way from a worker of a `DataLoader` to the program, through memory that is used again.

PyTorch takes new shared memory for each batch, and the system clears every page of it: for pictures, a tenth of what
decoding them takes. Here a worker copies a large tensor, in the thread that sends it, to shared memory that others have
gone through before. The program clears the byte behind it once nobody there uses the tensor any more.
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
"""Memory that has not been used for so many tensors is given back."""


@functools.cache
def mark_for_sharing(torch: Any) -> Any:
    """A class of tensors that go through such memory when they are sent. To everything else they are tensors."""

    class SharedTensor(torch.Tensor):  # type: ignore[misc]
        __torch_function__ = torch._C._disabled_torch_function_impl  # what is computed from them is no more of them

        def __reduce_ex__(self, protocol: Any) -> Any:
            return self.as_subclass(torch.Tensor).__reduce_ex__(protocol)

        def __deepcopy__(self, memo: Any) -> Any:
            return self.as_subclass(torch.Tensor).__deepcopy__(memo)

    ForkingPickler.register(SharedTensor, SharedTensorPool(torch).send)
    return SharedTensor


def is_marked(torch: Any, tensor: Any) -> Any:
    """The tensor as one of those, if it is large."""
    return tensor.as_subclass(mark_for_sharing(torch)) if tensor is not None and tensor.nbytes >= LARGE else tensor


class SharedTensorBuffer:
    """Shared memory for one tensor, and a byte behind it that says whether it is in use."""

    def __init__(self, torch: Any, size: int) -> None:
        self.bytes = torch.empty(size + 1, dtype=torch.uint8).share_memory_()
        self.size, self.last = size, 0
        self._flag: Array = self.bytes[size:].numpy()
        self._flag[0] = FREE

    @property
    def free(self) -> bool:
        """True until it is taken, and when the program is done with it."""
        return int(self._flag[0]) == FREE

    def take(self, count: int) -> None:
        """For tensor number `count`."""
        self._flag[0], self.last = IN_USE, count


class SharedTensorPool:
    """The shared memory of a worker."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._lock = threading.Lock()
        self._pieces: list[SharedTensorBuffer] = []
        self._count = 0
        self._pid = os.getpid()

    def send(self, tensor: Any) -> Any:
        """How a tensor is pickled for another process."""
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
        """Memory for so many bytes; None where there is too much already."""
        if self._pid != os.getpid():  # in a child that was forked, and has no right to this memory
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
    """The tensor in the process that has got it."""
    import torch

    def view(first: int, count: int) -> Array:
        array: Array = torch.empty(0, dtype=torch.uint8).set_(storage, first, (count,)).numpy()
        return array

    array = view(0, size)  # which the tensor's memory holds, so it lives as long as any view of the tensor
    weakref.finalize(array, _release, view(storage.nbytes() - 1, 1), os.getpid()).atexit = False
    return torch.from_numpy(array).view(dtype).view(shape)


def _release(flag: Array, pid: int) -> None:
    if pid == os.getpid():  # a child that was forked has tensors of its parent's, and drops them
        flag[0] = FREE
