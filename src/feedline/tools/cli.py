"""The command `feedline`."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from feedline.errors import OpError

if TYPE_CHECKING:
    import click

COMMANDS = (
    *("head", "schema", "stats", "count", "verify", "repair", "index", "cat", "convert", "diff"),
    *("view", "check", "explain", "bench", "doctor", "demo", "completion"),
)
"""Each is a module of this package with a click command of the same name, in the order of the help."""
COMPLETE = "_FEEDLINE_COMPLETE"
"""The environment variable in which a shell asks for completions."""
NEEDED = ("click", "rich")
ENDING = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
BAD, WRONG_USAGE, INTERRUPTED = 1, 2, 130
"""Exit statuses: something is bad, the command line is wrong, and what shells expect after Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a sub-command; returns the exit status.

    >>> from feedline.tools.cli import main
    >>> main([])
    Usage: feedline [OPTIONS] COMMAND [ARGS]...
    ...
    2
    """
    given = list(sys.argv[1:] if argv is None else argv)
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        missing = " and ".join(lacking)
        return _complain("", f"the command line needs {missing}, not installed here: pip install 'feedline[cli]'", BAD)
    name = next((word for word in given if not word.startswith("-")), "")
    _escape_what_cannot_be_encoded()
    try:
        with _exit_on_signals():
            status = _run(given)
            if sys.stdout is not None:  # it is None if the caller has closed it
                sys.stdout.flush()
            return status
    except KeyboardInterrupt:
        return _complain(name, "interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader of the output has closed it
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at exit
        return 0
    except Exception as e:
        if _has_interrupted(e):
            return _complain(name, "interrupted", INTERRUPTED)
        if "--debug" in given:
            raise
        return _complain(name, *_described(e))


def _escape_what_cannot_be_encoded() -> None:
    """Where the terminal's encoding lacks a character, its escape is printed instead."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _run(given: list[str]) -> int:
    import click
    from click.shell_completion import shell_complete

    group = _group()
    asked = os.environ.get(COMPLETE)
    if asked:
        return shell_complete(group, {}, "feedline", COMPLETE, asked)
    try:
        with group.make_context("feedline", [*given] or ["--help"]) as context:
            status = group.invoke(context)
            return status if isinstance(status, int) else 0
    except click.exceptions.Exit as e:
        return e.exit_code if given else WRONG_USAGE
    except click.UsageError as e:
        command = "" if e.ctx is None else e.ctx.command_path.removeprefix("feedline").strip()
        what = " ".join(e.format_message().split()).rstrip(".")
        asked = f"feedline {command}".strip()
        see = " See" if what.endswith("?") else "; see"
        return _complain(command, f"{what}{see} {asked} --help", WRONG_USAGE)


def _has_interrupted(error: BaseException | None) -> bool:
    """Whether an error was raised while Ctrl-C was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _described(error: Exception) -> tuple[str, int]:
    """The line that says what went wrong, and the exit status."""
    if isinstance(error, (OpError, OSError, ImportError)):
        from feedline.tools.shared.inputs import display_error

        text = display_error(error)
        if isinstance(error, OSError) and not isinstance(error, OpError) and error.strerror:
            text = f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else error.strerror
        return text, BAD
    if isinstance(error, MemoryError):
        return f"the memory is not enough{f': {error}' if str(error) else ''}", BAD
    return f"an error inside feedline: {type(error).__name__}: {error}; --debug shows where", BAD


def _complain(command: str, text: str, status: int) -> int:
    """Prints an error on one line."""
    from feedline.tools.shared.text import printable

    line = printable(" ".join(f"feedline {command}".split()) + f": {' '.join(text.split())}")
    if sys.stderr is None:  # the caller has closed it; `print` would write to standard output
        return status
    with suppress(OSError):
        print(line.encode(sys.stderr.encoding or "utf-8", "backslashreplace").decode(errors="replace"), file=sys.stderr)
    return status


def _group() -> click.Group:
    import click

    from feedline import __version__
    from feedline.tools.shared.command import DEBUG

    class Commands(click.Group):
        """The sub-commands; a module is imported when its command is used."""

        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(COMMANDS)

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            near = get_close_matches(args[0], COMMANDS, 1)
            if near and args[0] not in COMMANDS:
                ctx.fail(f"No such command {args[0]!r}; did you mean {near[0]!r}?")
            return super().resolve_command(ctx, args)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in COMMANDS:
                return None
            module: ModuleType = importlib.import_module(f"feedline.tools.{cmd_name}")
            found = vars(module)[cmd_name.replace("-", "_")]
            assert isinstance(found, click.Command)
            return found

    version = click.version_option(__version__, message="%(prog)s %(version)s")
    made = Commands("feedline", help="See and handle data: TFRecord, CSV, JSON, Parquet, Arrow, tar, ArrayRecord.")
    made.context_settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    made.params.append(DEBUG)
    return version(made)


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
