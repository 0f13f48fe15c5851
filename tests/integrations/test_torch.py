from __future__ import annotations

import inspect
import pickle
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

import feedline as fl
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.integrations.device_prefetch import DevicePrefetcher
from feedline.integrations.torch import TorchDevicePrefetcher
from feedline.structure.nest import LEAF

D = fl.Dataset

pytestmark = [
    # torchdata calls a function of PyTorch that does nothing any more.
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),
    # PyTorch forks its workers, and counts the processors.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
]


def lists(batches: Any) -> list[Any]:
    return [b.tolist() for b in batches]


def test_batches_share_their_memory() -> None:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    arrays = iter(D.from_tensor_slices((x, np.arange(6))).batch(4))
    tensors = iter(D.from_tensor_slices((x, np.arange(6))).batch(4).to_torch())
    for array, tensor in zip(arrays, tensors, strict=True):
        assert isinstance(tensor, tuple)
        for a, t in zip(array, tensor, strict=True):
            assert isinstance(t, torch.Tensor)
            assert t.numpy().dtype == a.dtype
            np.testing.assert_array_equal(t.numpy(), a)
    seen: list[Any] = []
    ds = D.range(4).batch(2).map(lambda b: (seen.append(b), b)[1])
    plain = D.range(4).batch(2)
    first = next(iter(plain.to_torch()))
    first[0] = 7  # the batch belongs to whoever got it
    assert lists(plain.to_torch()) == [[0, 1], [2, 3]]
    assert lists(ds.to_torch()) == [[0, 1], [2, 3]]


def test_read_only_views_are_copied_without_a_warning() -> None:
    x = np.arange(6.0).reshape(3, 2)
    rows = list(D.from_tensor_slices(x).to_torch())
    rows[0][0] = 9.0
    assert x[0, 0] == 0.0
    assert rows[1].tolist() == [2.0, 3.0]
    cached = D.range(4).batch(2).cache()
    for _ in range(2):
        for batch in cached.to_torch():
            batch += 100
    assert lists(cached.to_torch()) == [[0, 1], [2, 3]]


class Pair(NamedTuple):
    x: Any
    y: Any


def test_structures_scalars_and_dtypes() -> None:
    def make(x: Any) -> Any:
        return {"p": Pair(np.float32(x), np.full((2, 2), x)[::-1]), "b": x > 0, "n": None}

    element = list(D.range(2).map(make).to_torch())[1]
    assert list(element) == ["p", "b", "n"]
    assert isinstance(element["p"], Pair)
    assert element["p"].x.shape == ()
    assert element["p"].x.dtype == torch.float32
    assert element["p"].y.tolist() == [[1, 1], [1, 1]]
    assert element["b"].item() is True
    assert element["n"] is None
    for dtype in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "float16", "complex64", "bool"):
        (tensor,) = D.from_tensor_slices(np.ones((2, 3), dtype)).batch(2).to_torch()
        assert tensor.dtype == getattr(torch, dtype)
        assert tensor.shape == (2, 3)
    half = np.array([[1.5, -2.0]]).astype(fl.bfloat16.as_numpy_dtype)
    (tensor,) = D.from_tensor_slices(half).batch(1).to_torch()
    assert tensor.dtype == torch.bfloat16
    assert tensor.tolist() == [[1.5, -2.0]]


def test_negative_strides() -> None:
    (tensor,) = D.from_tensors(np.arange(4)).map(lambda x: x[::-1]).to_torch()
    assert tensor.tolist() == [3, 2, 1, 0]
    (batch,) = D.from_tensor_slices(np.arange(4).reshape(2, 2)).batch(2).map(lambda x: x[:, ::-1]).to_torch()
    assert batch.tolist() == [[1, 0], [3, 2]]


