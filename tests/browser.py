"""A real browser for tests: headless Chromium, driven through its debugging pipe.

Debian's package is installed if there is no browser and that is possible (as root, with apt); otherwise tests that need
one are left out, and say so.
"""

from __future__ import annotations

import base64
import fcntl
import functools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--mute-audio", "--no-default-browser-check", "--disable-extensions", "--remote-debugging-pipe"),
)
PATIENCE_S = 60.0
INSTALL_S = {"update": 60.0, "install": 200.0}
LOCK = Path(__file__).parents[1] / "build" / "chromium.lock"


@functools.cache
def found() -> str | None:
    """The browser's program, installed now if need be; None if there is none."""
    there = _program()
    if there is None and os.name == "posix" and os.geteuid() == 0 and shutil.which("apt-get"):
        LOCK.parent.mkdir(exist_ok=True)
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one of the processes that run the tests installs it
            if _program() is None:
                _install()
        there = _program()
    return there


def _program() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _install() -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for word, given in (("update", ["-q"]), ("install", ["-y", "-q", "--no-install-recommends", "chromium"])):
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["apt-get", word, *given], env=environment, timeout=INSTALL_S[word], **quiet)  # type: ignore[call-overload]


class Browser:
    """One window. `page(url)` opens an address; the other methods look at it and act on it as a user does."""

    def __init__(self, program: str, folder: str) -> None:
        to_browser, from_browser = os.pipe(), os.pipe()
        given = " ".join(f"'{flag}'" for flag in (*FLAGS, f"--user-data-dir={folder}"))
        line = f"exec '{program}' {given} about:blank 3<&{to_browser[0]} 4>&{from_browser[1]}"
        self._process = subprocess.Popen(
            ["bash", "-c", line], pass_fds=(to_browser[0], from_browser[1]), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(to_browser[0])
        os.close(from_browser[1])
        self._to, self._from = to_browser[1], from_browser[0]
        self._left, self._number, self._session = b"", 0, ""
        self.said: list[str] = []
        """What the page has written to the console, its errors included."""
        self.requested: list[str] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    # The protocol.

    def _call(self, method: str, **params: Any) -> Any:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while True:
            got = self._message(until)
            if got.get("id") == number:
                if "error" in got:
                    raise AssertionError(f"{method}: {got['error']}")
                return got.get("result", {})

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._from, 1 << 20) if ready else b""
            if not data:
                raise AssertionError("the browser does not answer")
            self._left += data
        whole, _, self._left = self._left.partition(b"\0")
        got: dict[str, Any] = json.loads(whole)
        self._note(got.get("method", ""), got.get("params", {}))
        return got

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.said.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif event == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(a.get("value", "")) for a in params["args"]))
        elif event == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])

    # What a user does.

    def size(self, width: int, height: int, dark: bool = False) -> None:
        """Sets the size of the window, and whether the user prefers dark pages."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def page(self, url: str, ready: str = "document.documentElement?.dataset.ready === 'true'") -> None:
        """Opens an address and waits until it is ready."""
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=url)
        self.until(ready)

    def value(self, expression: str) -> Any:
        """The value of JavaScript in the page."""
        got = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise AssertionError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def until(self, expression: str, patience: float = PATIENCE_S) -> Any:
        """Waits until an expression is true; returns its value."""
        ends = time.monotonic() + patience
        while time.monotonic() < ends:
            found = self.value(expression)
            if found:
                return found
            time.sleep(0.03)
        raise AssertionError(f"this has not become true: {expression}; the page shows {self.text()[:2000]!r}")

    def text(self, selector: str = "body") -> str:
        """The text that an element shows."""
        return str(self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def click(self, selector: str, number: int = 0) -> None:
        """Presses the mouse on an element."""
        where = self.until(
            f"(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{number}]; if (!e) return null;"
            "e.scrollIntoView({block: 'center', inline: 'nearest'}); const r = e.getBoundingClientRect();"
            "return r.width ? [r.x + r.width / 2, r.y + r.height / 2] : null })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], **button)

    def key(self, *keys: str) -> None:
        """Presses keys: characters, or names such as Enter and ArrowDown."""
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        for key in keys:
            shown = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
            code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **shown)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def write(self, text: str) -> None:
        """Types text where the cursor is."""
        self._call("Input.insertText", text=text)

    def screenshot(self) -> bytes:
        """What is seen, as a PNG file."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """Ends the browser."""
        self._session = ""
        with suppress(AssertionError, OSError):
            self._call("Browser.close")
        with suppress(OSError):
            os.close(self._to)
            os.close(self._from)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def running() -> Iterator[Browser]:
    """A browser with a fresh profile; leaves the test out, in words, where there is none."""
    program = found()
    if program is None:
        raise unittest.SkipTest("there is no Chromium here, and it cannot be installed: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            yield browser
        finally:
            browser.close()
