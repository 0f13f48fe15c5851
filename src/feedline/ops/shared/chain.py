"""Consecutive `map`s and `filter`s fused into one step."""

from __future__ import annotations

from math import inf
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.ops.map import Map
from feedline.ops.shared.predicate import answer
from feedline.plan.aliasing import frozen_leaf
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.function import Function
from feedline.plan.link_times import link_times
from feedline.plan.node import EMPTY, Node, node
from feedline.plan.pace import late
from feedline.plan.row_calls import Called, RowFailed
from feedline.plan.row_wise import FunctionCalls
from feedline.plan.traits.specs import InferredSpec
from feedline.random.element import Epochs
from feedline.structure.block import Block
from feedline.structure.nest import map_structure


class Link(NamedTuple):
    """A function of a chain: whether it maps or filters, and the position of its step."""

    op: str
    function: Function
    position: int


class FailedAt(RowFailed):
    """A row failed in the function of one link."""

    def __init__(self, link: Link, index: int, failed: RowFailed) -> None:
        super().__init__(index, None, failed.error, failed.path)
        self.link = link


@node
class Chain(FunctionCalls, InferredSpec):
    """Passes each row through all functions before the next row. Made by the optimizer.

    Between two functions a result is converted as an element would be: types, lists to tuples, and the check that all
    results have one structure.
    """

    op: ClassVar[str] = "chain"
    links: tuple[Link, ...]

    def spec(self) -> Any:
        """The spec after the last map; filters do not change it."""
        plan = self.input
        for link in self.links:
            plan = Map(plan, link.function) if link.op == "map" else plan
        return plan.element_spec

    def cardinality(self) -> int:
        """Unknown if there is a filter, otherwise the input's."""
        filters = any(link.op == "filter" for link in self.links)
        return UNKNOWN if filters else self.input.cardinality()

    @property
    def output_spec_known(self) -> bool:
        """Whether all maps have returned a result."""
        return all(link.function.output_spec_known for link in self.links if link.op == "map")

    @property
    def epochs(self) -> Epochs:
        """The first function's epochs, which the whole chain uses."""
        return self.links[0].function.epochs

    @property
    def called(self) -> tuple[Called, ...]:
        """The user function of each link."""
        return tuple(Called(link.op, link.position, link.function.name) for link in self.links)

    @property
    def _last_map(self) -> Function | None:
        return next((link.function for link in reversed(self.links) if link.op == "map"), None)

    def apply(self, block: Block) -> Block:
        """The results of the maps, for rows that pass all filters."""
        return self.apply_some(block, inf)[0]

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """As `apply`; stops at `until`. Also returns how many rows were used."""
        results: list[Any] = []
        kept: list[int] = []
        failed: FailedAt | None = None
        used = 0
        for index, row in enumerate(block.rows()):
            try:
                passes, result = self._through(row, index)
            except FailedAt as e:
                failed = e
                break
            used += 1
            if passes:
                results.append(result)
                kept.append(index)
            if late(until):
                break
        done = self._packed(block, results, kept)
        if failed is not None:
            failed.done = done
            raise failed
        return done, used

    def _through(self, row: object, index: int) -> tuple[bool, Any]:
        spent = link_times.spent
        for link in self.links:
            began = 0.0 if spent is None else perf_counter()
            try:
                if link.op == "map":
                    result = link.function.on_row(row, index)
                else:
                    result = link.function.on_row(map_structure(frozen_leaf, row), index, frozen=True)
                if spent is not None:
                    spent[link.position] = spent.get(link.position, 0.0) + perf_counter() - began
                if link.op == "map":
                    row = link.function.block_of([result]).element(0)
                elif not answer(result):
                    return False, None
            except RowFailed as e:
                raise FailedAt(link, index, e) from None
            except BaseException as e:
                raise FailedAt(link, index, RowFailed(index, None, e)) from None
        return True, row

    def _packed(self, block: Block, results: list[Any], kept: list[int]) -> Block:
        if not results:
            return EMPTY
        last = self._last_map
        return block.take(np.array(kept, np.int64)) if last is None else last.block_of(results)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """An exception that names the failed function and its step; `number` counts the chain's input elements."""
        link: Link = self.links[-1] if failed.link is None else failed.link
        return link.function.attribute_error(link.op, link.position, number, failed)


def is_map(node: Node) -> bool:
    """Whether a node is a map, or a chain of maps only."""
    return isinstance(node, Map) or (isinstance(node, Chain) and all(link.op == "map" for link in node.links))
