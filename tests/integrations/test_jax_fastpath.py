"""JAX arrays that are made like those before them."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import feedline as fl
from feedline.integrations import jax_fastpath
from feedline.integrations.jax_fastpath import FastDevicePut
from feedline.kernels import NATIVE
from feedline.structure.buffer_pool import address

D = fl.Dataset


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each array that is made shares the memory it is made from."""
    seen: list[bool] = []
    put, call = jax.device_put, jax_fastpath.internal_device_put(jax)
    assert call is not None

    def noted(made: Any, leaf: Any) -> Any:
        seen.append(made.unsafe_buffer_pointer() == address(leaf))
        return made

    monkeypatch.setattr(jax, "device_put", lambda leaf: noted(put(leaf), leaf))
    monkeypatch.setattr(
        jax_fastpath,
        "internal_device_put",
        lambda jax: lambda aval, to, leaves, *more: noted(call(aval, to, leaves, *more), leaves[0]),
    )
    return seen


def batches() -> dict[str, Any]:
    x = np.arange(6400, dtype=np.float32).reshape(100, 64)
    slices = D.from_tensor_slices((x, np.arange(100, dtype=np.int32)))
    return {
        "batch": slices.batch(20),
        "shuffle": slices.shuffle(100, 1, reshuffle_each_iteration=False).batch(20),
        "function": slices.batch(20).map(lambda a, b: (a / 2 + 1, b)),
        "columns": slices.map(lambda a, b: (a / 2 + 1, b)).batch(20),
        "rows": slices.map(lambda a, b: (np.fft.rfft(a).real.astype(np.float32)[:32], b)).batch(20),
        "calls": slices.map(lambda a, b: (np.sort(a), b), num_parallel_calls=2).batch(20),
        "threads": slices.map(lambda a, b: (a * 3, b)).batch(20).prefetch(2),
        "narrowed": slices.map(lambda a, b: (a, b.astype(np.int64))).batch(20),
        "padded": slices.padded_batch(20),
    }


@pytest.mark.parametrize("name", batches())
def test_batches_are_not_copied(name: str, shared: list[bool]) -> None:
    ds = batches()[name]
    got = list(ds.to_jax())
    assert len(shared) == 10
    if NATIVE:
        large = shared[::2]
        assert all(large), "the first leaf"
    for made, expect in zip(got, ds, strict=True):
        for a, b in zip(made, expect, strict=True):
            np.testing.assert_array_equal(a, b)


def test_they_are_what_device_put_makes() -> None:
    put = FastDevicePut(jax)
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.int8, np.uint16, bool, np.complex64, np.float16, jnp.bfloat16):
        for shape in ((3, 4), (3, 4), (2, 4), (0, 4), (5,), (5,), (1, 1, 1)):
            array = rng.integers(0, 2, shape).astype(dtype)
            for value in (array, array[..., ::-1], np.asfortranarray(array), array):
                made, expect = put(value), jax.device_put(value)
                assert (made.aval, made.sharding, made.committed) == (expect.aval, expect.sharding, expect.committed)
                assert made.weak_type == expect.weak_type
                np.testing.assert_array_equal(made, expect)
    assert put(None) is None
    assert put(np.float32(3)).shape == ()


def test_settings_that_change_are_noticed() -> None:
    array = np.ones((4, 4), np.float32)
    put = FastDevicePut(jax)
    put(array)
    with jax.transfer_guard("disallow"):
        made = put(array)  # this transfer is asked for
    assert made.tolist() == array.tolist()
    with jax.transfer_guard("disallow_explicit"), pytest.raises(Exception, match="Disallowed host-to-device transfer"):
        put(array)
    with jax.default_device(jax.devices()[0]):
        assert put(array).committed == jax.device_put(array).committed
    wide = FastDevicePut(jax)
    with jax.enable_x64(True):
        assert wide(np.ones(3)).dtype == wide(np.ones(3)).dtype == np.float64
    traced = jax.jit(lambda x: x + put(array) + put(array + 1))
    assert traced(0.0).tolist() == np.full((4, 4), 3).tolist()
    assert put(array).tolist() == array.tolist()


