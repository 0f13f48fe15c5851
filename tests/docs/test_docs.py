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
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md"))
FENCE = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
NOT_RUN = {' title="TensorFlow"'}
PROGRAM = re.compile(r' title="(\w+\.py)"')
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES)
def test_code_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    text = (DOCS / page).read_text()
    monkeypatch.chdir(tmp_path)
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


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    elsewhere = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*\b(?:href|src)=["']?(?:https?:)?//""")
    for page in (tmp_path / "site").rglob("*.html"):
        assert not elsewhere.search(page.read_text()), f"{page.name} fetches something from another host"
