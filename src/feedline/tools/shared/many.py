"""Work on many files at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from feedline.kernels.threads import processors

T = TypeVar("T")
R = TypeVar("R")


def each(items: Sequence[T], work: Callable[[T], R], stop: Callable[[], None] | None = None) -> Iterator[R]:
    """The results of `work` for each item, in order. Several are worked on at a time, a few ahead of the consumer. If
    the consumer leaves early, after Ctrl-C for example, `stop` makes work that has begun end.

    >>> from feedline.tools.shared.many import each
    >>> list(each([1, 2, 3], lambda n: n * n))
    [1, 4, 9]
    """
    threads = min(processors(), len(items))
    if threads <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads, "feedline-tool") as pool:
        waiting = iter(items)
        jobs = [pool.submit(work, item) for item in islice(waiting, 2 * threads)]
        try:
            while jobs:
                yield jobs.pop(0).result()
                jobs += [pool.submit(work, item) for item in islice(waiting, 1)]
        except BaseException:
            if stop is not None:
                stop()
            for job in jobs:
                job.cancel()
            raise


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items; a thread makes the next one while the last one is used."""
    with ThreadPoolExecutor(1, "feedline-tool") as pool:
        job = pool.submit(next, items, None)
        while (item := job.result()) is not None:
            job = pool.submit(next, items, None)
            yield item
