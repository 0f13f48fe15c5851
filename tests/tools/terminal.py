"""The command in a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress


def in_terminal(*arguments: object, interrupt_after: str = "", **env: str) -> tuple[int, str]:
    """Runs the command in a terminal of 100 columns; returns the status and all that was shown. With `interrupt_after`
    it presses Ctrl-C when that has been shown.
    """
    main, side = pty.openpty()
    given = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "100", **env}
    given = {key: value for key, value in given.items() if key != "NO_COLOR" or env.get("NO_COLOR")}
    running = subprocess.Popen(
        [sys.executable, "-m", "feedline", *map(str, arguments)],
        stdin=side, stdout=side, stderr=side, env=given, start_new_session=True,
    )  # fmt: skip
    os.close(side)
    shown = b""
    until = time.monotonic() + 120
    with suppress(OSError):  # the end of a terminal
        while time.monotonic() < until and (data := os.read(main, 1 << 16)):
            shown += data
            if interrupt_after and interrupt_after.encode() in shown:
                running.send_signal(signal.SIGINT)
                interrupt_after = ""
    os.close(main)
    status = running.wait(timeout=60)
    return status, shown.decode(errors="replace").replace("\r\n", "\n")
