"""Descriptions of plans: the tree that `Dataset.explain` shows, the line that `repr` shows, and their parts.

Nothing here runs a user's function. A spec that only running one would show is called unknown.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE
from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.plan.row_wise import can_recompute
from feedline.plan.traits.effects import user_code
from feedline.plan.traits.provenance import KeepsRows, maybe_recomputable, recomputable
from feedline.plan.traits.random_access import indexable
from feedline.plan.traits.specs import spec_known
from feedline.random.seeds import DEFAULT_SEED, M, SeedGenerator
from feedline.structure.nest import Tree, flatten, is_namedtuple
from feedline.structure.spec import DatasetSpec, OptionalSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from feedline.structure.types import DType

WIDTH = 100
PLACE_BYTES = 4.5
"""About how many bytes a checkpoint takes for the location of a record."""
UNKNOWN_SPEC = "unknown until it runs"
_LARGE = ("B", "KiB", "MiB", "GiB", "TiB")


class Explanation(str):
    """Text whose repr is the text itself, for the prompt; notebooks draw its `html`, if it has any."""

    html: str = ""

    def _repr_html_(self) -> str | None:
        return self.html or None

    def __repr__(self) -> str:
        return str(self)


# One step.


def call_text(node: Node, limit: int = 1 << 30) -> str:
    """A step as one would write it: `shuffle(1000, seed=42)`."""
    parts = [argument_text(name, value, i == 0) for i, (name, value) in enumerate(node.arguments().items())]
    whole = f"{node.op}({', '.join(filter(None, parts))})"
    return whole if len(whole) <= limit else f"{whole[: limit - 2]}…)"


def argument_text(name: str, value: Any, first: bool) -> str:
    """An argument as one would write it; the first one without its name."""
    if isinstance(value, SeedGenerator):
        return _seed_text(value)
    if name == "rows":
        return "1 row" if value == 1 else f"{value:,} rows"
    if name == "bytes":
        return bytes_text(value)
    autotuned = name in ("buffer_size", "num_parallel_calls") and value == AUTOTUNE
    text = "AUTOTUNE" if autotuned else value_text(value)
    return text if first or not text else f"{name}={text}"


def value_text(value: Any) -> str:
    """An argument in short form; an empty string if it would tell a reader nothing."""
    if isinstance(value, Function):
        return value.name.replace("<lambda>", "lambda")
    if isinstance(value, (np.dtype, DType)):
        return value.name
    if isinstance(value, (bool, int, float, str, np.generic)):
        return repr(value) if isinstance(value, str) else str(value)
    if isinstance(value, Tree):
        return ""
    if is_namedtuple(value):  # the values of a small record, without its numbers and its name
        return " ".join(t for t in map(value_text, value) if t and not t.isdigit())
    if isinstance(value, (list, tuple)):
        shown = [value_text(v) for v in value[:3]]
        more = [f"{len(value) - 3} more"] if len(value) > 3 else []
        return f"[{', '.join([s for s in shown if s] + more)}]"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__).replace("<lambda>", "lambda")
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:39]}…"


def _seed_text(generator: SeedGenerator) -> str:
    """The seed as the user gave it, if any: a pair from the operating system is far larger."""
    fixed = "" if generator.reshuffle else ", reshuffle_each_iteration=False"
    if max(generator.seed, generator.seed2) > M:
        return fixed[2:]
    seed = generator.seed2 if generator.seed == DEFAULT_SEED else (generator.seed, generator.seed2)
    return f"seed={seed}{fixed}"


def functions(node: Node) -> list[Function]:
    """The user's functions in a step."""
    found: list[Function] = []

    def look(value: object) -> None:
        if isinstance(value, Function):
            found.append(value)
        elif isinstance(value, tuple):
            for v in value:
                look(v)

    for field in dataclasses.fields(node):
        look(getattr(node, field.name))
    return found


def count_text(n: int) -> str:
    """A cardinality for a narrow column."""
    return "∞" if n == INFINITE else "?" if n < 0 else f"{n:,}"


def spec_of(node: Node) -> Any:
    """The spec of a step's elements; None if it has none, or finding it would run a user's function."""
    try:
        return node.element_spec if spec_known(node) else None
    except Exception:
        return None


