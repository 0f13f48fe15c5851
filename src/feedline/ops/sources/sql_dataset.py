"""`experimental.SqlDataset`: the rows of an SQL query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.io.files import as_path, system_path
from feedline.io.sql import TYPES, SqlReader
from feedline.plan.arguments import text
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import EMPTY, Node, node
from feedline.structure.block import Block
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.types import DType, as_dtype

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset


class SqlState(NamedTuple):
    """How many rows have been read, whether that was all, an error to raise next, and the query, None until started."""

    done: int = 0
    ended: bool = False
    error: Exception | None = None
    reader: Any = None


@node
class Sql(Node):
    """Rows of a query on an SQLite database."""

    State: ClassVar[Any] = SqlState
    op: ClassVar[str] = "SqlDataset"
    path: str
    query: str
    dtypes: tuple[DType, ...]
    """The dtypes of the query's columns."""
    columns: tuple[int, ...]
    """The column number of each leaf."""
    tree: Tree

    def spec(self) -> Any:
        """Scalars of the given types."""
        return self.tree.unflatten([TensorSpec((), self.dtypes[i]) for i in self.columns])

    def cardinality(self) -> int:
        """Unknown until the query has run."""
        return UNKNOWN

    def step(self, state: SqlState, pull: Any, want: int) -> tuple[Block | None, SqlState]:
        """The next rows. After a restore the query runs again, and the rows already read are skipped."""
        if state.error is not None:
            raise state.error
        if state.ended:
            return None, state
        reader = state.reader
        if reader is None or reader.at != state.done:
            if reader is not None:
                reader.close()
            reader = SqlReader(self.path, self.query, self.dtypes)
        try:
            while reader.at < state.done and reader.read(state.done - reader.at) is not None:
                pass
            found = reader.read(want)
        except Exception as e:  # the query cannot continue
            reader.close()
            return EMPTY, SqlState(state.done, True, e)
        if found is None:
            reader.close()
            return None, SqlState(state.done, True)
        n = len(found[0])
        return Block([found[i] for i in self.columns], n, self.tree), SqlState(state.done + n, False, None, reader)

    def after_error(self, state: SqlState) -> SqlState:
        """Drops the error that was raised; a query that could not start is tried again."""
        return state._replace(error=None)


def sql_dataset(self: Dataset[Any], driver_name: str, data_source_name: str, query: str, output_types: object) -> None:
    """The rows of an SQL query, in the structure of `output_types`.

    >>> import sqlite3, tempfile
    >>> path = f"{tempfile.mkdtemp()}/pets.db"
    >>> with sqlite3.connect(path) as connection:
    ...     _ = connection.execute("create table pets (name text, age integer)")
    ...     _ = connection.execute("insert into pets values ('Ada', 3)")
    >>> connection.close()
    >>> list(fl.experimental.SqlDataset("sqlite", path, "select name, age from pets", (fl.string, fl.int32)))
    [(b'Ada', np.int32(3))]

    `driver_name` must be "sqlite" and `data_source_name` the file. `output_types` has a type per column, in order; the
    values of a dict belong to the columns in the order of its sorted keys. Values are cast as SQLite does.
    """
    driver, source = text(driver_name, "driver_name", "SqlDataset"), as_path(data_source_name)
    statement = text(query, "query", "SqlDataset")
    if driver != "sqlite":
        raise InvalidArgumentError(f'SqlDataset: driver_name must be "sqlite", got {driver_name!r}')
    if system_path(source) is None:
        raise UnimplementedError(
            f"SqlDataset: {data_source_name} is not a local file, which SQLite requires; copy it first with "
            "fl.io.gfile.copy"
        )
    leaves, tree = flatten(output_types)
    dtypes = [as_dtype(leaf) for leaf in leaves]
    for dtype in dtypes:
        if dtype not in TYPES:
            names = ", ".join(t.name for t in TYPES)
            raise InvalidArgumentError(f"SqlDataset: output_types must be among {names}, got {dtype.name}")
    columns = tuple(_numbered(tree, count()))
    by_column = tuple(dtype for _, dtype in sorted(zip(columns, dtypes, strict=True), key=lambda pair: pair[0]))
    self._plan = Sql(os.fsdecode(source), statement, by_column, columns, tree)


def _numbered(tree: Tree, numbers: Iterator[int]) -> list[int]:
    """A number for each leaf, counting dict entries in the order of their sorted keys."""
    if tree.kind is None:
        return [next(numbers)]
    order: Sequence[int] = range(len(tree.children))
    if issubclass(tree.kind, Mapping):
        order = sorted(order, key=lambda i: tree.keys[i])
    inside = {i: _numbered(tree.children[i], numbers) for i in order}
    return [number for i in range(len(tree.children)) for number in inside[i]]
