"""Records what TensorFlow gives for the expressions in `tests/tf/cases`: run it with a Python that has TensorFlow 2.21.

python -m tests.tf.record            all families
python -m tests.tf.record math image
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import pkgutil
import sys
from pathlib import Path

from tests.tf import cases
from tests.tf.evaluate import result

RECORDED = Path(__file__).parent / "recorded"


def families() -> list[str]:
    """The modules of cases."""
    return sorted(m.name for m in pkgutil.iter_modules(cases.__path__))


def expressions(family: str) -> list[str]:
    """The expressions of a family, each once."""
    made: list[str] = importlib.import_module(f"tests.tf.cases.{family}").CASES
    return list(dict.fromkeys(made))


def main() -> None:
    """Records the families named as arguments, or all."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    for family in sys.argv[1:] or families():
        made = {expression: result(expression, tf) for expression in expressions(family)}
        text = json.dumps(made, separators=(",", ":"), allow_nan=True).encode()
        (RECORDED / f"{family}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
        errors = sum(isinstance(r, dict) and "error" in r for r in made.values())
        print(f"{family}: {len(made)} expressions, {errors} of them errors")


if __name__ == "__main__":
    main()
