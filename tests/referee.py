"""The referee of the contract in plan/node.py: runs a plan with inputs that fail if a node breaks it.

A plan is run twice, in the caller's thread:

- The reference run moves single rows. It records, for each node, how many rows of each input it had pulled when it
  returned its k-th row. A step of a node with a light state and without user code is repeated from the same state, with
  the same answers of its inputs: the result must be the same, since its state is all that it may keep. It is also
  repeated with "nothing yet" in place of the last rows that it pulled: if the result is the same, they were not needed.
- The strict run pulls blocks of many sizes. A node may return at most `want` rows, and may pull no more rows of its
  inputs than the reference run did for the same number. Rows of a `KeepsRows` node must be those of its inputs that
  their `provenance` names.

In both, an input that has ended must not be pulled again before it is restarted.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from itertools import cycle
from operator import gt
from typing import Any

import numpy as np
from tests.likeness import difference, show

from feedline.engine.input import Input
from feedline.engine.run import Run
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node
from feedline.plan.rewrite import bottom_up, replace_node
from feedline.plan.row_wise import epochs_of
from feedline.plan.traits.effects import CallsUserCode, user_code
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import RandomAccess, in_order, read_rows
from feedline.plan.traits.schedule import ManyInputs
from feedline.plan.traits.seeds import generator_of
from feedline.provenance.rows import Provenance
from feedline.structure.block import Block
from feedline.structure.nest import flatten

WANTS = (3, 1, 64, 2, 1000, 7)
"""The values of `want` in the strict run, cyclically."""

Key = tuple[Any, ...]


class Foul(BaseException):
    """A node broke the contract. A BaseException, so that no step catches it."""


class Book:
    """The record of the reference run: rows pulled from the inputs, per node and number of rows returned."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.taken: dict[Key, list[tuple[int, ...]]] = {}
        self.at_end: dict[Key, tuple[int, ...]] = {}
        self.last_stamp = 0

    def stamp(self, n: int) -> Provenance:
        """Provenance for rows that have none: negative numbers, as for rows in memory."""
        self.last_stamp += n
        return Provenance(-self.last_stamp, np.arange(n))

    def most(self, key: Key, given: int) -> tuple[int, ...] | None:
        """The rows pulled for `given` rows returned; None if the reference run did not get that far."""
        taken = self.taken.get(key, [])
        return taken[given] if given < len(taken) else self.at_end.get(key)


def with_effects(plan: Node) -> Node:
    """The plan over sources that claim to run user code, so that no more rows than needed may be pulled from them."""
    return bottom_up(plan, lambda n: None if n.inputs else _with_effects(n))


@cache
def _class_with_effects(cls: type[Node]) -> type[Node]:
    return type(cls.__name__, (cls, CallsUserCode), {"user_code": True, "source_with_effects": True})


def _with_effects(source: Node) -> Node:
    made = replace_node(source, source.replace())
    object.__setattr__(made, "__class__", _class_with_effects(type(source)))
    return made


class RefereedRun(Run):
    """A run whose inputs are all refereed, including those of nested runs."""

    def __init__(
        self, plan: Node, prepare: Any, book: Book, reference: Book, place: Key = (), key: Block | None = None
    ) -> None:
        self.book, self.reference, self.place = book, reference, place
        self.opened: dict[int, int] = {}
        super().__init__(plan, prepare, key)

    def _kind(self, node: Node) -> type[Input]:
        return RefereedInput

    def _input(self, node: Node) -> Input:
        made = super()._input(node)
        for pull in made.below():
            pull.stamps = isinstance(node, KeepsRows)  # type: ignore[attr-defined]
        return made

    def nested(self, plan: Node, key: Block | None, within: Node | None = None) -> Run:
        """Opens a nested run, and numbers it."""
        position = (within or self.plan).position
        number = self.opened[position] = self.opened.get(position, -1) + 1
        place = (*self.place, position, number)
        return RefereedRun(with_effects(self.prepare(plan)), self.prepare, self.book, self.reference, place, key)


