from __future__ import annotations

import gc
import inspect
import json
import pickle
import socket
import subprocess
import sys
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import feedline as fl
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.structure.buffer_pool import address, buffers

D = fl.Dataset


def lists(batches: Any) -> list[Any]:
    return [b.tolist() for b in batches]


def run(*scripts: str, devices: int = 4) -> list[str]:
    """What scripts print, each run by a Python of its own with so many simulated devices, all at the same time."""
    start = f"import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count={devices}'\n"
    start += "import jax, numpy as np, feedline as fl\nfrom jax.sharding import NamedSharding, PartitionSpec as P\n"
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", start + script], stdout=pipe, stderr=pipe, text=True)
        for script in scripts
    ]
    said = [process.communicate(timeout=120) for process in started]
    assert all(process.returncode == 0 for process in started), "\n".join(err for _, err in said)
    return [out for out, _ in said]


def test_elements_are_jax_arrays() -> None:
    ds = D.from_tensor_slices({"x": np.ones((5, 2), np.float32), "y": np.arange(5)}).batch(2)
    got = list(ds.to_jax())
    assert [b["y"].tolist() for b in got] == [[0, 1], [2, 3], [4]]
    assert all(isinstance(v, jax.Array) for b in got for v in b.values())
    assert got[0]["x"].dtype == jnp.float32
    assert got[0]["y"].dtype == jnp.int32
    scalars = list(D.range(2).map(lambda x: (x, None, x > 0)).to_jax())
    assert [(int(a), b, bool(c)) for a, b, c in scalars] == [(0, None, False), (1, None, True)]
    (half,) = D.from_tensor_slices(np.ones((2, 2)).astype(fl.bfloat16.as_numpy_dtype)).batch(2).to_jax()
    assert half.dtype == jnp.bfloat16
    assert len(ds.to_jax()) == 3
    assert list(inspect.signature(D.to_jax).parameters) == ["self", "sharding", "prefetch", "dtypes", "on_uneven"]


def test_values_stay_though_memory_is_used_again() -> None:
    ds = D.range(10_000).batch(64).map(lambda x: x.astype(np.float32))
    assert sum(float(b.sum()) for b in ds.to_jax(prefetch=4)) == sum(range(10_000))


