"""Steps that write their input to a file in the first complete pass and read it from there in all later ones."""

from __future__ import annotations

from typing import Any, ClassVar, TypedDict

from feedline.early import must_be_wanted
from feedline.errors import AlreadyExistsError, NotFoundError, OpError
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.pull import Child
from feedline.structure.block import Block, concat


class MaterializeState:
    """One pass: over what is written already (`child`), or over the input, which `sink` writes.

    `rest` are rows still to be written, `due` an error that comes before them. `broken` is an error that ends the pass:
    it comes again and again; `unwritten` says that rows could not be written, which one who restores the pass need not
    be troubled by. `passing` means that nothing is written: the beginning of the input is not at hand.
    `before` is what had been written when the pass was saved, which it goes on with if that is still there. `begun`
    says whether it is known which of the two it is.
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
        """Ends the pass. What is not complete goes."""
        for held in (self.child, self.sink):
            if held is not None:
                held.close()
        self.child = self.sink = None

    def notify_error(self) -> None:
        """An error has come to the consumer."""
        if self.sink is not None and hasattr(self.sink, "notify_error"):
            self.sink.notify_error()

    class Saved(TypedDict):
        """What `save` gives."""

        child: Child | None
        rest: Block | None
        errors: list[Exception | None]
        given: int
        flags: list[bool]
        written: dict[str, Any] | None

    def save(self) -> dict[str, Any]:
        """With how far it was written: who restores it goes on with that. Where it is gone, or has been begun anew by
        others, it goes on without writing, and the next pass writes.
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
        """The state that `save` described."""
        self = cls()
        self.child, self.rest, self.given = saved["child"], saved["rest"], saved["given"]
        self.due, self.broken = saved["errors"]
        self.passing, self.over, self.begun = saved["flags"]
        self.before = saved["written"]
        return self


@node
class Materialize(Node):
    """A step that writes. Subclasses say where things are."""

    State: ClassVar[Any] = MaterializeState
    mutable_state: ClassVar[bool] = True
    input: Node

    def found(self) -> Node | None:
        """A plan that reads what is written, None where that is not complete. Raises where it is not the input's."""
        raise TypeError(f"{type(self).__name__} reads nothing")

    def sink(self, before: object = None) -> Any:
        """What takes rows with `write`, is complete after `finish(spec)`, and gone after `close`; None where nothing is
        to be written in this pass. `before` is what the `save` of one gave, with which this one goes on;
        `NotFoundError` where it cannot.
        """
        raise TypeError(f"{type(self).__name__} writes nothing")

    def write(self, sink: Any, block: Block, number: int) -> tuple[int, Exception | None]:
        """Writes rows, the first of which has this number: how many, and the error of the next one. Where there is no
        sink, nothing is written.
        """
        if sink is not None:
            sink.write(block)
        return block.n, None

    def child(self, key: Block) -> Node:
        """What is read in a pass that is restored."""
        plan = self.found()
        if plan is None:
            raise NotFoundError(f"{self.op}: what the iterator's state was reading is gone; it must be where it was")
        return plan

    def begin(self, pull: Pull) -> MaterializeState:
        """Reads or writes from now on."""
        state = MaterializeState()
        self._begin(state, pull)
        return state

    def _begin(self, state: MaterializeState, pull: Pull) -> None:
        """The input is started only where it is still needed."""
        try:
            plan = self.found()
            if plan is None:
                pull.start()
            else:
                state.child = _started(pull.open(plan))
        except OpError as e:  # comes with the first element, as in TensorFlow
            state.broken = e
        state.begun = True

    def step(self, state: MaterializeState, pull: Pull, want: int) -> tuple[Block | None, MaterializeState]:
        """Reads what is written, or writes what is read."""
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
        """Begins to write, or goes on where the pass was saved; reads where another one is complete by now."""
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
        """The input's rows, once they are written."""
        if state.rest is not None:
            rest = state.rest
            block, state.rest = rest.slice(0, want), rest.slice(want, rest.n) if rest.n > want else None
        else:
            pulled = pull(want)
            if pulled is None:
                if state.sink is not None:
                    known = self.input.element_spec if self.input.spec_known else None
                    self._kept(state, lambda: state.sink.finish(known))
                state.sink, state.over = None, True
                return None
            block = pulled.frozen()  # rows wait to be written, so nobody may change them
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
        """What `write` gives. Where it fails, the pass is over: rows would be missing after it."""
        try:
            return write()
        except Exception as e:
            state.broken, state.unwritten = e, True
            state.close()
            must_be_wanted(e)
            raise

    def sampled(self) -> Node:
        """A look at the first elements must not be taken for a pass."""
        return self.input.sampled()


def _started(child: Child) -> Child:
    child.start()
    return child
