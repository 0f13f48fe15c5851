"""`Dataset.load`: the elements written by `save`."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.early import must_be_wanted
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.io.elements import compression as compressions
from feedline.io.elements.folder import SavedDataset, saved_in
from feedline.io.elements.form import form, form_text, has_classes, leaf_order, spec_of_text
from feedline.io.elements.reader import ElementsReader
from feedline.io.files import as_path, shown
from feedline.ops.flat_map import FlatMap
from feedline.ops.shared.nested import made
from feedline.ops.shared.round_robin_order import RoundRobin
from feedline.plan import arguments
from feedline.plan.dataset_base import dataset, in_memory
from feedline.plan.file_access import OpensFolders
from feedline.plan.function import Function
from feedline.plan.node import EMPTY, Node, node
from feedline.plan.row_calls import RowFailed
from feedline.plan.traits.checkpoint import HasRecipe
from feedline.plan.traits.random_access import RandomAccess
from feedline.plan.traits.specs import Sampled, spec_known
from feedline.sharing import Guard, cached_property
from feedline.structure.block import Array, Block, Objects, concat, pack
from feedline.structure.nest import LEAF, Tree, flatten
from feedline.structure.spec import DatasetSpec, TypeSpec, general

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filename

KEEP = 1 << 26
"""Bytes of blocks cached for random access."""

WAIT_S = 0.5

Files = tuple[tuple[str, int], ...]


class Readers:
    """Open files of a dataset, by number."""

    def __init__(self, files: Files, keep: int = 0) -> None:
        self._files, self._keep = files, keep
        self._open: dict[int, ElementsReader] = {}

    def __getitem__(self, i: int) -> ElementsReader:
        """The reader of file i."""
        if i not in self._open:
            name, rows = self._files[i]
            reader = ElementsReader(os.fsencode(name), self._keep)
            if reader.rows != rows:
                raise DataLossError(f"{name} has {reader.rows} rows instead of {rows}: it belongs to another dataset")
            self._open[i] = reader
        return self._open[i]

    def leave(self, others: tuple[int, ...]) -> None:
        """Closes all files but these."""
        for i in [i for i in self._open if i not in others]:
            self._open.pop(i).close()

    def close(self) -> None:
        """Closes all files. Cached blocks stay in memory."""
        for reader in self._open.values():
            reader.close()


class ReaderCache:
    """Readers for random access, kept between calls. A copy starts empty."""

    def __init__(self) -> None:
        self.lock = Guard()
        self.readers: Readers | None = None

    def __reduce__(self) -> Any:
        return ReaderCache, ()


class LoadState(NamedTuple):
    """How many rows have been read, and the readers, None until they are opened."""

    at: int = 0
    readers: Any = None


@node
class Load(HasRecipe, RandomAccess, OpensFolders):
    """The rows of saved files: one file after another, or `cycle` files round robin.

    `form` is the spec as text; `like` is a spec that contains user classes, which text cannot name.
    """

    State: ClassVar[Any] = LoadState
    op: ClassVar[str] = "load"
    path: str
    files: Files = dataclasses.field(repr=False)
    form: str = dataclasses.field(repr=False)
    cycle: int = dataclasses.field(default=1, repr=False)
    like: Any = dataclasses.field(default=None, repr=False)
    reader_cache: ReaderCache = dataclasses.field(default_factory=ReaderCache, compare=False, repr=False)

    def spec(self) -> Any:
        """The saved spec, or the one given to `load`."""
        return spec_of_text(self.form) if self.like is None else self.like

    def cardinality(self) -> int:
        """The number of rows in all files."""
        return sum(rows for _, rows in self.files)

    @cached_property
    def round_robin(self) -> RoundRobin:
        """Maps row numbers to files and rows in them."""
        return RoundRobin([rows for _, rows in self.files], self.cycle)

    @cached_property
    def tree(self) -> Tree:
        """The structure of the elements."""
        return flatten(self.element_spec)[1]

    def step(self, state: LoadState, pull: Any, want: int) -> tuple[Block | None, LoadState]:
        """The next rows in order."""
        at, readers = state
        if at >= self.round_robin.rows:
            if readers is not None:
                readers.close()
            return None, state
        if readers is None:
            return EMPTY, LoadState(
                at, Readers(self.files)
            )  # in the state first, so that they are closed whatever happens
        try:
            block = self._span(readers, at, want)
        except Exception as e:
            if want == 1:
                must_be_wanted(e)
                raise
            # One of the rows cannot be read. Those before it are returned first, whatever the block size.
            block = self._span(readers, at, 1)
        return block, LoadState(at + block.n, readers)

    def after_error(self, state: LoadState) -> LoadState:
        """Skips the row that could not be read."""
        return LoadState(state.at + 1, state.readers)

    def _span(self, readers: Readers, at: int, want: int) -> Block:
        shares = self.round_robin.span(at, want)
        if len(shares) == 1:
            ((file, first, count),) = shares
            readers.leave((file,))
            rows = readers[file].span(first, count)
            assert rows is not None
            return self._shaped(rows, readers[file].tree)
        parts = [self._shaped(readers[f].exactly(first, count), readers[f].tree) for f, first, count in shares if count]
        readers.leave(tuple(file for file, _, _ in shares))
        return concat(parts).take(self.round_robin.order([count for _, _, count in shares]))

    def _shaped(self, block: Block, tree: Tree) -> Block:
        """A file's rows in the structure of this dataset."""
        order = leaf_order(tree, self.tree)
        if order is None:
            raise InvalidArgumentError(
                f"load: {self.path} holds elements of the structure {tree!r}, not {self.tree!r}; pass the element_spec "
                "of the saved dataset"
            )
        return Block([block.columns[i] for i in order], block.n, self.tree)

    @property
    def indexable(self) -> bool:
        """True: files contain an index of their blocks."""
        return True

    def rows(self, index: Array) -> Block:
        """The rows with these numbers, in new memory. Whole blocks are read; the most recent stay cached."""
        which, places = self.round_robin.places(index)
        with self.reader_cache.lock:
            readers = self.reader_cache.readers = self.reader_cache.readers or Readers(self.files, KEEP)
            try:
                chosen = [(readers[f], places[which == f]) for f in np.unique(which).tolist()]
                parts = [self._shaped(reader.take(here), reader.tree) for reader, here in chosen]
            finally:
                readers.close()
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Block([Objects([], s) for s in flatten(self.element_spec)[0]], 0, self.tree)
        return concat(parts).take(np.argsort(np.argsort(which, kind="stable"), kind="stable"))

    def gives(self, values: object) -> bool:
        """Whether the recipe reads some of its files."""
        return _is_of(values, self.path, self.files)

    def recipe(self) -> tuple[Any, ...] | None:
        """The arguments to recreate the node, as plain values; None if that is not possible."""
        return (self.path, self.files, self.form, self.cycle) if self.like is None else None

    @classmethod
    def from_recipe(cls, values: tuple[Any, ...]) -> Load:
        """The node again."""
        path, files, form, cycle = values
        return Load(path, tuple((name, rows) for name, rows in files), form, cycle)


