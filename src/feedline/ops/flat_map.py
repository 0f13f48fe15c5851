"""`flat_map`: a dataset made from each element, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from feedline.ops.nested import Flattened, enough
from feedline.plan import arguments
from feedline.plan.face import F
from feedline.plan.function import Function
from feedline.plan.node import EMPTY, Pull, node
from feedline.structure.block import Block, concat


class Flattening(NamedTuple):
    """The nested dataset that is running, how many elements have been taken, and an error that is due next."""

    child: Any = None
    taken: int = 0
    error: Exception | None = None


@node
class FlatMap(Flattened):
    """One nested dataset after another."""

    State: ClassVar[Any] = Flattening
    op: ClassVar[str] = "flat_map"

    def step(self, state: Flattening, pull: Pull, want: int) -> tuple[Block | None, Flattening]:
        """Passes on what the nested dataset gives. Errors wait in the state: what led to them cannot be done again."""
        child, taken, error = state
        if error is not None:
            raise error
        parts: list[Block] = []
        have = size = 0
        try:
            while not enough(have, size, want):
                if child is None:
                    key = pull(1)
                    if key is None:
                        break
                    if key.n:
                        taken += 1
                        child = pull.open(self.opened(key, taken - 1), key)
                    continue
                block = child(want - have)
                if block is None:
                    child.close()
                    child = None
                elif block.n:
                    parts.append(block)
                    have += block.n
                    size += block.nbytes
        except Exception as e:
            return concat(parts) if parts else EMPTY, Flattening(child, taken, e)
        return concat(parts) if parts else None, Flattening(child, taken)

    def after_error(self, state: Flattening) -> Flattening:
        """The error has been raised; the nested dataset goes on after it."""
        return state._replace(error=None)


def flat_map(self: F, map_func: Callable[..., Any], name: str | None = None) -> F:
    """Makes a dataset from each element and gives the elements of these datasets one after another.

    >>> list(fl.Dataset.from_tensor_slices([[1, 2], [3, 4]]).flat_map(fl.Dataset.from_tensor_slices))
    [np.int32(1), np.int32(2), np.int32(3), np.int32(4)]

    `map_func` must return a dataset. An element that is a plain tuple becomes several arguments.

    >>> windows = fl.Dataset.range(7).window(3, shift=2, drop_remainder=True)
    >>> list(windows.flat_map(lambda window: window.batch(3)))
    [array([0, 1, 2]), array([2, 3, 4]), array([4, 5, 6])]
    """
    call = arguments.function(map_func, "map_func", "flat_map")
    return self._derive(FlatMap(self._plan, Function(call)))  # type: ignore[no-any-return]
