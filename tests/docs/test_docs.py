"""The code in the pages of docs works: the Python of each page runs from top to bottom, in an empty folder.

Blocks marked `python` are run, and so are those marked `pycon`, whose results must be as shown. A block titled with a
file name is a program, which a block marked `console` runs. Blocks titled TensorFlow are not run.
"""

from __future__ import annotations

import doctest
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests import s3

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md"))
FENCE = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
NOT_RUN = {' title="TensorFlow"'}
PROGRAM = re.compile(r' title="(\w+\.py)"')
NEEDS = {
    "guide/ray.md": ["ray"],
    "recipes/hugging_face.md": ["datasets", "tokenizers"],
    "recipes/lightning.md": ["pytorch_lightning"],
    "recipes/orbax.md": ["orbax.checkpoint"],
}
"""Pages that need a large library: on a machine without it they are left out, but not by CI."""
REMOTE = ["recipes/remote.md"]
"""Pages that read and write a bucket."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def bucket() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(s3, "BUCKET", "my-bucket")
        with s3.serving():
            yield


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")
@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists")
@pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated")
@pytest.mark.parametrize("page", [page for page in PAGES if page not in REMOTE])
def test_code_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if not os.environ.get("CI"):
        for module in NEEDS.get(page, ()):
            pytest.importorskip(module)
    if find_spec("tqdm"):
        monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # its progress bars start no thread
    monkeypatch.chdir(tmp_path)
    _run(page, request)


@pytest.mark.parametrize("page", REMOTE)
def test_code_with_a_bucket_runs(
    page: str, bucket: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    _run(page, request)


def _run(page: str, request: pytest.FixtureRequest) -> None:
    text = (DOCS / page).read_text()
    names: dict[str, object] = {"__name__": "page"}
    request.addfinalizer(names.clear)  # ends the iterators and threads of the page
    for block in FENCE.finditer(text):
        indent, language, title, code = block.groups()
        if language not in ("python", "pycon", "console") or title in NOT_RUN:
            continue
        code = "\n".join(line.removeprefix(indent) for line in code.split("\n"))
        program = PROGRAM.fullmatch(title)
        if program is not None:
            Path(program[1]).write_text(code)
            continue
        assert not title, f"{page} has a block{title}, which is neither run nor known not to be"
        if language == "console":
            _console(code)
            continue
        first_line = text.count("\n", 0, block.start(4))
        if language == "pycon":
            _session(code, names, page, first_line)
        else:
            exec(compile("\n" * first_line + code, str(DOCS / page), "exec"), names)


def _console(text: str) -> None:
    """Runs the command in the first line, with this Python first on the path, and compares its output with the rest."""
    command, _, shown = text.partition("\n")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "PORT": port, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    bash = ["bash", "-c", command.removeprefix("$ ")]
    done = subprocess.run(bash, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout == shown, f"{command}\n{done.stdout}\n{done.stderr}"


def _session(code: str, names: dict[str, object], page: str, first_line: int) -> None:
    example = doctest.DocTestParser().get_doctest(code, names, page, str(DOCS / page), first_line)
    example.globs = names  # shared by all blocks of the page
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append, clear_globs=False)
    assert result.failed == 0, "".join(said)


def test_every_block_has_a_language() -> None:
    for page in PAGES:
        fences = re.findall(r"^ *```(.*)$", (DOCS / page).read_text(), re.MULTILINE)
        assert len(fences) % 2 == 0, f"{page}: a block is not closed"
        assert all(fences[::2]), f"{page}: a block without a language"
