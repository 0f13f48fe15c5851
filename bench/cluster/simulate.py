"""A model of many workers and consumers on a Ray cluster, and its check against measurements on this machine.

    python bench/cluster/simulate.py            the model, for 1 to 200 workers and 1 to 16 consumers
    python bench/cluster/simulate.py --check    also measures pipelines whose functions wait, so that many workers fit
                                                on two cores, and compares them with the model

Every consumer gives each worker up to two tasks, in the order of its batches, and takes results in that order. A worker
does its tasks one after the other. A consumer has one processor, which submits and receives, and one network link,
which its batches cross one after the other, unless they are made on its own node.
"""

from __future__ import annotations

import argparse
import heapq
import random
import time
from collections import deque
from typing import Any, NamedTuple

DEPTH = 2


class Costs(NamedTuple):
    """Seconds of a worker for a batch and how much that varies, of the consumer's processor to submit a task and to
    receive its result, of the link, and of the training step.
    """

    work: float
    vary: float = 0.2
    submit: float = 0.4e-3
    receive: float = 0.6e-3
    link: float = 0.0
    step: float = 0.0


class Found(NamedTuple):
    """Batches per second of all consumers, and the shares of time for which workers, processors and links are busy."""

    rate: float
    workers: float
    consumers: float
    links: float

    @property
    def limit(self) -> str:
        """What is busy most."""
        shares = {"workers": self.workers, "consumers": self.consumers, "links": self.links}
        return max(shares, key=shares.__getitem__)


def simulate(workers: int, consumers: int, costs: Costs, batches: int = 2000, seed: int = 0) -> Found:
    """Runs the model until every consumer has got so many batches."""
    rng = random.Random(seed)
    now = 0.0
    events: list[tuple[float, int, int, Any]] = []  # time, order, kind, what
    order = 0
    queues: list[deque[tuple[int, int]]] = [deque() for _ in range(workers)]
    running = [False] * workers
    given = [[0] * workers for _ in range(consumers)]  # tasks of each consumer that each worker has
    processor = [0.0] * consumers  # when it is free
    link = [0.0] * consumers
    submitted = [0] * consumers
    taken = [0] * consumers
    done: list[set[int]] = [set() for _ in range(consumers)]
    free_at = [0.0] * consumers  # when the training step ends
    busy = {"workers": 0.0, "consumers": 0.0, "links": 0.0}
    DONE, ARRIVED, WAKE = range(3)

    def at(when: float, kind: int, what: Any) -> None:
        nonlocal order
        order += 1
        heapq.heappush(events, (when, order, kind, what))

    def start(worker: int) -> None:
        if not running[worker] and queues[worker]:
            running[worker] = True
            took = max(0.1, rng.gauss(1.0, costs.vary)) * costs.work
            busy["workers"] += took
            at(now + took, DONE, (worker, *queues[worker].popleft()))

    def feed(consumer: int) -> None:
        """Submits tasks as long as there is room."""
        room = max(2 * workers, workers + 2)
        while submitted[consumer] < batches and submitted[consumer] - taken[consumer] < room:
            worker = min(range(workers), key=lambda w: (given[consumer][w], len(queues[w]) + running[w]))
            if given[consumer][worker] >= DEPTH:
                return
            processor[consumer] = max(now, processor[consumer]) + costs.submit
            busy["consumers"] += costs.submit
            given[consumer][worker] += 1
            queues[worker].append((consumer, submitted[consumer]))
            submitted[consumer] += 1
            start(worker)

    def take(consumer: int) -> None:
        """Takes results in order, one for each training step."""
        while taken[consumer] in done[consumer] and now >= free_at[consumer]:
            done[consumer].remove(taken[consumer])
            taken[consumer] += 1
            free_at[consumer] = now + costs.step
            if costs.step:
                at(free_at[consumer], WAKE, consumer)

    for consumer in range(consumers):
        feed(consumer)
    while events:
        now, _, kind, what = heapq.heappop(events)
        if kind == DONE:
            worker, consumer, number = what
            running[worker] = False
            given[consumer][worker] -= 1
            start(worker)
            link[consumer] = max(now, link[consumer]) + costs.link
            busy["links"] += costs.link
            processor[consumer] = max(link[consumer], processor[consumer]) + costs.receive
            busy["consumers"] += costs.receive
            at(processor[consumer], ARRIVED, (consumer, number))
        elif kind == ARRIVED:
            consumer, number = what
            done[consumer].add(number)
        else:
            consumer = what
        take(consumer)
        feed(consumer)
    total = consumers * batches
    return Found(
        total / now, busy["workers"] / (workers * now), busy["consumers"] / (consumers * now),
        busy["links"] / (consumers * now),
    )


def measure(workers: int, wait: float, batches: int) -> float:
    """Batches per second of a pipeline whose function waits."""
    import numpy as np

    import feedline as fl

    def waits(x: Any) -> Any:
        time.sleep(wait / 8)
        return np.full(2048, x, np.float32)

    pool = fl.RayWorkers(count=workers, num_cpus=0)
    ds = fl.Dataset.range(8 * (batches + 4 * workers)).map(waits, workers=pool).batch(8)
    with iter(ds) as it:
        for _ in range(4 * workers):
            next(it)
        began = time.perf_counter()
        for _ in range(batches):
            next(it)
        return batches / (time.perf_counter() - began)


def check() -> None:
    """Compares the model with measurements."""
    import ray

    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
    print("workers  wait   measured      model    model / measured")
    for workers, wait in ((1, 0.02), (2, 0.02), (4, 0.05), (8, 0.05), (8, 0.1)):
        found = measure(workers, wait, 40 * workers)
        model = simulate(workers, 1, Costs(wait, 0.02), 40 * workers).rate
        print(f"{workers:7} {wait * 1e3:4.0f} ms {found:7.1f}/s {model:8.1f}/s    {model / found:.2f}", flush=True)
    ray.shutdown()


def main() -> None:
    """Prints the model's results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="also compares the model with measurements")
    parser.add_argument("--work", type=float, default=150.0, help="milliseconds of a worker for a batch")
    parser.add_argument("--batch", type=float, default=9.6, help="megabytes of a batch")
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s of a consumer's network")
    given = parser.parse_args()
    costs = Costs(given.work / 1e3, link=given.batch * 8e6 / (given.network * 1e9))
    print("workers  consumers  batches/s   of each   workers busy  links busy  processors busy   limited by")
    for workers in (10, 50, 100, 200):
        for consumers in (1, 4, 16):
            found = simulate(workers, consumers, costs)
            print(
                f"{workers:7} {consumers:10} {found.rate:10.0f} {found.rate / consumers:9.0f} {found.workers:13.0%}"
                f" {found.links:11.0%} {found.consumers:16.0%}   {found.limit}"
            )
    if given.check:
        check()


if __name__ == "__main__":
    main()
