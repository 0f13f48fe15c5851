"""What `io.gfile` does with files of the system's, case by case. `data/gfile.json` has what TensorFlow does.

Each case is a function of a gfile module and of an empty folder, and gives plain values. To record them again, with
TensorFlow installed: `python -m tests.io.gfile_cases`, from the root of the repository.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "data" / "gfile.json"
TEXT = "one\ntwo\n\nthree é"


def error_of(call: Callable[[], Any]) -> str:
    """The name of the class of what a call raises; "" where it raises nothing."""
    try:
        call()
    except Exception as e:
        return type(e).__name__
    return ""


def tree(folder: str) -> dict[str, str]:
    """Folder, file by file."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(at, name), folder) + "/"] = ""
        for name in files:
            path = os.path.join(at, name)
            found[os.path.relpath(path, folder)] = Path(path).read_text(errors="replace")
    return dict(sorted(found.items()))


def fill(folder: str) -> None:
    for name in ("a.txt", "sub/b.txt", "sub/deep/c.txt", ".hidden"):
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT)
    Path(folder, "empty").mkdir()


def reading(g: Any, folder: str) -> Any:
    fill(folder)
    out: list[Any] = []
    for mode in ("r", "rb"):
        with g.GFile(f"{folder}/a.txt", mode) as f:
            out += [f.size(), f.tell(), f.read(3), f.tell(), f.readline(), f.read(), f.read(), f.readline(), f.tell()]
            f.seek(4)
            out += [f.readline(), f.tell(), f.readlines()]
            f.seek(0)
            out += [list(f), f.name.removeprefix(folder), f.mode, f.seekable()]
            f.seek(-4, 2)
            out += [f.tell(), f.read(2)]
            f.seek(1, 1)
            out += [f.tell()]
    return _plain(out)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return ["bytes", value.decode("latin1")] if isinstance(value, bytes) else value


def reading_in_parts_of_characters(g: Any, folder: str) -> Any:
    Path(folder, "x").write_text("é")
    with g.GFile(f"{folder}/x") as f:
        return error_of(lambda: f.read(1))


def reading_errors(g: Any, folder: str) -> Any:
    fill(folder)
    out = []
    for path, mode in [("nope", "r"), ("a.txt/x", "r"), ("a.txt", "w")]:
        file = g.GFile(f"{folder}/{path}", mode)
        out.append([path, mode, error_of(file.read), error_of(file.readline), error_of(lambda: list(file))])  # noqa: B023
        out.append([error_of(lambda: file.seek(0)), error_of(file.tell), error_of(file.size)])  # noqa: B023
        file.close()
    return out


def seeking(g: Any, folder: str) -> Any:
    fill(folder)
    out = []
    for offset, whence in [(0, 0), (5, 0), (100, 0), (-1, 0), (0, 2), (3, 2), (0, 3), (None, 0)]:
        with g.GFile(f"{folder}/a.txt", "rb") as f:
            out.append([offset, whence, error_of(lambda: f.seek(offset, whence)), f.tell(), _plain(f.read())])  # noqa: B023
    return out


def reading_sizes(g: Any, folder: str) -> Any:
    fill(folder)
    out = []
    for n in (0, 1, 1000, -1, -2, None):
        with g.GFile(f"{folder}/a.txt", "rb") as f:
            out.append([n, error_of(lambda: f.read(n)), f.tell()])  # noqa: B023
    return out


def lines_with_returns(g: Any, folder: str) -> Any:
    Path(folder, "x").write_bytes(b"a\r\nb\rc\n\n\x00d")
    with g.GFile(f"{folder}/x", "rb") as f:
        return _plain(f.readlines())


def bad_bytes(g: Any, folder: str) -> Any:
    Path(folder, "x").write_bytes(b"\xff\xfe")
    with g.GFile(f"{folder}/x") as f:
        return error_of(f.read)


def modes(g: Any, folder: str) -> Any:
    out = []
    for mode in ("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab", "rb+", "r+b", "x", "rw", "", "b", "rt", "U"):
        path = f"{folder}/{len(out)}"
        Path(path).write_text("old")
        steps: list[Any] = [mode]

        def run(path: str = path, mode: str = mode, steps: list[Any] = steps) -> None:
            with g.GFile(path, mode) as f:
                steps.append(error_of(lambda: steps.append(_plain(f.read()))))
                steps.append(error_of(lambda: f.write("new")))
                steps.append(error_of(lambda: steps.append(f.tell())))
                steps.append(error_of(f.flush))

        steps.append(error_of(run))
        out.append([*steps, Path(path).read_text()])
    return out


