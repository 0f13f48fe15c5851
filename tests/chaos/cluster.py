"""Kills and stops workers of a Ray cluster, kills managers of named pools, removes and adds nodes, at random moments,
and counts the records: the second part of `make chaos`.

    --seconds 600       duration
    --rounds 1000       maximum number of rounds
    --seed 0            seed of the first round; a failure reports its seed

A round is an epoch over the records of some files, through a pipeline drawn by chance, on a cluster of two or three
nodes on this machine. Somewhere it is saved, and another iterator goes on. Every record must come exactly once, in
order if that is promised. At the end, no actor may be left.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.engine.watch import actors, settled  # noqa: E402

import feedline as fl  # noqa: E402

RECORDS, FILES = 600, 3
PATIENCE_S = 60.0
FAULTS = {
    "kill": signal.SIGKILL, "end": signal.SIGTERM, "stop": signal.SIGSTOP, "node": None, "nothing": None,
}


class Nodes:
    """A cluster on this machine: a head, on which the consumer is, and one or two more nodes."""

    def __init__(self) -> None:
        import ray
        from ray.cluster_utils import Cluster

        store = 100 << 20
        head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": store}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.more = {"num_cpus": 2, "object_store_memory": store}
        self.nodes = [self.cluster.add_node(**self.more) for _ in range(2)]
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")

    def replace_one(self, rng: random.Random) -> None:
        """Removes a node without notice, and adds another."""
        node = self.nodes.pop(rng.randrange(len(self.nodes)))
        self.cluster.remove_node(node, allow_graceful=False)
        self.nodes.append(self.cluster.add_node(**self.more))

    def close(self) -> None:
        """Ends all nodes."""
        import ray

        ray.shutdown()
        with suppress(ValueError):
            self.cluster.shutdown()


class Storm:
    """Faults at random moments, in a thread; nodes are replaced by the main one (`in_turn`), as Ray wants it."""

    def __init__(self, nodes: Nodes, rng: random.Random) -> None:
        self.nodes, self.rng = nodes, rng
        self.done: Counter[str] = Counter()
        self.over, self.wanted = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._inject_faults)

    def __enter__(self) -> Storm:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def in_turn(self) -> None:
        """Replaces a node, if that is to be done."""
        if self.wanted.is_set():
            self.wanted.clear()
            self.nodes.replace_one(self.rng)

    def _inject_faults(self) -> None:
        for _ in range(self.rng.randrange(1, 6)):
            if self.over.wait(self.rng.expovariate(1 / 0.6)):
                return
            fault = self.rng.choice(("kill", *FAULTS))
            self.done[fault] += 1
            if fault == "node":
                self.wanted.set()
                continue
            found, sent = actors(), FAULTS[fault]
            if not found or sent is None:
                continue
            with suppress(psutil.NoSuchProcess):
                victim = self.rng.choice(found)
                manager = "PoolManager" in " ".join(victim.cmdline())  # is not replaced for being slow
                victim.send_signal(signal.SIGKILL if manager else sent)


def number(record: Any) -> Any:
    """The number of a record."""
    return np.int64(int(record[:6]))


def run_round(seed: int, files: list[str], nodes: Nodes) -> Counter[str]:
    """One epoch under faults. Raises `AssertionError` if a record is lost, repeated, or out of order."""
    rng = random.Random(seed)
    ordered = rng.random() < 0.7
    wait = rng.choice((0.001, 0.004, 0.01))
    name = rng.choice((None, None, "chaos"))  # a named pool has a manager, which is killed as well
    workers = fl.RayWorkers(count=rng.randrange(2, 5), num_cpus=0.5, slow_after=rng.choice((0.5, 1.0)), name=name)
    shuffles, batch, twice = rng.random() < 0.5, rng.choice((1, 7, 16)), rng.random() < 0.5

    def slow(x: Any) -> Any:
        time.sleep(wait)
        return np.array([x])

    def made(**more: Any) -> Any:
        ds = fl.TFRecordDataset(files)
        ds = ds.shuffle(50, seed=seed) if shuffles else ds
        ds = ds.map(number, deterministic=ordered, **more)
        ds = ds.map(slow, deterministic=ordered, **more) if twice else ds.map(np.atleast_1d)
        return ds.batch(batch)

    stop = rng.randrange(1, RECORDS // batch)
    got: list[int] = []
    with Storm(nodes, rng) as storm:
        with iter(made(workers=workers)) as it:
            for _ in range(stop):
                got += next(it)[:, 0].tolist()
                storm.in_turn()
            state = it.save()
        with iter(made(workers=workers)) as it:
            it.restore(state)
            for rows in it:
                got += rows[:, 0].tolist()
                storm.in_turn()
    assert sorted(got) == list(range(RECORDS)), f"round {seed}: {Counter(got) - Counter(range(RECORDS))} too many"
    if ordered:
        expect = [int(x) for rows in made() for x in rows[:, 0]]
        assert got == expect, f"round {seed}: out of order"
    return storm.done


def write_files(folder: Path) -> list[str]:
    """Numbered records in some files."""
    names, each = [str(folder / f"part-{i}") for i in range(FILES)], RECORDS // FILES
    for i, name in enumerate(names):
        with fl.io.TFRecordWriter(name) as writer:
            writer.write_many([b"%06d" % n + bytes(200) for n in range(i * each, (i + 1) * each)])
    return names


def main() -> int:
    """Runs rounds until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--rounds", type=int, default=1 << 30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")
    logging.getLogger("feedline").setLevel(logging.ERROR)
    nodes, done = Nodes(), Counter[str]()
    until, rounds = time.monotonic() + given.seconds, 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = write_files(Path(folder))
            while time.monotonic() < until and rounds < given.rounds:
                done += run_round(given.seed + rounds, files, nodes)
                rounds += 1
                print(f"{rounds} rounds survived; {dict(done)}", flush=True)
        left = settled(lambda: [str(p.pid) for p in actors()], PATIENCE_S)
        assert not left, f"actors left behind: {left}"
    finally:
        nodes.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