class RefereedInput(Input):
    """An input that fails if its node or its consumer breaks the contract."""

    __slots__ = ("allowed", "answers", "ended", "given", "key", "recomputable", "rows", "stamps")

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.key = (*run.place, slot)
        self.ended = self.stamps = False
        self.recomputable = True  # all rows so far had a provenance
        self.given = 0
        self.allowed = (0,) * len(self.below())
        self.answers: list[Block | Exception | None] = []
        self.rows: dict[int, Any] = {}

    def start(self) -> None:
        """Restarts the input, which may then be pulled again."""
        super().start()
        self.ended = False

    def reopen(self) -> None:
        """Allows pulls of this input and of those below it again."""
        self.ended = False
        for pull in self._inputs():
            pull.reopen()

    def read_into(self, want: int, shelf: Any) -> None:
        """Not supported: rows are pulled ordinarily."""

    def __call__(self, want: int) -> Block | None:
        """Runs the node for one block, and checks it."""
        if self.ended:
            raise Foul(f"{self._name()} has ended, and is asked again")
        if want < 1:
            raise Foul(f"{self._name()} is asked for {want} rows")
        book: Book = self.run.book  # type: ignore[attr-defined]
        asked = want if book.strict else 1
        try:
            block = self._looked_at(asked)
        except Exception as e:
            self.answers.append(e)
            raise
        if block is None:
            self.ended = True
        elif block.n > asked:
            raise Foul(f"{self._name()} gave {block.n} rows where {asked} were wanted")
        else:
            self.given += block.n
        self._account(book, asked, block)
        if self.stamps and block is not None and block.n:
            block = self._stamped(book, block)
        self.answers.append(block)
        return block

    def _looked_at(self, want: int) -> Block | None:
        for pull in self._inputs():
            pull.answers.clear()
        before = self.states[self.slot]
        try:
            block = super().__call__(want)
        except Exception:
            for pull in self._inputs():
                pull.reopen()  # after an error the step continues from its last state, and may pull again
            raise
        if not self.run.book.strict and self._repeatable(before):  # type: ignore[attr-defined]
            self._repeat(before, want, block)
        if isinstance(self.node, KeepsRows) and block is not None and block.n:
            self._compare_kept(block)
        return block

    def _account(self, book: Book, asked: int, block: Block | None) -> None:
        taken = tuple(pull.given for pull in self._inputs())
        if not book.strict:
            if block is None:
                book.at_end[self.key] = taken
            else:
                book.taken.setdefault(self.key, [(0,) * len(taken)]).extend([taken] * block.n)
            return
        given = self.given - (0 if block is None else block.n)
        most = self.run.reference.most(self.key, given + asked)  # type: ignore[attr-defined]
        self.allowed = tuple(map(max, self.allowed, taken if most is None else most))  # for all rows wanted so far
        if any(map(gt, taken, self.allowed)):
            raise Foul(
                f"{self._name()} has taken {_told(taken)} rows of its input to give {asked} more than {given}, where "
                f"{_told(self.allowed)} are enough"
            )

    # Repeating a step.

    def _repeatable(self, state: Any) -> bool:
        node = self.node
        own_effects = user_code(node) and not hasattr(node, "source_with_effects")
        light = not (
            node.mutable_state or own_effects or generator_of(node) is not None or epochs_of(node) is not None
        )
        return light and not _is_live(state) and not _is_live(self.states[self.slot])

    def _repeat(self, before: Any, want: int, block: Block | None) -> None:
        answers = [list(pull.answers) for pull in self._inputs()]
        other, state = self._again(before, want, answers)
        if not _alike(other, block):
            raise Foul(
                f"{self._name()} gave {_shown(block)}, and from the same state and input {_shown(other)}: "
                "it keeps something outside of its state"
            )
        if type(state) is not type(self.states[self.slot]):
            raise Foul(f"{self._name()} went on with a {type(state).__name__}")
        last = max(((i, k) for i, given in enumerate(answers) for k in range(len(given))), default=None)
        if last is None or (block is not None and not block.n) or len(answers) > 1:
            return
        i, k = last
        rows = answers[i][k]
        if not isinstance(rows, Block) or not rows.n:
            return
        answers[i][k:] = [EMPTY]
        other, state = self._again(before, want, answers, ends=block is not None)
        dropped = block is not None and _held(state) == _held(self.states[self.slot])  # like some of `window`
        if _alike(other, block) and not dropped:
            raise Foul(f"{self._name()} took a row of its input that it did not need to give {_shown(block)}")

    def _again(
        self, before: Any, want: int, answers: list[list[Any]], ends: bool = False
    ) -> tuple[Block | None, Any]:
        copy = dataclasses.replace(self.node)
        pulls = tuple(Replay(given, ends) for given in answers)
        try:
            return copy.step(before, pulls if isinstance(copy, ManyInputs) else pulls[0] if pulls else None, want)
        except Interrupted as e:
            return e.rows, e.state
        except Replay.Over:
            return EMPTY, before

    # Provenance.

    def _stamped(self, book: Book, block: Block) -> Block:
        """The block with a provenance for each row, by which the referee finds the rows again."""
        if block.provenance is None:
            self.recomputable = False
            block = Block(block.columns, block.n, block.tree, book.stamp(block.n), block.batch_provenance)
        numbers = block.provenance.numbers().tolist()  # type: ignore[union-attr]
        self.rows.update(zip(numbers, block.rows(), strict=True))
        return block

    def _compare_kept(self, block: Block) -> None:
        read = any(pull.rows for pull in self._inputs())  # otherwise it read them by index
        if block.provenance is None or not read:
            if block.provenance is None and read and self._must_say():
                raise Foul(f"{self._name()} is a KeepsRows, but its rows do not say where they come from any more")
            known = {str(_values(row)) for pull in self._inputs() for row in pull.known_rows()}
            kept = [str(_values(row)) in known for row in block.rows()]
        else:
            kept = [self._is_row(*row) for row in zip(block.provenance.numbers().tolist(), block.rows(), strict=True)]
        if not all(kept):
            row = block.element(kept.index(False))
            raise Foul(f"{self._name()} is a KeepsRows, but {show(row)} is not the row of its input that it should be")

    def _must_say(self) -> bool:
        """Whether its rows must have a provenance: not if it buffers rows whose provenance is only the referee's."""
        return not self.node.mutable_state or all(pull.has_provenance for pull in self._inputs())

    @property
    def has_provenance(self) -> bool:
        """Whether its rows had a provenance of their own so far, and not one that the referee gave them here or below.
        """
        kept = isinstance(self.node, KeepsRows)
        return self.recomputable and (not kept or all(pull.has_provenance for pull in self._inputs()))

    def _is_row(self, number: int, row: Any) -> bool:
        found = [pull.rows[number] for pull in self._inputs() if number in pull.rows]
        return bool(found) and _values(row) == _values(found[0])

    def known_rows(self) -> Iterable[Any]:
        """The rows that it has returned, or all of them if it has random access and was never pulled."""
        if self.rows or not in_order(self.node):
            return self.rows.values()
        return read_rows(self.node, np.arange(self.node.cardinality())).rows()

    def _inputs(self) -> tuple[Any, ...]:
        return self.below()

    def _name(self) -> str:
        return f"{self.node.op} at step {self.node.position}"


