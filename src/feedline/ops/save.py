"""`save`: all elements into a folder, from where `load` reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from feedline.errors import InvalidTypeError, UnimplementedError
from feedline.io.elements import compression as compressions
from feedline.io.elements.folder import FolderWriter
from feedline.io.files import as_path
from feedline.plan import arguments
from feedline.plan.arguments import finite
from feedline.plan.function import Function
from feedline.plan.node import EMPTY, Node, Pull, RowFailed, node
from feedline.structure.block import Array, Block
from feedline.structure.values import leaf_of

MOST_ROWS = 8192
MOST_BYTES = 1 << 20


class Saving:
    """What is written so far, how many rows that is, and how many to ask for next."""

    __slots__ = ("rows", "want", "writer")

    def __init__(self, writer: FolderWriter) -> None:
        self.writer, self.rows, self.want = writer, 0, 16

    def close(self) -> None:
        """Removes what is not complete."""
        self.writer.close()


@node
class Save(Node):
    """Writes the input's rows to files and gives nothing."""

    heavy: ClassVar[bool] = True
    op: ClassVar[str] = "save"
    input: Node
    path: str
    compression: str = ""
    shard_func: Function | None = None

    def begin(self, pull: Pull) -> Saving:
        """Nothing is made on disk yet."""
        pull.start()
        return Saving(FolderWriter(os.fsencode(self.path), self.compression))

    def step(self, state: Saving, pull: Pull, want: int) -> tuple[Block | None, Saving]:
        """Writes the next rows, as many as are handy: nobody waits for them."""
        block = pull(state.want)
        if block is None:
            known = self.input.spec_known or not state.rows
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
        return EMPTY, state


def shard_numbers(
    step: Node, function: Function | None, block: Block, first: int
) -> tuple[Array | None, Exception | None]:
    """The shards that a function of the user's chooses for rows, up to the first row for which it fails, and that
    failure. Without a function None: all go to one shard.
    """
    if function is None:
        return None, None
    numbers = function.on_columns(block)
    if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64 and numbers.shape == (block.n,):
        return numbers, None
    results, error = function.on_rows(block)
    found = []
    for result in results:
        try:
            found.append(_number(result))
        except InvalidTypeError as e:
            error = e
            break
    if error is not None:
        n = len(found)
        error = function.blame(f"shard_func of {step.op}", step.position, first + n, RowFailed(n, None, error))
    return np.array(found, np.int64), error


def _number(value: Any) -> int:
    leaf = None if isinstance(value, (tuple, dict)) else leaf_of(value)
    if isinstance(leaf, np.int64):
        return int(leaf)
    kind = f"a {leaf.dtype} scalar" if isinstance(leaf, np.generic) else f"a {type(value).__name__}"
    raise InvalidTypeError(f"it must return an int64 scalar, got {kind}; for instance np.int64(0)")


def save(
    self: Any,
    path: str | os.PathLike[str],
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> None:
    """Writes all elements to the folder `path`, from where `Dataset.load` reads them.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.Dataset.range(3).map(lambda x: {"x": x, "text": str(x)}).save(folder)
    >>> list(fl.Dataset.load(folder))[1]
    {'x': np.int64(1), 'text': b'1'}

    `compression` is None or "GZIP". `shard_func` is given each element and returns the number of the shard, an int64,
    that it belongs to: shards are files that `load` can read in any order.

    The dataset is there when it is complete: until then, and for good if an element fails, what was saved in the folder
    before stays as it is. The folder is made where it is missing. The files are feedline's own and not TensorFlow's. A
    dataset whose elements hold datasets or optionals cannot be saved.
    """
    if checkpoint_args is not None:
        raise UnimplementedError(
            "save: checkpoint_args is for a save that goes on after an interruption, which there is not; leave it out"
        )
    folder = os.fsdecode(as_path(path))
    kind = compressions.checked(compression, "save")
    function = None if shard_func is None else Function(arguments.function(shard_func, "shard_func", "save"))
    finite(self._plan, "save")
    with iter(self._derive(Save(self._plan, folder, kind, function))) as nothing:
        for _ in nothing:
            pass
