"""The command `feedline`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from feedline.errors import OpError
from feedline.tools import demo

TOOLS = (demo,)
"""Each has `register(commands)`, which adds its sub-command and sets `run`: a function of the parsed arguments that
returns the exit status.
"""
ENDING = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
INTERRUPTED = 130
"""The exit status that shells expect after Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a sub-command; returns the exit status.

    >>> from feedline.tools.cli import main
    >>> main([])
    usage: feedline [-h] [--version] command ...
    ...
    2
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    try:
        with _exit_on_signals():
            status: int = arguments.run(arguments)
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"feedline {arguments.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at exit
        return 0
    except (OSError, OpError) as e:
        print(f"feedline {arguments.command}: {e}", file=sys.stderr)
        return 1
    return status


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Removes temporary files when the program is terminated or its terminal is closed."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set signal handlers
        yield
        return
    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _parser() -> argparse.ArgumentParser:
    from feedline import __version__

    parser = argparse.ArgumentParser("feedline", description="feedline: tf.data without TensorFlow.")
    parser.add_argument("--version", action="version", version=f"feedline {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", title="commands")
    for tool in TOOLS:
        tool.register(commands)
    return parser
