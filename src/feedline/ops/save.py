"""`save`: all elements written to a folder that `load` reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict

import numpy as np

from feedline.errors import InvalidTypeError, NotFoundError
from feedline.io.elements import compression as compressions
from feedline.io.elements.folder import FolderWriter
from feedline.io.files import as_path
from feedline.plan import arguments
from feedline.plan.arguments import finite, positive
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.function import Function
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.row_calls import RowFailed
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Array, Block
from feedline.structure.nest import LEAF
from feedline.structure.spec import TensorSpec
from feedline.structure.values import leaf_of
from feedline.train.checkpoint import Checkpoint

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filename

MOST_ROWS = 8192
MOST_BYTES = 1 << 20


class Saving:
    """The writer, how many rows have been written, and how many to ask for next. `before` is what had been written when
    the state was saved.
    """

    __slots__ = ("before", "rows", "want", "writer")

    def __init__(self, writer: FolderWriter | None) -> None:
        self.writer, self.rows, self.want = writer, 0, 16
        self.before: Any = None

    def close(self) -> None:
        """Removes incomplete files."""
        if self.writer is not None:
            self.writer.close()

    class Saved(TypedDict):
        """The result of `save`."""

        written: dict[str, Any] | None
        rows: int

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        return {"written": self.before if self.writer is None else self.writer.save(), "rows": self.rows}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Saving:
        """The state that `save` described."""
        self = cls(None)
        self.before, self.rows = saved["written"], saved["rows"]
        return self


@node
class Save(Node):
    """Writes the input's rows to files; after every `every` rows it gives the number written so far."""

    State: ClassVar[Any] = Saving
    mutable_state: ClassVar[bool] = True
    op: ClassVar[str] = "save"
    input: Node
    path: str
    compression: str = ""
    shard_func: Function | None = None
    every: int | None = None

    def spec(self) -> Any:
        """An int64 scalar."""
        return TensorSpec((), np.int64)

    def cardinality(self) -> int:
        """Unknown; not used."""
        return UNKNOWN

    def begin(self, pull: Pull) -> Saving:
        """Starts the input; creates nothing on disk yet."""
        pull.start()
        return Saving(FolderWriter(os.fsencode(self.path), self.compression))

    def step(self, state: Saving, pull: Pull, want: int) -> tuple[Block | None, Saving]:
        """Writes the next rows, in blocks of a convenient size rather than of `want` rows."""
        if state.writer is None:
            try:
                state.writer = FolderWriter(os.fsencode(self.path), self.compression, state.before)
            except NotFoundError as e:
                raise Gone(str(e)) from None
        left = MOST_ROWS if self.every is None else self.every - state.rows % self.every
        block = pull(min(state.want, left))
        if block is None:
            known = spec_known(self.input) or not state.rows
            state.writer.finish(self.input.element_spec if known else None)
            return None, state
        if block.n:
            numbers, error = shard_numbers(self, self.shard_func, block, state.rows)
            if error is not None:
                raise error
            state.writer.write(block, numbers)
            state.rows += block.n
            if block.nbytes * 4 < MOST_BYTES:
                state.want = min(MOST_ROWS, state.want * 4)
            elif block.nbytes > MOST_BYTES:
                state.want = max(1, state.want // 4)
            if self.every is not None and state.rows % self.every == 0:
                return Block([np.array([state.rows])], 1, LEAF), state
        return EMPTY, state


class Gone(NotFoundError):
    """The files a save had written when its state was saved no longer exist."""


_KNOWN = ("directory", "checkpoint_interval", "max_to_keep", "checkpoint_name", "step_counter")


class States(NamedTuple):
    """The checkpoints of a save, as `checkpoint_args` describes them."""

    directory: str
    interval: int
    most: int | None
    name: str
    counter: Any

    @classmethod
    def of(cls, given: object) -> States:
        """The checkpoints for the `checkpoint_args` of the user."""
        if not isinstance(given, dict) or "directory" not in given or not set(given) <= set(_KNOWN):
            what = sorted(map(str, given)) if isinstance(given, dict) else type(given).__name__
            raise InvalidTypeError(
                f"save: checkpoint_args must be a dict with the key directory and optionally {', '.join(_KNOWN[1:])}; "
                f"got {what}"
            )
        most = given.get("max_to_keep", 1)
        return cls(
            os.fsdecode(as_path(given["directory"])),
            positive(given.get("checkpoint_interval") or 1, "checkpoint_interval", "save"),
            None if most is None else positive(most, "max_to_keep", "save"),
            str(given.get("checkpoint_name", "ckpt")),
            given.get("step_counter"),
        )

    def last(self) -> str | None:
        """The file with the newest checkpoint."""
        found = self._files()
        return found[-1] if found else None

    def add(self, checkpoint: Checkpoint, elements: int) -> None:
        """Writes a checkpoint, `elements` elements after the last one, and removes the oldest beyond `max_to_keep`."""
        os.makedirs(self.directory, exist_ok=True)
        found = self._files()
        number = int(found[-1].rpartition("-")[2]) if found else 0
        checkpoint.write(os.path.join(self.directory, f"{self.name}-{number + 1}"))
        if self.counter is not None:
            self.counter.assign_add(elements)
        for old in found[: max(0, len(found) + 1 - self.most)] if self.most is not None else ():
            os.unlink(old)

    def _files(self) -> list[str]:
        """The checkpoint files, newest last."""
        names = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        numbers = sorted(int(n[len(self.name) + 1 :]) for n in names if re.fullmatch(re.escape(self.name) + r"-\d+", n))
        return [os.path.join(self.directory, f"{self.name}-{n}") for n in numbers]


def shard_numbers(
    step: Node, function: Function | None, block: Block, first: int
) -> tuple[Array | None, Exception | None]:
    """The shards that a user function chooses for rows, up to the first row for which it fails, and that error. None
    without a function: all rows go to one shard.
    """
    if function is None:
        return None, None
    numbers = function.on_columns(block)
    if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64 and numbers.shape == (block.n,):
        return numbers, None
    results, raised = function.on_rows(block.frozen())
    if raised is not None and not isinstance(raised, Exception):
        raise raised
    error = raised
    found = []
    for result in results:
        try:
            found.append(_number(result))
        except InvalidTypeError as e:
            error = e
            break
    if error is not None:
        n = len(found)
        failed = RowFailed(n, None, error)
        error = function.attribute_error(f"shard_func of {step.op}", step.position, first + n, failed)
    return np.array(found, np.int64), error


def _number(value: object) -> int:
    leaf = None if isinstance(value, (tuple, dict)) else leaf_of(value)
    if isinstance(leaf, np.int64):
        return int(leaf)
    kind = f"{leaf.dtype} scalar" if isinstance(leaf, np.generic) else type(value).__name__
    raise InvalidTypeError(f"it must return an int64 scalar, for instance np.int64(0), got {kind}")


def save(
    self: Dataset[Any],
    path: Filename,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: object = None,
) -> None:
    """Writes all elements to the folder `path`, for `Dataset.load`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.Dataset.range(3).map(lambda x: {"x": x, "text": str(x)}).save(folder)
    >>> list(fl.Dataset.load(folder))[1]
    {'x': np.int64(1), 'text': b'1'}

    `compression` is None or "GZIP". `shard_func` maps each element to the number of its shard, an int64: shards are
    files that `load` can read in any order.

    The dataset appears in the folder once it is complete: until then, and if an element fails, the previous contents of
    the folder stay as they are. The folder is created if necessary. The file format is feedline's own, not
    TensorFlow's. Datasets whose elements contain datasets or optionals cannot be saved.

    With `checkpoint_args`, a dict, an interrupted save continues when it is called again. `directory` is the folder for
    the checkpoints, `checkpoint_interval` the number of elements between two of them (1), `max_to_keep` how many are
    kept (1; None for all), `checkpoint_name` the prefix of their names ("ckpt"), and `step_counter` an object whose
    method `assign_add` is called with the number of elements.

    >>> states = {"directory": tempfile.mkdtemp(), "checkpoint_interval": 100}
    >>> fl.Dataset.range(1000).save(folder, checkpoint_args=states)
    >>> len(fl.Dataset.load(folder))
    1000
    """
    folder = os.fsdecode(as_path(path))
    kind = compressions.checked(compression, "save")
    function = None if shard_func is None else Function(arguments.function(shard_func, "shard_func", "save"))
    finite(self._plan, "save")
    if checkpoint_args:
        states = States.of(checkpoint_args)
        saving = self._derive(Save(self._plan, folder, kind, function, states.interval))
        try:
            _resume_save(saving, states, states.last())
        except Gone:
            _resume_save(saving, states, None)
        return
    with iter(self._derive(Save(self._plan, folder, kind, function))) as nothing:
        for _ in nothing:
            pass


def _resume_save(saving: Any, states: States, last: str | None) -> None:
    """Saves from the last checkpoint on and writes checkpoints of its own; the last one marks the end."""
    with iter(saving) as marks:
        checkpoint = Checkpoint(iterator=marks)
        if last is not None:
            checkpoint.read(last)
        for _ in marks:
            states.add(checkpoint, states.interval)
        states.add(checkpoint, 0)
