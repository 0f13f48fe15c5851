"""Steps that write their input to a file in the first complete pass and read the file in later passes."""

from __future__ import annotations

from typing import Any, ClassVar, TypedDict

from feedline.early import must_be_wanted
from feedline.errors import AlreadyExistsError, NotFoundError, OpError
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.pull import Child
from feedline.plan.traits.schedule import OpensChildren
from feedline.plan.traits.specs import Sampled, spec_known
from feedline.structure.block import Block, concat


class MaterializeState:
    """One pass: it either reads materialized rows (`child`), or reads the input and writes its rows to `sink`.

    `rest` holds rows still to be written, `due` an error that comes before them. `broken` is an error that ends the
    pass and is raised at every step; `unwritten` means that it is a write error, which a checkpoint leaves out.
    `passing` means that nothing is written: another process writes, or the start of the input is missing. `before` is
    what `sink` had written when the pass was saved; the pass appends to it if it still exists. `begun` means that the
    pass has chosen between reading and writing.
    """

    __slots__ = ("before", "begun", "broken", "child", "due", "given", "over", "passing", "rest", "sink", "unwritten")

    def __init__(self) -> None:
        self.child: Any = None
        self.sink: Any = None
        self.rest: Block | None = None
        self.due: Exception | None = None
        self.broken: Exception | None = None
        self.before: Any = None
        self.given = 0
        self.passing = self.over = self.unwritten = self.begun = False

    def close(self) -> None:
        """Ends the pass and discards incomplete output."""
        for held in (self.child, self.sink):
            if held is not None:
                held.close()
        self.child = self.sink = None

    def notify_error(self) -> None:
        """Tells the sink that an error has reached the consumer."""
        if self.sink is not None and hasattr(self.sink, "notify_error"):
            self.sink.notify_error()

    class Saved(TypedDict):
        """The dict that `save` returns."""

        child: Child | None
        rest: Block | None
        errors: list[Exception | None]
        given: int
        flags: list[bool]
        written: dict[str, Any] | None

    def save(self) -> dict[str, Any]:
        """The state, with how far the output was written. A restored pass appends to that output; if it is gone or was
        begun anew by another pass, the restored pass does not write, and the next one does.
        """
        written = self.before if self.sink is None else self.sink.save()
        passing = self.child is None and written is None and (self.passing or self.given > 0)
        return {
            "child": self.child,
            "rest": self.rest,
            "errors": [self.due, None if self.unwritten else self.broken],
            "given": self.given,
            "flags": [passing, self.over, self.begun],
            "written": written,
        }

    @classmethod
    def load(cls, saved: dict[str, Any]) -> MaterializeState:
        """Restores a state from what `save` returned."""
        self = cls()
        self.child, self.rest, self.given = saved["child"], saved["rest"], saved["given"]
        self.due, self.broken = saved["errors"]
        self.passing, self.over, self.begun = saved["flags"]
        self.before = saved["written"]
        return self


@node
class Materialize(OpensChildren, Sampled):
    """A step that writes its input, or reads what was written. Subclasses define `found` and `sink`."""

    State: ClassVar[Any] = MaterializeState
    mutable_state: ClassVar[bool] = True
    input: Node

    def found(self) -> Node | None:
        """A plan that reads the materialized rows; None if they are incomplete. Raises if they are not this input's."""
        raise TypeError(f"{type(self).__name__} must define found")

    def sink(self, before: object = None) -> Any:
        """A sink for rows: `write` appends, `finish(spec)` completes it, `close` discards it. None if this pass does
        not write. `before` is the saved state of an earlier sink to continue; raises `NotFoundError` if that is gone.
        """
        raise TypeError(f"{type(self).__name__} must define sink")

    def write(self, sink: Any, block: Block, number: int) -> tuple[int, Exception | None]:
        """Writes rows, if there is a sink. `number` is the index of the first; returns how many were written, and the
        error of the next one.
        """
        if sink is not None:
            sink.write(block)
        return block.n, None

    def child(self, key: Block) -> Node:
        """The plan that a restored pass reads."""
        plan = self.found()
        if plan is None:
            raise NotFoundError(
                f"{self.op}: the files that the iterator state was reading no longer exist; restore them"
            )
        return plan

    def begin(self, pull: Pull) -> MaterializeState:
        """Decides whether this pass reads or writes."""
        state = MaterializeState()
        self._begin(state, pull)
        return state

    def _begin(self, state: MaterializeState, pull: Pull) -> None:
        """Opens the materialized rows, or starts the input if there are none."""
        try:
            plan = self.found()
            if plan is None:
                pull.start()
            else:
                state.child = _started(pull.open(plan))
        except OpError as e:  # raised with the first element, as in TensorFlow
            state.broken = e
        state.begun = True

    def step(self, state: MaterializeState, pull: Pull, want: int) -> tuple[Block | None, MaterializeState]:
        """Reads materialized rows, or writes the input's rows and passes them on."""
        if not state.begun:
            self._begin(state, pull)
        if state.due is not None:
            error, state.due = state.due, None
            raise error
        if state.broken is not None:
            must_be_wanted(state.broken)
            raise state.broken
        if state.over:
            return None, state
        if state.child is None and state.sink is None and not state.passing:
            self._opened(state, pull)
        if state.child is not None:
            return state.child(want), state
        return self._through(state, pull, want), state

    def _opened(self, state: MaterializeState, pull: Pull) -> None:
        """Opens the sink, or the one the pass was saved with; reads instead if another pass has completed by now."""
        if state.given:
            try:
                state.sink = None if self.found() is not None else self.sink(state.before)
            except (NotFoundError, AlreadyExistsError):
                state.sink = None
            state.before, state.passing = None, state.sink is None
            return
        state.sink = self.sink()
        state.passing = state.sink is None
        plan = self.found()
        if plan is not None:
            child = _started(pull.open(plan))
            state.close()
            state.child = child

    def _through(self, state: MaterializeState, pull: Pull, want: int) -> Block | None:
        """The input's next rows, after writing them."""
        if state.rest is not None:
            rest = state.rest
            block, state.rest = rest.slice(0, want), rest.slice(want, rest.n) if rest.n > want else None
        else:
            pulled = pull(want)
            if pulled is None:
                if state.sink is not None:
                    must_be_wanted()  # other passes find what is complete, so when it is must not depend on time
                    known = self.input.element_spec if spec_known(self.input) else None
                    self._kept(state, lambda: state.sink.finish(known))
                state.sink, state.over = None, True
                return None
            block = pulled.frozen()  # rows wait to be written, so they must not change
        if not block.n:
            return EMPTY
        try:
            n, error = self._kept(state, lambda: self.write(state.sink, block, state.given))
        except BaseException:  # nothing has been written
            state.rest = block if state.rest is None else concat([block, state.rest])
            raise
        state.given += n
        if error is not None:
            state.due, state.given = error, state.given + 1
            parts = [p for p in (block.slice(n + 1, block.n), state.rest) if p is not None and p.n]
            state.rest = concat(parts) if parts else None
        return block.slice(0, n) if n else EMPTY

    def _kept(self, state: MaterializeState, write: Any) -> Any:
        """The result of `write`. A failure ends the pass, since rows would be missing in the output."""
        try:
            return write()
        except Exception as e:
            state.broken, state.unwritten = e, True
            state.close()
            must_be_wanted(e)
            raise


def _started(child: Child) -> Child:
    child.start()
    return child
