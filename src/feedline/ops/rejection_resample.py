"""`rejection_resample`: elements left out at random, so that classes come with given frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.ops.choose_from_datasets import chosen
from feedline.ops.map import Map
from feedline.ops.nested import seeds_in
from feedline.ops.sample_from_datasets import Draws, WeightedDraws
from feedline.plan import arguments
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.face import F
from feedline.plan.function import Function
from feedline.plan.node import EMPTY, Node, Pull, RowFailed, RowWise, node
from feedline.random.sampling import log_weights, uniform
from feedline.random.seeds import SeedGenerator, function_scope, get_seed
from feedline.structure.block import Array, Block, concat
from feedline.structure.nest import LEAF
from feedline.structure.spec import TensorSpec
from feedline.structure.values import leaf_of

OP = "rejection_resample"
ESTIMATED_AFTER = 32
SEEN_OF_EACH = 10


class WithClass:
    """Maps an element to its class and itself."""

    def __init__(self, class_func: Callable[..., Any]) -> None:
        self.__wrapped__ = class_func

    def __call__(self, *element: Any) -> Any:
        return self.__wrapped__(*element), element[0] if len(element) == 1 else element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithClass) and self.__wrapped__ == other.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)


class Counted(NamedTuple):
    """How often each class has been seen, and rows of the estimate that are still to come."""

    seen: Array | None = None
    rest: Block | None = None


@node
class Estimate(Node):
    """The frequencies of the classes in the input, one row for each class: after every 32 classes the estimate is
    brought up to date and given 32 times. Each class counts as seen ten times before.
    """

    State: ClassVar[Any] = Counted
    op: ClassVar[str] = "estimate"
    input: Node
    classes: int

    def spec(self) -> Any:
        """A vector of frequencies."""
        return TensorSpec([self.classes], np.float32)

    def cardinality(self) -> int:
        """Not asked for."""
        return UNKNOWN

    def step(self, state: Counted, pull: Pull, want: int) -> tuple[Block | None, Counted]:
        """Counts the next classes."""
        seen, rest = state
        if rest is None:
            labels: list[int] = []
            while len(labels) < ESTIMATED_AFTER:
                block = pull(ESTIMATED_AFTER - len(labels))
                if block is None:
                    break
                labels += block.columns[0].tolist()
            if not labels:
                return None, state
            inside = np.array([c for c in labels if 0 <= c < self.classes], np.int64)
            before = np.full(self.classes, SEEN_OF_EACH, np.int64) if seen is None else seen
            seen = before + np.bincount(inside, minlength=self.classes)
            shares = (seen / seen.sum()).astype(np.float32)
            rest = Block([np.tile(shares, (ESTIMATED_AFTER, 1))], ESTIMATED_AFTER, LEAF)
        return rest.slice(0, want), Counted(seen, rest.slice(want, rest.n) if want < rest.n else None)


@node
class Mixing(RowWise):
    """From estimated frequencies to the odds of taking an element as it comes or one that was let through."""

    op: ClassVar[str] = "mixing"
    target: Array

    def spec(self) -> Any:
        """Two odds."""
        return TensorSpec([2], np.float32)

    def apply(self, block: Block) -> Block:
        """Row by row."""
        if not block.n:
            return block
        _, m = acceptance(block.columns[0], self.target)
        return Block([np.stack([m, np.float32(1) - m], axis=1)], block.n, LEAF)


class Passed(NamedTuple):
    """How many elements have been read and how many random numbers drawn; estimates that were read for elements to
    come; rows still to be looked at; and an error that is due next.
    """

    read: int = 0
    drawn: int = 0
    shares: Block | None = None
    rest: Block | None = None
    error: Exception | None = None


@node
class Accept(Node):
    """Rows that are let through at random, with their classes. `estimates` give the frequencies for each row, twice as
    in TensorFlow, which looks at them a second time to warn; where the frequencies are known it is empty and `accepted`
    says how often each class is let through.
    """

    State: ClassVar[Any] = Passed
    many: ClassVar[bool] = True
    opaque: ClassVar[bool] = True
    op: ClassVar[str] = "accept"
    estimates: tuple[Node, ...]
    data: Node
    function: Function
    target: Array
    accepted: Array | None
    seeds: tuple[int, int]

    def spec(self) -> Any:
        """As the map that adds the class."""
        return Map(self.data, self.function).element_spec

    def cardinality(self) -> int:
        """Not known before it has run."""
        return UNKNOWN

    @property
    def user_code(self) -> bool:
        """Not for arithmetic, which has no effects."""
        return True

    def step(self, state: Passed, pull: tuple[Pull, ...], want: int) -> tuple[Block | None, Passed]:
        """Finds the classes of the next rows and draws for each."""
        read, drawn, shares, rest, error = state
        if error is not None:
            raise error
        if self.estimates and shares is None:
            # One by one where the passes over the input take seeds from each other.
            ahead = 1 if seeds_in(self.data) else want
            shares = pull[0](ahead)
            if shares is None:
                return None, state
            _same_number(pull[1], shares.n)
            return EMPTY, state._replace(shares=shares if shares.n else None)
        rows = rest if rest is not None else pull[-1](want if shares is None else min(want, shares.n))
        if rows is None:
            return None, state
        rows, rest = rows.slice(0, want), rows.slice(want, rows.n) if rows.n > want else None
        labelled, error = self._labelled(rows)
        known = 0 if labelled is None else labelled.n
        labels = np.empty(0, np.int64) if labelled is None else _classes(labelled)
        wrong = np.flatnonzero((labels < 0) | (labels >= len(self.target)))
        if len(wrong):
            known = int(wrong[0])
            error = InvalidArgumentError(
                f"class_func must return an integer from 0 to {len(self.target) - 1}, one less than target_dist is long"
            )
        accepted = self.accepted if shares is None else acceptance(shares.columns[0][:known], self.target)[0]
        assert accepted is not None
        odds = accepted[labels[:known]] if accepted.ndim == 1 else accepted[np.arange(known), labels[:known]]
        chosen = np.flatnonzero(uniform(*self.seeds, drawn, known) < odds)
        blamed = None
        used = known
        if error is not None:
            used += 1
            blamed = self.function.blame(OP, self.position, read + known, RowFailed(known, None, error))
            left = [b for b in (rows.slice(used, rows.n), rest) if b is not None and b.n]
            rest = concat(left) if left else None
        shares = shares.slice(used, shares.n) if shares is not None and shares.n > used else None
        done = labelled.take(chosen) if labelled is not None and len(chosen) else EMPTY
        return done, Passed(read + used, drawn + known, shares, rest, blamed)

    def _labelled(self, rows: Block) -> tuple[Block | None, Exception | None]:
        """The rows with their classes, up to the first that fails."""
        results, error = self.function.on_rows(rows)
        if not results:
            return None, error
        try:
            return self.function.block_of(results), error
        except RowFailed as failed:
            return failed.done, failed.error

    def after_error(self, state: Passed) -> Passed:
        """The error has been raised; what comes after it is still to do. One that came from the input takes along the
        estimate that was read for it.
        """
        shares = state.shares
        if state.error is None and shares is not None:
            return state._replace(shares=shares.slice(1, shares.n) if shares.n > 1 else None)
        return state._replace(error=None)


def _classes(labelled: Block) -> Array:
    """The classes of rows, -1 where there is none."""
    column = labelled.columns[0]
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in "iu":
        return np.full(labelled.n, -1)
    return column.astype(np.int64)


def _same_number(pull: Pull, n: int) -> None:
    """Reads as many rows as another pass did, to stay in step with it."""
    while n:
        block = pull(n)
        if block is None:
            return
        n -= block.n


def acceptance(initial: Array, target: Array) -> tuple[Array, Array]:
    """How often to let each class through and how often to take elements as they come, in float32 as TensorFlow."""
    ratio = target / (initial + np.finfo(np.float32).tiny)
    low, high = ratio.min(axis=-1, keepdims=True), ratio.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (ratio - low) / (high - low), low[..., 0]


def rejection_resample(
    self: F,
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> F:
    """Leaves elements out at random, so that the classes come with the frequencies `target_dist`.

    >>> ds = fl.Dataset.range(1000).map(lambda x: x % 4)
    >>> even = ds.rejection_resample(
    ...     lambda x: np.int32(x > 0), target_dist=[0.5, 0.5], initial_dist=[0.25, 0.75], seed=3)
    >>> classes = [int(label) for label, element in even]
    >>> len(classes), classes.count(0)
    (516, 258)

    `class_func` maps an element to its class, an integer below the number of classes. The elements of the result are
    pairs of class and element. Where `initial_dist`, the frequencies in the input, is not given, it is estimated while
    reading, for which the input is read several times. For a given seed the choice is TensorFlow's.
    """
    call = arguments.function(class_func, "class_func", OP)
    target = _distribution(target_dist, "target_dist")
    function = Function(WithClass(call))
    with function_scope():
        pair = get_seed(seed)
    plan = self._plan
    as_it_comes = Map(plan, function)
    if initial_dist is None:
        estimate = Estimate(Map(plan, Function(call)), len(target))
        through = Accept((estimate, estimate), plan, function, target, None, pair)
        selector: Node = WeightedDraws(SeedGenerator(*get_seed(seed), False), Mixing(estimate, target))
        return self._derive(chosen(selector, (as_it_comes, through), True)._plan)  # type: ignore[no-any-return]
    initial = _distribution(initial_dist, "initial_dist")
    if len(initial) != len(target):
        raise InvalidArgumentError(
            f"{OP}: initial_dist and target_dist must be equally long, got {len(initial)} and {len(target)}"
        )
    accepted, m = acceptance(initial, target)
    through = Accept((), plan, function, target, accepted, pair)
    with np.errstate(divide="ignore", invalid="ignore"):
        untouched = np.min(target / initial)
    if untouched == 1:
        return self._derive(as_it_comes)  # type: ignore[no-any-return]
    if untouched == 0:
        return self._derive(through)  # type: ignore[no-any-return]
    logits = log_weights(np.array([m, np.float32(1) - m], np.float32)).astype(np.float64)
    selector = Draws(SeedGenerator(*get_seed(seed), False), logits)
    return self._derive(chosen(selector, (as_it_comes, through), True)._plan)  # type: ignore[no-any-return]


def _distribution(value: Any, name: str) -> Array:
    array = leaf_of(value)
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"{OP}: {name} must be a vector with one frequency for each class, got {value!r}")
    return array.astype(np.float32)
