"""The connection of this process to a Ray cluster: an existing one, or a local one that is started here.

A connection that feedline has made ends a moment after the last pool of workers that uses it; one that the program has
made is left alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from feedline.engine.cluster.actors import RESOURCE_OPTIONS
from feedline.engine.context import forked
from feedline.errors import FailedPreconditionError, UnavailableError
from feedline.kernels.threads import processors
from feedline.plan.ray_workers import RayWorkers

IDLE_SECONDS = 1.0
"""Seconds for which a connection, or a pool of workers, waits for the next iterator."""
LONGEST_FOLDER = 38
"""Characters of a folder's name that leave room for the names of Ray's sockets in it, of at most 107 in all."""
ANSWER_SECONDS = 10.0
"""Seconds for a cluster's address to accept a connection."""
PROBE_SECONDS = 1.0
HEAD_SECONDS = 30.0
"""Seconds for which a head node may be unreachable. Ray ends the process after 60."""
TOKEN = "AuthenticationError"
"""The error of a cluster that wants a token, which Ray only names in the text of others."""

_log = logging.getLogger("feedline")


def import_ray(also: str = "ray.exceptions") -> Any:
    """The module `ray`, with a submodule imported. Raises an error that names the extra if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray

        import_module(also)
    except ImportError as e:
        raise FailedPreconditionError(
            f'workers="ray" needs the package ray ({e}); install it with: pip install "feedline[ray]"'
        ) from e
    return ray


class ClusterSession:
    """The connection, and how many pools use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.job = ""  # identifies the connection
        self.ours = False  # whether feedline has made the connection
        self.timer: threading.Timer | None = None
        self.head = HeadNode("")

    def join(self, workers: RayWorkers, most: int | None) -> Any:
        """Connects for a pool of at most `most` workers, and gives the module `ray`."""
        ray = import_ray()
        if forked.from_ray:
            raise FailedPreconditionError(
                "this process was forked from one that is connected to a Ray cluster, and the connection does not work "
                'here; start processes with "spawn" (DataLoader: multiprocessing_context="spawn"), or iterate in the '
                "parent: the calls are made by the workers anyway (DataLoader: num_workers=0)"
            )
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if not ray.is_initialized():
                self._connect(ray, workers, most)
                self.ours = True
            else:
                self._check_address(ray, workers.address)
            self.users += 1
            job = connection_id(ray)
            if self.job != job:
                reachable = not import_module("ray.util.client").ray.is_connected()  # else only by proxy
                self.job, self.head = job, HeadNode(ray.get_runtime_context().gcs_address if reachable else "")
        return ray

    def lasts(self, job: str) -> bool:
        """Whether a connection is still the one it was. Without one, Ray's functions would make another."""
        ray = import_ray()
        return bool(ray.is_initialized()) and connection_id(ray) == job

    def leave(self, at_once: bool = False) -> None:
        """Ends the connection if feedline has made it and no pool uses it: after `IDLE_SECONDS`, or at once."""
        with self.lock:
            self.users = max(0, self.users - 1)
            if self.users or not self.ours:
                return
            if at_once:
                self.end()
                return
            self.timer = threading.Timer(IDLE_SECONDS, self.end)
            self.timer.name, self.timer.daemon = "feedline-ray-idle", True
            self.timer.start()

    def hand_over(self) -> None:
        """Leaves a connection that feedline has made to the program, which uses Ray itself from now on."""
        with self.lock:
            self.ours = False
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    def end(self) -> None:
        """Ends the connection if no pool uses it."""
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if self.users or not self.ours:
                return
            self.ours = False
            with contextlib.suppress(Exception):  # the connection is not used again, whatever fails here
                import_ray().shutdown()

    def _connect(self, ray: Any, workers: RayWorkers, most: int | None) -> None:
        address = workers.address or os.environ.get("RAY_ADDRESS") or None
        if address is not None:
            must_answer(address, "RayWorkers.address" if workers.address else "RAY_ADDRESS")
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
        cpus = max(processors(), int(-(-(most or 0) * workers.num_cpus // 1)))
        local: dict[str, Any] = {"num_cpus": cpus, "include_dashboard": False, **_short_folder()}
        with _signal_kept():
            try:
                if address is not None:
                    ray.init(address=address, **quiet)
                    return
                found = None if last_cluster_answers() else "local"
                try:
                    ray.init(address=found, **quiet, **local, **_enough_for(workers, most or cpus))
                except ValueError:  # there is a cluster on this machine, which takes no such arguments
                    ray.init(**quiet)
            except Exception as e:
                if address and wants_token(e):
                    raise UnavailableError(
                        f"the Ray cluster at {address} requires a token; set RAY_AUTH_MODE=token, and have the "
                        "cluster's token in RAY_AUTH_TOKEN or ~/.ray/auth_token"
                    ) from e
                what = f"no Ray cluster answers at {address}" if address else "Ray could not be started on this machine"
                raise UnavailableError(
                    f"{what}: {e}; start one with `ray start --head`, or leave out the address, so that one is "
                    "started on this machine"
                ) from e

    def _check_address(self, ray: Any, address: str | None) -> None:
        here = ray.get_runtime_context().gcs_address
        if address is None or address in ("auto", "local", here) or address.startswith("ray://"):
            return
        raise FailedPreconditionError(
            f"RayWorkers: address is {address!r}, but this process is connected to the cluster at {here}; leave "
            "out the address, or call ray.shutdown() first"
        )

    def forget(self) -> None:
        """Drops the connection in a forked child, which cannot use it."""
        self.__init__()  # type: ignore[misc]


def connection_id(ray: Any) -> str:
    """Tells a connection from others. Jobs are numbered, so two clusters have the same ones, but no common node."""
    context = ray.get_runtime_context()
    return f"{context.get_job_id()} {context.get_node_id()}"


def cluster_id(address: str) -> str:
    """Tells the cluster at a head node's address from one that is there after a restart; empty if that is not known."""
    try:
        client = import_module("ray._raylet").GcsClient(address=address)  # Ray has no public name for it
        return str(client.cluster_id.hex())
    except Exception:
        return ""


class HeadNode:
    """Whether a cluster's head node can be reached. Without it no workers are placed, and Ray ends the process after a
    minute; a head that was restarted knows nothing of the connection, and requests to it may crash the process.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.address, self._where = address, (host.strip("[]"), int(port)) if port.isdigit() else None
        self._cluster = cluster_id(address) if self._where else ""
        self.restarted = False
        self.failed = False  # whether it was restarted, or could not be reached at some time
        self.lost = False  # whether the connection is unusable
        self._since = 0.0
        self._lock = threading.Lock()

    def missing(self) -> float:
        """Checks whether it can be reached. Returns the seconds since it could; 0 if it can."""
        if self._where is None:
            return 0.0
        with self._lock:
            now = time.monotonic()
            try:
                socket.create_connection(self._where, PROBE_SECONDS).close()
            except OSError:
                self.failed = True
                self._since = self._since or now
                return max(now - self._since, 1e-9)
            self._since = 0.0
            return 0.0

    def look(self) -> bool:
        """Whether it is gone: it cannot be reached, or was restarted, which may take less time than lies between two
        calls of `missing`.
        """
        if self.missing():
            return True
        if self._cluster and not self.restarted:
            self.restarted = cluster_id(self.address) not in ("", self._cluster)
            self.failed = self.failed or self.restarted
        return self.restarted


def wants_token(error: BaseException | None) -> bool:
    """Whether a cluster has refused a connection without its token."""
    while error is not None:
        if TOKEN in type(error).__name__ or TOKEN in str(error):
            return True
        error = error.__cause__
    return False


def _short_folder() -> dict[str, str]:
    """The folder for the files of a local cluster, where the usual one has too long a name for sockets."""
    usual = os.path.join(tempfile.gettempdir(), "ray")
    if "RAY_TMPDIR" in os.environ or len(usual) <= LONGEST_FOLDER or os.name != "posix":
        return {}
    return {"_temp_dir": os.path.join(os.sep, "tmp", "ray")}


def _enough_for(workers: RayWorkers, count: int) -> dict[str, Any]:
    """The resources of a local cluster that has enough of what is only a name; GPUs and memory are what they are."""
    custom = {name: n * count for name, n in (workers.resources or {}).items() if name not in RESOURCE_OPTIONS}
    return {"resources": custom}


def last_cluster_answers() -> bool:
    """Whether the cluster that was last started on this machine still runs. For one that has crashed, Ray would wait
    for minutes.
    """
    try:
        utils = import_module("ray._private.utils")  # Ray has no public name for it
        address = utils.read_ray_address(_short_folder().get("_temp_dir")) or ""
        host, _, port = address.rpartition(":")
        where = host.strip("[]"), int(port)
    except Exception:  # there is none
        return True
    try:
        socket.create_connection(where, ANSWER_SECONDS).close()
    except OSError as e:
        _log.warning("the last Ray cluster of this machine does not answer at %s (%s): one is started", address, e)
        return False
    return True


def must_answer(address: str, what: str) -> None:
    """Raises at once if nothing listens at an address, for which Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        if address in ("auto", "local"):
            return
        raise UnavailableError(f"{what} must be host:port, 'auto' or 'local', got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, UnicodeError) as e:  # no such name, or one that cannot be a name
        raise UnavailableError(
            f"no Ray cluster answers at {address}, from {what}: {e}; start one with `ray start --head`, or leave out "
            "the address, so that one is started on this machine"
        ) from e


@contextlib.contextmanager
def _signal_kept() -> Iterator[None]:
    """Keeps the program's handler of SIGTERM, which Ray replaces by its own."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


session = ClusterSession()