@pytest.mark.parametrize(("prefetch", "taken"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_batches_are_put_ahead(prefetch: int, taken: int) -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    for sharding, first in ((jax.devices()[0], taken), (None, 1)):  # where they are made is where they go: none ahead
        seen.clear()
        it = iter(D.range(5).map(note).to_jax(sharding, prefetch))
        assert int(next(it)) == 0
        assert len(seen) == first
        assert [int(x) for x in it] == [1, 2, 3, 4]


def test_an_error_comes_after_the_batches_before_it() -> None:
    def fails(x: Any) -> Any:
        if x == 1:
            raise ValueError("bad")
        return x

    it = iter(D.range(3).map(fails).to_jax())
    assert int(next(it)) == 0
    with pytest.raises(ValueError, match="bad"):
        next(it)
    assert int(next(it)) == 2


def test_float64_is_not_rounded_silently() -> None:
    ds = D.from_tensor_slices({"x": np.zeros((2, 2)), "y": [1, 2]}).batch(2)
    wanted = r'the leaf \$\.x is float64, which JAX without x64 would round.*dtypes=\{fl\.float64: fl\.float32\}.*x64'
    with pytest.raises(InvalidTypeError, match=wanted):
        ds.to_jax()
    late = D.range(2).map(opaque)  # its spec is known only once it runs
    with pytest.raises(InvalidTypeError, match=r"the leaf \$ is float64"):
        next(iter(late.to_jax()))
    (got,) = ds.to_jax(dtypes={fl.float64: jnp.bfloat16, "$.y": "int8"})
    assert (got["x"].dtype, got["y"].dtype) == (jnp.bfloat16, jnp.int8)
    with jax.enable_x64(True):
        (got,) = ds.to_jax()
        assert got["x"].dtype == jnp.float64
        assert next(iter(D.range(1 << 40, (1 << 40) + 1).to_jax())).dtype == jnp.int64


def opaque(x: Any) -> Any:
    return float(x) * np.float64(1.0)


def test_int64_is_narrowed_where_nothing_is_lost() -> None:
    assert lists(D.from_tensor_slices([-(2**31), 2**31 - 1]).batch(2).to_jax()) == [[-(2**31), 2**31 - 1]]
    for values, bad in (([1, 1 << 40], 1 << 40), ([-1, 1 << 31], 1 << 31), ([0, -(1 << 31) - 1], -(1 << 31) - 1)):
        with pytest.raises(InvalidArgumentError, match=rf"the leaf \$ is int64 and holds {bad}, which int32 cannot"):
            next(iter(D.from_tensor_slices(np.array(values)).batch(2).to_jax()))
    assert lists(D.from_tensor_slices(np.array([5, 2**32 - 1], np.uint64)).batch(2).to_jax()) == [[5, 2**32 - 1]]
    assert lists(D.from_tensor_slices(np.zeros((2, 0), np.int64)).batch(2).to_jax()) == [[[], []]]
    with pytest.raises(InvalidArgumentError, match="holds 4294967296, which uint32 cannot"):
        next(iter(D.from_tensors(np.uint64(1 << 32)).to_jax()))


def test_leaves_without_an_array_are_named() -> None:
    with pytest.raises(InvalidTypeError, match=r"to_jax: the leaf \$\[1\] holds strings"):
        D.from_tensor_slices(([1], ["a"])).to_jax()
    ragged = D.range(3).map(lambda x: np.arange(int(x))).ragged_batch(3)
    with pytest.raises(InvalidTypeError, match=r"to_jax: the leaf \$ is ragged.*padded_batch"):
        next(iter(ragged.to_jax()))
    with pytest.raises(InvalidArgumentError, match="prefetch must be zero or more, got -1"):
        D.range(3).to_jax(prefetch=-1)


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"to_jax needs the package jax: pip install 'feedline\[jax\]'"):
        D.range(3).to_jax()


def test_state_counts_what_was_handed_out_and_not_what_was_put_ahead() -> None:
    def make() -> Any:
        return D.range(11).shuffle(11, seed=2).batch(2).to_jax(prefetch=3)

    whole = lists(make())
    for stop in range(len(whole) + 1):
        batches = make()
        it = iter(batches)
        got = [next(it).tolist() for _ in range(stop)]
        other = make()
        other.load_state_dict(pickle.loads(pickle.dumps(batches.state_dict())))
        assert got + lists(other) == whole


def test_a_state_goes_from_where_batches_are_put_ahead_to_where_they_are_not() -> None:
    ds = D.from_tensor_slices({"x": np.arange(22, dtype=np.float32), "y": np.arange(22)}).batch(2)
    whole = [b["x"].tolist() for b in ds]
    ahead = ds.to_jax(jax.devices()[0], prefetch=4)
    it = iter(ahead)
    got = [next(it)["x"].tolist() for _ in range(3)]
    state = ahead.state_dict()
    assert len(state["state"]["ahead"]) == 3
    for taken in range(5):
        here = ds.to_jax()
        here.load_state_dict(pickle.loads(pickle.dumps(state)))
        it = iter(here)
        first = [next(it)["x"].tolist() for _ in range(taken)]
        again = here.state_dict()
        for batches in (ds.to_jax(), ds.to_jax(jax.devices()[0])):
            batches.load_state_dict(again)
            assert got + first + [b["x"].tolist() for b in batches] == whole
        assert got + first + [b["x"].tolist() for b in it] == whole


def test_an_iterator_that_is_closed() -> None:
    with iter(D.range(10).batch(2).to_jax()) as it:
        assert next(it).tolist() == [0, 1]
    with pytest.raises(FailedPreconditionError, match="closed"):
        next(it)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_an_iterator_that_is_dropped_is_freed_at_once(dtype: Any) -> None:
    it = iter(D.from_tensor_slices((np.ones((8, 2), dtype), np.arange(8))).batch(2).to_jax())
    next(it)
    gone = weakref.ref(it)
    gc.disable()
    try:
        del it
        assert gone() is None
    finally:
        gc.enable()


def test_x64_that_is_switched_within_an_epoch() -> None:
    it = iter(D.range(1 << 33, (1 << 33) + 8).map(lambda x: x + 1).batch(1).to_jax())
    with jax.enable_x64(True):
        assert [next(it).dtype for _ in range(3)] == [jnp.int64] * 3
    with pytest.raises(InvalidArgumentError, match="which int32 cannot hold"):
        for _ in range(5):
            next(it)


def test_a_device_and_a_structure_of_shardings() -> None:
    device = jax.devices()[0]
    ds = D.from_tensor_slices({"x": np.ones((4, 2), np.float32), "y": [1, 2, 3, 4]}).batch(4)
    (got,) = ds.to_jax(device)
    assert got["x"].devices() == {device}
    one = jax.sharding.SingleDeviceSharding(device)
    (got,) = ds.to_jax({"x": one, "y": device})
    assert got["x"].sharding == one
    with pytest.raises(InvalidArgumentError, match=r"sharding must be a jax\.sharding\.Sharding, a device, or these"):
        next(iter(ds.to_jax({"x": one})))


SHARDED = """
mesh = jax.make_mesh((4,), ("data",))
spread, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
ds = fl.Dataset.from_tensor_slices({"x": np.arange(20, dtype=np.float32).reshape(10, 2), "y": np.arange(10)})
for batch in ds.batch(8, drop_remainder=True).to_jax(spread):
    assert batch["x"].sharding == batch["y"].sharding == spread
    assert [s.data.shape for s in batch["x"].addressable_shards] == [(2, 2)] * 4
    assert np.asarray(batch["x"]).tolist() == np.arange(16).reshape(8, 2).tolist()
batch = next(iter(ds.batch(8).to_jax({"x": spread, "y": whole})))
assert batch["y"].sharding == whole and len(batch["y"].addressable_shards) == 4
got = []
try:
    for batch in ds.batch(8).to_jax(spread):
        got.append(batch["y"].shape)
except fl.errors.InvalidArgumentError as e:
    print(got, e)
try:
    next(iter(fl.Dataset.range(3).to_jax(spread)))
except fl.errors.InvalidArgumentError as e:
    print("the leaf $ of shape ()" in str(e))
assert next(iter(ds.batch(2).to_jax(jax.devices()[3])))["x"].devices() == {jax.devices()[3]}
"""

PROCESS = """
jax.distributed.initialize("localhost:{port}", num_processes=2, process_id={number})
mesh = jax.make_mesh((8,), ("data",))
spread = NamedSharding(mesh, P("data"))
ds = fl.Dataset.range(30).map(lambda x: x * 10).batch(4, drop_remainder=True)
batches = ds.to_jax(spread)
assert len(batches) == 3  # of seven in all
mine = [[s.data.tolist() for s in b.addressable_shards] for b in batches]
assert all(b.shape == (8,) for b in batches)
print(mine)
"""


def test_several_devices_and_several_processes() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    alone, *processes = run(
        *(SHARDED, PROCESS.format(port=port, number=0), PROCESS.format(port=port, number=1)), devices=4
    )
    assert alone.startswith("[(8,)] to_jax: the leaf $.")
    assert "batch(n, drop_remainder=True)" in alone
    assert alone.endswith("True\n")
    got = [json.loads(said) for said in processes]
    for number, batches in enumerate(got):
        firsts = [(i * 2 + number) * 40 for i in range(3)]
        assert [[x for shard in b for x in shard] for b in batches] == [[f, f + 10, f + 20, f + 30] for f in firsts]


def test_batches_that_are_put_together_are_not_copied_and_stay_as_they_are() -> None:
    def image(i: Any) -> Any:
        return np.full((64, 64, 16), i, np.float32)

    batches = list(D.range(64).map(image).batch(8).to_jax())
    assert [int(b[3, 0, 0, 0]) for b in batches] == [8 * i + 3 for i in range(8)]
    shared = buffers.empty((8, 64, 64, 16), np.dtype(np.float32))
    held = jax.device_put(shared)
    assert held.unsafe_buffer_pointer() == address(shared)
    place = address(shared)
    del shared
    assert address(buffers.empty((8, 64, 64, 16), np.dtype(np.float32))) != place, "JAX still has it"
    del held, batches
    buffers.trim()
