"""A local web server that misbehaves on demand."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fsspec.asyn import get_loop


class Site(http.server.ThreadingHTTPServer):
    """The server. `files` has the contents by path; the other fields control its behaviour."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.again()

    def again(self) -> None:
        """Resets behaviour and counts."""
        self.requests: list[tuple[str, str]] = []
        self.ranges = True
        self.announced = True
        """Whether it announces support for ranges."""
        self.tag = '"one"'
        self.headers: dict[str, str] = {}
        self.breaks: list[float] = []
        """For each of the next answers, the share that is sent before the connection breaks."""
        self.after_break: Callable[[], object] = lambda: None
        self.failures: list[int] = []
        """The statuses of the next answers."""
        self.short = 0
        """The number of bytes missing at the end of complete answers."""
        self.shift = 0
        """The number of bytes by which ranges begin too late."""
        self.encoding = ""
        self.stalled = threading.Event()
        self.stalls = 0
        """The number of next requests that are never answered."""
        self.head = True

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def put(self, path: str, data: bytes) -> str:
        self.files[f"/{path}"] = data
        return self.url(path)

    def starts(self) -> list[int]:
        """The starts of the requested ranges."""
        return [int(r.removeprefix("bytes=").partition("-")[0]) for m, r in self.requests if m == "GET" and r]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors: clients may close the connection."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        site = self.server
        asked = self.headers.get("Range", "") if site.ranges else ""
        site.requests.append((self.command, self.headers.get("Range", "")))
        data = site.files.get(self.path)
        status = site.failures.pop(0) if site.failures else 0
        if data is None or status or (not body and not site.head):
            self.send_response(status or (404 if data is None else 405))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if body and site.stalls:
            site.stalls -= 1
            site.stalled.wait(20)
            return
        start, stop = 0, len(data)
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(int(last or stop) + 1, stop)
            if start >= stop:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        start, stop = start + bool(asked) * site.shift, stop + bool(asked) * site.shift
        part = data[start:stop]
        if site.encoding:
            part = gzip.compress(part)
        if body and site.short:
            part = part[: -site.short]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(part)))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        if site.announced:
            self.send_header("Accept-Ranges", "bytes" if site.ranges else "none")
        if site.tag:
            self.send_header("ETag", site.tag)
        if site.encoding:
            self.send_header("Content-Encoding", site.encoding)
        for key, value in site.headers.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            if site.breaks and len(part) > 100:
                part = part[: int(len(part) * site.breaks.pop(0))]
                site.after_break()
            self.wfile.write(part)

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def serving() -> Iterator[Site]:
    get_loop()  # fsspec's thread is never stopped
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            site.stalled.set()
            site.shutdown()
            thread.join()
