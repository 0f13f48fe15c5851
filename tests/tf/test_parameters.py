"""The parameters of every function of feedline.tf, against TensorFlow's: their names and their order.

Records TensorFlow's if run with a Python that has TensorFlow 2.21:

python -m tests.tf.test_parameters
"""

from __future__ import annotations

import gzip
import importlib.util
import inspect
import json
import os
from pathlib import Path
from typing import Any

_SPEC = importlib.util.spec_from_file_location("names", Path(__file__).parents[2] / "src/feedline/tf/names.py")
assert _SPEC is not None and _SPEC.loader is not None
TABLE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(TABLE)
"""feedline.tf's table of names, which needs none of feedline's dependencies."""
RECORDED = Path(__file__).parent / "recorded" / "parameters.json.gz"
DIFFERENT = {
    **dict.fromkeys(
        [
            *("v1.batch_to_space", "v1.space_to_batch", "v1.math.log_softmax", "v1.nn.log_softmax", "v1.nn.avg_pool2d"),
            *("v1.sparse.add", "v1.sparse.reduce_max", "v1.sparse.split"),
        ],
        "the older name of a parameter is not taken",
    ),
    "as_dtype": "DType is feedline's own class",
    "summary.create_file_writer": "there are no meshes",
    "v1.device": "a function of operations has no meaning",
    "get_collection": "there are no scopes",
    "v1.op_scope": "is name_scope",
    "Graph.unique_name": "there are no names to reserve",
    "TensorArray.grad": "there are no gradients",
    "is_compatible_with": "the method of every spec is one function",
}
"""Functions with other parameters, by the last parts of their names, and why."""
CLASSES = ("errors", "distribute", "train.Checkpoint", "OpError", "Generator", "Strategy", "DType", "ConfigProto")
"""Namespaces and classes that only have what an input pipeline needs."""


def parameters(root: Any, name: str) -> list[str] | None:
    """The parameters of a function or method, without `self`; None if it has no fixed list."""
    for part in name.split("."):
        root = getattr(root, part, None)
    if inspect.ismodule(root) or not callable(root):
        return None
    try:
        found = list(inspect.signature(root).parameters.values())
    except (ValueError, TypeError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
        return None
    return [p.name for p in found if p.name not in ("self", "cls")]


def public(root: Any) -> list[str]:
    """The functions of feedline.tf, and the methods of its classes."""
    found: list[str] = []
    for path in TABLE.NAMES:
        if "errors" in path:
            continue
        for name in TABLE.public(path):
            full = f"{path}.{name}" if path else name
            found.append(full)
            held = root
            for part in full.split("."):
                held = getattr(held, part, None)
            if inspect.isclass(held):
                found += [f"{full}.{m}" for m in vars(held) if not m.startswith("_")]
    return found


def test_parameters_are_tensorflows() -> None:
    import feedline.tf as tf

    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
    wrong = []
    for name in public(tf):
        expected, got = recorded.get(name), parameters(tf, name)
        skipped = any(f".{name}".endswith(f".{d}") for d in DIFFERENT) or any(c in name for c in CLASSES)
        if expected is None or got is None or skipped:
            continue
        if got[: len(expected)] != expected:
            wrong.append(f"{name}: {', '.join(got)}; not {', '.join(expected)}")
    assert not wrong, "\n".join(wrong)


def main() -> None:
    """Records the parameters of what feedline.tf has."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    made = {name: found for name in public(tf) if (found := parameters(tf, name)) is not None}
    RECORDED.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{len(made)} functions")


if __name__ == "__main__":
    main()