def _is_of(values: Any, path: str, files: Files) -> bool:
    """Whether a recipe reads some of these files of this folder."""
    return values[0] == path and {(name, rows) for name, rows in values[1]} <= set(files)


@node
class LoadBy(Sampled, FlatMap, OpensFolders):
    """The rows that a user function makes from the files, each given to it as a dataset.

    As in TensorFlow, the function runs for every new iterator.
    """

    op: ClassVar[str] = "load"
    opaque: ClassVar[bool] = False
    source: str
    files: Files = dataclasses.field(repr=False)
    form: str = dataclasses.field(repr=False)
    like: Any = dataclasses.field(default=None, repr=False)

    def spec(self) -> Any:
        """The saved spec: the function must not change the elements."""
        return spec_of_text(self.form) if self.like is None else self.like

    def cardinality(self) -> int:
        """The number of rows in all files, as in TensorFlow: the function should not drop any."""
        return sum(rows for _, rows in self.files)

    def opened(self, key: Block, number: int) -> Node:
        """The dataset that the function returns."""
        shards = [dataset(Load(self.source, (file,), self.form, 1, self.like)) for file in self.files]
        spec: Any = DatasetSpec(self.element_spec)
        datasets = in_memory(Block([Objects(shards, spec)], len(shards), LEAF))
        try:
            plan = made(self.function, dataset(datasets))
            if spec_known(plan) and general(plan.element_spec, self.element_spec) is None:
                raise InvalidArgumentError(
                    f"the returned dataset has elements of {plan.element_spec!r}, but the saved elements are "
                    f"{self.element_spec!r}; use map after load to change them"
                )
            return plan
        except Exception as e:
            failed = RowFailed(0, None, e)
            raise self.function.attribute_error("reader_func of load", self.position, None, failed) from e

    def gives(self, values: object) -> bool:
        """Whether the recipe reads some of its files."""
        return _is_of(values, self.source, self.files)

    def arguments(self) -> dict[str, Any]:
        """The path and the function."""
        return {"path": self.source, "reader_func": self.function}

    def sampled(self) -> Node:
        """The rows of all files."""
        return Load(self.source, self.files, self.form, 1, self.like)


