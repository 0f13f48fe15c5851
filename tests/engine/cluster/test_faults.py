"""engine/cluster: every element comes once, in order, whatever happens to workers, nodes and the consumer."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.cluster.conftest import QUIET, short, until_ready
from tests.engine.watch import actors, settled

import feedline as fl
from feedline.engine.cluster.pool import MOST_FALSE_STARTS, WorkerPool
from feedline.engine.cluster.scaling import Scaling
from feedline.engine.cluster.shared_actors import SharedActors
from feedline.engine.cluster.workers import pools

ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python")

TWO = fl.RayWorkers(count=2, num_cpus=0.5, slow_after=0.7)
"""The workers of most tests. They leave room for others, on one node too: they may all be on one of two."""
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of two nodes: the head, on which the consumer is, and one more."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_TMPDIR", short(tmp_path_factory))
        store = {"object_store_memory": 100 << 20}
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, **store})
        made.more = {"num_cpus": 2, **store}
        made.first = made.add_node(**made.more)
        ray.init(address=made.address, **QUIET)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "feedline")


@pytest.fixture(scope="module", autouse=True)
def _kept(nodes: Any) -> Iterator[None]:
    """Keeps the workers for the next test."""
    with iter(fl.Dataset.range(1 << 40).map(lambda x: np.negative(x), workers=TWO)) as keeper:
        next(keeper)
        next(keeper)
        until_ready(keeper)
        yield
    assert not settled(lambda: list(map(str, actors())), PATIENCE_S)


def slowly(x: Any) -> Any:
    time.sleep(0.01)
    return np.array([x, os.getpid()])


def number(record: Any) -> Any:
    return np.int64(int(record[:6]))


# Processes.


CONSUMER = """
    import os, pickle, sys, time
    import numpy as np, ray
    import feedline as fl
    address, name, part, state = sys.argv[1:]
    ray.init(address=address, log_to_driver=False, logging_level="error")

    def slowly(x):
        time.sleep(0.01)
        return np.array([x, os.getpid()])

    pool = fl.RayWorkers(count=2, num_cpus=0.5, name=name)
    ds = fl.Dataset.range(100_000).shard(2, int(part)).map(slowly, workers=pool).batch(10)
    it = iter(ds)
    if os.path.exists(state):
        it.restore(open(state, "rb").read())
    for i in range(8):
        print(*next(it).ravel().tolist(), flush=True)
        with open(state + "~", "wb") as file:
            file.write(it.save())
        os.replace(state + "~", state)
    if sys.argv[2] == "endless":
        time.sleep(3600)
    it.close()