class Pair(NamedTuple):
    x: Any
    y: Any


@pytest.mark.parametrize(
    "form",
    [
        lambda x, y: x,
        lambda x, y: (x,),
        lambda x, y: (x, y, x[:, :2]),
        lambda x, y: {"y": y, "x": x},
        lambda x, y: {"x": x},
        Pair,
        lambda x, y: {"in": (x, {"y": y}), "out": y},
        lambda x, y: (x, None, y),
    ],
)
def test_elements_of_any_structure(form: Any) -> None:
    x, y = np.arange(100, dtype=np.float32).reshape(50, 2), np.arange(50, dtype=np.int32)
    ds = D.from_tensor_slices((x, y)).batch(4).map(form)
    batches = ds.to_jax()
    for _ in range(2):  # the last batch of an epoch is shorter
        for made, expect in zip(batches, ds, strict=True):
            got, want = jax.tree.flatten(made), jax.tree.flatten(expect)
            assert got[1] == want[1]
            assert all(isinstance(leaf, jax.Array) for leaf in got[0])
            for a, b in zip(got[0], want[0], strict=True):
                np.testing.assert_array_equal(a, b)


def test_as_many_shapes_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_fastpath, "MOST", 3)
    rows = D.range(40).map(lambda i: np.full(1 + int(i) % 7, i, np.int32))
    ds = rows.padded_batch(2).repeat(2)
    assert [b.tolist() for b in ds.to_jax()] == [b.tolist() for b in ds]


def test_settings_that_change_within_an_epoch_are_noticed() -> None:
    ds = D.from_tensor_slices((np.ones((64, 4), np.float32), np.arange(64, dtype=np.int32))).batch(4)
    it = iter(ds.to_jax())
    for _ in range(8):
        next(it)
    with jax.transfer_guard("disallow"):
        assert next(it)[1].tolist() == [32, 33, 34, 35]
    with jax.transfer_guard("disallow_explicit"), pytest.raises(Exception, match="Disallowed host-to-device transfer"):
        next(it)
    assert next(it)[1].tolist() == [40, 41, 42, 43]


def test_the_memory_of_batches_is_used_again() -> None:
    ds = D.from_tensor_slices(np.ones((64, 1 << 17), np.float32)).batch(4)
    places = {batch.unsafe_buffer_pointer() for batch in ds.to_jax()}
    assert len(places) == 2, "one with the consumer, and the next"


def test_a_jax_without_the_call_beneath(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jax_fastpath.internal_device_put.__wrapped__
    assert whole(jax) is not None
    with monkeypatch.context() as patch:
        patch.setattr("jax._src.lib.xla_client.batched_device_put", None)
        assert whole(jax) is None
    collect = jax_fastpath.garbage_collector.__wrapped__
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "jax._src.lib", None)
        assert whole(jax) is None
        collect(jax)()
    monkeypatch.setattr(jax_fastpath, "internal_device_put", lambda jax: None)
    ds = D.range(10).map(lambda x: x * 2).batch(3)
    assert [b.tolist() for b in ds.to_jax()] == [b.tolist() for b in ds]


def test_what_a_step_donates_is_not_written_to() -> None:
    ds = D.from_tensor_slices(np.ones((64, 64), np.float32)).batch(16).cache()
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        assert [float(step(b).max()) for b in ds.to_jax()] == [2.0] * 4
    assert all((b == 1).all() for b in ds)


def test_arrays_that_are_kept_do_not_change() -> None:
    x = np.arange(200 * 64, dtype=np.float32).reshape(200, 64)
    ds = D.from_tensor_slices(x).shuffle(50, seed=3).map(lambda a: a + 1).batch(8).repeat(5)
    kept, copies = [], []
    for batch in ds.to_jax():
        kept.append(batch)
        copies.append(np.array(batch))
    for batch, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(batch, copy)
