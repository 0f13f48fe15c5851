"""Fingerprints: numbers that are equal for plans that do the same, whenever and wherever they were built.

A fingerprint covers what a plan would do: operators, arguments, data by content, functions by their code and the values
they use. The location of a function in a file and the name of a step do not count.

`marks` identify the arguments of one step, for checkpoints: they are valid in another process too, and do not change
when a function runs.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import pickle
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from feedline.plan.bytecode import inner_codes, instructions
from feedline.plan.explain import argument_text
from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.plan.traits.checkpoint import execution_args, written_op
from feedline.plan.traits.seeds import Seeded
from feedline.plan.vectorize.program import Traced
from feedline.random.seeds import M, SeedGenerator
from feedline.structure.block import Array, Block, Bytes, Objects
from feedline.structure.datasets import Datasets
from feedline.structure.nest import LEAF, Tree
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.types import DType

LARGE = 1 << 20
SAMPLES = 4096
SHOWN = 80
HAS_DOCSTRING = getattr(inspect, "CO_HAS_DOCSTRING", 0)
"""The flag of code that has a docstring, from Python 3.14 on; before that, the first constant is the docstring."""

DIGESTED_AS = {
    "feedline.io.arrow.columns.TableSchema": "feedline.io.arrow.columns.Form",
    "feedline.io.tar.SampleSchema": "feedline.io.tar.Form",
    "feedline.ops.parse.FeatureSource": "feedline.ops.parse.Asked",
}
"""Classes of arguments, and the names they had in digests of earlier versions, which states and caches hold."""


def fingerprint(plan: Node, drawn_seeds: bool = True, orders: bool = True) -> np.uint64:
    """The plan's fingerprint. Without `drawn_seeds`, seeds that the operating system gave to steps without one are
    ignored; without `orders`, seeds that only affect the order of elements are.
    """
    return np.uint64(int.from_bytes(_Digests(drawn_seeds, orders).of(plan)[:8], "little"))


class _Digests:
    """Digests of values, each with a tag for its kind, so that different values feed different bytes."""

    def __init__(self, drawn_seeds: bool, orders: bool = True) -> None:
        self.drawn_seeds, self.orders = drawn_seeds, orders
        self.known: dict[int, tuple[Any, bytes]] = {}
        self.open: list[int] = []

    def of(self, value: Any) -> bytes:
        """The digest of any value."""
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str):
            return _digest(kind.__name__, repr(value).encode())
        if kind is bytes:
            return _digest("bytes", value)
        if isinstance(value, np.ndarray) and value.dtype != object:
            content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            return _digest(f"array {value.dtype.name} {value.shape}", content.data)
        if isinstance(value, (np.dtype, DType)):
            return _digest("dtype", value.name.encode())
        if isinstance(value, enum.Enum):
            return _digest("enum", f"{kind.__qualname__}.{value.name}".encode())
        if isinstance(value, type):
            return _digest("class", _path(value).encode())
        if isinstance(value, types.ModuleType):
            return _digest("module", value.__name__.encode())
        return self._once(value)

    def _once(self, value: object) -> bytes:
        """The digest of a value that may be large, used in several places, or refer to itself."""
        key = id(value)
        if key in self.known:
            return self.known[key][1]
        if key in self.open:
            return _digest("itself", str(len(self.open) - self.open.index(key)).encode())
        self.open.append(key)
        made = self._of_parts(*self._parts(value))
        self.open.pop()
        self.known[key] = value, made  # the value too, so that its id is not reused meanwhile
        return made

    def _of_parts(self, kind: str, parts: Iterable[Any]) -> bytes:
        return _digest(kind, *[self.of(part) for part in parts])

    def _parts(self, value: Any) -> tuple[str, Iterable[Any]]:
        """The tag for the kind of a value, and the values it is made of."""
        for kind, parts in _PARTS:
            if isinstance(value, kind):
                return parts(self, value)
        if isinstance(getattr(value, "_plan", None), Node):
            return "dataset", (value._plan,)
        return _function_parts(value) if callable(value) else _object_parts(value)

    def _node(self, value: Node) -> tuple[str, Iterable[Any]]:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
        if not self.orders and isinstance(value, Seeded) and value.seeds_order:
            fields["generator"] = fields["generator"].reshuffle
        return f"node {_kind(value)}", _pairs(fields)

    def _seeds(self, value: SeedGenerator) -> tuple[str, Iterable[Any]]:
        if not self.drawn_seeds and max(value.seed, value.seed2) > M:  # seeds given by users are smaller
            return "drawn seeds", (value.reshuffle,)
        return "seeds", (value.seed, value.seed2, value.reshuffle)


def _kind(value: object) -> str:
    return _path(type(value)).rpartition(".")[2]


def _tree_parts(tree: Tree) -> tuple[str, Iterable[Any]]:
    fixed = () if tree.fixed is None else (tree.fixed,)
    return "tree", (tree.kind, tree.keys, *fixed, *tree.children)


def _code_parts(code: types.CodeType) -> tuple[str, Iterable[Any]]:
    """The parts without variable names, file, line and docstring, which do not affect what the code does."""
    flags = code.co_flags & ~HAS_DOCSTRING
    counts = code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, flags
    return "code", (code.co_code, code.co_names, _constants(code), counts)


_PARTS: tuple[tuple[Any, Callable[[_Digests, Any], tuple[str, Iterable[Any]]]], ...] = (
    (Node, _Digests._node),
    ((Function, Traced), lambda digests, value: ("call", (value.seen,))),
    (np.generic, lambda digests, value: ("scalar", (np.asarray(value),))),
    (np.ndarray, lambda digests, value: (f"strings {value.shape}", value.ravel().tolist())),
    ((list, tuple), lambda digests, value: (_kind(value), value)),
    ((set, frozenset), lambda digests, value: ("set", sorted(value, key=repr))),
    (Mapping, lambda digests, value: ("mapping", _pairs(value))),
    (SeedGenerator, _Digests._seeds),
    (Block, lambda digests, value: ("block", (value.n, value.tree, *value.columns))),
    (Bytes, lambda digests, value: ("strings", value.rows())),
    (Objects, lambda digests, value: ("objects", value.items)),
    (Tree, lambda digests, value: _tree_parts(value)),
    (Datasets, lambda digests, value: ("datasets", tuple(value))),
    (RaggedTensor, lambda digests, value: ("ragged", (value.values, value.row_splits))),
    (SparseTensor, lambda digests, value: ("sparse", (value.indices, value.values, value.dense_shape))),
    (types.CodeType, lambda digests, value: _code_parts(value)),
)
"""The parts of values, by the first class that they have."""


class Mark(NamedTuple):
    """An argument: its text for readers, and its digest."""

    text: str
    digest: str


def marks(node: Node) -> tuple[dict[str, Mark], dict[str, Mark]]:
    """The arguments of a step that affect its elements, and its functions. Cached, since large data are hashed."""
    kept: tuple[dict[str, Mark], dict[str, Mark]] | None = node.__dict__.get("_marks")
    if kept is None:
        kept = node.__dict__["_marks"] = _marks(node)
    return kept


def own_digest(node: Node) -> str:
    """A digest that differs for nodes that make different rows of the same input."""
    arguments, functions = marks(node)
    whole = [f"{name}={mark.digest}" for name, mark in sorted({**arguments, **functions}.items())]
    return hashlib.blake2b(" ".join([written_op(node), *whole]).encode(), digest_size=6).hexdigest()


def _marks(node: Node) -> tuple[dict[str, Mark], dict[str, Mark]]:
    arguments, functions = {}, {}
    inputs = {name for name, _ in node.input_fields()}
    for f in dataclasses.fields(node):
        if f.name in inputs or f.name in execution_args(node) or not f.compare:
            continue
        value = getattr(node, f.name)
        text = argument_text(f.name, value, True)
        mark = Mark(text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…", _Outlines().of(value)[:6].hex())
        if isinstance(value, Function) or _holds_functions(value):
            functions[f.name] = mark._replace(text=value.where if isinstance(value, Function) else "")
        else:
            arguments[f.name] = mark
    return arguments, functions


def _holds_functions(value: object) -> bool:
    if isinstance(value, tuple):
        return any(isinstance(v, (Function, Node)) or _holds_functions(v) for v in value)
    return isinstance(value, Node) or (callable(value) and not isinstance(value, (type, DType)))


class _Outlines(_Digests):
    """Digests of what does not change while a plan runs, nor in another process: the code and plain constants of
    functions, the class of other objects, samples of large data.
    """

    def __init__(self) -> None:
        super().__init__(drawn_seeds=False)

    def of(self, value: object) -> bytes:
        if isinstance(value, np.ndarray) and value.dtype != object and value.nbytes > LARGE:
            rows = np.ascontiguousarray(value.reshape(-1)[_samples(value.size)])
            return _digest(f"array {value.dtype.name} {value.shape}", rows.view(np.uint8).data)
        return super().of(value)

    def _parts(self, value: object) -> tuple[str, Iterable[Any]]:
        if isinstance(value, types.FunctionType):
            return _by_name(value) if _is_ours(value) else ("function", self._code(value))
        if isinstance(value, Bytes):
            return "strings", _sampled(Block([value], len(value), LEAF))
        if isinstance(value, Objects):
            return "objects", (len(value), *map(type, value.items[:1]))
        if isinstance(value, np.ndarray):
            return f"strings {value.shape}", value.ravel()[_samples(value.size)].tolist()
        if isinstance(value, (functools.partial, types.MethodType, Traced)) or not callable(value):
            held = super()._parts(value)
            return (_kind(value), (type(value),)) if held[0] == "object" else held
        call: Any = type(value).__call__
        code = self._code(call) if isinstance(call, types.FunctionType) else ()
        return "callable", (type(value), *code, *_fixed(value))

    def _code(self, function: types.FunctionType) -> Iterable[Any]:
        code = function.__code__
        changed = {op.name for op in instructions(code) if op.kind in ("store_global", "store_cell")}
        names = dict(zip(code.co_freevars, map(_contents, function.__closure__ or ()), strict=True))
        names |= {name: function.__globals__[name] for name in _names(code) if name in function.__globals__}
        used = {k: v for k, v in sorted(names.items()) if k not in changed and _lasting(v)}
        defaults = [d for d in function.__defaults__ or () if _lasting(d)]
        return code, defaults, used


def _fixed(value: object) -> list[Any]:
    """The fields of an immutable dataclass that are immutable or functions."""
    if not dataclasses.is_dataclass(value) or not getattr(value, "__dataclass_params__").frozen:  # noqa: B009
        return []
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
    return _pairs({name: v for name, v in fields.items() if _lasting(v) or callable(v)})


def _lasting(value: object) -> bool:
    """Whether a value is immutable: numbers, strings, types, functions."""
    if isinstance(value, tuple):
        return all(map(_lasting, value))
    plain = (bool, int, float, complex, str, bytes, np.generic, np.dtype, DType, type, types.FunctionType, Traced)
    return value is None or isinstance(value, plain)


def _samples(n: int) -> Array:
    """The numbers of the rows in a sample; all rows if there are few."""
    if n <= 4 * SAMPLES:
        return np.arange(n)
    edges = np.arange(SAMPLES)
    return np.concatenate([edges, np.linspace(SAMPLES, n - SAMPLES - 1, SAMPLES).astype(np.int64), n - 1 - edges])


def _sampled(block: Block) -> list[Any]:
    return [block.n, *block.take(_samples(block.n)).rows()] if block.n else [0]


def _digest(kind: str, *parts: bytes | memoryview) -> bytes:
    made = hashlib.blake2b(kind.encode(), digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


def _pairs(values: Mapping[Any, Any]) -> list[Any]:
    return [part for pair in values.items() for part in pair]


def _function_parts(function: object) -> tuple[str, Iterable[Any]]:
    if isinstance(function, functools.partial):
        return "partial", (function.func, function.args, dict(sorted(function.keywords.items())))
    if isinstance(function, types.MethodType):
        return "method", (function.__func__, function.__self__)
    if isinstance(function, types.FunctionType) and _is_ours(function):
        return _by_name(function)
    if isinstance(function, types.FunctionType):
        space, code = function.__globals__, function.__code__
        used = {name: space[name] for name in _names(code) if name in space}
        captured = [_contents(cell) for cell in function.__closure__ or ()]
        return "function", (code, function.__defaults__, function.__kwdefaults__, captured, used)
    call: Any = type(function).__call__
    if isinstance(call, types.FunctionType):
        return "callable", (call, *_object_parts(function)[1])
    return _by_name(function)


def _by_name(function: object) -> tuple[str, Iterable[Any]]:
    return "builtin", (getattr(function, "__module__", None), _name(function))


def _is_ours(function: types.FunctionType) -> bool:
    """Whether feedline has the function under its name: every version has the same one, however it is written."""
    found: Any = sys.modules.get(function.__module__ or "")
    if (function.__module__ or "").split(".")[0] != "feedline":
        return False
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _constants(code: types.CodeType) -> tuple[Any, ...]:
    """The constants of code, without the docstring of a function, which is the first."""
    first = code.co_consts[:1]
    described = bool(code.co_flags & HAS_DOCSTRING) or (not code.co_name.startswith("<") and not HAS_DOCSTRING)
    return (None, *code.co_consts[1:]) if described and first and isinstance(first[0], str) else code.co_consts


def _object_parts(value: object) -> tuple[str, Iterable[Any]]:
    """The parts of any other object: its state if it has one, else its pickle, else its class alone."""
    state = getattr(value, "__dict__", None)
    if state is not None:
        return "object", (type(value), dict(sorted(state.items())))
    try:
        return "object", (type(value), pickle.dumps(value, protocol=4))
    except Exception:  # it cannot be pickled
        return "object", (type(value),)


def _path(cls: type) -> str:
    path = f"{cls.__module__}.{cls.__qualname__}"
    return DIGESTED_AS.get(path, path)


def _name(function: object) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value yet
        return None


def _names(code: types.CodeType) -> list[str]:
    """The global names that code, and code inside it, reads."""
    found = {op.name for op in instructions(code) if op.kind in ("global", "name")}
    for inner in inner_codes(code):
        found.update(_names(inner))
    return sorted(found)
