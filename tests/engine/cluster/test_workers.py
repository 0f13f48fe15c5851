"""engine/cluster: calls made on a Ray cluster give what they give here."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.engine.cluster.conftest import STORE, until_ready
from tests.engine.watch import actors, settled

import feedline as fl
from feedline.engine.cluster.session import cluster_id
from feedline.engine.cluster.workers import pools

pytest.importorskip("ray", reason="Ray has no wheel for this Python")

TWO = fl.RayWorkers(count=2, slow_after=1.0)
PATIENCE_S = 60.0


@pytest.fixture(scope="module", autouse=True)
def _kept(cluster: Any) -> Iterator[None]:
    """Keeps the workers for the next test."""
    with iter(fl.Dataset.range(1 << 40).map(lambda x: np.negative(x), workers=TWO)) as keeper:
        next(keeper)
        next(keeper)
        until_ready(keeper)
        yield
    assert not settled(lambda: list(map(str, actors())), PATIENCE_S)


def on_ray(ds: Any, f: Any, **more: Any) -> Any:
    return ds.map(f, workers=TWO, **more)


def ints(it: Any) -> list[int]:
    return [int(x) for x in it]


def number(record: Any) -> Any:
    return np.int64(int(record[:6]))


class Point(NamedTuple):
    x: Any
    y: Any


# Results.


def test_calls_are_made_elsewhere_and_order_kept() -> None:
    factor = 3

    def slow(x: Any) -> Any:
        time.sleep(0.002)
        return np.array([x * factor, os.getpid()])

    got = list(on_ray(fl.Dataset.range(200), slow))
    assert [int(x[0]) for x in got] == list(range(0, 600, 3))
    pids = {int(x[1]) for x in got[1:]}  # the first call tells what results look like
    assert os.getpid() not in pids and len(pids) == 2


def test_without_order_and_filter() -> None:
    ds = on_ray(fl.Dataset.range(100), lambda x: np.positive(x), deterministic=False)
    assert sorted(ints(ds)) == list(range(100))
    kept = fl.Dataset.range(100).filter(lambda x: bool(np.isin(x % 7, [0, 3])), workers=TWO)
    assert ints(kept) == [x for x in range(100) if x % 7 in (0, 3)]


def test_workers_stack_batches_that_belong_to_the_user() -> None:
    ds = on_ray(fl.Dataset.range(40), lambda x: (np.full((64, 64, 3), x, np.float32), x)).batch(16)
    got = list(ds)
    assert [g[0].shape[0] for g in got] == [16, 16, 8]
    assert [ints(g[1]) for g in got] == [list(range(16)), list(range(16, 32)), list(range(32, 40))]
    for images, labels in got:
        assert images.flags.writeable and (images[:, 0, 0, 0] == labels).all()
        images += 1.0
        assert (images[:, -1, -1, -1] == labels + 1.0).all()


def test_trainers_that_share_workers_get_the_same_bucket_in_each_step() -> None:
    """Coordinated reads, as in the guide; one trainer is left, and goes on from its checkpoint."""
    trainers, batch, bounds = 2, 3, [4, 8]
    lengths = np.random.default_rng(0).integers(1, 12, 120)
    texts = [b"%03d" % i + b"x" * int(n) for i, n in enumerate(lengths)]

    def bucket(text: Any) -> Any:
        return np.searchsorted(bounds, len(text) - 3, "right")

    def batches(key: Any, window: Any) -> Any:
        return window.batch(batch * trainers, drop_remainder=True).unbatch().batch(batch)

    def padded(rows: Any) -> Any:
        found = [np.frombuffer(row, np.uint8) for row in rows]
        longest = max(map(len, found))
        return np.stack([np.pad(row, (0, longest - len(row))) for row in found]), np.int64(os.getpid())

    def trainer(rank: int) -> Any:
        ds = fl.Dataset.from_tensor_slices(texts).shuffle(40, seed=1)
        ds = ds.group_by_window(bucket, batches, window_size=batch * trainers).shard(trainers, rank)
        return ds.map(padded, workers=fl.RayWorkers(count=2, num_cpus=0.5, name="buckets"))

    got: list[list[Any]] = []
    for rank in range(trainers):
        with iter(trainer(rank)) as it:
            first = [next(it) for _ in range(4)]
            state = it.save()
        with iter(trainer(rank)) as it:
            it.restore(state)
            got.append([*first, *it])
    seen = [row[:3].tobytes() for rows in got for found, _ in rows for row in found]
    assert len(got[0]) == len(got[1]) and len(set(seen)) == len(seen) > 120 - 3 * batch * trainers
    kinds = [[{int(bucket(row.tobytes().rstrip(b"\0"))) for row in found} for found, _ in rows] for rows in got]
    assert kinds[0] == kinds[1] and all(len(kind) == 1 for kind in kinds[0])
    assert os.getpid() not in {int(pid) for rows in got for _, pid in rows[1:]}


def test_elements_of_all_kinds() -> None:
    def change(e: Any) -> Any:
        rest = e["rest"][: e["n"]]
        return {"text": e["text"] + b"!", "point": Point(e["point"].x, e["point"].y * 2), "rest": rest}

    ds = fl.Dataset.from_tensor_slices({
        "text": ["a", "", "long" * 90_000],
        "point": Point([1, 2, 3], [1.5, 2.5, 3.5]),
        "rest": np.arange(12).reshape(3, 4),
        "n": [0, 1, 2],
    })
    got = list(on_ray(ds, change))
    assert [e["text"] for e in got] == [b"a!", b"!", b"long" * 90_000 + b"!"]
    assert [(type(e["point"]).__name__, float(e["point"].y)) for e in got] == [("Point", v) for v in (3.0, 5.0, 7.0)]
    assert [e["rest"].tolist() for e in got] == [[], [4], [8, 9]]


def test_records_shuffles_and_random_numbers_are_those_of_a_local_run(records: list[str]) -> None:
    def augmented(record: Any) -> Any:
        return number(record) * 1000 + fl.random.element_rng(seed=3).integers(1000)

    def pipeline(**more: Any) -> Any:
        ds = fl.TFRecordDataset(records).shuffle(50, seed=1).map(augmented, **more)
        return ds.batch(7).repeat(2)

    here, there = list(pipeline()), list(pipeline(workers=TWO))
    assert len(here) == len(there) == 36
    assert all((a == b).all() for a, b in zip(here, there, strict=True))


def test_functions_may_change_their_arguments() -> None:
    def zeroed(x: Any) -> Any:
        x[1:] = 0
        return x

    def rows() -> Any:
        for i in range(20):
            yield np.full(20_000, i)

    source = fl.Dataset.from_generator(rows, output_signature=fl.TensorSpec((20_000,), fl.int64))
    got = list(on_ray(source, zeroed))
    assert [(int(x[0]), int(x[1:].sum())) for x in got] == [(i, 0) for i in range(20)]


def test_vectorized_functions_go_too(records: list[str]) -> None:
    ds = fl.Dataset.range(1000).map(lambda x: x * 2, workers=TWO).batch(100)
    with iter(ds) as it:
        assert [ints(b) for b in it] == [list(range(200 * i, 200 * i + 200, 2)) for i in range(10)]
        step = next(s for s in it.report().steps if s.key == "2 map")
    assert step.how == "ray" and 999 <= sum(w.rows for w in step.workers) <= 1000 and len(step.workers) == 2
    assert all(w.host and w.pid for w in step.workers)


# Errors of the user.


def test_errors_name_the_row_and_the_worker_and_are_not_retried(records: list[str], tmp_path: Path) -> None:
    def parsed(record: Any) -> Any:
        found = number(record)
        if found == 57:
            (tmp_path / f"{time.monotonic_ns()}").touch()
            raise ValueError("no 57")
        return found

    got, errors = [], []
    with iter(on_ray(fl.TFRecordDataset(records), parsed)) as it:
        while True:
            try:
                got.append(int(next(it)))
            except StopIteration:
                break
            except fl.errors.OpError as e:
                errors.append(str(e))
                assert e.__cause__ is not None and 'raise ValueError("no 57")' in e.__cause__.__notes__[0]
    assert got == [x for x in range(120) if x != 57]
    (text,) = errors
    line = parsed.__code__.co_firstlineno
    for part in (f"(test_workers.py:{line} 'parsed') failed on element 57", "part-1, record 17, byte ", "no 57"):
        assert part in text
    assert re.search(r"; worker \d+, process \d+ on node ", text)
    assert len(list(tmp_path.iterdir())) == 1


def test_what_cannot_be_sent_is_named() -> None:
    lock = __import__("threading").Lock()
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"variable 'lock', a lock, cannot be pickled"):
        list(on_ray(fl.Dataset.range(5), lambda x: x if lock else -x))


def test_a_function_that_workers_cannot_load() -> None:
    class Picky:
        def __reduce__(self) -> Any:
            return _load_only_here, (os.getpid(),)

    picky = Picky()
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"cannot be loaded by worker .* on node .*not here"):
        list(on_ray(fl.Dataset.range(50), lambda x: np.array([x, id(picky)])))


def _load_only_here(pid: int) -> Any:
    if os.getpid() != pid:
        raise ImportError("not here")
    return pid


class OfTheWorker(Exception):
    """An error whose module only workers have."""

    def __reduce__(self) -> Any:
        return _load_elsewhere, (os.getpid(), str(self))


def _load_elsewhere(pid: int, text: str) -> Any:
    if os.getpid() != pid:
        raise ImportError("not here")
    return OfTheWorker(text)


def test_an_error_that_cannot_be_loaded_here_is_one_element_only() -> None:
    def picky(x: Any) -> Any:
        if x == 20:
            raise OfTheWorker("no 20")
        return np.negative(x)

    got, errors = [], []
    with iter(on_ray(fl.Dataset.range(40), picky)) as it:
        while True:
            try:
                got.append(-int(next(it)))
            except StopIteration:
                break
            except Exception as e:
                errors.append(str(e))
    assert got == [x for x in range(40) if x != 20]
    assert len(errors) == 1 and "element 20" in errors[0] and "OfTheWorker: no 20" in errors[0]


def test_arguments_are_checked() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match='"process", "ray" or an fl'):
        fl.Dataset.range(3).map(lambda x: x, workers="dask")  # type: ignore[arg-type]
    for bad in ({"count": 0}, {"count": (3, 2)}, {"num_cpus": -1}, {"slow_after": 0}, {"start_timeout": float("nan")}):
        with pytest.raises(fl.errors.InvalidArgumentError, match=f"RayWorkers: {next(iter(bad))} must be"):
            fl.RayWorkers(**bad)  # type: ignore[arg-type]
    for odd in ({"count": 2.5}, {"count": True}, {"address": 3}, {"name": ""}, {"resources": [1]}, {"num_cpus": "1"}):
        with pytest.raises(TypeError, match=f"RayWorkers: {next(iter(odd))} must be"):
            fl.RayWorkers(**odd)  # type: ignore[arg-type]
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"resources must not have 'CPU'.*num_cpus"):
        fl.RayWorkers(resources={"CPU": 1})
    assert repr(fl.RayWorkers(count=(2, 4), name="a")) == "RayWorkers(count=(2, 4), name='a')"


def test_resources_for_which_ray_has_names_of_its_own() -> None:
    large = fl.RayWorkers(count=1, num_cpus=0, resources={"memory": 1 << 20})
    assert ints(fl.Dataset.range(5).map(lambda x: np.negative(x), workers=large)) == [0, -1, -2, -3, -4]
    greedy = fl.RayWorkers(count=1, resources={"GPU": 1}, start_timeout=0.5)
    with pytest.raises(fl.errors.UnavailableError, match=r"no worker could be placed for .*'GPU': 1"):
        list(fl.Dataset.range(5).map(lambda x: np.negative(x), workers=greedy))


# Their number.


def test_the_number_of_workers_follows_the_consumers_wait() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.02)
        return np.negative(x)

    growing = fl.RayWorkers(count=(1, 3), num_cpus=0.5)
    with iter(fl.Dataset.range(1 << 30).map(slow, workers=growing)) as it:
        most, until = 0, time.monotonic() + PATIENCE_S
        while most < 3 and time.monotonic() < until:
            next(it)
            step = next(s for s in it.report().steps if s.key == "2 map")
            most = len(step.workers)
        assert most == 3
        fewest, until = most, time.monotonic() + PATIENCE_S
        while fewest > 1 and time.monotonic() < until:  # now the consumer is slow
            time.sleep(0.2)
            next(it)
            fewest = next(s for s in it.report().steps if s.key == "2 map").calls or 0
        assert fewest < 3


def test_a_worker_that_is_to_leave_ends_its_call_first() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.3)
        return np.negative(x)

    both = fl.RayWorkers(count=(1, 2), num_cpus=0.5)
    with iter(fl.Dataset.range(1 << 30).map(slow, workers=both)) as it:
        assert ints([next(it), next(it)]) == [0, -1]
        pool = pools.by_key[both, None]
        pool.scaling.wants = lambda *_: None
        pool._scale(2)
        until_ready(it)
        last, until = pool.members[max(pool.members)], time.monotonic() + PATIENCE_S
        expected = iter(range(2, 1 << 30))
        while not last.sent:
            assert -int(next(it)) == next(expected) and time.monotonic() < until
        pool._scale(1)
        assert last.leaving
        while len(pool.members) == 2:
            assert -int(next(it)) == next(expected) and time.monotonic() < until
        assert last.number not in pool.members and pool.scaling.count == 1


# The end.


def test_an_iterator_that_is_left_early_ends_its_tasks() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.05)
        return np.negative(x)

    for leave in ("close", "drop", "raise"):
        it = iter(on_ray(fl.Dataset.range(1000), slow))
        assert ints([next(it), next(it)]) == [0, -1]
        if leave == "close":
            it.close()
        elif leave == "raise":
            with pytest.raises(RuntimeError, match="loop"), it:
                raise RuntimeError("in the loop")
        del it
        gc.collect()
    assert ints(on_ray(fl.Dataset.range(30), lambda x: x + 1)) == list(range(1, 31))


def test_an_iterator_may_be_freed_in_any_thread() -> None:
    """Garbage may be collected in a thread that another one waits for with a lock, as while it starts the thread."""
    it = iter(on_ray(fl.Dataset.range(1000), lambda x: np.negative(x)))
    assert ints([next(it), next(it)]) == [0, -1]
    with pools.lock, pools.by_key[TWO, None].lock:
        thread = threading.Thread(target=it.close)
        thread.start()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_kept_batches_do_not_fill_the_store() -> None:
    """The user keeps more bytes than the object store has."""
    ds = on_ray(fl.Dataset.range(320), lambda x: np.full((1 << 18,), x, np.float32)).batch(8)
    got = list(ds)  # 40 batches of 8 MiB, and the store has 150
    assert [int(b[0, 0]) for b in got] == list(range(0, 320, 8))
    assert all((b == b[:, :1]).all() and b.flags.writeable for b in got)


def test_rows_that_are_sent_do_not_fill_the_store() -> None:
    """Rows without addresses: two tasks for each worker would take nearly all of it."""
    sent, pool, ended = [0], pools.by_key[TWO, None], threading.Event()

    def look() -> None:
        while not ended.wait(0.005):
            with pool.lock:
                jobs = {s.job for m in pool.members.values() for s in m.sent}
            sent.append(sum(job.task.block.nbytes for job in jobs))

    def rows() -> Any:
        for i in range(24):
            yield np.full(1 << 20, i)

    def slow(x: Any) -> Any:
        time.sleep(0.05)
        return np.sum(x)

    source = fl.Dataset.from_generator(rows, output_signature=fl.TensorSpec((1 << 20,), fl.int64))
    thread = threading.Thread(target=look)
    thread.start()
    try:
        assert [int(x) for batch in on_ray(source, slow).batch(4) for x in batch] == [i << 20 for i in range(24)]
    finally:
        ended.set()
        thread.join()
    assert (1 << 25) <= max(sent) <= STORE / 2


def test_an_object_store_that_others_have_filled(cluster: Any) -> None:
    """The program keeps nearly all of the store in use: those objects cannot be moved out of it."""
    piece = np.zeros(STORE // 8, np.uint8)
    refs = [cluster.put(piece) for _ in range(7)]
    views = [cluster.get(ref) for ref in refs]
    ds = on_ray(fl.Dataset.range(96), lambda x: np.full((1 << 18,), x, np.float32)).batch(8)
    for count, batch in enumerate(ds):
        assert batch[:, 0].astype(int).tolist() == list(range(8 * count, 8 * count + 8))
        assert (batch == batch[:, :1]).all() and batch.flags.writeable
    assert count == 11 and sum(map(len, views)) == 7 * len(piece)


def test_a_forked_child_says_that_it_cannot_use_ray() -> None:
    """As a DataLoader's processes are forked. It would wait for ever."""
    receive, send = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of forks beside threads
        child = os.fork()
    if not child:
        try:
            list(on_ray(fl.Dataset.range(5), lambda x: np.negative(x)))
        except fl.errors.FailedPreconditionError as e:
            os.write(send, str(e).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(receive, 1 << 12).decode()
    os.close(receive), os.close(send)
    assert "was forked from one that is connected to a Ray cluster" in said and "num_workers=0" in said
    assert ints(on_ray(fl.Dataset.range(5), lambda x: np.negative(x))) == [0, -1, -2, -3, -4]


def test_rays_dashboard_names_the_steps(cluster: Any) -> None:
    def named(x: Any) -> Any:
        return np.negative(x)

    assert ints(on_ray(fl.Dataset.range(5), named)) == [0, -1, -2, -3, -4]

    def missing() -> list[str]:
        told = {event["cat"] for event in cluster.timeline()}
        return sorted({"task::map at step 2 (named)", "task::load map at step 2 (named)"} - told)

    assert not settled(missing, PATIENCE_S)


def test_a_cluster_is_told_from_another(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a private name of Ray's. Without it only head nodes that are seen to be away count as restarted."""
    from ray import _raylet

    address = cluster.get_runtime_context().gcs_address
    known = cluster_id(address)
    assert len(known) == 56 and known == cluster_id(address)
    monkeypatch.delattr(_raylet, "GcsClient")
    assert cluster_id(address) == ""
