"""Several `map`s in a row, run as one step."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.ops.map import SAMPLES
from feedline.plan.face import sample
from feedline.plan.function import Function, infer
from feedline.plan.node import RowFailed, RowWise, node
from feedline.structure.block import Block
from feedline.structure.zeros import zeros_of


class FailedIn(RowFailed):
    """The function number `stage` of a chain failed."""

    def __init__(self, stage: int, failed: RowFailed) -> None:
        super().__init__(failed.index, failed.done, failed.error, failed.path)
        self.stage = stage


@node
class MapChain(RowWise):
    """Each row through one function after the other. Made by the optimizer.

    Between two functions a result takes the form it would have as an element: types, lists that become tuples, and the
    check that all results are alike.
    """

    op: ClassVar[str] = "map"
    opaque: ClassVar[bool] = True
    functions: tuple[Function, ...]
    positions: tuple[int, ...]

    def spec(self) -> Any:
        """As for a map."""
        blocks = sample(self, SAMPLES)
        return infer(blocks or [self.apply(Block.of_elements([zeros_of(self.input.element_spec)]))])

    @property
    def user_code(self) -> bool:
        """Functions without effects are not chained."""
        return True

    def apply(self, block: Block) -> Block:
        """Row by row: all functions for one row, then the next row."""
        last = len(self.functions) - 1
        results: list[Any] = []
        failed: FailedIn | None = None
        for index, row in enumerate(block.rows()):
            stage = 0
            try:
                for stage, function in enumerate(self.functions):  # noqa: B007 - known where it fails
                    row = function.on_row(row)
                    if stage < last:
                        row = function.block_of([row]).element(0)
            except RowFailed as e:
                failed = FailedIn(stage, RowFailed(index, None, e.error, e.path))
                break
            except Exception as e:
                failed = FailedIn(stage, RowFailed(index, None, e))
                break
            results.append(row)
        done = None
        if results:
            try:
                done = self.functions[last].block_of(results)
            except RowFailed as e:
                raise FailedIn(last, e) from None
        if failed is not None:
            failed.done = done
            raise failed
        return block if done is None else done

    def blame(self, failed: RowFailed, number: int) -> Exception:
        """Names the function that failed and its own step; elements are counted where the chain begins."""
        stage = failed.stage if isinstance(failed, FailedIn) else -1
        return self.functions[stage].blame(self.op, self.positions[stage], number, failed)
