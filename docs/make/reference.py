"""Generates the API reference from the docstrings, the page of examples, and links to names of the API in all pages.

MkDocs calls the functions that begin with `on_`; `pages()` returns the pages.
"""

from __future__ import annotations

import ast
import enum
import inspect
import posixpath
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import feedline as fl
from feedline.compat import v1
from feedline.data import readers
from feedline.io.record_file import Sample
from feedline.reports.measured import Report
from feedline.structure.spec import TypeSpec
from feedline.structure.types import DType
from feedline.train.message import Message

EXAMPLES = Path(__file__).parents[2] / "examples"
WIDTH = 88
CONSTANT = (DType, int, str)  # documented in a table, not one by one


class Page(NamedTuple):
    """One page of the reference: its title, its introduction, and the names on it."""

    title: str
    intro: str
    names: list[tuple[str, Any]]


FILES = [*readers.__all__, "Source", "from_ray_dataset"]
ITERATORS = ["Iterator", "NumpyIterator", "replay"]
OPTIONS = ["Options", "ThreadingOptions", "RayWorkers"]
OTHER_OPTIONS = [
    "AutotuneOptions",
    "AutotuneAlgorithm",
    "OptimizationOptions",
    "DistributeOptions",
    "AutoShardPolicy",
    "ExternalStatePolicy",
    "ServiceOptions",
]
GROUPS = {
    "Sources": [
        "from_tensor_slices", "from_tensors", "from_generator", "from_source", "range", "counter", "random",
        "list_files", "load",
    ],
    "Functions": ["map", "filter", "flat_map", "interleave", "scan", "reduce", "parse", "apply", "ignore_errors"],
    "Batches": [
        "batch", "padded_batch", "ragged_batch", "sparse_batch", "bucket_by_sequence_length", "rebatch", "unbatch",
        "window", "group_by_window",
    ],
    "Order and selection": [
        "shuffle", "global_shuffle", "repeat", "take", "skip", "take_while", "shard", "enumerate", "unique",
        "rejection_resample",
    ],
    "Several datasets": ["zip", "concatenate", "choose_from_datasets", "sample_from_datasets"],
    "Speed and storage": ["prefetch", "cache", "snapshot", "save", "distribute", "with_options", "options"],
    "Results": [
        "to_torch", "to_jax", "to_keras", "to_pandas", "to_arrow", "to_ray_dataset", "as_numpy_iterator", "at",
        "get_single_element",
    ],
}  # fmt: skip
"""The methods of `Dataset` by purpose."""
OTHERS = "Inspection"
"""The group of all methods that are in none of them."""
MANY = 6
"""A page with so many names starts with a table of them."""
BOOST = {"fl.Dataset": 4, "fl.compat.v1": 0.5}
"""How much a page counts in a search, where it is not 1."""


