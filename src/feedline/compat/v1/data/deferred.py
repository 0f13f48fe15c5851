"""Datasets with symbolic arguments: their plans are made when an iterator is initialized."""

from __future__ import annotations

import dataclasses
import functools
import secrets
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from feedline.compat.v1.graph import get_default_graph, inside_function, seeding
from feedline.compat.v1.symbolic import SymbolicCall, SymbolicValues
from feedline.compat.v1.tensor import StandIns
from feedline.errors import FailedPreconditionError
from feedline.ops.cache import CacheMemory
from feedline.ops.shuffle import Shuffle
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.dataset_base import DatasetBase, sample
from feedline.plan.node import Node, node
from feedline.plan.rewrite import replace_node, with_inputs
from feedline.plan.traits.specs import InferredSpec, Sampled, sampled
from feedline.random.seeds import M, SeedGenerator, function_scope
from feedline.structure.spec import general


@node
class Deferred(InferredSpec, Sampled):
    """Placeholder for the plan that `call` makes once its arguments have values.

    TensorFlow assigns seeds to random operators when the program makes them, not when they run: `seeds` are those of
    the graph at that time, and `first` is the number of the first seedless operator that the call makes.
    """

    op: ClassVar[str] = "deferred"
    call: SymbolicCall
    seeds: Any
    first: int

    def spec(self) -> Any:
        """The spec inferred with stand-ins for the arguments."""
        merged: Any = None
        for size in StandIns.SIZES if self.call.tensors else StandIns.SIZES[:1]:
            spec = element_spec(resolved_plan(self, StandIns(size)))
            merged = spec if merged is None else general(merged, spec)
            if merged is None:
                raise FailedPreconditionError(
                    "the structure of the elements depends on values that are not available yet"
                )
        return merged

    def cardinality(self) -> int:
        """Unknown until the arguments have values."""
        return UNKNOWN

    def begin(self, pull: Any) -> NoReturn:
        """Raises: there is no plan to run yet."""
        raise FailedPreconditionError(
            "the dataset depends on values that exist only while a session runs; use make_initializable_iterator() and "
            "run its initializer with a feed_dict"
        )

    def sampled(self) -> Node:
        """The plan for stand-ins."""
        return sampled(resolved_plan(self, StandIns(StandIns.SIZES[0])))


def applied(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The dataset that `function` makes, or a deferred plan for it if the arguments are symbolic."""
    graph = get_default_graph()
    call = SymbolicCall(function, args, kwargs)
    with graph._building():
        if inside_function() or not call.pending:
            return function(*args, **kwargs)
        with function_scope() as scope:
            try:
                made: Any = call(StandIns(StandIns.SIZES[0]))
            except Exception:  # it may reject made-up values; real ones will show
                made = None
        if made is not None and not isinstance(made, DatasetBase):
            raise TypeError(f"{call!r} does not return a dataset and takes no symbolic arguments")
        return Deferred(call, graph._seeds, graph._reserve(scope.used))


def resolved_plan(plan: Node, values: SymbolicValues) -> Node:
    """The plan to run: deferred steps made with their values, and random ones as if newly made.

    TensorFlow makes all datasets of a graph again whenever an iterator is initialized. So a seeded shuffle starts over
    with the same orders, one without a seed gets new ones, and a cache is empty. A dataset that is used twice is made
    twice; the uses share the generator of `random`, but not that of a shuffle.
    """
    if isinstance(plan, Deferred):
        return _made(plan, values)
    step = with_inputs(plan, tuple([resolved_plan(n, values) for n in plan.inputs]))
    fresh: dict[str, Any] = {}
    for field in dataclasses.fields(step):
        held = getattr(step, field.name)
        if isinstance(held, CacheMemory):
            fresh[field.name] = CacheMemory()
        elif isinstance(held, SeedGenerator):
            again = functools.partial(_fresh, held)
            fresh[field.name] = again() if isinstance(step, Shuffle) else values.once(held, again)
    return replace_node(plan, step.replace(**fresh)) if fresh else step


def _made(step: Deferred, values: SymbolicValues) -> Node:
    with seeding(step.seeds), function_scope() as scope:
        scope.used = step.first
        result = step.call(values)
    if not isinstance(result, DatasetBase):
        raise TypeError(f"{step.call.function!r} must return a dataset, got {type(result).__name__}")
    return result._plan


def _fresh(held: SeedGenerator) -> SeedGenerator:
    # Given seeds are below 2**31; larger ones came from the operating system and are drawn again.
    unseeded = max(held.seed, held.seed2) > M
    pair = (secrets.randbits(64), secrets.randbits(64)) if unseeded else (held.seed, held.seed2)
    return SeedGenerator(*pair, held.reshuffle)


def element_spec(plan: Node) -> Any:
    """The spec of a plan's elements. If it cannot be inferred from several elements, the first one alone is used."""
    try:
        return plan.element_spec
    except Exception:
        first = sample(plan, 1)
        if not first:
            raise
        return first[0].spec()
