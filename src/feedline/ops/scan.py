"""`scan`: a function applied to every element, with a state passed from call to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import InvalidTypeError
from feedline.ops.shared.carry import Carry, packed
from feedline.ops.shared.nested import are_all, first_blocks, first_elements, stand_ins
from feedline.plan import arguments
from feedline.plan.aliasing import VALUES, kept
from feedline.plan.function import Function
from feedline.plan.inference import infer, infer_unseen
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.pace import late, soon
from feedline.plan.row_caller import FunctionStep
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_steps import Waiting
from feedline.plan.traits.effects import CallsUserCode
from feedline.plan.traits.schedule import RowByRow
from feedline.plan.traits.specs import InferredSpec
from feedline.sharing import cached_property
from feedline.structure.block import Block
from feedline.structure.values import leaf_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import R


class Scanned(NamedTuple):
    """The user's state as a block of one row (None: the initial one), how many rows have come in, rows still to be
    processed, and an error to raise next.
    """

    carried: Block | None = None
    seen: int = 0
    rest: Block | None = None
    error: Exception | None = None


class ScannedRows(FunctionStep):
    """Calls the function for single rows, with the state left by the one before."""

    __slots__ = ("_carried", "_node")

    def __init__(self, node: Scan) -> None:
        super().__init__(node.function)
        self._node = node
        self._carried: Any = None

    def begin(self, state: Scanned) -> bool:
        """Continues unless rows wait."""
        self.seen = state.seen
        self._carried = self._node.carried(state)
        return state.rest is None and state.error is None

    def state(self, waiting: Waiting) -> Scanned:
        """The user's state, the number of rows, and what waits."""
        return Scanned(packed(self._carried), self.seen, waiting.rest, waiting.error)

    def __call__(self, row: Any) -> Any:
        current, output = self._node.call(self._carried, row)
        made = self.element(output if type(output) in VALUES else kept(output, set()))
        self._carried = current
        self.seen += 1
        return made

    def failed(self, failed: RowFailed) -> Exception:
        """The error, which names the function and the row; the user's state stays as it was."""
        self.seen += 1
        return self._node.attribute_error(failed, self.seen - 1)


@node
class Scan(CallsUserCode, InferredSpec, RowByRow):
    """The results of a user function called with each row and the state left by the previous one."""

    State: ClassVar[Any] = Scanned
    op: ClassVar[str] = "scan"
    input: Node
    initial_state: Block
    function: Function

    @property
    def traced_spec(self) -> Any:
        """That of the function's outputs."""
        return self.function.traced_spec

    def spec(self) -> Any:
        """Inferred from the results for the first few elements."""
        if self.traced_spec is not None:
            return self.traced_spec
        given = self.input.element_spec
        blocks, failed = first_blocks(self)
        if not blocks:
            return infer_unseen(given, stand_ins(given), self._spec_of, failed)
        found = [block.spec() for block in blocks]
        return infer(found, given, lambda: first_elements(self.input)[0], self._spec_of, are_all(blocks, self))

    def _spec_of(self, element: object) -> Any:
        return packed(self.call(self._carry.initial, element)[1]).spec()

    @cached_property
    def _carry(self) -> Carry:
        return Carry(self.initial_state.element(0), self.op)

    @property
    def user_code(self) -> bool:
        """True unless the function is arithmetic, which has no side effects."""
        return not self.function.vectorized

    def step(self, state: Scanned, pull: Pull, want: int) -> tuple[Block | None, Scanned]:
        """Calls the function row by row. A failing row leaves the user's state as it was before it."""
        _, seen, rest, error = state
        if error is not None:
            raise error
        source = rest if rest is not None else pull(want)
        if source is None or not source.n:
            return source, state
        states = [self.carried(state)]
        outputs: list[Any] = []
        failed: RowFailed | None = None
        until = soon()
        for i, row in enumerate(source.slice(0, want).rows()):
            try:
                current, output = self.call(states[i], row)
            except BaseException as e:
                failed = RowFailed(i, None, e)
                break
            states.append(current)
            outputs.append(output if type(output) in VALUES else kept(output, set()))
            if late(until):
                break
        try:
            made = self.function.block_of(outputs) if outputs else EMPTY
        except RowFailed as e:
            failed, made = e, e.done if e.done is not None else EMPTY
        good = len(outputs) if failed is None else failed.index
        own = failed is not None and isinstance(failed.error, Exception)
        used = good + own
        left = source.slice(used, source.n) if used < source.n else None
        state = Scanned(packed(states[good]), seen + used, left)
        if failed is None:
            return made, state
        if not own:
            raise Interrupted(failed.error, state, made)
        return made, state._replace(error=self.attribute_error(failed, seen + good))

    def one_by_one(self) -> ScannedRows:
        """Calls the function for single rows."""
        return ScannedRows(self)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """An exception that names the function and the element."""
        return self.function.attribute_error(self.op, self.position, number, failed)

    def carried(self, state: Scanned) -> Any:
        """The user's state."""
        return (self.initial_state if state.carried is None else state.carried.frozen()).element(0)

    def call(self, current: object, row: object) -> tuple[Any, Any]:
        """The next state of the user and the output, for a row."""
        result = self.function.on_row((current, row))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            got = f"{len(result)} values" if isinstance(result, (tuple, list)) else type(result).__name__
            raise InvalidTypeError(f"scan_func must return a pair of the new state and the output, got {got}")
        new, output = result
        del result  # with no other reference to them, the values need no copy
        return self._carry.next(kept(new, set())), leaf_of(output) if type(output) is list else output

    def after_error(self, state: Scanned) -> Scanned:
        """Drops the error that was raised; the rows after it are still to be processed."""
        return state._replace(error=None)


def scan(
    self: Dataset[Any], initial_state: object, scan_func: Callable[..., tuple[Any, R]], name: str | None = None
) -> Dataset[R]:
    """Applies `scan_func(state, element)`, which returns the next state and the output, to every element in order.

    >>> list(fl.Dataset.range(1, 4).scan(np.int64(0), lambda total, x: (total + x, total + x)))
    [np.int64(1), np.int64(3), np.int64(6)]

    The state may be a structure. Its types are those of `initial_state`, where a Python int is an int32; shapes may
    change. When the function fails, the state stays as it was.
    """
    call = arguments.function(scan_func, "scan_func", "scan")
    initial = packed(Carry(initial_state, "scan").initial)
    return self._derive(Scan(self._plan, initial, Function(call)))
