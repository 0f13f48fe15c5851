"""`parse`: serialized `Example` messages become dicts of their features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.parsing.example import ExampleParser
from feedline.io.parsing.infer import SequenceFeatures, infer_features
from feedline.io.parsing.sequence import SequenceParser
from feedline.ops.batch import Grouped, batch
from feedline.ops.parse_example_dataset import blamed, parsed
from feedline.ops.shared.nested import Flattened
from feedline.ops.sources.tfrecord_dataset import TFRecords
from feedline.plan import arguments
from feedline.plan.dataset_base import sample
from feedline.plan.node import Node, node
from feedline.plan.row_calls import RowFailed, applied_at
from feedline.plan.row_wise import RowWise
from feedline.plan.traits.random_access import RandomAccess
from feedline.plan.traits.specs import InferredSpec, spec_known
from feedline.sharing import Guard
from feedline.structure.block import Array, Block
from feedline.structure.spec import TensorSpec
from feedline.structure.types import string

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer

MOST_NAMES = 10_000
MOST_NESTED = 16
RECORDS = TensorSpec([], string), TensorSpec([None], string)


class FeatureSource:
    """The features to read: given ones, or those inferred on first use from the files that a plan reads."""

    __slots__ = ("_found", "_lock", "given", "plan")

    def __init__(self, given: object, plan: Node) -> None:
        self.given, self.plan = given, plan
        self._lock = Guard()
        self._found: ExampleParser | SequenceParser | None = None if given is None else _parser_for(given)

    @property
    def parser(self) -> ExampleParser | SequenceParser:
        """The parser for these features."""
        with self._lock:
            if self._found is None:
                self._found = _parser_for(_inferred(self.plan))
            return self._found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureSource) and self.given == other.given

    def __hash__(self) -> int:
        return hash(self.given is None)

    def __repr__(self) -> str:
        return "inferred" if self.given is None else repr(self.given)

    def __reduce__(self) -> Any:
        return FeatureSource, (self.given, self.plan)


@node
class Parse(InferredSpec, RandomAccess, RowWise):
    """The features of each row, a record or a batch of records."""

    op: ClassVar[str] = "parse"
    features: FeatureSource

    def spec(self) -> Any:
        """The spec of the features; for batches of records, with the batch dimension in front."""
        return self.features.parser.element_spec(tuple(_checked(self.input.element_spec).shape))

    @property
    def spec_known(self) -> bool:
        """Whether the spec is known without reading files."""
        return "element_spec" in self.__dict__ or (self.features.given is not None and spec_known(self.input))

    def apply(self, block: Block) -> Block:
        """Parses all rows at once, except for batches of sequences."""
        if block.n == 0:
            return block
        parser = self.features.parser
        _checked(block.spec())
        return parsed(parser, block)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """Names the element, and the bad record in it."""
        return blamed(self, failed, number)

    def rows(self, index: Array) -> Block:
        """Parses only these rows."""
        return applied_at(self, index)


def _parser_for(features: object) -> ExampleParser | SequenceParser:
    if isinstance(features, SequenceFeatures):
        return SequenceParser(*features, "parse")
    return ExampleParser(features, "parse")


def _checked(spec: object) -> Any:
    if not any(records.is_compatible_with(spec) for records in RECORDS):
        raise InvalidTypeError(f"parse: the elements must be strings or batches of strings, got {spec!r}")
    return spec


def _inferred(plan: Node) -> Any:
    found = list(_files(plan))
    if not found:
        raise InvalidArgumentError(
            "parse: features can be inferred only for records read directly from TFRecord files; pass features, for "
            "instance fl.io.infer_features(files)"
        )
    names = [name for source in found for block in sample(source.input, MOST_NAMES) for name in block.rows()]
    return infer_features(names, found[0].compression_type)


def _files(plan: Node) -> Iterator[TFRecords]:
    """The TFRecord sources whose records the plan passes on unchanged, in any order."""
    if isinstance(plan, TFRecords):
        yield plan
    elif isinstance(plan, Flattened):
        for key in sample(plan.input, MOST_NESTED):
            yield from _files(plan.child(key))
    elif isinstance(plan, Grouped) or type(plan).spec is Node.spec:
        for below in plan.inputs:
            yield from _files(below)


def parse(
    self: Dataset[Any],
    features: object = None,
    batch_size: Integer | None = None,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Any]:
    """Parses serialized `Example` messages: each record becomes a dict of its features.

    >>> import tempfile
    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> path = f"{tempfile.mkdtemp()}/numbers.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for i in range(3):
    ...         number = Feature(int64_list=Int64List(value=[i]))
    ...         writer.write(Example(features=Features(feature={"x": number})).SerializeToString())
    >>> list(fl.TFRecordDataset(path).parse({"x": fl.io.FixedLenFeature([], fl.int64)}))
    [{'x': np.int64(0)}, {'x': np.int64(1)}, {'x': np.int64(2)}]

    Without `features`, those that `fl.io.infer_features` finds in the files are used. They are inferred on first use:
    by `element_spec` or the first element. The records must then come straight from TFRecord files, though they may be
    shuffled or interleaved. To avoid surprises, print the inferred features and write them into the program.

    >>> list(fl.TFRecordDataset(path).shuffle(3, seed=1).parse(batch_size=2))
    [{'x': array([1, 2])}, {'x': array([0])}]

    With `batch_size`, elements are batches, each parsed at once; the input may also consist of batches already. For
    `SequenceExample` messages `features` is a pair, of context features and sequence features; elements are then pairs
    as from `fl.io.parse_single_sequence_example`, batches as from `fl.io.parse_sequence_example`.
    """
    given = SequenceFeatures(*features) if isinstance(features, tuple) and len(features) == 2 else features
    if given is not None and not isinstance(given, (Mapping, SequenceFeatures)):
        raise InvalidTypeError(f"parse: features must be a dict of features or a pair of dicts, got {features!r}")
    plan = self._plan
    if spec_known(plan):
        _checked(plan.element_spec)
    if batch_size is not None:
        size = arguments.positive(batch_size, "batch_size", "parse")
        plan = batch(self, size, drop_remainder)._plan
    return self._derive(Parse(plan, FeatureSource(given, plan)))
