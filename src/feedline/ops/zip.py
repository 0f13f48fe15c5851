"""`Dataset.zip`: elements of several datasets side by side."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

from feedline.errors import DataLossError, InvalidArgumentError
from feedline.ops.shared.nested import apart
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.dataset_base import DatasetBase, dataset
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.checkpoint import Reloads
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.random_access import RandomAccess, indexable, read_rows
from feedline.plan.traits.schedule import ManyInputs
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block
from feedline.structure.nest import Tree, flatten

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import K, R, T, V

END = True


class Sides(NamedTuple):
    """What each input has given that is not used yet: a Block with rows, the error it raised, END, or None for nothing;
    and how many rows have been used.
    """

    sides: tuple[Any, ...] = ()
    used: int = 0


@node
class Zip(ManyInputs, RandomAccess, Reloads):
    """One row of every input, in the structure `tree`.

    Like TensorFlow, it takes one row from every input each time, even after one of them has ended or failed, so that
    the inputs stay in step. The first input (in a dict: by key) that ended or failed decides: an end hides later
    errors; an error is raised even if a later input has ended, and the end follows it.
    """

    State: ClassVar[Any] = Sides
    op: ClassVar[str] = "zip"
    datasets: tuple[Node, ...]
    tree: Tree

    def spec(self) -> Any:
        """The inputs' specs, in the given structure."""
        return self.tree.unflatten([n.element_spec for n in self.datasets])

    def cardinality(self) -> int:
        """That of the shortest input."""
        return _shortest([n.cardinality() for n in self.datasets])

    def begin(self, pull: tuple[Pull, ...]) -> Sides:
        """Starts all inputs, in TensorFlow's order."""
        for i in self._order:
            pull[i].start()
        return Sides((None,) * len(pull))

    def loaded(self, state: Sides) -> Sides:
        """Checks that there is one valid side per input."""
        known = (side in (None, END) or isinstance(side, (Block, Exception)) for side in state.sides)
        if len(state.sides) != len(self.datasets) or not all(known):
            raise DataLossError(
                f"the iterator state is corrupt: invalid state of zip (step {self.position}): {state.sides!r}"
            )
        return state

    def step(self, state: Sides, pull: tuple[Pull, ...], want: int) -> tuple[Block | None, Sides]:
        """Brings every input to the same row, then returns as many rows as all of them have. A failing row is first
        kept in the state and raised in the next step, so that what the other inputs gave with it is not lost.
        """
        outcome = self._outcome(state.sides)
        if outcome is END:
            return None, state
        if outcome is not None:
            raise outcome
        sides, n = list(state.sides), want if self._apart else 1
        for i in self._order:
            if sides[i] is None:
                count = n if side_effect_free(self.datasets[i]) else min(n, self._known_rows(i, sides, state.used))
                try:
                    sides[i] = _next(pull[i], count)
                except BaseException as e:
                    raise Interrupted(e, Sides(tuple(sides), state.used)) from None
            if sides[i] is None:
                return EMPTY, Sides(tuple(sides), state.used)
            n = min(n, sides[i].n) if isinstance(sides[i], Block) else 1
        if not all(isinstance(s, Block) for s in sides):
            return EMPTY, Sides(tuple(sides), state.used)
        rest = tuple(s.slice(n, s.n) if s.n > n else None for s in sides)
        return self._side_by_side([s.slice(0, n) for s in sides], n), Sides(rest, state.used + n)

    @cached_property
    def _order(self) -> list[int]:
        """The order in which TensorFlow reads the inputs."""
        return _in_order(self.tree)

    def _outcome(self, sides: tuple[Any, ...]) -> Any:
        """The error or END that the next row results in, if that is known; else None."""
        if any(s is None for s in sides):
            return None
        return next((sides[i] for i in self._order if not isinstance(sides[i], Block)), None)

    @cached_property
    def _apart(self) -> bool:
        """Whether the inputs can be read in any order."""
        return apart(self.datasets)

    def _known_rows(self, i: int, sides: list[Any], used: int) -> int:
        """How many more rows all other inputs are known to have, so that input `i` makes no rows in vain."""
        known = []
        for j, other in enumerate(self.datasets):
            n = other.cardinality()
            if j != i and n != INFINITE:
                known.append(max(1, n - used, sides[j].n if isinstance(sides[j], Block) else 0))
        return min(known, default=_NO_LIMIT)

    def _side_by_side(self, blocks: list[Block], n: int) -> Block:
        tree = _grafted(self.tree, tuple(b.tree for b in blocks))
        return Block([c for b in blocks for c in b.columns], n, tree)

    def after_error(self, state: Sides) -> Sides:
        """Drops the failed row from every input."""
        if self._outcome(state.sides) is None:
            return state
        if any(s is END for s in state.sides):
            return Sides((END,) * len(state.sides), state.used)
        left = tuple(s.slice(1, s.n) if isinstance(s, Block) and s.n > 1 else None for s in state.sides)
        return Sides(left, state.used + 1)

    @property
    def indexable(self) -> bool:
        """Whether rows can be read by index: if all inputs' can."""
        return all(indexable(n) for n in self.datasets)

    def rows(self, index: Array) -> Block:
        """The inputs' rows at these indices."""
        return self._side_by_side([read_rows(n, index) for n in self.datasets], len(index))