def writing(g: Any, folder: str) -> Any:
    out: list[Any] = []
    f = g.GFile(f"{folder}/x", "w")
    out.append(os.path.exists(f"{folder}/x"))
    f.write("abc")
    f.write(b"\xc3\xa9")
    out.append(f.tell())
    f.flush()
    out.append(Path(folder, "x").read_text())
    out.append(f.size())
    out.append(error_of(lambda: f.write(5)))
    f.close()
    f.close()
    out.append(error_of(lambda: f.write("again")))
    f.close()
    out.append(Path(folder, "x").read_text())
    with g.GFile(f"{folder}/x", "a") as f:
        f.write("+")
        out.append(f.tell())
    with g.GFile(f"{folder}/untouched", "w"):
        pass
    with g.GFile(f"{folder}/new", "ab") as f:
        f.write(b"!")
    for path in ("no/such/x", "", "new/x"):
        f = g.GFile(f"{folder}/{path}", "w")
        out.append([path, error_of(lambda: f.write("x")), error_of(f.flush), error_of(f.close)])  # noqa: B023
    return [out, tree(folder)]


def reading_what_was_written(g: Any, folder: str) -> Any:
    with g.GFile(f"{folder}/x", "w+") as f:
        f.write("hello")
        f.flush()
        return [f.tell(), f.read(), f.tell()]


def after_close(g: Any, folder: str) -> Any:
    fill(folder)
    f = g.GFile(f"{folder}/a.txt")
    first = f.read(3)
    f.close()
    return [first, f.read(3), f.close()]


def existing(g: Any, folder: str) -> Any:
    fill(folder)
    os.symlink("nowhere", f"{folder}/broken")
    os.symlink("sub", f"{folder}/linked")
    names = ["a.txt", "nope", "sub", "sub/", "a.txt/", "broken", "linked", "a.txt/x", ""]
    paths = [f"{folder}/{name}" for name in names]
    return [[n, g.exists(p), g.isdir(p)] for n, p in zip(names, paths, strict=True)] + [
        [g.exists(Path(folder)), g.exists(os.fsencode(folder)), g.exists(f"file://{folder}"), g.exists("")],
        [error_of(lambda: g.exists("foo://x")), error_of(lambda: g.isdir("foo://x")), g.isdir(f"file://{folder}")],
    ]


def listing(g: Any, folder: str) -> Any:
    fill(folder)
    out = [[n, sorted(g.listdir(f"{folder}/{n}"))] for n in ("", "sub", "sub/", "empty")]
    errors = [[n, error_of(lambda: g.listdir(f"{folder}/{n}"))] for n in ("nope", "a.txt")]  # noqa: B023
    return [out, errors, sorted(g.listdir(f"file://{folder}")), sorted(g.listdir(Path(folder)))]


def globbing(g: Any, folder: str) -> Any:
    fill(folder)
    patterns = ["*", "*.txt", "*/*.txt", "nope", "nope/*", "a.txt", "[ab]*", "sub", "empty/*", "a.txt/*"]
    found = [[p, sorted(x.removeprefix(folder) for x in g.glob(f"{folder}/{p}"))] for p in patterns]
    several = [x.removeprefix(folder) for x in g.glob([f"{folder}/sub*", f"{folder}/a*"])]
    kinds = [type(x).__name__ for x in g.glob(f"{folder}/a*")]
    urls = [x.removeprefix(f"file://{folder}") for x in g.glob(f"file://{folder}/a*")]
    return [found, several, kinds, urls, error_of(lambda: g.glob("foo://x/*")), error_of(lambda: g.glob(5))]


def making_folders(g: Any, folder: str) -> Any:
    fill(folder)
    out = []
    for name in ("new", "sub", "a.txt", "no/such", "a.txt/x", "new/", ""):
        out.append([name, error_of(lambda: g.mkdir(f"{folder}/{name}"))])  # noqa: B023
    for name in ("x/y/z", "x/y/z", "sub", "a.txt", "a.txt/x", "q/"):
        out.append([name, error_of(lambda: g.makedirs(f"{folder}/{name}"))])  # noqa: B023
    return [out, tree(folder)]


def removing(g: Any, folder: str) -> Any:
    fill(folder)
    os.symlink("a.txt", f"{folder}/link")
    out = []
    for name in ("nope", "sub", "empty", "link", "a.txt", "a.txt", ".hidden/x"):
        out.append([name, error_of(lambda: g.remove(f"{folder}/{name}"))])  # noqa: B023
    return [out, tree(folder)]


