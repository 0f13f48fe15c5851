"""Iterators over a dataset."""

from __future__ import annotations

import sys
import threading
from collections import abc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import length_hint
from time import monotonic, perf_counter
from typing import Any, ClassVar, Generic, TypeVar

from feedline.early import working
from feedline.engine import checkpoint, elastic, rollback
from feedline.engine import report as reports
from feedline.engine.context import Closing, ExecutionContext
from feedline.engine.input import pending_interrupt
from feedline.engine.recorder import SHORTEST
from feedline.engine.run import Cursor, Run
from feedline.engine.state_validation import damage_on_error
from feedline.errors import FailedPreconditionError, InvalidTypeError, OpError, OutOfRangeError
from feedline.kernels import interrupts
from feedline.kernels.threads import most as kernel_threads
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.interrupted import WorkersLost, from_outside
from feedline.plan.tracebacks import trimmed
from feedline.random.seeds import back_to, current_scope
from feedline.reports.measured import Report
from feedline.sharing import WITH_GIL
from feedline.structure.block import Objects
from feedline.structure.datasets import Datasets
from feedline.structure.nest import flatten, map_structure
from feedline.structure.optional import Optional
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import DatasetSpec, OptionalSpec, type_spec_from_value
from feedline.structure.values import spec_of_element

T = TypeVar("T")
S = TypeVar("S")

NEXT = "next"
"""The name of the loop's calls in a timeline."""


