"""Sources that read tables: rows as dicts of columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.arrow.columns import TableSchema, checked_fill
from feedline.io.arrow.table import TableReader
from feedline.io.files import as_paths
from feedline.ops.ragged_batch import ragged_batch
from feedline.ops.sources.counted_files import CountedFiles, FileCatalog
from feedline.ops.sources.files import names_plan
from feedline.plan import arguments
from feedline.plan.dataset_base import DatasetBase, dataset
from feedline.plan.node import Node, node

if TYPE_CHECKING:
    from feedline.plan.annotations import Filenames, Integer


@node
class TableFiles(CountedFiles):
    """Rows of tables, as dicts. Subclasses set the reader class."""

    opener: ClassVar[Any] = TableReader
    form: TableSchema = dataclasses.field(default=TableSchema(), repr=False)
    fill_null: tuple[tuple[str, Any], ...] = ()

    def open_file(self, name: bytes) -> TableReader:
        """A reader of one file."""
        reader: TableReader = self.opener(name, fill=dict(self.fill_null), form=self.form)
        return reader

    def spec(self) -> Any:
        """The spec of the first file's columns."""
        return self.form.spec()


def table(
    kind: type[TableFiles],
    filenames: Filenames,
    columns: Sequence[str] | None,
    fill_null: Mapping[str, Any] | None,
    batch_size: Integer | None,
    drop_remainder: bool,
) -> Node:
    """The plan that reads table files; the first file determines the columns."""
    op = kind.op
    if isinstance(filenames, DatasetBase):
        raise InvalidTypeError(
            f"{op}: filenames must be names, got a dataset; use interleave to read from one: names.interleave(fl.{op})"
        )
    names = as_paths(filenames)
    if not names:
        raise InvalidArgumentError(f"{op}: filenames is empty; the columns are read from the first file")
    first = kind.opener(names[0], None if columns is None else _columns(columns, op))
    first.close()
    fill = tuple(checked_fill(fill_null, first.form, op).items())
    plan: Node = kind(names_plan(filenames, op), 1, FileCatalog(), first.form, fill)
    drop = arguments.boolean(drop_remainder, "drop_remainder", op)
    if batch_size is None:
        if drop:
            raise InvalidArgumentError(f"{op}: drop_remainder requires a batch_size")
        return plan
    size = arguments.positive(batch_size, "batch_size", op)
    return ragged_batch(dataset(plan), size, drop)._plan


def _columns(columns: object, op: str) -> tuple[str, ...]:
    names = tuple(columns) if isinstance(columns, (list, tuple)) else None
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"{op}: columns must be a list of one or more names, got {columns!r}")
    return names
