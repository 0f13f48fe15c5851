"""`feedline view`: starts the web server of a viewer."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import webbrowser
from contextlib import suppress

import click

from feedline.errors import NotFoundError
from feedline.io.files import shown as shown_name
from feedline.io.files import system_path
from feedline.tools.shared.command import command
from feedline.tools.shared.inputs import FileName, format_option, names_of
from feedline.tools.shared.output import console, print_json, shown
from feedline.tools.shared.scripts import loaded
from feedline.tools.shared.text import plural
from feedline.tools.view.server import ViewServer
from feedline.tools.view.session import ViewSession


@command(
    "feedline view train.tfrecord",
    "feedline view 'train-*.tfrecord' --no-browser --port 8080",
    "feedline view train.py:dataset",
    "feedline view train.tfrecord --dataset train.py:dataset --json",
)
@click.argument("files", nargs=-1, required=True, type=FileName(), metavar="FILES...")
@format_option
@click.option("--dataset", "script", metavar="SCRIPT.py:NAME", help="Show its elements after each step, too.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; without it, a free one is taken.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def view(
    files: tuple[str, ...], given: str | None, script: str | None, port: int | None, host: str, browser: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Show the records of files in the browser.

    A local page to browse, filter and sort records: images, sounds, text, lists; histograms of every feature; the code
    that reads the files. Of a dataset in a script, SCRIPT.py:NAME, it shows elements after each step. The page is
    served to this machine only, at an address with a secret token, until Ctrl-C.
    """
    ended: list[int] = []
    atexit.register(_end, ended)  # called after what is registered later
    scripts = [file for file in files if _is_script(file)]
    if len(scripts) + (script is not None) > 1:
        raise click.UsageError("give one dataset only")
    chosen = script or next(iter(scripts), None)
    names = names_of([file for file in files if file not in scripts])
    _check_one_exists(names)
    dataset = None if chosen is None else loaded(chosen)
    session = ViewSession(names, given, dataset, chosen or "")
    try:
        with ViewServer(session, host, port) as server:
            session.start()
            _announce(server, len(names), as_json)
            if browser and not as_json:
                threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
            server.serve_forever(0.2)
    except KeyboardInterrupt:
        if not as_json:
            console().print("\nended")
    finally:
        session.close()
    ended.append(0)
    return 0


def _end(ended: list[int]) -> None:
    """Ends the process at once if threads still work: inside a library, they would not survive the interpreter's end.
    """
    if ended and threading.active_count() > 1:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(ended[0])


def _check_one_exists(names: list[bytes]) -> None:
    """Raises if there is none of the files; the page says it of a few."""
    here = [system_path(name) for name in names]
    if names and not any(path is None or os.path.lexists(path) for path in here):
        more = "; the others do not exist either" if len(names) > 1 else ""
        raise NotFoundError(f"{shown_name(names[0])}: no such file{more}")


def _is_script(file: str) -> bool:
    """Whether an argument names a dataset in a script rather than a file."""
    script, mark, name = file.rpartition(":")
    return bool(mark) and script.endswith(".py") and name.isidentifier() and not os.path.exists(file)


def _announce(server: ViewServer, files: int, as_json: bool) -> None:
    if as_json:
        print_json({"url": server.url, "host": server.host, "port": server.server_port, "files": files})
        return
    out = console()
    what = plural(files, "file") if files else "the dataset"
    out.print(shown(f"showing {what} at {server.url}", "bold"), soft_wrap=True)
    if not server.local:
        out.print(shown("whoever has this address, and can reach this machine, sees the records", "yellow"))
    out.print(shown("Ctrl-C ends it"))