class Replay:
    """An input that repeats its answers, then has nothing yet; with `ends`, then ends."""

    class Over(BaseException):
        """The step keeps pulling."""

    def __init__(self, answers: list[Any], ends: bool) -> None:
        self.answers, self.ends = deque(answers), ends
        self.patience = 3

    def __call__(self, want: int) -> Block | None:
        """The next answer."""
        if not self.answers:
            self.patience -= 1
            if self.patience > 0:
                return EMPTY
            if self.ends and not self.patience:
                return None
            raise Replay.Over
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    def one(self) -> Block | None:
        """The next answer."""
        return self(1)

    def read_into(self, want: int, shelf: Any) -> None:
        """Not supported: rows are pulled ordinarily."""

    def start(self) -> None:
        """Does nothing: the answers are those after a restart."""

    def open(self, plan: Any, key: Any = None) -> Any:
        """Never called: nodes that open nested plans have heavy states."""
        raise Replay.Over


def referee(make: Callable[[], Any], count: int, endless: bool, errors: bool, words: str) -> None:
    """Fails if a node of the dataset made by `make` breaks the contract. It has `count` elements or errors."""
    __tracebackhide__ = True
    reference = Book(strict=False)
    for book in (reference, Book(strict=True)):
        plan, prepare, _ = make()._prepared
        run = RefereedRun(with_effects(plan), prepare, book, reference)
        try:
            _drive(run, book, count, endless, errors)
        except Foul as e:
            raise AssertionError(f"the contract is broken, {words}: {e}") from None
        finally:
            run.close()


