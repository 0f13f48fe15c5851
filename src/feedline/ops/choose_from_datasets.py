"""`Dataset.choose_from_datasets`: elements of several datasets, in the order that another dataset selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import DataLossError, InvalidArgumentError, InvalidTypeError
from feedline.ops.shared.nested import apart, enough, seeds_in
from feedline.ops.sources.random import Random
from feedline.plan.arguments import boolean, plan_of
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.dataset_base import dataset
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.pace import at_once, late
from feedline.plan.traits.checkpoint import Reloads
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.schedule import ManyInputs
from feedline.plan.traits.seeds import DrawsSeedsEarly
from feedline.plan.traits.specs import spec_known
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block, concat
from feedline.structure.nest import flatten
from feedline.structure.spec import TensorSpec, general

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

CHOICES_AHEAD = 1024


class Chosen(NamedTuple):
    """The state. Of the selector: pending choices, an error that comes after them (`late`), and how many to read at a
    time (`reach`). Of each input: rows read but not given yet, an error that comes after them, and whether it has
    ended. Then the error to raise next, whether the output has ended, and an empty block like all elements (`form`).
    """

    choices: Array | None = None
    late: Exception | None = None
    reach: int = 1
    rests: tuple[Block | None, ...] = ()
    errors: tuple[Exception | None, ...] = ()
    ended: tuple[bool, ...] = ()
    error: Exception | None = None
    over: bool = False
    form: Block | None = None


@node
class Choose(DrawsSeedsEarly, ManyInputs, Reloads):
    """Takes each row from the input that `selector` chooses."""

    State: ClassVar[Any] = Chosen
    op: ClassVar[str] = "choose_from_datasets"
    selector: Node
    datasets: tuple[Node, ...]
    stop_on_empty_dataset: bool
    drawable: tuple[bool, ...]
    """Which inputs the selector can ever choose; the output ends when those have."""

    def spec(self) -> Any:
        """A spec that covers the elements of all inputs."""
        spec = self.datasets[0].element_spec
        for other in self.datasets[1:]:
            merged = general(spec, other.element_spec)
            if merged is None:
                raise InvalidTypeError(_unlike(self.op, self.datasets[0].element_spec, other.element_spec))
            spec = merged
        return spec

    def cardinality(self) -> int:
        """Infinite if an input is, otherwise unknown."""
        return INFINITE if any(n.cardinality() == INFINITE for n in self.datasets) else UNKNOWN

    def begin(self, pull: tuple[Pull, ...]) -> Chosen:
        """Starts the selector, then the inputs."""
        for p in pull:
            p.start()
        k = len(self.datasets)
        return Chosen(rests=(None,) * k, errors=(None,) * k, ended=(False,) * k)

    def loaded(self, state: Chosen) -> Chosen:
        """Checks that the state has valid choices and an entry for each input."""
        k, choices = len(self.datasets), state.choices
        if choices is not None and (choices.ndim != 1 or choices.dtype.kind != "i" or not len(choices)):
            raise DataLossError(f"the iterator state is corrupt: invalid choices in {self.op} (step {self.position})")
        if not len(state.rests) == len(state.errors) == len(state.ended) == k:
            raise DataLossError(
                f"the iterator state is corrupt: {self.op} (step {self.position}) has {k} inputs, the state does not"
            )
        return state

    @property
    def draws_seeds_early(self) -> bool:
        """Whether an input reshuffles: rows are read ahead from all inputs, also past the ends of their epochs."""
        drawn = (getattr(n, "generator", None) for below in self.datasets for n in below.walk())
        return any(g is not None and g.reshuffle for g in drawn)

    @cached_property
    def _apart(self) -> bool:
        """Whether selector and inputs may be read in any order."""
        return apart(self.inputs)

    @cached_property
    def _far_ahead(self) -> bool:
        """Whether the selector may be read any number of rows ahead: it has no side effects, and consumes seeds only at
        the start.
        """
        at_start = isinstance(self.selector, Random) or not seeds_in(self.selector)
        drawn = any(map(seeds_in, self.selector.inputs))
        return self._apart and side_effect_free(self.selector) and at_start and not drawn

    @cached_property
    def _in_bulk(self) -> bool:
        """Whether inputs may be read one after the other, each for all pending choices."""
        return self._apart and all(side_effect_free(n) for n in self.datasets)

    def step(self, state: Chosen, pull: tuple[Pull, ...], want: int) -> tuple[Block | None, Chosen]:
        """Follows choices until there are enough rows or one fails."""
        s = state
        if s.error is not None:
            raise s.error
        if s.over:
            return None, s
        parts: list[Block] = []
        have = size = 0
        until = at_once()
        while not (enough(have, size, want, until) or s.over or s.error):
            try:
                if s.choices is None:
                    s = self._with_choices(s, pull[0], want - have)
                    continue
                rows, s = self._followed(s, pull[1:], want - have)
            except Interrupted as e:
                raise Interrupted(e.error, e.state, concat(parts) if parts else None) from None
            if rows is not None:
                parts.append(rows)
                have += rows.n
                size += rows.weight
        if parts:
            return concat(parts), s
        return (None if s.over and s.error is None else EMPTY), s

    def _with_choices(self, s: Chosen, pull: Pull, want: int) -> Chosen:
        """The state with more choices: one if the order of reads is observable, otherwise as many as wanted, and a
        growing number if the selector may be read ahead.
        """
        if s.late is not None:
            return s._replace(error=s.late, late=None)
        need = max(want, s.reach) if self._far_ahead else want if self._apart and side_effect_free(self.selector) else 1
        parts: list[Array] = []
        have = 0
        failed: Exception | None = None
        until = at_once()
        while have < need and not (have and late(until)):
            try:
                block = pull(need - have)
                if block is None:
                    break
                if block.n:
                    parts.append(self._numbers(block))
                    have += block.n
            except Exception as e:
                failed = e
                break
            except BaseException as e:
                raise Interrupted(e, s._replace(choices=np.concatenate(parts) if parts else None)) from None
        if not parts:
            return s._replace(error=failed, over=failed is None)
        return s._replace(choices=np.concatenate(parts), late=failed, reach=min(4 * s.reach, CHOICES_AHEAD))

    def _numbers(self, block: Block) -> Array:
        column = block.columns[0] if block.tree.is_leaf else None
        if not isinstance(column, np.ndarray) or column.dtype != np.int64 or column.ndim != 1:
            raise InvalidTypeError(f"{self.op}: {_CHOICES}, got {block.spec()!r}")
        return column

    def _followed(self, s: Chosen, pulls: tuple[Pull, ...], want: int) -> tuple[Block | None, Chosen]:
        """Follows as many of the pending choices as possible in one go."""
        assert s.choices is not None
        choices = s.choices[:want]
        wrong = np.flatnonzero((choices < 0) | (choices >= len(pulls)))
        if len(wrong):
            choices = choices[: wrong[0]]
        if not len(choices):
            what = f"{self.op}: choice {s.choices[0]} is out of range for {len(pulls)} datasets"
            return None, _used(s, 1)._replace(error=InvalidArgumentError(what))
        if not self._in_bulk:
            return self._run_of_one(s, choices, pulls)
        reads = {int(j): _Read(np.flatnonzero(choices == j)) for j in np.unique(choices)}
        rests, errors, ended = list(s.rests), list(s.errors), list(s.ended)
        try:
            for j, read in reads.items():
                if not ended[j]:
                    read.fill(rests[j], errors[j], pulls[j])
                    rests[j] = errors[j] = None
        except Interrupted as e:
            rests = [reads[j].rows if j in reads and reads[j].rows is not None else r for j, r in enumerate(rests)]
            errors = [(reads[j].error if j in reads else None) or error for j, error in enumerate(errors)]
            raise Interrupted(e.error, s._replace(rests=tuple(rests), errors=tuple(errors))) from None
        # Stop at the first choice that fails, or that ends the output because its input is empty, or whose row has not
        # been read yet: that one stays pending.
        stop = len(choices)
        for read in reads.values():
            if read.error is not None or read.short or (read.ended and self.stop_on_empty_dataset):
                stop = min(stop, read.failed_at)
        error: Exception | None = None
        over = False
        for j, read in reads.items():
            if read.failed_at == stop and stop < len(choices):
                error, over = read.error, read.ended and self.stop_on_empty_dataset
                ended[j] |= read.ended
            elif read.failed_at < stop:
                ended[j] |= read.ended
            elif read.error is not None:
                errors[j] = read.error
            rests[j] = read.cut(stop)
        s = _used(s, stop + (error is not None or over))
        over |= self._all_ended(ended)
        s = s._replace(rests=tuple(rests), errors=tuple(errors), ended=tuple(ended), error=error, over=over)
        return self._in_order(s, [read for read in reads.values() if read.places.size and read.rows is not None], stop)

    def _run_of_one(self, s: Chosen, choices: Array, pulls: tuple[Pull, ...]) -> tuple[Block | None, Chosen]:
        """Follows the leading choices of one and the same input."""
        j, n = int(choices[0]), 1
        while n < len(choices) and choices[n] == j:
            n += 1
        if s.ended[j]:
            return None, _used(s, n)
        read = _Read(np.arange(n))
        try:
            read.fill(s.rests[j], s.errors[j], pulls[j])
        except Interrupted as e:
            raise Interrupted(e.error, s._replace(rests=_with(s.rests, j, read.rows))) from None
        over = read.ended and (self.stop_on_empty_dataset or self._all_ended(_with(s.ended, j, True)))
        used = n
        if read.error is not None or read.short:
            used = read.failed_at + (read.error is not None)
        s = _used(s, used)._replace(
            rests=_with(s.rests, j, None),
            errors=_with(s.errors, j, None),
            ended=_with(s.ended, j, read.ended),
            error=read.error,
            over=over,
        )
        return self._in_order(s, [read] if read.rows is not None else [], n)

    def _all_ended(self, ended: Sequence[bool]) -> bool:
        return all(e or not d for e, d in zip(ended, self.drawable, strict=True))

    def _in_order(self, s: Chosen, reads: list[_Read], stop: int) -> tuple[Block | None, Chosen]:
        """The rows of several inputs, in the order of the choices."""
        for read in sorted(reads, key=lambda read: int(read.places[0])):
            assert read.rows is not None
            form = s.form if s.form is not None else read.rows.slice(0, 0)
            s = s._replace(form=form)
            if not alike(form, read.rows):
                error = InvalidTypeError(_unlike(self.op, form.spec(), read.rows.spec()))
                first = int(read.places[0])
                before = [r for r in reads if r.places[0] < first]
                for other in before:
                    other.cut(first)
                return self._in_order(s._replace(error=error, over=True), before, first)
        parts = [read.rows.reordered(s.form.tree) for read in reads if read.rows is not None and s.form is not None]
        if len(parts) < 2:
            return (parts[0] if parts else None), s
        places = np.concatenate([read.places for read in reads])
        taken = np.zeros(stop, np.bool_)
        taken[places] = True
        index = np.empty(len(places), np.int64)
        index[(np.cumsum(taken) - 1)[places]] = np.arange(len(places))
        return concat(parts).take(index), s

    def after_error(self, state: Chosen) -> Chosen:
        """Clears the error; the choice that caused it is used up."""
        return state._replace(error=None)


_CHOICES = "the elements of choice_dataset must be int64 scalars"


def alike(a: Block, b: Block) -> bool:
    """Whether rows of both blocks may be in one dataset: structure and types must agree; shapes need not."""
    if a.tree == b.tree and all(
        isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype == y.dtype
        for x, y in zip(a.columns, b.columns, strict=True)
    ):
        return True
    return general(a.spec(), b.spec()) is not None


def _unlike(op: str, a: object, b: object) -> str:
    return f"{op}: all datasets must have elements of the same structure and types; one has {a!r} and another {b!r}"


class _Read:
    """The rows read from one input: `places` are the positions of its choices, `rows` the rows for the first of them.
    If there are too few, because the input failed, ended, or is `short` of rows for now, `failed_at` is the position of
    the first choice without a row.
    """

    __slots__ = ("ended", "error", "failed_at", "places", "rows", "short")

    def __init__(self, places: Array) -> None:
        self.places = places
        self.rows: Block | None = None
        self.error: Exception | None = None
        self.ended = self.short = False
        self.failed_at = 1 << 62

    def fill(self, rest: Block | None, error: Exception | None, pull: Pull) -> None:
        """Reads until each choice has a row, or the input fails, ends, or is too slow."""
        parts = [] if rest is None else [rest]
        need = len(self.places)
        have = 0 if rest is None else rest.n
        self.error = error if have < need else None
        until = at_once()
        while have < need and self.error is None and not self.ended:
            if have and late(until):
                self.short = True
                break
            try:
                block = pull(need - have)
            except Exception as e:
                self.error = e
                break
            except BaseException as e:
                self.rows = concat(parts) if parts else None
                raise Interrupted(e, None) from None
            if block is None:
                self.ended = True
            elif block.n:
                parts.append(block)
                have += block.n
        self.rows = concat(parts) if parts else None
        if have < need:
            self.failed_at = int(self.places[have])

    def cut(self, stop: int) -> Block | None:
        """Keeps the rows for choices before position `stop`; returns the others."""
        rows = self.rows
        n = min(int(np.searchsorted(self.places, stop)), rows.n if rows is not None else 0)
        self.places = self.places[:n]
        self.rows = rows.slice(0, n) if rows is not None and n else None
        return rows.slice(n, rows.n) if rows is not None and n < rows.n else None


def _with(values: tuple[Any, ...], j: int, value: object) -> tuple[Any, ...]:
    return (*values[:j], value, *values[j + 1 :])


def _used(s: Chosen, n: int) -> Chosen:
    """The state without the first n choices."""
    assert s.choices is not None
    return s._replace(choices=s.choices[n:] if n < len(s.choices) else None)


def plans_of(datasets: object, op: str) -> tuple[Node, ...]:
    """The plans of a sequence of datasets."""
    if not isinstance(datasets, Sequence) or isinstance(datasets, (str, bytes)):
        raise InvalidTypeError(f"{op}: datasets must be a list of datasets, got {type(datasets).__name__}")
    if not datasets:
        raise InvalidArgumentError(f"{op}: datasets is empty; it needs at least one dataset")
    return tuple(plan_of(d, f"datasets[{i}]", op) for i, d in enumerate(datasets))


def chosen(
    selector: Node, plans: tuple[Node, ...], stop: bool, drawable: tuple[bool, ...] | None = None
) -> Dataset[Any]:
    """A dataset of the rows that `selector` chooses. Compares the inputs' specs at once if that runs no user function.
    """
    plan = Choose(selector, plans, stop, drawable or (True,) * len(plans))
    if all(spec_known(n) for n in plans):
        _ = plan.element_spec
    return dataset(plan)


def choose_from_datasets(
    datasets: Sequence[Dataset[T]], choice_dataset: Dataset[Any], stop_on_empty_dataset: bool = True
) -> Dataset[T]:
    """Takes each element from the dataset that `choice_dataset` selects by index.

    >>> letters = [fl.Dataset.from_tensors(s).repeat(2) for s in ("a", "b")]
    >>> list(fl.Dataset.choose_from_datasets(letters, fl.Dataset.from_tensor_slices(np.array([0, 1, 1, 0]))))
    [b'a', b'b', b'b', b'a']

    The indices are int64 scalars, counted from 0. When a chosen dataset is exhausted, the result ends; with
    `stop_on_empty_dataset=False` the choice is skipped instead.
    """
    op = "choose_from_datasets"
    plans = plans_of(datasets, op)
    selector = plan_of(choice_dataset, "choice_dataset", op)
    if spec_known(selector):
        leaves, tree = flatten(selector.element_spec)
        if not tree.is_leaf or not TensorSpec((), np.int64).is_compatible_with(leaves[0]):
            raise InvalidTypeError(f"{op}: {_CHOICES}, got {selector.element_spec!r}")
    return chosen(selector, plans, boolean(stop_on_empty_dataset, "stop_on_empty_dataset", op))
