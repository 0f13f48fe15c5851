"""engine/cluster with clusters that come and go: a local one that starts by itself and ends with the iterator, however
that ends; one whose head node is restarted.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.engine.cluster.conftest import short
from tests.engine.watch import settled

pytest.importorskip("ray", reason="Ray has no wheel for this Python")

HEAD = """
    import sys, time
    from ray.cluster_utils import Cluster
    store = {"object_store_memory": 100 << 20, "gcs_server_port": int(sys.argv[1])}
    print(Cluster(True, head_node_args={"num_cpus": 2, "include_dashboard": False, **store}).address, flush=True)
    time.sleep(3600)
"""

CONSUMER = """
    import sys, time
    import numpy as np
    import feedline as fl
    from feedline.engine.cluster import pool

    pool.HEAD_SECONDS = float(sys.argv[2])

    def slow(x):
        time.sleep(0.01)
        return np.array([x])

    def rows(it):
        for batch in it:
            print(*batch[:, 0].tolist(), flush=True)

    ds = fl.Dataset.range(1000).map(slow, workers=fl.RayWorkers(address=sys.argv[1], count=2)).batch(5)
    with iter(ds) as it:
        try:
            rows(it)
        except fl.errors.UnavailableError as e:
            print("error:", e, flush=True)
        state = it.save()
    sys.stdin.readline()
    with iter(ds) as it:
        it.restore(state)
        rows(it)
"""

PROGRAM = """
    import time
    import numpy as np
    import feedline as fl

    def slow(x):
        time.sleep(0.01)
        return np.negative(x)

    def children():
        import psutil
        return [p for p in psutil.Process().children() if p.status() != "zombie"]

    if __name__ == "__main__":
        with iter(fl.Dataset.range(40).map(slow, workers=fl.RayWorkers(count=2))) as it:
            assert [int(x) for x in it] == [-x for x in range(40)]
            assert children()
        until = time.monotonic() + 60
        while children() and time.monotonic() < until:
            time.sleep(0.05)
        assert not children(), children()
        print("ended", flush=True)
        try:
            for x in fl.Dataset.range(1 << 40).map(slow, workers=fl.RayWorkers(count=1)):
                if x == -20:
                    print("running", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def test_a_local_cluster_ends_with_its_iterator_and_with_ctrl_c(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Path(short(tmp_path_factory), "l")  # where no other test's cluster is
    environment = os.environ | {"RAY_TMPDIR": str(folder)}
    (folder / "ray").mkdir(parents=True, exist_ok=True)
    (folder / "ray" / "ray_current_cluster").write_text("127.0.0.1:1")  # of one that has crashed
    start = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    with subprocess.Popen(start, stdout=subprocess.PIPE, text=True, env=environment) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ended\n"
        assert program.stdout.readline() == "running\n"
        family = psutil.Process(program.pid).children(recursive=True)
        assert family
        program.send_signal(signal.SIGINT)
        assert program.stdout.read() == "interrupted\n"
    assert program.returncode == 0
    assert not settled(lambda: [str(p) for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE], 60.0)


@pytest.mark.parametrize(("restarts", "seconds", "what"), [(False, 3, "has not answered"), (True, 12, "was restarted")])
def test_a_consumer_goes_on_when_there_is_a_head_node_again(
    restarts: bool, seconds: int, what: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    environment = os.environ | {"RAY_TMPDIR": f"{short(tmp_path_factory)}/h", "RAY_USAGE_STATS_ENABLED": "0"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, **pipes, text=True, env=environment)  # type: ignore[call-overload, no-any-return]

    def start_head() -> subprocess.Popen[str]:
        head = start(HEAD, str(port))
        assert head.stdout is not None
        assert head.stdout.readline().endswith(f":{port}\n")
        return head

    def kill(head: subprocess.Popen[str]) -> None:
        for process in [*psutil.Process(head.pid).children(recursive=True), psutil.Process(head.pid)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        head.communicate()

    head = start_head()
    try:
        with start(CONSUMER, f"127.0.0.1:{port}", str(seconds)) as consumer:
            assert consumer.stdin is not None and consumer.stdout is not None
            got = [int(x) for _ in range(10) for x in consumer.stdout.readline().split()]
            kill(head)
            if restarts:
                head = start_head()
            while not (line := consumer.stdout.readline()).startswith("error: the head node of the Ray cluster, "):
                assert line
                got += map(int, line.split())
            assert got == list(range(len(got))) and what in line and "go on from a checkpoint" in line
            if not restarts:
                head = start_head()
            consumer.stdin.write("\n")
            consumer.stdin.close()
            assert got + list(map(int, consumer.stdout.read().split())) == list(range(1000))
        assert consumer.returncode == 0
    finally:
        kill(head)