def spec_text(spec: object) -> str:
    """A spec in short form: `{image: uint8[28, 28], label: int64}`; `?` is an unknown dimension."""
    if isinstance(spec, (TensorSpec, RaggedTensorSpec, SparseTensorSpec)):
        dims = spec.shape.dims
        shape = "[…]" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]" if dims else ""
        kind = {RaggedTensorSpec: "ragged ", SparseTensorSpec: "sparse "}.get(type(spec), "")
        return f"{kind}{spec.dtype.name}{shape}"
    if isinstance(spec, (DatasetSpec, OptionalSpec)):
        return f"{type(spec).__name__.removesuffix('Spec').lower()} of {spec_text(spec.element_spec)}"
    leaves, tree = flatten(spec)
    return repr(spec) if tree.is_leaf else _structure_text(tree, iter([spec_text(leaf) for leaf in leaves]))


def _structure_text(tree: Tree, leaves: Iterator[str]) -> str:
    if tree.kind is None:
        return next(leaves)
    parts = [_structure_text(child, leaves) for child in tree.children]
    if tree.kind is tuple:
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    named = ", ".join(f"{k}: {p}" for k, p in zip(tree.keys, parts, strict=True))
    return f"{{{named}}}" if tree.kind is dict else f"{tree.kind.__name__}({named})"


def bytes_text(n: float) -> str:
    """A number of bytes in the largest fitting unit."""
    amount, unit = float(n), 0
    while amount >= 1024 and unit < len(_LARGE) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_LARGE[unit]}" if unit else f"{n:.0f} B"


def notes(node: Node) -> list[str]:
    """Notes about a step beside its arguments: functions, memory, what it was made from."""
    said = [_function_note(f) for f in functions(node)]
    note = getattr(node, "note", "")
    if note:
        said.append(note)
    return [*said, *filter(None, (_held(node), _saved(node)))]


def how_called(function: Function) -> str:
    """How a function runs: natively, on columns, or as Python code; and why not natively, if it nearly does."""
    if function.native:
        return f"natively: {'; '.join(function.native)}"
    if function.vectorized:
        return "on whole columns"
    if function.why_called:
        return f"once per element, since {function.why_called}"
    why = function.why_not_native
    return f"once per element; not natively, since {why}" if why else "once per element"


def _function_note(function: Function) -> str:
    how = how_called(function)
    name = function.name.replace("<lambda>", "lambda")
    return f"{name} at {function.where}, {how}" if function.where else f"{name}, {how}"


def _held(node: Node) -> str:
    size = getattr(node, "buffer_size", None)
    if not node.mutable_state or size is None:
        return ""
    n = min((v for v in (size, node.inputs[0].cardinality()) if v >= 0), default=None)
    if n is None:
        return "holds all elements"
    row = _row_bytes(spec_of(node))
    return f"holds up to {n:,} elements" + (f", {bytes_text(n * row)}" if row is not None else "")


def _saved(node: Node) -> str:
    """What a checkpoint holds for the elements in a step's buffer."""
    size = getattr(node, "buffer_size", None)
    if not node.mutable_state or size is None or indexable(node.inputs[0]):
        return ""
    below = node.inputs[0]
    if recomputable(below):
        about = f": about {bytes_text(size * PLACE_BYTES)}" if size > 0 else ""
        return f"a checkpoint saves file positions{about}"
    while (isinstance(below, KeepsRows) or can_recompute(below)) and len(below.inputs) == 1:
        below = below.inputs[0]
    if maybe_recomputable(below):
        return f"a checkpoint saves file positions if the datasets of {below.op} only read files, else the elements"
    why = "cannot repeat them" if not below.inputs else "cannot recompute them"
    return f"a checkpoint saves the elements themselves: {below.op} (step {below.position}) {why}"


def _row_bytes(spec: object) -> int | None:
    total = 0
    for leaf in flatten(spec)[0]:
        if not isinstance(leaf, TensorSpec) or leaf.dtype.name == "string":
            return None
        n = leaf.shape.num_elements()
        if n is None:
            return None
        total += n * leaf.dtype.size
    return total


# A whole plan.


class Row(NamedTuple):
    """One step in a table, with the tree branches before it and before its notes."""

    branch: str
    below: str
    node: Node


def tree_rows(plan: Node, branch: str = "", below: str = "") -> Iterator[Row]:
    """The steps, the last one first. A chain of steps is one column; several inputs make branches."""
    forks = len(plan.inputs) > 1
    yield Row(branch, below + ("│  " if forks else ""), plan)
    for i, node in enumerate(plan.inputs):
        if not forks:
            yield from tree_rows(node, below, below)
        elif i < len(plan.inputs) - 1:
            yield from tree_rows(node, f"{below}├─ ", f"{below}│  ")
        else:
            yield from tree_rows(node, f"{below}└─ ", f"{below}   ")