"""


def test_processes_share_a_pool_by_its_name_and_one_that_is_killed_goes_on(nodes: Any, tmp_path: Path) -> None:
    code = textwrap.dedent(CONSUMER)

    def start(part: int) -> subprocess.Popen[str]:
        arguments = [nodes.address, "shared", str(part), str(tmp_path / f"state-{part}")]
        return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)

    def rows(text: str) -> list[list[int]]:
        return np.array(text.split(), np.int64).reshape(-1, 2).tolist()

    both = [start(0), start(1)]
    assert both[0].stdout is not None and both[1].stdout is not None
    first = both[0].stdout.readline()
    both[0].kill()  # after a checkpoint, or not quite
    first += both[0].communicate()[0]
    others = both[1].communicate(timeout=120)[0]
    done = len(rows(first)) // 10 * 10
    again = rows(start(0).communicate(timeout=120)[0])
    assert [x for x, _ in rows(others)] == list(range(1, 161, 2))
    begins = again[0][0] // 2
    assert begins in (done - 10, done) and [x for x, _ in again] == list(range(2 * begins, 2 * begins + 160, 2))
    assert {p for _, p in rows(first)[1:done]} & {p for _, p in rows(others)[1:]}  # the same workers


def test_the_manager_of_a_shared_pool_is_killed_and_its_workers_with_it(caplog: pytest.LogCaptureFixture) -> None:
    def managers() -> set[Any]:
        return {a for a in actors() if "PoolManager" in " ".join(a.cmdline())}

    got, others = [], managers()  # that of the last test waits for a consumer that was killed
    shared = fl.RayWorkers(count=2, num_cpus=0.5, name="managed")
    with caplog.at_level(logging.WARNING, "feedline"), iter(fl.Dataset.range(300).map(slowly, workers=shared)) as it:
        for row in it:
            got.append(int(row[0]))
            if len(got) == 50:
                until_ready(it)
                (manager,) = managers() - others
                manager.kill()
    assert got == list(range(300))
    replaced = [r.getMessage().partition(" on node")[0] for r in caplog.records if "is replaced" in r.getMessage()]
    assert len(replaced) == len(set(replaced)) <= 2


def test_the_manager_has_the_environment_of_its_workers() -> None:
    """Feedline itself may be part of it. An environment that cannot be had is an error at once."""

    class Ray:
        exceptions, given = ray.exceptions, {}  # type: ignore[var-annotated]

        def remote(self, *_: Any) -> Any:
            return self

        def options(self, **given: Any) -> Any:
            self.given.update(given)
            return self

        def get(self, *_: Any, **__: Any) -> Any:
            raise ray.exceptions.RuntimeEnvSetupError("no pip")

        join = property(lambda self: self)

    pool = SharedActors(Ray(), fl.RayWorkers(name="a", runtime_env={"pip": ["feedline"]}), Scaling((1, 1)))
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"could not be started: [\s\S]*no pip"):
        pool.heartbeat()
    assert Ray.given["runtime_env"] == {"pip": ["feedline"]}


# Workers and nodes.


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killed_workers_are_replaced_and_nothing_is_lost(how: signal.Signals, records: list[str]) -> None:
    def read(record: Any) -> Any:
        time.sleep(0.01)
        return number(record)

    ds = fl.TFRecordDataset(records).map(read, workers=TWO).batch(5)
    got: list[int] = []
    with iter(ds) as it:
        for i, batch in enumerate(it):
            got += [int(x) for x in batch]
            if i in (1, 8, 15):
                actors()[0].send_signal(how)  # Ray's answer to SIGTERM, as of a node that ends, is a SystemExit
    assert got == list(range(120))


def test_a_worker_that_is_killed_for_its_memory_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's memory monitor kills workers too, and then their tasks have an error of their own."""
    answered = WorkerPool._answered

    def out_of_memory(pool: WorkerPool, attempt: Any, future: Any) -> None:
        if isinstance(future.exception(), ray.exceptions.RayActorError):
            future = Future()
            future.set_exception(ray.exceptions.OutOfMemoryError("killed, since the node was running low on memory"))
        answered(pool, attempt, future)

    monkeypatch.setattr(WorkerPool, "_answered", out_of_memory)
    got: list[int] = []
    with iter(fl.Dataset.range(120).map(slowly, workers=TWO).batch(5)) as it:
        for i, batch in enumerate(it):
            got += batch[:, 0].tolist()
            if i in (1, 12):
                actors()[0].kill()
    assert got == list(range(120))


def test_a_call_that_kills_every_worker_is_reported_and_the_others_go_on() -> None:
    here = os.getpid()

    def deadly(x: Any) -> Any:
        if x == 11 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.negative(x)

    got, errors = [], []
    with iter(fl.Dataset.range(30).map(deadly, workers=TWO)) as it:
        while True:
            try:
                got.append(-int(next(it)))
            except StopIteration:
                break
            except fl.errors.AbortedError as e:
                errors.append(str(e))
    assert got == [x for x in range(30) if x != 11]
    assert len(errors) == 1 and "element 11" in errors[0] and "every worker that made this call died" in errors[0]


