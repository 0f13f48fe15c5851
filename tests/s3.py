"""A local S3 server that counts requests, and delays and fails them on demand."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import fsspec
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "bucket"
CUT = -1
KEYS = {"key": "feedline", "secret": "not a secret"}


class Request(NamedTuple):
    """One request: its target, and when it began and ended."""

    method: str
    path: str
    span: str
    began: float
    ended: float


class Server:
    """The server. `fail` is called for each request and returns a status to answer with, 0, or CUT to close the
    connection in the middle of the answer.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.delay_s = 0.0
        self.fail: Callable[[dict[str, Any]], int] = lambda environ: 0
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self, threaded=True)
        self._server.daemon_threads = False  # closing the server waits for them
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.port = self._server.port

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        began = time.monotonic()
        time.sleep(self.delay_s)
        status = self.fail(environ)
        if status > 0:
            code = {403: "AccessDenied", 503: "ServiceUnavailable"}.get(status, "InternalError")
            text = f"<Error><Code>{code}</Code><Message>as told</Message></Error>".encode()
            answer: Iterable[bytes] = [] if environ["REQUEST_METHOD"] == "HEAD" else [text]
            start_response(f"{status} as told", [("Content-Type", "text/xml")])
        else:
            answer = self._app(environ, start_response)
            if status == CUT:
                whole = b"".join(answer)
                answer = [whole[: len(whole) // 2]]
        ended = time.monotonic()
        span = environ.get("HTTP_RANGE", "")
        with self._lock:
            self.requests.append(Request(environ["REQUEST_METHOD"], environ["PATH_INFO"], span, began, ended))
        return answer

    def gets(self) -> list[Request]:
        """The requests for parts of objects."""
        with self._lock:
            return [r for r in self.requests if r.method == "GET" and r.span]

    def stop(self) -> None:
        """Refuses all further connections."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def again(self) -> None:
        """Resets behaviour and counts."""
        self.fail, self.delay_s = (lambda environ: 0), 0.0
        with self._lock:
            self.requests.clear()


def overlap(requests: list[Request]) -> int:
    """The maximum number of concurrent requests."""
    return max((sum(r.began <= other.began < r.ended for r in requests) for other in requests), default=0)


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server with an empty bucket, which `s3://` URLs use."""
    from s3fs import S3FileSystem

    os.environ["MOTO_S3_DEFAULT_KEY_BUFFER_SIZE"] = str(1 << 30)  # objects stay in memory, not in open files
    server = Server()
    endpoint = f"http://127.0.0.1:{server.port}"
    few = {"retries": {"max_attempts": 0}, "connect_timeout": 2, "read_timeout": 10}
    before = fsspec.config.conf.get("s3")
    fsspec.config.conf["s3"] = {**KEYS, "client_kwargs": {"endpoint_url": endpoint}, "config_kwargs": few}
    fs = fsspec.filesystem("s3")
    with contextlib.suppress(FileExistsError):  # all servers of a process have the same buckets
        fs.mkdir(BUCKET)
    try:
        yield server
    finally:
        S3FileSystem.close_session(fs.loop, fs._s3)
        fs.clear_instance_cache()
        fsspec.config.conf.pop("s3")
        if before is not None:
            fsspec.config.conf["s3"] = before
        server.stop()


def put(url: str, data: bytes) -> bytes:
    fs, path = fsspec.core.url_to_fs(url)
    fs.pipe_file(path, data)
    return url.encode()