@cache
def pages() -> dict[str, Page]:
    """Every page by path."""
    top = {name: getattr(fl, name) for name in fl.__all__ if not inspect.ismodule(getattr(fl, name))}
    placed = {"Dataset", *FILES, *ITERATORS, *OPTIONS}
    values = [name for name in top if name not in placed]

    def of(names: list[str]) -> list[tuple[str, Any]]:
        return [(f"fl.{name}", top[name]) for name in names if name in top]

    def module(path: str, value: Any, names: list[str] | None = None) -> list[tuple[str, Any]]:
        found = value.__all__ if names is None else names
        return [(f"{path}.{n}", getattr(value, n)) for n in found if not inspect.ismodule(getattr(value, n))]

    old = [name for name in v1.__all__ if getattr(v1, name) is not getattr(fl, name, None)]
    raised = [n for n, v in vars(fl.errors).items() if inspect.isclass(v) and issubclass(v, Exception)]
    structures = [n for s in (fl.ragged, fl.sparse) for n in _functions(s)]
    made = {
        "dataset": Page("fl.Dataset", "", of(["Dataset"])),
        "files": Page(
            "Datasets of files",
            "Each of these is a `fl.Dataset`. CSV files and databases are in [fl.experimental](experimental.md).",
            of(FILES),
        ),
        "iterators": Page("Iterators", "", [*of(ITERATORS), ("Sample", Sample), ("Report", Report)]),
        "options": Page("Options", "", of(OPTIONS) + module("fl.experimental", fl.experimental, OTHER_OPTIONS)),
        "values": Page("Types and values", "", [*of(values), *structures, ("TypeSpec", TypeSpec)]),
        "experimental": Page(
            "fl.experimental",
            "The names of `tf.data.experimental`. Its options are on [their own page](options.md).",
            module("fl.experimental", fl.experimental),
        ),
        "io": Page("fl.io", "", module("fl.io", fl.io)),
        "gfile": Page("fl.io.gfile", "", module("fl.io.gfile", fl.io.gfile)),
        "train": Page("fl.train", "", [*module("fl.train", fl.train), ("Message", Message)]),
        "image": Page("fl.image", "", module("fl.image", fl.image)),
        "random": Page("fl.random", "", module("fl.random", fl.random)),
        "keras_utils": Page(
            "fl.keras.utils",
            "See [Keras's loaders](../guide/keras_loaders.md).",
            module("fl.keras.utils", fl.keras.utils),
        ),
        "tfds": Page(
            "fl.tfds",
            "See [TensorFlow Datasets](../guide/tfds.md).",
            [
                *module("fl.tfds", fl.tfds),
                *module("fl.tfds.decode", fl.tfds.decode),
                *module("fl.tfds.core", fl.tfds.core, ["DatasetBuilder", "DatasetInfo", "ReadInstruction"]),
                *module("fl.tfds.core", fl.tfds.core, ["FileInstruction", "SplitDict", "SplitInfo"]),
                *module("fl.tfds.features", fl.tfds.features),
            ],
        ),
        "errors": Page("fl.errors", inspect.getdoc(fl.errors) or "", module("fl.errors", fl.errors, raised)),
        "compat_v1": Page(
            "fl.compat.v1",
            (inspect.getdoc(v1) or "") + "\n\nDtypes, specs, errors and `train` are those of `fl`; names of"
            " `fl.compat.v1.data.experimental` are those of `fl.experimental`.",
            module("fl.compat.v1", v1, old) + module("fl.compat.v1.data", v1.data),
        ),
    }
    return {f"reference/{name}.md": page for name, page in made.items()}


def _functions(module: Any) -> list[tuple[str, Any]]:
    """The functions of `fl.ragged` and `fl.sparse` that have an example; the others are internal."""
    short = module.__name__.rpartition(".")[2]
    return [
        (f"fl.{short}.{name}", value)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and ">>> " in (value.__doc__ or "")
    ]


@cache
def anchors() -> dict[str, str]:
    """Every name in the reference, and its page."""
    return {path: page for page, made in pages().items() for path, _ in _entries(made)}


def _entries(page: Page) -> Iterator[tuple[str, Any]]:
    for path, value in page.names:
        if isinstance(value, CONSTANT):
            continue
        yield path, value
        if inspect.isclass(value) and _first(path, value):
            for name, member in _members(value):
                yield f"{path}.{name}", member


@cache
def _places() -> dict[int, str]:
    """Where each object is documented: under the first of its names."""
    found: dict[int, str] = {}
    for page in pages().values():
        for path, value in page.names:
            if inspect.isclass(value) or inspect.isroutine(value):
                found.setdefault(id(value), path)
    return found


def _first(path: str, value: Any) -> bool:
    return _places().get(id(value), path) == path


def _members(value: type[Any]) -> list[tuple[str, Any]]:
    """Methods, properties and options of a class, including those of bases that are not documented elsewhere."""
    found: dict[str, Any] = {}
    for owner in value.__mro__:
        if not owner.__module__.startswith("feedline") or (owner is not value and id(owner) in _places()):
            continue
        for name, member in vars(owner).items():
            documented = bool(inspect.getdoc(_plain(member))) and not isinstance(member, (enum.Enum, *CONSTANT))
            if not name.startswith("_") and documented and _is_own(member):
                found.setdefault(name, member)
    return list(found.items())


def _is_own(member: Any) -> bool:
    plain = _plain(member)
    where = getattr(plain, "__module__", None) or type(member).__module__
    if isinstance(member, property):
        where = member.fget.__module__ if member.fget else ""
    return str(where).startswith("feedline") or isinstance(member, property)