def test_a_call_that_hangs_in_one_worker_is_made_by_another(tmp_path: Path) -> None:
    def hangs_once(x: Any) -> Any:
        if x == 40:
            try:
                (tmp_path / "hung").touch(exist_ok=False)
            except FileExistsError:
                return x * 2
            time.sleep(3600)
        time.sleep(0.002)
        return x * 2

    began = time.monotonic()
    got = [int(x) for x in fl.Dataset.range(200).map(hangs_once, workers=TWO)]
    assert got == list(range(0, 400, 2)) and (tmp_path / "hung").exists() and time.monotonic() - began < 60


def test_what_is_slow_is_known_for_each_step() -> None:
    """Steps share workers. One whose calls take long by nature does not look as if they hung beside a quick one."""

    def slow(x: Any) -> Any:
        time.sleep(0.6)
        return np.negative(x)

    pool = fl.RayWorkers(count=2, num_cpus=0.5, slow_after=0.2)
    quick = iter(fl.Dataset.range(1 << 40).map(lambda x: np.negative(x), workers=pool))
    with quick, iter(fl.Dataset.range(8).map(slow, workers=pool).batch(1)) as it:
        assert [int(next(quick)) for _ in range(200)] == [-x for x in range(200)]
        assert [int(x[0]) for x in it] == [-x for x in range(8)]
        (step,) = (s for s in it.report().steps if s.key == "2 map")
        assert [w.number for w in step.workers] == [1, 2]


def test_a_call_that_takes_longer_than_allowed() -> None:
    def hangs(x: Any) -> Any:
        if x == 5:
            time.sleep(3600)
        return np.negative(x)

    options = fl.Options()
    options.threading.call_timeout = 1.0
    got, errors = [], []
    with iter(fl.Dataset.range(12).map(hangs, num_parallel_calls=2, workers=TWO).with_options(options)) as it:
        while True:
            try:
                got.append(-int(next(it)))
            except StopIteration:
                break
            except fl.errors.DeadlineExceededError as e:
                errors.append(str(e))
    assert got == [x for x in range(12) if x != 5] and len(errors) == 1 and "its worker was killed" in errors[0]


class SlowToLoad:
    """What a function refers to: loading it in a worker takes a while, as imports do."""

    def __reduce__(self) -> Any:
        return _load_slowly, (os.getpid(),)


def _load_slowly(pid: int) -> Any:
    if os.getpid() != pid:
        time.sleep(3.0)
    return SlowToLoad()


def test_the_time_to_load_a_function_is_not_that_of_a_call() -> None:
    model = SlowToLoad()
    options = fl.Options()
    options.threading.call_timeout = 2.0
    ds = fl.Dataset.range(12).map(lambda x: np.array([x, id(model)]), num_parallel_calls=2, workers=TWO)
    assert [int(row[0]) for row in ds.with_options(options)] == list(range(12))


@pytest.mark.parametrize("order", [1, -1])
def test_a_call_waiting_behind_one_that_kills_its_worker_is_not_to_blame(order: int) -> None:
    """Of two tasks that a worker has, it dies in the first, whichever answer comes first."""
    pool, died = pools.by_key[TWO, None], Future[Any]()
    died.set_exception(ray.exceptions.ActorDiedError())
    got: list[int] = []
    sent: list[Any] = []
    with iter(fl.Dataset.range(1 << 40).map(slowly, workers=TWO)) as it:
        while not sent:
            got.append(int(next(it)[0]))
            with pool.lock:
                sent = next((m.sent[:] for m in pool.members.values() if len(m.sent) == 2), [])
                for attempt in sent[::order]:
                    pool._answered(attempt, died)
                assert [attempt.job.deaths for attempt in sent] == [1, 0][: len(sent)]
        got += [int(next(it)[0]) for _ in range(50)]
    assert got == list(range(len(got)))


