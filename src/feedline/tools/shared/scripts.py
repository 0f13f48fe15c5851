"""Datasets in scripts: `train.py:dataset`."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from feedline.data.dataset import Dataset
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError, NotFoundError
from feedline.tools.shared.inputs import FileName

dataset_argument = click.argument("script", type=FileName(), metavar="SCRIPT.py:NAME")


def loaded(script: str) -> Dataset[Any]:
    """The dataset that a script holds under a name, or that its function of that name returns. The script is run, but
    not as `__main__`.
    """
    file, mark, name = script.rpartition(":")
    if not mark or not file:
        raise click.UsageError(f"give the script and the name of the dataset, as in train.py:dataset, not {script!r}")
    if not os.path.isfile(file):
        raise NotFoundError(f"{file}: there is no such script")
    held = _run(file)
    if name not in held:
        found = ", ".join(sorted(n for n, v in held.items() if isinstance(v, Dataset) and not n.startswith("_")))
        raise NotFoundError(f"{file} has nothing named {name!r}; its datasets: {found or 'none'}")
    value = held[name]
    if callable(value) and not isinstance(value, Dataset):
        value = _guarded(value, f"{file}:{name}()")
    if not isinstance(value, Dataset):
        got = type(value).__name__
        raise InvalidTypeError(f"{script} is of type {got}; it must be an fl.Dataset, or a function that returns one")
    return value


def _run(file: str) -> dict[str, Any]:
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    made: dict[str, Any] = _guarded(lambda: runpy.run_path(file, run_name="__feedline__"), file)
    return made


def _guarded(call: Callable[[], Any], what: str) -> Any:
    """An error of the script is shown with its own frames."""
    try:
        return call()
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except SystemExit as e:
        raise FailedPreconditionError(f"{what} ended with exit status {e.code}") from None
    except BaseException as e:
        frames = [f for f in traceback.extract_tb(e.__traceback__) if not f.filename.startswith(("<frozen", __file__))]
        last = frames[-1] if frames else None
        where = f", line {last.lineno} of {last.filename}" if last is not None else ""
        raise InvalidArgumentError(f"{what} failed: {type(e).__name__}: {e}{where}") from e