def tables(*titled: tuple[str, Node]) -> list[list[str]]:
    """Trees with the number, the elements and the spec of each step, in shared columns, at most WIDTH wide."""
    rows = [list(tree_rows(plan)) for _, plan in titled]
    steps = [[f"{r.branch}{call_text(r.node, max(16, WIDTH // 2 - len(r.branch)))}" for r in part] for part in rows]
    counts = [[count_text(r.node.cardinality()) for r in part] for part in rows]
    wide = max(len("elements"), *(len(c) for part in counts for c in part))
    call = max(len(step) for part in steps for step in part)
    room = max(8, WIDTH - call - wide - 10)
    made = []
    for (title, _), *parts in zip(titled, rows, steps, counts, strict=True):
        lines = [f"{title:<{call + 6}}  {'elements':>{wide}}  spec"]
        for row, step, count in zip(*parts, strict=True):
            spec = spec_of(row.node)
            text = UNKNOWN_SPEC if spec is None else spec_text(spec)
            text = text if len(text) <= room else f"{text[: room - 1]}…"
            mark = "ƒ" if user_code(row.node) else " "
            lines.append(f"{row.node.position:>3} {mark} {step:<{call}}  {count:>{wide}}  {text}"[:WIDTH])
            indent = f"      {row.below}  "
            for note in notes(row.node):
                lines += [f"{indent}{part}" for part in textwrap.wrap(note, max(24, WIDTH - len(indent)))]
        made.append(lines)
    return made


def explain(
    written: Node, running: Node | None, applied: Sequence[tuple[str, Sequence[int]]], problem: str = ""
) -> Explanation:
    """The plan as written and as it runs, and the rules that were applied."""
    titled = [("as written", written)]
    if running is not None and applied:
        titled.append(("as it runs", running))
    parts = tables(*titled)
    if problem:
        parts.append(["cannot run", *textwrap.wrap(problem, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)])
    elif applied:
        wide = max(len(rule) for rule, _ in applied)
        parts.append(["rewritten by", *(f"      {rule:<{wide}}  {_steps(positions)}" for rule, positions in applied)])
    else:
        parts.append(["it runs as written"])
    leaves, tree = flatten(spec_of(written))
    if not tree.is_leaf:
        wide = max(map(len, tree.paths()))
        lines = [f"      {p:<{wide}}  {spec_text(s)}" for p, s in zip(tree.paths(), leaves, strict=True)]
        parts.append(["element spec", *lines])
    if any(user_code(n) for n in written.walk()):
        parts.append(["ƒ runs your code: elements are computed only when requested"])
    else:
        parts.append(["no user code: elements are computed in large blocks"])
    return Explanation("\n\n".join("\n".join(line.rstrip() for line in part) for part in parts))


def _steps(positions: Sequence[int]) -> str:
    numbers = ", ".join(map(str, sorted(set(positions))))
    return f"step{'s' if len(set(positions)) > 1 else ''} {numbers}"


def summary(plan: Node) -> str:
    """The plan in a line: `batch(3) ← map(decode) ← range(10): TensorSpec(shape=(None,), dtype=int64), 4 elements`."""
    spec = spec_of(plan)
    what = f"spec {UNKNOWN_SPEC}" if spec is None else repr(spec)
    if len(what) > 60:
        what = spec_text(spec)
    return f"{_chain_text(plan)}: {what if len(what) <= 100 else what[:99] + '…'}, {length_text(plan.cardinality())}"


def length_text(n: int) -> str:
    """A cardinality in words."""
    return "infinite" if n == INFINITE else "length unknown" if n < 0 else f"{n:,} element{'s' * (n != 1)}"


def _chain_text(plan: Node) -> str:
    parts: list[str] = []
    node = plan
    while len(node.inputs) == 1:
        parts.append(call_text(node, 40))
        node = node.inputs[0]
    if node.inputs:
        inside = [call_text(n, 24) + " ← …" * bool(n.inputs) for n in node.inputs[:3]]
        parts.append(f"{node.op}({', '.join(inside + ['…'] * (len(node.inputs) > 3))})")
    else:
        parts.append(call_text(node, 40))
    return " ← ".join(parts if len(parts) <= 5 else [*parts[:4], "…", parts[-1]])
