"""A running `feedline view`, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.tools import command_server

PATIENCE_S = 60.0


class Reply(NamedTuple):
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Viewer:
    """A viewer in a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        assert parts.hostname is not None and parts.port is not None
        self.host, self.port, self.token = parts.hostname, parts.port, parts.path.strip("/")

    def raw(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
        """A request for a path as it is."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            got = connection.getresponse()
            return Reply(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def get(self, path: str, **query: object) -> Reply:
        given = f"?{urlencode({k.rstrip('_'): v for k, v in query.items()})}" if query else ""
        return self.raw(f"/{self.token}/{path}{given}")

    def ask(self, name: str, **query: object) -> Any:
        """An answer, which must not be an error."""
        got = self.get(f"api/{name}", **query)
        assert got.status == 200, got
        return got.json

    def post(self, name: str, **given: str) -> Reply:
        return self.raw(f"/{self.token}/api/{name}", "POST", json.dumps(given).encode())

    def counted(self) -> dict[str, Any]:
        """The session when all records are known."""
        return self.until(lambda: self.ask("session"), lambda found: found["complete"])

    def selected(self, **given: str) -> dict[str, Any]:
        """A selection that is finished."""
        got = self.post("view", **given)
        assert got.status == 200, got
        return self.until(lambda: self.ask("view", view=got.json["view"]), lambda v: v["job"]["state"] != "running")

    def numbers(self, **given: str) -> list[int]:
        """The records of a selection."""
        found = self.selected(**given)
        return [row["number"] for row in self.ask("rows", view=found["view"], count=200)["rows"]]

    @staticmethod
    def until(make: Any, done: Any) -> Any:
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            found = make()
            if done(found):
                return found
            time.sleep(0.02)
        raise AssertionError(f"not done: {found}")


@contextmanager
def viewing(*arguments: object) -> Iterator[Viewer]:
    """A viewer of these files, which ends with Ctrl-C."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("in", "out", "err")]
        for file in files:
            file.touch()
        child = command_server.start(["view", *arguments, "--json"], files)
        try:
            line = Viewer.until(files[1].read_text, lambda text: text.endswith("\n") or files[2].read_text())
            assert line, files[2].read_text()
            yield Viewer(json.loads(line)["url"])
        finally:
            os.kill(child, signal.SIGINT)
            status = command_server.wait(child)
        assert (status, files[2].read_text()) == (0, "")


def pictures(path: Path, count: int = 120) -> Path:
    """Examples with an image, a label, text, a sound and lists of different lengths."""
    import io
    import wave

    import numpy as np

    import feedline as fl

    rng = np.random.default_rng(7)
    sound = io.BytesIO()
    with wave.open(sound, "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
        out.writeframes((np.sin(np.arange(4000) / 9) * 20000).astype("<i2").tobytes())
    with fl.io.TFRecordWriter(str(path)) as writer:
        for i in range(count):
            features: dict[str, Any] = {
                "image": fl.io.encode_png(rng.integers(0, 255, (16, 24, 3), np.uint8)),
                "label": i % 8,
                "name": f"<b>name</b> {i}" if i == 3 else f"name {i}",
                "weight": np.float32(i / 4),
                "tokens": np.arange(i % 5 + 1),
                "signal": np.sin(np.arange(500) / 9).astype(np.float32),
            }
            features |= {"sound": sound.getvalue()} if i % 3 == 0 else {}
            writer.write(fl.train.example(features).SerializeToString())
    return path