def _plain(member: Any) -> Any:
    return member.__func__ if isinstance(member, (staticmethod, classmethod)) else member


# Markdown


def written(page: Page) -> str:
    """The page as Markdown."""
    head = f"---\nsearch:\n  boost: {BOOST[page.title]}\n---\n" if page.title in BOOST else ""
    title = f"`{page.title}` {{ #{page.title} }}" if page.title == "fl.Dataset" else page.title
    parts = [f"{head}# {title}", prose(page.intro)]
    entries, top = list(_entries(page)), {path for path, _ in page.names}
    if page.title == "fl.Dataset":
        parts += _in_groups(entries)
    else:
        parts += [_overview([entry for entry in entries if entry[0] in top])] if len(top) >= MANY else []
        for path, value in entries:
            parts += _entry(path, value, "##" if path in top else "###")
    rows = [f"| `{path}` | `{value!r}` |" for path, value in page.names if isinstance(value, CONSTANT)]
    if rows:
        parts += ["## Constants and dtypes", "\n".join(["| Name | Value |", "|---|---|", *rows])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _in_groups(entries: list[tuple[str, Any]]) -> list[str]:
    """The entries of `Dataset`: the class, all methods at a glance, then each group with its methods."""
    (path, value), *methods = entries
    by_name = {path.rpartition(".")[2]: (path, value) for path, value in methods}
    grouped = {title: [by_name.pop(name) for name in names] for title, names in GROUPS.items()}
    grouped[OTHERS] = list(by_name.values())
    parts = [signature(path, value), prose(inspect.getdoc(value) or "")]
    parts += [f"**{title}**\n\n{_overview(found)}" for title, found in grouped.items()]
    for title, found in grouped.items():
        parts.append(f"## {title}")
        for each in found:
            parts += _entry(*each, "###")
    return parts


def _overview(entries: list[tuple[str, Any]]) -> str:
    """A table of names and what they do, in one sentence each."""
    rows = [
        f"| [`{path.removeprefix('fl.Dataset.')}`](#{path}) | {_first_sentence(path, value)} |"
        for path, value in entries
        if not isinstance(value, CONSTANT)
    ]
    table = "\n".join(["| | |", "|---|---|", *rows])
    return f'<div class="names" markdown>\n\n{table}\n\n</div>'


def _first_sentence(path: str, value: Any) -> str:
    if not _first(path, value):
        return f"The same as `{_places()[id(value)]}`."
    doc = (inspect.getdoc(_plain(value)) or "").partition("\n\n")[0]
    sentence = re.match(r".*?(?:\.(?=\s)|$)", " ".join(doc.split()))
    return re.sub(r":$", ".", sentence[0] if sentence else "").replace("|", "\\|")


def _entry(path: str, value: Any, level: str) -> list[str]:
    label = path.rpartition(".")[2]
    head = f"{level} `{path}` {{ #{path} data-toc-label='{label}' }}"
    if not _first(path, value):
        return [head, f"The same as `{_places()[id(value)]}`."]
    return [head, signature(path, value), prose(inspect.getdoc(_plain(value)) or ""), _kind(value)]


def _kind(value: Any) -> str:
    """The base classes of an exception, or the values of an enum."""
    if not inspect.isclass(value):
        return ""
    if issubclass(value, enum.Enum):
        return "Values: " + ", ".join(f"`{each.name}` ({each.value!r})" for each in value) + "."
    if issubclass(value, fl.errors.OpError):
        bases = [f"`{b.__name__}`" for b in value.__bases__ if b is not Exception]
        return f"Derived from {' and '.join(bases)}." if bases else ""
    return ""


def signature(path: str, value: Any) -> str:
    """The signature without types; empty for properties and options."""
    plain = _plain(value)
    if not (inspect.isroutine(plain) or inspect.isclass(plain)) or _takes_nothing(plain):
        return ""
    try:
        parameters = list(inspect.signature(plain).parameters.values())
    except (TypeError, ValueError):
        return ""
    member = not inspect.isclass(plain) and not isinstance(value, staticmethod)
    if member and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    if path.startswith("fl.Dataset.") and parameters and parameters[0].name == "dataset" and path.endswith(".at"):
        parameters = parameters[1:]
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    shown = str(inspect.Signature(bare))
    name = path.removeprefix("fl.").removeprefix("compat.v1.") if path.startswith("fl.Dataset.") else path
    one_line = f"{name}{shown}"
    if len(one_line) > WIDTH:
        items = textwrap.fill(", ".join(_items(bare)), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        one_line = f"{name}(\n{textwrap.indent(items, '    ')}\n)"
    return f"```python\n{one_line}\n```"


def _takes_nothing(value: Any) -> bool:
    """Whether users do not construct the class, or its constructor has no signature."""
    families = (enum.Enum, fl.errors.OpError, Report, fl.Iterator)
    return inspect.isclass(value) and (issubclass(value, families) or value in (fl.Dataset, TypeSpec, Message))


def _items(parameters: list[inspect.Parameter]) -> list[str]:
    """The parameters one by one, with the `*` and `/` between them."""
    items: list[str] = []
    for i, p in enumerate(parameters):
        earlier = {q.kind for q in parameters[:i]}
        if p.kind is p.KEYWORD_ONLY and not earlier & {p.KEYWORD_ONLY, p.VAR_POSITIONAL}:
            items.append("*")
        if p.kind is not p.POSITIONAL_ONLY and earlier == {p.POSITIONAL_ONLY}:
            items.append("/")
        items.append(str(p))
    return items


def prose(doc: str) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    lines, example = [], False
    for line in doc.splitlines():
        if line.startswith(">>> ") and not example:
            lines += ["", "```pycon"] if lines and lines[-1] else ["```pycon"]
            example = True
        elif example and not line.strip():
            lines.append("```")
            example = False
        lines.append("" if line.strip() == "<BLANKLINE>" else line)
    return "\n".join([*lines, "```"] if example else lines)


def examples() -> str:
    """The page of examples: the table of their README, then each program after its docstring."""
    readme = (EXAMPLES / "README.md").read_text()
    parts = [re.sub(r"\]\((\w+)\.py\)", r"](#\1)", readme).rstrip()]
    for path in sorted(EXAMPLES.glob("*.py")):
        source = path.read_text()
        told = inspect.cleandoc(ast.get_docstring(ast.parse(source)) or "")
        code = re.sub(r'\A""".*?"""\n+', "", source, flags=re.DOTALL)
        parts.append(f"## {path.name} {{ #{path.stem} }}\n\n{told}\n\n```python\n{code}```")
    return "\n\n".join(parts) + "\n"


# Links

_NAMED = re.compile(r"(?<![\[`])`(fl(?:\.\w+)+|Dataset(?:\.\w+)+)(\([^`\n]*\))?`(?![\]`])")


def linked(markdown: str, here: str) -> str:
    """The page with names of the API as links, except in blocks of code and headings."""
    folder = posixpath.dirname(here)

    def link(found: re.Match[str]) -> str:
        name = found[1] if found[1].startswith("fl.") else f"fl.{found[1]}"
        page = anchors().get(name)
        return f"[{found[0]}]({posixpath.relpath(page, folder or '.')}#{name})" if page else found[0]

    return _outside_of_code(markdown, lambda line: line if line.startswith("#") else _NAMED.sub(link, line))


def _outside_of_code(markdown: str, change: Callable[[str], str]) -> str:
    lines, code = [], False
    for line in markdown.split("\n"):
        fence = line.lstrip().startswith("```")
        code = code != fence
        lines.append(line if code or fence else change(line))
    return "\n".join(lines)


def themed(markdown: str) -> str:
    """The page with `x-dark.svg` on dark pages in place of `x-light.svg`; PNG files, too."""
    both = r"![\1](\2-light.\3#only-light)\n![\1](\2-dark.\3#only-dark)"
    return re.sub(r"!\[([^]]*)\]\((\S+)-light\.(svg|png)\)", both, markdown)


# What MkDocs calls


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages."""
    from mkdocs.structure.files import File

    for path, page in pages().items():
        files.append(File.generated(config, path, content=written(page)))
    files.append(File.generated(config, "examples.md", content=examples()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Adds the links, and the pictures for dark pages."""
    return themed(linked(markdown, page.file.src_uri))