def test_dtypes_are_cast() -> None:
    ds = D.from_tensor_slices({"x": np.zeros((4, 2)), "y": np.arange(4), "z": np.zeros(4)}).batch(4)
    (got,) = ds.to_torch(dtypes={"float64": torch.float16, "$.z": np.float32})
    assert {k: v.dtype for k, v in got.items()} == {"x": torch.float16, "y": torch.int64, "z": torch.float32}
    (got,) = ds.to_torch(dtypes=torch.float32)
    assert {v.dtype for v in got.values()} == {torch.float32}
    with pytest.raises(InvalidArgumentError, match=r"dtypes names the leaf \$\.w, but the elements have \$\.x, \$\.y"):
        next(iter(ds.to_torch(dtypes={"$.w": "float32"})))


def test_leaves_without_a_tensor_are_named() -> None:
    strings = D.from_tensor_slices({"x": [1, 2], "name": ["a", "b"]})
    with pytest.raises(InvalidTypeError, match=r"to_torch: the leaf \$\.name holds strings.*drop it, or convert it"):
        strings.batch(2).to_torch()
    late = D.range(2).map(lambda x: (x, str(int(x)))).to_torch()  # its spec is known only once it runs
    with pytest.raises(InvalidTypeError, match=r"the leaf \$\[1\] holds strings"):
        next(iter(late))
    ragged = D.range(3).map(lambda x: np.arange(int(x))).ragged_batch(3)
    with pytest.raises(InvalidTypeError, match=r"the leaf \$ is ragged.*padded_batch"):
        next(iter(ragged.to_torch()))
    assert lists(ragged.map(lambda r: r.to_tensor()).to_torch()) == [[[0, 0], [0, 0], [0, 1]]]
    sparse = D.from_tensors({"s": fl.SparseTensor([[0, 1]], [5], [2, 2])})
    with pytest.raises(InvalidTypeError, match=r"the leaf \$\.s is sparse.*to_dense"):
        sparse.to_torch()
    with pytest.raises(InvalidTypeError, match=r"holds datasets.*flat_map"):
        D.range(4).window(2).to_torch()


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"to_torch needs the package torch: pip install 'feedline\[torch\]'"):
        D.range(3).to_torch()


def test_devices_that_are_not_there() -> None:
    if not torch.cuda.is_available():
        with pytest.raises(InvalidArgumentError, match="finds no GPU here; omit device"):
            D.range(3).to_torch(device="cuda")
        with pytest.raises(InvalidArgumentError, match="pin_memory needs a GPU"):
            D.range(3).to_torch(pin_memory=True)
    assert lists(D.range(3).batch(3).to_torch(device="cpu")) == [[0, 1, 2]]


def test_a_device_gets_elements_ahead() -> None:
    taken: list[int] = []

    def seen(x: Any) -> Any:
        taken.append(int(x))
        if x == 3:
            raise ValueError("bad")
        return x

    moved = D.range(5).map(seen).to_torch(device="meta")  # a device every PyTorch has
    it = iter(moved)
    assert next(it).device.type == "meta"
    assert taken == [0, 1]
    next(it), next(it)
    with pytest.raises(ValueError, match="bad"):
        next(it)
    assert next(it).device.type == "meta"
    with pytest.raises(StopIteration):
        next(it)


