"""Makes the types of `tf.data.Dataset` from those of `fl.Dataset`: `python -m tests.typing.tf_methods`.

Elements and results are tensors, functions get and return them, and datasets made from others are datasets of tensors.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from tests.typing import v1_methods
from tests.typing.v1_methods import definitions, imports

import feedline as fl
from feedline.data import readers
from feedline.tf.data import dataset

FILE = Path(inspect.getfile(dataset)).with_name("methods.pyi")
READERS = ["CsvDataset", "FixedLengthRecordDataset", "SqlDataset", "TFRecordDataset", "TextLineDataset"]
KEPT = {"apply", "explain", "fingerprint", "options", "monitor", "preview", "profile"}
HEAD = '"""The methods of `tf.data.Dataset` for type checkers; made by tests/typing/tf_methods.py."""\n\n'
WHERE = v1_methods.WHERE | {
    "Dataset": "from feedline.tf.data.dataset import Dataset",
    "NumpyIterator": "from feedline.data.iterator import NumpyIterator",
    "SparseTensor": "from feedline.tf.sparse_ops import SparseTensor",
    "Tensor": "from feedline.tf.tensor import Tensor",
}
LEAVES = {"bytes", "np.int64", "np.uint64", "S", "Leaf"}
"""Types of leaves, in whose place there are tensors."""


def text() -> str:
    """What the file holds."""
    parts = ["class Methods(_Dataset[T_co]):"]
    for name, value in vars(fl.Dataset).items():
        function = value.__func__ if isinstance(value, staticmethod) else value
        if name.startswith("_") or name in KEPT or not inspect.isfunction(function) or name.startswith("to_"):
            continue
        for found in {method(name, d, isinstance(value, staticmethod)): d for d in definitions(function)}:
            parts.append(found)
    parts.append("    def apply(self, transformation_func: Callable[[Any], _Dataset[R]]) -> Dataset[R]: ...")
    tree = ast.parse(Path(inspect.getfile(readers)).read_text())
    bases = {node.name: node.bases[0] for node in tree.body if isinstance(node, ast.ClassDef)}
    for reader in READERS:
        (found,) = definitions(vars(getattr(readers, reader))["__init__"])
        base = ast.unparse(Elements(False).visit(bases[reader]))
        parts += ["", f"class {reader}({base}):", method("__init__", found, False)]
    made = ast.unparse(ast.parse("\n".join(parts)))
    return HEAD + "\n".join([*imports(made, WHERE), "", 'T_co = TypeVar("T_co", covariant=True)', "", made, ""])


class Elements(ast.NodeTransformer):
    """A type with tensors in place of leaves. Datasets are of tensors, but what is `given` may be any dataset."""

    def __init__(self, given: bool) -> None:
        self.given = given

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr):
            said = ast.unparse(node)
            if said in LEAVES or said.startswith("NDArray["):
                return ast.Name("Tensor")
            if said == "Dataset" and self.given:
                return ast.Name("_Dataset")
            if isinstance(node, ast.Subscript) and said.startswith("Callable[["):
                takes, returns = node.slice.elts  # type: ignore[attr-defined]
                takes.elts = [Elements(False).visit(part) for part in takes.elts]
                node.slice = ast.Tuple([takes, Elements(True).visit(returns)])
                return node
        return super().generic_visit(node)


def method(name: str, found: ast.FunctionDef, static: bool) -> str:
    """One method, as datasets of tensors have it."""
    arguments = found.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.vararg])]:
        if argument.annotation is None or argument.arg == "name":
            continue
        if argument.arg == "self":
            argument.annotation = None if name == "__init__" else Elements(False).visit(argument.annotation)
        else:
            argument.annotation = taken(argument.annotation)
    arguments.defaults = [d if isinstance(d, ast.Constant) else ast.Constant(...) for d in arguments.defaults]
    assert found.returns is not None
    returns = ast.unparse(Elements(False).visit(found.returns))
    if name == "as_numpy_iterator":
        returns = "NumpyIterator[Any]"
    marks = ["@overload"] * bool(found.decorator_list) + ["@staticmethod"] * static
    return "\n".join("    " + line for line in [*marks, f"def {name}({ast.unparse(arguments)}) -> {returns}: ..."])


def taken(annotation: ast.expr) -> ast.expr:
    """What an argument may be: a tensor in place of a value, and any dataset."""
    said = ast.unparse(annotation)
    if "Dataset[" in said or "Callable[" in said:
        made: ast.expr = Elements(True).visit(annotation)
        return made
    return v1_methods.widened(annotation)


if __name__ == "__main__":
    FILE.write_text(text())
