"""`experimental.parse_example_dataset`: batches of serialized `Example` messages to dicts of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.parsing.example import ExampleParser
from feedline.plan.arguments import integer, plan_of
from feedline.plan.node import Node, RowFailed, RowWise, node
from feedline.structure.block import Array, Block
from feedline.structure.spec import TensorSpec
from feedline.structure.types import string

BATCH = TensorSpec([None], string)


@node
class ParseExample(RowWise):
    """Each row, a batch of strings, as a dict of features."""

    op: ClassVar[str] = "parse_example_dataset"
    features: Mapping[str, Any]
    num_parallel_calls: int = 1
    deterministic: bool | None = None

    @cached_property
    def parser(self) -> ExampleParser:
        """The features, checked."""
        return ExampleParser(self.features, self.op)

    def spec(self) -> Any:
        """What the features are, with the dimension of the batch in front."""
        checked_input(self.input)
        return self.parser.spec(tuple(self.input.element_spec.shape))

    def apply(self, block: Block) -> Block:
        """Parses batch by batch."""
        done: list[Any] = []
        for i, strings in enumerate(block.rows()):
            try:
                done.append(self.parser(strings))
            except InvalidArgumentError as e:
                raise RowFailed(i, Block.of_elements(done) if done else None, e) from None
        return Block.of_elements(done) if done else block

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def rows(self, index: Array) -> Block:
        """Just these batches, parsed."""
        try:
            return self.apply(self.input.rows(index))
        except RowFailed as failed:
            raise failed.error from None


def checked_input(plan: Node) -> Node:
    """The plan, if its elements are batches of strings."""
    if not BATCH.is_compatible_with(plan.element_spec):
        raise InvalidTypeError(
            f"parse_example_dataset: the elements must be batches of strings, got {plan.element_spec!r}; "
            "batch the dataset first"
        )
    return plan


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int = 1, deterministic: bool | None = None
) -> Callable[[Any], Any]:
    """A function for `Dataset.apply` that parses batches of serialized `Example` messages, as `fl.io.parse_example` does.

    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> numbers = Feature(int64_list=Int64List(value=[7]))
    >>> data = Example(features=Features(feature={"x": numbers})).SerializeToString()
    >>> ds = fl.Dataset.from_tensor_slices([data, data]).batch(2)
    >>> list(ds.apply(fl.experimental.parse_example_dataset({"x": fl.io.FixedLenFeature([], fl.int64)})))
    [{'x': array([7, 7])}]
    """
    if features is None:
        raise InvalidArgumentError("parse_example_dataset: features must be given")
    calls = integer(num_parallel_calls, "num_parallel_calls", "parse_example_dataset")

    def apply(dataset: Any) -> Any:
        plan = plan_of(dataset, "dataset", "parse_example_dataset")
        made = ParseExample(checked_input(plan) if plan.spec_known else plan, features, calls, deterministic)
        made.parser  # noqa: B018 - wrong features are an error now, not at the first element
        return dataset._derive(made)

    return apply
