"""Makes the types of `v1.data.Dataset` from those of `fl.Dataset`: `python -m tests.typing.v1_methods`.

Datasets made from others are datasets of the graph, too, and arguments may be tensors; else signatures are the same.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import feedline as fl
import feedline.compat.v1 as v1
from feedline.compat.v1.data import dataset

FILE = Path(inspect.getfile(dataset)).with_name("methods.pyi")
READERS = {v1.data.TFRecordDataset, v1.data.TextLineDataset, v1.data.FixedLengthRecordDataset}
KEPT = {"explain", "fingerprint", "options", "as_numpy_iterator", "at", "apply", "monitor", "preview", "profile"}
HEAD = '''\
"""The methods of `v1.data.Dataset` for type checkers; made by tests/typing/v1_methods.py."""

'''
WHERE = {
    "Dataset": "from feedline.compat.v1.data.dataset import Dataset",
    "_Dataset": "from feedline.data.dataset import Dataset as _Dataset",
    "Tensor": "from feedline.compat.v1.tensor import Tensor",
    "NDArray": "from numpy.typing import NDArray",
    "np": "import numpy as np",
    "SparseTensor": "from feedline.structure.sparse import SparseTensor",
    "Source": "from feedline.ops.sources.from_source import Source",
    "Corruption": "from feedline.io.tfrecord.reader import Corruption",
    "Options": "from feedline.data.options import Options",
    **dict.fromkeys(["RayWorkers", "WorkersArgument"], "from feedline.plan.ray_workers import {}"),
    **dict.fromkeys(["Callable", "Mapping", "Sequence"], "from collections.abc import {}"),
    **dict.fromkeys(["Any", "Literal", "Never", "SupportsIndex", "TypeVar", "overload"], "from typing import {}"),
    **dict.fromkeys(
        ["AnyDType", "Filename", "Filenames", "Integer", "K", "Leaf", "R", "S", "T", "Ts", "V"],
        "from feedline.plan.annotations import {}",
    ),
}


def text() -> str:
    """What the file holds."""
    parts = ["class Methods(_Dataset[T_co]):"]
    for name, value in vars(fl.Dataset).items():
        function = value.__func__ if isinstance(value, staticmethod) else value
        if name.startswith("_") or name in KEPT or not inspect.isfunction(function) or name.startswith("to_"):
            continue
        for found in definitions(function):
            parts.append(method(name, found, isinstance(value, staticmethod)))
    parts.append("    def apply(self, transformation_func: Callable[[Any], _Dataset[R]]) -> Dataset[R]: ...")
    for reader in sorted(READERS, key=lambda r: r.__name__):
        (found,) = definitions(vars(getattr(fl, reader.__name__))["__init__"])
        parts += ["", f"class {reader.__name__}Init(Dataset[bytes]):", method("__init__", found, False)]
    body = "\n".join(parts)
    made = ast.unparse(ast.parse(body))
    return HEAD + "\n".join([*imports(made), "", 'T_co = TypeVar("T_co", covariant=True)', "", made, ""])


def definitions(function: Any) -> list[ast.FunctionDef]:
    """How a function is written: its overloads, or else itself."""
    tree = ast.parse(Path(inspect.getfile(function)).read_text())
    everything = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    own = next(node for node in everything if node.lineno == function.__code__.co_firstlineno)
    overloads = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == own.name and n.decorator_list]
    return [n for n in overloads if n is not own] or [own]


def method(name: str, found: ast.FunctionDef, static: bool) -> str:
    """One method, as the graph has it."""
    arguments = found.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in [*every, *filter(None, [arguments.vararg])]:
        if argument.arg == "self" and not static:
            continue
        assert argument.annotation is not None
        if argument.arg != "name":
            argument.annotation = widened(argument.annotation)
    arguments.defaults = [d if isinstance(d, ast.Constant) else ast.Constant(...) for d in arguments.defaults]
    assert found.returns is not None
    returns = ast.unparse(found.returns)
    if name in dataset.VALUES:
        returns = "Any"
    elif returns.startswith("Dataset["):
        returns = "Dataset[" + returns.removeprefix("Dataset[").replace("Dataset[", "_Dataset[")
    marks = ["@overload"] * bool(found.decorator_list) + ["@staticmethod"] * static
    lines = [*marks, f"def {name}({ast.unparse(arguments)}) -> {returns}: ..."]
    return "\n".join("    " + line for line in lines)


def widened(annotation: ast.expr) -> ast.expr:
    """What takes a tensor, too, in place of a value, and any dataset."""
    said = ast.unparse(annotation).replace("Dataset[", "_Dataset[")
    plain = said in ("Any", "object") or "Callable" in said or said.startswith(("Sequence[_Dataset", "_Dataset"))
    plain = plain or said.startswith(("tuple[_Dataset", "dict[K, _Dataset"))
    if not plain:
        none = " | None" * said.endswith(" | None")
        said = f"{said.removesuffix(' | None')} | Tensor{none}"
    return ast.parse(said, mode="eval").body


def imports(made: str, where: dict[str, str] = WHERE) -> list[str]:
    """The imports that the code needs."""
    used = {node.id for node in ast.walk(ast.parse(made)) if isinstance(node, ast.Name)} | {"TypeVar"}
    lines: dict[str, list[str]] = {}
    for name in sorted(used & where.keys()):
        line = where[name]
        start = line.removesuffix("{}") if "{}" in line else line
        lines.setdefault(start, []).extend([name] if "{}" in line else [])
    return [start + ", ".join(names) for start, names in sorted(lines.items())]


if __name__ == "__main__":
    FILE.write_text(text())
