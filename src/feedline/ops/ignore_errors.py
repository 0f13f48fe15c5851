"""`ignore_errors`: elements that fail are left out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import CancelledError
from feedline.plan.arguments import boolean
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import EMPTY, Exited, Node, Pull, node
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

PATIENCE = 10_000
"""After so many errors of the same text with no element between them, the input is taken to be stuck at one place."""

_log = logging.getLogger("feedline")


class Ignored(NamedTuple):
    """The text of the last error if no element has come since, and how often it has come."""

    text: str = ""
    times: int = 0


@node
class IgnoreErrors(Node):
    """The input's rows without its errors."""

    State: ClassVar[Any] = Ignored
    keeps_rows: ClassVar[bool] = True
    op: ClassVar[str] = "ignore_errors"
    input: Node
    log_warning: bool = False

    def cardinality(self) -> int:
        """Nobody knows which elements will fail."""
        return UNKNOWN

    def step(self, state: Ignored, pull: Pull, want: int) -> tuple[Block | None, Ignored]:
        """Asks again after an error. An input that raises the same for ever, such as a file that is not there, would be
        asked for ever; its error is raised after all.
        """
        try:
            block = pull(want)
        except (CancelledError, Exited):  # somebody stopped it: no error of an element
            raise
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
            times = state.times + 1 if text == state.text else 1
            if times > PATIENCE:
                e.add_note(f"ignore_errors at step {self.position} met this {PATIENCE} times in a row and gives up")
                raise
            if self.log_warning:
                _log.warning("ignore_errors at step %d left out an element: %s", self.position, text)
            return EMPTY, Ignored(text, times)
        return block, state if not state.times or block is None or not block.n else Ignored()

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Errors are counted anew."""
        return None if all(s is None for s in states) else Ignored()


def ignore_errors(self: Dataset[T], log_warning: bool = False, name: str | None = None) -> Dataset[T]:
    """Leaves out elements that raise an error, and goes on with the next.

    >>> def checked(x):
    ...     if x == 1:
    ...         raise ValueError("a bad element")
    ...     return x
    >>> list(fl.Dataset.range(3).map(checked).ignore_errors())
    [np.int64(0), np.int64(2)]

    With `log_warning` each error is logged as a warning of the logger "feedline". Where a batch fails because of one
    bad element, the whole batch is left out, so this step belongs before `batch`.
    """
    log = log_warning is not None and boolean(log_warning, "log_warning", "ignore_errors")
    return self._derive(IgnoreErrors(self._plan, log))