class Gpu:
    """Stands for the parts of PyTorch that a GPU is used through, and notes the calls."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.on = "main"
        self.cuda = self

    def device(self, name: str) -> Any:
        return torch.device(name)

    def Stream(self, device: Any) -> str:
        return "side"

    @contextmanager
    def stream(self, name: str) -> Iterator[None]:
        self.on = name
        yield
        self.on = "main"

    def current_stream(self, device: Any) -> Any:
        return self

    def cudart(self) -> Any:
        return self

    def cudaHostUnregister(self, first: int) -> None:
        self.said.append("unlock")

    def Event(self, blocking: bool) -> Any:
        assert blocking
        return self

    def synchronize(self) -> None:
        self.said.append("waited for")

    def record(self, stream: str) -> None:
        self.said.append(f"event on {stream}")

    def wait_event(self, event: Any) -> None:
        self.said.append(f"{self.on} waits")


class OnGpu:
    """A tensor that notes what is done to it."""

    def __init__(self, gpu: Gpu, value: int) -> None:
        self.gpu, self.value = gpu, value

    def pin_memory(self) -> OnGpu:
        self.gpu.said.append(f"pin {self.value}")
        return self

    def to(self, device: Any, non_blocking: bool) -> OnGpu:
        assert non_blocking
        self.gpu.said.append(f"copy {self.value} on {self.gpu.on}")
        return self

    def record_stream(self, stream: Any) -> None:
        self.gpu.said.append(f"{self.value} used on {self.gpu.on}")


def test_a_gpu_gets_batches_on_a_stream_of_their_own() -> None:
    gpu: Any = Gpu()

    class OnGpus:
        @staticmethod
        def apart(element: Any) -> Any:
            return LEAF, [element], [OnGpu(gpu, int(element))]

    moved = TorchDevicePrefetcher(iter(D.range(2)), OnGpus, gpu, "cuda:0", True)  # type: ignore[arg-type]
    assert next(moved).value == 0
    copies = ["pin 0", "copy 0 on side", "event on side", "pin 1", "copy 1 on side", "event on side"]
    assert gpu.said == [*copies, "main waits", "0 used on main"]
    assert next(moved).value == 1
    assert gpu.said[-2:] == ["main waits", "1 used on main"]
    assert list(moved) == []


def test_elements_on_their_way_are_part_of_the_state() -> None:
    for stop in range(6):
        staged = DevicePrefetcher(iter(D.range(5)), lambda x: int(x) * 10, 2)
        got = [next(staged) for _ in range(stop)]
        state = staged.save()
        other = DevicePrefetcher(iter(D.range(5)), lambda x: int(x) * 10, 2)
        other.restore(state)
        assert got + list(other) == [0, 10, 20, 30, 40]
        staged.close()


def test_it_is_an_iterable_dataset_with_a_length() -> None:
    batches = D.range(10).batch(3).to_torch()
    assert isinstance(batches, IterableDataset)
    assert len(batches) == 4
    assert len(DataLoader(batches, batch_size=None)) == 4
    with pytest.raises(TypeError, match="infinite"):
        len(D.range(3).repeat().to_torch())
    assert "to_torch of <fl.Dataset batch(3)" in repr(batches)
    assert list(inspect.signature(D.to_torch).parameters) == ["self", "device", "pin_memory", "dtypes", "on_uneven"]


def test_it_pickles_with_its_functions() -> None:
    offset = 5
    batches = pickle.loads(pickle.dumps(D.range(4).map(lambda x: x + offset).batch(2).to_torch()))
    assert isinstance(batches, IterableDataset)
    assert lists(batches) == [[5, 6], [7, 8]]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_workers_give_the_order_of_the_dataset(workers: int) -> None:
    batches = D.range(23).map(lambda x: x * 2).batch(3).to_torch()
    loader = DataLoader(batches, batch_size=None, num_workers=workers)
    assert list(chain(*lists(loader))) == list(range(0, 46, 2))


def shuffled(scale: int) -> Any:
    return D.range(13).map(lambda x: x * scale).shuffle(13, seed=1).batch(4).to_torch()


def test_workers_share_a_shuffle_and_go_through_its_epochs() -> None:
    with iter(D.range(1000).map(opaque).prefetch(2)) as running:  # threads of the parent's that no worker has
        next(running)
        loader = DataLoader(shuffled(3), batch_size=None, num_workers=2)
        epochs = [lists(loader) for _ in range(3)]
    assert [sorted(chain(*e)) for e in epochs] == [list(range(0, 39, 3))] * 3
    assert epochs[0] != epochs[1] != epochs[2]
    kept = DataLoader(shuffled(3), batch_size=None, num_workers=2, persistent_workers=True)
    assert [lists(kept) for _ in range(3)] == epochs
    del kept


def test_workers_that_are_not_forked() -> None:
    batches = shuffled(3)
    loader = DataLoader(batches, batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert lists(loader) == lists(shuffled(3))
    assert batches._epochs[0] == 1  # the next one, another process, goes on from there


def test_an_iterator_of_the_parent_does_not_cross_the_fork() -> None:
    batches = D.range(50).map(opaque, num_parallel_calls=2).prefetch(4).batch(5).to_torch()
    begun = iter(batches)
    next(begun)
    loader = DataLoader(batches, batch_size=None, num_workers=1)
    assert list(chain(*lists(loader))) == list(range(50))
    assert list(chain(*lists(begun))) == list(range(5, 50))


def opaque(x: Any) -> Any:
    threading.get_ident()
    return x


def failure(batches: Any) -> Exception:
    """What a loader with a worker raises."""
    try:
        list(DataLoader(batches, batch_size=None, num_workers=1))
    except Exception as e:
        return e.with_traceback(None)
    raise AssertionError("nothing was raised")


def test_errors_come_out_of_workers_with_their_class() -> None:
    def fails(x: Any) -> Any:
        return {}["label"] if x == 2 else x

    error = failure(D.range(4).map(fails).batch(1).to_torch())
    assert isinstance(error, KeyError)
    assert isinstance(error, fl.errors.UnknownError)
    assert re.search(r"map at step 2 .* failed on element 2: KeyError: 'label'", str(error))
    error = failure(D.range(4).batch(2).to_torch(device="meta"))
    assert isinstance(error, FailedPreconditionError)
    assert "cannot be used with DataLoader workers" in str(error)


def test_state_in_the_middle_of_an_epoch() -> None:
    def make() -> Any:
        return D.range(20).shuffle(20, seed=4).batch(3).to_torch()

    batches = make()
    whole, second = lists(batches), lists(batches)
    for stop in range(len(whole) + 1):
        first = make()
        it = iter(first)
        got = [next(it).tolist() for _ in range(stop)]
        state = pickle.loads(pickle.dumps(first.state_dict()))
        other = make()
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert got + lists(other) == whole
        assert lists(other) == second
    fresh = make()
    assert fresh.state_dict()["state"] is None
    fresh.load_state_dict(make().state_dict())
    assert lists(fresh) == whole
    with pytest.raises(FailedPreconditionError, match="the state has version 9"):
        fresh.load_state_dict({"version": 9})
    other = make()
    other.load_state_dict(state | {"reader": [2, 1]})
    with pytest.raises(FailedPreconditionError, match="that of reader 1 of 2, and this is reader 0 of 1"):
        iter(other)


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_data_loader(workers: int) -> None:
    def make() -> Any:
        batches = D.range(29).shuffle(29, seed=3).batch(4).to_torch()
        return StatefulDataLoader(batches, batch_size=None, num_workers=workers)

    loader = make()
    whole, second = lists(loader), lists(loader)
    assert whole != second
    for stop in (0, 3, len(whole)) if workers == 0 else (3,):
        loader = make()
        it = iter(loader)
        got = [next(it).tolist() for _ in range(stop)]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        del it
        other = make()
        other.load_state_dict(state)
        assert got + lists(other) == whole
        assert lists(other) == second


def rank(number: int, ranks: int, rendezvous: str, results: Any) -> None:
    torch.distributed.init_process_group("gloo", f"file://{rendezvous}", rank=number, world_size=ranks)
    alone = lists(D.range(20).shuffle(20).batch(2).to_torch())
    ordered = D.range(20).batch(2).to_torch()
    loaded = [lists(DataLoader(ordered, batch_size=None, num_workers=k)) for k in (0, 2)]
    sent = pickle.dumps(ordered)  # to a worker that is not forked and has no process group
    torch.distributed.destroy_process_group()
    results.put((number, alone, [*loaded, lists(pickle.loads(sent))], len(ordered)))


def test_ranks_share_the_dataset(tmp_path: Path) -> None:
    context = torch.multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    arguments = 2, str(tmp_path / "rendezvous"), results
    started = [context.Process(target=rank, args=(i, *arguments)) for i in range(2)]
    for process in started:
        process.start()
    found = sorted(results.get() for _ in started)
    for process in started:
        process.join()
    assert sorted(x for _, alone, _, _ in found for batch in alone for x in batch) == list(range(20))
    for number, _, loaded, length in found:
        mine = [[i, i + 1] for i in range(number * 2, 20, 4)]
        assert loaded == [mine] * 3
        assert length == 5