def test_a_call_waiting_behind_those_of_other_processes_is_not_to_blame() -> None:
    """Two pools in place of two processes, which share a worker. Their calls fit into the time that is allowed, but not
    two one after the other. Later the worker dies while one of them waits for the other.
    """
    options = fl.Options()
    options.threading.call_timeout = 1.6
    both = [fl.RayWorkers(count=1, num_cpus=0.5, name="turns", slow_after=s) for s in (60.0, 70.0)]
    got: list[list[int]] = [[], []]

    def consume(i: int) -> None:
        def slow(x: Any) -> Any:
            time.sleep(0.9)
            return np.negative(x)

        ds = fl.Dataset.range(3).map(slow, num_parallel_calls=1, workers=both[i]).with_options(options)
        got[i] += [-int(x) for x in ds]

    threads = [threading.Thread(target=consume, args=[i]) for i in range(2)]
    for thread in threads:
        thread.start()
    died, found, until = Future[Any](), [], time.monotonic() + PATIENCE_S
    died.set_exception(ray.exceptions.ActorDiedError())
    while not found and time.monotonic() < until:
        time.sleep(0.01)
        pool = pools.by_key.get((both[0], None))
        if pool is not None:
            with pool.lock:
                found = [s for m in pool.members.values() for s in m.sent if s.waiting and s.job.task.number == 2]
                for attempt in found:
                    pool._answered(attempt, died)
                    assert attempt.job.deaths == 0 and attempt.job.lost == 1
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found and got == [list(range(3))] * 2


def test_a_node_is_removed_and_another_added(nodes: Any) -> None:
    """Workers on two nodes; then on one; then on two again."""
    three = fl.RayWorkers(count=3, num_cpus=0.3, slow_after=1.0)
    got: list[int] = []
    with iter(fl.Dataset.range(600).map(slowly, workers=three).batch(10)) as it:
        for i, batch in enumerate(it):
            got += batch[:, 0].tolist()
            if i == 10:
                nodes.remove_node(nodes.first, allow_graceful=False)
            if i == 30:
                nodes.first = nodes.add_node(**nodes.more)
    assert got == list(range(600))


WITHOUT_A_FILE = """
import os
opened = os.open
def found(path, *more, **options):
    if os.fsdecode(path).endswith("part-1"):
        raise FileNotFoundError(2, "No such file or directory", path)
    return opened(path, *more, **options)
os.open = found
"""


def test_a_file_that_one_node_does_not_have(
    nodes: Any, records: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_A_FILE)
    bare = nodes.add_node(num_cpus=1, resources={"bare": 2}, env_vars={"PYTHONPATH": str(tmp_path)})

    def read(record: Any) -> Any:
        time.sleep(0.01)
        return np.array([number(record), os.getpid()])

    def said() -> list[str]:
        return [r.getMessage() for r in caplog.records if "not their addresses" in r.getMessage()]

    try:
        for workers in (
            fl.RayWorkers(count=2, num_cpus=0, resources={"bare": 1}),  # none of its workers has it
            fl.RayWorkers(count=4, num_cpus=0.2),  # some have
        ):
            caplog.clear()
            ds = fl.TFRecordDataset(records).repeat().map(read, workers=workers).batch(40)
            got, until = np.empty((0, 2), np.int64), time.monotonic() + PATIENCE_S
            with caplog.at_level(logging.WARNING, "feedline"), iter(ds) as it:
                while len(got) < 120 or not said() or len(set(got[1:, 1].tolist())) < 2:  # as workers become ready
                    assert time.monotonic() < until
                    got = np.concatenate([got, next(it)])
            assert got[:, 0].tolist() == [i % 120 for i in range(len(got))]
            (text,) = said()
            assert "part-1" in text and text.startswith("node ")
    finally:
        nodes.remove_node(bare, allow_graceful=False)


