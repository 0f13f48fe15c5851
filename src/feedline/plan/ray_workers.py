"""`RayWorkers`: workers on a Ray cluster, as an argument of steps. Ray itself is used in `engine/cluster`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from feedline.errors import InvalidArgumentError, InvalidTypeError

WorkersArgument: TypeAlias = "Literal['thread', 'process', 'ray'] | RayWorkers | None"
"""What the argument `workers` of an operator may be."""


@dataclass(frozen=True)
class RayWorkers:
    """Workers on a Ray cluster, for `workers=` of `map` and `filter`, and for `Dataset.distribute`.

    >>> workers = fl.RayWorkers(count=4, num_cpus=1)
    >>> ds = fl.Dataset.range(100).map(lambda x: x * 2, workers=workers).batch(10)

    `workers="ray"` is the same as `workers=fl.RayWorkers()`. Steps and iterators of a process with equal `RayWorkers`
    share their workers; with a `name`, so do all processes of the cluster.
    """

    address: str | None = None
    """The cluster's address. None: the one this process is connected to, or that of `RAY_ADDRESS`, or one on this
    machine; if there is none, a local cluster is started, and ended with the last iterator.
    """
    count: int | tuple[int, int] | None = None
    """The number of workers, or the fewest and the most: within these bounds their number follows the time for which
    the consumer waits. None: `num_parallel_calls`, or as many as the cluster has CPUs for.
    """
    num_cpus: float = 1.0
    """The CPUs that Ray reserves for each worker."""
    resources: Mapping[str, float] | None = None
    """Other resources that Ray reserves for each worker: "GPU", "memory" in bytes, or names of your own."""
    runtime_env: Mapping[str, Any] | None = None
    """Ray's runtime environment of the workers."""
    name: str | None = None
    """The name of a pool that several processes share. It ends when the last of them has left it."""
    slow_after: float | None = 10.0
    """A task that takes longer than this many seconds, and four times as long as usual, is given to another worker as
    well; the first answer counts. None: never.
    """
    start_timeout: float = 300.0
    """The seconds to wait for the first worker."""

    def __post_init__(self) -> None:
        for field in ("address", "name"):
            value = getattr(self, field)
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidTypeError(f"RayWorkers: {field} must be a string, not empty, or None, got {value!r}")
        for field in ("num_cpus", "start_timeout", "slow_after"):
            value = getattr(self, field)
            if field == "slow_after" and value is None:
                continue
            least = "" if field == "num_cpus" else ", greater than zero"
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InvalidTypeError(f"RayWorkers: {field} must be a number{least}, got {value!r}")
            if not math.isfinite(value) or value < 0 or (least and not value):
                wanted = f"a number{least or ' from 0 on'}"
                raise InvalidArgumentError(f"RayWorkers: {field} must be {wanted}, got {value!r}")
        for field in ("resources", "runtime_env"):
            value = getattr(self, field)
            if value is not None and not isinstance(value, Mapping):
                raise InvalidTypeError(f"RayWorkers: {field} must be a dict or None, got {value!r}")
        if "CPU" in (self.resources or {}):
            raise InvalidArgumentError(f"RayWorkers: resources must not have 'CPU', got {self.resources}; use num_cpus")
        self._check_count()

    def _check_count(self) -> None:
        count: Any = self.count
        if count is None:
            return
        bounds = count if isinstance(count, tuple) else (count,)
        if not 1 <= len(bounds) <= 2 or any(isinstance(n, bool) or not isinstance(n, int) for n in bounds):
            raise InvalidTypeError(f"RayWorkers: count must be a number, or (fewest, most), got {count!r}")
        if bounds[0] < 1 or bounds[-1] < bounds[0]:
            raise InvalidArgumentError(
                f"RayWorkers: count must be greater than zero, and (fewest, most) in this order, got {count!r}"
            )

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The fewest and the most workers; None if the cluster determines their number."""
        return None if self.count is None else self.count if isinstance(self.count, tuple) else (self.count,) * 2

    def __hash__(self) -> int:
        return hash((self.address, self.count, self.num_cpus, self.name, repr(self.resources), repr(self.runtime_env)))

    def __repr__(self) -> str:
        """The arguments that were given."""
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shown = (f"{n}={v!r}" for n, v in given.items() if v != self.__dataclass_fields__[n].default)
        return f"RayWorkers({', '.join(shown)})"