def plan_for(path: bytes, saved: SavedDataset, reader: Function | None, like: object = None) -> Node:
    """The plan that reads a saved dataset. `like` is the element spec to use instead of the saved one."""
    tree, leaves = form(saved.form)
    text = form_text(tree.unflatten(leaves) if like is None else like)
    classes = like if like is not None and has_classes(flatten(like)[1]) else None
    files = tuple((os.fsdecode(name), rows) for name, rows in saved.files(path))
    source = os.fsdecode(path)
    if reader is None:
        return Load(source, files, text, os.cpu_count() or 1, classes)
    return LoadBy(in_memory(Block([pack([path])], 1, LEAF)), reader, source, files, text, classes)


def load(
    path: Filename,
    element_spec: object = None,
    compression: str | None = None,
    reader_func: Callable[[Any], Any] | None = None,
    wait: bool = False,
) -> Dataset[Any]:
    """A dataset of the elements that `save` wrote to the folder `path`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.Dataset.range(6).batch(2).save(folder)
    >>> ds = fl.Dataset.load(folder)
    >>> ds.element_spec, list(ds)
    (TensorSpec(shape=(None,), dtype=int64), [array([0, 1]), array([2, 3]), array([4, 5])])

    `compression` must be the one given to `save`. Namedtuples are restored as namedtuples of the same name and fields,
    other objects with fields as dicts; an `element_spec` with their classes in it restores the original types. Reading
    never runs code from a file, verifies every byte, and raises `DataLossError` for a corrupt file.

    A dataset saved in several shards is read round robin, from as many shards at a time as the machine has processors.
    `reader_func` replaces that: it is given a dataset of datasets, one per shard, and returns a dataset of the elements
    in the desired order.

    >>> fl.Dataset.range(6).save(folder, shard_func=lambda x: x % 2)
    >>> ds = fl.Dataset.load(folder, reader_func=lambda shards: shards.flat_map(lambda shard: shard))
    >>> [int(x) for x in ds]
    [0, 2, 4, 1, 3, 5]

    With `wait`, the call waits for a dataset that does not exist yet. Without a `reader_func` the elements can be read
    in any order, with `global_shuffle` and `experimental.at`.
    """
    folder = as_path(path)
    kind = compressions.checked(compression, "load")
    reader = None if reader_func is None else Function(arguments.function(reader_func, "reader_func", "load"))
    saved = _saved(folder, arguments.boolean(wait, "wait", "load"))
    if saved.compression != kind:
        raise DataLossError(
            f"load: {shown(folder)} was saved with compression={saved.compression or None!r}, got {kind or None!r}"
        )
    if element_spec is not None:
        _check_spec(element_spec, saved, folder)
    return dataset(plan_for(folder, saved, reader, element_spec))


def _saved(folder: bytes, wait: bool) -> SavedDataset:
    while True:
        try:
            return saved_in(folder)
        except NotFoundError as e:
            if not wait:
                raise NotFoundError(f"load: {e}") from None
            time.sleep(WAIT_S)


def _check_spec(spec: object, saved: SavedDataset, folder: bytes) -> None:
    """Raises an error unless the spec is compatible with the saved one."""
    stored_tree, stored = form(saved.form)
    leaves, tree = flatten(spec)
    order = leaf_order(stored_tree, tree)
    fits = order is not None and all(_allows(leaf, stored[i]) for leaf, i in zip(leaves, order, strict=True))
    if not fits:
        raise InvalidArgumentError(
            f"load: element_spec is {spec!r}, but {shown(folder)} holds elements of {stored_tree.unflatten(stored)!r}"
        )


def _allows(spec: object, stored: object) -> bool:
    if stored is None or spec is None:
        return stored is spec
    return isinstance(spec, TypeSpec) and spec.is_compatible_with(stored)
