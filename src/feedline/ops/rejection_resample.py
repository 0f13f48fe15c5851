"""`rejection_resample`: elements dropped at random to reach given class frequencies."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, SupportsIndex

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.choose_from_datasets import chosen
from feedline.ops.map import Map
from feedline.ops.sample_from_datasets import Draws, WeightedDraws
from feedline.ops.shared.nested import apart
from feedline.plan import arguments
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.function import Function
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import FunctionCalls, RowWise
from feedline.plan.traits.schedule import ManyInputs
from feedline.plan.traits.specs import InferredSpec
from feedline.random.sampling import log_weights, uniform
from feedline.random.seeds import SeedGenerator, function_scope, get_seed
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block, concat
from feedline.structure.nest import LEAF, Tree
from feedline.structure.spec import TensorSpec
from feedline.structure.values import leaf_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

OP = "rejection_resample"
ESTIMATED_AFTER = 32
SEEN_OF_EACH = 10
NUMBERS_AHEAD = 256


@node
class Labelled(FunctionCalls, InferredSpec):
    """Each row with its class, computed by a user function."""

    op: ClassVar[str] = "labelled"
    function: Function

    def spec(self) -> Any:
        """The class's spec, inferred from the first elements, and the input's spec."""
        return Map(self.input, self.function).element_spec, self.input.element_spec

    @property
    def user_code(self) -> bool:
        """True unless the function is arithmetic on scalars, which has no side effects."""
        return not self.function.vectorized

    def apply(self, block: Block) -> Block:
        """The rows unchanged, next to a column of classes."""
        return self.apply_some(block, inf)[0]

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """The same for as many rows as there is time for."""
        if block.n == 0:
            return block, 0
        try:
            classes, n = Map(self.input, self.function).apply_some(block.frozen(), until)
            return _side_by_side(classes, block.slice(0, n)), n
        except RowFailed as e:
            done = None if e.done is None else _side_by_side(e.done, block.slice(0, e.done.n))
            raise RowFailed(e.index, done, e.error, e.path) from e.error

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """Names the function and the element."""
        return self.function.attribute_error(OP, self.position, number, failed)


def _side_by_side(classes: Block, rows: Block) -> Block:
    column = classes.columns[0] if classes.tree.is_leaf else None
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in "iu":
        raise RowFailed(0, None, InvalidTypeError(f"class_func must return an integer scalar, got {classes.spec()!r}"))
    return Block([*classes.columns, *rows.columns], rows.n, Tree(tuple, (0, 1), (classes.tree, rows.tree)))


class ClassCounts(NamedTuple):
    """How often each class has been seen, rows of the estimate still to be returned, and classes not counted yet."""

    seen: Array | None = None
    rest: Block | None = None
    labels: tuple[int, ...] = ()


@node
class Estimate(Node):
    """Estimated class frequencies, one row per row of the input. The estimate is updated after every 32 classes and
    returned 32 times; each class starts with a count of ten.
    """

    State: ClassVar[Any] = ClassCounts
    op: ClassVar[str] = "estimate"
    input: Node
    classes: int

    def spec(self) -> Any:
        """A vector of frequencies."""
        return TensorSpec([self.classes], np.float32)

    def cardinality(self) -> int:
        """Unknown; not used."""
        return UNKNOWN

    def step(self, state: ClassCounts, pull: Pull, want: int) -> tuple[Block | None, ClassCounts]:
        """Counts the next classes."""
        seen, rest, _ = state
        if rest is None:
            labels: list[int] = list(state.labels)
            while len(labels) < ESTIMATED_AFTER:
                try:
                    block = pull(ESTIMATED_AFTER - len(labels))
                except Exception:
                    raise
                except BaseException as e:
                    raise Interrupted(e, state._replace(labels=tuple(labels))) from None
                if block is None:
                    break
                labels += _classes(block).tolist()
            if not labels:
                return None, state
            inside = np.array([c for c in labels if 0 <= c < self.classes], np.int64)
            before = np.full(self.classes, SEEN_OF_EACH, np.int64) if seen is None else seen
            seen = before + np.bincount(inside, minlength=self.classes)
            shares = (seen / seen.sum()).astype(np.float32)
            rest = Block([np.tile(shares, (ESTIMATED_AFTER, 1))], ESTIMATED_AFTER, LEAF)
        return rest.slice(0, want), ClassCounts(seen, rest.slice(want, rest.n) if want < rest.n else None)


@node
class Mixing(RowWise):
    """Turns estimated frequencies into the odds of taking an element directly or one that passed the rejection."""

    op: ClassVar[str] = "mixing"
    target: Array

    def spec(self) -> Any:
        """A pair of probabilities."""
        return TensorSpec([2], np.float32)

    def apply(self, block: Block) -> Block:
        """The odds for each row of frequencies."""
        if not block.n:
            return block
        _, m = acceptance(block.columns[0], self.target)
        return Block([np.stack([m, np.float32(1) - m], axis=1)], block.n, LEAF)


class Passed(NamedTuple):
    """How many rows have been examined; the random numbers drawn but unused, and how many were used before them;
    estimates read for the next rows; rows still to be examined; an error to raise next; and by how many rows the second
    pass over the estimates lags behind.
    """

    read: int = 0
    used: int = 0
    numbers: Array | None = None
    shares: Block | None = None
    rest: Block | None = None
    error: Exception | None = None
    behind: int = 0


@node
class Accept(ManyInputs):
    """Rows of `data`, with their class in front, accepted at random. `estimates` give the frequencies for each row,
    twice: TensorFlow reads them a second time for a warning. With known frequencies there are no estimates, and
    `accepted` is the acceptance rate of each class.
    """

    State: ClassVar[Any] = Passed
    op: ClassVar[str] = "accept"
    estimates: tuple[Node, ...]
    data: Node
    target: Array
    accepted: Array | None
    seeds: tuple[int, int]

    def spec(self) -> Any:
        """The data's spec."""
        return self.data.element_spec

    def cardinality(self) -> int:
        """Unknown until it has run."""
        return UNKNOWN

    @cached_property
    def _apart(self) -> bool:
        """Whether estimates and data can be read in any order."""
        return apart(self.inputs)

    def again(self, before: Passed, state: Passed) -> Passed:
        """Continues TensorFlow's stream of random numbers in the next epoch."""
        return state._replace(used=before.used, numbers=before.numbers)

    def step(self, state: Passed, pull: tuple[Pull, ...], want: int) -> tuple[Block | None, Passed]:
        """Draws a number for each of the next rows."""
        s = state
        if s.error is not None:
            raise s.error
        shares = s.shares
        if self.estimates and shares is None:
            # One by one if the passes over the input draw from common seeds.
            shares = pull[0](want if self._apart else 1)
            if shares is None:
                return None, s
            return EMPTY, s._replace(shares=shares if shares.n else None, behind=shares.n)
        if s.behind:
            block = pull[1](s.behind)
            return EMPTY, s._replace(behind=0 if block is None else s.behind - block.n)
        rows = s.rest if s.rest is not None else pull[-1](want if shares is None else min(want, shares.n))
        if rows is None:
            return None, s
        rows, rest = rows.slice(0, want), rows.slice(want, rows.n) if rows.n > want else None
        if not rows.n:
            return EMPTY, s
        labels = _classes(rows)
        wrong = np.flatnonzero((labels < 0) | (labels >= len(self.target)))
        n = int(wrong[0]) if len(wrong) else rows.n
        accepted = self.accepted if shares is None else acceptance(shares.columns[0][:n], self.target)[0]
        assert accepted is not None
        odds = accepted[labels[:n]] if accepted.ndim == 1 else accepted[np.arange(n), labels[:n]]
        numbers = s.numbers if s.numbers is not None and len(s.numbers) >= n else self._numbers(s.used, n)
        chosen = np.flatnonzero(numbers[:n] < odds)
        done = rows.take(chosen) if len(chosen) else EMPTY
        error: Exception | None = None
        seen = n
        if n < rows.n:
            seen += 1
            left = [b for b in (rows.slice(seen, rows.n), rest) if b is not None and b.n]
            rest = concat(left) if left else None
            error = InvalidArgumentError(
                f"{OP}: class_func must return an integer from 0 to {len(self.target) - 1}, since target_dist has "
                f"{len(self.target)} classes, got {rows.element(n)[0]!r} for element {s.read + n}"
            )
        shares = shares.slice(seen, shares.n) if shares is not None and shares.n > seen else None
        return done, Passed(s.read + seen, s.used + n, numbers[n:], shares, rest, error)

    def _numbers(self, used: int, n: int) -> Array:
        return uniform(*self.seeds, used, max(n, NUMBERS_AHEAD))

    def after_error(self, state: Passed) -> Passed:
        """Drops the error that was raised; the rows after it are still to be examined. An error of the input also uses
        up the estimate read for its row.
        """
        shares = state.shares
        if state.error is None and shares is not None:
            return state._replace(shares=shares.slice(1, shares.n) if shares.n > 1 else None)
        return state._replace(error=None)


