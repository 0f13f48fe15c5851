"""The `feedline` command in processes that start quickly: forks of one process that has imported it."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.engine import watch

_SERVER = """
import array_record.python.array_record_module, click, json, numpy, os, pandas, pyarrow.parquet
import rich.progress, rich.syntax, rich.table, signal, sys
from feedline.tools import cli
from feedline.tools import bench, cat, convert, count, diff, doctor, explain, head, index, repair, schema, stats, verify
from feedline.tools import view
signal.signal(signal.SIGINT, signal.default_int_handler)
for line in sys.stdin:
    asked = json.loads(line)
    if "wait" in asked:
        print(os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1]), flush=True)
        continue
    child = os.fork()
    if not child:
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        for number, (name, flags) in enumerate(zip(asked["files"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY))):
            opened = os.open(name, flags)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin = open(0, closefd=False)
        sys.argv = ["feedline", *asked["arguments"]]
        sys.exit(cli.main())
    print(child, flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The process that all commands are forks of; it serves the tests of this process until their end."""
    command = [sys.executable, "-c", _SERVER]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(_end, started)
    watch.HELPERS.add(started.pid)
    return started


def _end(server: subprocess.Popen[str]) -> None:
    with server:
        server.kill()


def _asked(**request: object) -> int:
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def start(
    arguments: Sequence[object], files: Sequence[Path], cwd: Path | None = None, env: Mapping[str, str] = {}
) -> int:
    """Starts the command with the three `files` as standard input, output and error; returns the process id."""
    return _asked(
        arguments=[str(a) for a in arguments],
        files=[str(file) for file in files],
        cwd=str(cwd or os.getcwd()),
        env={**os.environ, **env},
    )


def wait(pid: int) -> int:
    """The exit status of a command, once it has ended."""
    return _asked(wait=pid)
