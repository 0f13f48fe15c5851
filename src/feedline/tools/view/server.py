"""The web server of a viewer: serves one page and answers its requests, if the address has the token."""

from __future__ import annotations

import errno
import hmac
import http.server
import ipaddress
import json
import os
import re
import secrets
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from feedline.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from feedline.tools.shared.output import dumped
from feedline.tools.view.session import ViewSession

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PORT = 8642
"""The port that is tried first, so that a bookmark of the address without the token leads to the same viewer."""
TRIED = 20
MOST_BODY = 1 << 16
PATIENCE_S = 60
"""Seconds after which a connection that sends nothing is closed."""
PROGRAM = ("base", "cells", "records", "panel", "features", "pipeline", "main")
"""The parts of the page's program, in order."""
_FORBIDDEN = "This address lacks the token. Open the one that feedline view has printed.\n"


class ViewServer(http.server.ThreadingHTTPServer):
    """Serves a session at `url`."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name == "posix"  # elsewhere, it would share a port that is in use
    request_queue_size = 64

    def __init__(self, session: ViewSession, host: str = "127.0.0.1", port: int | None = None) -> None:
        self.session, self.host = session, host
        self.token = secrets.token_urlsafe(24)
        self.address_family = _family(host)
        self._bound(host, port)

    def _bound(self, host: str, port: int | None) -> None:
        for one in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
            try:
                super().__init__((host, one), ViewRequest)
                return
            except OSError as e:
                if e.errno not in _TAKEN:
                    problem = f"{e.strerror or e}; --host takes an address of this machine"
                    raise FailedPreconditionError(f"cannot listen at {host}: {problem}") from None
        raise FailedPreconditionError(
            f"port {port} of {host} is in use, or not allowed; give another with --port, or none to take a free one"
        )

    def server_bind(self) -> None:
        """Binds without looking up the name of the machine, which may take seconds."""
        socket.socket.bind(self.socket, self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.host, int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "") else "::1" if self.host == "::" else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/{self.token}/"

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host in LOOPBACK:
            return True
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return False

    def expects(self, host: str | None) -> bool:
        """Whether a request may name this host: not if another site's name resolves here (DNS rebinding)."""
        try:
            parts = urlsplit(f"//{host or ''}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.server_port or parts.netloc != host or "@" in host:
            return False
        if name in LOOPBACK or name == self.host.lower():
            return True
        if self.local:
            return False
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return name in (socket.gethostname().lower(), socket.getfqdn().lower())

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may close a connection at any time."""


_TAKEN = {errno.EADDRINUSE, errno.EACCES}


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@cache
def _asset(name: str) -> str:
    return (files("feedline.tools.view") / "page" / name).read_text("utf-8")


def page(nonce: str) -> str:
    """The page, with its style and program inside."""
    html, style = _asset("page.html"), _asset("page.css")
    program = "\n".join(_asset(f"{name}.js") for name in PROGRAM)
    return html.replace("{{nonce}}", nonce).replace("{{style}}", style).replace("{{program}}", program)


def policy(nonce: str = "") -> str:
    """What the page may load: nothing but its own style, program, images and sounds, from here."""
    inline = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; " if nonce else ""
    return (
        f"default-src 'none'; {inline}img-src 'self' data:; media-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class ViewRequest(http.server.BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "feedline", ""
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        """Serves the page, an answer, or an image or sound."""
        self._guarded(self._get)

    def do_POST(self) -> None:
        """Starts or cancels work."""
        closes, self.close_connection = self.close_connection, True  # a body left unread would be taken for a request
        self._guarded(lambda path: self._post(path, closes))

    def _guarded(self, answer: Callable[[str], None]) -> None:
        try:
            path = self._inner_path()
            if path is not None:
                answer(path)
        except NotFoundError as e:
            self._send_json({"error": str(e)}, 404)
        except RecursionError:
            self._send_json({"error": "the request is nested too deeply"}, 400)
        except (OpError, ValueError) as e:
            self._send_json({"error": str(e)}, 400)
        except MemoryError:
            self._send_json({"error": "the memory is not enough for this"}, 500)
        except OSError:  # the browser has closed the connection
            self.close_connection = True
        except Exception as e:
            traceback.print_exc()
            self._send_json({"error": f"an error inside feedline: {type(e).__name__}: {e}"}, 500)

    def _inner_path(self) -> str | None:
        """The path after the token, if the request may be answered."""
        if not self.server.expects(self.headers.get("Host")):
            self._refuse("This server does not answer for that host name.\n", 421)
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            self._refuse("Pages of other sites get no answer.\n", 403)
            return None
        token, slash, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            self._refuse(_FORBIDDEN, 403)
            return None
        if not slash:  # what the page asks for is relative to the address with it
            self._send(b"", "text/plain", 308, location=f"/{self.server.token}/")
            return None
        return rest

    def _get(self, path: str) -> None:
        session = self.server.session
        if path == "":
            nonce = secrets.token_urlsafe(12)
            self._send(page(nonce).encode(), "text/html; charset=utf-8", 200, policy(nonce))
        elif path == "media":
            served = session.media(self._query())
            self._send(served.content, served.kind)
        elif path.startswith("api/") and path.removeprefix("api/") in session.answers:
            self._send_json(session.answers[path.removeprefix("api/")](self._query()))
        else:
            raise NotFoundError("there is no such page")

    def _post(self, path: str, closes: bool) -> None:
        change = self.server.session.changes.get(path.removeprefix("api/")) if path.startswith("api/") else None
        length = self.headers.get("Content-Length", "")
        if change is None or not re.fullmatch("[0-9]{1,9}", length) or int(length) > MOST_BODY:
            raise NotFoundError("there is no such page, or the request is too long")
        body = self.rfile.read(int(length))
        self.close_connection = closes
        given = json.loads(body or b"{}")
        if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
            raise InvalidArgumentError("a request must be a JSON object of strings")
        self._send_json(change(given))

    def _query(self) -> dict[str, str]:
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.path).query, True).items()}

    def _send_json(self, value: Any, status: int = 200) -> None:
        self._send(dumped(value).encode("utf-8", "backslashreplace"), "application/json", status)

    def _refuse(self, text: str, status: int) -> None:
        self.close_connection = True
        self._send(text.encode(), "text/plain; charset=utf-8", status)

    def _send(self, content: bytes, kind: str, status: int = 200, rules: str = "", location: str = "") -> None:
        start, stop = 0, len(content)
        asked = self.headers.get("Range", "") if status == 200 and kind.startswith("audio/") else ""
        if asked.startswith("bytes=") and "," not in asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end = (int(at) if at.isascii() and at.isdigit() else None for at in (first, last))
            if begin is not None and begin < stop and (end is None or begin <= end):
                start, stop, status = begin, stop if end is None else min(stop, end + 1), 206
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(stop - start))
        if location:
            self.send_header("Location", location)
        if kind.startswith("audio/"):
            self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
        self.send_header("Content-Security-Policy", rules or f"{policy()}; sandbox")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cache-Control", "private, max-age=600" if kind.startswith("image/") else "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content[start:stop])

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""
