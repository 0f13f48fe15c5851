"""`experimental.parse_example_dataset`: batches of serialized `Example` messages to dicts of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.parsing.example import ExampleParser
from feedline.io.parsing.sequence import SequenceParser
from feedline.plan.arguments import integer, plan_of
from feedline.plan.node import Node, node
from feedline.plan.row_calls import RowFailed, applied_at
from feedline.plan.row_wise import OneToOne, ParallelCalls, RowWise
from feedline.plan.traits.random_access import RandomAccess
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Array, Block, concat, slice_column
from feedline.structure.nest import flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.types import string

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer

BATCH = TensorSpec([None], string)


@node
class ParseExample(OneToOne, ParallelCalls, RandomAccess):
    """Each row, a batch of strings, as a dict of features."""

    op: ClassVar[str] = "parse_example_dataset"
    parser: ExampleParser
    num_parallel_calls: int = 1
    deterministic: bool | None = None

    def spec(self) -> Any:
        """The spec of the features with the batch dimension in front."""
        checked_input(self.input)
        return self.parser.spec(tuple(self.input.element_spec.shape))

    def apply(self, block: Block) -> Block:
        """Parses all batches of one size at once."""
        return parsed(self.parser, block)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """Names the batch, and the bad example in it."""
        return blamed(self, failed, number)

    def rows(self, index: Array) -> Block:
        """Parses only these batches."""
        return applied_at(self, index)


def parsed(parser: ExampleParser | SequenceParser, block: Block) -> Block:
    """The features of rows that are examples or batches of them. Raises `RowFailed` for the first bad row."""
    parts: list[Block] = []
    at = 0
    while at < block.n:
        done, columns = parser.column(slice_column(block.columns[0], at, block.n))
        if done:
            leaves, tree = flatten(columns)
            parts.append(Block(leaves, done, tree))
            at += done
        if at < block.n:  # parsed on its own, it raises its error or turns out to be fine
            try:
                parts.append(Block.of_elements([parser.element(block.element(at))]))
            except InvalidArgumentError as e:
                raise RowFailed(at, concat(parts) if parts else None, e) from None
            at += 1
    return concat(parts) if parts else block


def blamed(step: RowWise, failed: RowFailed, number: int) -> InvalidArgumentError:
    """The error for a row that cannot be parsed."""
    what = str(failed.error).removeprefix(f"{step.op}: ")
    kind = InvalidTypeError if isinstance(failed.error, InvalidTypeError) else InvalidArgumentError
    return kind(f"{step.op} at step {step.position} failed{failed.on(number)}: {what}")


def checked_input(plan: Node) -> Node:
    """The plan, if its elements are batches of strings."""
    if not BATCH.is_compatible_with(plan.element_spec):
        raise InvalidTypeError(
            f"parse_example_dataset: the elements must be batches of strings, got {plan.element_spec!r}; "
            "batch the dataset first"
        )
    return plan


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: Integer = 1, deterministic: bool | None = None
) -> Callable[[Dataset[Any]], Dataset[dict[str, Any]]]:
    """A function for `Dataset.apply` that parses batches of serialized `Example` messages with `fl.io.parse_example`.

    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> numbers = Feature(int64_list=Int64List(value=[7]))
    >>> data = Example(features=Features(feature={"x": numbers})).SerializeToString()
    >>> ds = fl.Dataset.from_tensor_slices([data, data]).batch(2)
    >>> list(ds.apply(fl.experimental.parse_example_dataset({"x": fl.io.FixedLenFeature([], fl.int64)})))
    [{'x': array([7, 7])}]
    """
    if features is not None and not isinstance(features, Mapping):
        raise InvalidTypeError(f"parse_example_dataset: features must be a dict, got {features!r}")
    parser = ExampleParser(features, "parse_example_dataset")
    calls = integer(num_parallel_calls, "num_parallel_calls", "parse_example_dataset")

    def apply(dataset: Any) -> Any:
        plan = plan_of(dataset, "dataset", "parse_example_dataset")
        checked = checked_input(plan) if spec_known(plan) else plan
        return dataset._derive(ParseExample(checked, parser, calls, deterministic))

    return apply
