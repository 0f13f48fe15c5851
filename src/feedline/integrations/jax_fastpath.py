"""JAX arrays on the processor, made as those before were.

`jax.device_put` takes tens of microseconds to find out what it is given and where it goes; whole batches take less.
Batches are alike, so what it has found out for one is kept, and JAX's own call beneath it makes the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from feedline.integrations.dtypes import apart, converter
from feedline.structure.nest import Tree

MOST = 256
"""So many shapes are remembered."""


class DevicePlacement(NamedTuple):
    """Where `device_put` puts arrays while `default` is JAX's default device."""

    default: Any
    sharding: Any
    devices: list[Any]
    committed: bool


NOWHERE = DevicePlacement(object(), None, [], False)


class FastDevicePut:
    """Puts arrays where `device_put` puts them, in a tenth of its time. As there, an array shares the memory that it is
    made from where that begins at a multiple of 64 bytes.
    """

    __slots__ = ("_avals", "_beneath", "_config", "_jax", "_place")

    def __init__(self, jax: Any) -> None:
        self._jax, self._config = jax, jax.config
        self._beneath: Any = beneath(jax)
        self._place = NOWHERE
        self._avals: dict[tuple[Any, Any], Any] = {}

    def __call__(self, leaf: Any) -> Any:
        """The array; None stays None."""
        if leaf is None:
            return None
        default, sharding, devices, committed = self._place
        if self._config.jax_default_device is default:
            aval = self._avals.get((leaf.shape, leaf.dtype))
            if aval is not None:
                try:
                    return self._beneath(aval, sharding, [leaf], devices, committed)
                except Exception:  # where transfers are guarded; `device_put` makes it, or says what is the matter
                    return self._jax.device_put(leaf)
        made = self._jax.device_put(leaf)
        if self._beneath is not None:
            self._learn(leaf, made)
        return made

    def elements(self, tree: Tree, columns: Sequence[Any]) -> tuple[Callable[[Any], Any], bool]:
        """The function for elements whose leaves are the rows of these arrays; and whether it will do for others like
        them, or there is something to learn from them.
        """
        each = converter(tree, [self] * tree.size)
        avals = [self._avals.get((c.shape[1:], c.dtype)) for c in columns]
        if any(aval is None for aval in avals):
            return each, self._beneath is None
        call: Any = self._beneath
        config, (default, *place) = self._config, self._place
        sharding, devices, committed = map(repeat, place)
        take, build = apart(tree), tree.unflatten

        def put(element: object) -> Any:
            if config.jax_default_device is default:
                try:
                    return build(list(map(call, avals, sharding, zip(take(element)), devices, committed)))
                except Exception:  # as above
                    pass
            return each(element)

        return put, True

    def _learn(self, leaf: Any, made: Any) -> None:
        if not isinstance(leaf, np.ndarray) or isinstance(made, self._jax.core.Tracer):
            return
        devices = list(made.devices())
        if not leaf.ndim or made.dtype != leaf.dtype or len(devices) != 1 or devices[0].platform != "cpu":
            return
        place = DevicePlacement(self._config.jax_default_device, made.sharding, devices, made.committed)
        if self._place != place:
            self._place = place
        if len(self._avals) == MOST:
            self._avals = {}
        self._avals[leaf.shape, leaf.dtype] = made.aval


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
def let_go(jax: object) -> Callable[[], None]:
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
