"""The rules of the house, as far as a machine can check them. That imports go down only is import-linter's part."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import feedline as fl
import feedline.tf as tf
from feedline.plan.node import Node
from feedline.plan.row_wise import RowWise

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "feedline"
TESTS = ROOT / "tests"

MODULES = ["feedline", *sorted(m.name for m in pkgutil.walk_packages(fl.__path__, "feedline."))]
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

MANY_ATTRIBUTES = 20


# Documentation


def _public() -> dict[str, Any]:
    """What users name: functions and classes in `fl`, `feedline.tf` and their namespaces, and methods of datasets."""
    found: dict[str, Any] = {}
    seen: set[str] = set()

    def walk(holder: Any, path: str) -> None:
        for name in (name for name in dir(holder) if not name.startswith("_")):
            value = inspect.getattr_static(holder, name) if isinstance(holder, type) else getattr(holder, name)
            value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if not str(getattr(value, "__module__", "feedline")).startswith("feedline"):
                continue
            if isinstance(value, ModuleType):
                if value.__name__.startswith("feedline") and value.__name__ not in seen:
                    seen.add(value.__name__)
                    walk(value, f"{path}.{name}")
            elif inspect.isroutine(value) or (isinstance(value, type) and not issubclass(value, Exception)):
                found[f"{path}.{name}"] = value

    walk(fl, "fl")
    walk(tf, "tf")
    walk(fl.Dataset, "fl.Dataset")
    walk(tf.data.Dataset, "tf.data.Dataset")
    return found


def test_public_names_are_documented_with_an_example() -> None:
    found = _public()
    assert len(found) > 1500
    assert [name for name, value in found.items() if ">>> " not in (inspect.getdoc(value) or "")] == []


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str) -> None:
    finder, said = doctest.DocTestFinder(), []
    runner = doctest.DocTestRunner(optionflags=DOCTEST_FLAGS)
    for example in finder.find(importlib.import_module(module), extraglobs={"fl": fl, "np": np}):
        fl.random.set_seed(None)
        runner.run(example, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


# Files


def _files(folder: Path, pattern: str = "*.py") -> list[Path]:
    return sorted(p for p in folder.rglob(pattern) if "__pycache__" not in p.parts)


def test_classes_are_small() -> None:
    """A class with many attributes is several: parts with names of their own."""
    counted = {f"{path.relative_to(SOURCE)}: {c.name}": len(_attributes(c)) for path, c in _classes()}
    found = {name: n for name, n in counted.items() if n > MANY_ATTRIBUTES}
    assert not found, f"more than {MANY_ATTRIBUTES} attributes: {found}"


def _classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path in _files(SOURCE):
        yield from ((path, n) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ClassDef))


def _attributes(of: ast.ClassDef) -> set[str]:
    """What methods of a class assign to `self`."""
    stored = (n for n in ast.walk(of) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return {n.attr for n in stored if isinstance(n.value, ast.Name) and n.value.id == "self"}


def test_each_operator_has_its_test_file() -> None:
    """A file of `ops` is an operator when it defines the function it is named after; others are in `ops/shared`."""
    files = {p.relative_to(SOURCE / "ops").with_suffix("").as_posix() for p in _files(SOURCE / "ops")}
    operators = {name for name in files if _defines_its_name(name)}
    others = {name for name in files - operators if "/" not in name} - {"__init__"}
    assert not others, f"no operators, so they belong to ops/shared: {sorted(others)}"
    tests = {p.relative_to(TESTS / "ops").with_suffix("").as_posix() for p in _files(TESTS / "ops", "test_*.py")}
    tested = {name.replace("test_", "") for name in tests}
    missing = operators - tested
    assert not missing, f"operators without tests/ops/test_<operator>.py: {sorted(missing)}"
    assert tested <= files, f"tests of no file in ops: {sorted(tested - files)}"


def _defines_its_name(file: str) -> bool:
    module = importlib.import_module("feedline.ops." + file.replace("/", "."))
    name = file.rpartition("/")[2]
    return any(inspect.isfunction(getattr(module, n, None)) for n in (name, f"{name}_"))


SHARED_CLASS_NAMES = {
    "Dataset": "tf.data, tf.compat.v1.data and tfds.features have one each",
    "Decoder": "tfds.decode has one, and so do compressed streams",
    "FixedLengthRecordDataset": "the same",
    "Iterator": "the same",
    "RaggedTensor": "fl's has arrays as its parts, tf's has tensors",
    "Scalar": "tfds.features has one, and so do protobuf messages",
    "SparseTensor": "the same as RaggedTensor",
    "TFRecordDataset": "the same as Dataset",
    "TFRecordWriter": "tf.io and tf.data.experimental have one each",
    "Tensor": "a symbolic one in tf.compat.v1, a value in tf, a feature in tfds",
    "TextLineDataset": "the same as Dataset",
}
"""Public names that two classes have."""


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file in _files(SOURCE):
        for statement in ast.parse(file.read_text()).body:
            if isinstance(statement, ast.ClassDef):
                found[statement.name].append(file.relative_to(SOURCE).as_posix())
    several = {name: files for name, files in found.items() if len(files) > 1}
    assert several.keys() == SHARED_CLASS_NAMES.keys(), several


def _contract() -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return text[text.index("## The contract") : text.index("\n## ", text.index("## The contract") + 1)]


def test_the_contract_is_as_small_as_it_is_written() -> None:
    """`Node` and `RowWise` have the members that ARCHITECTURE.md shows."""
    shown = ast.parse(_contract().split("```python")[1].split("```")[0]).body
    for written, made in zip(shown, (Node, RowWise), strict=True):
        assert isinstance(written, ast.ClassDef) and written.name == made.__name__
        names = {s.name if isinstance(s, ast.FunctionDef) else s.targets[0].id for s in written.body}  # type: ignore[attr-defined]
        own = {name for name in vars(made) if not name.startswith("_")} | {"State", "mutable_state"} & names
        inherited = {"State", "begin", "step", "after_error", "reshard"} if made is RowWise else {"element_spec"}
        assert own - inherited == names


def test_every_capability_is_in_the_table() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+) \|$", _contract(), re.MULTILINE)
    shown = {(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)}
    places = {"plan/row_wise.py": SOURCE / "plan/row_wise.py"}
    places |= {f"traits/{p.name}": p for p in _files(SOURCE / "plan" / "traits") if p.name != "__init__.py"}
    found = set()
    for shown_as, path in places.items():
        dotted = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        module = importlib.import_module(dotted)
        kinds = [v for v in vars(module).values() if isinstance(v, type) and v.__module__ == module.__name__]
        found |= {(shown_as, k.__name__) for k in kinds if issubclass(k, Node) and k is not RowWise}
    assert found == {(m, n) for m, n in shown if n != "SeedGenerator"}


def test_the_hooks_are_those_of_the_table() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    shown = set(re.findall(r"`(register\w*)`", text[text.index("through one of these hooks") :]))
    files = (f for f in _files(SOURCE) if "tools" not in f.relative_to(SOURCE).parts)
    names = (n.name for f in files for n in ast.parse(f.read_text()).body if isinstance(n, ast.FunctionDef))
    assert {name for name in names if name.startswith("register")} == shown


OF_OTHERS = {"__attrs_attrs__", "__dataclass_fields__", "__module__", "_children", "_register_atexit", "find_spec"}
OF_OTHERS |= {"_MAX_MEMORY_LEAK_SIZE", "register_at_fork", "sched_getaffinity"}
"""Attributes of objects and modules of Python and loky, which some versions and platforms do not have."""


def test_the_engine_asks_for_no_attribute_by_name() -> None:
    """What a node or a state can do is said by its class."""
    found = set()
    for file in _files(SOURCE / "engine"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("getattr", "hasattr"):
                name = call.args[1]
                found |= {(file.name, name.value)} if isinstance(name, ast.Constant) else set()
    assert {(file, name) for file, name in found if name not in OF_OTHERS} == set()


TEXT = [".cc", ".cfg", ".h", ".json", ".jsonl", ".md", ".py", ".pyi", ".toml", ".txt", ".yml"]


def _texts() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "docs", "bench", "examples")]
    files = [p for folder in folders if folder.is_dir() for p in folder.rglob("*") if p.suffix in TEXT]
    return sorted(p for p in [*files, *ROOT.glob("*.*")] if p.is_file() and p.suffix in TEXT)


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    places = re.compile("|".join(rf"(?<![\w.$])/{top}/\w" for top in ("work", "tmp", "root", "home", "Users")))
    found = [f"{p.relative_to(ROOT)}: {m[0]}" for p in _texts() for m in [places.search(p.read_text())] if m]
    assert not found, f"machine paths: {found}"


def test_no_large_file() -> None:
    large = [p.relative_to(ROOT).as_posix() for p in _texts() if p.stat().st_size >= 1 << 20]
    assert not large, f"1 MiB or more: {large}"


def test_nothing_is_left_for_later_in_the_code() -> None:
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError|pytest\.mark\.(skip|xfail)|pytest\.skip")
    files = [p for p in [*_files(SOURCE), *_files(TESTS)] if p != Path(__file__)]
    found = [f"{p.relative_to(ROOT)}: {m[0]}" for p in files for m in [words.search(p.read_text())] if m]
    assert not found, f"left for later: {found}"


def test_temporary_files_go_where_pytest_removes_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = Path(tempfile.mkdtemp())
    assert made.is_relative_to(tmp_path_factory.getbasetemp())
    code = "import tempfile; print(tempfile.mkdtemp())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(tmp_path_factory.getbasetemp())