_NO_LIMIT = 1 << 62


def _next(pull: Pull, want: int) -> Any:
    try:
        block = pull(want)
    except Exception as e:
        return e
    return END if block is None else block if block.n else None


def _in_order(tree: Tree, at: int = 0) -> list[int]:
    """The leaf numbers in reading order: those of a dict sorted by key."""
    if tree.is_leaf:
        return [at]
    found = []
    for child in tree.children:
        found.append(_in_order(child, at))
        at += child.size
    if isinstance(tree.kind, type) and issubclass(tree.kind, Mapping):
        with suppress(TypeError):  # keys that cannot be compared stay as they are
            found = [found[i] for i in sorted(range(len(found)), key=lambda i: tree.keys[i])]
    return [i for part in found for i in part]


def _shortest(counts: list[int]) -> int:
    if UNKNOWN in counts:
        return UNKNOWN
    return min((n for n in counts if n != INFINITE), default=INFINITE)


@lru_cache(maxsize=256)
def _grafted(tree: Tree, parts: tuple[Tree, ...]) -> Tree:
    """`tree` with `parts` in place of its leaves."""
    if tree.is_leaf:
        return parts[0]
    children, at = [], 0
    for child in tree.children:
        children.append(_grafted(child, parts[at : at + child.size]))
        at += child.size
    return Tree(tree.kind, tree.keys, tuple(children), tree.fixed)


@overload
def zip_(first: Dataset[T], second: Dataset[V], /, *, name: str | None = None) -> Dataset[tuple[T, V]]: ...
@overload
def zip_(
    first: Dataset[T], second: Dataset[V], third: Dataset[R], /, *, name: str | None = None
) -> Dataset[tuple[T, V, R]]: ...
@overload
def zip_(datasets: tuple[Dataset[T], Dataset[V]], *, name: str | None = None) -> Dataset[tuple[T, V]]: ...
@overload
def zip_(
    datasets: tuple[Dataset[T], Dataset[V], Dataset[R]], *, name: str | None = None
) -> Dataset[tuple[T, V, R]]: ...
@overload
def zip_(datasets: dict[K, Dataset[V]], *, name: str | None = None) -> Dataset[dict[K, V]]: ...
@overload
def zip_(*args: Any, datasets: object = None, name: str | None = None) -> Dataset[Any]: ...
def zip_(*args: Any, datasets: object = None, name: str | None = None) -> Dataset[Any]:
    """Combines elements of several datasets, one of each at a time; ends with the shortest dataset.

    >>> a, b = fl.Dataset.range(3), fl.Dataset.range(10, 20)
    >>> list(fl.Dataset.zip(a, b))
    [(np.int64(0), np.int64(10)), (np.int64(1), np.int64(11)), (np.int64(2), np.int64(12))]

    The datasets may be given in a tuple, a dict or a nest of these; the elements have the same structure.

    >>> list(fl.Dataset.zip({"x": a, "y": b}).take(1))
    [{'x': np.int64(0), 'y': np.int64(10)}]
    """
    if not args and datasets is None:
        raise TypeError("zip: requires at least one dataset")
    if args and datasets is not None:
        raise TypeError("zip: pass the datasets either as arguments or as datasets=..., not both")
    nest = datasets if not args else args[0] if len(args) == 1 else args
    leaves, tree = flatten(nest)
    if not leaves:
        raise InvalidArgumentError("zip: the structure is empty; it must have at least one dataset")
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if not isinstance(leaf, DatasetBase):
            advice = "; use a tuple instead of a list" if isinstance(leaf, list) else ""
            raise TypeError(f"zip: expected a Dataset at {path}, got {type(leaf).__name__}{advice}")
    return dataset(Zip(tuple(leaf._plan for leaf in leaves), tree))
