"""`snapshot`: elements of the first complete pass kept in files for later passes, in this program and others."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import NotFoundError
from feedline.io.elements import compression as compressions
from feedline.io.elements.folder import FolderWriter, saved_in
from feedline.io.elements.form import form, has_classes
from feedline.io.files import as_path
from feedline.ops.save import shard_numbers
from feedline.ops.shared.materialize import Materialize, MaterializeState
from feedline.ops.sources.load import plan_for
from feedline.plan import arguments
from feedline.plan.fingerprint import fingerprint
from feedline.plan.function import Function
from feedline.plan.node import Node, Pull, node
from feedline.plan.traits.checkpoint import ExecutionArgs
from feedline.plan.traits.effects import CallsUserCode
from feedline.plan.traits.reshard import DefersStart
from feedline.plan.traits.schedule import RestartsInputs
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filename, T


class Snapshots:
    """The folder of a snapshot being written. The first complete one is kept."""

    def __init__(self, path: bytes, compression: str, saved: Any = None) -> None:
        self.folder = FolderWriter(path, compression, saved)

    def save(self) -> Any:
        """What has been written so far."""
        return self.folder.save()

    def write(self, block: Block, numbers: Any) -> None:
        """Adds rows to shards."""
        self.folder.write(block, numbers)

    def finish(self, known: object) -> None:
        """Publishes the folder as the snapshot."""
        self.folder.finish(known, replace=False)

    def close(self) -> None:
        """Removes the folder, unless it is complete."""
        self.folder.close()


@node
class Snapshot(CallsUserCode, DefersStart, ExecutionArgs, RestartsInputs, Materialize):
    """The input's rows, stored in a folder named after the input's fingerprint."""

    op: ClassVar[str] = "snapshot"
    execution_args: ClassVar[frozenset[str]] = frozenset({"path"})
    path: str
    compression: str = ""
    reader_func: Function | None = None
    shard_func: Function | None = None
    maker: str = dataclasses.field(default="", compare=False, repr=False)

    def begin(self, pull: Pull) -> MaterializeState:
        """Starts with the first element, as in TensorFlow: of two iterations, the first to read draws seeds first."""
        return MaterializeState()

    def primed(self, state: MaterializeState, pull: Pull) -> MaterializeState:
        """Chooses now between reading and writing."""
        if not state.begun:
            self._begin(state, pull)
        return state

    @property
    def folder(self) -> bytes:
        """The folder for this particular input."""
        return os.path.join(os.fsencode(self.path), self.maker.encode())

    def found(self) -> Node | None:
        """The plan that reads the folder, once it is complete."""
        try:
            saved = saved_in(self.folder)
        except NotFoundError:
            return None
        like = self.input.element_spec if has_classes(form(saved.form)[0]) else None
        return plan_for(self.folder, saved, self.reader_func, like)

    def sink(self, before: object = None) -> Snapshots:
        """A writer for the folder."""
        return Snapshots(self.folder, self.compression, before)

    def write(self, sink: Any, block: Block, number: int) -> tuple[int, Exception | None]:
        """Writes rows to the shards that `shard_func` chooses; it may fail for a row."""
        numbers, error = shard_numbers(self, self.shard_func, block, number)
        n = block.n if numbers is None else len(numbers)
        if n and sink is not None:
            sink.write(block.slice(0, n), numbers)
        return n, error

    @property
    def user_code(self) -> bool:
        """Whether a user function chooses or reads shards."""
        functions = (self.reader_func, self.shard_func)
        return any(f is not None and not f.vectorized for f in functions)


def snapshot(
    self: Dataset[T],
    path: Filename,
    compression: str | None = "AUTO",
    reader_func: Callable[[Any], Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Dataset[T]:
    """Stores the elements of the first complete pass in the folder `path`; later passes, also of other programs, read
    them from there.

    >>> import tempfile
    >>> calls = []
    >>> def slow(x):
    ...     calls.append(int(x))
    ...     return x * x
    >>> ds = fl.Dataset.range(3).map(slow).snapshot(tempfile.mkdtemp())
    >>> list(ds) == list(ds), calls
    (True, [0, 1, 2])

    A snapshot belongs to the steps before it: if their arguments, data or functions change, another snapshot is written
    beside the old one. The seed of a `shuffle` does not count: the snapshot keeps the order in which elements came when
    it was written. `experimental.snapshot` is the same as a function for `apply`. A pass that
    stops before the loop has asked for more than the last element stores nothing, failing elements are not stored, and
    the elements returned are read-only.

    `compression` is "AUTO" or "NONE", both without compression, or "GZIP". `shard_func` maps each element to the number
    of its shard, an int64; by default there is one shard. `reader_func` combines the shards into one dataset, as in
    `Dataset.load`.
    """
    plan = self._plan
    kind = compressions.checked(compression, "snapshot")
    reader = None if reader_func is None else Function(arguments.function(reader_func, "reader_func", "snapshot"))
    shard = None
    if reader_func is not None:
        arguments.takes(reader_func, 1, "reader_func must take the dataset of shards", "snapshot")
    if shard_func is not None:
        shard = Function(arguments.element_function(shard_func, "shard_func", "snapshot", plan))
    maker = f"{int(fingerprint(plan, drawn_seeds=False, orders=False)):016x}"
    return self._derive(Snapshot(plan, os.fsdecode(as_path(path)), kind, reader, shard, maker))