def _drive(run: Run, book: Book, count: int, endless: bool, errors: bool) -> None:
    run.start()
    left = count
    for want in cycle(WANTS if book.strict else (1,)):
        if endless and not left:
            return
        try:
            block = run.pull(min(want, left) if endless else want)
        except Exception:
            if not errors or not left:
                raise
            left -= 1
            continue
        if block is None:
            return
        left -= block.n


def check_random_access(dataset: Any, expect: list[Any]) -> None:
    """Checks that rows by index are those of an iteration, if the plan has random access."""
    __tracebackhide__ = True
    plan: Node = dataset._plan
    if not isinstance(plan, RandomAccess) or not plan.indexable or plan.cardinality() < 0 or not plan.in_order:
        return
    n = len(expect)
    assert plan.has_row(n) is not True, f"has_row({n}) says that there is a row after the last one"
    assert all(plan.has_row(i) is not False for i in range(n)), "has_row says that an element is not there"
    order = np.random.default_rng(0).permutation(n)
    for index in (order, order[:1], order[-1:]):
        try:
            rows = plan.rows(index).rows() if len(index) else []
        except Exception as e:
            if "element_rng" in str(e):  # element_rng needs an iteration
                return
            raise AssertionError(f"{plan.op} says that rows can be had by number, and then: {e!r}") from e
        assert len(rows) == len(index), f"rows({show(index)}) gives {len(rows)} rows"
        for i, row in zip(index.tolist(), rows, strict=True):
            why = difference(row, expect[i])
            assert not why, f"rows([{i}]) is not element {i}: {why}\n  got: {show(row)}\n  element: {show(expect[i])}"


def _is_live(value: Any) -> bool:
    """Whether a state holds a resource that can be closed."""
    if isinstance(value, (tuple, list, deque)):
        return any(map(_is_live, value))
    if isinstance(value, dict):
        return any(map(_is_live, value.values()))
    return value is not None and not isinstance(value, type) and callable(getattr(value, "close", None))


def _held(state: Any) -> int:
    """The number of rows in a state."""
    if isinstance(state, Block):
        return state.n
    return sum(map(_held, state)) if isinstance(state, (tuple, list)) else 0


def _values(row: Any) -> list[str]:
    """The values in a row, in any order, since `concatenate` gives all rows the structure of the first."""
    return sorted(map(repr, flatten(row)[0]))


def _alike(a: Block | None, b: Block | None) -> bool:
    if a is None or b is None or a.n != b.n:
        return a is b
    return not any(repr(x) != repr(y) and difference(x, y) for x, y in zip(a.rows(), b.rows(), strict=True) if a.n)


def _shown(block: Block | None) -> str:
    return "the end" if block is None else show(block.rows(), 100) if block.n else "nothing yet"


def _told(taken: tuple[int, ...]) -> str:
    return " and ".join(map(str, taken))


__all__ = ["Foul", "check_random_access", "referee"]
