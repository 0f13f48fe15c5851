"""`ignore_errors`: skips elements that fail."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import CancelledError
from feedline.plan.arguments import boolean
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.interrupted import Exited
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.reshard import Reshards
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

PATIENCE = 10_000
"""After this many equal errors in a row without an element between them, the input counts as stuck."""

_log = logging.getLogger("feedline")


class Ignored(NamedTuple):
    """The state: the text of the last error if no element has come since, and how often it was raised."""

    text: str = ""
    times: int = 0


@node
class IgnoreErrors(KeepsRows, Reshards):
    """The input's rows without its errors."""

    State: ClassVar[Any] = Ignored
    op: ClassVar[str] = "ignore_errors"
    input: Node
    log_warning: bool = False

    def cardinality(self) -> int:
        """Unknown: any element may fail."""
        return UNKNOWN

    def step(self, state: Ignored, pull: Pull, want: int) -> tuple[Block | None, Ignored]:
        """Pulls again after an error. If the input raises the same error forever, as for a missing file, the error is
        raised in the end.
        """
        try:
            block = pull(want)
        except (CancelledError, Exited):  # the iteration was stopped: not an element's error
            raise
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
            times = state.times + 1 if text == state.text else 1
            if times > PATIENCE:
                e.add_note(f"ignore_errors at step {self.position} gave up after {PATIENCE} equal errors in a row")
                raise
            if self.log_warning:
                _log.warning("ignore_errors at step %d skipped an element: %s", self.position, text)
            return EMPTY, Ignored(text, times)
        return block, state if not state.times or block is None or not block.n else Ignored()

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Starts counting errors anew."""
        return None if all(s is None for s in states) else Ignored()


def ignore_errors(self: Dataset[T], log_warning: bool = False, name: str | None = None) -> Dataset[T]:
    """Skips elements that raise an error.

    >>> def checked(x):
    ...     if x == 1:
    ...         raise ValueError("a bad element")
    ...     return x
    >>> list(fl.Dataset.range(3).map(checked).ignore_errors())
    [np.int64(0), np.int64(2)]

    With `log_warning`, each error is logged as a warning to the logger "feedline". A batch that fails because of one
    bad element is skipped as a whole, so this step belongs before `batch`.
    """
    log = log_warning is not None and boolean(log_warning, "log_warning", "ignore_errors")
    return self._derive(IgnoreErrors(self._plan, log))