class Iterator(Generic[T]):
    """Iterates over the elements of a dataset, one at a time or in a loop.

    >>> it = iter(fl.Dataset.range(2))
    >>> next(it), it.get_next()
    (np.int64(0), np.int64(1))

    As a context manager, or with `close()`, it frees its resources at once; otherwise that happens when nothing refers
    to it any more.
    """

    calls_one_by_one: ClassVar[bool] = True
    """Whether functions at the end of the plan may be called without a block for their results."""

    def __init__(self, run: Run, spec: Callable[[], Any]) -> None:
        self._run = run
        self._context = run.context if run.context is not None else ExecutionContext()
        self._spec = spec
        self._lock = threading.RLock()
        self._closed = self._freed = False
        self._waited = self._first = 0.0
        self._ready = 0  # elements that have been made ready, in all
        self._restored = False
        self._rows: abc.Iterator[T] = iter(())
        interrupts.guard()
        with working.in_turn():
            run.start()
        self._use(Cursor(run))
        if self._context.settings.warm:
            run.warm()

    def _use(self, cursor: Cursor) -> None:
        if self.calls_one_by_one:
            cursor.call_one_by_one(self._lock)
        self._cursor = cursor
        self._rows = self._handed_out() if cursor.due is None else iter(())

    def __iter__(self) -> Iterator[T]:
        return self

    def __len__(self) -> int:
        """The number of elements to come, where that is known without counting them: for progress bars."""
        total = self._run.plan.cardinality()
        if total < 0 or self._restored:
            raise TypeError("the number of elements to come is not known")
        return max(0, total - self._ready + self._cursor.left)

    def __bool__(self) -> bool:
        return True

    def _next_of_many(self) -> T:
        """The next element; safe to call from several threads."""
        with self._lock:
            while self._filled():
                for row in self._rows:
                    return row
            raise StopIteration

    if WITH_GIL:  # without it, Python's list iterators may give the same row to two threads

        def __next__(self) -> T:
            while True:
                for row in self._rows:  # Python's own iterators give each row once
                    return row
                __tracebackhide__ = True
                if not self._filled():
                    raise StopIteration
    else:
        __next__ = _next_of_many

    def _filled(self) -> bool:
        """Makes sure that rows are ready; False at the end. Interrupts are raised before or after that and lose
        nothing: an error that came up meanwhile is raised by the next call.
        """
        __tracebackhide__ = True
        self._context.check()  # before the lock: in a child process its holder may not exist
        held, failed, found, scope, of_element = interrupts.hold(), None, False, current_scope(), False
        try:
            if not self._lock.acquire(blocking=False):
                self._wait_for_lock()
            try:
                found = self._refill()
                if pending_interrupt.interrupt is not None:
                    pending_interrupt.raise_pending()
            finally:
                self._lock.release()
        except BaseException as e:
            failed = e.error if isinstance(e, WorkersLost) else e
            of_element = failed is e and (isinstance(e, Exception) or not from_outside(e))
            back_to(scope)
            if not self._context.settings.full_tracebacks:
                failed = trimmed(failed)
        try:
            interrupts.release(held)
        except BaseException:
            if of_element:
                self._cursor.due, self._rows = failed, iter(())
            raise
        if failed is not None:
            try:
                raise failed
            finally:
                del failed  # it holds this frame
        return found

    def _wait_for_lock(self) -> None:
        """Waits until another thread releases the lock and takes it; an interrupt ends the wait."""
        got: list[bool] = []
        try:
            interrupts.call_into(got, self._lock.acquire)
        except BaseException:
            if got:
                self._lock.release()
            raise

    def _refill(self) -> bool:
        if self._closed and not self._freed:  # while a function was called
            self._free()
        self._check_open()
        if self._cursor.due is not None:
            error, self._cursor.due = self._cursor.due, None
            self._rows = self._handed_out()
            raise error
        if length_hint(self._cursor.rows):  # another thread has read the next block meanwhile
            return True
        began, before = perf_counter(), self._cursor.left
        limit = self._context.settings.kernel_threads
        token = None if limit is None else kernel_threads.set(limit)
        outer, working.ahead = working.ahead, False  # as `in_turn`, but for every element
        try:
            return self._cursor.refill() or self._ended()
        except Closing:
            self._check_open()
            raise SystemExit from None  # the program ends; this ends a user's thread silently
        finally:
            working.ahead = outer
            self._rows = self._handed_out()
            self._note(began, before)
            if token is not None:
                kernel_threads.reset(token)
            if self._closed:  # meanwhile, by a thread that stopped waiting
                self._free()

    def _note(self, began: float, before: int) -> None:
        """Counts the time since `began`, and the elements that are ready now, which were `before` then."""
        ended = perf_counter()
        self._waited += ended - began
        if not self._first:
            self._first = ended - began
        self._ready += self._cursor.left - before
        recorder = self._context.recorder
        if recorder is not None and ended - began >= SHORTEST:
            recorder.work(NEXT, began, ended)

    next = __next__

    def get_next(self) -> T:
        """The next element. Raises `OutOfRangeError` at the end.

        >>> it = iter(fl.Dataset.range(1))
        >>> it.get_next()
        np.int64(0)
        >>> it.get_next()
        Traceback (most recent call last):
        feedline.errors.OutOfRangeError: end of sequence: the dataset has no more elements
        """
        try:
            return self.__next__()
        except StopIteration:
            raise OutOfRangeError("end of sequence: the dataset has no more elements") from None

    def get_next_as_optional(self) -> Optional:
        """The next element as an `Optional`, which is empty at the end.

        >>> it = iter(fl.Dataset.range(1))
        >>> [it.get_next_as_optional().has_value() for _ in range(2)]
        [True, False]
        """
        try:
            value = self.__next__()
        except StopIteration:
            return Optional.empty(self.element_spec)
        try:
            return Optional(True, value, self.element_spec)
        except OpError:  # finding the spec reads the first elements, and those fail
            return Optional(True, value, spec_of_element(value))

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._spec()

    def report(self) -> Report:
        """How long each stage has worked and waited so far, and what AUTOTUNE has chosen, and why. Prints as a table.

        >>> with iter(fl.Dataset.range(100).map(str, num_parallel_calls=fl.AUTOTUNE)) as it:
        ...     _ = next(it)
        ...     report = it.report()
        >>> report.stages[0].key
        '2 map'

        `report.freeze(path)` writes the choices to a file, and `options.autotune.frozen = path` reads them from it.
        """
        called = self._cursor.called
        waited = self._waited + (0.0 if called is None else called.seconds())
        return reports.made(self._run, self._context, waited, self._first, self._ready - self._cursor.left)

    def save(self) -> bytes:
        """The iterator's position as bytes, from which `restore` continues.

        >>> it = fl.Dataset.range(5).as_numpy_iterator()
        >>> next(it), next(it)
        (np.int64(0), np.int64(1))
        >>> state = it.save()
        >>> other = fl.Dataset.range(5).as_numpy_iterator()
        >>> other.restore(state)
        >>> next(other)
        np.int64(2)

        Rows that wait in a buffer, such as a shuffle's, are saved as their locations in their files if they can be read
        again from there; `Dataset.explain` says if they cannot. Saving stops no background work.
        """
        return self._saved(checkpoint.dumps)

    def restore(self, state: object) -> None:
        """Continues from the saved position of an iterator over the same dataset, in this process or another one.

        `state` is the result of `save`, `get_state` or `state_dict`. The dataset must have the same steps, with the
        same arguments and functions; otherwise `FailedPreconditionError` says what differs. Settings that only affect
        how it is run may differ: prefetch, options, parallel calls and workers. So may the batch size, since no row of
        an incomplete batch has been handed out.

        >>> it = iter(fl.Dataset.range(100).batch(10))
        >>> _ = next(it)
        >>> other = iter(fl.Dataset.range(100).batch(3).prefetch(2))
        >>> other.restore(it.save())
        >>> next(other)
        array([10, 11, 12])

        Files that have been read in part must not have changed. A corrupt state raises `DataLossError`. On any error
        the iterator stays where it is. To continue despite differences, see `load_state_dict`.
        """
        self.load_state_dict(state)

    def state_dict(self) -> dict[str, Any]:
        """The iterator's position as a dict of plain values, which can be copied, pickled and written as JSON:
        PyTorch's form of `save`.

        >>> it = iter(fl.Dataset.range(5))
        >>> _ = next(it)
        >>> state = it.state_dict()
        >>> other = iter(fl.Dataset.range(5))
        >>> other.load_state_dict(state)
        >>> next(other)
        np.int64(1)
        """
        return self._saved(checkpoint.saved)

    @contextmanager
    def _held(self) -> Generator[None, None, None]:
        """Keeps other threads from using the iterator meanwhile. Interrupts are raised where waiting begins, or at the
        end.
        """
        self._context.check()
        held, scope = interrupts.hold(), current_scope()
        try:
            if not self._lock.acquire(blocking=False):
                self._wait_for_lock()
            try:
                self._check_open()
                with working.in_turn():
                    yield
            finally:
                self._lock.release()
        except BaseException:
            back_to(scope)
            raise
        finally:
            interrupts.release(held)

    def _saved(self, form: Callable[[Cursor], S]) -> S:
        with self._held():
            try:
                return form(self._cursor)
            except Closing:
                self._check_open()
                raise SystemExit from None
            finally:
                if self._closed:
                    self._free()

    def load_state_dict(self, state_dict: object, strict: bool = True) -> None:
        """The same as `restore`. With `strict=False` it continues from the same position with the current arguments,
        functions and files, whatever they were before, as long as the steps are the same.

        >>> it = iter(fl.Dataset.range(6).map(lambda x: x + 1))
        >>> _ = next(it)
        >>> other = iter(fl.Dataset.range(6).map(lambda x: x * 10))
        >>> other.load_state_dict(it.state_dict(), strict=False)
        >>> next(other)
        np.int64(10)

        A list with the states of all iterators over `shard(n, 0)` to `shard(n, n - 1)` of one dataset is resharded:
        this iterator takes its own shard of what is left, so that another number of workers can continue. Every element
        that has not been handed out is handed out once.

        >>> def make(n, i):
        ...     return iter(fl.TextLineDataset(path).shard(n, i))
        >>> import tempfile
        >>> path = f"{tempfile.mkdtemp()}/lines"
        >>> fl.io.write_file(path, "\\n".join("abcdefg"))
        >>> old = [make(2, i) for i in range(2)]
        >>> [next(it) for it in old]
        [b'a', b'b']
        >>> new = [make(3, i) for i in range(3)]
        >>> for it in new:
        ...     it.load_state_dict([o.state_dict() for o in old])
        >>> [list(it) for it in new]
        [[b'c', b'f'], [b'd', b'g'], [b'e']]

        The shard may be over elements, before or after shuffles, or over file names. The saved iterators may be at any
        position, including the start and the end, but all in the same epoch. The shard may be followed by map, filter,
        shuffle, batch, unbatch, windows that do not overlap, repeat, prefetch, files, interleave and flat_map; their
        buffered elements are redistributed, so the order changes. Other steps that have begun, such as take and cache,
        raise `FailedPreconditionError`, and so do shuffles without a seed and steps below the shard that keep no order.
        """
        with self._held():
            load: Any = elastic.loads if isinstance(state_dict, (list, tuple)) else checkpoint.loads
            with damage_on_error(), rollback.kept(self._run.plan):
                cursor = load(state_dict, self._run.duplicate(), strict)
            self._run.close()
            self._run = cursor.run
            self._use(cursor)
            self._restored = True

    def get_state(self) -> bytes:
        """The same as `save`, under Grain's name."""
        return self.save()

    def set_state(self, state: object) -> None:
        """The same as `restore`, under Grain's name."""
        self.restore(state)

    def start_prefetch(self) -> None:
        """Starts the steps that work in the background, such as prefetch, if the dataset has any. Named as in Grain,
        whose checkpoint handler calls it after a restore.

        >>> it = iter(fl.Dataset.range(3).prefetch(2))
        >>> it.start_prefetch()
        >>> next(it)
        np.int64(0)
        """
        with self._held():
            self._run.warm()

    def close(self) -> None:
        """Frees the iterator's files, buffers, threads and processes. A later `next` raises `FailedPreconditionError`;
        so does one that waits in another thread.

        >>> it = iter(fl.Dataset.range(5))
        >>> it.close()
        >>> next(it)
        Traceback (most recent call last):
        feedline.errors.FailedPreconditionError: the iterator is closed; make a new one with iter(dataset)
        """
        if self._freed:  # otherwise an earlier close may have been interrupted
            return
        self._closed = True
        if self._context.lost:
            return
        self._context.cancel()
        # A reader in another thread returns now; one that runs a user's function frees everything when that returns.
        if self._lock.acquire(timeout=max(0.0, self._context.until - monotonic())):
            try:
                self._free()
            finally:
                self._lock.release()

    def _free(self) -> None:
        self._rows = iter(())
        self._run.close()
        self._context.close()
        self._freed = True

    def _handed_out(self) -> abc.Iterator[T]:
        """The rows of the cursor's block, in the form that users get."""
        return self._cursor.rows

    def _ended(self) -> bool:
        self._check_open()
        return False

    def _check_open(self) -> None:
        if self._closed:
            raise FailedPreconditionError("the iterator is closed; make a new one with iter(dataset)")

    def __enter__(self) -> Iterator[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter exit everything has been closed already, and modules that this needs may be gone.
        if "_rows" in self.__dict__ and not ending():
            self.close()

    def __repr__(self) -> str:
        return f"<fl.Iterator over {self._run.plan.op}{' (closed)' if self._closed else ''}>"


class NumpyIterator(Iterator[T]):
    """The iterator of `as_numpy_iterator`: its elements hold NumPy types only.

    >>> it = fl.Dataset.range(2).as_numpy_iterator()
    >>> it.next(), isinstance(it, fl.NumpyIterator)
    (np.int64(0), True)
    """

    def _handed_out(self) -> abc.Iterator[T]:
        block, called = self._cursor.block, self._cursor.called
        if called is not None and self._cursor.rows is called:
            return self._cursor.rows if called.dense else map(_numpy_element, self._cursor.rows)
        if block is None or not any(isinstance(column, Objects) for column in block.columns):
            return self._cursor.rows
        return map(_numpy_element, self._cursor.rows)


def check_numpy(spec: object) -> None:
    """Raises for elements that NumPy has no type for."""
    for leaf in flatten(spec)[0]:
        if isinstance(leaf, (DatasetSpec, OptionalSpec)):
            raise InvalidTypeError(f"as_numpy_iterator: NumPy has no type for a {leaf!r}; use iter(dataset) instead")


def _numpy_element(element: object) -> Any:
    return map_structure(_numpy_leaf, element)


def _numpy_leaf(leaf: object) -> Any:
    if isinstance(leaf, RaggedTensor):
        return leaf.numpy()
    if isinstance(leaf, SparseTensor):
        return leaf.to_dense(validate_indices=False)
    if isinstance(leaf, (DatasetBase, Datasets, Optional)):
        check_numpy(type_spec_from_value(leaf))
    return leaf
