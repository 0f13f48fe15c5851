"""Which kernels are in use, and that both sets are the same set."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from tests.kernels.references import REFERENCES

from feedline import kernels

PACKAGE = Path(kernels.__file__).parent
NAMES = sorted(set(kernels.__all__) - {"NATIVE"})


def run(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)


def test_every_kernel_has_a_reference() -> None:
    for name in NAMES:
        (twin,) = (getattr(module, name) for module in REFERENCES if name in _arguments(module))
        assert inspect.isfunction(twin)
        assert inspect.getdoc(twin)


def test_the_stub_has_the_signatures_of_the_reference() -> None:
    stub = ast.parse((PACKAGE / "_native.pyi").read_text())
    expect = {name: names for module in REFERENCES for name, names in _arguments(module).items()}
    assert _functions(stub) == expect
    assert sorted(expect) == NAMES


def _arguments(module: ModuleType) -> dict[str, list[str]]:
    return _functions(ast.parse(inspect.getsource(module)))


def _functions(tree: ast.Module) -> dict[str, list[str]]:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {f.name: [a.arg for a in f.args.args] for f in functions if not f.name.startswith("_")}


def test_the_environment_chooses_the_reference_silently() -> None:
    done = run("import feedline.kernels as k; print(k.NATIVE, k.philox.__module__)", FEEDLINE_KERNELS="reference")
    assert done.stdout.split() == ["False", "feedline.kernels.reference"]
    assert done.stderr == ""


def test_without_the_extension_it_warns_once() -> None:
    code = """
import importlib.util, sys, warnings
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.endswith("._native") else find(name, *rest)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import feedline.kernels as k
    import feedline.random
print(k.NATIVE, len(seen), seen[0].category.__name__, seen[0].message)
"""
    assert run(code).stdout.strip() == (
        "False 1 RuntimeWarning feedline.kernels: built without the C++ kernels, using the slower NumPy ones"
    )
