"""`Dataset.sample_from_datasets`: elements of several datasets, chosen at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.choose_from_datasets import chosen, plans_of
from feedline.ops.sources.indexed import MOST_ROWS
from feedline.ops.sources.random import Drawn, Random
from feedline.ops.take import Take
from feedline.plan.arguments import boolean
from feedline.plan.dataset_base import DatasetBase, dataset
from feedline.plan.node import Node, Pull, node
from feedline.plan.traits.specs import sampled
from feedline.random.philox import words
from feedline.random.sampling import log_weights, pick
from feedline.random.seeds import SeedGenerator, get_seed
from feedline.structure.block import Array, Block, rows_of
from feedline.structure.nest import LEAF

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

OP = "sample_from_datasets"


@node
class Draws(Random):
    """Dataset numbers drawn with fixed odds, using two words of the random stream each."""

    op: ClassVar[str] = "draws"
    logits: Array

    def step(self, state: Drawn, pull: Any, want: int) -> tuple[Block | None, Drawn]:
        """The next numbers."""
        want = min(want, MOST_ROWS)
        numbers = pick(words(*state.seeds, 2 * state.drawn, 2 * want), self.logits)
        return Block([numbers], want, LEAF), state._replace(drawn=state.drawn + want)


@node
class WeightedDraws(Random):
    """Dataset numbers drawn with the odds in the rows of `weights`."""

    op: ClassVar[str] = "weighted_draws"
    weights: Node

    def cardinality(self) -> int:
        """The number of rows in `weights`."""
        return self.weights.cardinality()

    def begin(self, pull: Pull) -> Drawn:
        """Starts the weights, then draws the iteration's seeds."""
        pull.start()
        return Drawn(self.generator.next())

    def step(self, state: Drawn, pull: Pull, want: int) -> tuple[Block | None, Drawn]:
        """One number per row of weights."""
        block = pull(want)
        if block is None or not block.n:
            return block, state
        drawn = words(*state.seeds, 2 * state.drawn, 2 * block.n)
        column = block.columns[0] if len(block.columns) == 1 else None
        if isinstance(column, np.ndarray) and column.ndim == 2 and column.dtype.kind == "f":
            numbers = pick(drawn, log_weights(column).astype(np.float64))
        else:
            one_by_one = [_one(drawn[2 * i : 2 * i + 2], w) for i, w in enumerate(_vectors(block, column))]
            numbers = np.array(one_by_one, np.int64)
        return Block([numbers], block.n, LEAF), state._replace(drawn=state.drawn + block.n)

    def sampled(self) -> Node:
        """A copy with its own seed generator, and weights that are cheap to start."""
        made: Node = super().sampled().replace(weights=sampled(self.weights))
        return made

    def after_error(self, state: Drawn) -> Drawn:
        """Failing weights use up a draw: TensorFlow zips the weights and the draws."""
        return state._replace(drawn=state.drawn + 1)


def _vectors(block: Block, column: object) -> list[Array]:
    vectors = [] if column is None else rows_of(column)
    if column is None or any(not isinstance(v, np.ndarray) or v.ndim != 1 or v.dtype.kind != "f" for v in vectors):
        raise InvalidTypeError(f"{OP}: the elements of weights must be vectors of floats, got {block.spec()!r}")
    return vectors


def _one(drawn: Any, weights: Array) -> int:
    return int(pick(drawn, log_weights(weights).astype(np.float64))[0])


def sample_from_datasets(
    datasets: Sequence[Dataset[T]],
    weights: object = None,
    seed: SupportsIndex | None = None,
    stop_on_empty_dataset: bool = False,
    rerandomize_each_iteration: bool | None = None,
) -> Dataset[T]:
    """Takes each element from a dataset chosen at random.

    >>> a, b = fl.Dataset.range(3), fl.Dataset.range(100, 103)
    >>> [int(x) for x in fl.Dataset.sample_from_datasets([a, b], weights=[0.5, 0.5], seed=2)]
    [100, 0, 101, 1, 102, 2]

    `weights` are the odds, one float per dataset, or a dataset of such vectors, one per draw; by default the odds are
    equal. An exhausted dataset is skipped, or ends the result if `stop_on_empty_dataset` is True. Every iteration makes
    the same choices unless `rerandomize_each_iteration` is True. For a given seed they are TensorFlow's.
    """
    plans = plans_of(datasets, OP)
    stop = boolean(stop_on_empty_dataset, "stop_on_empty_dataset", OP)
    rerandomize = boolean(rerandomize_each_iteration or False, "rerandomize_each_iteration", OP)
    if isinstance(weights, DatasetBase):
        generator = SeedGenerator(*get_seed(seed), rerandomize)
        return chosen(WeightedDraws(generator, weights._plan), plans, stop)
    logits = np.ones(len(plans))
    if weights is not None:
        odds, kept = _odds(weights, len(plans))
        if not kept:
            return dataset(Take(plans[0], 0))
        plans = tuple(plans[i] for i in kept)
        logits = log_weights(odds).astype(np.float64)
    if len(plans) == 1:
        return dataset(plans[0])
    generator = SeedGenerator(*get_seed(seed), rerandomize)
    return chosen(Draws(generator, logits), plans, stop, tuple(np.isfinite(logits).tolist()))


def _odds(weights: Any, k: int) -> tuple[Array, list[int]]:
    """The weights above zero, as an array, and the datasets they belong to."""
    given = list(weights)
    if len(given) != k:
        raise InvalidArgumentError(f"{OP}: weights must have one entry per dataset, got {len(given)} for {k}")
    kept = [i for i, w in enumerate(given) if w > 0]
    values = [given[i] for i in kept] or [1.0]
    # TensorFlow uses the dtype of the first one; Python numbers become float32 if one of them is a float.
    first = values[0]
    dtype = first.dtype if isinstance(first, (np.ndarray, np.generic)) else np.result_type(*map(type, values))
    if not isinstance(first, (np.ndarray, np.generic)) and dtype.kind == "f":
        dtype = np.dtype(np.float32)
    if dtype not in (np.float32, np.float64):
        raise InvalidTypeError(f"{OP}: weights must be float32 or float64, got {dtype}")
    return np.array(values, dtype), kept