def removing_trees(g: Any, folder: str) -> Any:
    fill(folder)
    out = []
    for name in ("nope", "a.txt", "sub", "empty/", ".hidden/x"):
        out.append([name, error_of(lambda: g.rmtree(f"{folder}/{name}"))])  # noqa: B023
    return [out, tree(folder)]


def renaming(g: Any, folder: str) -> Any:
    fill(folder)
    Path(folder, "d.txt").write_text("d")
    out = []
    for src, dst, over in [
        ("nope", "x", False),
        ("a.txt", "d.txt", False),
        ("a.txt", "d.txt", True),
        ("d.txt", "sub", False),
        ("d.txt", "sub", True),
        ("sub", "moved", False),
        ("moved", "empty", False),
        ("moved", "empty", True),
        ("d.txt", "no/such/x", False),
        ("d.txt", "d.txt", False),
        ("d.txt", "d.txt", True),
        ("empty", "d.txt", True),
        ("nope", "d.txt", False),
    ]:
        out.append([src, dst, over, error_of(lambda: g.rename(f"{folder}/{src}", f"{folder}/{dst}", over))])  # noqa: B023
    return [out, tree(folder)]


def copying(g: Any, folder: str) -> Any:
    fill(folder)
    Path(folder, "d.txt").write_text("a longer text than the other one, which must not show")
    out = []
    for src, dst, over in [
        ("nope", "x", False),
        ("nope", "d.txt", True),
        ("a.txt", "d.txt", False),
        ("a.txt", "d.txt", True),
        ("a.txt", "y", True),
        ("a.txt", "z", False),
        ("a.txt", "sub", False),
        ("a.txt", "sub", True),
        ("a.txt", "no/such/x", False),
    ]:
        out.append([src, dst, over, error_of(lambda: g.copy(f"{folder}/{src}", f"{folder}/{dst}", over))])  # noqa: B023
    return [out, tree(folder)]


def statistics(g: Any, folder: str) -> Any:
    fill(folder)
    os.utime(f"{folder}/a.txt", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    found = g.stat(f"{folder}/a.txt")
    out = [found.length, found.is_directory, found.mtime_nsec // 1_000_000_000]
    return [out, g.stat(f"{folder}/sub").is_directory, error_of(lambda: g.stat(f"{folder}/nope"))]


def walking(g: Any, folder: str) -> Any:
    fill(folder)

    def told(**how: Any) -> list[Any]:
        return sorted([top.removeprefix(folder), sorted(d), sorted(f)] for top, d, f in g.walk(folder, **how))

    down = [top.removeprefix(folder) for top, _, _ in g.walk(f"{folder}/sub")]
    up = [top.removeprefix(folder) for top, _, _ in g.walk(f"{folder}/sub", topdown=False)]
    none = [list(g.walk(f"{folder}/nope")), list(g.walk(f"{folder}/a.txt"))]
    return [told(), told(topdown=False), down, up, none, next(g.walk(Path(folder)))[0] == folder]


def joining(g: Any, folder: str) -> Any:
    parts = [("a", "b"), ("a/", "b"), ("a", "/b"), ("s3://x", "b", "c"), ("s3://x/", "b"), ("s3://x", "/b"), ("a",)]
    return [[*p, g.join(*p)] for p in parts] + [g.join("", "b"), str(g.join(Path("a"), "b"))]


def schemes(g: Any, folder: str) -> Any:
    found = g.get_registered_schemes()
    return [isinstance(found, list), "" in found, "file" in found]


CASES: dict[str, Callable[[Any, str], Any]] = {
    case.__name__: case
    for case in (
        *(reading, reading_in_parts_of_characters, reading_errors, seeking, reading_sizes, lines_with_returns),
        *(bad_bytes, modes, writing, reading_what_was_written, after_close, existing, listing, globbing),
        *(making_folders, removing, removing_trees, renaming, copying, statistics, walking, joining, schemes),
    )
}


def outcome(case: str, g: Any) -> Any:
    """What a case gives, as JSON has it."""
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(json.dumps(CASES[case](g, folder)))


if __name__ == "__main__":
    import tensorflow  # type: ignore[import-not-found, unused-ignore]

    RECORDED.write_text(json.dumps({name: outcome(name, tensorflow.io.gfile) for name in CASES}, indent=1) + "\n")
