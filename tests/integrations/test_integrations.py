from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys

import pytest

import feedline as fl

METHODS = ("to_arrow", "to_jax", "to_keras", "to_pandas", "to_torch")


def test_importing_feedline_imports_no_framework() -> None:
    names = "torch", "jax", "keras", "pandas", "pyarrow"
    code = f"import sys, feedline; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_part_of_the_help(name: str) -> None:
    method = getattr(fl.Dataset, name)
    assert f"{name}(self" in pydoc.render_doc(fl.Dataset, renderer=pydoc.plaintext)
    assert next(iter(inspect.signature(method).parameters)) == "self"
    assert callable(getattr(fl.compat.v1.data.Dataset, name))