def _classes(rows: Block) -> Array:
    """The class of each row; -1 if it has none."""
    column = rows.columns[0]
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in "iu":
        return np.full(rows.n, -1)
    return column.astype(np.int64)


def acceptance(initial: Array, target: Array) -> tuple[Array, Array]:
    """The acceptance rate of each class, and the rate of taking elements directly; in float32 as in TensorFlow."""
    ratio = target / (initial + np.finfo(np.float32).tiny)
    low, high = ratio.min(axis=-1, keepdims=True), ratio.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (ratio - low) / (high - low), low[..., 0]


def rejection_resample(
    self: Dataset[T],
    class_func: Callable[..., Any],
    target_dist: object,
    initial_dist: object = None,
    seed: SupportsIndex | None = None,
    name: str | None = None,
) -> Dataset[tuple[Any, T]]:
    """Drops elements at random so that the classes have the frequencies `target_dist`.

    >>> ds = fl.Dataset.range(1000).map(lambda x: x % 4)
    >>> even = ds.rejection_resample(
    ...     lambda x: np.int32(x > 0), target_dist=[0.5, 0.5], initial_dist=[0.25, 0.75], seed=3)
    >>> classes = [int(label) for label, element in even]
    >>> len(classes), classes.count(0)
    (720, 368)

    `class_func` maps an element to its class, an integer below the number of classes. The resulting elements are pairs
    of class and element. If `initial_dist`, the class frequencies of the input, is not given, it is estimated while
    reading, which reads the input several times. For a given seed the choice is TensorFlow's.
    """
    call = arguments.function(class_func, "class_func", OP)
    target = _distribution(target_dist, "target_dist")
    function = Function(call)
    with function_scope():
        pair = get_seed(seed)
    labelled = Labelled(self._plan, function)
    if initial_dist is None:
        estimate = Estimate(Map(self._plan, function), len(target))
        through = Accept((estimate, estimate), labelled, target, None, pair)
        selector: Node = WeightedDraws(SeedGenerator(*get_seed(seed), False), Mixing(estimate, target))
        return self._derive(chosen(selector, (labelled, through), True)._plan)
    initial = _distribution(initial_dist, "initial_dist")
    if len(initial) != len(target):
        raise InvalidArgumentError(
            f"{OP}: initial_dist and target_dist must have the same length, got {len(initial)} and {len(target)}"
        )
    accepted, m = acceptance(initial, target)
    through = Accept((), labelled, target, accepted, pair)
    with np.errstate(divide="ignore", invalid="ignore"):
        untouched = np.min(target / initial)
    if untouched == 1:
        return self._derive(labelled)
    if untouched == 0:
        return self._derive(through)
    logits = log_weights(np.array([m, np.float32(1) - m], np.float32)).astype(np.float64)
    selector = Draws(SeedGenerator(*get_seed(seed), False), logits)
    return self._derive(chosen(selector, (labelled, through), True)._plan)


def _distribution(value: object, name: str) -> Array:
    array = leaf_of(value)
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"{OP}: {name} must be a vector with one frequency per class, got {value!r}")
    return array.astype(np.float32)
