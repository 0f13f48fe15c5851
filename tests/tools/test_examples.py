"""The examples in the help of each command run, in a shell, on files of the names they use."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from tests.tools.data import damage, many, output
from tests.tools.test_scripts import SCRIPT

import feedline as fl
from feedline.tools.cli import COMMANDS
from feedline.tools.shared.command import Tool


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    where = tmp_path_factory.mktemp("examples")
    labels = np.arange(20)
    fl.io.write_examples(where / "train.tfrecord", {"label": labels, "name": [f"name {n}" for n in labels]})
    for i in range(2):
        name = f"train-{i:05}-of-00002.tfrecord"
        (where / name).write_bytes((where / "train.tfrecord").read_bytes())
    for name in ("table.csv", "table.parquet"):
        output("convert", where / "train.tfrecord", where / name)
    (path,) = many(where, 1, 20, "damaged")
    damage(path, 100, where / "damaged.tfrecord")
    path.unlink()
    (where / "data").mkdir()
    (where / "data" / "train.tfrecord").write_bytes((where / "train.tfrecord").read_bytes())
    (where / "train.py").write_text(SCRIPT)
    cells = [{"cell_type": "code", "source": ["import feedline as fl\n"]}]
    (where / "notebook.ipynb").write_text(json.dumps({"cells": cells}))
    command = where / "bin" / "feedline"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m feedline "$@"\n')
    command.chmod(0o755)
    return where


SERVERS = ("view",)
"""Commands that run until Ctrl-C."""


def _examples() -> list[tuple[str, str]]:
    found = []
    for name in COMMANDS:
        tool = vars(importlib.import_module(f"feedline.tools.{name}"))[name]
        assert isinstance(tool, Tool)
        assert tool.examples
        found += [(name, example) for example in tool.examples if name not in ("demo", "completion", *SERVERS)]
    return found


@pytest.mark.parametrize(("name", "example"), _examples())
def test_an_example_runs(name: str, example: str, folder: Path) -> None:
    path = f"{folder}/bin:{os.environ['PATH']}"
    said = subprocess.run(
        ["bash", "-o", "pipefail", "-c", example], cwd=folder, capture_output=True, timeout=120,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert said.returncode == 0, said
    assert b"error inside" not in said.stderr


@pytest.mark.usefixtures("_interruptible")
def test_an_example_of_a_server_serves(folder: Path) -> None:
    path = f"{folder}/bin:{os.environ['PATH']}"
    tool = vars(importlib.import_module("feedline.tools.view"))["view"]
    given = {**os.environ, "PATH": path, "BROWSER": "true"}
    wanted = [f"exec {line.replace(' --json', '').replace(' --port 8080', '')} --json" for line in tool.examples]
    running = [
        subprocess.Popen(
            ["bash", "-c", line], cwd=folder, env=given, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        for line in wanted
    ]
    for one in running:
        assert one.stdout is not None
        with urllib.request.urlopen(json.loads(one.stdout.readline())["url"], timeout=30) as page:
            assert page.status == 200
        one.send_signal(signal.SIGINT)
        assert one.wait(30) == 0
        one.stdout.close()
