"""A plan is a tree of nodes; a node is one step, as frozen data, and knows how to run one block of itself.

How a node runs: `begin` gives its state when an iterator over it is made; `step` advances that state by one block. The
engine holds the states and passes each node its inputs as `Pull` objects. A node touches nothing but its state, its
pulls and the user's function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np

from feedline.kernels import interrupts
from feedline.plan.access import Access
from feedline.plan.interrupted import Exited as Exited
from feedline.plan.interrupted import Interrupted as Interrupted
from feedline.plan.interrupted import unpacked
from feedline.plan.pace import soon
from feedline.plan.pull import Child as Child
from feedline.plan.pull import Pull as Pull
from feedline.plan.reshard import error_waits, not_reshardable, round_robin_share, untouched
from feedline.plan.row_calls import Parallel as Parallel
from feedline.plan.row_calls import RowFailed as RowFailed
from feedline.plan.row_calls import RowWiseState as RowWiseState
from feedline.plan.same_arguments import brief, same
from feedline.random.element import Draws, Epochs, drawing
from feedline.sharing import cached_property
from feedline.structure.block import Block, concat
from feedline.structure.nest import LEAF

C = TypeVar("C")
P = TypeVar("P", bound=Pull)
_NOTHING: tuple[tuple[Exception, ...], BaseException | None] = (), None


class NoState(NamedTuple):
    """The state of a node that needs none."""


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[C]) -> type[C]:
    """Makes a Node class a frozen dataclass. It inherits the methods of `Node`: dataclasses would compile them again
    for each class, which is most of the cost of importing them.
    """
    made: Any = dataclasses.dataclass(init=False, eq=False, repr=False, match_args=False)(cls)
    made._fields = dataclasses.fields(made)
    return cls


@node
class Node(Access):
    """One step of a plan. Fields that are Nodes, or tuples of Nodes, are its inputs; the others are its arguments."""

    State: ClassVar[Any] = NoState
    mutable_state: ClassVar[bool] = False
    """Whether the state is updated in place (it holds many rows, or a running child)."""
    many: ClassVar[bool] = False
    """Whether `pull` is a tuple, one per input; otherwise it is the only input's pull, or None for a source."""
    restarts: ClassVar[bool] = False
    """Whether the node starts an input during an iteration, not only at its beginning."""
    opaque: ClassVar[bool] = False
    """Whether the spec can only be found by running the user's function."""
    keeps_rows: ClassVar[bool] = False
    """Whether the node passes rows of its inputs on unchanged."""
    one_to_one: ClassVar[bool] = False
    """Whether each row of the input becomes one row."""
    checkpoint_transparent: ClassVar[bool] = False
    """Whether the node only affects how the plan is run, so that a checkpoint fits the plan with or without it."""
    execution_args: ClassVar[frozenset[str]] = frozenset({"num_parallel_calls", "deterministic", "workers"})
    """The arguments that only affect how the step is run."""
    resumable_args: ClassVar[frozenset[str]] = frozenset()
    """The integer arguments that the state does not depend on: they may differ after a restore."""
    shard_args: ClassVar[frozenset[str]] = frozenset()
    """The integer arguments that select the node's shard of its input."""
    seeds_order: ClassVar[bool] = False
    """Whether the `generator` only affects the order of rows."""
    op: ClassVar[str] = ""
    """The method's name, for messages and pictures."""
    written: ClassVar[str] = ""
    """The `op` of the step that this node replaces, if that has another name and its state fits both."""

    _fields: ClassVar[tuple[dataclasses.Field[Any], ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = [f.name for f in self._fields]
        given = dict(zip(names, args, strict=False)) | kwargs
        if len(given) < len(args) + len(kwargs) or not given.keys() <= set(names):
            wrong = f"got {len(args)} values and {list(kwargs)}"
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}; {wrong}")
        for f in self._fields:
            if f.name not in given:
                if f.default is not dataclasses.MISSING:
                    given[f.name] = f.default
                elif f.default_factory is not dataclasses.MISSING:
                    given[f.name] = f.default_factory()
                else:
                    raise TypeError(f"{type(self).__name__} needs {f.name}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot change {name}: a plan is a value; use replace()")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name}: a plan is a value")

    def spec(self) -> Any:
        """The spec of the elements; by default the only input's. Callers use `element_spec`, which remembers it."""
        return self.inputs[0].element_spec

    def cardinality(self) -> int:
        """The number of elements; by default the only input's."""
        return self.inputs[0].cardinality()

    def begin(self, pull: Any) -> Any:
        """The initial state. Starts the inputs, in TensorFlow's order, and draws the node's seeds, if it has any."""
        for p in self.pulls(pull):
            p.start()
        return self.State()

    def again(self, before: Any, state: Any) -> Any:
        """The initial state of another epoch of the same iterator, given the state `before` it and a fresh one."""
        return state

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        """At most `want` more rows and the state after them; None instead of rows at the end, also if called again."""
        raise TypeError(f"{type(self).__name__} cannot run")

    def after_error(self, state: Any) -> Any:
        """The state to continue with after `step` has raised with `state`, without what an error discards."""
        return state

    def child(self, key: Block) -> Node:
        """The nested plan made from `key`; for nodes that open children."""
        raise TypeError(f"{self.op} opens no nested datasets")

    # How the engine may run the node.

    @property
    def parallel(self) -> Parallel | None:
        """How the calls of `apply` may run in parallel; None if they run in order, in the thread that pulls."""
        return None

    def holds(self, state: object) -> tuple[int, int] | None:
        """The number of rows buffered in a state and about how many bytes they take, or None if that is not worth
        reporting. Called often, so it must be quick.
        """
        return None

    @property
    def batch_size_hint(self) -> int | None:
        """How many rows of its input this step stacks into one, in fresh memory; None if it stacks none."""
        return None

    @property
    def ahead(self) -> int | None:
        """How many rows may be prepared before they are requested: AUTOTUNE to have that tuned, None for none."""
        return None

    # What a checkpoint holds for the node.

    @property
    def recomputable(self) -> bool:
        """Whether the rows carry their provenance and can be read again from there, so that a checkpoint need not hold
        them.
        """
        return self.keeps_rows and bool(self.inputs) and all(n.recomputable for n in self.inputs)

    @property
    def maybe_recomputable(self) -> bool:
        """False only if it is certain, before the node runs, that it is not `recomputable`."""
        below = self.keeps_rows and bool(self.inputs) and all(n.maybe_recomputable for n in self.inputs)
        return below or self.recomputable

    @property
    def snapshotable(self) -> bool:
        """Whether a mutable state can usually be copied at little cost."""
        return False

    def snapshot(self, state: Any) -> Any:
        """A copy of a mutable state, which does not change and can be saved; the state itself if it cannot be copied.
        """
        raise TypeError(f"{self.op} does not copy its state")

    def seeds_drawn(self, state: Any) -> list[tuple[Any, int]]:
        """The seed generators that the node draws from, and how many seeds it has drawn in this iterator. By default
        the node's own `generator`, if it has one, and the state's `taken`.
        """
        generator = getattr(self, "generator", None)
        return [] if generator is None else [(generator, state.taken)]

    def loaded(self, state: Any) -> Any:
        """A state from a checkpoint, made ready to continue. Raises if that is no longer possible."""
        return state

    def shard_of(self, arguments: Sequence[int]) -> tuple[int, int]:
        """The number of shards and the index of this one, given the values of `shard_args` in the order of their names.
        """
        raise TypeError(f"{self.op} shares nothing out")

    def for_shard(self, part: int, parts: int) -> Node:
        """This node in the plan for shard `part` of `parts`."""
        return self

    def primed(self, state: Any, pull: Any) -> Any:
        """The state with the input started, for a node that may defer that. Reads nothing."""
        return state

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """The node's state in shard `part` of `parts`, after resharding the `states` that the nodes `others` had in the
        shards before.
        """
        if all(s is None for s in states):
            return None
        if all(s is None or untouched(self, s) for s in states):
            return self.State()
        raise not_reshardable(self, len(states), parts)

    # Properties of the plan.

    @property
    def user_code(self) -> bool:
        """Whether the node runs a user's function that may have side effects."""
        return False

    def sampled(self) -> Node:
        """A plan with elements of the same spec that is cheap to start, used to infer specs."""
        changed = {f: _sampled(v) for f, v in self.input_fields()}
        return self.replace(**changed) if changed else self

    @property
    def sampled_whole(self) -> bool:
        """Whether `sampled` gives the same elements, all of them."""
        return True

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one reads from."""
        return tuple(n for _, v in self.input_fields() for n in (v if isinstance(v, tuple) else (v,)))

    @property
    def _below(self) -> Sequence[Node]:
        return self.inputs

    @cached_property
    def element_spec(self) -> Any:
        """The spec of the elements, computed once. Interrupts are locked out meanwhile, since the step that reads the
        spec may hold rows that would be lost.
        """
        locked = interrupts.lock()
        try:
            return unpacked(self.spec)
        finally:
            interrupts.unlock(locked)

    @property
    def spec_known(self) -> bool:
        """Whether `element_spec` is available without running a user's function."""
        return "element_spec" in self.__dict__ or (not self.opaque and all(n.spec_known for n in self.inputs))

    @cached_property
    def spec_stated(self) -> bool:
        """Whether `element_spec` holds for all elements; one inferred from a few results of a function may not."""
        return not self.opaque and all(n.spec_stated for n in self.inputs)

    @property
    def side_effect_free(self) -> bool:
        """Whether no user's function with possible side effects runs in this plan, so that it may be asked for more
        rows than are needed now.
        """
        return not self.user_code and all(n.side_effect_free for n in self.inputs)

    @property
    def consumes_seeds_early(self) -> bool:
        """Whether asking for more rows than are needed draws seeds early, which another iterator would then miss."""
        return any(n.consumes_seeds_early for n in self.inputs)

    @cached_property
    def consumes_shared_seeds(self) -> bool:
        """Whether an iteration, as it advances, consumes what all iterators of a dataset share: seeds, or the iteration
        numbers from which users' functions draw random numbers.
        """
        if getattr(getattr(self, "generator", None), "reshuffle", False) or any(
            n.consumes_shared_seeds for n in self.inputs
        ):
            return True
        return self.restarts and any(getattr(n, "epochs", None) is not None for n in self.walk())

    @cached_property
    def shared_at_start(self) -> tuple[Any, ...]:
        """What starting the plan may draw from that all iterators share: seed generators and iteration numbers."""
        own = tuple(v for v in (getattr(self, "generator", None), getattr(self, "epochs", None)) if v is not None)
        return tuple(dict.fromkeys((*own, *(v for n in self.inputs for v in n.shared_at_start))))

    @cached_property
    def position(self) -> int:
        """The number of this step, counted from the source, as errors name it."""
        return 1 + max((n.position for n in self.inputs), default=0)

    def arguments(self) -> dict[str, Any]:
        """The fields that are not inputs and differ from their defaults, as `explain` shows them."""
        inputs, shown = {f for f, _ in self.input_fields()}, {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name in inputs or not f.repr or (f.default is not dataclasses.MISSING and value is f.default):
                continue
            shown[f.name] = value
        return shown

    def replace(self, **changes: Any) -> Self:
        """A copy with other fields, which keeps this node's `position` for messages."""
        made = dataclasses.replace(self, **changes)
        made.__dict__["position"] = self.position
        return made

    def pulls(self, pull: P | tuple[P, ...] | None) -> tuple[P, ...]:
        """`pull` as a tuple, whatever form it has for this node."""
        if pull is None:
            return ()
        return pull if isinstance(pull, tuple) else (pull,)

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, inputs first."""
        for n in self.inputs:
            yield from n.walk()
        yield self

    def input_fields(self) -> list[tuple[str, Any]]:
        """The names and values of the fields that hold nodes, or tuples of them."""
        found = []
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Node) or (isinstance(value, tuple) and value and isinstance(value[0], Node)):
                found.append((f.name, value))
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        return all(same(getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self) if f.compare)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.position))

    def __repr__(self) -> str:
        parts = [repr(n) for n in self.inputs] + [f"{k}={brief(v)}" for k, v in self.arguments().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        kept = {f.name for f in dataclasses.fields(self)} | {"position"}
        return {k: v for k, v in self.__dict__.items() if k in kept}


@node
class RowWise(Node):
    """A step that processes each row independently. `apply` has no state, so the engine may fuse it, or run it in
    threads or processes.
    """

    State: ClassVar[Any] = RowWiseState
    input: Node

    def apply(self, block: Block) -> Block:
        """The block's rows, transformed. Raises `RowFailed` for the first row that fails."""
        raise TypeError(f"{type(self).__name__} cannot run")

    @property
    def output_spec_known(self) -> bool:
        """Whether the result of `apply` no longer depends on earlier calls."""
        return True

    def accepted(self, made: Block) -> Block:
        """Rows made by a copy of this node that was not `output_spec_known`. Raises `RowFailed` for a row whose type
        differs from those before.
        """
        return made

    @property
    def epochs(self) -> Epochs | None:
        """Numbers the iterations, for the random numbers of a user's function; None if there is no such function."""
        return None

    def blame(self, failed: RowFailed, number: int) -> Exception:
        """The exception users see for a failed row; `number` counts rows from the start of the iteration."""
        assert isinstance(failed.error, Exception)
        return failed.error

    def begin(self, pull: Pull) -> RowWiseState:
        """Starts the input; no row has been processed."""
        pull.start()
        return RowWiseState() if self.epochs is None else RowWiseState(draws=self.epochs.next())

    @property
    def can_recompute(self) -> bool:
        """Whether `apply` is a pure, deterministic function that makes one row of each."""
        return self.one_to_one and not self.user_code and self.epochs is None

    @property
    def recomputable(self) -> bool:
        """Whether the input's rows are recomputable, and this step's can be recomputed from them."""
        return self.input.recomputable and (self.keeps_rows or self.can_recompute)

    def recompute(self, block: Block) -> Block:
        """`apply`; the rows keep their provenance, with this node in the lineage, if the step `can_recompute`."""
        made = self.apply(block)
        if block.provenance is None or not self.can_recompute or made.n != block.n:
            return made
        return Block(made.columns, made.n, made.tree, block.provenance.through(self))

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """Applies the step to the first rows of a block: at least one, and no row is begun after `until`. Also gives
        how many rows those are.
        """
        return self.apply(block), block.n

    def applied(self, block: Block, number: int, draws: Draws | None, until: float = inf) -> tuple[Block, int]:
        """`apply_some`, for a block whose first row is row `number` of the iteration."""
        try:
            if draws is None:
                return self.recompute(block), block.n
            with drawing(number, draws, self.epochs):
                return self.apply_some(block, until)
        except RowFailed as failed:
            failed.locate(block)
            raise

    def apply_into(self, block: Block, where: object) -> tuple[Block, bool]:
        """`apply`, with large rows written to their slots in a batch; also gives whether they were."""
        return self.apply(block), False

    def step(self, state: RowWiseState, pull: Pull, want: int) -> tuple[Block | None, RowWiseState]:
        """Transforms the input's rows. The rows before a failing one come out first, then the error, then the rest."""
        seen, rest, ready, skip, draws, late = state
        if ready:
            first, others = ready[0], ready[1:]
            if isinstance(first, Exception):
                raise first
            left = (first.slice(want, first.n), *others) if first.n > want else others
            return first.slice(0, want), state._replace(ready=left)
        if skip:
            passed = pull(skip)
            return (passed, state) if passed is None else (EMPTY, state._replace(skip=skip - passed.n))
        if rest is not None:
            block, rest = rest.slice(0, want), rest.slice(want, rest.n) if rest.n > want else None
        elif late is not None:
            raise late
        else:
            got = pull(want)
            if got is None:
                return got, state
            block = got
        until = inf if block.n == 1 else soon()
        try:
            finished, used = self.applied(block, seen, draws, until)
            told, interrupt = _NOTHING
        except RowFailed as failed:
            own = isinstance(failed.error, Exception)  # otherwise it is an interrupt, and the row is to be made again
            finished, used = failed.done if failed.done is not None else EMPTY, failed.index + own
            told = (self.blame(failed, seen + failed.index),) if own else ()
            interrupt = None if own else failed.error
        except BaseException as e:
            if isinstance(e, Exception):
                raise
            finished, used, told, interrupt = EMPTY, 0, (), e
        if used < block.n:
            after = block.slice(used, block.n)
            rest = after if rest is None else concat([after, rest])
        state = RowWiseState(seen + used, rest, told, draws=draws, late=late)
        if interrupt is None:
            return finished, state
        raise Interrupted(interrupt, state, finished)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the buffered rows; random numbers continue from those of one of the saved iterators."""
        begun = [s for s in states if s is not None]
        if not begun:
            return None
        ready = [r for s in begun for r in s.ready]
        if any(isinstance(r, Exception) for r in ready) or any(s.late is not None for s in begun):
            raise error_waits(self)
        rest, done = round_robin_share([s.rest for s in begun], part, parts), round_robin_share(ready, part, parts)
        drawn = begun[part % len(begun)].draws
        return RowWiseState(max(s.seen for s in begun), rest, () if done is None else (done,), draws=drawn)

    def after_error(self, state: RowWiseState) -> RowWiseState:
        """The state without the error that was raised; the rows after it are still to be processed."""
        if state.ready:
            return state._replace(ready=state.ready[1:])
        return state._replace(late=None) if state.late is not None else state


EMPTY = Block([np.empty(0, np.int64)], 0, LEAF)
"""A block of no rows and no particular structure: "nothing yet"."""


def _sampled(value: Any) -> Any:
    return tuple(n.sampled() for n in value) if isinstance(value, tuple) else value.sampled()
