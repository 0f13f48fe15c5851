"""Decoding: serialized examples to elements, many at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.data.dataset import Dataset
from feedline.errors import InvalidArgumentError, InvalidTypeError, UnimplementedError
from feedline.io.parsing.example import ExampleParser
from feedline.io.parsing.features import FixedLenFeature, FixedLenSequenceFeature
from feedline.ops.parse_example_dataset import blamed, parsed
from feedline.plan.node import Node, node
from feedline.plan.row_calls import Parallel, RowFailed, applied_at
from feedline.plan.row_wise import OneToOne, ParallelCalls
from feedline.plan.traits.random_access import RandomAccess
from feedline.plan.traits.specs import InferredSpec
from feedline.sharing import cached_property
from feedline.structure import types
from feedline.structure.block import Array, Block, Column, concat, pack, rows_of
from feedline.structure.nest import flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.spec import TensorSpec
from feedline.tfds import features as f
from feedline.tfds.features import FeatureConnector, Shape, TensorInfo, reshaped

Columns = Mapping[str, Column]


class StoredArray(NamedTuple):
    """An array in the files: its key in the examples, and what it is."""

    key: str
    info: TensorInfo

    def parsed_as(self) -> dict[str, Any]:
        """How the parser reads it: nested sequences are stored as flat values and lengths of rows."""
        shape, rank = self.info.shape, self.info.sequence_rank
        kind = _stored_type(self.info.dtype)
        if rank > 1:
            if None in shape[rank:]:
                raise UnimplementedError(f"tfds: {self.key!r} is a nested sequence of arrays of unknown sizes {shape}")
            rows = {
                f"{self.key}/ragged_row_lengths_{k}": FixedLenSequenceFeature((), types.int64, allow_missing=True)
                for k in range(rank - 1)
            }
            flat = FixedLenSequenceFeature(shape[rank:], kind, allow_missing=True)
            return rows | {f"{self.key}/ragged_flat_values": flat}
        if None not in shape:
            return {self.key: FixedLenFeature(shape, kind, self.info.default_value)}
        if shape.count(None) > 1:
            raise UnimplementedError(f"tfds: {self.key!r} has more than one unknown size, {shape}, and no encoding")
        known = tuple(n for n in shape if n is not None)
        return {self.key: FixedLenSequenceFeature(known, kind, allow_missing=True)}

    def column(self, columns: Columns) -> Column:
        """The arrays of many examples, in their shape and dtype."""
        rank = self.info.sequence_rank
        if rank > 1:
            flat = rows_of(columns[f"{self.key}/ragged_flat_values"])
            lengths = [rows_of(columns[f"{self.key}/ragged_row_lengths_{k}"]) for k in range(rank - 1)]
            return pack([self._ragged(*row) for row in zip(flat, *lengths, strict=True)])
        column, kind = columns[self.key], self.info.dtype.dtype
        in_order = None not in self.info.shape[1:]
        if isinstance(column, np.ndarray) and column.dtype != object and in_order:
            return column.astype(kind, copy=False)
        if not self.info.shape:
            return column
        return pack([reshaped(row, self.info.shape).astype(kind, copy=False) for row in rows_of(column)])

    def _ragged(self, flat: Array, *lengths: Array) -> Any:
        values: Any = flat.astype(self.info.dtype.dtype, copy=False)
        for rows in reversed(lengths):
            values = RaggedTensor.from_row_lengths(values, rows)
        return values


def _stored_type(dtype: types.DType) -> types.DType:
    """The type that an Example has for this one."""
    if dtype.is_integer or dtype == types.bool:
        return types.int64
    if dtype.is_floating:
        return types.float32
    if dtype == types.string:
        return types.string
    raise UnimplementedError(f"tfds: arrays of {dtype.name} cannot be stored in examples")


@dataclass(frozen=True)
class Part:
    """A part of the elements: one feature, in sequences of these lengths. With `skip` it stays as it is stored."""

    key: str
    feature: FeatureConnector
    lengths: Shape
    skip: bool

    def stored(self) -> Any:
        """What the files hold for it: one array, or nested dicts of them."""
        if isinstance(self.feature, f.Dataset):
            return _stored_structure(self.feature.feature, self.key, (self.feature.length,))
        return _stored_leaves(self.feature.get_serialized_info(), self.key, self.lengths)

    def spec(self) -> Any:
        """The spec of the part."""
        if self.skip:
            return _each(self.stored(), lambda stored: stored.info.spec())
        if isinstance(self.feature, f.Dataset):
            return self.feature.get_tensor_spec()
        return self.feature.get_tensor_info().inside(self.lengths).spec()

    def columns(self, columns: Columns, parse: bool) -> Any:
        """The decoded rows: a column, or nested dicts of them. Without `parse`, columns have their shape and dtype."""
        stored = self.stored()
        made = _each(stored, lambda s: s.column(columns) if parse else columns[s.key])
        if self.skip or not (self.feature.decodes or isinstance(self.feature, f.Dataset)):
            return made["value"] if isinstance(made, dict) and not self.skip else made
        if isinstance(self.feature, f.Dataset):
            return self._datasets(stored, made)
        if isinstance(made, dict):
            keys, lists = list(made), [rows_of(column) for column in made.values()]
            rows: list[Any] = [dict(zip(keys, values, strict=True)) for values in zip(*lists, strict=True)]
        else:
            rows = rows_of(made)
        return pack([self._decoded(row) for row in rows])

    def _datasets(self, stored: Any, made: Any) -> Column:
        flat = _flat(stored, made)
        keys, lists = list(flat), [rows_of(column) for column in flat.values()]
        assert isinstance(self.feature, f.Dataset)
        layout = FeatureLayout(structure_of(self.feature.feature, self.key, (), None), parse=False)
        rows = []
        for values in zip(*lists, strict=True):
            slices = Dataset.from_tensor_slices(dict(zip(keys, values, strict=True)))
            rows.append(slices._derive(DecodeFeatures(slices._plan, layout)))
        return pack(rows)

    def _decoded(self, value: Any) -> Any:
        if not self.lengths:
            return self.feature.decode_example(value)
        if len(self.lengths) == 1:
            return self._sequence(value)
        return value.with_flat_values(self._sequence(value.flat_values))

    def _sequence(self, values: Any) -> Array:
        """The decoded items of a sequence, stacked; unknown sizes of an empty one are 0."""
        info = self.feature.get_tensor_info()
        items = [values["shape"], values["value"]] if isinstance(values, dict) else [values]
        if len(items[0]) == 0:
            return np.zeros((0, *[n or 0 for n in info.shape]), info.dtype.dtype)
        if isinstance(values, dict):
            each = [{"shape": shape, "value": value} for shape, value in zip(*items, strict=True)]
        else:
            each = list(values)
        made = [np.asarray(self.feature.decode_example(value)) for value in each]
        shapes = {item.shape for item in made}
        if len(shapes) > 1:
            raise InvalidArgumentError(f"tfds: the items of {self.key!r} have different shapes: {sorted(shapes)}")
        return np.stack(made)


def _stored_leaves(infos: Any, key: str, lengths: Shape) -> Any:
    if isinstance(infos, Mapping):
        return {name: _stored_leaves(info, _joined(key, name), lengths) for name, info in infos.items()}
    return StoredArray(key, infos.inside(lengths))


def _stored_structure(feature: FeatureConnector, key: str, lengths: Shape) -> Any:
    return _each(structure_of(feature, key, lengths, None), lambda part: part.stored())


def _each(structure: Any, function: Any) -> Any:
    """The structure with its leaves replaced."""
    if isinstance(structure, dict):
        return {key: _each(value, function) for key, value in structure.items()}
    if type(structure) is tuple:
        return tuple(_each(value, function) for value in structure)
    return function(structure)


def _flat(stored: Any, made: Any) -> dict[str, Any]:
    """Columns by their keys in the examples."""
    if isinstance(stored, dict):
        return {k: v for name in stored for k, v in _flat(stored[name], made[name]).items()}
    return {stored.key: made}


def _joined(key: str, name: str) -> str:
    return f"{key}/{name}" if key else name


def structure_of(feature: FeatureConnector, key: str, lengths: Shape, decoders: Any) -> Any:
    """Nested dicts of parts, as the elements have them. `decoders` name the parts that are not decoded here."""
    if isinstance(feature, f.FeaturesDict):
        given = {} if decoders is None else decoders
        if not isinstance(given, Mapping):
            raise InvalidTypeError(f"tfds: decoders of {key or 'the dataset'!r} must be a dict, got {decoders!r}")
        unknown = [name for name in given if name not in feature]
        if unknown:
            raise InvalidArgumentError(f"tfds: decoders name {unknown[0]!r}, the features are {list(feature)}")
        parts = {name: (inner, given.get(name)) for name, inner in feature.items()}
        return {name: structure_of(inner, _joined(key, name), lengths, own) for name, (inner, own) in parts.items()}
    if isinstance(feature, f.Dataset):
        if lengths:
            raise UnimplementedError(f"tfds: {key!r} is a sequence or dataset of datasets")
        if isinstance(decoders, Mapping):
            raise UnimplementedError(f"tfds: decoders inside the dataset {key!r}; skip it as a whole, or use its map")
        inside: list[Part] = []
        _each(structure_of(feature.feature, key, (), None), inside.append)
        if not inside:
            raise InvalidArgumentError(f"tfds: the dataset {key!r} has no features")
        return Part(key, feature, (), decoders is not None)
    if isinstance(feature, f.Sequence):
        return structure_of(feature.feature, key, (*lengths, feature.length), decoders)
    return Part(key, feature, lengths, decoders is not None)


@dataclass(frozen=True, repr=False)
class FeatureLayout:
    """The structure of the elements: nested dicts and tuples of parts. `parse` tells whether they come from serialized
    examples; `ids` adds `tfds_id`, which comes beside the examples.
    """

    structure: Any
    parse: bool = True
    ids: bool = False

    def __hash__(self) -> int:
        return hash((self.parse, self.ids))

    def __repr__(self) -> str:
        return repr(_each(self.structure, lambda part: part.feature))

    def spec(self) -> Any:
        """The spec of the elements."""
        spec = _each(self.structure, lambda part: part.spec())
        return spec | {"tfds_id": TensorSpec((), types.string)} if self.ids else spec

    def features(self) -> dict[str, Any]:
        """How the parser reads the examples."""
        found: dict[str, Any] = {}
        _each(self.structure, lambda part: _each(part.stored(), lambda stored: found.update(stored.parsed_as())))
        return found

    @cached_property
    def parser(self) -> ExampleParser:
        """The parser of the examples."""
        return ExampleParser(self.features(), "tfds")

    @cached_property
    def decodes(self) -> bool:
        """Whether anything is decoded one by one, so that several threads help."""
        found: list[bool] = []
        _each(self.structure, lambda part: found.append(part.feature.decodes and not part.skip))
        return any(found)


@node
class DecodeFeatures(OneToOne, ParallelCalls, InferredSpec, RandomAccess):
    """Elements from serialized examples, or from their arrays."""

    op: ClassVar[str] = "tfds"
    opaque: ClassVar[bool] = False
    layout: FeatureLayout
    num_parallel_calls: int | None = None

    def spec(self) -> Any:
        """As the features say."""
        return self.layout.spec()

    @property
    def spec_known(self) -> bool:
        """True: it does not depend on the input."""
        return True

    @property
    def parallel(self) -> Parallel | None:
        """In parallel if anything is decoded one by one; the parser has threads of its own."""
        if self.num_parallel_calls is None or not self.layout.decodes:
            return None
        return Parallel(self.num_parallel_calls)

    def apply(self, block: Block) -> Block:
        """Parses all examples at once, and decodes them; if that fails, one by one, to find the one at fault."""
        if block.n == 0:
            return block
        try:
            return self._decoded(block)
        except Exception as e:
            if block.n == 1:
                raise RowFailed(0, None, e.error if isinstance(e, RowFailed) else e) from None
        done: list[Block] = []
        for i in range(block.n):
            try:
                done.append(self._decoded(block.slice(i, i + 1)))
            except Exception as e:
                error = e.error if isinstance(e, RowFailed) else e
                raise RowFailed(i, concat(done) if done else None, error) from None
        return concat(done)

    def _decoded(self, block: Block) -> Block:
        layout = self.layout
        if layout.parse:
            examples = Block([block.columns[-1]], block.n, flatten(0)[1])
            read = parsed(layout.parser, examples)
        else:
            read = block
        columns = read.tree.unflatten(read.columns)
        made = _each(layout.structure, lambda part: part.columns(columns, layout.parse))
        leaves, tree = flatten(made | {"tfds_id": block.columns[0]} if layout.ids else made)
        return Block(leaves, block.n, tree)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """Names the element, and where it was read."""
        return blamed(self, failed, number)

    def rows(self, index: Array) -> Block:
        """Decodes only these rows."""
        return applied_at(self, index)


def deserialized(features: f.FeaturesDict, example: bytes, decoders: Any) -> Any:
    """The element for one serialized example."""
    ds = Dataset.from_tensors(example)
    layout = FeatureLayout(structure_of(features, "", (), decoders))
    return ds._derive(DecodeFeatures(ds._plan, layout)).get_single_element()


def decoded(dataset: Any, layout: FeatureLayout, calls: int | None) -> Any:
    """The dataset of serialized examples, decoded."""
    plan: Node = dataset._plan
    return dataset._derive(DecodeFeatures(plan, layout, calls))
