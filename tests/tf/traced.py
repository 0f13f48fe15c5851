"""The expressions of `tests/tf/cases` as functions of a traced `map`: their arrays become the elements of a dataset.

Records TensorFlow's results if run with a Python that has TensorFlow 2.21:

python -m tests.tf.traced            all families
python -m tests.tf.traced math image
"""

from __future__ import annotations

import ast
import gzip
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.tf.evaluate import arr, img, plain
from tests.tf.record import RECORDED, expressions, families

TRACED = RECORDED / "traced"
_SOURCES = {"arr", "img", "np.array", "np.zeros", "np.ones", "np.arange", "tf.constant", "tf.ragged.constant"}


class _Lift(ast.NodeTransformer):
    """Replaces arrays by parameters."""

    def __init__(self) -> None:
        self.inputs: list[str] = []

    def lifted(self, node: ast.expr) -> ast.expr:
        """A parameter in place of a node."""
        self.inputs.append(ast.unparse(node))
        return ast.Name(f"x{len(self.inputs) - 1}", ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = ast.unparse(node.func)
        if name in _SOURCES:
            return self.lifted(node)
        self.generic_visit(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def traced_families() -> list[str]:
    """The families that are recorded: all but TensorFlow 1's spellings, which call the functions of the others, and
    generators, ragged constants, shapes and dtypes, which are not made in a function.
    """
    return [family for family in families() if family not in ("generators", "ragged", "v1")]


def parts(expression: str) -> tuple[list[str], str]:
    """The arrays in an expression, and the expression with parameters x0, x1 and so on in their place."""
    tree = ast.parse(expression, mode="eval")
    lift = _Lift()
    if isinstance(tree.body, ast.Call):
        call = tree.body
        if ast.unparse(call.func) in ("tf.constant", "tf.ragged.constant", "tf.RaggedTensor.from_row_splits"):
            return [], expression
        if call.args and _is_literal(call.args[0]) and _is_array(ast.unparse(call.args[0])):
            call.args[0] = lift.lifted(call.args[0])
    body = lift.visit(tree)
    return lift.inputs, ast.unparse(ast.fix_missing_locations(body))


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp)) and not any(
        isinstance(n, (ast.Call, ast.Name)) or (isinstance(n, ast.Constant) and n.value is None) for n in ast.walk(node)
    )


def _is_array(source: str) -> bool:
    try:
        array = np.array(eval(source))
    except ValueError:
        return False
    return array.dtype.kind in "bifSU" and array.size > 0


def traced(expression: str, tf: Any) -> dict[str, Any]:
    """What `map` gives for the function of an expression: the spec and the value of its result for one element, the
    spec for elements of unknown sizes, or the class of an error and when it is raised.
    """
    names = {"tf": tf, "np": np, "arr": arr, "img": img}
    inputs, body = parts(expression)
    try:
        given = tuple(_tensor(eval(source, names), tf) for source in inputs) or (tf.constant(0),)
    except Exception as error:
        return {"input": type(error).__name__}
    count = max(len(inputs), 1)
    function = eval(f"lambda {', '.join(f'x{i}' for i in range(count))}: {body}", names)
    convert = tf.autograph.experimental.do_not_convert(function)
    made: dict[str, Any] = {}
    source = tf.data.Dataset.from_tensors(given)
    try:
        ds = source.map(convert)
    except Exception as error:
        return {"construction": _kind(error)}
    try:
        made["spec"] = spec(ds.element_spec)
    except Exception as error:
        made["spec"] = _kind(error)
    try:
        made["value"] = plain(next(iter(ds)))
    except Exception as error:
        made["value"] = _kind(error)
    made["open"] = _opened(given, convert, tf)
    return made


def _opened(given: tuple[Any, ...], function: Any, tf: Any) -> Any:
    """The spec of the result for elements whose sizes are not known."""
    if not all(isinstance(x, tf.Tensor) for x in given):
        return None
    signature = tuple(tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in given)
    try:
        source = tf.data.Dataset.from_generator(lambda: iter([given]), output_signature=signature)
        return spec(source.map(function).element_spec)
    except Exception as error:
        return _kind(error)


def _tensor(value: Any, tf: Any) -> Any:
    return value if isinstance(value, tf.RaggedTensor) else tf.constant(value)


def _kind(error: Exception) -> dict[str, Any]:
    return {"error": type(error).__name__, "bases": [c.__name__ for c in type(error).__mro__[1:-2]]}


def spec(value: Any) -> Any:
    """A spec in the form that is recorded."""
    if isinstance(value, Mapping):
        return {str(k): spec(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [spec(v) for v in value]
    kind = type(value).__name__
    if not hasattr(value, "shape"):
        return [kind]
    shape = None if value.shape.rank is None else value.shape.as_list()
    more = [value.ragged_rank, value.row_splits_dtype.name] if "Ragged" in kind else []
    return [kind, value.dtype.name, shape, *more]


def main() -> None:
    """Records the families named as arguments, or all."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    TRACED.mkdir(exist_ok=True)
    for family in sys.argv[1:] or traced_families():
        eager = json.loads(gzip.decompress((RECORDED / f"{family}.json.gz").read_bytes()))
        made = {expression: traced(expression, tf) for expression in expressions(family)}
        for expression, found in made.items():  # a value that is the same as without `map` is recorded once
            if found.get("value") == eager[expression]:
                del found["value"]
        text = json.dumps(made, separators=(",", ":"), allow_nan=True).encode()
        (TRACED / f"{family}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
        errors = sum("construction" in r for r in made.values())
        print(f"{family}: {len(made)} expressions, {errors} of them errors at construction", flush=True)


if __name__ == "__main__":
    main()
