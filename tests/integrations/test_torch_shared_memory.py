"""Tensors from workers, through memory that is used again."""

from __future__ import annotations

import copy
import gc
import os
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import feedline as fl
from feedline.integrations import torch_shared_memory
from feedline.integrations.torch_shared_memory import SharedTensorPool, is_marked, received

D = fl.Dataset
ROWS, COLUMNS = 64, 8192  # 2 MB of float32


def through(pool: SharedTensorPool, tensor: Any) -> Any:
    """What another process gets."""
    made, arguments = pool.send(tensor)
    assert made is received
    return made(*arguments)


def place(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def large(value: float, dtype: Any = torch.float32) -> Any:
    return torch.full((ROWS, COLUMNS), value).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.bfloat16, torch.complex64, torch.uint8])
def test_values_of_any_dtype(dtype: Any) -> None:
    tensor = torch.arange(1 << 20).reshape(4, -1).to(dtype).repeat(2, 1)
    got = through(SharedTensorPool(torch), tensor)
    assert type(got) is torch.Tensor
    assert (got.dtype, got.shape) == (dtype, tensor.shape)
    assert torch.equal(got, tensor)
    got[0] = 0  # as tensors may


def test_memory_is_used_again_once_nobody_uses_it() -> None:
    pool = SharedTensorPool(torch)
    first, second = through(pool, large(1)), through(pool, large(2))
    assert place(first) != place(second)
    view, was = first[3:5, :10], place(first)
    del first
    third = through(pool, large(3))
    assert place(third) != was
    assert view.eq(1).all()
    del view
    fourth = through(pool, large(4))
    assert place(fourth) == was
    assert [int(t[0, 0]) for t in (second, third, fourth)] == [2, 3, 4]
    array = second.numpy()
    del second
    through(pool, large(5))
    assert (array == 2).all()


def test_what_takes_pytorchs_own_way() -> None:
    pool = SharedTensorPool(torch)
    shared = large(1).share_memory_()
    for tensor in (torch.ones(3), large(1).t(), shared, large(1).requires_grad_()):
        assert pool.send(tensor)[0] is not received


def test_a_child_that_was_forked_neither_writes_nor_frees() -> None:
    pool = SharedTensorPool(torch)
    held = [through(pool, large(1))]
    child = os.fork()
    if child == 0:
        held.clear()
        gc.collect()
        os._exit(0 if pool._piece(1 << 21) is None else 1)  # PyTorch's threads do not exist here, so nothing is sent
    assert os.waitpid(child, 0)[1] == 0
    other = through(pool, large(2))
    assert place(other) != place(held[0])
    assert held[0].eq(1).all()


def test_no_more_than_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    size = large(1).nbytes
    monkeypatch.setattr(torch_shared_memory, "MAX_POOLED", 2 * size)
    pool = SharedTensorPool(torch)
    held = [through(pool, large(i)) for i in range(2)]
    assert pool.send(large(2))[0] is not received
    held.pop()
    held.append(through(pool, large(3)))
    held.clear()
    monkeypatch.setattr(torch_shared_memory, "OLD", 3)
    ways = []
    for _ in range(8):  # larger ones find room once the memory of the others is given back
        made, arguments = pool.send(torch.ones(5 * size // 8, dtype=torch.float16))
        ways.append(made is received)
        if ways[-1]:
            assert received(*arguments).sum(dtype=torch.float32) == 5 * size // 8
        del arguments
    assert not ways[0]
    assert ways[-1]


def test_they_are_tensors_to_everything_else() -> None:
    tensor = is_marked(torch, large(2))
    assert isinstance(tensor, torch.Tensor)
    for made in (tensor + 1, tensor[0], copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor)), tensor.clone()):
        assert type(made) is torch.Tensor
    assert torch.equal(pickle.loads(pickle.dumps(tensor)), large(2))
    assert type(is_marked(torch, torch.ones(3))) is torch.Tensor
    assert is_marked(torch, None) is None


def batches(count: int) -> Any:
    def row(i: Any) -> Any:
        return {"x": np.full(COLUMNS, i, np.float32), "y": i}

    return D.range(ROWS * count).map(row).batch(ROWS)


@pytest.mark.parametrize("how", [{}, {"multiprocessing_context": "spawn"}, {"persistent_workers": True}])
def test_batches_of_workers(how: dict[str, Any]) -> None:
    count = 12
    loader = DataLoader(batches(count).to_torch(), batch_size=None, num_workers=2, **how)
    for _ in range(2):
        kept = []
        for number, batch in enumerate(loader):
            assert type(batch["x"]) is torch.Tensor
            assert torch.equal(batch["x"][:, 0].long(), batch["y"])
            assert torch.equal(batch["x"][:, -1].long(), batch["y"])
            if number % 3 == 0:
                kept.append(batch)
        for batch in kept:
            assert torch.equal(batch["x"].long(), batch["y"][:, None].expand(ROWS, COLUMNS))


def doubled(batch: Any) -> Any:
    assert isinstance(batch["x"], torch.Tensor)
    return batch["x"] * 2, batch["x"].mul_(3), batch["x"][:1]


def test_what_a_collate_function_makes_of_them() -> None:
    loader = DataLoader(batches(3).to_torch(), batch_size=None, num_workers=1, collate_fn=doubled)
    for number, (twice, thrice, row) in enumerate(loader):
        expect = torch.arange(number * ROWS, (number + 1) * ROWS)
        assert torch.equal(twice[:, 5].long(), expect * 2)
        assert torch.equal(thrice[:, 5].long(), expect * 3)
        assert torch.equal(row[:, 5].long(), expect[:1] * 3)


def test_a_pytorch_that_has_no_such_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_disabled_torch_function_impl")
    torch_shared_memory.mark_for_sharing.cache_clear()
    try:
        assert torch_shared_memory.mark_for_sharing(torch) is None
        assert type(is_marked(torch, large(1))) is torch.Tensor
        ds = D.from_tensor_slices(np.ones((8, ROWS, COLUMNS), np.float32)).batch(1)
        batches = list(DataLoader(ds.to_torch(), batch_size=None, num_workers=1))
        assert [type(b) for b in batches] == [torch.Tensor] * 8
        assert all(b.eq(1).all() for b in batches)
    finally:
        torch_shared_memory.mark_for_sharing.cache_clear()