# What a cluster may lack.


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("feedline 0.0.1", "import feedline\nfeedline.__version__ = '0.0.1'\n"),
        ("Python 3.5", "import feedline, platform\nplatform.python_version = lambda: '3.5.1'\n"),
    ],
)
def test_another_version_on_the_workers(what: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(code)
    other = fl.RayWorkers(count=1, runtime_env={"env_vars": {"PYTHONPATH": str(tmp_path)}})
    with pytest.raises(fl.errors.FailedPreconditionError, match=rf"on node .* has {what}"):
        list(fl.Dataset.range(9).map(lambda x: np.negative(x), workers=other))


DIES_AT_FIRST = """
import os
from feedline.engine.cluster import worker
known = worker.own_version
def own_version():
    for i in range({count}):
        try:
            os.close(os.open(f"{folder}/{{i}}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        os._exit(1)
    return known()
worker.own_version = own_version
"""


def test_a_node_that_dies_with_many_workers_that_it_starts(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DIES_AT_FIRST.format(count=MOST_FALSE_STARTS, folder=tmp_path))
    more = {"runtime_env": {"env_vars": {"PYTHONPATH": str(tmp_path)}}}
    many = fl.RayWorkers(count=MOST_FALSE_STARTS, num_cpus=0.1, **more)  # type: ignore[arg-type]
    got = [-int(x) for x in fl.Dataset.range(9).map(lambda x: np.negative(x), workers=many)]
    assert got == list(range(9)) and len(list(tmp_path.iterdir())) > MOST_FALSE_STARTS


def test_resources_that_no_node_has() -> None:
    greedy = fl.RayWorkers(count=1, resources={"teapot": 1}, start_timeout=1.0)
    with pytest.raises(fl.errors.UnavailableError, match=r"no worker could be placed for .*'teapot': 1"):
        list(fl.Dataset.range(9).map(lambda x: np.negative(x), workers=greedy))


def test_workers_that_are_not_ready_in_time() -> None:
    hasty = fl.RayWorkers(count=1, num_cpus=0, start_timeout=0.01)
    with pytest.raises(fl.errors.UnavailableError, match=r"no worker has been ready .* still starting.*start_timeout"):
        list(fl.Dataset.range(9).map(lambda x: np.negative(x), workers=hasty))


def test_an_address_nobody_answers(nodes: Any) -> None:
    code = "import feedline as fl; list(fl.Dataset.range(3).map(str, workers=fl.RayWorkers(address='127.0.0.1:1')))"
    said = _run(code).stderr
    assert "UnavailableError" in said and "no Ray cluster answers at 127.0.0.1:1, from RayWorkers.address" in said
    told = _run("import feedline as fl; list(fl.Dataset.range(3).map(str, workers='ray'))", RAY_ADDRESS="127.0.0.1:1")
    assert "UnavailableError" in told.stderr and "at 127.0.0.1:1, from RAY_ADDRESS" in told.stderr
    told = _run("import feedline as fl; list(fl.Dataset.range(3).map(str, workers='ray'))", RAY_ADDRESS="a..b:80")
    assert "UnavailableError" in told.stderr and "at a..b:80, from RAY_ADDRESS" in told.stderr
    other = fl.RayWorkers(address="127.0.0.1:1")
    with pytest.raises(fl.errors.FailedPreconditionError, match=f"is connected to the cluster at {nodes.address}"):
        list(fl.Dataset.range(9).map(lambda x: np.negative(x), workers=other))


def test_without_ray() -> None:
    code = """
        import sys
        sys.modules["ray"] = None
        import feedline as fl
        list(fl.Dataset.range(3).map(str, workers="ray"))
    """
    assert 'pip install "feedline[ray]"' in _run(code).stderr


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    given = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=given)


# Checkpoints, and steps that are sent together.


def test_checkpoints_of_shards_go_on_with_other_numbers_of_both(records: list[str]) -> None:
    def shard(n: int, i: int, **more: Any) -> Any:
        return fl.TFRecordDataset(records).shuffle(30, seed=1).shard(n, i).map(number, **more).batch(4)

    four = fl.RayWorkers(count=4, num_cpus=0.5)
    seen: Counter[int] = Counter()
    states = []
    for i, batches in enumerate((3, 5)):
        with iter(shard(2, i, workers=four)) as it:
            for _ in range(batches):
                seen.update(int(x) for x in next(it))
            states.append(it.state_dict())
    assert all(len(str(state)) < 40_000 for state in states)
    for consumers, more in ((1, {"workers": TWO}), (3, {"workers": TWO}), (2, {}), (1, {"workers": "process"})):
        left = Counter(seen)
        for i in range(consumers):
            with iter(shard(consumers, i, **more)) as it:
                it.load_state_dict(states)
                left.update(int(x) for batch in it for x in batch)
        assert left == Counter(range(120)), (consumers, more)


