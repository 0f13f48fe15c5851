"""JAX arrays on the processor, made as the one before was.

`jax.device_put` takes tens of microseconds to find out what it is given and where it goes; whole batches take less.
Batches are alike, so what it has found out for one is kept, and JAX's own call beneath it makes the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

Known = tuple[Any, Any, Any, Any, Any, Any, Any]
NOTHING: Known = (None,) * 7


class Alike:
    """Puts the arrays of one leaf where `device_put` puts them, in a tenth of its time. As there, an array shares the
    memory that it is made from where that begins at a multiple of 64 bytes.
    """

    __slots__ = ("_beneath", "_config", "_jax", "_known")

    def __init__(self, jax: Any) -> None:
        self._jax, self._config = jax, jax.config
        self._beneath = beneath(jax)
        self._known: Known = NOTHING

    def __call__(self, leaf: Any) -> Any:
        """The array; None stays None."""
        if leaf is None:
            return None
        shape, dtype, default, aval, sharding, devices, committed = self._known
        if leaf.shape == shape and leaf.dtype == dtype and self._config.jax_default_device is default:
            try:
                return self._beneath(aval, sharding, [leaf], devices, committed)  # type: ignore[misc]
            except Exception:  # where transfers are guarded; `device_put` makes it, or says what is the matter
                return self._jax.device_put(leaf)
        made = self._jax.device_put(leaf)
        self._known = NOTHING if self._beneath is None else self._learned(leaf, made)
        return made

    def _learned(self, leaf: Any, made: Any) -> Known:
        if not isinstance(leaf, np.ndarray) or isinstance(made, self._jax.core.Tracer):
            return NOTHING
        devices = list(made.devices())
        if not leaf.ndim or made.dtype != leaf.dtype or len(devices) != 1 or devices[0].platform != "cpu":
            return NOTHING
        default = self._config.jax_default_device
        return leaf.shape, leaf.dtype, default, made.aval, made.sharding, devices, made.committed


@functools.cache
def beneath(jax: Any) -> Callable[..., Any] | None:
    """The call beneath `device_put`. It is none of JAX's public ones, so it is tried out; None where it has changed."""
    try:
        from jax._src.lib import xla_client

        call: Callable[..., Any] = xla_client.batched_device_put
        array = np.arange(3, dtype=np.float32)
        like = jax.device_put(array)
        made = call(like.aval, like.sharding, [array], list(like.devices()), like.committed)
        good = made.tolist() == [0, 1, 2] and (made.aval, made.sharding) == (like.aval, like.sharding)
    except Exception:  # whatever another version makes of it
        return None
    return call if good else None


@functools.cache
def let_go(jax: Any) -> Callable[[], None]:
    """Has JAX let go of the memory of arrays that are gone. By itself it does so by and by, and new batches would lie
    in memory that no cache of the processor holds.
    """
    try:
        from jax._src.lib import xla_client

        call: Callable[[], None] = xla_client._xla.collect_garbage
        call()
    except Exception:  # as above
        return _nothing
    return call


def _nothing() -> None: ...
