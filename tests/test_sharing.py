"""Values that are worked out once, and locks: with threads, garbage, and forks at the wrong moment."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
from tests.engine.test_programs import run_program

import feedline as fl
from feedline.engine.context import forced
from feedline.sharing import Guard, cached_property
from feedline.structure.buffer_pool import LARGE, BufferPool

PATIENCE_S = 20.0


class Slow:
    """Works its value out while others do, too."""

    def __init__(self) -> None:
        self.together = threading.Barrier(2, timeout=PATIENCE_S)

    @cached_property
    def value(self) -> object:
        """Some object."""
        self.together.wait()
        return object()


def test_threads_that_ask_at_once_get_the_same_value_and_wait_for_nobody() -> None:
    slow, got = Slow(), []
    threads = [threading.Thread(target=lambda: got.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(got) == 2 and got[0] is got[1] is slow.value
    assert Slow.value.__doc__ == "Some object."


def test_a_spec_that_takes_threads_which_need_specs() -> None:
    """The spec of a map is found by running its function: one that has a pipeline of its own, with threads, whose
    functions make datasets.
    """
    seen = set()

    def inner(y: Any) -> Any:
        seen.add(threading.current_thread())
        return np.int64(sum(int(b.sum()) for b in fl.Dataset.range(int(y) + 2).map(lambda v: v + 1).batch(2)))

    def outer(x: Any) -> Any:
        with forced("thread"), iter(fl.Dataset.range(8).map(inner, num_parallel_calls=2)) as it:
            return np.int64(x) + sum(int(y) for y in it)

    assert fl.Dataset.range(3).map(outer).element_spec == fl.TensorSpec([], fl.int64)
    assert len(seen) > 1


def test_garbage_that_ends_while_memory_is_handed_out() -> None:
    """An iterator that is collected frees memory, also where that happens while a thread is asking for some."""
    keeper = BufferPool()

    class Ends:
        def __del__(self) -> None:
            keeper.trim()

    class Asks(dict[int, Any]):
        def get(self, *arguments: Any) -> Any:
            gc.collect()
            return super().get(*arguments)

    keeper._by_size = Asks()
    kept = keeper.empty((LARGE,), np.dtype(np.uint8))
    cycle: list[Any] = [Ends()]
    cycle.append(cycle)
    del cycle
    other = keeper.empty((LARGE,), np.dtype(np.uint8))
    assert not np.shares_memory(kept, other) and keeper.held == 2 * LARGE
    del kept, other
    keeper.trim()
    assert keeper.held == 0


def test_a_guard_held_by_the_thread_that_forks_stays_held() -> None:
    guard = Guard()
    with guard:
        guard.open_in_child()
        other = threading.Thread(target=guard.__enter__, daemon=True)
        other.start()
        other.join(0.1)
        assert other.is_alive()
    other.join(PATIENCE_S)
    assert not other.is_alive()


def test_a_child_finds_locks_open_that_were_held_when_the_program_forked(tmp_path: Path) -> None:
    """All of the library's own: by its iterators' threads, in the middle of anything."""
    text = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
from feedline.sharing import _guards
name = sys.argv[0] + ".tfrecord"
with fl.io.TFRecordWriter(name) as writer:
    for i in range(20):
        writer.write(b"%02d" % i)
ds = fl.TFRecordDataset(name).global_shuffle(seed=1).map(lambda x: np.full(1 << 18, int(x))).batch(4).prefetch(2)
def read():
    return sorted(v for batch in ds for v in batch[:, 0].tolist())
assert read() == list(range(20))
held = threading.Event()
def hold():
    for guard in list(_guards):
        guard.__enter__()
    held.set()
    time.sleep(1000)
threading.Thread(target=hold, daemon=True).start()
held.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    os._exit(0 if read() == list(range(20)) else 1)
print(len(_guards) > 3, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
os._exit(0)
"""
    code, out, err = run_program(tmp_path, text)
    assert (code, out, err) == (0, "True 0\n", "")
