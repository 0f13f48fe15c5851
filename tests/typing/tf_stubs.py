"""Makes the types of `feedline.tf` for type checkers from its table of names: `python -m tests.typing.tf_stubs`."""

from __future__ import annotations

import sys
from pathlib import Path

import feedline.tf
from feedline.tf import names

ROOT = Path(feedline.tf.__file__).parent
METHODS = ROOT / "data" / "methods.pyi"  # made by tf_methods.py
HEAD = '"""The names of `tf{}` for type checkers; made by tests/typing/tf_stubs.py."""\n\n'


def texts() -> dict[Path, str]:
    """What each file holds."""
    paths = {p for path in names.NAMES for p in names.parents(path)} | {""}
    return {_file(path, paths): _text(path) for path in sorted(paths) if path not in names.MODULES}


def _file(path: str, paths: set[str]) -> Path:
    has_parts = not path or any(p.startswith(f"{path}.") for p in paths)
    folder = ROOT.joinpath(*path.split(".")) if path else ROOT
    return folder / "__init__.pyi" if has_parts else folder.with_suffix(".pyi")


def _text(path: str) -> str:
    lines = []
    for shown, (module, defined) in sorted(names.table(path).items()):
        lines.append(f"from {module} import {defined} as {shown}")
    for inside in sorted(names.inside(path)):
        full = f"{path}.{inside}" if path else inside
        if full == "compat.v2":
            continue
        target = names.MODULES.get(full, f"feedline.tf.{full}")
        package, _, name = target.rpartition(".")
        lines.append(f"from {package} import {name} as {inside}")
    shown = [line.rpartition(" ")[2] for line in lines]
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in shown), "]"]
    if not path:
        lines += ["", "__version__: str", "bfloat16: DType"]
    return HEAD.format(f".{path}" if path else "") + "\n".join(lines) + "\n"


def main() -> None:
    """Writes the files."""
    wanted = texts()
    for found in ROOT.rglob("*.pyi"):
        if found not in wanted and found != METHODS:
            found.unlink()
    for file, text in wanted.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
