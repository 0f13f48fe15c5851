"""`python -m feedline.tf check train.py`: the names of TensorFlow in a script or notebook, and what each is here.

Nothing of the script is run: names are found in its syntax tree, through import aliases, variables that stand for a
module, and chains of dataset methods.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import inspect
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from feedline.data.dataset import Dataset
from feedline.io.files import read_file
from feedline.tf import notes

Kind = Literal["missing", "differs", "model", "runs"]
KINDS: dict[Kind, str] = {
    "missing": "missing",
    "differs": "differs",
    "model": "part of the model, not of the input pipeline",
    "runs": "runs",
}
LOADERS = (
    "audio_dataset_from_directory",
    "image_dataset_from_directory",
    "pad_sequences",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
)
_DATASET = "tensorflow.data.Dataset"
_DATASET_1 = "tensorflow.compat.v1.data.Dataset"
_NO_DATASETS = (
    "as_numpy_iterator",
    "cardinality",
    "get_single_element",
    "make_initializable_iterator",
    "make_one_shot_iterator",
    "options",
    "reduce",
    "save",
)
"""Methods of a dataset whose result is none."""
_WIDTH = 100


class Place(NamedTuple):
    """A line of a script, or of a cell of a notebook; both are counted from 1."""

    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return str(self.line) if self.cell is None else f"{self.cell}:{self.line}"


class Use(NamedTuple):
    """One use of a name: its full path, such as `tensorflow.image.resize`, and the keywords it is called with."""

    path: str
    place: Place
    keywords: tuple[str, ...] = ()


class Import(NamedTuple):
    """An import of TensorFlow, and what to write for it."""

    place: Place
    written: str
    instead: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """A name of TensorFlow, what it is here, and where it is used."""

    name: str
    kind: Kind
    note: str
    places: tuple[Place, ...]


@dataclasses.dataclass(frozen=True)
class Checked:
    """What was found in one file."""

    path: str
    imports: tuple[Import, ...]
    findings: tuple[Finding, ...]
    problems: tuple[str, ...] = ()
    """Parts that are not Python, and were left out."""

    def count(self, kind: Kind) -> int:
        """The number of names of a kind."""
        return sum(f.kind == kind for f in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        made = dataclasses.asdict(self)
        made["imports"] = [{**i._asdict(), "place": i.place._asdict()} for i in self.imports]
        made["findings"] = [{**f, "places": [p._asdict() for p in f["places"]]} for f in made["findings"]]
        return made


def check_file(path: str) -> Checked:
    """The names of TensorFlow in a script, or in a notebook (`.ipynb`).

    >>> import tempfile
    >>> from feedline.tf.check import check_file
    >>> path = f"{tempfile.mkdtemp()}/train.py"
    >>> with open(path, "w") as file:
    ...     _ = file.write("import tensorflow as tf\\nx = tf.cast(1, tf.int64)")
    >>> [(f.name, f.kind) for f in check_file(path).findings]
    [('tf.cast', 'runs'), ('tf.int64', 'runs')]
    """
    text = read_file(path).decode("utf-8", "replace").removeprefix("\ufeff")
    return check_notebook(text, path) if path.endswith(".ipynb") else check_source(text, path)


def check_source(text: str, path: str = "<script>") -> Checked:
    """The names of TensorFlow in the text of a script.

    >>> from feedline.tf.check import check_source
    >>> check_source("import tensorflow as tf; tf.image.sobel_edges").findings[0].note
    'use tf.nn.depthwise_conv2d with the two Sobel filters'
    """
    return _checked(path, [(None, text)])


def check_notebook(text: str, path: str = "<notebook>") -> Checked:
    """The names of TensorFlow in the code cells of a notebook.

    >>> import json
    >>> from feedline.tf.check import check_notebook
    >>> cells = [{"cell_type": "code", "source": ["!pip install x\\n", "import tensorflow as tf\\n", "tf.print(1)"]}]
    >>> check_notebook(json.dumps({"cells": cells})).findings[0].places
    (Place(line=3, cell=1),)
    """
    try:
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        sources = [c["source"] if isinstance(c["source"], str) else "".join(c["source"]) for c in cells]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return Checked(path, (), (), (f"not a notebook: {type(error).__name__}: {error}",))
    return _checked(path, [(n, _without_magics(source)) for n, source in enumerate(sources, 1)])


def _without_magics(source: str) -> str:
    """A cell without IPython's own lines: `!pip install`, `%matplotlib inline`, `name?`."""
    if source.lstrip().startswith("%%"):
        return ""
    lines = []
    for line in source.split("\n"):
        code = line.strip()
        own = code.startswith(("!", "%", "?")) or code.endswith("?")
        lines.append(line[: len(line) - len(line.lstrip())] + "pass" if own else line)
    return "\n".join(lines)