def test_steps_sent_together_give_what_they_give_here(records: list[str]) -> None:
    def noisy(x: Any) -> Any:
        return x * 100 + fl.random.element_rng(seed=2).integers(100)

    def pid(x: Any) -> Any:
        return np.array([x, os.getpid()])

    def again(pair: Any) -> Any:
        return np.array([*pair, os.getpid()])

    def made() -> Any:
        return fl.TFRecordDataset(records).skip(3).map(number).map(noisy).map(pid).map(again)

    def kept(row: Any) -> Any:
        return row[0] % 3 != 1

    def batched() -> Any:
        return made().batch(7)

    def filtered() -> Any:
        return made().filter(kept).map(lambda row: row).batch(5)

    for make in (batched, filtered):
        here = [batch[:, 0].tolist() for batch in make()]
        with iter(make().distribute(TWO)) as it:
            got = [next(it) for _ in range(5)]
            state = it.save()
            got += list(it)
        assert [batch[:, 0].tolist() for batch in got] == here
        rows = np.concatenate(got)[1:]
        assert (rows[:, 1] == rows[:, 2]).all() and os.getpid() not in rows[:, 1]  # one worker has made both
        for other in (make(), make().distribute(TWO)):
            with iter(other) as it:
                it.restore(state)
                assert [batch[:, 0].tolist() for batch in it] == here[5:]


def test_errors_of_steps_sent_together() -> None:
    def first(x: Any) -> Any:
        if x == 9:
            raise ValueError("nine")
        return np.negative(x)

    def second(x: Any) -> Any:
        if x == -4:
            raise KeyError("four")
        return np.abs(x)

    got, errors = [], []
    with iter(fl.Dataset.range(20).map(first).map(second).distribute(TWO)) as it:
        while True:
            try:
                got.append(int(next(it)))
            except StopIteration:
                break
            except Exception as e:
                errors.append(str(e))
    assert got == [x for x in range(20) if x not in (4, 9)]
    assert "map at step 3 " in errors[0] and "'second') failed on element 4 (worker" in errors[0]
    assert "map at step 2 " in errors[1] and "'first') failed on element 9 (worker" in errors[1]


def test_states_and_numbers_after_errors_of_steps_sent_together() -> None:
    def first(x: Any) -> Any:
        if x in (7, 10, 31):
            raise ValueError("odd")
        return np.negative(x)

    def noisy(x: Any) -> Any:
        return x * 100 - fl.random.element_rng(seed=2).integers(100)

    def last(x: Any) -> Any:
        if -3500 < x <= -3400:
            raise KeyError("late")
        return np.abs(x)

    def made(**more: Any) -> Any:
        return fl.Dataset.range(40).map(first, **more).map(noisy, **more).map(last, **more).batch(3)

    def read(it: Any, most: int = 100) -> list[Any]:
        got: list[Any] = []
        while len(got) < most:
            try:
                got.append(next(it).tolist())
            except StopIteration:
                break
            except Exception as e:
                got.append(re.findall(r"step \d|element \d+", str(e))[:2])
        return got

    with iter(made()) as it:
        here = read(it)
    assert sum(isinstance(row[0], str) for row in here) == 4
    for stop in range(1, len(here)):
        with iter(made(workers=TWO)) as it:
            got = read(it, stop)
            state = it.save()
        for other in (made(), made(workers=TWO)):
            with iter(other) as it:
                it.restore(state)
                assert got + read(it) == here, stop
