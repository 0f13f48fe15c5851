"""`experimental.group_by_reducer`: elements with the same key folded into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.ops.group_by_window import int64_of
from feedline.ops.shared.carry import Carry, packed
from feedline.ops.shared.nested import first_elements, stand_ins
from feedline.plan import arguments
from feedline.plan.aliasing import frozen_leaf, kept
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.function import Function
from feedline.plan.inference import infer, infer_unseen
from feedline.plan.node import Node, Pull, node
from feedline.plan.row_calls import RowFailed
from feedline.plan.traits.effects import CallsUserCode, side_effect_free
from feedline.plan.traits.specs import InferredSpec
from feedline.structure.block import Block
from feedline.structure.nest import map_structure

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset

PULL_ROWS = 1024


class Reducer:
    """How `group_by_reducer` folds the elements of a group.

    `init_func` maps the key to the initial state, `reduce_func` a state and an element to the next state, and
    `finalize_func` the final state to the resulting element.

    >>> mean = fl.experimental.Reducer(
    ...     init_func=lambda key: (0.0, 0.0),
    ...     reduce_func=lambda state, x: (state[0] + np.float32(x), state[1] + np.float32(1)),
    ...     finalize_func=lambda total, count: total / count)
    >>> list(fl.Dataset.range(6).apply(fl.experimental.group_by_reducer(lambda x: x % 2, mean)))
    [np.float32(2.0), np.float32(3.0)]
    """

    def __init__(
        self,
        init_func: Callable[[Any], Any],
        reduce_func: Callable[[Any, Any], Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[[Dataset[Any]], Dataset[Any]]:
        """Maps the key to the initial state."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[[Any, Any], Any]:
        """Maps a state and an element to the next state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """Maps the final state to the result."""
        return self._finalize_func


class Folded:
    """The state: the folded state of each key, how many elements have been read, and whether all have.

    `order` holds the keys whose results are pending, the next one last; `carries` the types of the states.
    """

    __slots__ = ("carries", "ended", "order", "read", "rest", "states")

    def __init__(self) -> None:
        self.states: dict[int, Any] = {}
        self.carries: dict[int, Carry] = {}
        self.rest: Block | None = None
        self.read = 0
        self.ended = False
        self.order: list[int] = []

    class Saved(TypedDict):
        """The dict that `save` returns."""

        states: dict[int, Block]
        rest: Block | None
        at: list[Any]

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        states = {key: packed(state) for key, state in self.states.items()}
        return {"states": states, "rest": self.rest, "at": [self.read, self.ended]}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Folded:
        """Restores a state from what `save` returned."""
        self = cls()
        for key, block in saved["states"].items():
            self.start(key, block.element(0))
        self.rest = saved["rest"]
        self.read, self.ended = saved["at"]
        if type(self.read) is not int or type(self.ended) is not bool:
            raise TypeError(f"group_by_reducer: invalid position {saved['at']}")
        if self.ended:
            self.end()
        return self

    def start(self, key: int, state: object) -> None:
        """Sets the initial state of a key."""
        carry = self.carries[key] = Carry(state, "group_by_reducer")
        self.states[key] = carry.initial

    def end(self) -> None:
        """Notes that all elements have been read, and orders the keys."""
        self.ended, self.order = True, sorted(self.states, reverse=True)


@node
class GroupByReducer(CallsUserCode, InferredSpec):
    """One row per key, in ascending order of the keys, once the input has ended."""

    State: ClassVar[Any] = Folded
    mutable_state: ClassVar[bool] = True
    op: ClassVar[str] = "group_by_reducer"
    input: Node
    key_func: Function
    init_func: Function
    reduce_func: Function
    finalize_func: Function

    def spec(self) -> Any:
        """Inferred from the results for the first few elements."""
        given = self.input.element_spec
        elements, failed = first_elements(self.input)
        if not elements:
            return infer_unseen(given, stand_ins(given), lambda e: self._folded([e])[0], failed)
        return infer(self._folded(elements), given, lambda: elements, lambda e: self._folded([e])[0])

    def _folded(self, elements: list[Any]) -> list[Any]:
        """The specs of all results, after each element."""
        s, found = Folded(), []
        for element in elements:
            self._fold(s, element)
            found += [self._final(state).spec() for state in s.states.values()]
        return found

    def cardinality(self) -> int:
        """Unknown: it is the number of distinct keys."""
        return UNKNOWN

    def step(self, state: Folded, pull: Pull, want: int) -> tuple[Block | None, Folded]:
        """Reads the whole input, then returns one result at a time. Elements and results that fail are left out."""
        s = state
        if not s.read:
            arguments.finite(self.input, self.op)
        while not s.ended:
            block = s.rest if s.rest is not None else pull(PULL_ROWS if side_effect_free(self.input) else 1)
            if block is None:
                s.end()
                break
            s.rest = None
            for i, element in enumerate(block.rows()):
                s.read += 1
                try:
                    self._fold(s, element)
                except Exception:
                    s.rest = block.slice(i + 1, block.n) if i + 1 < block.n else None
                    raise
                except BaseException:
                    s.rest, s.read = block.slice(i, block.n), s.read - 1
                    raise
        if not s.order:
            return None, s
        key = s.order.pop()
        result = s.states.pop(key)
        try:
            return self._final(result), s
        except Exception:
            raise
        except BaseException:
            s.order.append(key)
            s.states[key] = result
            raise

    def _final(self, state: object) -> Block:
        try:
            return self.finalize_func.block_of([self.finalize_func.on_row(state)])
        except RowFailed as e:
            raise self._blamed(self.finalize_func, None, e.error) from e.error
        except Exception as e:
            raise self._blamed(self.finalize_func, None, e) from e

    def _fold(self, s: Folded, element: object) -> None:
        function = self.key_func
        try:
            key = int64_of(function.on_row(map_structure(frozen_leaf, element), frozen=True), "key_func", exact=True)
            if key not in s.states:
                function = self.init_func
                made = function.on_row(np.int64(key))
                s.start(key, kept(made, set()))
            function = self.reduce_func
            made = function.on_row((s.states[key], element))
            s.states[key] = s.carries[key].next(kept(made, set()))
        except Exception as e:
            raise self._blamed(function, s.read - 1, e) from e

    def _blamed(self, function: Function, number: int | None, error: BaseException) -> Exception:
        return function.attribute_error(self.op, self.position, number, RowFailed(0, None, error))


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Callable[[Any], Any]:
    """Folds all elements with the same key into one, for `Dataset.apply`; see `Reducer`.

    >>> total = fl.experimental.Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state)
    >>> list(fl.Dataset.range(6).apply(fl.experimental.group_by_reducer(lambda x: x % 3, total)))
    [np.int64(3), np.int64(5), np.int64(7)]

    `key_func` maps an element to an int64. Results come in ascending order of the keys, after the whole input is read.
    """
    op = "group_by_reducer"
    key = Function(arguments.function(key_func, "key_func", op))
    if not isinstance(reducer, Reducer):
        raise InvalidTypeError(f"{op}: reducer must be a Reducer, got {type(reducer).__name__}")
    functions = [
        Function(arguments.function(f, n, op))
        for f, n in (
            (reducer.init_func, "init_func"),
            (reducer.reduce_func, "reduce_func"),
            (reducer.finalize_func, "finalize_func"),
        )
    ]

    def apply(dataset: Any) -> Any:
        return dataset._derive(GroupByReducer(arguments.plan_of(dataset, "dataset", op), key, *functions))

    return apply