def _checked(path: str, parts: Iterable[tuple[int | None, str]]) -> Checked:
    trees: list[tuple[int | None, ast.Module]] = []
    problems = []
    for cell, text in parts:
        try:
            trees.append((cell, ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, SyntaxError) else None
            where = str(Place(line or 1, cell))
            problems.append(f"line {where} is not Python: {error.msg if isinstance(error, SyntaxError) else error}")
    names = _Names([tree for _, tree in trees])
    imports: list[Import] = []
    uses: list[Use] = []
    for cell, tree in trees:
        imports += _imports(tree, cell)
        finder = _Uses(names, cell)
        finder.visit(tree)
        uses += finder.found
    return Checked(path, tuple(imports), tuple(_findings(uses)), tuple(problems))


# Names in a syntax tree


class _Names:
    """What the names of a program stand for: modules and members of TensorFlow, and datasets."""

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self.paths: dict[str, str] = {}
        self.datasets: set[str] = set()
        nodes = [node for tree in trees for node in ast.walk(tree)]
        for node in nodes:
            self.paths.update(_imported(node))
        roots = {".".join(path.split(".")[:3]) for path in self.paths.values() if path.startswith("tensorflow.")}
        self.of_tensorflow_1 = roots == {"tensorflow.compat.v1"} and "tensorflow" not in self.paths.values()
        stored = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        stored.update(n.arg for n in nodes if isinstance(n, ast.arg))
        assigned = [(target, n.value) for n in nodes if isinstance(n, ast.Assign) and (target := _target(n))]
        for name, value in assigned:
            path = self.path_of(value)
            if path is not None and stored[name] == 1 and name not in self.paths:
                self.paths[name] = path
        for _ in range(2):  # a dataset may be assigned from one that is assigned below
            self.datasets.update(name for name, value in assigned if self.is_dataset(value))

    def path_of(self, node: ast.AST) -> str | None:
        """The full path of a name or a chain of attributes, None if it is not TensorFlow's."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.paths:
            return None
        return ".".join([self.paths[node.id], *reversed(attributes)])

    def is_dataset(self, node: ast.AST) -> bool:
        """Whether an expression is a dataset, as far as its syntax shows."""
        if isinstance(node, ast.Name):
            return node.id in self.datasets
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
            return False
        path = self.path_of(node.func)
        if path is not None:
            last = path.rpartition(".")[2]
            return (".data." in path and (".Dataset." in path or last.endswith("Dataset"))) or last in LOADERS
        return (
            isinstance(node.func, ast.Attribute)
            and node.func.attr not in _NO_DATASETS
            and self.is_dataset(node.func.value)
        )


def _target(node: ast.Assign) -> str:
    """The name that a statement assigns to; empty if it is not a single name."""
    target = node.targets[0]
    return target.id if len(node.targets) == 1 and isinstance(target, ast.Name) else ""


_HERE = ("feedline.tf", "feedline.tfds", "feedline.keras")
_ROOTS = ("tensorflow", "tensorflow_datasets", "keras", *_HERE, *notes.PACKAGES)


def _of_interest(module: str) -> bool:
    return any(module == root or module.startswith(f"{root}.") for root in _ROOTS)


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import statement binds, and their paths."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if _of_interest(alias.name):
                yield (alias.asname, alias.name) if alias.asname else ((first := alias.name.split(".")[0]), first)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        for alias in node.names:
            path = f"{node.module}.{alias.name}"
            if alias.name != "*" and _of_interest(path):
                yield alias.asname or alias.name, path


class _Uses(ast.NodeVisitor):
    """Finds the uses of TensorFlow's names."""

    def __init__(self, names: _Names, cell: int | None) -> None:
        self.found: list[Use] = []
        self._names, self._cell = names, cell
        self._hidden: list[set[str]] = []

    def _add(self, path: str, node: ast.expr, keywords: tuple[str, ...] = ()) -> None:
        self.found.append(Use(path, Place(node.lineno, self._cell), keywords))

    def _path(self, node: ast.AST) -> str | None:
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        hidden = isinstance(first, ast.Name) and any(first.id in names for names in self._hidden)
        return None if hidden else self._names.path_of(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A call: its keywords are checked, too."""
        keywords = tuple(k.arg for k in node.keywords if k.arg is not None)
        if isinstance(node.func, (ast.Attribute, ast.Name)) and (path := self._path(node.func)) is not None:
            self._add(path, node.func, keywords)
        elif isinstance(node.func, ast.Attribute) and self._is_method(node.func):
            self._add(self._method(node.func.attr), node.func, keywords)
            self.visit(node.func.value)
        else:
            self.visit(node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A chain of attributes, which is one name if it begins with one of TensorFlow's."""
        path = self._path(node)
        if path is not None:
            self._add(path, node)
            return
        if self._is_method(node) or node.attr in notes.ATTRIBUTES:
            self._add(self._method(node.attr), node)
        self.visit(node.value)

    def _method(self, name: str) -> str:
        """The path of a dataset's attribute: of TensorFlow 1's datasets if the program has no others."""
        old = name in notes.ATTRIBUTES and self._names.of_tensorflow_1
        return f"{_DATASET_1 if old else _DATASET}.{name}"

    def _is_method(self, node: ast.Attribute) -> bool:
        """Whether an attribute is a dataset's. A variable that holds a dataset may hold something else later on: of its
        attributes, only those count that datasets have.
        """
        if not self._names.is_dataset(node.value):
            return False
        return not isinstance(node.value, ast.Name) or hasattr(Dataset, node.attr) or node.attr in notes.ATTRIBUTES

    def visit_Name(self, node: ast.Name) -> None:
        """A name by itself."""
        if isinstance(node.ctx, ast.Load) and (path := self._path(node)) is not None:
            self._add(path, node)

    def _scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        body = node.body if isinstance(node.body, list) else []
        stored = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        imported = {name for s in body for n in ast.walk(s) for name, _ in _imported(n)}
        alias = {name for name in stored if name in self._names.paths and name not in arguments}
        assigned_here = {n for n in alias if not _only_alias(body, n, self._names)}
        self._hidden.append((arguments | assigned_here) - imported)
        self.generic_visit(node)
        self._hidden.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function: its arguments and variables hide names of the module."""
        self._scope(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same."""
        self._scope(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """The same."""
        self._scope(node)


def _only_alias(body: list[ast.stmt], name: str, names: _Names) -> bool:
    """Whether a local variable has the same meaning as the global one of that name."""
    values = [n.value for s in body for n in ast.walk(s) if isinstance(n, ast.Assign) and _target(n) == name]
    return bool(values) and all(names.path_of(v) == names.paths[name] for v in values)


# Imports, and what to write for them


def _imports(tree: ast.Module, cell: int | None) -> list[Import]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                instead = _import_instead(alias.name, alias.asname)
                if instead:
                    found.append(Import(Place(node.lineno, cell), ast.unparse(ast.Import([alias])), instead))
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            instead = _from_instead(node.module, node.names)
            if instead:
                found.append(Import(Place(node.lineno, cell), ast.unparse(node), instead))
    return sorted(found)


def _import_instead(module: str, name: str | None) -> str:
    root, _, rest = module.partition(".")
    if root == "tensorflow_datasets" and rest in ("", "public_api"):
        return f"from feedline import tfds{f' as {name}' if name and name != 'tfds' else ''}"
    if root != "tensorflow":
        return ""
    if rest == "keras" or rest.startswith("keras."):
        return f"import {rest}{f' as {name}' if name else ''}"
    if rest.split(".")[0] == "python":
        return ""
    return f"import feedline.tf{f'.{rest}' if rest else ''} as {name or 'tensorflow'}"


def _from_instead(module: str, names: list[ast.alias]) -> str:
    listed = ", ".join(ast.unparse(n) for n in names)
    root, _, rest = module.partition(".")
    if root == "tensorflow_datasets":
        return f"from feedline.tfds{f'.{rest}' if rest else ''} import {listed}"
    if module == "keras.utils" and any(n.name in LOADERS for n in names):
        return f"from feedline.keras.utils import {', '.join(ast.unparse(n) for n in names if n.name in LOADERS)}"
    if root != "tensorflow" or rest.split(".")[0] == "python":
        return ""
    if rest.split(".")[0] == "keras" and not all(n.name in LOADERS for n in names):
        return f"from {rest} import {listed}"
    if not rest and any(n.name == "keras" for n in names):
        others = [n for n in names if n.name != "keras"]
        more = f"from feedline.tf import {', '.join(ast.unparse(n) for n in others)}; " if others else ""
        return f"{more}import keras"
    return f"from feedline.tf{f'.{rest}' if rest else ''} import {listed}"


# What names are here


def _findings(uses: Iterable[Use]) -> list[Finding]:
    found: dict[tuple[str, Kind, str], list[Place]] = {}
    for use in uses:
        for name, kind, note in _found(use):
            found.setdefault((name, kind, note), []).append(use.place)
    order = list(KINDS)
    made = [Finding(*key, tuple(dict.fromkeys(sorted(places)))) for key, places in found.items()]
    return sorted(made, key=lambda f: (order.index(f.kind), f.name))


def _found(use: Use) -> Iterator[tuple[str, Kind, str]]:
    """What a use is here; nothing if it is not TensorFlow's."""
    root, _, rest = use.path.partition(".")
    if root == "feedline":
        root, _, rest = rest.partition(".")
        root = {"tf": "tensorflow", "tfds": "tensorflow_datasets"}.get(root, root)
    if root in notes.PACKAGES:
        yield root, "missing", notes.PACKAGES[root]
    elif root == "keras":
        loader = rest.rpartition(".")[2]
        if loader in LOADERS:
            yield from _member(f"keras.utils.{loader}", "feedline.keras.utils", loader, use)
    elif root == "tensorflow_datasets" and rest not in ("", "public_api"):
        rest = rest.removeprefix("public_api.")
        yield from _member(f"tfds.{rest}", "feedline.tfds", rest, use)
    elif root == "tensorflow" and (rest := _without_flag(_second(rest))):
        yield from _member(f"tf.{rest}", "feedline.tf", rest, use)


def _without_flag(rest: str) -> str:
    """A name without the flag of the script in it: `flags.FLAGS.batch_size`."""
    before, found, _ = rest.partition("flags.FLAGS.")
    return before + found.removesuffix(".")


def _second(rest: str) -> str:
    """A name of TensorFlow 2 without `compat.v2`."""
    for prefix in ("compat.v1.compat.v2", "compat.v2"):
        if rest == prefix or rest.startswith(f"{prefix}."):
            return rest.removeprefix(prefix).removeprefix(".")
    return rest


def _member(shown: str, module: str, rest: str, use: Use) -> Iterator[tuple[str, Kind, str]]:
    reached = _reached(importlib.import_module(module), rest.split("."))
    if module == "feedline.tf":
        yield from _of_tensorflow(shown, rest, reached, use.keywords)
    elif reached is None:
        yield shown, "missing", _MISSING_ELSEWHERE.get(shown.split(".")[0], "")
    else:
        note = _ELSEWHERE.get(shown, "")
        yield from _with_keywords(shown, "differs" if note else "runs", note, reached[0], use.keywords)


_MISSING_ELSEWHERE = {"tfds": "feedline.tfds reads folders that tfds has made; what makes or shows them is tfds's own"}
_ELSEWHERE = {
    "tfds.load": "reads a folder that tfds has made (data_dir); nothing is downloaded",
    "tfds.builder": "reads a folder that tfds has made (data_dir); nothing is downloaded",
}


def _reached(root: object, parts: Sequence[str]) -> tuple[Any] | None:
    """The member of a module, in a tuple; None if there is none. One that needs a package that is not here is None."""
    found: Any = root
    for part in parts:
        try:
            found = getattr(found, part)
        except AttributeError:
            return None
        except ImportError:
            return (None,)
    return (found,)


def _of_tensorflow(
    shown: str, rest: str, reached: tuple[Any] | None, keywords: Sequence[str]
) -> Iterator[tuple[str, Kind, str]]:
    last = rest.rpartition(".")[2]
    if reached is not None:
        note = notes.of_present(rest)
        kind: Kind
        kind, text = ("differs", note.text) if note else ("runs", "")
        yield from _with_keywords(shown, kind, text, reached[0], keywords)
        return
    if rest.startswith("data.Dataset.") and last in notes.ATTRIBUTES:
        yield shown, "differs", notes.ATTRIBUTES[last]
        return
    import feedline.tf as tf

    if not rest.startswith("compat.") and _reached(tf.compat.v1, rest.split(".")) is not None:
        yield shown, "differs", f"TensorFlow 1's: tf.compat.v1.{rest}, or import feedline.tf.compat.v1 as tf"
        return
    missing = notes.of_missing(rest)
    yield shown, missing.kind, "a dataset has no such method" if rest.startswith("data.Dataset.") else missing.text


def _with_keywords(
    shown: str, kind: Kind, note: str, function: Any, keywords: Sequence[str]
) -> Iterator[tuple[str, Kind, str]]:
    """The name, and each keyword that its function does not take."""
    yield shown, kind, note
    if not keywords or not callable(function):
        return
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for keyword in keywords:
            if keyword not in {p.name for p in parameters}:
                yield f"{shown}({keyword}=)", "missing", "the function is here, but without this argument"


# The command


def report(checked: Checked) -> str:
    """What was found in a file, as text.

    >>> from feedline.tf.check import check_source, report
    >>> print(report(check_source("import tensorflow as tf\\ntf.io.read_file(tf.constant('a'))", "a.py")))
    a.py: 2 names of TensorFlow
      write
        1  import feedline.tf as tf
      runs
        2  tf.constant, tf.io.read_file
    """
    n = len(checked.findings)
    lines = [f"{_printable(checked.path)}: {n} {'name' if n == 1 else 'names'} of TensorFlow"]
    lines += [f"  {problem}" for problem in checked.problems]
    if checked.imports:
        lines.append("  write")
        width = max(len(str(i.place)) for i in checked.imports)
        lines += [f"    {i.place!s:>{width}}  {i.instead}" for i in checked.imports]
    for kind, title in KINDS.items():
        of_kind = [f for f in checked.findings if f.kind == kind]
        if of_kind:
            lines.append(f"  {title}")
            lines += _listed(of_kind) if kind != "runs" else _in_short(of_kind)
    return "\n".join(lines)


def _printable(text: str) -> str:
    """A file name with escapes for characters that a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _listed(findings: list[Finding]) -> list[str]:
    """Findings with their notes; those with the same note together."""
    by_note: dict[str, list[Finding]] = {}
    for finding in findings:
        by_note.setdefault(finding.note, []).append(finding)
    lines = []
    for note, group in by_note.items():
        lines += [f"    {f.name}  {_places(f.places)}" for f in group]
        lines += textwrap.wrap(note, _WIDTH, initial_indent="        ", subsequent_indent="        ")
    return lines


def _places(places: Sequence[Place], most: int = 8) -> str:
    shown = ", ".join(map(str, places[:most]))
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return f"{'line' if len(places) == 1 else 'lines'} {shown}{more}"


def _in_short(findings: list[Finding]) -> list[str]:
    text = ", ".join(f.name for f in findings)
    first = f"    {len(findings)}  "
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False)


def summary(files: Sequence[Checked]) -> str:
    """One line over all files.

    >>> from feedline.tf.check import check_source, summary
    >>> summary([check_source("import tensorflow as tf; tf.cast, tf.GradientTape")])
    '2 names: 1 run, 0 differ, 0 missing, 1 of the model'
    """
    runs, differ, missing, model = (_total(files, kind) for kind in ("runs", "differs", "missing", "model"))
    names = runs + differ + missing + model
    return f"{names} names: {runs} run, {differ} differ, {missing} missing, {model} of the model"


def _total(files: Sequence[Checked], kind: Any) -> int:
    return len({f.name for c in files for f in c.findings if f.kind == kind})


def run(paths: Sequence[str], as_json: bool = False) -> int:
    """Checks files and prints what was found. The exit status is 0 if no name of the input pipelines is missing, 1 if
    some are, 2 if a file cannot be read.

    >>> import tempfile
    >>> from feedline.tf.check import run
    >>> path = f"{tempfile.mkdtemp()}/input.py"
    >>> with open(path, "w") as file:
    ...     _ = file.write("import tensorflow as tf")
    >>> run([path])
    /.../input.py: 0 names of TensorFlow
      write
        1  import feedline.tf as tf
    0 names: 0 run, 0 differ, 0 missing, 0 of the model
    0
    """
    files, status = [], 0
    for path in paths:
        try:
            files.append(check_file(path))
        except Exception as error:
            if sys.stderr is not None:  # else `print` would write to standard output
                print(_printable(f"{path}: {error}"), file=sys.stderr)
            status = 2
    if as_json:
        kinds: dict[str, int] = {kind: _total(files, kind) for kind in KINDS}
        print(json.dumps({"files": [c.as_dict() for c in files], "summary": kinds}, indent=2))
    elif files:
        print("\n\n".join(report(c) for c in files))
        print(summary(files))
    if any(c.problems for c in files):
        status = 2
    return status or int(any(c.count("missing") for c in files))


def register(commands: Any) -> None:
    """Adds the command to a parser of arguments."""
    parser = commands.add_parser("check", help="list the names of TensorFlow in scripts, and what each is here")
    parser.add_argument("path", nargs="+", help="a script, or a notebook (.ipynb)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=lambda arguments: run(arguments.path, arguments.json))


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m feedline.tf`; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m feedline.tf")
    register(parser.add_subparsers(dest="command", required=True, metavar="command"))
    arguments = parser.parse_args(argv)
    status: int = arguments.run(arguments)
    return status
